"""Everything that a command prints fits into 80 columns, on a terminal and in a file; who waits sees how far it is."""

import io
import re
import sys
from pathlib import Path
from threading import active_count
from typing import Any

import polars as pl
import pytest
from rich.console import Console
from rich.progress import Progress
from typer.testing import CliRunner

from hybriddp import cli
from hybriddp.cli import terminal
from hybriddp.cli.terminal import columns, waiting, wrap

RUN = CliRunner()
STUDY = ["--bounds", "0", "250,000", "--epsilon", "1"]
COMMANDS = {
    "plan": ["plan", "--users", "300", "--trusted", "40%", *STUDY, "--mean", "62,000", "--sd", "28,000", "--paper"],
    "plan without a spread": ["plan", "--users", "2,000,000", "--trusted", "0.2%", *STUDY],
    "plan with noise": ["plan", "--users", "400", "--trusted", "2%", "--bounds", "0", "1e7", "--epsilon", "0.05"],
    "solve": ["plan", "--users", "40,000", *STUDY, "--sd", "3e4", "--solve-for", "trusted", "--target-rmse", "500"],
    "simulate": ["simulate", "gamma(62000,90000)", "--users", "1e6", "--trusted", "5%", *STUDY, "--trials", "20"],
    "demo": ["demo", "--trials", "20", "--trusted", "0.05%", "--epsilon", "0.1"],
    "channel": ["channel", "--epsilon", "8", "--codes"],
    "figures": ["figures"],
    "amplify": ["amplify", "--users", "252,540", "--trusted", "1%", *STUDY, "--weight", "0.9", "--colluding", "50%"],
}
SLOW = ("plan without a spread", "plan with noise", "solve")
HELP = ["demo", "plan", "simulate", "mean", "amplify", "channel", "randomize", "figures", "ledger", "ledger create"]


def _fits(output: str) -> None:
    assert output.strip()
    for line in output.splitlines():
        assert len(line.rstrip()) <= 80, line


@pytest.mark.repeated
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in COMMANDS]
)
def test_what_a_command_prints_fits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    processes = ["--processes", "1"] if name == "simulate" else []
    result = RUN.invoke(cli.app, [*COMMANDS[name], *processes])
    assert result.exit_code == 0
    _fits(result.output)


@pytest.mark.parametrize("command", [[], *(name.split() for name in HELP)])
def test_help_fits(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = RUN.invoke(cli.app, [*command, "--help"])
    assert result.exit_code == 0
    _fits(result.output)


def _table(folder: Path) -> None:
    values = [float(i % 60) if i < 400 else None for i in range(4000)]
    codes = [None if i < 400 else i % 256 for i in range(4000)]
    pl.DataFrame({"minutes": values, "code": codes, "land": ["DE", "FR"] * 2000}).write_csv(folder / "users.csv")


MEAN = ["mean", "users.csv", "--value", "minutes", "--report", "code", "--bounds", "0", "60", "--epsilon", "1"]
IN_ORDER = {
    "ledger create": ["ledger", "create", "book.json", "--epsilon", "4", "--delta", "1e-9", "--accountant", "zcdp"],
    "mean": [*MEAN, "--ledger", "book.json", "--diagnostics"],
    "mean of groups": [
        *MEAN,
        "--name",
        "groups",
        "--ledger",
        "book.json",
        "--diagnostics",
        "--group",
        "land",
        "--keys",
        "DE,FR",
    ],
    "mean of a simulation": [*MEAN[:4], *MEAN[6:], "--trusted-if", "land=DE", "--simulate-local", "--seed", "1"],
    "ledger show": ["ledger", "show", "book.json"],
    "ledger verify": ["ledger", "verify", "book.json", "--repair"],
    "randomize": ["randomize", "users.csv", *MEAN[2:4], *MEAN[6:], "-o", "codes.csv", "--seed", "1", "--diagnostics"],
}


def test_what_commands_print_that_read_and_write_files_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)  # a long path is never broken
    _table(tmp_path)
    for name, arguments in IN_ORDER.items():
        result = RUN.invoke(cli.app, arguments)
        assert result.exit_code == 0, (name, result.output)
        _fits(result.output)


