"""The timer of rounds: it looks at studies every few seconds and takes the step that is due.

Whatever it knows is in the database; what it keeps in memory only saves it from trying in vain. A step that fails has
changed nothing, and is tried again after a pause that grows from a few seconds to an hour. A study in which too few
have enrolled is left alone: nobody can join it any more.
"""

import asyncio
import logging
from dataclasses import dataclass

from sqlalchemy import Connection

from hybriddp.service import life
from hybriddp.service.asking import Advance, advance_in_time
from hybriddp.service.clock import CertainTime
from hybriddp.service.curator import Curator
from hybriddp.service.observe import Metrics, log_event, log_failure
from hybriddp.service.problems import problem
from hybriddp.service.store import studies
from hybriddp.service.store.engine import reading
from hybriddp.service.store.facts import TIME, known_fact, set_fact
from hybriddp.service.store.studies import CLOSED, StoredStudy

EVERY = 2.0
"""Seconds between two looks."""
_TIME_STORED = 60  # seconds between two times that are stored
_FIRST_PAUSE, _LONGEST_PAUSE = 4, 3600  # seconds until a step that failed is tried again


@dataclass(frozen=True, slots=True)
class FailedStep:
    """A step that failed: how often, when it is tried again, and why, in words without any value."""

    times: int
    next_at: int
    words: str


class RoundTimer:
    """Takes the steps of studies whose rounds follow each other by themselves.

    Parameters
    ----------
    curator : Curator
        Whose studies, and whose clock.
    metrics : Metrics
        Where steps are counted.
    """

    def __init__(self, curator: Curator, metrics: Metrics) -> None:
        self._curator, self._metrics = curator, metrics
        self._failed: dict[str, FailedStep] = {}
        self._rests: set[str] = set()  # nothing more is to be done for these
        self._time_due = 0

    async def run(self) -> None:
        """Look, again and again, until the server stops."""
        while True:
            await self.look()
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        """Take the step that is due in each study, if one is. Nothing that goes wrong is raised."""
        try:
            await self._keep_time()
            found = await asyncio.to_thread(self._timed)
        except Exception as error:  # the database is away: the next look may find it
            self._metrics.round("failed")
            log_failure(error)
            return
        running = {study.id for study in found}
        self._failed = {study_id: failed for study_id, failed in self._failed.items() if study_id in running}
        for study in found:
            await self._step(study)

    async def _keep_time(self) -> None:
        """Store the time every minute, for the next start to compare its clock with; unless it is in doubt.

        After a transaction that failed it is stored at once: that shows whether the database takes it again.
        """
        clock = self._curator.clock

        def work(connection: Connection) -> None:
            certain = clock.to_store(CertainTime.from_json(known_fact(connection, TIME)))
            if certain is not None:
                set_fact(connection, TIME, certain.to_json())

        if clock() >= self._time_due or self._curator.writer.failed:
            await self._curator.writer.run(work)
            self._time_due = clock() + _TIME_STORED

    def trouble(self, study_id: str) -> str:
        """Explain why the last step of a study failed.

        The text is empty if the step did not fail. A failed step is tried again.
        """
        failed = self._failed.get(study_id)
        return "" if failed is None else failed.words

    def _timed(self) -> list[StoredStudy]:
        with reading(self._curator.engine) as connection:
            return studies.timed_studies(connection)

    async def _step(self, study: StoredStudy) -> None:
        now, failed = self._curator.clock(), self._failed.get(study.id)
        if study.state_at(now) != CLOSED:
            self._failed.pop(study.id, None)
        elif study.id not in self._rests and (failed is None or now >= failed.next_at):
            try:
                await self._advance(study)
            except Exception as error:
                times = 1 if failed is None else failed.times + 1
                pause = min(_FIRST_PAUSE << min(times - 1, 16), _LONGEST_PAUSE)
                self._failed[study.id] = FailedStep(times, now + pause, problem(error)["detail"])
                self._metrics.round("failed")
                log_failure(error, study=study.id)
            else:
                self._failed.pop(study.id, None)

    async def _advance(self, study: StoredStudy) -> None:
        done = await advance_in_time(self._curator, study.id)
        if done is Advance.NOT_DUE:
            return
        if done is Advance.ENDED and study.release_at_end:
            if (await life.release(self._curator, study.id)).new:
                self._metrics.release()
                self._tell("released", study)
            return
        self._tell(done.value, study)
        if done is not Advance.PUBLISHED:
            self._rests.add(study.id)

    def _tell(self, outcome: str, study: StoredStudy) -> None:
        self._metrics.round(outcome)
        level = logging.WARNING if outcome == "short" else logging.INFO
        log_event(f"round {outcome}", level=level, study=study.id)
