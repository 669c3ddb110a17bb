"""Ledgers in a database: an event commits together with the result that it pays for, or not at all.

A ledger has the same lines as a ledger file, checksums included, one per row: the first is its header, and one follows
for every event. The primary key of an event is its number, so two programs that add one at once conflict; they cannot
both go on from the same event. Usually neither sees a conflict, because whoever writes locks the ledger's row first
(SQLite has no row locks: begin such transactions with ``BEGIN IMMEDIATE``).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Column, Connection, ForeignKey, Integer, MetaData, Table, Text, insert, select
from sqlalchemy.exc import IntegrityError

from hybriddp.errors import DataError, ParameterError, raise_unchained
from hybriddp.release.event import Event
from hybriddp.release.ledger.store import OpenLedger
from hybriddp.release.ledger.text import (
    Header,
    LedgerContents,
    Position,
    chained,
    first_line,
    gone,
    lost_events,
    parse_file,
    parse_lines,
)

metadata = MetaData()
ledgers = Table(
    "ledgers",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("header", Text, nullable=False),
    Column("created", Text, nullable=False),
    sqlite_autoincrement=True,  # a ledger never takes the place of another one
)
ledger_events = Table(
    "ledger_events",
    metadata,
    Column("ledger", Integer, ForeignKey("ledgers.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("line", Text, nullable=False),
)


def ledger_names(connection: Connection) -> list[str]:
    """Return the names of all ledgers."""
    return list(connection.scalars(select(ledgers.c.name)))


class _Row(NamedTuple):
    """A ledger's own row."""

    id: int
    header: str


class DatabaseLedgerStore:
    """A ledger in a database, for `Ledger.create` and `Ledger.open`.

    Its events are spent when the caller commits. If the transaction is rolled back they never were: draw and keep a
    result as you like, but let nobody see it before the commit. A `Ledger` on this store may live as long as the
    connection; every transaction reads on from where the one before it ended, committed or not.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        With a transaction of the caller's. Only one thread at a time may use it, and the ledger.
    name : str
        Which ledger.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        if not isinstance(name, str) or not name.strip() or "\0" in name:
            raise ParameterError("name", "a text that names the ledger", name)
        self._connection, self._name = connection, name
        self._wrote: object = None  # the transaction in which this has added events

    def __str__(self) -> str:
        return repr(self._name)

    def create(self, header: Header) -> bool:
        """Begin the ledger with this header, unless there is one; whether it did."""
        row = {
            "name": self._name,
            "header": first_line(header).data.decode(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        try:
            with self._connection.begin_nested():
                self._connection.execute(insert(ledgers), row)
        except IntegrityError:
            return False
        return True

    def read(self, known: Position | None = None) -> LedgerContents | None:
        """Read the additions since ``known``, or return None if there is no ledger yet."""
        row = self._row(locked=False)
        return None if row is None else self._read(row, known)

    @contextmanager
    def writing(self, known: Position | None) -> Iterator[OpenLedger]:
        """Keep others from writing until the transaction ends. `DataError` if the ledger is gone."""
        row = self._row(locked=True)
        if row is None:
            raise gone(str(self))
        contents = self._read(row, known)

        def add(events: Sequence[Event]) -> Position:
            return self._append(row, contents.position, events)

        yield OpenLedger(contents, add)

    def _row(self, *, locked: bool) -> _Row | None:
        query = select(ledgers.c.id, ledgers.c.header).where(ledgers.c.name == self._name)
        found = self._connection.execute(query.with_for_update() if locked else query).one_or_none()
        return None if found is None else _Row(*found)

    def _read(self, row: _Row, known: Position | None) -> LedgerContents:
        place, name = (row.id, 0), str(self)
        if known is None or known.place != place:
            return parse_file(self._lines(row, 0), name, place, contains=known)
        # The last line that is known is read again: it must still be there.
        line, end, added = self._lines(row, known.events).partition(b"\n")
        if not known.is_at_end_of(line + end):
            if known.before is None:
                raise lost_events(name)
            return self._read(row, known.before)  # its transaction was rolled back
        if self._connection.get_transaction() is not self._wrote:
            known = replace(known, before=None)  # its transaction was committed
        return parse_lines(added, name, known)

    def _lines(self, row: _Row, start: int) -> bytes:
        """Return the lines from *start* on, as in a ledger file.

        Line 0 is the header.
        """
        lines = select(ledger_events.c.line).where(ledger_events.c.ledger == row.id, ledger_events.c.number >= start)
        found = self._connection.scalars(lines.order_by(ledger_events.c.number)).all()
        return "".join(f"{line}\n" for line in ([] if start else [row.header]) + list(found)).encode()

    def _append(self, row: _Row, position: Position, events: Sequence[Event]) -> Position:
        lines = chained((event.fields() for event in events), position.head)
        rows = [
            {"ledger": row.id, "number": number, "line": line.data.decode()}
            for number, line in enumerate(lines, position.events + 1)
        ]
        try:
            self._connection.execute(insert(ledger_events), rows)
        except IntegrityError:
            raise_unchained(
                DataError(
                    f"Another program has just written into the ledger {self}. Nothing has been spent; try again."
                )
            )
        self._wrote = self._connection.get_transaction()
        before = position if position.before is None else position.before
        data = b"".join(line.data + b"\n" for line in lines)
        return replace(position, before=before).after(data, lines[-1].head, len(events))
