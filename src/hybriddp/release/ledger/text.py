"""How a ledger is written: as lines of JSON with a running checksum.

The first line says what the ledger was created with, every other is an event, or the note of a repair or of a saved
result. The last field of a line, ``"chain"``, is the SHA-256 of the checksum before it followed by the line without
this field: a line that was edited, removed, added or moved breaks the chain there. A truncated file breaks nothing; to
notice that, one checksum has to be kept elsewhere. There is no key: the chain finds accidents and edits by hand, not
somebody who computes all checksums anew.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from hybriddp import _check
from hybriddp.errors import DataError, HybridDPError, ParameterError, ProtocolError
from hybriddp.privacy import Privacy
from hybriddp.release.accountant import Accountant
from hybriddp.release.event import Event

VERSION = 2
SAVED = "saved"
"""How the note of a saved result begins (`hybriddp.release.results`)."""
START = ""
"""The checksum before the first line."""

_NOTES = {"repair", SAVED}
_NONCE = re.compile(r"[0-9a-f]{32}")
_FIRST = b'{"ledger":'  # how a first line begins
_FIELD, _END = b',"chain":"', b'"}'
_CHECKSUM = re.compile(re.escape(_FIELD) + b"[0-9a-f]{64}" + re.escape(_END))
_SUFFIX = len(_FIELD) + 64 + len(_END)
_T = TypeVar("_T")
_DECODER = json.JSONDecoder(object_pairs_hook=_check.once_each)

Fields = Mapping[str, object]
"""What a line says, as plain values."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a ledger was created with, and keeps. The nonce tells ledgers apart."""

    budget: Privacy
    accountant: Accountant
    nonce: str

    def fields(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "budget": {"epsilon": self.budget.epsilon, "delta": self.budget.delta},
            "accountant": self.accountant.name,
            "nonce": self.nonce,
        }

    @classmethod
    def of(cls, ledger: int, budget: dict[str, str], accountant: str, nonce: str) -> "Header":
        """Read the fields of a first line."""
        if type(ledger) is not int or ledger != VERSION:
            raise ProtocolError(f"has version {ledger!r}; this program reads version {VERSION}.")
        if _NONCE.fullmatch(nonce) is None:
            raise ParameterError("nonce", "32 hexadecimal digits", nonce)
        return cls(Privacy.total(**budget), Accountant(accountant), nonce)


@dataclass(frozen=True, slots=True)
class Line:
    """A line, without its line break, and the checksum at its end."""

    data: bytes
    head: str


def link(fields: Fields, head: str) -> Line:
    """Write the line that follows the one with the checksum ``head``.

    Examples
    --------
    >>> first = link({"a": 1}, START)
    >>> first.data[:16], len(first.head)
    (b'{"a":1,"chain":"', 64)
    >>> unlink(first.data, START)["a"]
    1
    """
    body = _check.compact(fields, escaped=True).encode()  # ASCII: texts are escaped, line breaks too
    new = _checksum(head, body)
    return Line(body[:-1] + _FIELD + new.encode() + _END, new)


def chained(lines: Iterable[Fields], head: str) -> list[Line]:
    """Write the lines that follow the one with the checksum ``head``."""
    written: list[Line] = []
    for fields in lines:
        written.append(link(fields, written[-1].head if written else head))
    return written


def unlink(line: bytes, head: str) -> dict[str, Any]:
    """Read the fields of a line, checksum and all; `ValueError` if it does not follow the checksum ``head``."""
    body = line[:-_SUFFIX] + b"}"
    if line[-_SUFFIX:] != _FIELD + _checksum(head, body).encode() + _END:
        raise ValueError("the checksum is another one")
    text = line.decode()
    fields, end = _DECODER.raw_decode(text)
    if end != len(text) or not isinstance(fields, dict):
        raise ValueError("not one JSON object")
    return fields


def _checksum(head: str, body: bytes) -> str:
    return sha256(head.encode() + body).hexdigest()


def _has_checksum(some: bytes) -> bool:
    """Whether the end of a line is among these bytes, right or wrong: the beginning of one line has none.

    Texts of an event cannot look like it, because their quotation marks are escaped.
    """
    return _CHECKSUM.search(some) is not None


# Stores


