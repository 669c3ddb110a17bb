"""The lock of a data folder: one server at a time uses an embedded database.

It is on a file of its own. SQLite's locks belong to the process, and end when anybody in it closes the database's file;
so nobody but SQLite opens that one. The lock ends with the process, however that ends. The file stays: whoever removed
it would let a third server in between two others.
"""

import errno
import os
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from hybriddp.errors import DataError, raise_unchained

__all__ = ["FolderLock"]

_FILE = "server.lock"


class FolderLock:
    """The lock of a folder, held from now until it is released.

    Parameters
    ----------
    folder : Path
        The folder, which is there. `DataError` if another server holds its lock.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._file = _private(folder / _FILE)
        except OSError as reason:
            raise_unchained(
                DataError(f"{folder / _FILE} cannot be written ({reason.strerror}). Let this user write it.")
            )
        try:
            _lock(self._file)
        except OSError as reason:
            self._file.close()
            if reason.errno in (errno.EACCES, errno.EAGAIN):
                raise_unchained(
                    DataError(
                        f"Another server uses {folder}. Stop it first, choose another folder with --data, or let both "
                        "use PostgreSQL: --database."
                    )
                )
            raise_unchained(
                DataError(f"{folder} cannot be locked ({reason.strerror}). Keep it on a disk that supports locks.")
            )

    def release(self) -> None:
        """Let another server use the folder; again does nothing."""
        self._file.close()


def _private(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)


def _lock(file: BinaryIO) -> None:
    """Lock an open file at once; `OSError` if somebody else has."""
    if os.name == "nt":
        msvcrt: Any = import_module("msvcrt")  # by name, so that types are checked alike on every system
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        fcntl: Any = import_module("fcntl")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
