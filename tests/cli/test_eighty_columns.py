"""Everything that a command prints fits into 80 columns, on a terminal and in a file."""

import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from hybriddp import cli
from hybriddp.cli.screen import columns, wrap

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
HELP = ["demo", "plan", "simulate", "mean", "amplify", "channel", "randomize", "figures"]


def _fits(output: str) -> None:
    assert output.strip()
    for line in output.splitlines():
        assert len(line.rstrip()) <= 80, line


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_prints_fits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    processes = ["--processes", "1"] if name == "simulate" else []
    result = RUN.invoke(cli.app, [*COMMANDS[name], *processes])
    assert result.exit_code == 0
    _fits(result.output)


@pytest.mark.parametrize("command", [[], *([name] for name in HELP)])
def test_help_fits(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = RUN.invoke(cli.app, [*command, "--help"])
    assert result.exit_code == 0
    _fits(result.output)


def test_errors_fit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "values.csv"
    pl.DataFrame({"minutes": [1.0, 2.5]}).write_csv(path)
    for arguments in (
        ["simulate", "cauchy(1,2)", "--users", "100", "--trusted", "5%", *STUDY],
        ["plan", "--users", "1,000", "--trusted", "5%", *STUDY, "--delta", "0.5"],
        ["plan", "--users", "1,000", "--trusted", "1", *STUDY],
    ):
        monkeypatch.setattr(sys, "argv", ["hybriddp", *arguments])
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
