"""The lock under which a journal is changed, so that two processes do not undo each other's changes.

A journal is replaced whole, by another file of the same name, so the lock is on a file beside it. Whoever has it takes
the file away in the end; who was waiting for that file finds that it is gone, and starts again with the new one.
"""

import contextlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hybriddp.errors import DataError, raise_unchained
from hybriddp.release.ledger.lock import held, is_at

__all__ = ["locked"]


@contextmanager
def locked(journal: Path) -> Iterator[None]:
    """Hold the lock of a journal; wait for it if another process or thread does. `OSError` if there is no folder."""
    path = journal.with_name(f".{journal.name}.lock")
    while True:
        with ExitStack() as stack:
            file = stack.enter_context(os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0))
            try:
                stack.enter_context(held(file, path))
            except DataError:  # which speaks of ledgers
                raise_unchained(
                    DataError(f"The journal {journal} cannot be locked. Keep it on a disk that supports locks.")
                )
            if is_at(file, path):
                try:
                    yield
                finally:
                    with contextlib.suppress(OSError):  # Windows keeps what is open
                        path.unlink()
                return
