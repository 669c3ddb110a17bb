import json
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from hybriddp import cli

RUN = CliRunner()
COMMON = ["--bounds", "0", "10", "--epsilon", "1", "--trusted", "5%", "--trials", "20", "--processes", "1"]


def test_a_named_distribution_is_simulated() -> None:
    result = RUN.invoke(cli.app, ["simulate", "beta(2,8)", "--users", "2,000", *COMMON])
    assert result.exit_code == 0
    for words in ("adaptive", "known-variance", "100 trusted and 1,900 local users", "not a private release"):
        assert words in " ".join(result.output.split())


def test_parameters_are_in_the_units_of_the_values() -> None:
    options = ["--bounds", "0", "240", "--users", "2,000", "--epsilon", "1", "--trusted", "100", "--trials", "20"]
    asked = ["simulate", "normal(40,20)", *options, "--processes", "1"]
    stored = json.loads(RUN.invoke(cli.app, [*asked, "--json"]).stdout)
    assert stored["truth_of_first_trial"] == pytest.approx(40, abs=2)
    assert stored["n_trusted"] == 100
    words = " ".join(RUN.invoke(cli.app, asked).output.split())
    assert "2.3 % of the values lie outside of 0 to 240 and are clamped: their mean moves from 40 to 40.17" in words


def test_only_exact_theory_is_tested_against_what_happens() -> None:
    lines = RUN.invoke(cli.app, ["simulate", "beta(2,8)", "--users", "2,000", *COMMON]).output.splitlines()
    rows = {line.split()[0]: line.split() for line in lines if line.strip()}
    assert rows["adaptive"][3] == "≈"
    assert rows["naive"][5][0] in "+-"
    assert rows["adaptive"][6][0] not in "+-"


def test_a_file_is_simulated(tmp_path: Path) -> None:
    path = tmp_path / "values.csv"
    pl.DataFrame({"minutes": [1.0, 2.5, None, 7.0] * 100}).write_csv(path)
    options = ["--value", "minutes", "--estimators", "privacy, 0.3", "--json"]
    result = RUN.invoke(cli.app, ["simulate", str(path), *options, *COMMON])
    stored = json.loads(result.stdout)
    assert stored["private_release"] is False
    assert stored["n_trusted"] + stored["n_local"] == 300
    assert [row["name"] for row in stored["estimators"]] == ["privacy", "0.3"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["beta(2,8)"], 2, "--users must be given with a distribution"),
        (["cauchy(1,2)", "--users", "100"], 2, "DATA must be values or one of"),
        (["uniform", "--users", "100", "--value", "x"], 2, "value must be left out with a distribution"),
        (["values.csv"], 2, "value must be the name of a column"),
        (["values.csv", "--value", "x"], 4, "There is no file values.csv"),
        (["uniform", "--users", "100", "--estimators", "best"], 2, "estimators must be"),
        (["uniform", "--users", "100", "--trials", "1"], 2, "trials must be"),
        (["uniform", "--users", "100", "--trusted", "1"], 2, "1 is ambiguous: write 1%"),
        (["uniform", "--users", "100", "--trusted", "101"], 2, "--trusted must be at most the number of users, 100"),
        (["uniform", "--users", "100", "--trusted", "0.1%"], 2, "--trusted must be such that each of 100 users'"),
        (["normal(62,000,28,000)", "--users", "100"], 2, "Write thousands without commas"),
        (["gamma(0,1)", "--users", "100"], 2, "where mean is a number above 0"),
    ],
)
def test_bad_input_ends_with_one_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["hybriddp", "simulate", *COMMON, *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code
    assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_a_column_of_texts_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "values.parquet"
    pl.DataFrame({"x": ["a", "b"]}).write_parquet(path)
    monkeypatch.setattr(sys, "argv", ["hybriddp", "simulate", str(path), "--value", "x", *COMMON])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 4
    assert "must hold numbers" in capsys.readouterr().err
