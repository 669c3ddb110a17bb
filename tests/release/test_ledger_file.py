"""A ledger on disk: who may write, what is noticed, and what a crash leaves."""

import errno
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release import Event, Ledger, MechanismPrice, Part, chain, check_ledger, ledger_file, repair_ledger

BUDGET = Privacy(epsilon=1)


def event(epsilon: object = "0.1", **more: Any) -> Event:  # noqa: ANN401
    fields = {"who": "trusted", "study": "d", "privacy": Privacy(epsilon=epsilon), **more}
    return Event.now("a release", **fields)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.ledger"


@pytest.fixture
def written(path: Path) -> Path:
    """A ledger of three events."""
    ledger = Ledger.create(path, BUDGET)
    for epsilon in ("0.1", "0.2", "0.3"):
        ledger.spend(event(epsilon))
    return path


# Several processes


def _spend_until_refused(path: Path, start: Any, counts: Any) -> None:  # noqa: ANN401
    ledger, times = Ledger.open(path), 0
    start.wait()
    while True:
        try:
            ledger.spend(event("0.01", study=str(os.getpid())))
        except BudgetError:
            break
        times += 1
    counts.put(times)


def test_processes_that_spend_at_once_spend_the_budget_and_no_more(path: Path) -> None:
    Ledger.create(path, BUDGET)
    spawn = multiprocessing.get_context("spawn")
    start, counts = spawn.Barrier(3), spawn.Queue()
    workers = [spawn.Process(target=_spend_until_refused, args=(path, start, counts)) for _ in range(3)]
    for worker in workers:
        worker.start()
    assert sum(counts.get() for _ in workers) == 100
    for worker in workers:
        worker.join()
    assert Ledger.open(path).remaining("trusted").epsilon == 0
    assert len(path.read_bytes().splitlines()) == 101
    assert [file.name for file in path.parent.iterdir()] == ["study.ledger"]  # no locks, no drafts


