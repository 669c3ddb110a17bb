"""Counting bins and reports: the same integers on every engine as from arrays."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hybriddp.distribution import BinCounts, DistributionStudy, PatternCounts
from hybriddp.errors import DataError, ProtocolError
from hybriddp.mean import MeanStudy
from hybriddp.tables import Summaries, simulate_local, summarize, summarize_both
from hybriddp.tables.distribution.query import DistributionTally
from hybriddp.tables.report_files import write_table

Engine = Callable[[pl.DataFrame], Any]

UNEVEN = np.concatenate([np.linspace(-5, -1, 100), np.linspace(-0.5, 300, 155)])
STUDIES = {
    "equal": DistributionStudy("load", bounds=(-5, 300), epsilon=1),
    "log": DistributionStudy("load", bounds=(-5, 300), epsilon=1, scale="log"),
    "edges": DistributionStudy("load", bounds=(-5, 300), epsilon=1, scale=UNEVEN.tolist()),
}
STUDY = STUDIES["log"]
HOSTILE = [-5.0, 300.0, -5.0000001, 300.0000001, -4.9999999, 299.9999999, 0.0, -0.0, 1e308, -1e308, 5e-324,
           float("nan"), float("inf"), float("-inf"), None]  # fmt: skip


def _around_cuts(study: DistributionStudy) -> list[float | None]:
    """Values at every cut, and the nearest floats on both sides of where rounding decides."""
    middle = study.grid.values(np.clip(study.bins.cuts, 0, 1 << 24)) - study.grid.width / (1 << 25)
    near = np.concatenate([middle, np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf), study.bins.edges])
    return [*near.tolist(), *HOSTILE]


@pytest.mark.parametrize("scale", STUDIES)
def test_values_at_and_around_every_cut_are_counted_as_numpy_does(engine: Engine, scale: str) -> None:
    study = STUDIES[scale]
    values = _around_cuts(study)
    frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)})
    trusted, local = summarize(engine(frame), study, value="x")
    assert trusted == study.summarize_trusted(np.array(values, float))
    assert trusted is not None
    assert trusted.rejected == 4
    assert min(trusted.counts) > 0
    assert local is None


@pytest.mark.repeated
@pytest.mark.parametrize("scale", STUDIES)
def test_a_table_of_both_groups_has_the_same_bins(engine: Engine, scale: str) -> None:
    """Beside other columns an engine counts by itself, in other ways than a column of values alone."""
    study = STUDIES[scale]
    values = _around_cuts(study)
    frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64), "trusts": [True] * len(values)})
    trusted = summarize(engine(frame), study, value="x", trusted_if="trusts").trusted
    assert trusted == study.summarize_trusted(np.array(values, float))


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt64, pl.Float32, pl.Decimal(10, 2)])
def test_every_numeric_type_is_a_value(engine: Engine, dtype: Any) -> None:  # noqa: ANN401
    frame = pl.DataFrame({"x": pl.Series([3, 0, 100, 77, None], dtype=dtype)})
    assert summarize(engine(frame), STUDY, value="x").trusted == STUDY.summarize_trusted([3, 0, 100, 77, np.nan])


@pytest.mark.repeated
def test_values_beside_reports_are_counted_as_from_arrays(engine: Engine) -> None:
    values = np.random.default_rng(0).gamma(2.0, 20.0, 3000)
    reports = STUDY.randomize(values[100:], random_state=1)
    bad = [-1, STUDY.channel.n_codes, 2**60]
    frame = pl.DataFrame(
        {
            "x": pl.Series([*values[:100].tolist(), None] + [None] * 2903, dtype=pl.Float64),
            "code": pl.Series([None] * 101 + reports.tolist() + bad, dtype=pl.Int64),
        }
    )
    trusted, local = summarize(engine(frame), STUDY, value="x", report="code")
    assert trusted == STUDY.summarize_trusted([*values[:100].tolist(), np.nan])
    assert local == STUDY.summarize_local(np.array([*reports.tolist(), *bad]))
    assert STUDY.estimate(trusted=trusted, local=local, random_state=0).n_local == 2900


@pytest.mark.repeated
def test_groups_users_and_consent(engine: Engine) -> None:
    values = np.random.default_rng(0).gamma(2.0, 20.0, 606)
    codes = STUDY.randomize(values[6:], random_state=1).tolist()
    frame = pl.DataFrame(
        {
            "x": pl.Series(values[:6].tolist() + [None] * 600, dtype=pl.Float64),
            "code": pl.Series([None] * 6 + codes, dtype=pl.Int64),
            "consent": ["yes"] * 6 + ["no"] * 600,
            "country": ["DE", "FR"] * 303,
            "user": range(606),
        }
    )
    how: dict[str, Any] = {"value": "x", "report": "code", "trusted_if": "consent", "user": "user"}
    found = summarize(engine(frame), STUDY, **how, group="country", keys=["DE", "FR"])
    for i, key in enumerate(("DE", "FR")):
        part = STUDY.part("country", key)
        expected = part.summarize_trusted(values[i:6:2]), part.summarize_local(np.array(codes[i::2]))
        assert found[key] == expected
    assert set(STUDY.estimate_parts("country", found, random_state=1)) == {"DE", "FR"}


def test_reports_are_simulated_for_those_who_do_not_trust(engine: Engine) -> None:
    values = np.random.default_rng(0).gamma(2.0, 20.0, 800)
    frame = pl.DataFrame({"x": values, "trusts": [1, 0, 0, 0] * 200})
    trusted, local = _whole(simulate_local(engine(frame), STUDY, value="x", trusted_if="trusts", random_state=1))
    assert trusted == STUDY.summarize_trusted(values[::4])
    assert isinstance(local, PatternCounts)
    assert (local.count, local.seeded, local.tied) == (600, True, True)


def _whole(found: Any) -> tuple[BinCounts | None, Any]:  # noqa: ANN401
    assert isinstance(found, Summaries)
    return found.trusted, found.local


# Files


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_files_are_counted(tmp_path: Path, ending: str) -> None:
    values = np.random.default_rng(0).gamma(2.0, 20.0, 150)
    write_table(pl.DataFrame({"x": values[:50]}), tmp_path / f"raw.{ending}")
    reports = STUDY.randomize(values[50:], random_state=3)
    path = tmp_path / f"reports.{ending}"
    write_table(pl.DataFrame({"code": reports.codes}), path, study=STUDY.digest, seeded=True)
    trusted, local = _whole(summarize_both(tmp_path / f"raw.{ending}", path, STUDY, value="x", report="code"))
    assert (trusted, local) == (STUDY.summarize_trusted(values[:50]), STUDY.summarize_local(reports))
    assert local.tied


def test_reports_of_other_edges_are_refused(tmp_path: Path) -> None:
    write_table(pl.DataFrame({"code": [1, 2]}), tmp_path / "reports.parquet", study=STUDIES["equal"].digest)
    with pytest.raises(ProtocolError, match="name, bounds, epsilon, scale, channel and min_group_size must all be"):
        summarize(tmp_path / "reports.parquet", STUDY, report="code")


def test_users_are_told_apart_over_two_tables() -> None:
    raw = pl.DataFrame({"x": [3.0, 40.0], "user": ["a", "b"]})
    reports = pl.DataFrame({"code": [0, 1], "user": ["c", "d"]})
    found = summarize_both(raw, reports, STUDY, value="x", report="code", user="user")
    assert found == (STUDY.summarize_trusted([3.0, 40.0]), STUDY.summarize_local(np.array([0, 1])))
    with pytest.raises(DataError, match="1 user is in both groups"):
        summarize_both(
            raw, reports.with_columns(user=pl.Series(["a", "d"])), STUDY, value="x", report="code", user="user"
        )


@pytest.mark.repeated
def test_nobody_is_in_both_groups(engine: Engine) -> None:
    frame = pl.DataFrame(
        {
            "x": pl.Series([3.0, 40.0, None, None], dtype=pl.Float64),
            "code": pl.Series([None, None, 0, 1], dtype=pl.Int64),
            "user": ["ada", "bob", "ada", "cy"],
        }
    )
    how: dict[str, Any] = {"value": "x", "report": "code"}
    with pytest.raises(DataError, match="1 user is in both groups by column 'user'") as caught:
        summarize(engine(frame), STUDY, **how, user="user")
    assert "ada" not in str(caught.value)
    fine = summarize(engine(frame.with_columns(user=pl.Series(["ada", "bob", "dan", "cy"]))), STUDY, **how, user="user")
    assert fine == summarize(frame, STUDY, **how)
    one_row = pl.DataFrame({"x": [3.0, 40.0], "code": [5, None]})
    with pytest.raises(DataError, match="1 row has both a value and a report: nobody is in both groups"):
        summarize(engine(one_row), STUDY, **how)


def test_nobody_reports_for_a_mean_and_for_a_distribution() -> None:
    """Two reports cost ε twice. Their studies tell them apart, and if nothing is tied, their users do."""
    mean = MeanStudy("load", bounds=(-5, 300), epsilon=1)
    codes = [*STUDY.randomize([3.0, 40.0], random_state=1).tolist(), *mean.randomize([3.0], random_state=1).tolist()]
    frame = pl.DataFrame({"code": codes, "user": ["a", "b", "a"]})
    digests = pl.Series([f"{study.digest} seeded" for study in (STUDY, STUDY, mean)])
    with pytest.raises(ProtocolError, match="another study"):
        summarize(frame.with_columns(study=digests), STUDY, report="code")
    with pytest.raises(DataError, match="1 user has more than one row"):
        summarize(frame, STUDY, report="code", user="user")


# Edges


def test_an_empty_table_is_an_empty_summary(engine: Engine) -> None:
    frame = pl.DataFrame({"x": pl.Series([], dtype=pl.Float64), "code": pl.Series([], dtype=pl.Int64)})
    trusted, local = summarize(engine(frame), STUDY, value="x", report="code")
    assert trusted == STUDY.summarize_trusted([])
    assert local is not None
    assert local.count == 0
    assert summarize(engine(frame), STUDY, value="x").trusted == STUDY.summarize_trusted([])


def test_columns_of_another_type_are_named(engine: Engine) -> None:
    with pytest.raises(DataError, match="Column 'x' must hold numbers, but holds String"):
        summarize(engine(pl.DataFrame({"x": ["3"]})), STUDY, value="x")
    with pytest.raises(DataError, match="no column 'y'"):
        summarize(engine(pl.DataFrame({"x": [3.0]})), STUDY, value="y")


def test_reports_of_something_else_and_rows_in_both_groups_are_refused(engine: Engine) -> None:
    with pytest.raises(DataError, match="2 of 3 reports are outside 0 to 1995; they probably belong to another study"):
        summarize(engine(pl.DataFrame({"code": [0, 5000, 6000]})), STUDY, report="code")
    with pytest.raises(DataError, match="1 row has both a value and a report"):
        summarize(engine(pl.DataFrame({"x": [3.0], "code": [3]})), STUDY, value="x", report="code")


def test_objects_of_pandas_are_numbers() -> None:
    frame = pd.DataFrame({"x": pd.Series([3, None, 4.5, np.nan], dtype=object)})
    assert summarize(frame, STUDY, value="x").trusted == STUDY.summarize_trusted([3, np.nan, 4.5, np.nan])


def test_a_tally_shows_no_counts() -> None:
    tally = DistributionTally()
    tally.add({"rows": 4711, "count": 4711, "item": 3})
    assert tally.bins[3] == 4711
    assert "bins" not in repr(tally)
