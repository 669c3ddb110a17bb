"""The one door through which anything about the trusted group's values leaves."""

from dataclasses import dataclass

import numpy as np

from hybriddp.grid import UNITS
from hybriddp.privacy import Privacy
from hybriddp.release.event import Event, Part
from hybriddp.release.ledger import Ledger
from hybriddp.release.mechanism_price import MechanismPrice
from hybriddp.release.mechanisms import Mechanism, draw, mechanism_for


@dataclass(frozen=True, slots=True)
class PrivateTotal:
    """A total with noise: safe to publish, if it is not ``seeded``.

    Attributes
    ----------
    count : int
        How many users it is about; public.
    total : int
        The sum of their units, with noise. It may lie outside of what a sum could be.
    mechanism : Mechanism
        The noise.
    privacy : Privacy
        What it cost each of these users.
    counted : bool
        Whether a ledger has it.
    seeded : bool
        Whether the noise can be repeated: then this is a simulation, and hides nothing.
    """

    count: int
    total: int
    mechanism: Mechanism
    privacy: Privacy
    counted: bool
    seeded: bool


def release_total(
    count: int,
    total: int,
    *,
    study: str,
    privacy: Privacy,
    part: Part | None = None,
    ledger: Ledger | None = None,
    paid: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> PrivateTotal:
    """The total of the trusted group with noise, paid for first.

    Parameters
    ----------
    count, total : int
        How many users, and the exact sum of their units.
    study : str
        The digest of the study, for the ledger.
    privacy : Privacy
        What the release may cost each user.
    part : Part, optional
        Which part of the trusted group it is about, for the ledger.
    ledger : Ledger, optional
        Where the cost is written down before the noise is drawn; `BudgetError` if there is not enough left.
    paid : bool
        Whether it has been written down already, together with others (`total_event`).
    random_state : int or numpy.random.Generator, optional
        For simulation only. A simulation is not a release and is not written down.
    """
    mechanism = mechanism_for(privacy)
    seeded = random_state is not None
    counted = (ledger is not None or paid) and not seeded
    if ledger is not None and not seeded and not paid:
        ledger.spend(total_event(study, privacy, part), promised=privacy)
    noise = draw(mechanism, privacy, random_state)
    return PrivateTotal(
        count=count, total=total + noise, mechanism=mechanism, privacy=privacy, counted=counted, seeded=seeded
    )


def total_event(study: str, privacy: Privacy, part: Part | None) -> Event:
    """What `release_total` writes into the ledger."""
    noise = mechanism_for(privacy)
    mechanism = MechanismPrice.noise(noise.kind, sensitivity=UNITS, scale=noise.scale)
    what = "total of the trusted group"
    return Event.now(what, who="trusted", study=study, privacy=privacy, part=part, mechanism=mechanism)
