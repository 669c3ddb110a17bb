"""A ledger on disk: a locked file that is only ever appended to, and how to check and repair it.

An event is on disk before `append` returns, and noise is drawn after that. So an unfinished last line belongs to a
release that was never drawn, *if* it was the program that stopped. It may also be what is left of a line that was
truncated later, and then its release has happened. A program cannot tell: it refuses the file until somebody has looked
at it (`repair_ledger`).

The lock is on the file itself. A lock file beside it is only as good as the next clean-up job: whoever deletes it lets
a second process in. It is `fcntl.flock` on POSIX (Linux turns it into a byte-range lock on NFS and SMB), and a lock of
one byte far behind the end on Windows, where locked bytes cannot be read by others. Both belong to the open file, so
they also keep the threads of one process apart, and end with the process.
"""

import errno
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from hybriddp.errors import DataError, ParameterError
from hybriddp.release.ledger_text import (
    Header,
    LedgerContents,
    Position,
    first_line,
    link,
    lost_events,
    parse_file,
    parse_lines,
)

_FAR = 1 << 40  # of the byte that Windows locks; no ledger has a terabyte
_LOCK_PAUSE = 0.01  # seconds between two tries on Windows, which has no call that waits
_TRIES, _PAUSE = 50, 0.02  # a file that is being created is empty for less than that
_SHOWN = 2000  # bytes of an unfinished line that a note keeps


def resolved(path: Path | str) -> Path:
    """The file itself: links and later changes of the working directory must not make two ledgers of one."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError):  # which of them depends on the version of Python
        raise DataError(f"{path} is a link that leads to itself, or cannot be followed.") from None
    except ValueError:
        raise ParameterError("path", "the name of a file, which has no NUL character", str(path)) from None


# Locks


@contextmanager
def opened(path: Path, *, writing: bool) -> Iterator[BinaryIO]:
    """The ledger file, locked; readers share the lock where the system has shared locks.

    A file that was replaced or removed while this waited is not the one that others will use: the one that is there
    now is opened instead. `FileNotFoundError` if there is none.
    """
    tries = 0
    while True:
        with _open(path, writing=writing) as file, held(file, path, shared=not writing):
            if is_at(file, path):
                tries += 1
                # Whoever creates it may not have come to its first line yet.
                if tries == _TRIES or os.fstat(file.fileno()).st_size:
                    yield file
                    return
        time.sleep(_PAUSE)


@contextmanager
def held(file: BinaryIO, path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock of an open file; wait for it if somebody else does."""
    try:
        unlock = _lock_windows(file) if os.name == "nt" else _lock_posix(file, shared=shared)
    except OSError as reason:
        raise DataError(
            f"{path} cannot be locked ({reason.strerror}). Keep the ledger on a disk that supports locks. "
            "Nothing has been spent."
        ) from None
    try:
        yield
    finally:
        unlock()


def _open(path: Path, *, writing: bool) -> BinaryIO:
    try:
        return path.open("r+b" if writing else "rb", buffering=0)
    except FileNotFoundError:
        raise
    except OSError as reason:
        what = "cannot be opened for writing" if writing else "cannot be read as a ledger"
        raise DataError(f"{path} {what} ({reason.strerror}). Nothing has been spent.") from None


