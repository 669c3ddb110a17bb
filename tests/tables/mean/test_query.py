import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hybriddp.errors import DataError, MissingExtraError, ParameterError
from hybriddp.mean import LaplaceSummary, MeanStudy
from hybriddp.tables import summarize
from hybriddp.tables.report_files import write_table

STUDY = MeanStudy("x", bounds=(-60, 1440), epsilon=0.5)


HALF_UNIT = 1500 / 2**25
HOSTILE = [
    0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e308, -1e308, 1440.0, -60.0, np.nextafter(1440.0, 0), np.nextafter(-60.0, 0),
    *(-60 + HALF_UNIT * k for k in (1, 3, 5, 2**20 + 1, 2**25 - 1)),  # ties at half units
    0.1, 1 / 3, 2**53 + 2.0, 123.456789, None, float("nan"), float("inf"), float("-inf"), None,
]  # fmt: skip


# The same integers everywhere


def test_hostile_values_give_the_same_bits_on_every_engine(engine: Callable[[pl.DataFrame], Any]) -> None:
    frame = pl.DataFrame({"x": pl.Series(HOSTILE, dtype=pl.Float64)})
    trusted, local = summarize(engine(frame), STUDY, value="x")
    assert trusted == STUDY.summarize_trusted(np.array(HOSTILE, object))
    assert trusted is not None
    assert trusted.rejected == 5
    assert local is None


def test_random_values_give_the_same_bits_on_every_engine(engine: Callable[[pl.DataFrame], Any]) -> None:
    x = np.random.default_rng(0).normal(100, 400, 50_000)
    assert summarize(engine(pl.DataFrame({"x": x})), STUDY, value="x").trusted == STUDY.summarize_trusted(x)


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int64, pl.UInt16, pl.Float32, pl.Decimal(10, 2)])
def test_every_numeric_type_is_a_value(engine: Callable[[pl.DataFrame], Any], dtype: Any) -> None:  # noqa: ANN401
    frame = pl.DataFrame({"x": pl.Series([1, 2, 100], dtype=dtype)})
    assert summarize(engine(frame), STUDY, value="x").trusted == STUDY.summarize_trusted([1, 2, 100])


def test_integers_beyond_exact_floats(engine: Callable[[pl.DataFrame], Any]) -> None:
    wide = MeanStudy("x", bounds=(0, 2.0**60), epsilon=0.5)
    values = np.array([2**53 + 1, 2**59 + 12345, 2**60 - 1], np.int64)
    assert summarize(engine(pl.DataFrame({"x": values})), wide, value="x").trusted == wide.summarize_trusted(values)


def test_both_groups_in_one_table(engine: Callable[[pl.DataFrame], Any]) -> None:
    codes = STUDY.randomize(np.linspace(0, 1000, 5000), random_state=1)
    frame = pl.DataFrame(
        {
            "x": pl.Series([1.0, 2.0, None, float("nan")] + [None] * 5000, dtype=pl.Float64),
            "code": pl.Series([None] * 4 + codes.tolist(), dtype=pl.Int64),
        }
    )
    trusted, local = summarize(engine(frame), STUDY, value="x", report="code")
    assert trusted is not None
    assert (trusted.count, trusted.rejected) == (2, 2)
    assert local == STUDY.summarize_local(codes.codes)  # a plain table ties its reports to nothing
    estimate = STUDY.estimate(trusted=trusted, local=local, random_state=1)
    assert estimate.n_local == 5000


def test_codes_that_are_none_are_counted_or_refused(engine: Callable[[pl.DataFrame], Any]) -> None:
    frame = pl.DataFrame({"code": [3] * 995 + [256, -1, 999, 300, 10**9]})
    local = summarize(engine(frame), STUDY, report="code").local
    assert local is not None
    assert (local.count, local.rejected) == (995, 5)
    with pytest.raises(DataError, match="reports are outside 0 to 255"):
        summarize(engine(pl.DataFrame({"code": [0.5, 1.0]})), STUDY, report="code")


def test_an_empty_table_is_an_empty_summary(engine: Callable[[pl.DataFrame], Any]) -> None:
    frame = pl.DataFrame({"x": pl.Series([], dtype=pl.Float64), "code": pl.Series([], dtype=pl.Int64)})
    trusted, local = summarize(engine(frame), STUDY, value="x", report="code")
    assert trusted == STUDY.summarize_trusted([])
    assert local is not None
    assert local.count == 0


# Files


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_files_are_summarized_without_reading_them_whole(tmp_path: Path, ending: str) -> None:
    x = np.random.default_rng(1).normal(100, 400, 1000)
    frame = pl.DataFrame({"x": x})
    for name, part in (("a", frame[:300]), ("b", frame[300:])):
        path = tmp_path / f"{name}.{ending}"
        write_table(part, path)
    expected = STUDY.summarize_trusted(x)
    assert summarize(str(tmp_path / f"*.{ending}"), STUDY, value="x").trusted == expected
    first, second = (summarize(tmp_path / f"{name}.{ending}", STUDY, value="x").trusted for name in "ab")
    assert first is not None
    assert second is not None
    assert first + second == expected


# Edges


def test_a_row_in_both_groups_is_refused(engine: Callable[[pl.DataFrame], Any]) -> None:
    with pytest.raises(DataError, match="1 row has both a value and a report"):
        summarize(engine(pl.DataFrame({"x": [1.0, None], "code": [3, 4]})), STUDY, value="x", report="code")


def test_wrong_columns_are_named(engine: Callable[[pl.DataFrame], Any]) -> None:
    table = engine(pl.DataFrame({"minutes": [1.0], "name": ["a"]}))
    with pytest.raises(DataError, match="no column 'minuts'. Did you mean 'minutes'"):
        summarize(table, STUDY, value="minuts")
    with pytest.raises(DataError, match="no column 'q'. It has 'minutes', 'name'"):
        summarize(table, STUDY, report="q")
    with pytest.raises(DataError, match="Column 'name' must hold numbers"):
        summarize(table, STUDY, value="name")


def test_other_mistakes_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="^value must be the name of a column"):
        summarize(pd.DataFrame({"x": [1.0]}), STUDY)
    with pytest.raises(DataError, match="table must be a dataframe"):
        summarize(5, STUDY, value="x")
    with pytest.raises(DataError, match="There is no file"):
        summarize(tmp_path / "no.csv", STUDY, value="x")
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(MissingExtraError, match=r'pip install "hybriddp\[tables\]"'):
        summarize(5, STUDY, value="x")


# Reports with Laplace noise

LAPLACE = MeanStudy("x", bounds=(-60, 1440), epsilon=0.01, channel="laplace")


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64])
def test_laplace_reports_are_summed_to_the_last_bit_on_every_engine(
    engine: Callable[[pl.DataFrame], Any],
    dtype: Any,  # noqa: ANN401
) -> None:
    least, most = LAPLACE.reports_between
    drawn = LAPLACE.randomize(np.linspace(-60, 1440, 3000), random_state=1).tolist()
    reports = [*drawn, least, most, -1, 0, *[most] * 500]
    frame = pl.DataFrame({"report": pl.Series([None, *reports, least - 1, most + 1], dtype=dtype)})
    local = summarize(engine(frame), LAPLACE, report="report").local
    assert local == LaplaceSummary(LAPLACE.digest, len(reports), sum(reports), 2)
    with pytest.raises(DataError, match="reports are outside"):
        summarize(engine(pl.DataFrame({"report": [0.5, 1.0]})), LAPLACE, report="report")
