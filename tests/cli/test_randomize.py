import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from hybriddp.channels import WindowChannel
from hybriddp.cli import app
from hybriddp.errors import DataError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.tables.report_files import write_table
from tests.cli.ledgers import invoke

RUN = CliRunner()


@pytest.fixture
def values(tmp_path: Path) -> Path:
    path = tmp_path / "values.csv"
    minutes = [10.0, None, float("nan"), 999.0, -5.0, float("inf")]
    pl.DataFrame({"minutes": minutes, "country": list("abcdef"), "name": list("uvwxyz")}).write_csv(path)
    return path


def _run(values: Path, output: Path, *more: str, value: str = "minutes") -> Result:
    options = ["--value", value, "--bounds", "0", "240", "--epsilon", "8", "-o", str(output), *more]
    return RUN.invoke(app, ["randomize", str(values), *options])


def test_every_value_that_is_there_gets_one_code(values: Path, tmp_path: Path) -> None:
    result = _run(values, tmp_path / "reports.parquet")
    assert result.exit_code == 0
    reports = pl.read_parquet(tmp_path / "reports.parquet")
    assert reports.columns == ["code"]
    assert reports.schema["code"] == pl.UInt8
    assert len(reports) == 3
    assert "left out" not in result.output
    shown = _run(values, tmp_path / "again.parquet", "--diagnostics")
    assert "left out" not in shown.stdout
    assert "NOT FOR PUBLICATION" in shown.stderr
    assert "Left out: 3 missing" in shown.stderr
    assert "Simulated devices" in result.output
    assert "Not private" not in result.output


def test_columns_are_kept_only_if_asked_for(values: Path, tmp_path: Path) -> None:
    _run(values, tmp_path / "reports.csv", "--keep", "country")
    reports = pl.read_csv(tmp_path / "reports.csv")
    assert reports.columns == ["country", "code", "study"]
    assert set(reports["study"]) == {MeanStudy("minutes", bounds=(0, 240), epsilon=8).digest}
    assert reports["country"].to_list() == ["a", "d", "e"]


def test_a_seed_repeats_and_is_told(values: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / f"{i}.jsonl" for i in range(2)]
    results = [_run(values, output, "--seed", "5") for output in outputs]
    assert outputs[0].read_text() == outputs[1].read_text()
    assert "Not private" in results[0].output


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_an_answer_from_seeded_reports_is_no_private_release(tmp_path: Path, ending: str) -> None:
    values = tmp_path / "values.parquet"
    pl.DataFrame({"minutes": np.linspace(0, 240, 500)}).write_parquet(values)
    for seed in ([], ["--seed", "1"]):
        reports, ledger = tmp_path / f"reports.{ending}", tmp_path / f"{len(seed)}.ledger"
        assert _run(values, reports, *seed).exit_code == 0
        files = ["--trusted-file", str(values), "--local-file", str(reports), "--report", "code"]
        options = ["--value", "minutes", "--bounds", "0", "240", "--epsilon", "8", "--ledger", str(ledger), "--json"]
        result = invoke(["mean", *files, *options])
        assert result.exit_code == 0
        assert json.loads(result.stdout)["privacy"]["seeded"] is bool(seed)


def test_it_prints_json_and_nothing_else(values: Path, tmp_path: Path) -> None:
    answer = json.loads(_run(values, tmp_path / "r.parquet", "--json").stdout)
    assert answer["reports"] == 3
    assert "rejected" not in answer
    assert answer["seeded"] is False
    assert answer["simulated"] is True
    assert answer["channel"] == WindowChannel(epsilon=8).digest


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "ndjson"])
def test_every_format_is_read(tmp_path: Path, ending: str) -> None:
    path, frame = tmp_path / f"v.{ending}", pl.DataFrame({"minutes": np.arange(50)})
    write_table(frame, path)
    written = tmp_path / f"r.{ending}"
    assert _run(path, written, "--seed", "1").exit_code == 0
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson, "ndjson": pl.read_ndjson}[ending]
    reports, study = read(written), MeanStudy("minutes", bounds=(0, 240), epsilon=8)
    assert reports["code"].to_list() == study.randomize(np.arange(50.0), random_state=1).tolist()


@pytest.mark.parametrize(
    ("more", "value", "message"),
    [
        ((), "minuts", "has no column 'minuts'. Is its first row a header"),
        ((), "qqq", "has no column 'qqq'. Is its first row a header"),
        ((), "name", "no number in column 'name', row 1 "),
        (("--keep", "minutes"), "minutes", "must not be the value itself"),
        (("--keep", "name", "--keep", "name"), "minutes", "named twice"),
    ],
)
def test_wrong_columns_are_named(values: Path, tmp_path: Path, more: tuple[str, ...], value: str, message: str) -> None:
    result = _run(values, tmp_path / "r.csv", *more, value=value)
    assert isinstance(result.exception, DataError)
    assert message in str(result.exception)
    assert not (tmp_path / "r.csv").exists()


def test_wrong_files_are_named(values: Path, tmp_path: Path) -> None:
    for source, output in ((tmp_path / "no.csv", "r.csv"), (values, "r.xls"), (tmp_path, "r.csv")):
        assert isinstance(_run(source, tmp_path / output).exception, DataError)
    (tmp_path / "broken.parquet").write_bytes(b"nothing")
    assert "cannot be read" in str(_run(tmp_path / "broken.parquet", tmp_path / "r.csv").exception)
    (tmp_path / "folder.csv").mkdir()
    assert "cannot be written" in str(_run(values, tmp_path / "folder.csv").exception)


def test_the_values_are_not_written_over(values: Path) -> None:
    before = values.read_bytes()
    assert "cannot be written over" in str(_run(values, values).exception)
    assert values.read_bytes() == before


def test_other_mistakes_are_named(values: Path, tmp_path: Path) -> None:
    assert str(_run(values, tmp_path / "r.csv", "--seed", "-1").exception).startswith("seed must be")
    (tmp_path / "empty.csv").write_text("minutes\n")
    assert "has no rows" in str(_run(tmp_path / "empty.csv", tmp_path / "r.csv").exception)
    nested = tmp_path / "nested.parquet"
    pl.DataFrame({"minutes": [1.0], "more": [[1, 2]]}).write_parquet(nested)
    assert "cannot be written" in str(_run(nested, tmp_path / "r.csv", "--keep", "more").exception)
    values.rename(tmp_path / "V.CSV")
    assert _run(tmp_path / "V.CSV", tmp_path / "r.csv").exit_code == 0


def test_bounds_must_be_a_range(values: Path, tmp_path: Path) -> None:
    options = ["--value", "minutes", "--epsilon", "1", "-o", str(tmp_path / "r.csv")]
    backwards = RUN.invoke(app, ["randomize", str(values), "--bounds", "5", "1", *options])
    assert isinstance(backwards.exception, ParameterError)
    assert str(backwards.exception).startswith("bounds must be ")
