"""Drafts of releases: drawn beside the only writer, and charged, stored and shown by it, once.

A release takes seconds of a processor, and nobody else could take part while the writer did it. So there are three
steps:

1. *Read*, in one snapshot, what the study has gathered and a copy of its ledger. The study is closed for good, or waits
   for its list, so that nothing is added any more.
2. *Draw*, in a thread of its own, and charge the copy of the ledger before each draw, as ever.
3. *Commit*, in one short transaction of the writer, which locks the study: if it is still as it was read, the ledger is
   charged with what the copy was charged, and result and state are stored; else the draft is dropped.

The noise is drawn before the charge is on disk, but a draft is in the memory of this process alone until step 3 has
committed: no answer, no log and no file has anything of it. So a process that dies before has drawn what nobody sees,
and of two replicas with a draft each one is charged and stored and the other is dropped unseen. There is one charge and
one result.

The time of a draw depends on the noise, and so would the time of the answer, or of the commit, which everybody may
watch. Therefore step 3 begins at a multiple of `GRID` seconds after the request.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Generic, TypeVar

from sqlalchemy import Connection

from hybriddp.privacy import Privacy
from hybriddp.release.event import Event
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service import budgets
from hybriddp.service.curator import Curator
from hybriddp.service.problems import Refusal
from hybriddp.service.store import studies
from hybriddp.service.store.engine import snapshot
from hybriddp.service.store.studies import StoredStudy

__all__ = ["GRID", "Draft", "draw"]

GRID = 0.25
"""Seconds: releases are committed and answered at multiples of it."""

_T = TypeVar("_T")
Reader = Callable[[Connection, StoredStudy, Ledger | None], Callable[[], _T] | None]
"""Reads what a release needs and returns what draws it, from memory alone; None if nothing is to be drawn."""


@dataclass(frozen=True, slots=True, repr=False)
class Draft(Generic[_T]):
    """What has been drawn and is still to be charged, and the events that it costs."""

    drawn: _T
    events: tuple[Event, ...]

    def charge(self, connection: Connection, study: StoredStudy, promised: Privacy) -> None:
        """Charge the study's ledger, in the transaction that stores the result."""
        ledger = budgets.ledger_of(connection, study)
        if ledger is not None:
            ledger.spend_all(self.events, promised=promised)


async def draw(curator: Curator, study_id: str, read: Reader[_T]) -> Draft[_T] | None:
    """Read and draw, one draft at a time in this process, then wait for the grid; None if nothing is to be drawn."""

    def work() -> Draft[_T] | None:
        with snapshot(curator.engine) as connection:
            study = studies.study(connection, study_id)
            if study is None:
                raise Refusal("not-found", "There is no study with this id.")
            stored = budgets.ledger_of(connection, study)
            ledger = None if stored is None else stored.copy()
            compute = read(connection, study, ledger)
        if compute is None:
            return None
        known = 0 if ledger is None else len(ledger.events)
        drawn = compute()
        return Draft(drawn, () if ledger is None else ledger.events[known:])

    started = monotonic()
    draft = await asyncio.get_running_loop().run_in_executor(curator.drawing, work)
    if draft is not None:
        await asyncio.sleep(until_grid(monotonic() - started))
    return draft


def until_grid(seconds: float) -> float:
    """Return the seconds until the next multiple of `GRID`.

    Examples
    --------
    >>> until_grid(0.1), until_grid(0.25), until_grid(1.125)
    (0.15, 0.0, 0.125)
    """
    return -seconds % GRID
