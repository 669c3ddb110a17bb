"""Files and folders that only their owner may read: the master key, the admin key and the embedded database."""

import os
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["create_private", "is_open_to_others"]


def is_open_to_others(path: Path) -> bool:
    """Whether users other than its owner may read or write an existing file, or enter a folder."""
    return os.name == "posix" and path.exists() and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def create_private(path: Path) -> None:
    """Create an empty file that only its owner may read, unless there is one; failures are left to the next opening.

    SQLite gives its write-ahead log the mode of the database's file.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
