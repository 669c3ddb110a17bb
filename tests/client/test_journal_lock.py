import errno
import os
import threading
from pathlib import Path
from typing import BinaryIO

import pytest

from hybriddp.client import journal_lock
from hybriddp.client.journal_lock import locked
from hybriddp.errors import DataError


def test_one_at_a_time_and_nothing_stays(tmp_path: Path) -> None:
    inside, most, done = [0], [0], []

    def work() -> None:
        for _ in range(20):
            with locked(tmp_path / "j.json"):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                os.stat(tmp_path)  # lets other threads in, if anything does
                inside[0] -= 1
                done.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most[0], len(done)) == (1, 120)
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_was_left_behind_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / ".j.json.lock").write_bytes(b"")  # as after a power cut
    with locked(tmp_path / "j.json"):
        assert (tmp_path / ".j.json.lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_an_error_inside_gives_the_lock_back(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path / "j.json"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_locks_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: BinaryIO, path: Path) -> None:
        raise DataError(f"{path} cannot be locked ({os.strerror(errno.ENOLCK)}).")

    monkeypatch.setattr(journal_lock, "held", refuse)
    with pytest.raises(DataError, match="Keep it on a disk that supports locks") as caught, locked(tmp_path / "j.json"):
        pass
    assert caught.value.__context__ is None
