"""Where the events of a ledger lie: in memory, in a file (`release.ledger.file`), or in the database of a server.

A store knows nothing of budgets. It hands over what has been added since a position, and adds events while nobody else
does. When an event is spent for good depends on the store: in a file, as soon as it has been added; in a database, as
soon as its transaction is committed, together with whatever else is in it. What is rolled back was never spent.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import Protocol, runtime_checkable

from hybriddp.release.event import Event
from hybriddp.release.ledger.text import START, Header, LedgerContents, Position, gone


@dataclass(frozen=True, slots=True)
class OpenLedger:
    """A ledger into which nobody else writes.

    Attributes
    ----------
    contents : LedgerContents
        What was added since the position that was known.
    append : callable
        Adds events behind that, all or none, and returns the position after them.
    """

    contents: LedgerContents
    append: Callable[[Sequence[Event]], Position]


@runtime_checkable
class LedgerStore(Protocol):
    """Where the events of a ledger lie. Its `str` is what error messages call it."""

    def create(self, header: Header) -> bool:
        """Begin the ledger with this header, unless there is one; whether it did."""

    def read(self, known: Position | None = None) -> LedgerContents | None:
        """Read what was added since ``known``; None if there is no ledger yet.

        `DataError` if what was known is not there any more. What was known and rolled back is neither: the contents
        then begin before it.
        """

    def writing(self, known: Position | None) -> AbstractContextManager[OpenLedger]:
        """Keep others from writing. `DataError` if the ledger is gone."""


class MemoryLedgerStore:
    """A ledger that ends with the program.

    Parameters
    ----------
    header, events
        What it has from the beginning. Without a header there is no ledger yet.
    """

    def __init__(self, header: Header | None = None, events: Sequence[Event] = ()) -> None:
        self._header, self._events, self._lock = header, list(events), Lock()

    def __str__(self) -> str:
        return "The ledger"

    def create(self, header: Header) -> bool:
        """Begin the ledger with this header, unless there is one; whether it did."""
        with self._lock:
            new = self._header is None
            self._header = self._header or header
        return new

    def read(self, known: Position | None = None) -> LedgerContents | None:
        """Read what was added since ``known``; None if there is no ledger yet."""
        if self._header is None:
            return None
        start = 0 if known is None else known.events
        added = tuple(self._events[start:])
        return LedgerContents(added, Position(self._header, (0, 0), 0, 0, start + len(added), START))

    @contextmanager
    def writing(self, known: Position | None) -> Iterator[OpenLedger]:
        """Keep others from writing."""
        with self._lock:
            contents = self.read(known)
            if contents is None:
                raise gone(str(self))

            def add(events: Sequence[Event]) -> Position:
                self._events += events
                return replace(contents.position, events=len(self._events))

            yield OpenLedger(contents, add)