@dataclass(frozen=True, slots=True)
class Position:
    """How far a ledger has been read: all that is needed to read on from there.

    Attributes
    ----------
    place : tuple
        Which file it is, to the operating system; or which row of a database.
    offset, lines, events : int
        Bytes, lines and events up to here.
    head : str
        The checksum at the end of the last line.
    before : Position or None
        Where the transaction began that added the last events, as long as it may be rolled back.
    """

    header: Header
    place: tuple[int, int]
    offset: int
    lines: int
    events: int
    head: str
    before: "Position | None" = None

    def after(self, data: bytes, head: str, events: int) -> "Position":
        """Move behind these lines, with the checksum ``head`` at their end and this number of events."""
        return replace(
            self,
            offset=self.offset + len(data),
            lines=self.lines + data.count(b"\n"),
            events=self.events + events,
            head=head,
        )

    def is_at_end_of(self, data: bytes) -> bool:
        """Whether these bytes end with this position's last line."""
        return data.endswith(_FIELD + self.head.encode() + _END + b"\n")

    def same_as(self, other: "Position") -> bool:
        """Whether both have the same lines before them."""
        return self.head == other.head and self.events == other.events


@dataclass(frozen=True, slots=True)
class LedgerContents:
    """What was read from a ledger.

    Attributes
    ----------
    events, position
        The events of all lines that end with a line break, and where these lines end.
    notes : tuple of dict
        Repairs and saved results among these lines.
    torn : bytes
        An unfinished line behind them.
    unended : bool
        Whether that line is complete, checksum and all, and lacks only its line break: then it counts.
    """

    events: tuple[Event, ...]
    position: Position
    notes: tuple[Fields, ...] = ()
    torn: bytes = b""
    unended: bool = False


def first_line(header: Header) -> Line:
    """Write the first line of a file."""
    return link({"ledger": VERSION, **header.fields()}, START)


def parse_file(
    data: bytes, path: Path | str, identity: tuple[int, int], contains: Position | None = None
) -> LedgerContents:
    """Parse a whole ledger file, or what follows ``contains``; `DataError` unless that position is in it."""
    if not data:
        raise DataError(
            f"{path} is empty, and so not a ledger: it was emptied, or a program stopped while creating it. Only if "
            "nothing was ever spent from it, delete it and create it again."
        )
    if not data.startswith(_FIRST):
        raise DataError(f"{path} is not a ledger: its first line is not that of one.")
    end = data.find(b"\n")
    if end < 0:
        raise DataError(
            f"The first line of {path} breaks off. If a program stopped while creating it, nothing was ever spent from "
            "it: delete it and create it again. If the file was truncated, restore it from a copy."
        )
    header, head = _read_line(data[:end], START, path, 1, lambda fields: Header.of(**fields))
    contents = parse_lines(data[end + 1 :], path, Position(header, identity, end + 1, 1, 0, head), contains)
    return contents if contains is None else replace(contents, events=contents.events[contains.events :])


def parse_lines(data: bytes, path: Path | str, start: Position, contains: Position | None = None) -> LedgerContents:
    """Parse the lines behind ``start``. With ``contains``, one must end there."""
    *lines, torn = data.split(b"\n")
    read, head = list[Event | Fields](), start.head
    found = contains is None or start.same_as(contains)
    for number, line in enumerate(lines, start.lines + 1):
        entry, head = _read_line(line, head, path, number, _event_or_note)
        read.append(entry)
        found = found or (contains is not None and head == contains.head)
    if not found:
        raise lost_events(path)
    events = tuple(entry for entry in read if isinstance(entry, Event))
    notes = tuple(entry for entry in read if not isinstance(entry, Event))
    position = start.after(data[: len(data) - len(torn)], head, len(events))
    if unended := _has_checksum(torn):
        _read_line(torn, head, path, position.lines + 1, _event_or_note)  # refused if it is not the line that follows
    return LedgerContents(events, position, notes, torn, unended)


def _event_or_note(fields: dict[str, Any]) -> Event | Fields:
    return fields if fields.keys() & _NOTES else Event.of(fields)


def _read_line(
    line: bytes, head: str, path: Path | str, number: int, read: Callable[[dict[str, Any]], _T]
) -> tuple[_T, str]:
    """Read the line that follows the checksum ``head``, and return its own checksum beside it."""
    try:
        fields = unlink(line, head)
        new = fields.pop("chain")
        return read(fields), new
    except ProtocolError as other:  # another version
        raise DataError(f"{path} {other}") from None
    except (HybridDPError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise DataError(
            f"Line {number} of {path} does not follow from the line before it: a line was edited, removed, added or "
            "moved. Nothing has been spent; restore it from a copy."
        ) from None


def lost_events(path: Path | str) -> DataError:
    """Make the error for a file that was rolled back or exchanged."""
    return DataError(
        f"{path} has lost events that this program has read or written, or is another ledger now. Nothing has been "
        "spent; restore it from a copy."
    )


def gone(path: Path | str) -> DataError:
    """Make the error for a ledger that was there."""
    return DataError(f"The ledger {path} is gone. Nothing has been spent; restore it.")