@pytest.mark.parametrize("columns", ["30", "50"])
def test_no_number_of_a_plan_is_cut_in_a_narrow_window(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    wide = RUN.invoke(cli.app, COMMANDS["plan"]).stdout
    monkeypatch.setenv("COLUMNS", columns)
    narrow = RUN.invoke(cli.app, COMMANDS["plan"]).stdout
    assert "…" not in narrow
    numbers = re.compile(r"[0-9][0-9,.]*")
    assert sorted(numbers.findall(narrow)) == sorted(numbers.findall(wide))


def _fail() -> None:
    raise OSError("no room")


def test_errors_fit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    _table(tmp_path)
    for arguments in (
        ["ledger", "create", "book.json", "--epsilon", "many"],
        ["ledger", "create", "book.json", "--epsilon", "1", "--accountant", "a good one that is not there yet"],
        ["ledger", "show", "nothing.json"],
        ["mean", *MEAN[2:], "--ledger", "new.json"],
        [*MEAN[:-1], "0,5", "--ledger", "new.json"],
        [*MEAN],
        ["randomize", "users.csv", *MEAN[2:4], *MEAN[6:], "-o", "users.csv"],
        ["amplify", "--users", "1,000", "--trusted", "5%", *STUDY, "--weight", "0.5", "--colluding", "1"],
        ["figures", "99"],
        ["simulate", "cauchy(1,2)", "--users", "100", "--trusted", "5%", *STUDY],
        ["plan", "--users", "1,000", "--trusted", "5%", *STUDY, "--delta", "0.5"],
        ["plan", "--users", "1,000", "--trusted", "1", *STUDY],
    ):
        monkeypatch.setattr(sys, "argv", ["hybriddp", *arguments])
        with pytest.raises(SystemExit):
            cli.main()
        _fits(capsys.readouterr().err)
    monkeypatch.setattr(cli, "app", _fail)
    with pytest.raises(SystemExit):
        cli.main()
    _fits(capsys.readouterr().err)


def test_words_are_wrapped_between_words_and_never_inside_of_a_number() -> None:
    text = "It is 67,800 ± 5,300 (95 %), with ε = 1.\n  left as it is, however long this line may be\n\nend"
    for width in range(20, 60):
        wrapped = wrap(text, width)
        assert wrapped.split() == text.split()
        for together in ("67,800 ± 5,300", "(95 %),", "ε = 1.", "  left as it is, however long this line may be"):
            assert together in wrapped
        assert all(len(line) <= width for line in wrapped.splitlines() if not line.startswith(" "))


def test_lines_are_never_too_long_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for shown, used in (("300", 100), ("90", 90), ("10", 20)):
        monkeypatch.setenv("COLUMNS", shown)
        assert columns() == used


# Waiting


class _Now:
    """A clock whose time has come as soon as it is started."""

    def __init__(self, _seconds: float, action: Any) -> None:
        self.action = action

    def start(self) -> None:
        self.action()

    def cancel(self) -> None:
        pass

    def join(self) -> None:
        pass


def _terminal(text: io.StringIO) -> Console:
    return Console(file=text, force_terminal=True, width=80)


def test_whoever_waits_long_sees_how_far_it_is_and_then_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "Timer", _Now)
    shown: list[tuple[float | None, float]] = []
    real = Progress.update

    def update(self: Progress, task: Any, **fields: Any) -> None:
        real(self, task, **fields)
        shown.append((self.tasks[0].total, self.tasks[0].completed))

    monkeypatch.setattr(Progress, "update", update)
    text = io.StringIO()
    with waiting("counting", console=_terminal(text)) as tell:
        tell(None)
        tell(0.25)
        tell(1.0)
    assert shown == [(None, 0.0), (1.0, 0.25), (1.0, 1.0)]
    assert "counting" in text.getvalue()
    assert text.getvalue().endswith("\x1b[2K")  # the line is erased


def test_whoever_does_not_wait_sees_nothing() -> None:
    text = io.StringIO()
    with waiting("counting", console=_terminal(text)) as tell:
        tell(1.0)
    assert text.getvalue() == ""


def test_a_file_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "Timer", _Now)
    text = io.StringIO()
    with waiting("counting", console=Console(file=text)) as tell:
        tell(0.5)
    assert text.getvalue() == ""


def test_an_error_stops_the_clock() -> None:
    before = active_count()
    with pytest.raises(ValueError, match="broken"), waiting("counting", console=_terminal(io.StringIO())):
        raise ValueError("broken")
    assert active_count() == before
