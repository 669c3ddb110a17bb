import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import hybriddp
from hybriddp import cli
from hybriddp.cli.demo import gain_in_words
from hybriddp.cli.terminal import in_options, options_of
from hybriddp.errors import BudgetError, DataError, HybridDPError
from tests.cli.ledgers import create

RUN = CliRunner()
QUICK = ["demo", "--trials", "20"]


def test_help_names_every_command_and_exit_code() -> None:
    result = RUN.invoke(cli.app, ["--help"])
    assert result.exit_code == 0
    commands = (
        "demo",
        "plan",
        "simulate",
        "mean",
        "frequencies",
        "heavy-hitters",
        "channel",
        "randomize",
        "figures",
        "amplify",
        "show",
        "ledger",
        "serve",
        "tokens",
    )
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
    assert abs(answer["estimates"]["adaptive"]["rows"][0]["value"] - answer["non_private_mean"]) < 30


@pytest.mark.slow
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
        (["demo", "--trusted", "100%"], 2, "--trusted must be"),
        (["demo", "--trusted", "1"], 2, "1 is ambiguous: write 1%"),
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


def test_a_share_means_the_same_as_in_every_command() -> None:
    answer = json.loads(RUN.invoke(cli.app, [*QUICK, "--json", "--trusted", "0.2"]).stdout)
    assert answer["n_trusted"] == round(0.2 * 327_346)
    assert json.loads(RUN.invoke(cli.app, [*QUICK, "--json", "--trusted", "650"]).stdout)["n_trusted"] == 650


@pytest.mark.parametrize(
    ("gain", "words"),
    [(1.25, "is 20 % below"), (0.78, "does not pay here: its squared error is 28 % above"), (1.001, "is that of the")],
)
def test_a_loss_is_called_a_loss(gain: float, words: str) -> None:
    assert words in gain_in_words(gain)


@pytest.mark.parametrize(
    ("command", "message", "words"),
    [
        ("mean", "Pass single_group=True if that will do.", "Pass --single-group if that will do."),
        ("plan", "n_users must be an integer, got n_users=3.", "--users must be an integer, got 3."),
        ("plan", "target_rmse must be given, got target_rmse=None.", "--target-rmse must be given."),
        ("plan", "bounds must be a pair, got bounds=(3, 1).", "--bounds must be a pair, got (3, 1)."),
        ("amplify", "colluding_local must be below 7, got colluding_local=9.", "--colluding must be below 7, got 9."),
        ("demo", "random_state must be 0 or more, got random_state=-1.", "--seed must be 0 or more, got -1."),
        ("mean", "The value of a report must be known.", "The value of a report must be known."),
        (None, "epsilon must be a number, got epsilon[3]='x'.", "--epsilon must be a number, got 'x'."),
        ("plan", "bounds[1] must be finite, got bounds[1]=inf.", "--bounds must be finite, got inf."),
        ("plan", "trusted must be at most 2,000, got trusted=2001.", "--trusted must be at most 2,000, got 2001."),
        ("simulate", "data must be values, got data='x(1)'.", "DATA must be values, got 'x(1)'."),
        ("mean", "files must be named, got files=[].", "FILE must be named, got []."),
        ("ledger create", "accountant must be basic, got accountant='x'.", "--accountant must be basic, got 'x'."),
        ("ledger", "epsilon must be a number, got epsilon='x'.", "--epsilon must be a number, got 'x'."),
    ],
)
def test_errors_speak_of_options(command: str | None, message: str, words: str) -> None:
    assert in_options(message, options_of(cli.app, *(command or "").split())) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("known that sd_at_most = 9.", "known that --sd-at-most 9."),
        ("the spread (sd_at_most) would", "the spread (--sd-at-most) would"),
        ("Pass single_group=True.", "Pass --single-group."),
        ("Written: sd_at_most.html and plots/mean_gap", "Written: sd_at_most.html and plots/mean_gap"),
    ],
)
def test_results_speak_of_options(text: str, words: str) -> None:
    assert in_options(text) == words


def test_an_empty_group_is_refused_with_the_option_that_allows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "users.csv"
    path.write_text("minutes,code\n3,\n4,\n5,\n")
    options = ["--value", "minutes", "--report", "code", "--bounds", "0", "10", "--epsilon", "1"]
    ledger = ["--ledger", str(create(tmp_path / "ledger.json", epsilon="1"))]
    monkeypatch.setattr(sys, "argv", ["hybriddp", "mean", str(path), *options, *ledger])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 4
    assert "--single-group if" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("command", ["plan", "mean", "ledger"])
def test_a_delta_that_is_no_privacy_is_refused(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {
        "plan": ["--users", "1,000", "--trusted", "5%"],
        "mean": ["x.csv", "--value", "x", "--report", "code", "--ledger", "ledger.json"],
        "ledger": ["create", "never.json"],
    }[command]
    bounds = [] if command == "ledger" else ["--bounds", "0", "250"]
    common = [*bounds, "--epsilon", "1", "--delta", "0.5"]
    monkeypatch.setattr(sys, "argv", ["hybriddp", command, *options, *common])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    words = " ".join(capsys.readouterr().err.split())
    assert "--delta must be at most 0.001" in words
    assert "published the values of half of its users outright" in words


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


@pytest.mark.slow
def test_the_installed_program_runs() -> None:
    program = Path(sys.executable).parent / "hybriddp"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("hybriddp ")


@pytest.mark.slow
def test_the_package_runs_as_a_program() -> None:
    done = subprocess.run([sys.executable, "-m", "hybriddp", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("hybriddp ")
