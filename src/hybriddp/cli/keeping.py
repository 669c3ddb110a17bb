"""The door of every command that releases something: charge, draw, keep the result in a file, and only then show it.

`hybriddp.release.results` has the order of the steps and what a program that was killed leaves.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from hybriddp.cli.terminal import say
from hybriddp.errors import BudgetError, DataError
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.release.event import Event
from hybriddp.release.ledger.words import line
from hybriddp.release.results import KeptResult, ResultFile, State, find_results, results_folder

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """What was computed, the file that it is kept in, and the events that were charged for it."""

    value: T
    path: Path | None = None
    events: tuple[Event, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """The ledger that is charged, whom it counts, and whether a result that was lost is drawn again."""

    path: Path | None
    count: str
    again: bool = False

    def open(self, privacy: Privacy, *, dry_run: bool) -> Ledger | None:
        """Open the ledger, which exists; for a dry run a copy, in which nothing is spent."""
        if self.path is None:
            return Ledger(privacy, count=self.count) if dry_run else None
        ledger = Ledger.open(self.path, count=self.count)
        return ledger.copy() if dry_run else ledger

    def keep(
        self, ledger: Ledger | None, name: str, digest: str, compute: Callable[[], T], text: Callable[[T], str]
    ) -> Kept[T]:
        """Compute what charges the ledger, and keep its text in a file; without a charge there is no file.

        `BudgetError` says where the result is if the study was released before.
        """
        if self.path is None or ledger is None:
            return Kept(compute())
        before = self._results(ledger, digest)
        complete = [result.path.name for result in before if result.state is State.COMPLETE]
        file = ResultFile.reserve(self.path, name, digest)
        ledger.begin_result(file.path.name, again_unless=complete if self.again else None)
        try:
            value = compute()
        except BudgetError as error:
            if not _charged(ledger, file):
                file.discard()
            ledger.refresh()  # another program may have released it in the meantime
            words = _where(self._results(ledger, digest), again=self.again)
            raise BudgetError(f"{error} {words}".strip()) from None
        except BaseException:
            if not _charged(ledger, file):
                file.discard()
            raise
        events = _charged(ledger, file)
        if not events:
            file.discard()
            return Kept(value)
        try:
            file.keep(text(value))
        except DataError as problem:  # it has been charged: it is shown, at least
            return Kept(value, None, events, str(problem))
        return Kept(value, self._named(file.path), events)

    def _results(self, ledger: Ledger, digest: str) -> list[KeptResult]:
        if self.path is None:
            return []
        found = find_results(self.path, ledger.of_study("trusted", digest))
        return [KeptResult(self._named(result.path), result.state) for result in found]

    def _named(self, path: Path) -> Path:
        """Return the path beside the ledger as named, unless it is a link from elsewhere."""
        beside = path if self.path is None else results_folder(self.path) / path.name
        return beside if beside.exists() or not path.exists() else path

    def say_kept(self, kept: Kept[T]) -> None:
        """Name what was charged, whom it counts, in which study, and where the result is."""
        for event in kept.events:
            say(f"Charged in {self.path}: {line(event)}")
        if kept.path is not None:
            say(f"Saved: {kept.path}")


@contextmanager
def printing(kept: Kept[T]) -> Iterator[None]:
    """Print a result; `DataError` says where it is if that fails, or if it could not be kept."""
    try:
        yield
    except OSError as reason:
        if reason.errno == errno.EPIPE:  # whoever reads has seen enough
            raise
        _silence()
        where = "" if kept.path is None else f" It is saved: hybriddp show {kept.path} --json."
        lost = f" It has been charged, and is lost: {kept.problem}" if kept.problem else ""
        raise DataError(f"The answer cannot be printed ({reason.strerror}).{where}{lost}") from None
    if kept.problem:
        raise DataError(f"The answer above has been charged, but is in no file: save it. {kept.problem}")


def _charged(ledger: Ledger, file: ResultFile) -> tuple[Event, ...]:
    return tuple(event for event in ledger.events if event.result == file.path.name)


def _where(results: list[KeptResult], *, again: bool) -> str:
    """Say where the results of a study are, and what to do if one is not complete."""
    words = []
    for result in results:
        if result.state is State.COMPLETE:
            words.append(f"The saved result: {result.path}. Show it: hybriddp show {result.path} --json.")
        elif result.state is State.CHANGED:
            words.append(f"The result {result.path} is not as it was written. Restore it from a copy.")
    if results and not words and not again:
        words.append(
            "It was charged, but its result was never complete: a program was stopped, or is still at work. To draw it "
            "again, and charge it again: --again."
        )
    return " ".join(words)


def _silence() -> None:
    """Throw away what is left to print, which would fail once more when the program ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
