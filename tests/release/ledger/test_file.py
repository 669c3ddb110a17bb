"""A ledger on disk: who may write, what is noticed, and what a crash leaves."""

import errno
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import pytest

from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger, MechanismRecord, Part, check_ledger, repair_ledger
from hybriddp.release.ledger import lock as ledger_lock
from hybriddp.release.ledger import text as ledger_text
from tests.refusals import refused
from tests.release.numbers import event

BUDGET = Privacy(epsilon=1)
FULL = OSError(errno.ENOSPC, "No space left on device")


def fail(monkeypatch: pytest.MonkeyPatch, name: str, error: BaseException) -> None:
    """Let a function of the system fail."""

    def failing(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(os, name, failing)


# Several processes


def _create_and_spend_until_refused(path: Path, start: Any, counts: Any) -> None:
    with suppress(DataError):  # of three, one creates it
        Ledger.create(path, BUDGET)
    ledger, times = Ledger.open(path), 0
    start.wait()
    try:
        while True:
            ledger.spend(event("0.01", study=str(os.getpid())))
            times += 1
    except BudgetError:
        pass
    finally:
        counts.put(times)


@pytest.mark.slow
def test_processes_that_create_and_spend_at_once_have_one_ledger_and_one_budget(path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    start, counts = spawn.Barrier(3), spawn.Queue()
    workers = [spawn.Process(target=_create_and_spend_until_refused, args=(path, start, counts)) for _ in range(3)]
    for worker in workers:
        worker.start()
    assert sum(counts.get(timeout=300) for _ in workers) == 100
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert Ledger.open(path).remaining("trusted").epsilon == 0
    assert len(path.read_bytes().splitlines()) == 101
    assert [file.name for file in path.parent.iterdir()] == ["study.ledger"]  # no locks, no drafts


def test_a_process_that_dies_leaves_no_lock(written: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from hybriddp.release.ledger.lock import opened\n"
        "with opened(Path(sys.argv[1]), writing=True): os._exit(7)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(written)], check=False).returncode == 7
    Ledger.open(written).spend(event())
    assert len(Ledger.open(written).events) == 4


# Reading


def test_a_spend_reads_only_what_others_have_added(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = Ledger.open(written), Ledger.open(written)
    seen: list[bytes] = []
    real = ledger_text.unlink

    def noted(line: bytes, head: str) -> dict[str, Any]:
        seen.append(line)
        return real(line, head)

    monkeypatch.setattr(ledger_text, "unlink", noted)
    mine.spend(event("0.01"))
    mine.spend(event("0.02"))
    assert not seen
    other.spend(event("0.03"))
    assert [json.loads(line)["epsilon"] for line in seen] == ["0.01", "0.02"]
    assert [e.epsilon for e in other.events] == ["0.1", "0.2", "0.3", "0.01", "0.02", "0.03"]


def test_open_takes_the_budget_and_the_accountant_of_the_file(path: Path) -> None:
    made = Ledger.create(path, Privacy.total(epsilon=30, delta="1e-6"), accountant="zcdp")
    made.spend(
        event("0.5", part=Part("country", "DE"), mechanism=MechanismRecord.noise("laplace", sensitivity=1, scale=4))
    )
    again = Ledger.open(path)
    assert (again.budget, again.accountant, again.events) == (made.budget, made.accountant, made.events)
    refused(DataError, "exists already, and was left as it is", Ledger.create, path, BUDGET)
    other = path.with_name("other")
    with pytest.raises(DataError, match=rf"^There is no ledger {other}\. .*hybriddp ledger create {other} --epsilon …"):
        Ledger.open(other)
    assert not other.exists()


# What a running program notices


def test_a_running_program_notices_that_events_are_lost(written: Path) -> None:
    ledger, whole = Ledger.open(written), written.read_bytes()
    cut = b"".join(whole.splitlines(keepends=True)[:-1])
    written.write_bytes(cut)  # the same file, shorter
    refused(DataError, "has lost events", ledger.spend, event())
    other = written.with_name("other")
    other.write_bytes(cut)  # another file in its place
    other.replace(written)
    refused(DataError, "has lost events", ledger.spend, event())
    other.write_bytes(whole)  # a whole copy is as good
    other.replace(written)
    ledger.spend(event())
    assert Ledger.open(written).events == ledger.events
    written.unlink()
    refused(DataError, r"The ledger .* is gone\. Nothing has been spent", ledger.spend, event())
    assert len(ledger.events) == 4


def test_a_ledger_that_is_removed_while_it_is_written_releases_nothing(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.open(written)
    monkeypatch.setattr(os, "fsync", lambda _: written.unlink())
    refused(DataError, "removed or replaced while it was being written", ledger.spend, event())
    assert len(ledger.events) == 3


# Crashes


@pytest.mark.parametrize(
    "cut", [lambda last: last[:1], lambda last: last[:50], lambda last: last[:-2], lambda _: bytes(512)]
)
def test_a_last_line_that_breaks_off_stops_all_spending(written: Path, cut: Callable[[bytes], bytes]) -> None:
    """As a power cut leaves it, too: zeros."""
    running = Ledger.open(written)
    Ledger.open(written).spend(event("0.4"))
    *lines, last = written.read_bytes().splitlines(keepends=True)
    torn = b"".join(lines) + cut(last)
    written.write_bytes(torn)
    refused(DataError, r"\(line 5\) breaks off.*hybriddp ledger verify --repair", Ledger.open, written)
    refused(DataError, "breaks off", running.spend, event())
    assert written.read_bytes() == torn
    assert running.spent("trusted").epsilon == Fraction("0.6")


def test_a_full_disk_leaves_the_ledger_as_it_was(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, before = Ledger.open(written), written.read_bytes()
    fail(monkeypatch, "fsync", FULL)
    refused(DataError, r"cannot be written \(No space left on device\)\. Nothing has been spent", ledger.spend, event())
    assert written.read_bytes() == before
    monkeypatch.undo()
    ledger.spend(event())
    assert len(Ledger.open(written).events) == len(ledger.events) == 4


def test_an_event_that_was_written_before_an_interruption_is_spent(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.open(written)
    fail(monkeypatch, "fsync", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        ledger.spend(event("0.4"))
    monkeypatch.undo()
    with pytest.raises(BudgetError):
        ledger.spend(event("0.1"))
    assert ledger.remaining("trusted").epsilon == 0
    assert len(ledger.events) == 4


def test_creation_that_was_interrupted_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_lock, "_PAUSE", 0)
    path.write_bytes(b'{"ledger":2,"budg')
    refused(DataError, "The first line of .* breaks off", Ledger.open, path)
    path.write_bytes(b"")
    refused(DataError, "is empty", Ledger.open, path)  # an emptied ledger is not a new budget


def test_what_cannot_be_opened_or_created_is_named(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(DataError, "cannot be created", Ledger.create, written / "below", BUDGET)
    ledger = Ledger.open(written)
    real = Path.open

    def denied(self: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if mode == "r+b":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(self, mode, *rest, **more)

    monkeypatch.setattr(Path, "open", denied)
    refused(DataError, r"cannot be opened for writing \(Permission denied\)", ledger.spend, event())
    assert len(Ledger.open(written).events) == 3  # reading needs no right to write


def test_a_path_that_leads_nowhere_is_named(path: Path) -> None:
    path.symlink_to(path)
    for act in (Ledger.open, check_ledger, repair_ledger, lambda at: Ledger.create(at, BUDGET)):
        refused(DataError, "is a link that leads to itself", act, path)
        refused(ParameterError, "^path must be the name of a file", act, "a\0b")


def test_a_disk_that_is_full_at_creation_does_not_block_the_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch, "fsync", FULL)
    refused(DataError, "No space left on device", Ledger.create, path, BUDGET)
    assert not path.exists()
    monkeypatch.undo()
    Ledger.create(path, BUDGET).spend(event())
    assert len(Ledger.open(path).events) == 1


def test_a_folder_that_cannot_be_put_on_disk_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail(monkeypatch, "open", PermissionError(errno.EACCES, "Permission denied"))
    refused(DataError, r"The folder .* cannot be put on disk \(Permission denied\)", Ledger.create, path, BUDGET)


def test_ledgers_of_one_budget_are_told_apart(path: Path) -> None:
    ledger = Ledger.create(path, BUDGET)
    other = Ledger.create(path.with_name("other"), BUDGET)
    assert ledger.nonce == Ledger.open(path).nonce
    assert len({ledger.nonce, other.nonce, Ledger(BUDGET).nonce, Ledger(BUDGET).nonce}) == 4
    path.with_name("other").replace(path)  # as empty as the one before
    refused(DataError, "or is another ledger now", ledger.spend, event())
