"""A ledger on disk: a file that is only ever appended to.

The first line says what the ledger was created with, every other line is an event (or a note of a repair), and each has
the running checksum of `hybriddp.release.chain`. Files of before, one JSON text each, are read as they are; the first
event that is added to one is preceded by a first line whose checksum goes on from the old text, so that nothing is
rewritten and nothing can be lost half-way.

An event is on disk before `append` returns, and noise is drawn after that. So a line that breaks off belongs to a
release that was never drawn, *if* it was the program that broke off. It may also be what is left of a line that was
cut later, and then its release has happened. A program cannot tell: it refuses the file until somebody has looked at it
(`hybriddp.release.ledger_check`).
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from hybriddp.errors import DataError, HybridDPError, ParameterError
from hybriddp.release.chain import START, digest, ends_with, has_checksum, link, unlink
from hybriddp.release.event import Event
from hybriddp.release.file_lock import held, is_at, locked
from hybriddp.release.ledger_text import Header, from_fields

VERSION = 2
_FIRST = b'{"ledger":'  # how a first line begins
_TRIES, _PAUSE = 50, 0.02  # a file that is being created is empty for less than that


@dataclass(frozen=True, slots=True)
class Position:
    """How far a ledger file has been read: all that is needed to read on from there.

    Attributes
    ----------
    header : Header
        What the ledger was created with.
    file : tuple
        Which file it is, to the system.
    offset, lines, events : int
        Bytes, lines and events up to here.
    head : str
        The checksum at the end of the last line.
    old : bool
        Whether all of it is one JSON text of before, which the next line turns into a file of lines.
    """

    header: Header
    file: tuple[int, int]
    offset: int
    lines: int
    events: int
    head: str
    old: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read.

    Attributes
    ----------
    events : tuple of Event
        The events of all lines that end with a line break.
    position : Position
        Where these lines end.
    torn : bytes
        What is behind them, and does not end.
    unended : bool
        Whether that is a whole line, checksum and all, that lacks only its line break: then it counts.
    """

    events: tuple[Event, ...]
    position: Position
    torn: bytes
    unended: bool = False


