"""Heavy hitters in one call, for data that is all in one place."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hybriddp.errors import DataError
from hybriddp.items.estimate import HeavyHitters
from hybriddp.items.protocol import AskedQuestion, take_steps
from hybriddp.items.records import items_of
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.randomness import simulation_generator
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.reporting.wording import counted
from hybriddp.study.summary import LocalSummary


def heavy_hitters(
    *,
    trusted: object | None,
    local: object | None,
    epsilon: float | str,
    delta: float | str = 0,
    domain: Sequence[str] | None = None,
    name: str = "items",
    alphabet: str = "bytes",
    single_group: bool = False,
    ledger: Ledger | None = None,
    random_state: int | np.random.Generator | None = None,
) -> HeavyHitters:
    """Estimate the frequent items of both groups and their shares in one call.

    The devices of the local users are *simulated in this process*: it sees their raw items, and draws one report for
    each exactly as a device would. If the users do not trust the operator of this process, their devices must draw
    the reports instead: `HeavyHitterStudy` has the steps, and texts to send to devices.

    A public dictionary (``domain``), where there is one, finds more than anything else. Without it the sizes of the
    groups decide between the trusted group's list and local discovery: see `HeavyHitterStudy.method`.

    Parameters
    ----------
    trusted, local : sequence or None
        The item of each user, a text. None if there is no such group.
    epsilon, delta : float or str
        What every user is promised. Without a dictionary δ must be above 0.
    domain, name, alphabet
        As for `HeavyHitterStudy`.
    single_group : bool
        Whether an empty group is fine: the answer is then a single model's, and is marked as such.
    ledger : Ledger, optional
        Where the cost for the trusted users is written down before anything is drawn.
    random_state : int or numpy.random.Generator, optional
        For simulation only: the result says that it is not a private release.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> items = rng.choice(["red", "green", "blue", "mauve"], 20_000, p=[0.5, 0.3, 0.1999, 0.0001])
    >>> found = heavy_hitters(trusted=items[:2000], local=items[2000:], epsilon=2, delta=1e-6, random_state=1)
    >>> found.items
    ('red', 'green', 'blue')
    >>> found.method, found.shares.round(2).tolist()
    ('list', [0.5, 0.3, 0.2])
    """
    study = HeavyHitterStudy(name, epsilon=epsilon, delta=delta, domain=domain, alphabet=alphabet)
    curator, devices = random_state, random_state
    if isinstance(random_state, (int, np.integer)):  # one seed must not give both the same noise
        curator, devices = (simulation_generator(random_state, who) for who in ("curator", "devices"))
    reported = [] if local is None else _reported(local)
    counts = None if trusted is None else study.summarize_trusted(trusted)
    method = study.method(n_trusted=0 if counts is None else counts.n_users, n_local=len(reported))

    def ask(question: AskedQuestion) -> LocalSummary:
        return question.summarize_local(question.randomize(reported, random_state=devices))

    given: dict[str, Any] = {"single_group": single_group, "ledger": ledger, "random_state": curator}
    return take_steps(study, method, counts, ask, n_local=len(reported), **given)


def _reported(users: object) -> list[str]:
    """Read the item that each local user reports about; none may be missing."""
    read = items_of(users)
    if read.missing:
        raise DataError(
            f"items must all be there, but {counted(read.missing, 'user')} of {len(read.items) + read.missing:,} have "
            "none. Leave them out."
        )
    return read.items
