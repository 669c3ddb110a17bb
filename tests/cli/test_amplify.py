import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hybriddp import cli

RUN = CliRunner()
PAY = ["amplify", "--users", "252,540", "--trusted", "1%", "--epsilon", "1", "--bounds", "0", "2349033"]


def test_both_tiers_are_shown_with_what_they_rest_on() -> None:
    options = ["--weight", "known-variance", "--sd", "53,254", "--delta", "1e-7", "--colluding", "50%"]
    result = RUN.invoke(cli.app, [*PAY, *options])
    assert result.exit_code == 0
    for words in ("trusted users", "local users", "At most 125,008 local users pool", "Group sizes are public"):
        assert words in result.output


def test_json_has_everything() -> None:
    stored = json.loads(RUN.invoke(cli.app, [*PAY, "--weight", "0.9", "--json"]).stdout)
    assert stored["trusted"]["epsilon"] == stored["everyone"]["epsilon"] == 1.0
    assert 0 < stored["local"]["epsilon"] < 0.01
    assert any("rounded to a multiple of" in sentence for sentence in stored["assumptions"])


@pytest.mark.parametrize(
    ("text", "count"), [("50%", 125_008), ("0.5", 125_008), ("1 user", 1), ("1,000", 1000), ("0", 0)]
)
def test_shares_and_numbers_of_colluding_users_are_told_apart(text: str, count: int) -> None:
    result = RUN.invoke(cli.app, [*PAY, "--weight", "0.9", "--colluding", text])
    assert f"At most {count:,} local users pool" in result.output


@pytest.mark.slow
def test_a_map_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "map.png"
    assert RUN.invoke(cli.app, [*PAY, "--weight", "privacy", "--plot", str(path)]).exit_code == 0
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--weight", "adaptive"], 2, "only the promised ε holds"),
        (["--weight", "0.5", "--also-published", "group means"], 2, "Only the promised ε holds"),
        (["--weight", "0.5", "--colluding", "300,000"], 2, "--colluding must be"),
        (["--weight", "0.5", "--colluding", "100%"], 2, "--colluding must be below the 250,015 local users"),
        (["--weight", "0.5", "--colluding", "many"], 2, "is not a number such as"),
        (["--weight", "known-variance"], 2, "sd must be given"),
        (["--weight", "0.5", "--colluding", "1"], 2, "Invalid value for '--colluding': 1 is ambiguous"),
        (["--weight", "0.5", "--delta", "0.5"], 2, "--delta must be at most 0.001"),
        (["--weight", "0.5", "--delta", "50%"], 2, "--delta must be"),
        (["--weight", "0.5", "--delta", "1e-4"], 2, "--delta must be far below 1 over the number of users, 252,540"),
        (["--weight", "0.5", "--sd", "3"], 2, "--sd must be left out with a weight that is a number"),
        (["--weight", "0.5", "--step", "0,5"], 2, "'0,5' is not a number"),
        (["--weight", "known-variance", "--sd", "50%"], 2, "'50%' is a percentage"),
        (["--weight", "0.5", "--users", "10.5"], 2, "is not a whole number of users"),
        (["--weight", "0.5", "--plot", "x.docx"], 4, "must end in one of"),
    ],
)
def test_bad_input_ends_with_one_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["hybriddp", *PAY, *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code
    assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())
