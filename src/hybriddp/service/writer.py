"""Group commit: one thread writes, and what waits while it commits goes into the next transaction together.

A durable commit takes milliseconds, whether it holds one contribution or thousands. So nobody commits alone: whatever
has arrived in the meantime is added in one transaction, and everybody is answered after it. SQLite takes one writer
at a time anyway; on PostgreSQL every replica has a writer of its own.
"""

import asyncio
import math
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from hybriddp.errors import DataError
from hybriddp.service.problems import Refusal
from hybriddp.service.store import contributions as stored
from hybriddp.service.store.contributions import NewContribution, Verdict
from hybriddp.service.store.engine import writing
from hybriddp.service.store.seal import TotalSeal
from hybriddp.service.store.studies import close_overdue

_MOST = 5_000  # contributions in one transaction
_LINGER = 0.003  # seconds that a group waits for more, while many people come at once: a commit takes as long
_T = TypeVar("_T")


@dataclass(slots=True)
class _Add:
    contributions: Sequence[NewContribution]
    done: asyncio.Future[list[Verdict]]
    since: float


@dataclass(slots=True)
class _Run(Generic[_T]):
    work: Callable[[Connection], _T]
    done: asyncio.Future[_T]
    since: float


@dataclass(frozen=True, slots=True)
class _Answer:
    """What somebody waits for, or why it failed."""

    done: asyncio.Future[Any]
    found: object = None
    failure: Exception | None = None


class Writer:
    """The only writer of this process.

    Parameters
    ----------
    engine : Engine
        The database.
    replica : str
        Whose sums these are.
    seal : TotalSeal
        What encrypts totals.
    clock : callable
        The time in seconds, which does not run backward.
    certain : callable
        Whether that time is right; if not, nothing is closed by it.
    committed : callable
        Told how many contributions each transaction had.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        replica: str,
        seal: TotalSeal,
        clock: Callable[[], int],
        committed: Callable[[int], None],
        certain: Callable[[], bool] = lambda: True,
    ) -> None:
        self._engine, self._replica, self._seal, self._clock = engine, replica, seal, clock
        self._committed, self._certain = committed, certain
        self._jobs: queue.SimpleQueue[_Add | _Run[Any] | None] = queue.SimpleQueue()
        self._closed, self._lock = False, Lock()
        self._oldest: float | None = None  # since when the job waits that is being done; None if there is none
        self._failed = False
        self._thread = Thread(target=self._loop, name="hybriddp-writer", daemon=True)
        self._thread.start()

    async def add(self, contributions: Sequence[NewContribution]) -> list[Verdict]:
        """Add contributions; returns after they are on disk."""
        job = _Add(contributions, asyncio.get_running_loop().create_future(), time.monotonic())
        self._put(job)
        return await job.done

    async def withdraw(self, one: NewContribution) -> Verdict:
        """Withdraw a contribution; returns after that is on disk."""
        return await self.run(partial(self._withdraw, one))

    def _withdraw(self, one: NewContribution, connection: Connection) -> Verdict:
        return stored.withdraw(
            connection, one, replica=self._replica, seal=self._seal, now=self._clock(), certain=self._certain()
        )

    async def run(self, work: Callable[[Connection], _T]) -> _T:
        """Run something in a transaction of its own; returns after it has committed."""
        job: _Run[_T] = _Run(work, asyncio.get_running_loop().create_future(), time.monotonic())
        self._put(job)
        return await job.done

    @property
    def failed(self) -> bool:
        """Whether the database did not take the last transaction."""
        return self._failed

    def oldest_wait(self) -> float:
        """Return for how many seconds the oldest job has been waiting; infinity if nobody does them any more."""
        if not self._thread.is_alive():
            return math.inf
        oldest = self._oldest
        return 0.0 if oldest is None else time.monotonic() - oldest

    def close(self) -> None:
        """Write what has arrived, then stop; whoever comes later is refused."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()

    def _put(self, job: _Add | _Run[Any]) -> None:
        with self._lock:  # nothing comes behind the end: nobody would answer it
            if self._closed:
                raise Refusal("unavailable", "The server is stopping.")
            self._jobs.put(job)

    def _loop(self) -> None:
        job, busy = self._jobs.get(), False
        while job is not None:
            following: _Add | _Run[Any] | None = None
            self._oldest = job.since  # whatever is in the queue came later
            if isinstance(job, _Add):
                if busy:
                    time.sleep(_LINGER)
                group, following = self._group(job)
                busy = len(group) > 1  # whoever comes alone is not kept waiting
                self._add(group)
            else:
                self._run(job)
            self._oldest = None
            job = following if following is not None else self._jobs.get()

    def _group(self, first: _Add) -> tuple[list[_Add], _Add | _Run[Any] | None]:
        """Return the waiting jobs that can be added together, and the job after them.

        The job after them is None unless it has been taken out of the queue.
        """
        group, size = [first], len(first.contributions)
        while size < _MOST:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return group, None
            if not isinstance(job, _Add):
                if job is None:
                    self._jobs.put(None)  # the end: after this group
                    return group, None
                return group, job
            group.append(job)
            size += len(job.contributions)
        return group, None

    def _add(self, group: Sequence[_Add]) -> None:
        together = [one for job in group for one in job.contributions]
        try:
            with self._committing() as connection:
                outcomes = stored.add(
                    connection,
                    together,
                    replica=self._replica,
                    seal=self._seal,
                    now=self._clock(),
                    certain=self._certain(),
                )
            if Verdict.CLOSED in outcomes and self._certain():  # before anybody hears it
                self._write_closing({one.study for one in together})
        except Exception as reason:  # whoever waits is told; the thread goes on
            if isinstance(reason, DataError) and len(group) > 1:  # of one of them: the others need not suffer
                for job in group:
                    self._add([job])
            else:
                _tell([_Answer(job.done, failure=reason) for job in group])
            return
        self._committed(len(together))
        start, answers = 0, []
        for job in group:
            end = start + len(job.contributions)
            answers.append(_Answer(job.done, outcomes[start:end]))
            start = end
        _tell(answers)

    @contextmanager
    def _committing(self) -> Iterator[Connection]:
        """Open a transaction and record whether it failed.

        Refusals by the work in it are not failures of the database.
        """
        try:
            with writing(self._engine) as connection:
                yield connection
        except SQLAlchemyError:
            self._failed = True
            raise
        else:
            self._failed = False

    def _write_closing(self, numbers: set[int]) -> None:
        """Write down which studies have reached their closing time, alone: others may be adding to them."""
        with self._committing() as connection:
            close_overdue(connection, numbers, self._clock())

    def _run(self, job: _Run[Any]) -> None:
        try:
            with self._committing() as connection:
                found = job.work(connection)
        except Exception as reason:
            _tell([_Answer(job.done, failure=reason)])
            return
        _tell([_Answer(job.done, found)])


def _tell(answers: Sequence[_Answer]) -> None:
    """Answer all who wait, with one call into their event loop: a call each would cost more than the commit."""

    def tell() -> None:
        for answer in answers:
            if answer.done.done():  # whoever asked has gone
                continue
            if answer.failure is not None:
                answer.done.set_exception(answer.failure)
            else:
                answer.done.set_result(answer.found)

    with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
        answers[0].done.get_loop().call_soon_threadsafe(tell)
