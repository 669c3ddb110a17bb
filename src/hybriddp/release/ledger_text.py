"""How a ledger is written: as one JSON text, or as lines of JSON with a running checksum.

`Ledger.to_json` writes one text. Version 2 leaves out what is None; version 1, which did not, is still read.

Ledger files have lines. The first says what the ledger was created with, every other is an event, or the note of a
repair or of a saved result. The last field of a line, ``"chain"``, is the SHA-256 of the checksum before it followed by
the line without this field: a line that was edited, removed, added or moved breaks the chain there. A truncated file
breaks nothing; to notice that, one checksum has to be kept elsewhere. There is no key: the chain finds accidents and
edits by hand, not somebody who computes all checksums anew.

Ledger files of earlier versions are one text each. The first event that is added to one is preceded by a first line
whose checksum continues from the text, so that nothing is rewritten and nothing can be lost half-way.
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
    """What a ledger was created with, and keeps. The nonce tells ledgers apart; older ones have none."""

    budget: Privacy
    accountant: Accountant
    nonce: str | None = None

    def fields(self) -> dict[str, Any]:
        """As plain values."""
        fields = {
            "budget": {"epsilon": self.budget.epsilon, "delta": self.budget.delta},
            "accountant": self.accountant.name,
        }
        return fields if self.nonce is None else {**fields, "nonce": self.nonce}

    @classmethod
    def of(cls, budget: dict[str, str], accountant: str = "basic", nonce: str | None = None) -> "Header":
        """From plain values. Ledgers that name no accountant are older than the choice."""
        if nonce is not None and (not isinstance(nonce, str) or _NONCE.fullmatch(nonce) is None):
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
        version, events = fields.pop("version"), fields.pop("events", None)
        if type(version) is not int or version not in (1, VERSION):
            raise DataError(f"The ledger has version {version!r}; this program reads versions 1 and {VERSION}.")
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
    old : bool
        Whether all of it is one text of an earlier version, which the next line turns into a file of lines.
    before : Position or None
        Where the transaction began that added the last events, as long as it may be rolled back.
    """

    header: Header
    place: tuple[int, int]
    offset: int
    lines: int
    events: int
    head: str
    old: bool = False
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


def first_line(header: Header, head: str = START) -> Line:
    """The first line of a file, or of the lines behind a text with the checksum ``head``."""
    return link({"ledger": VERSION, **header.fields()}, head)


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
        return _parse_old(data, path, identity, contains)
    end = data.find(b"\n")
    if end < 0:
        raise DataError(
            f"The first line of {path} breaks off. If a program stopped while creating it, nothing was ever spent from "
            "it: delete it and create it again. If the file was truncated, restore it from a copy."
        )
    header, head = _parse_first(data[:end], START, path, line=1)
    return parse_lines(data[end + 1 :], path, Position(header, identity, end + 1, 1, 0, head), contains)


def _parse_old(data: bytes, path: Path | str, identity: tuple[int, int], contains: Position | None) -> LedgerContents:
    """A file that begins with one JSON text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise DataError(f"{path} cannot be read as a ledger.") from None
    try:
        stored, end = _DECODER.raw_decode(text)
        header, events = from_fields(stored)
    except DataError as reason:
        raise DataError(f"{path}: {reason}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path} is not a ledger.") from None
    size = len(text[:end].encode())
    lines, digest = data[:size].count(b"\n"), sha256(data[:size]).hexdigest()
    start = Position(header, identity, size, lines, len(events), digest, old=True)
    if contains is not None and start.same_as(contains):
        contains = None
    behind = data[size:]
    if not behind.strip():  # except for white space, nothing has been added
        return parse_lines(b"", path, start, contains, before=events)
    # All that a program that stops can leave here is the beginning of one line. More than that has been changed since,
    # by an editor that writes other line breaks for example, and may hold events.
    end = behind.find(b"\n", 1)
    ended = end >= 0
    if not ended and not _has_checksum(behind):
        return LedgerContents(events, start, behind)
    if not behind.startswith(b"\n" + _FIRST):
        raise _broken(path, lines + 2)
    again, head = _parse_first(behind[1:end] if ended else behind[1:], start.head, path, line=lines + 2)
    if again != header:
        raise _broken(path, lines + 2)
    if not ended:
        return LedgerContents(events, start, behind, unended=True)
    after = replace(start, offset=size + end + 1, lines=lines + 2, head=head, old=False)
    return parse_lines(behind[end + 1 :], path, after, contains, before=events)


def parse_lines(
    data: bytes, path: Path | str, start: Position, contains: Position | None = None, before: tuple[Event, ...] = ()
) -> LedgerContents:
    """The lines behind ``start``, at which there were the events ``before``. With ``contains``, one must end there."""
    *lines, torn = data.split(b"\n")
    events, head = list(before), start.head
    found = contains is None or start.same_as(contains)
    for number, line in enumerate(lines, start.lines + 1):
        event, head = _parse_event(line, head, path, number)
        if event is not None:
            events.append(event)
        found = found or (contains is not None and head == contains.head)
    position = start.after(data[: len(data) - len(torn)], head, len(events) - len(before))
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


def _parse_first(data: bytes, head: str, path: Path | str, *, line: int) -> tuple[Header, str]:
    try:
        fields = unlink(data, head)
        version, new = fields.pop("ledger"), fields.pop("chain")
        if type(version) is not int or version != VERSION:
            raise DataError(f"{path} has version {version!r}; this program reads version {VERSION}.")
        return Header.of(**fields), new
    except DataError:
        raise
    except (HybridDPError, KeyError, TypeError, ValueError, RecursionError):
        raise _broken(path, line) from None


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
