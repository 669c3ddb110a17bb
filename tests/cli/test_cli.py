import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import hybriddp
from hybriddp import cli
from hybriddp.errors import BudgetError, DataError, HybridDPError

RUN = CliRunner()
QUICK = ["demo", "--trials", "20"]


def test_help_names_every_command_and_exit_code() -> None:
    result = RUN.invoke(cli.app, ["--help"])
    assert result.exit_code == 0
    commands = ("demo", "plan", "simulate", "mean", "channel", "randomize", "figures", "amplify", "ledger")
    for word in (*commands, "refused for privacy", "--version"):
        assert word in " ".join(result.output.split())


def test_no_arguments_show_the_help() -> None:
    assert "Usage" in RUN.invoke(cli.app, []).output


def test_version() -> None:
    result = RUN.invoke(cli.app, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"hybriddp {hybriddp.__version__}\n"


def test_demo_prints_every_estimator_and_says_that_it_is_a_simulation() -> None:
    result = RUN.invoke(cli.app, QUICK)
    assert result.exit_code == 0
    for words in (
        "no privacy",
        "trusted only",
        "full local",
        "hybrid",
        "not a private release",
        "What to try next",
    ):
        assert words in result.output


def test_demo_prints_json_and_nothing_else() -> None:
    result = RUN.invoke(cli.app, [*QUICK, "--json", "--seed", "7"])
    answer = json.loads(result.stdout)
    assert answer["private_release"] is False
    assert answer["seed"] == 7
    assert answer["n_trusted"] + answer["n_local"] == 327_346
    assert [row["name"] for row in answer["simulation"]] == ["trusted-only", "full-local", "adaptive"]
    assert answer["estimates"]["full-local"]["n_local"] == 327_346
    assert abs(answer["estimates"]["adaptive"]["value"] - answer["non_private_mean"]) < 30


def test_demo_writes_a_picture(tmp_path: Path) -> None:
    target = tmp_path / "demo.png"
    result = RUN.invoke(cli.app, [*QUICK, "--plot", str(target)])
    assert result.exit_code == 0
    assert target.stat().st_size > 10_000


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["demo", "--epsilon", "-1"], 2, "epsilon must be"),
        (["demo", "--epsilon", "much"], 2, "Invalid value for '--epsilon'"),
        (["demo", "--trusted", "100"], 2, "trusted_fraction must be"),
        (["demo", "--trials", "1"], 2, "trials must be"),
        (["demo", "--seed", "-1"], 2, "seed must be"),
        (["demo", "--trials", "20", "--plot", "x.docx"], 4, "The picture cannot be written"),
        (["unknown"], 2, "No such command"),
    ],
)
def test_the_program_ends_with_the_right_code(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["hybriddp", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("error", "code"), [(BudgetError("spent"), 3), (DataError("bad"), 4), (HybridDPError("?"), 1)])
def test_every_error_class_ends_the_program_with_its_code(
    error: HybridDPError, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    failing = typer.Typer()
    failing.command()(fail)
    monkeypatch.setattr(cli, "app", failing)
    monkeypatch.setattr(sys, "argv", ["hybriddp"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code
    assert capsys.readouterr().err.strip() == f"Error: {error}"


def test_the_installed_program_runs() -> None:
    program = Path(sys.executable).parent / "hybriddp"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("hybriddp ")
