"""A ledger on disk: a locked file that is only ever appended to.

An event is on disk before `append` returns, and noise is drawn after that. So an unfinished last line belongs to a
release that was never drawn, *if* it was the program that stopped. It may also be what is left of a line that was
truncated later, and then its release has happened. A program cannot tell: it refuses the file until somebody has looked
at it (`repair_ledger`).
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from hybriddp.errors import DataError, ParameterError
from hybriddp.release.event import Event
from hybriddp.release.ledger.lock import held, is_at, opened
from hybriddp.release.ledger.store import OpenLedger
from hybriddp.release.ledger.text import (
    Fields,
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


def resolved(path: Path | str) -> Path:
    """Resolve a path, so that links and later changes of the working directory do not make two ledgers of one."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError):  # which of them depends on the version of Python
        raise DataError(f"{path} is a link that leads to itself, or cannot be followed.") from None
    except ValueError:
        raise ParameterError("path", "the name of a file, which has no NUL character", str(path)) from None


class FileLedgerStore:
    """A ledger in a file. Every event is on disk before the noise that it pays for is drawn.

    Parameters
    ----------
    path : Path or str
        The file.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = resolved(path)

    def __str__(self) -> str:
        return str(self._path)

    def create(self, header: Header) -> bool:
        """Begin the ledger with this header, unless there is one; whether it did."""
        try:
            _create(self._path, header)
        except FileExistsError:
            return False
        return True

    def read(self, known: Position | None = None) -> LedgerContents | None:
        """Read what was added since ``known``; None if there is no ledger yet."""
        try:
            with opened(self._path, writing=False) as file:
                return read_after(file, self._path, known)
        except FileNotFoundError:
            return None

    @contextmanager
    def writing(self, known: Position | None) -> Iterator[OpenLedger]:
        """Keep others from writing. `DataError` if the ledger is gone."""
        path = self._path
        try:
            with opened(path, writing=True) as file:
                contents = read_after(file, path, known)

                def add(events: Sequence[Event]) -> Position:
                    return append(file, path, contents.position, [event.fields() for event in events], len(events))

                yield OpenLedger(contents, add)
        except FileNotFoundError:
            raise gone(path) from None


def _create(path: Path, header: Header) -> None:
    """Create the file, on disk before this returns; `FileExistsError` if there is one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("xb", buffering=0)
    except OSError as reason:
        if isinstance(reason, FileExistsError) and path.exists():
            raise
        raise DataError(f"The ledger {path} cannot be created ({reason.strerror}).") from None
    with file, held(file, path):
        try:
            write(file, path, 0, first_line(header).data + b"\n")
        except DataError:
            # Empty, it would block the name. It is removed while it is locked: nobody has written into it yet. Windows
            # does not remove open files; there it stays, and is refused as empty.
            with suppress(PermissionError):
                path.unlink(missing_ok=True)
            raise
    sync_folder(path.parent)


def read_after(file: BinaryIO, path: Path, known: Position | None) -> LedgerContents:
    """Read what has been added since ``known``; all of it if that is None.

    `DataError` if a line is unfinished or does not follow from the one before it, or if what was known is gone.
    """
    contents = read_lines(file, path, known)
    if contents.unended:
        raise DataError(
            f"The last line of {path} is complete except for its line break. Its event counts, and nothing "
            "else has been spent. Add the line break: hybriddp ledger verify --repair."
        )
    if contents.torn:
        raise DataError(
            f"The last line of {path} (line {contents.position.lines + 1}) breaks off. Either a program stopped while "
            "writing it and drew nothing, or the file was truncated. Nothing has been spent; see what it says and "
            "decide: hybriddp ledger verify --repair."
        )
    return contents


def read_lines(file: BinaryIO, path: Path, known: Position | None) -> LedgerContents:
    """`read_after`, whatever the last line is."""
    status = os.fstat(file.fileno())
    identity = (status.st_dev, status.st_ino)
    if known is None or known.place != identity:  # another file may have taken its place: a copy, perhaps
        return parse_file(read_all(file, path, 0), path, identity, contains=known)
    before = min(known.offset, 128)
    data = read_all(file, path, known.offset - before)
    if not known.is_at_end_of(data[:before]):
        raise lost_events(path)
    return parse_lines(data[before:], path, known)


def append(file: BinaryIO, path: Path, position: Position, lines: Iterable[Fields], events: int) -> Position:
    """Add lines behind ``position``, the end of the file; on disk before this returns. The position after them."""
    written = chained(lines, position.head)
    data = b"".join(line.data + b"\n" for line in written)
    write(file, path, position.offset, data)
    if not is_at(file, path):
        raise DataError(
            f"{path} was removed or replaced while it was being written to. Nothing has been released; find out who "
            "moves the ledger before you try again."
        )
    return position.after(data, written[-1].head, events)


def read_all(file: BinaryIO, path: Path, offset: int) -> bytes:
    """Read the rest of the file."""
    parts = []
    try:
        file.seek(offset)
        while part := file.read(1 << 20):
            parts.append(part)
    except OSError as reason:
        raise DataError(f"{path} cannot be read as a ledger ({reason.strerror}). Nothing has been spent.") from None
    return b"".join(parts)


def write(file: BinaryIO, path: Path, offset: int, data: bytes) -> None:
    """Write at the end of the file, on disk before this returns. A failure leaves nothing."""
    try:
        file.seek(offset)
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except OSError as reason:
        file.truncate(offset)
        raise DataError(f"{path} cannot be written ({reason.strerror}). Nothing has been spent.") from None


def sync_folder(folder: Path) -> None:
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
