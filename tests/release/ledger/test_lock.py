import errno
import os
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import BinaryIO

import pytest

from hybriddp.errors import DataError
from hybriddp.release.ledger import lock as ledger_lock
from hybriddp.release.ledger.lock import held, is_at, opened


def test_whoever_waits_for_a_file_that_is_replaced_gets_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, new, has_opened = tmp_path / "a", tmp_path / "b", Event()
    path.write_text("old")
    new.write_text("new")
    files: list[BinaryIO] = []

    def noted(place: Path, *, writing: bool) -> BinaryIO:
        assert writing
        files.append(place.open("r+b", buffering=0))
        has_opened.set()
        return files[-1]

    def wait() -> bytes:
        with opened(path, writing=True) as file:
            return file.read()

    with ThreadPoolExecutor(1) as pool:
        with opened(path, writing=True):
            monkeypatch.setattr(ledger_lock, "_open", noted)
            waiting = pool.submit(wait)
            has_opened.wait()  # it has the old file open, and cannot have its lock
            new.replace(path)
        assert waiting.result() == b"new"
    assert len(files) == 2
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_removed_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    with opened(path, writing=True) as file:
        assert is_at(file, path)
        path.unlink()
        assert not is_at(file, path)
    with pytest.raises(FileNotFoundError), opened(path, writing=True):
        pass


def test_readers_share(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    with opened(path, writing=False) as one, opened(path, writing=False) as other:
        assert one.read() == other.read() == b"x"


def test_a_disk_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(ledger_lock, "_lock_posix", fail)
    path = tmp_path / "a"
    path.write_text("x")
    with (
        pytest.raises(DataError, match=r"cannot be locked \(No locks available\)") as caught,
        opened(path, writing=True),
    ):
        pass
    assert caught.value.__cause__ is None


def test_windows_locks_one_byte_far_behind_the_end_and_tries_until_it_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")
    calls: list[tuple[int, int, int]] = []
    pauses: list[float] = []

    def locking(descriptor: int, mode: int, length: int) -> None:
        calls.append((mode, os.lseek(descriptor, 0, os.SEEK_CUR), length))
        if len(calls) < 3:
            raise OSError(errno.EACCES, "Permission denied")

    fake = types.ModuleType("msvcrt")
    for name, value in (("LK_NBLCK", 2), ("LK_UNLCK", 0), ("locking", locking)):
        setattr(fake, name, value)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    monkeypatch.setattr(ledger_lock, "_lock_posix", lambda file, **_: ledger_lock._lock_windows(file))
    monkeypatch.setattr(time, "sleep", pauses.append)
    with path.open("r+b", buffering=0) as file, held(file, path):
        assert calls == [(2, 1 << 40, 1)] * 3
    assert calls[3:] == [(0, 1 << 40, 1)]
    assert len(pauses) == 2
    assert path.stat().st_size == 1
    monkeypatch.setattr(fake, "locking", lambda *_: (_ for _ in ()).throw(OSError(errno.EBADF, "Bad file")))
    with path.open("r+b", buffering=0) as file, pytest.raises(DataError, match="Bad file"), held(file, path):
        pass
