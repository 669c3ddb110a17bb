"""The lock of a ledger file, which is on the file itself.

A lock file beside it is only as good as the next clean-up job: whoever deletes it lets a second process in. The lock is
`fcntl.flock` on POSIX (Linux turns it into a byte-range lock on NFS and SMB), and a lock of one byte far behind the end
on Windows, where locked bytes cannot be read by others. Both belong to the open file, so they also keep the threads of
one process apart, and end with the process.
"""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from hybriddp.errors import DataError

_FAR = 1 << 40  # of the byte that Windows locks; no ledger has a terabyte
_LOCK_PAUSE = 0.01  # seconds between two tries on Windows, which has no call that waits
_TRIES, _PAUSE = 50, 0.02  # a file that is being created is empty for less than that


@contextmanager
def opened(path: Path, *, writing: bool) -> Iterator[BinaryIO]:
    """Open the ledger file, locked; readers share the lock where the system has shared locks.

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
