"""A result is in a file before it is shown, and a charge without its result is told from one with it."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from hybriddp import cli
from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger, check_ledger
from hybriddp.release.results import ResultFile, results_folder

RUN = CliRunner()
MEAN = ["mean", "users.csv", "--value", "minutes", "--single-group", "--bounds", "0", "240", "--epsilon", "0.5"]
LEDGER = ["--ledger", "people.ledger"]
STUDIES = {
    "mean": MEAN,
    "frequencies": ["frequencies", "users.csv", "--value", "item", "--categories", "a,b,c", "--epsilon", "0.5"],
    "quantiles": ["quantiles", "users.csv", "--value", "minutes", "--bounds", "0", "240", "--epsilon", "0.5"],
    "heavy-hitters": [
        "heavy-hitters",
        "users.csv",
        "--value",
        "item",
        "--epsilon",
        "0.5",
        "--domain-file",
        "names.txt",
    ],
    "kmeans": ["kmeans", "users.csv", "--column", "minutes:0:240", "--clusters", "2", "--epsilon", "0.5"],
}
KILLED = """
import os, signal, sys
import typer
from hybriddp import cli
from hybriddp.release import results
from hybriddp.release.ledger import file as ledger_file
from hybriddp.release.mechanisms import Mechanism

def then_die(owner, name):
    real = getattr(owner, name)
    def step(*arguments, **more):
        real(*arguments, **more)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(owner, name, classmethod(lambda cls, *a, **k: step(*a, **k)) if name == "reserve" else step)

steps = {
    "reserved": (results.ResultFile, "reserve"),
    "charged": (ledger_file, "append"),
    "drawn": (Mechanism, "draw"),
    "written": (results.ResultFile, "_write"),
    "noted": (results, "note_saved"),
    "named": (results.ResultFile, "_rename"),
    "shown": (typer, "echo"),
}
then_die(*steps[sys.argv.pop(1)])
cli.main()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    values = [float(i % 60) for i in range(600)]
    pl.DataFrame({"minutes": values, "item": ["a", "b", "c"] * 200}).write_csv("users.csv")
    Path("names.txt").write_text("a\nb\n")
    Ledger.create("people.ledger", Privacy(epsilon=4, delta="1e-6"))
    return tmp_path


def run(*words: str) -> Result:
    return RUN.invoke(cli.app, list(words))


def saved() -> list[Path]:
    folder = results_folder(Path("people.ledger"))
    return sorted(folder.iterdir()) if folder.exists() else []


def spent() -> float:
    return float(Ledger.open("people.ledger").spent("everybody").epsilon)


# Every command


@pytest.mark.parametrize("name", STUDIES)
def test_every_command_keeps_what_it_shows(name: str) -> None:
    words = [*STUDIES[name], *LEDGER, "--single-group", "--json"]
    shown = run(*words)
    assert shown.exit_code == 0, shown.exception
    (path,) = saved()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert {event.result for event in Ledger.open("people.ledger").events} == {path.name}
    assert run("show", str(path), "--json").stdout == shown.stdout
    assert json.loads(run("show", str(path), "--json", "--full").stdout).keys() >= json.loads(shown.stdout).keys()
    assert "Show it with --json" in " ".join(run("show", str(path)).stdout.split())
    again = run(*words)
    assert isinstance(again.exception, BudgetError)
    assert f"The saved result: {path}. Show it: hybriddp show {path} --json." in str(again.exception)
    assert saved() == [path]
    assert isinstance(run(*words, "--again").exception, BudgetError)
    assert spent() == 0.5
    assert check_ledger("people.ledger").events == len(Ledger.open("people.ledger").events)


def test_what_is_the_curators_is_kept_and_shown_on_request() -> None:
    full = run(*MEAN, *LEDGER, "--json", "--full").stdout
    (path,) = saved()
    assert run("show", str(path), "--json", "--full").stdout == full
    assert "curator" in json.loads(full)
    assert "curator" not in json.loads(run("show", str(path), "--json").stdout)


def test_other_quantiles_can_be_read_from_a_kept_result() -> None:
    assert run(*STUDIES["quantiles"], *LEDGER, "--single-group").exit_code == 0
    (path,) = saved()
    told = run("quantiles", "--from", str(path), "--at", "0.25", "--json")
    assert [one["q"] for one in json.loads(told.stdout)["rows"]] == [0.25]


def test_a_list_is_kept_as_the_second_step_reads_it() -> None:
    base = ["heavy-hitters", "users.csv", "--value", "item", "--epsilon", "2", "--delta", "1e-6", *LEDGER]
    assert run(*base, "--write-list", "list.json").exit_code == 0
    (path,) = saved()
    assert path.read_bytes() == Path("list.json").read_bytes()
    again = run(*base, "--write-list", "other.json")
    assert f"hybriddp show {path} --json" in str(again.exception)


def test_the_state_of_rounds_is_kept() -> None:
    words = [*STUDIES["kmeans"], *LEDGER, "--state", "state.json", "--round", "round.json", "--n-local", "5,000"]
    assert run(*words).exit_code == 0
    (path,) = saved()
    assert path.read_bytes() == Path("state.json").read_bytes()
    refused = run(*words, "--again")
    assert isinstance(refused.exception, ParameterError)
    assert saved() == [path]


def test_what_charges_nothing_leaves_no_file() -> None:
    for words, error in (
        ([*MEAN, *LEDGER, "--dry-run"], type(None)),
        ([*MEAN, *LEDGER, "--value", "hours"], DataError),
        ([*MEAN, *LEDGER, "--epsilon", "5"], BudgetError),
    ):
        refused = run(*words)
        assert isinstance(refused.exception, error), refused.exception
        assert "Written" not in refused.output
        assert (saved(), spent()) == ([], 0)
    assert not results_folder(Path("people.ledger")).exists()


