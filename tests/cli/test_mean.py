import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from hybriddp import cli
from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.release import Ledger

RUN = CliRunner()
STUDY = MeanStudy("minutes", bounds=(0, 240), epsilon=0.5)


@pytest.fixture
def users(tmp_path: Path) -> Path:
    minutes = np.random.default_rng(0).gamma(2.0, 20.0, 5000)
    codes = STUDY.randomize(minutes[500:], random_state=1)
    path = tmp_path / "users.parquet"
    pl.DataFrame(
        {
            "minutes": pl.Series([*minutes[:500].tolist(), None, float("nan")] + [None] * 4500, dtype=pl.Float64),
            "code": pl.Series([None] * 502 + codes.tolist(), dtype=pl.UInt8),
        }
    ).write_parquet(path)
    return path


def _run(users: Path, ledger: Path, *more: str) -> Result:
    options = [
        "--value",
        "minutes",
        "--report",
        "code",
        "--bounds",
        "0",
        "240",
        "--epsilon",
        "0.5",
        "--ledger",
        str(ledger),
    ]
    return RUN.invoke(cli.app, ["mean", str(users), *options, *more])


def test_it_tells_the_story_and_writes_the_ledger(users: Path, tmp_path: Path) -> None:
    result = _run(users, tmp_path / "ledger.json")
    assert result.exit_code == 0
    for words in (
        "minutes:",
        "500 trusted the curator and 4,500 reported locally",
        "ledger.json",
    ):
        assert words in result.output
    assert "Nobody is counting" not in result.output
    assert len(Ledger.open(tmp_path / "ledger.json").events) == 1


def test_a_second_release_ends_with_code_3(users: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(users, tmp_path / "ledger.json").exit_code == 0
    assert isinstance(_run(users, tmp_path / "ledger.json").exception, BudgetError)
    arguments = ["--value", "minutes", "--report", "code", "--bounds", "0", "240", "--epsilon", "0.5"]
    monkeypatch.setattr(
        sys, "argv", ["hybriddp", "mean", str(users), *arguments, "--ledger", str(tmp_path / "ledger.json")]
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3


def test_it_prints_json_and_nothing_else(users: Path, tmp_path: Path) -> None:
    answer = json.loads(_run(users, tmp_path / "ledger.json", "--json", "--name", "session minutes").stdout)
    assert answer["study"] == "session minutes"
    assert answer["privacy"]["counted"] is True
    assert answer["privacy"]["private_release"] is True
    assert answer["n_trusted"] == 500


def test_what_is_refused_is_not_paid_for(users: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    only = tmp_path / "only.csv"
    pl.DataFrame({"minutes": [1.0, 2.0], "code": pl.Series([None, None], dtype=pl.UInt8)}).write_csv(only)
    assert isinstance(_run(only, ledger).exception, DataError)
    assert isinstance(_run(users, ledger, "--epsilon", "50").exception, ParameterError)
    assert not ledger.exists()


# Files, engines, and waiting for them


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_several_files_are_one_table(users: Path, tmp_path: Path, engine: str) -> None:
    table = pl.read_parquet(users)
    parts = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, part in zip(parts, (table[:400], table[400:]), strict=True):
        part.write_parquet(path)
    options = ["--value", "minutes", "--report", "code", "--bounds", "0", "240", "--epsilon", "0.5"]
    more = ["--ledger", str(tmp_path / "ledger.json"), "--engine", engine, "--json"]
    result = RUN.invoke(cli.app, ["mean", *map(str, parts), *options, *more])
    answer = json.loads(result.stdout)
    assert (answer["n_trusted"], answer["n_local"]) == (500, 4500)
    wrong = RUN.invoke(cli.app, ["mean", str(users), *options, *more, "--engine", "dask"])
    assert isinstance(wrong.exception, ParameterError)


# Groups, pictures and pages


@pytest.fixture
def countries(users: Path, tmp_path: Path) -> Path:
    path = tmp_path / "countries.parquet"
    frame = pl.read_parquet(users).with_row_index()
    country = pl.when(pl.col("index") % 3 == 0).then(pl.lit("DE")).otherwise(pl.lit("FR"))
    frame.with_columns(country=country, region=pl.col("index") % 2).drop("index").write_parquet(path)
    return path


def test_a_mean_per_group_costs_every_user_once(countries: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    result = _run(countries, ledger, "--group", "country", "--keys", "DE, FR")
    assert result.exit_code == 0
    for words in ("DE", "FR", "95 % interval", "Who has which country is public"):
        assert words in result.output
    assert [event.part.key for event in Ledger.open(ledger).events if event.part] == ["DE", "FR"]
    assert isinstance(_run(countries, ledger).exception, BudgetError)


def test_groups_as_json_and_with_numbers_for_keys(countries: Path, tmp_path: Path) -> None:
    answer = json.loads(
        _run(countries, tmp_path / "ledger.json", "--group", "region", "--keys", "0,1", "--json").stdout
    )
    assert answer["by"] == "region"
    assert [part["key"] for part in answer["parts"]] == ["0", "1"]
    assert sum(part["estimate"]["n_local"] for part in answer["parts"]) == 4500


@pytest.mark.parametrize("more", [[], ["--group", "country", "--keys", "DE,FR"]])
def test_a_picture_and_a_page_are_written(countries: Path, tmp_path: Path, more: list[str]) -> None:
    picture, page = tmp_path / "mean.png", tmp_path / "mean.html"
    result = _run(countries, tmp_path / "ledger.json", "--plot", str(picture), "--html", str(page), *more)
    assert result.exit_code == 0
    assert picture.stat().st_size > 5000
    assert ("country = FR" in page.read_text()) == bool(more)
    assert str(page) in result.output.replace("\n", "")


def test_what_cannot_be_written_is_found_before_anything_is_spent(countries: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    for option, name in (("--plot", "x.docx"), ("--html", "x.pdf"), ("--html", "no such folder/x.html")):
        assert isinstance(_run(countries, ledger, option, str(tmp_path / name)).exception, DataError)
    for options in (["--group", "country"], ["--keys", "DE"], ["--group", "country", "--keys", ","]):
        assert isinstance(_run(countries, ledger, *options).exception, ParameterError)
    assert not ledger.exists()