def test_a_process_that_dies_leaves_no_lock(written: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path; from hybriddp.release.ledger_file import opened\n"
        "with opened(Path(sys.argv[1]), writing=True): os._exit(7)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(written)], check=False).returncode == 7
    Ledger.open(written).spend(event())
    assert len(Ledger.open(written).events) == 4


def _create_and_spend(path: Path, start: Any, counts: Any) -> None:  # noqa: ANN401
    ledger = Ledger(BUDGET, path=path)
    start.wait()
    try:
        ledger.spend(event("0.6"))
    except BudgetError:
        counts.put(0)
    else:
        counts.put(1)


def test_processes_that_create_at_once_create_one_ledger(path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    start, counts = spawn.Barrier(3), spawn.Queue()
    workers = [spawn.Process(target=_create_and_spend, args=(path, start, counts)) for _ in range(3)]
    for worker in workers:
        worker.start()
    assert sum(counts.get() for _ in workers) == 1
    for worker in workers:
        worker.join()
    assert len(Ledger.open(path).events) == 1


# Reading


def test_a_spend_reads_only_what_others_have_added(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = Ledger.open(written), Ledger.open(written)
    seen: list[bytes] = []
    real = chain.unlink

    def noted(line: bytes, head: str) -> dict[str, Any]:
        seen.append(line)
        return real(line, head)

    monkeypatch.setattr(ledger_file, "unlink", noted)
    mine.spend(event("0.01"))
    mine.spend(event("0.02"))
    assert not seen
    other.spend(event("0.03"))
    assert [json.loads(line)["epsilon"] for line in seen] == ["0.01", "0.02"]
    assert [e.epsilon for e in other.events] == ["0.1", "0.2", "0.3", "0.01", "0.02", "0.03"]


def test_open_takes_the_budget_and_the_accountant_of_the_file(path: Path) -> None:
    made = Ledger.create(path, Privacy.total(epsilon=30, delta="1e-6"), accountant="zcdp")
    made.spend(
        event("0.5", part=Part("country", "DE"), mechanism=MechanismPrice.noise("laplace", sensitivity=1, scale=4))
    )
    again = Ledger.open(path)
    assert (again.budget, again.accountant, again.events) == (made.budget, made.accountant, made.events)
    with pytest.raises(DataError, match="exists already, and was left as it is"):
        Ledger.create(path, BUDGET)
    with pytest.raises(DataError, match=r"There is no ledger .*hybriddp ledger create"):
        Ledger.open(path.with_name("other"))
    with pytest.raises(BudgetError, match="another budget"):
        Ledger(BUDGET, path=path)


def test_texts_of_any_kind_survive(path: Path) -> None:
    what = 'line\nbreak " \\ \u2028 ε \ud800'
    Ledger.create(path, BUDGET).spend(Event.now(what, who="local", study="ü", privacy=Privacy(epsilon=1)))
    assert Ledger.open(path).events[0].what == what


# What is noticed


def _edit(lines: list[bytes]) -> None:
    lines[2] = lines[2].replace(b'"epsilon":"0.2"', b'"epsilon":"0.1"')


def _remove(lines: list[bytes]) -> None:
    del lines[2]


def _swap(lines: list[bytes]) -> None:
    lines[2:4] = lines[3], lines[2]


def _add(lines: list[bytes]) -> None:
    lines.insert(2, lines[1])


def _blank(lines: list[bytes]) -> None:
    lines.insert(2, b"\n")


def _rebudget(lines: list[bytes]) -> None:
    lines[0] = lines[0].replace(b'"epsilon":"1"', b'"epsilon":"9"')


@pytest.mark.parametrize(
    ("change", "line"), [(_edit, 3), (_remove, 3), (_swap, 3), (_add, 3), (_blank, 3), (_rebudget, 1)]
)
def test_a_line_that_was_changed_is_noticed(written: Path, change: Callable[[list[bytes]], None], line: int) -> None:
    lines = written.read_bytes().splitlines(keepends=True)
    change(lines)
    written.write_bytes(b"".join(lines))
    with pytest.raises(DataError, match=f"Line {line} of .* does not follow from the line before it"):
        Ledger.open(written)


def test_a_whole_line_that_is_no_event_is_refused(written: Path) -> None:
    ledger = Ledger.open(written)
    head = json.loads(written.read_bytes().splitlines()[-1])["chain"]
    for fields in ({"epsilon": "1"}, {**ledger_file.event_fields(event()), "epsilon": "-1"}):
        forged = chain.link(fields, head)
        with pytest.raises(DataError, match="^Line 5 of"):
            _reopen_with(written, forged.line + b"\n")
    assert len(ledger.events) == 3


def _reopen_with(path: Path, more: bytes) -> None:
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes() + more)
    Ledger.open(copy)


def test_more_than_the_budget_is_refused_though_every_checksum_is_right(written: Path) -> None:
    head = json.loads(written.read_bytes().splitlines()[-1])["chain"]
    forged = chain.link(ledger_file.event_fields(event("0.5")), head)
    with pytest.raises(BudgetError, match=r"cost trusted users ε = 1\.1, δ = 0, more than its budget of ε = 1"):
        _reopen_with(written, forged.line + b"\n")


def test_a_running_program_notices_that_events_are_lost(written: Path) -> None:
    ledger, whole = Ledger.open(written), written.read_bytes()
    cut = b"".join(whole.splitlines(keepends=True)[:-1])
    written.write_bytes(cut)  # the same file, shorter
    with pytest.raises(DataError, match="has lost events"):
        ledger.spend(event())
    other = written.with_name("other")
    other.write_bytes(cut)  # another file in its place
    other.replace(written)
    with pytest.raises(DataError, match="has lost events"):
        ledger.spend(event())
    other.write_bytes(whole)  # a whole copy is as good
    other.replace(written)
    ledger.spend(event())
    assert Ledger.open(written).events == ledger.events
    written.unlink()
    with pytest.raises(DataError, match=r"The ledger .* is gone\. Nothing has been spent"):
        ledger.spend(event())
    assert len(ledger.events) == 4


def test_a_ledger_that_is_removed_while_it_is_written_releases_nothing(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.open(written)
    monkeypatch.setattr(os, "fsync", lambda _: written.unlink())
    with pytest.raises(DataError, match="removed or replaced while it was being written"):
        ledger.spend(event())
    assert len(ledger.events) == 3


# Crashes


@pytest.mark.parametrize("kept", [1, 50, -2])
def test_a_last_line_that_breaks_off_stops_all_spending(written: Path, kept: int) -> None:
    running = Ledger.open(written)
    Ledger.open(written).spend(event("0.4"))
    *lines, last = written.read_bytes().splitlines(keepends=True)
    torn = b"".join(lines) + last[:kept]
    written.write_bytes(torn)
    with pytest.raises(DataError, match=r"\(line 5\) breaks off.*hybriddp ledger verify --repair"):
        Ledger.open(written)
    with pytest.raises(DataError, match="breaks off"):
        running.spend(event())
    assert written.read_bytes() == torn
    assert running.spent("trusted").epsilon == Fraction("0.6")


def test_zeros_that_a_power_cut_leaves_are_a_torn_line(written: Path) -> None:
    with written.open("ab") as file:
        file.write(bytes(512))
    with pytest.raises(DataError, match="breaks off"):
        Ledger.open(written)


def test_a_full_disk_leaves_the_ledger_as_it_was(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, before = Ledger.open(written), written.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"cannot be written \(No space left on device\)\. Nothing has been spent"):
        ledger.spend(event())
    assert written.read_bytes() == before
    monkeypatch.undo()
    ledger.spend(event())
    assert len(Ledger.open(written).events) == len(ledger.events) == 4


def test_an_event_that_was_written_before_an_interruption_is_spent(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.open(written)

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ledger.spend(event("0.4"))
    monkeypatch.undo()
    with pytest.raises(BudgetError):
        ledger.spend(event("0.1"))
    assert ledger.remaining("trusted").epsilon == 0
    assert len(ledger.events) == 4


def test_creation_that_was_interrupted_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "_PAUSE", 0)
    path.write_bytes(b'{"ledger":2,"budg')
    with pytest.raises(DataError, match="The first line of .* breaks off"):
        Ledger.open(path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="is empty"):
        Ledger.open(path)
    with pytest.raises(DataError, match="is empty"):  # an emptied ledger is not a new budget
        Ledger(BUDGET, path=path).spend(event())


def test_what_cannot_be_opened_or_created_is_named(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="cannot be created"):
        Ledger.create(written / "below", BUDGET)
    ledger = Ledger.open(written)
    real = Path.open

    def refused(self: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:  # noqa: ANN401
        if mode == "r+b":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(self, mode, *rest, **more)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(DataError, match=r"cannot be opened for writing \(Permission denied\)"):
        ledger.spend(event())
    assert len(Ledger.open(written).events) == 3  # reading needs no right to write


def test_a_path_that_leads_nowhere_is_named(path: Path) -> None:
    path.symlink_to(path)
    acts: list[Callable[[Any], object]] = [
        Ledger.open,
        check_ledger,
        repair_ledger,
        lambda at: Ledger.create(at, BUDGET),
        lambda at: Ledger(BUDGET, path=at),
    ]
    for act in acts:
        with pytest.raises(DataError, match="is a link that leads to itself"):
            act(path)
        with pytest.raises(ParameterError, match="^path must be the name of a file"):
            act("a\0b")


def test_a_disk_that_is_full_at_creation_does_not_block_the_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left on device"):
        Ledger.create(path, BUDGET)
    with pytest.raises(DataError, match="No space left on device"):
        Ledger(BUDGET, path=path).spend(event())
    assert not path.exists()
    monkeypatch.undo()
    Ledger.create(path, BUDGET).spend(event())
    assert len(Ledger.open(path).events) == 1


def test_a_folder_that_cannot_be_put_on_disk_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(DataError, match=r"The folder .* cannot be put on disk \(Permission denied\)"):
        Ledger.create(path, BUDGET)


def test_another_version_is_named(path: Path) -> None:
    first = chain.link({"ledger": 3, "budget": {"epsilon": "1"}}, chain.START)
    path.write_bytes(first.line + b"\n")
    with pytest.raises(DataError, match="has version 3; this program knows version 2"):
        Ledger.open(path)


def test_events_of_an_iterator_are_all_written(path: Path) -> None:
    ledger = Ledger.create(path, BUDGET)
    ledger.spend_all(event("0.4") for _ in range(2))
    assert Ledger.open(path).events == ledger.events
    assert len(ledger.events) == 2
    with pytest.raises(BudgetError):
        ledger.spend_all(iter([event("0.4")]))
    Ledger(BUDGET, path=path.with_name("new")).spend_all(event("0.4") for _ in range(2))
    assert len(Ledger.open(path.with_name("new")).events) == 2
    ledger.spend_all(iter(()))
    assert len(Ledger.open(path).events) == 2


def test_ledgers_of_one_budget_are_told_apart(path: Path) -> None:
    ledger = Ledger.create(path, BUDGET)
    other = Ledger.create(path.with_name("other"), BUDGET)
    assert ledger.nonce == Ledger.open(path).nonce == Ledger(BUDGET, path=path).nonce == ledger.identify()
    assert len({ledger.nonce, other.nonce, Ledger(BUDGET).nonce, Ledger(BUDGET).nonce}) == 4
    path.with_name("other").replace(path)  # as empty as the one before
    with pytest.raises(DataError, match="or is another ledger now"):
        ledger.spend(event())


def test_a_file_of_lines_without_a_nonce_goes_on(path: Path) -> None:
    first = chain.link({"ledger": 2, "budget": {"epsilon": "1", "delta": "0"}, "accountant": "basic"}, chain.START)
    path.write_bytes(first.line + b"\n")
    ledger = Ledger.open(path)
    assert ledger.nonce is None
    ledger.spend(event())
    assert (Ledger.open(path).events, Ledger.open(path).nonce) == (ledger.events, None)
    for nonce in (5, "", "x" * 32, "0" * 31):
        odd = chain.link({"ledger": 2, "budget": {"epsilon": "1"}, "nonce": nonce}, chain.START)
        path.write_bytes(odd.line + b"\n")
        with pytest.raises(DataError, match="^Line 1 of"):
            Ledger.open(path)


# Files of before


@pytest.fixture
def old(path: Path) -> Path:
    """One JSON text, as ledger files were."""
    ledger = Ledger(Privacy(epsilon=1, delta="1e-6"), accountant="zcdp")
    ledger.spend_all([event("0.1"), event("0.2", part=Part("country", "DE"))])
    path.write_text(ledger.to_json())
    return path


@pytest.mark.parametrize("more", ["", "\n", " \r\n\n", "\n" * 5000])
def test_a_file_of_before_goes_on_without_being_rewritten(old: Path, more: str) -> None:
    text = old.read_bytes()
    old.write_bytes(text + more.encode())
    ledger, other = Ledger.open(old), Ledger.open(old)
    assert old.read_bytes() == text + more.encode()  # reading changes nothing
    assert (len(ledger.events), ledger.budget.delta, ledger.accountant.name) == (2, "0.000001", "zcdp")
    ledger.spend(event("0.25"))
    other.spend(event("0.26"))
    assert old.read_bytes().startswith(text + b'\n{"ledger":2,')
    again = Ledger.open(old)
    assert [e.epsilon for e in again.events] == ["0.1", "0.2", "0.25", "0.26"]
    assert not old.read_bytes().endswith(b"\n\n")
    assert again.events == other.events
    with pytest.raises(BudgetError):
        again.spend(event("0.5"))


def test_a_file_of_before_is_guarded_too_once_it_goes_on(old: Path) -> None:
    running = Ledger.open(old)
    Ledger.open(old).spend(event("0.25"))
    data = old.read_bytes()
    old.write_bytes(data.replace(b'"epsilon": "0.2"', b'"epsilon": "0.1"'))
    with pytest.raises(DataError, match="does not follow from the line before it"):
        Ledger.open(old)
    old.write_bytes(data[:-200])
    with pytest.raises(DataError, match="breaks off"):
        Ledger.open(old)
    end = data.index(b'\n{"ledger"')
    old.write_bytes(data[: end + 20])
    with pytest.raises(DataError, match="breaks off"):
        Ledger.open(old)
    old.write_bytes(Ledger(Privacy(epsilon=1, delta="1e-6"), accountant="zcdp").to_json().encode())
    with pytest.raises(DataError, match="has lost events"):
        running.spend(event())


@pytest.mark.parametrize("text", ["[1]", '{"version": 7}', "hello", '{"version": 1, "budget": {"epsilon": "1"}}'])
def test_what_is_no_ledger_is_refused(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(DataError, match="not a ledger|has version 7"):
        Ledger.open(path)
    assert path.read_text() == text
