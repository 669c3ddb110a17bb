"""Releases of plain numbers, and what they cost, without a study around them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import IntArray
from hybriddp.grid import UNITS
from hybriddp.privacy import Privacy
from hybriddp.release import Event, Ledger, Part, ReleaseCost, ReleasedNumbers, Statistic
from hybriddp.release.mechanism_record import MechanismRecord
from hybriddp.release.mechanisms import mechanism_for
from hybriddp.release.release import Seed, release

TOTAL = "total of the trusted group"


def event(epsilon: Any = "0.1", who: str = "trusted", delta: Any = 0, study: str = "d", **more: Any) -> Event:
    """Make an event that a test needs."""
    return Event.now("a release", who=who, study=study, privacy=Privacy(epsilon=epsilon, delta=delta), **more)


def cost(privacy: Privacy, study: str = "d", part: Part | None = None, name: str | None = None) -> ReleaseCost:
    """ReleaseCost of one release that is all that its study promises."""
    return ReleaseCost(study, name, privacy, privacy, part)


def noisy(
    values: IntArray | NDArray[np.int64] | Sequence[int],
    *,
    sensitivity: int,
    privacy: Privacy,
    random_state: Seed = None,
    ledger: Ledger | None = None,
) -> ReleasedNumbers:
    """Release numbers of ten users."""
    statistic = Statistic("numbers", np.asarray(values, np.int64), sensitivity, 10)
    return release(statistic, cost(privacy), ledger=ledger, random_state=random_state)


def noisy_total(
    total: int, privacy: Privacy, *, study: str = "d", ledger: Ledger | None = None, random_state: Seed = None
) -> ReleasedNumbers:
    """Release the total of ten users."""
    statistic = Statistic(TOTAL, np.array([total]), UNITS, 10)
    return release(statistic, cost(privacy, study), ledger=ledger, random_state=random_state)


def total_event(study: str, privacy: Privacy, part: Part | None, name: str | None = None) -> Event:
    """Make the event that the release of a total is charged as."""
    noise = mechanism_for(privacy)
    record = MechanismRecord.noise(noise.kind, sensitivity=UNITS, scale=noise.scale)
    return cost(privacy, study, part, name).event(TOTAL, "trusted", record)


def reports_event(study: str, privacy: Privacy, part: Part | None, name: str) -> Event:
    """Make the event of an estimate from local reports alone."""
    return cost(privacy, study, part, name).event("reports of the local group", "local")
