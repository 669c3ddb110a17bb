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
    for words in ("252,540 users, 2,525 of whom (1 %)", "adaptive (ours)", "Recommendation:", "mean gap"):
        assert words in result.output


def test_the_smallest_opt_in_for_a_wanted_error_is_found() -> None:
    options = ["--epsilon", "1", "--solve-for", "trusted", "--target-rmse", "2,000"]
    result = RUN.invoke(cli.app, [*PAY, *options])
    assert result.exit_code == 0
    assert "opt-ins" in result.output
    assert "gives a typical error within 2,000." in result.output
    stored = json.loads(RUN.invoke(cli.app, [*PAY, *options, "--json"]).stdout)
    assert stored["solved"] == "trusted_fraction"
    assert stored["rmse"] <= 2000


def test_pictures_and_pages_are_written(tmp_path: Path) -> None:
    picture, page = tmp_path / "plan.svg", tmp_path / "plan.html"
    options = ["--trusted", "1%", "--epsilon", "1", "--plot", str(picture), "--html", str(page)]
    result = RUN.invoke(cli.app, [*PAY, *options])
    assert result.exit_code == 0
    assert picture.read_bytes().startswith(b"<?xml")
    assert "Recommendation" in page.read_text()


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
        (["--trusted", "1%", "--solve-for", "epsilon"], 2, "target_rmse must be given"),
        (["--trusted", "1%", "--solve-for", "sd", "--target-rmse", "5"], 2, "solve_for must be one of"),
        (["--trusted", "1%", "--solve-for", "epsilon", "--target-rmse", "1e-9"], 2, "no ε up to 20 gives less"),
        (["--trusted", "x", "--epsilon", "1"], 2, "is not a number such as"),
        (["--trusted", "1%", "--epsilon", "much"], 2, "epsilon must be"),
        (["--trusted", "1%", "--epsilon", "1", "--users", "10.5"], 2, "users must be a whole number"),
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