# Killed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "charged", "complete"),
    [
        ("reserved", 0.0, False),
        ("charged", 0.5, False),
        ("drawn", 0.5, False),
        ("written", 0.5, False),
        ("noted", 0.5, True),
        ("named", 0.5, True),
        ("shown", 0.5, True),
    ],
)
def test_a_program_that_is_killed_has_lost_no_complete_result(step: str, charged: float, complete: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, step, *MEAN, *LEDGER, "--json"], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert (done.stdout != b"") == (step == "shown")
    assert spent() == charged
    again = run(*MEAN, *LEDGER, "--json")
    if not charged:
        assert (again.exit_code, spent()) == (0, 0.5)
        return
    assert isinstance(again.exception, BudgetError)
    assert ("--again" in str(again.exception)) == (not complete)
    repeated = run(*MEAN, *LEDGER, "--json", "--again")
    if complete:
        (path,) = saved()
        assert f"hybriddp show {path} --json" in str(again.exception)
        assert json.loads(run("show", str(path), "--json").stdout)["privacy"]["counted"] is True
        assert isinstance(repeated.exception, BudgetError)
        assert spent() == 0.5
    else:
        unfinished = saved()[0].with_suffix("")
        assert "was never complete" in str(run("show", str(unfinished), "--json").exception)
        assert (repeated.exit_code, spent()) == (0, 1.0)
        assert Ledger.open("people.ledger").spent("local").epsilon == 1
        last = run(*MEAN, *LEDGER, "--again")
        assert isinstance(last.exception, BudgetError)
        assert "hybriddp show" in str(last.exception)
        assert spent() == 1.0


# Full disks


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


@pytest.mark.slow
def test_without_room_for_the_result_nothing_is_charged() -> None:
    command = [sys.executable, "-m", "hybriddp", *MEAN, *LEDGER]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=_limited)
    assert done.returncode == 4
    assert "Nothing was charged" in " ".join(done.stderr.split())
    assert (done.stdout, spent(), saved()) == ("", 0, [])


@pytest.mark.slow
@pytest.mark.parametrize("more", [["--json"], []])
def test_an_answer_that_cannot_be_printed_is_not_lost(more: list[str]) -> None:
    command = [sys.executable, "-m", "hybriddp", *MEAN, *LEDGER, *more]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 4
    (path,) = saved()
    told = " ".join(done.stderr.split())
    assert "The answer cannot be printed (No space left on device)." in told
    assert f"It is saved: hybriddp show {path} --json." in told
    assert "unexpected" not in told
    assert json.loads(run("show", str(path), "--json").stdout)["study"] == "minutes"


def test_an_answer_that_cannot_be_kept_is_shown_and_may_be_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(ResultFile, "_write", full)
        told = run(*MEAN, *LEDGER, "--json")
    assert isinstance(told.exception, DataError)
    assert "charged, but is in no file: save it." in str(told.exception)
    assert json.loads(told.stdout)["study"] == "minutes"
    assert "--again" in str(run(*MEAN, *LEDGER).exception)
    assert run(*MEAN, *LEDGER, "--again").exit_code == 0
    assert spent() == 1


def test_a_folder_that_cannot_be_written_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    results_folder(Path("people.ledger")).write_text("a file in the way")
    refused = run(*MEAN, *LEDGER)
    assert isinstance(refused.exception, DataError)
    assert "Nothing was charged" in str(refused.exception)
    assert spent() == 0
    Path("people.ledger.results").unlink()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert "Nothing was charged" in str(run(*MEAN, *LEDGER).exception)
    assert (saved(), spent()) == ([], 0)


# Two programs, and other hands


@pytest.mark.slow
def test_of_two_programs_at_once_one_releases() -> None:
    command = [sys.executable, "-m", "hybriddp", *MEAN, *LEDGER]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    told = [one.communicate() for one in both]
    assert sorted(one.returncode for one in both) == [0, 3], told
    assert len(saved()) == 1
    assert spent() == 0.5
    assert run("show", str(saved()[0]), "--json").exit_code == 0


CHANGES: dict[str, Callable[[Path, Path], Any]] = {
    "edited": lambda one, _: one.write_text(one.read_text().replace("600", "601")),
    "cut": lambda one, _: one.write_bytes(one.read_bytes()[:-1]),
    "emptied": lambda one, _: one.write_bytes(b""),
    "swapped": lambda one, other: other.replace(one),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_result_that_was_changed_is_not_shown(change: str) -> None:
    for name in ("first", "second"):
        assert run(*MEAN, *LEDGER, "--name", name).exit_code == 0
    first, second = saved()
    CHANGES[change](first, second)
    refused = run("show", str(first), "--json")
    assert isinstance(refused.exception, DataError)
    assert "is not as it was written" in str(refused.exception)
    assert refused.stdout == ""
    assert "is not as it was written. Restore it" in str(run(*MEAN, *LEDGER, "--name", "first").exception)


def test_what_is_no_kept_result_is_named() -> None:
    assert run(*MEAN, *LEDGER).exit_code == 0
    (path,) = saved()
    copy = Path("copy.json")
    copy.write_bytes(path.read_bytes())
    other = path.with_name("other.json")
    other.write_bytes(path.read_bytes())
    path.unlink()
    for file, words in (
        (copy, "is not beside a ledger"),
        (other, "has no result other.json"),
        (path, "There is no file"),
    ):
        refused = run("show", str(file), "--json")
        assert isinstance(refused.exception, DataError)
        assert words in str(refused.exception)
