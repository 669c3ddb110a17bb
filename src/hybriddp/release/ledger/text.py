"""How a ledger is written: as one JSON text, or as lines of JSON with a running checksum.

`Ledger.to_json` writes one text, and `Ledger.from_json` reads it. Ledger files have lines. The first says what the
ledger was created with, every other is an event, or the note of a repair or of a saved result. The last field of a
line, ``"chain"``, is the SHA-256 of the checksum before it followed by the line without this field: a line that was
edited, removed, added or moved breaks the chain there. A truncated file breaks nothing; to notice that, one checksum
has to be kept elsewhere. There is no key: the chain finds accidents and edits by hand, not somebody who computes all
checksums anew.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from hybriddp import _check
from hybriddp.errors import DataError, HybridDPError, ParameterError
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
        """As plain values."""
        return {
            "budget": {"epsilon": self.budget.epsilon, "delta": self.budget.delta},
            "accountant": self.accountant.name,
            "nonce": self.nonce,
        }

    @classmethod
    def of(cls, budget: dict[str, str], accountant: str, nonce: str) -> "Header":
        """From plain values."""
        if not isinstance(nonce, str) or _NONCE.fullmatch(nonce) is None:
            raise ParameterError("nonce", "32 hexadecimal digits", nonce)
        return cls(Privacy.total(**budget), Accountant(accountant), nonce)


# One text


def to_fields(header: Header, events: Iterable[Event]) -> dict[str, Any]:
    """The whole ledger as plain values."""
    return {"version": VERSION, **header.fields(), "events": [event.fields() for event in events]}


def from_fields(stored: Any) -> tuple[Header, tuple[Event, ...]]:  # noqa: ANN401
    """Header and events from plain values; `DataError` if they are not those of a ledger."""
    try:
        fields = dict(stored)
        version, events = fields.pop("version"), fields.pop("events")
        if type(version) is not int or version != VERSION:
            raise DataError(f"The ledger has version {version!r}; this program reads version {VERSION}.")
        return Header.of(**fields), tuple(map(Event.of, events))
    except DataError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, ParameterError):
        raise DataError("The text is not a ledger.") from None


# Lines


@dataclass(frozen=True, slots=True)
class Line:
    """A line, without its line break, and the checksum at its end."""

    data: bytes
    head: str


def link(fields: Fields, head: str) -> Line:
    """The line that follows the one with the checksum ``head``.

    Examples
    --------
    >>> first = link({"a": 1}, START)
    >>> first.data[:16], len(first.head)
    (b'{"a":1,"chain":"', 64)
    >>> unlink(first.data, START)["a"]
    1
    """
    body = json.dumps(fields, separators=(",", ":")).encode()  # ASCII: texts are escaped, line breaks too
    new = _checksum(head, body)
    return Line(body[:-1] + _FIELD + new.encode() + _END, new)


def chained(lines: Iterable[Fields], head: str) -> list[Line]:
    """The lines that follow the one with the checksum ``head``."""
    written: list[Line] = []
    for fields in lines:
        written.append(link(fields, written[-1].head if written else head))
    return written


def unlink(line: bytes, head: str) -> dict[str, Any]:
    """The fields of a line, checksum and all; `ValueError` if it does not follow the one with the checksum ``head``."""
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
        """The position behind these lines, with the checksum ``head`` at their end and so many events."""
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
    torn : bytes
        An unfinished line behind them.
    unended : bool
        Whether that line is complete, checksum and all, and lacks only its line break: then it counts.
    """

    events: tuple[Event, ...]
    position: Position
    torn: bytes = b""
    unended: bool = False


def first_line(header: Header) -> Line:
    """The first line of a file."""
    return link({"ledger": VERSION, **header.fields()}, START)


def parse_file(
    data: bytes, path: Path | str, identity: tuple[int, int], contains: Position | None = None
) -> LedgerContents:
    """A whole ledger file. With ``contains``, `DataError` unless that position is in it."""
    if not data:
        raise DataError(
            f"{path} is empty, and so not a ledger: it was emptied, or a program stopped while creating it. Only if "
            "nothing was ever spent from it, delete it and create it again."
        )
    if not data.startswith(_FIRST):
        raise DataError(
            f"{path} is not a ledger: its first line is not that of one. Ledgers of development versions, one JSON "
            "text each, are not read."
        )
    end = data.find(b"\n")
    if end < 0:
        raise DataError(
            f"The first line of {path} breaks off. If a program stopped while creating it, nothing was ever spent from "
            "it: delete it and create it again. If the file was truncated, restore it from a copy."
        )
    header, head = _parse_first(data[:end], path)
    return parse_lines(data[end + 1 :], path, Position(header, identity, end + 1, 1, 0, head), contains)


def parse_lines(data: bytes, path: Path | str, start: Position, contains: Position | None = None) -> LedgerContents:
    """The lines behind ``start``. With ``contains``, one must end there."""
    *lines, torn = data.split(b"\n")
    events, head = list[Event](), start.head
    found = contains is None or start.same_as(contains)
    for number, line in enumerate(lines, start.lines + 1):
        event, head = _parse_event(line, head, path, number)
        if event is not None:
            events.append(event)
        found = found or (contains is not None and head == contains.head)
    position = start.after(data[: len(data) - len(torn)], head, len(events))
    if not found:
        raise lost_events(path)
    if unended := _has_checksum(torn):
        _parse_event(torn, head, path, position.lines + 1)  # refused if it is not the line that follows
    return LedgerContents(tuple(events), position, torn, unended)


def _parse_event(line: bytes, head: str, path: Path | str, number: int) -> tuple[Event | None, str]:
    """The event of a line, None for a note, and its checksum."""
    try:
        fields = unlink(line, head)
        new = fields.pop("chain")
        return None if fields.keys() & _NOTES else Event.of(fields), new
    except (HybridDPError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise _broken(path, number) from None


def _parse_first(data: bytes, path: Path | str) -> tuple[Header, str]:
    try:
        fields = unlink(data, START)
        version, new = fields.pop("ledger"), fields.pop("chain")
        if type(version) is not int or version != VERSION:
            raise DataError(f"{path} has version {version!r}; this program reads version {VERSION}.")
        return Header.of(**fields), new
    except DataError:
        raise
    except (HybridDPError, KeyError, TypeError, ValueError, RecursionError):
        raise _broken(path, 1) from None


def _broken(path: Path | str, line: int) -> DataError:
    return DataError(
        f"Line {line} of {path} does not follow from the line before it: a line was edited, removed, added or moved. "
        "Nothing has been spent; restore it from a copy."
    )


def lost_events(path: Path | str) -> DataError:
    """The error for a file that was rolled back or exchanged."""
    return DataError(
        f"{path} has lost events that this program has read or written, or is another ledger now. Nothing has been "
        "spent; restore it from a copy."
    )


def gone(path: Path | str) -> DataError:
    """The error for a ledger that was there."""
    return DataError(f"The ledger {path} is gone. Nothing has been spent; restore it.")