def is_at(file: BinaryIO, path: Path) -> bool:
    """Whether the path still leads to this open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _lock_posix(file: BinaryIO, *, shared: bool) -> Any:  # noqa: ANN401
    fcntl = import_module("fcntl")  # by name, so that types are checked alike on every system
    fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    return lambda: fcntl.flock(file, fcntl.LOCK_UN)


def _lock_windows(file: BinaryIO) -> Any:  # noqa: ANN401
    msvcrt = import_module("msvcrt")

    def change(mode: int) -> None:
        file.seek(_FAR)
        msvcrt.locking(file.fileno(), mode, 1)

    while True:
        try:
            change(msvcrt.LK_NBLCK)
        except OSError as reason:
            if reason.errno != errno.EACCES:
                raise
            time.sleep(_LOCK_PAUSE)
        else:
            return lambda: change(msvcrt.LK_UNLCK)


# Reading and writing


def create(path: Path, header: Header) -> None:
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
            _write(file, path, 0, first_line(header).data + b"\n")
        except DataError:
            # Empty, it would block the name. It is removed while it is locked: nobody has written into it yet. Windows
            # does not remove open files; there it stays, and is refused as empty.
            with suppress(PermissionError):
                path.unlink(missing_ok=True)
            raise
    _sync_folder(path.parent)


def read_after(file: BinaryIO, path: Path, known: Position | None) -> LedgerContents:
    """What has been added since ``known``; all of it if that is None.

    `DataError` if a line is unfinished or does not follow from the one before it, or if what was known is gone.
    """
    contents = _read_lines(file, path, known)
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


def read(path: Path, known: Position | None = None) -> LedgerContents:
    """`read_after` of a file that is opened for it."""
    with opened(path, writing=False) as file:
        return read_after(file, path, known)


def _read_lines(file: BinaryIO, path: Path, known: Position | None) -> LedgerContents:
    """The same, whatever the last line is."""
    status = os.fstat(file.fileno())
    identity = (status.st_dev, status.st_ino)
    if known is None:
        return parse_file(_read(file, path, 0), path, identity)
    if known.old or known.file != identity:  # another file may have taken its place: a copy, perhaps
        contents = parse_file(_read(file, path, 0), path, identity, contains=known)
        return replace(contents, events=contents.events[known.events :])
    before = min(known.offset, 128)
    data = _read(file, path, known.offset - before)
    if not known.is_at_end_of(data[:before]):
        raise lost_events(path)
    return parse_lines(data[before:], path, known)


def append(file: BinaryIO, path: Path, position: Position, lines: Sequence[dict[str, Any]], events: int) -> Position:
    """Add lines behind ``position``, the end of the file; on disk before this returns. The position after them."""
    written, head = [], position.head
    if position.old:
        first = first_line(position.header, head)
        written, head = [b"", first.data], first.head
    for fields in lines:
        line = link(fields, head)
        written.append(line.data)
        head = line.head
    data = b"".join(line + b"\n" for line in written)
    # White space behind a text is no part of it, and may be longer than what is written over it.
    _write(file, path, position.offset, data, truncate=position.old)
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


def _read(file: BinaryIO, path: Path, offset: int) -> bytes:
    """The rest of the file."""
    parts = []
    try:
        file.seek(offset)
        while part := file.read(1 << 20):
            parts.append(part)
    except OSError as reason:
        raise DataError(f"{path} cannot be read as a ledger ({reason.strerror}). Nothing has been spent.") from None
    return b"".join(parts)


def _write(file: BinaryIO, path: Path, offset: int, data: bytes, *, truncate: bool = False) -> None:
    """Write at the end of the file, truncated first if asked; on disk before this returns. A failure leaves nothing."""
    try:
        if truncate:
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


# Checking and repairing


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """What a check of all lines has found.

    Attributes
    ----------
    events, lines : int
        How many there are.
    checksum : str
        The checksum of the last line, which runs over all. Kept elsewhere, it shows later whether lines were lost.
    old : bool
        Whether the file is one JSON text of an earlier version: it gets checksums with the next event.
    dropped : str
        The unfinished line that was dropped now, if any.
    ended : bool
        Whether a line break was added now behind a last line that lacked it.
    """

    events: int
    lines: int
    checksum: str
    old: bool
    dropped: str = ""
    ended: bool = False


def check_ledger(path: Path | str, *, contains: str | None = None) -> LedgerCheck:
    """Check every line of a ledger file, and change nothing.

    Parameters
    ----------
    path : Path or str
        The file.
    contains : str, optional
        A checksum that this ledger had before: `DataError` if it is not there any more.
    """
    place = resolved(path)
    with _existing(path), opened(place, writing=False) as file:
        position = read_after(file, place, None).position
        text = _read(file, place, 0)
    known = f'"chain":"{contains}"'.encode()
    if contains is not None and contains != position.head and known not in text:
        raise DataError(f"{path} does not contain the checksum {contains!r}: it has lost lines, or is another ledger.")
    return _found(position)


def repair_ledger(path: Path | str) -> LedgerCheck:
    """Drop an unfinished last line, and write down that it was; all complete lines stay, and stay spent.

    A last line that is complete, checksum and all, and lacks only its line break gets it and stays too.

    Only somebody who knows that a program stopped while it was writing may do this: its release was never drawn. If
    the file was truncated by something else, restore it from a copy instead.
    """
    place = resolved(path)
    with _existing(path), opened(place, writing=True) as file:
        contents = _read_lines(file, place, None)
        if not contents.torn:
            return _found(contents.position)
        if contents.unended:
            _write(file, place, contents.position.offset + len(contents.torn), b"\n")
            return _found(read_after(file, place, None).position, ended=True)
        dropped = contents.torn.decode("utf-8", "replace").strip()
        note = {
            "repair": "a last line that broke off was dropped",
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "dropped": dropped[:_SHOWN],
            "bytes": len(contents.torn),
        }
        file.truncate(contents.position.offset)
        return _found(append(file, place, contents.position, [note], 0), dropped)


@contextmanager
def _existing(path: Path | str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"There is no ledger {path}.") from None


def _found(at: Position, dropped: str = "", *, ended: bool = False) -> LedgerCheck:
    return LedgerCheck(at.events, at.lines, at.head, at.old, dropped, ended)
