"""Whether the server takes requests: it can read and write, has room to, and knows the time.

Reading alone says little: with a full disk, or where the database's processes are stopped, it works on. So the writer
is looked at, too: how long its oldest job has been waiting, and whether its last transaction was committed. After one
that failed, the round timer writes the time again every few seconds, so that a database that is well is noticed though
nobody is sent here.
"""

import asyncio
import shutil
from concurrent.futures import Future
from pathlib import Path
from threading import Thread

from sqlalchemy.exc import SQLAlchemyError

from hybriddp.service.curator import Curator
from hybriddp.service.problems import Refusal
from hybriddp.service.store.engine import answers

__all__ = ["LEAST_FREE", "LONGEST_ANSWER", "LONGEST_WAIT", "Readiness"]

LONGEST_WAIT = 10.0
"""Seconds that a job of the writer may wait."""
LONGEST_ANSWER = 3.0
"""Seconds that the database may take to answer a question."""
LEAST_FREE = 64 << 20
"""Bytes that the data folder's disk has to have left: as many as SQLite's write-ahead log may need."""


class Readiness:
    """What `/ready` looks at.

    Parameters
    ----------
    curator : Curator
        Whose database, writer and clock.
    folder : Path, optional
        The data folder of an embedded database.
    """

    def __init__(self, curator: Curator, folder: Path | None) -> None:
        self._curator, self._folder = curator, folder
        self._asked: Future[None] | None = None

    async def require(self) -> None:
        """Raise `Refusal` with the first reason why no requests should come here."""
        if trouble := self._of_writer() or self._of_disk() or self._of_clock() or await self._of_database():
            raise Refusal("unavailable", trouble)

    def _of_writer(self) -> str:
        writer = self._curator.writer
        waited = writer.oldest_wait()
        if waited > LONGEST_WAIT:
            return f"The database does not take what is written: the oldest job waits for {waited:.0f} seconds."
        return "The last transaction could not be committed." if writer.failed else ""

    def _of_clock(self) -> str:
        doubt = self._curator.clock.doubt()
        return f"{doubt} Correct it, or restart with --clock-ok if it is right." if doubt else ""

    def _of_disk(self) -> str:
        if self._folder is None:
            return ""
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError:
            return "The data folder cannot be reached."
        if free >= LEAST_FREE:
            return ""
        return f"The disk of the data folder has {free >> 20} MiB left, less than {LEAST_FREE >> 20} MiB."

    async def _of_database(self) -> str:
        """Ask the database, once at a time: a question that is not answered must not keep threads busy for ever."""
        if self._asked is None or self._asked.done():
            asked: Future[None] = Future()
            self._asked = asked
            # Not one of the pool's threads: the process must be able to end though this one never does.
            Thread(target=self._ask, args=(asked,), name="hybriddp-ready", daemon=True).start()
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._asked)), LONGEST_ANSWER)
        except (SQLAlchemyError, TimeoutError):
            return "The database does not answer."
        return ""

    def _ask(self, asked: "Future[None]") -> None:
        try:
            answers(self._curator.engine)
        except Exception as reason:  # whoever waits is told
            asked.set_exception(reason)
        else:
            asked.set_result(None)
