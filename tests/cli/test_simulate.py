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
        assert words in result.output


def test_a_file_is_simulated_in_the_papers_setting(tmp_path: Path) -> None:
    path = tmp_path / "values.csv"
    pl.DataFrame({"minutes": [1.0, 2.5, None, 7.0] * 100}).write_csv(path)
    options = ["--value", "minutes", "--channel", "laplace", "--estimators", "privacy, 0.3", "--json"]
    checkpoint = tmp_path / "sums.json"
    result = RUN.invoke(cli.app, ["simulate", str(path), *options, *COMMON, "--checkpoint", str(checkpoint)])
    stored = json.loads(result.stdout)
    assert stored["private_release"] is False
    assert stored["n_trusted"] + stored["n_local"] == 300
    assert [row["name"] for row in stored["estimators"]] == ["privacy", "0.3"]
    assert stored["study"]["channel"]["type"] == "discrete-laplace"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["beta(2,8)"], 2, "n_users must be given with a distribution"),
        (["cauchy(1,2)", "--users", "100"], 2, "data must be values or one of"),
        (["uniform", "--users", "100", "--value", "x"], 2, "value must be left out with a distribution"),
        (["values.csv"], 2, "value must be the name of a column"),
        (["values.csv", "--value", "x"], 4, "There is no file values.csv"),
        (["uniform", "--users", "100", "--estimators", "best"], 2, "estimators must be"),
        (["uniform", "--users", "100", "--channel", "wide"], 2, "channel must be"),
        (["uniform", "--users", "100", "--trials", "1"], 2, "trials must be"),
    ],
)
def test_bad_input_ends_with_one_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["hybriddp", "simulate", *COMMON, *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code
    assert message in " ".join(capsys.readouterr().err.split())


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