def resolved(path: Path | str) -> Path:
    """The file itself: links and later changes of the working directory must not make two books of one."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError):  # which of them depends on the version of Python
        raise DataError(f"{path} is a link that leads to itself, or cannot be followed.") from None
    except ValueError:
        raise ParameterError("path", "the name of a file, which has no NUL character", str(path)) from None


def create(path: Path, header: Header) -> None:
    """Create the file, on disk before this returns; `FileExistsError` if there is one."""
    first = link({"ledger": VERSION, **header.fields()}, START)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("xb", buffering=0)
    except OSError as reason:
        if isinstance(reason, FileExistsError) and path.exists():
            raise
        raise DataError(f"The ledger {path} cannot be created ({reason.strerror}).") from None
    with file, held(file, path):
        try:
            _write(file, path, 0, first.line + b"\n")
        except DataError:
            # Empty, it would block the name. It is removed while it is locked: nobody has written into it yet. Windows
            # does not remove open files; there it stays, and is refused as empty.
            with suppress(PermissionError):
                path.unlink(missing_ok=True)
            raise
    _sync_folder(path.parent)


@contextmanager
def opened(path: Path, *, writing: bool) -> Iterator[BinaryIO]:
    """The ledger file, locked. `FileNotFoundError` if there is none."""
    for attempt in range(1, _TRIES + 1):
        with locked(path, writing=writing) as file:
            # Whoever creates it may not have come to its first line yet.
            if attempt == _TRIES or os.fstat(file.fileno()).st_size:
                yield file
                return
        time.sleep(_PAUSE)


def read_after(file: BinaryIO, path: Path, known: Position | None) -> Reading:
    """What has been added since ``known``; all of it if that is None. A last line that breaks off is not refused here.

    `DataError` if a line does not follow from the one before it, or if what was known is not there any more.
    """
    status = os.fstat(file.fileno())
    identity = (status.st_dev, status.st_ino)
    if known is None:
        return _read_all(file, path, identity)
    if known.old or known.file != identity:  # another file may have taken its place: a copy, perhaps
        reading = _read_all(file, path, identity, contains=known)
        return replace(reading, events=reading.events[known.events :])
    before = min(known.offset, 128)
    file.seek(known.offset - before)
    data = _read(file, path)
    if not ends_with(data[:before], known.head):
        raise _rolled_back(path)
    return _read_lines(data[before:], path, known)


def whole(reading: Reading, path: Path) -> Reading:
    """The reading, refused if its last line breaks off."""
    if reading.unended:
        raise DataError(
            f"The last line of {path} is whole, but there is no line break behind it. Its event counts, and nothing "
            "else has been spent. Add the line break: hybriddp ledger verify --repair."
        )
    if reading.torn:
        raise DataError(
            f"The last line of {path} (line {reading.position.lines + 1}) breaks off. Either a program stopped while "
            "writing it and drew nothing, or the file was cut. Nothing has been spent; see what it says and decide: "
            "hybriddp ledger verify --repair."
        )
    return reading


def append(file: BinaryIO, path: Path, position: Position, lines: Sequence[dict[str, Any]], events: int) -> Position:
    """Add lines behind ``position``, the end of the file; on disk before this returns. The position after them."""
    header = [{"ledger": VERSION, **position.header.fields()}] if position.old else []
    data, head = bytearray(b"\n" if position.old else b""), position.head
    for fields in [*header, *lines]:
        new = link(fields, head)
        data += new.line + b"\n"
        head = new.head
    # White space behind a text of before is no part of it, and may be longer than what is written over it.
    _write(file, path, position.offset, bytes(data), cut=position.old)
    if not is_at(file, path):
        raise DataError(
            f"{path} was removed or replaced while it was being written to. Nothing has been released; find out who "
            "moves the ledger before you try again."
        )
    return replace(
        position,
        offset=position.offset + len(data),
        lines=position.lines + data.count(b"\n"),
        events=position.events + events,
        head=head,
        old=False,
    )


def end_line(file: BinaryIO, path: Path, reading: Reading) -> Reading:
    """Add the line break that a whole last line lacks; what the file says then, from its beginning."""
    _write(file, path, reading.position.offset + len(reading.torn), b"\n")
    return read_after(file, path, None)


def event_fields(event: Event) -> dict[str, Any]:
    """The event as a line has it: what is None is left out."""
    return {name: value for name, value in asdict(event).items() if value is not None}


def _read_all(file: BinaryIO, path: Path, identity: tuple[int, int], contains: Position | None = None) -> Reading:
    file.seek(0)
    data = _read(file, path)
    if not data:
        raise DataError(
            f"{path} is empty, and so not a ledger: it was emptied, or a program stopped while creating it. Only if "
            "nothing was ever spent from it, delete it and create it again."
        )
    if not data.startswith(_FIRST):
        return _read_old(data, path, identity, contains)
    end = data.find(b"\n")
    if end < 0:
        raise DataError(
            f"The first line of {path} breaks off. If a program stopped while creating it, nothing was ever spent from "
            "it: delete it and create it again. If the file was cut, restore it from a copy."
        )
    header = _header(data[:end], START, path, line=1)
    start = Position(header.header, identity, end + 1, 1, 0, header.head)
    return _read_lines(data[end + 1 :], path, start, contains)


def _read_old(data: bytes, path: Path, identity: tuple[int, int], contains: Position | None) -> Reading:
    """A file that begins with the one JSON text that a ledger was before."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise DataError(f"{path} cannot be read as a ledger.") from None
    try:
        stored, end = json.JSONDecoder().raw_decode(text)
        old = from_fields(stored)
    except DataError as reason:
        raise DataError(f"{path}: {reason}") from None
    except ValueError:
        raise DataError(f"{path} is not a ledger.") from None
    size = len(text[:end].encode())
    lines = data[:size].count(b"\n")
    start = Position(old.header, identity, size, lines, len(old.events), digest(data[:size]), old=True)
    if contains is not None and _is_same(start, contains):
        contains = None
    behind = data[size:]
    if not behind.strip():  # white space apart, nothing has been added
        return _read_lines(b"", path, start, contains, before=old.events)
    # All that a program that stops can leave here is the beginning of one line. More than that has been changed since,
    # by an editor that writes other line breaks for example, and may hold events.
    end = behind.find(b"\n", 1)
    ended = end >= 0
    if not ended and not has_checksum(behind):
        return Reading(old.events, start, behind)
    if not behind.startswith(b"\n" + _FIRST):
        raise _broken(path, lines + 2)
    header = _header(behind[1:end] if ended else behind[1:], start.head, path, line=lines + 2)
    if header.header != old.header:
        raise _broken(path, lines + 2)
    if not ended:
        return Reading(old.events, start, behind, unended=True)
    after = replace(start, offset=size + end + 1, lines=lines + 2, head=header.head, old=False)
    return _read_lines(behind[end + 1 :], path, after, contains, before=old.events)


