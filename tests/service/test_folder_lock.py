import errno
import subprocess
import sys
from pathlib import Path

import pytest

from hybriddp.errors import DataError
from hybriddp.service import folder_lock
from hybriddp.service.folder_lock import FolderLock

HOLD = """
import sys
from pathlib import Path
from hybriddp.service.folder_lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_one_at_a_time_holds_it(tmp_path: Path) -> None:
    first = FolderLock(tmp_path)
    with pytest.raises(DataError, match="Another server uses"):
        FolderLock(tmp_path)
    first.release()
    first.release()
    second = FolderLock(tmp_path)
    second.release()
    assert (tmp_path / "server.lock").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_it_ends_with_the_process(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(DataError, match="Another server uses"):
            FolderLock(tmp_path)
        process.kill()
        process.wait()
        FolderLock(tmp_path).release()


def test_disks_without_locks_and_files_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(folder_lock, "_lock", no_locks)
    with pytest.raises(DataError, match=r"cannot be locked \(No locks available\)"):
        FolderLock(tmp_path)
    with pytest.raises(DataError, match="cannot be written"):
        FolderLock(tmp_path / "nothing")
