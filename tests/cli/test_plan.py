import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hybriddp import cli

RUN = CliRunner()
PAY = ["plan", "--users", "252,540", "--bounds", "0", "2349033", "--sd", "53,254"]


def test_a_plan_is_a_story_and_two_tables() -> None:
    result = RUN.invoke(cli.app, [*PAY, "--trusted", "1%", "--epsilon", "1"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0].startswith("What you get: the mean ±")
    leads = [line.split(":")[0] for line in lines if line.startswith(("What you get", "Worth it", "What would"))]
    assert leads == ["What you get", "Worth it", "What would change it"]
    words = " ".join(result.output.split())
    for part in (
        "252,540 users, 2,525 of whom (1 %)",
        "both (adaptive)",
        "What ε costs",
        "What bounds cost",
        "mean gap",
        "If the groups differ",
    ):
        assert part in words
    assert "Laplace" not in words
    paper = RUN.invoke(cli.app, [*PAY, "--trusted", "2,525", "--epsilon", "1", "--paper"])
    assert "The paper's estimators, with Laplace noise for both groups" in paper.output


def test_numbers_with_commas_are_read_everywhere() -> None:
    assert RUN.invoke(cli.app, ["channel", "--epsilon", ".5"]).exit_code == 0
    options = ["--users", "300", "--trusted", "120", "--epsilon", "1", "--bounds", "0", "250,000"]
    result = RUN.invoke(cli.app, ["plan", *options, "--mean", "62,000", "--sd", "28,000"])
    words = " ".join(result.output.split())
    assert "What you get: the mean (about 62,000) ± 11,000 (95 % interval), typically off by 3,500" in words
    assert "values vary by no more than 40,000 (--sd-at-most)" in words
    assert "300 users, 120 of whom (40 %)" in words
    assert "0 to 125,000" in words


def test_the_smallest_opt_in_for_a_wanted_error_is_found() -> None:
    options = ["--epsilon", "1", "--solve-for", "trusted", "--target-rmse", "2,000"]
    result = RUN.invoke(cli.app, [*PAY, *options])
    assert result.exit_code == 0
    assert "opt-ins" in result.output
    assert "gives a typical error within 2,000." in result.output
    stored = json.loads(RUN.invoke(cli.app, [*PAY, *options, "--json"]).stdout)
    assert stored["solved"] == "trusted_fraction"
    assert stored["rmse"] <= 2000


@pytest.mark.slow
def test_pictures_and_pages_are_written(tmp_path: Path) -> None:
    picture, page = tmp_path / "plan.svg", tmp_path / "plan.html"
    options = ["--trusted", "1%", "--epsilon", "1", "--plot", str(picture), "--html", str(page)]
    result = RUN.invoke(cli.app, [*PAY, *options])
    assert result.exit_code == 0
    assert picture.read_bytes().startswith(b"<?xml")
    assert "Worth it" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--trusted", "1%"], 2, "epsilon must be given, or found with --solve-for epsilon"),
        (["--epsilon", "1"], 2, "trusted must be given"),
        (["--trusted", "1%", "--epsilon", "1", "--target-rmse", "5"], 2, "given together with --solve-for"),
        (
            ["--trusted", "1%", "--epsilon", "1", "--solve-for", "epsilon", "--target-rmse", "5"],
            2,
            "left out when solving",
        ),
        (["--trusted", "1%", "--solve-for", "epsilon"], 2, "--target-rmse must be given when solving for epsilon."),
        (["--trusted", "1%", "--solve-for", "sd", "--target-rmse", "5"], 2, "--solve-for must be one of"),
        (["--trusted", "1%", "--solve-for", "epsilon", "--target-rmse", "1e-9"], 2, "no ε up to 20 gives less"),
        (["--trusted", "x", "--epsilon", "1"], 2, "is not a number such as"),
        (["--trusted", "1", "--epsilon", "1"], 2, "1 is ambiguous: write 1%"),
        (["--trusted", "1%", "--epsilon", "1", "--delta", "0.0005"], 2, "--delta must be far below 1 over the number"),
        (["--trusted", "1%", "--epsilon", "1", "--mean", "-5"], 2, "--mean must be a number between the bounds"),
        (["--trusted", "1%", "--epsilon", "much"], 2, "epsilon must be"),
        (["--trusted", "1%", "--epsilon", "1", "--users", "10.5"], 2, "not a whole number of users"),
        (["--trusted", "1%", "--epsilon", "1", "--plot", "x.docx"], 4, "must end in one of"),
    ],
)
def test_bad_goals_end_with_one_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["hybriddp", *PAY, *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code
    assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())