def _read_lines(
    data: bytes, path: Path, start: Position, contains: Position | None = None, before: tuple[Event, ...] = ()
) -> Reading:
    """The lines behind ``start``, at which there were the events ``before``. With ``contains``, one must end there."""
    *lines, torn = data.split(b"\n")
    events, head = list(before), start.head
    found = contains is None or _is_same(start, contains)
    for number, line in enumerate(lines, start.lines + 1):
        read = _line(line, head, path, number)
        head = read.head
        if read.event is not None:
            events.append(read.event)
        found = found or (contains is not None and head == contains.head)
    position = replace(
        start,
        offset=start.offset + len(data) - len(torn),
        lines=start.lines + len(lines),
        events=start.events + len(events) - len(before),
        head=head,
    )
    if not found:
        raise _rolled_back(path)
    if unended := has_checksum(torn):
        _line(torn, head, path, position.lines + 1)  # refused if it is not the line that follows
    return Reading(tuple(events), position, torn, unended)


@dataclass(frozen=True, slots=True)
class _Line:
    """Any later line: its event, None for the note of a repair, and its checksum."""

    event: Event | None
    head: str


def _line(line: bytes, head: str, path: Path, number: int) -> _Line:
    try:
        fields = unlink(line, head)
        new = fields.pop("chain")
        return _Line(None if "repair" in fields else Event.of(fields), new)
    except (HybridDPError, ValueError, TypeError, AttributeError, KeyError):
        raise _broken(path, number) from None


def _is_same(one: Position, other: Position) -> bool:
    return one.head == other.head and one.events == other.events


@dataclass(frozen=True, slots=True)
class _First:
    """A first line: what it says, and its checksum."""

    header: Header
    head: str


def _header(data: bytes, head: str, path: Path, *, line: int) -> _First:
    try:
        fields = unlink(data, head)
        version = fields["ledger"]
        if type(version) is not int or version != VERSION:
            raise DataError(f"{path} has version {version!r}; this program knows version {VERSION}.")
        return _First(Header.of(fields), fields["chain"])
    except DataError:
        raise
    except (HybridDPError, KeyError, TypeError, ValueError):
        raise _broken(path, line) from None


def _broken(path: Path, line: int) -> DataError:
    return DataError(
        f"Line {line} of {path} does not follow from the line before it: a line was edited, removed, added or moved. "
        "Nothing has been spent; restore the file from a copy."
    )


def _rolled_back(path: Path) -> DataError:
    return DataError(
        f"{path} has lost events that this program has read or written, or is another ledger now. Nothing has been "
        "spent; restore the file from a copy."
    )


def _read(file: BinaryIO, path: Path) -> bytes:
    """The rest of the file."""
    parts = []
    try:
        while part := file.read(1 << 20):
            parts.append(part)
    except OSError as reason:
        raise DataError(f"{path} cannot be read as a ledger ({reason.strerror}). Nothing has been spent.") from None
    return b"".join(parts)


def _write(file: BinaryIO, path: Path, offset: int, data: bytes, *, cut: bool = False) -> None:
    """Write at the end of the file, or cut it there first; on disk before this returns. A failure leaves nothing."""
    try:
        if cut:
            file.truncate(offset)
        file.seek(offset)
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except OSError as reason:
        file.truncate(offset)
        raise DataError(f"{path} cannot be written ({reason.strerror}). Nothing has been spent.") from None


def _sync_folder(folder: Path) -> None:
    """Put a new file's name on disk too, where the system can be told to."""
    if os.name == "nt":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as reason:
        raise DataError(
            f"The folder {folder} cannot be put on disk ({reason.strerror}): after a power cut a new ledger might not "
            "be in it. Nothing has been spent."
        ) from None
