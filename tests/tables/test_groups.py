from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from hybriddp.errors import DataError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.tables import GroupedSummaries, summarize

STUDY = MeanStudy("x", bounds=(-60, 1440), epsilon=0.5)
COUNTRIES = ["DE", "other", "ÖS\u0301", "FR"]
Engine = Callable[[pl.DataFrame], Any]


@cache  # tables do not change
def _users(*countries: str | None) -> pl.DataFrame:
    """Users of countries, a tenth of them trusted; some values and reports are bad."""
    n = 4000
    rng = np.random.default_rng(0)
    x = rng.normal(300, 400, n)
    x[rng.random(n) < 0.01] = np.nan
    x[rng.random(n) < 0.01] = np.inf
    codes = STUDY.randomize(np.full(n, 300.0), random_state=1).astype(int)
    codes[rng.random(n) < 0.005] = 999
    trusted = rng.random(n) < 0.1
    return pl.DataFrame(
        {
            "x": [float(v) if t else None for v, t in zip(x, trusted, strict=True)],
            "code": [None if t else int(c) for c, t in zip(codes, trusted, strict=True)],
            "country": pl.Series([countries[i] for i in rng.integers(0, len(countries), n)], dtype=pl.String),
        }
    )


@cache
def _one_by_one(keys: tuple[Any, ...], countries: tuple[str | None, ...]) -> GroupedSummaries:
    """Summaries by country in the slow way: a table per key."""
    return _parts(_users(*countries), keys, "country")


@cache
def _years() -> pl.DataFrame:
    return _users("a").with_columns(year=pl.Series(np.arange(4000) % 5, dtype=pl.Int64))


@cache
def _year_by_year(keys: tuple[Any, ...]) -> GroupedSummaries:
    return _parts(_years(), keys, "year")


def _parts(users: pl.DataFrame, keys: tuple[Any, ...], by: str) -> GroupedSummaries:
    parts = {
        key: summarize(users.filter(pl.col(by) == key), STUDY.part(by, key), value="x", report="code") for key in keys
    }
    other = len(users) - sum(len(users.filter(pl.col(by) == key)) for key in keys)
    return GroupedSummaries(by, parts, other)


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_every_group_has_the_summaries_of_its_own_rows(engine: Engine, dtype: Any) -> None:
    countries = (*COUNTRIES, "Narnia", "", None)
    keys = [*reversed(COUNTRIES), "nobody"]
    table = engine(_users(*countries).with_columns(pl.col("country").cast(dtype)))
    result = summarize(table, STUDY, value="x", report="code", group="country", keys=keys)
    assert result == _one_by_one(tuple(keys), countries)
    assert list(result) == keys
    assert len(result) == 5
    assert result.other > 1000
    trusted, local = result["FR"]
    assert min(trusted.count, trusted.missing, local.count, local.rejected) > 0
    empty = result["nobody"]
    assert empty.trusted == STUDY.part("country", "nobody").summarize_trusted([])
    assert empty.local == STUDY.part("country", "nobody").summarize_local(np.empty(0, int))


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt16, pl.Int64])
def test_groups_can_be_integers(engine: Engine, dtype: Any) -> None:
    keys = [3, 0, 2**53 + 1, -7]
    result = summarize(engine(_years().cast({"year": dtype})), STUDY, value="x", report="code", group="year", keys=keys)
    assert result == _year_by_year(tuple(keys))
    assert result.other == 2400


def test_large_integers_are_different_keys(engine: Engine) -> None:
    table = engine(pl.DataFrame({"x": [1.0, 2.0, 3.0], "id": [2**53, 2**53 + 1, 5]}))
    result = summarize(table, STUDY, value="x", group="id", keys=[2**53 + 1])
    assert result[2**53 + 1].trusted == STUDY.part("id", 2**53 + 1).summarize_trusted([2.0])
    assert result.other == 2


def test_one_column_is_enough(engine: Engine) -> None:
    users = _users("DE", "FR")
    values = summarize(engine(users), STUDY, value="x", group="country", keys=["DE", "FR"])
    reports = summarize(engine(users), STUDY, report="code", group="country", keys=["DE", "FR"])
    both = _one_by_one(("DE", "FR"), ("DE", "FR"))
    for key in ("DE", "FR"):
        assert values[key].local is None
        assert reports[key].trusted is None
        assert reports[key].local == both[key].local
        trusted, expected = values[key].trusted, both[key].trusted
        assert (trusted.count, trusted.sums) == (expected.count, expected.sums)


def test_an_empty_table_has_empty_groups(engine: Engine) -> None:
    result = summarize(engine(_users("DE")[:0]), STUDY, value="x", report="code", group="country", keys=["DE"])
    assert result == _parts(_users("DE")[:0], ("DE",), "country")
    assert result.other == 0


def test_the_parts_can_be_estimated_and_the_whole_cannot() -> None:
    result = summarize(_users("DE", "FR"), STUDY, value="x", report="code", group="country", keys=["DE", "FR"])
    part = STUDY.part("country", "DE")
    trusted, local = result["DE"]
    assert part.estimate(trusted=trusted, local=local, random_state=0).n_local > 1000
    digests = {summary.study for pair in result.values() for summary in pair if summary is not None}
    assert len(digests) == 2
    assert STUDY.digest not in digests


# Mistakes


@pytest.mark.parametrize("country", ["DE", "XX"])
def test_a_row_in_both_groups_is_refused_in_any_group(engine: Engine, country: str) -> None:
    table = engine(pl.DataFrame({"x": [1.0, None], "code": [3, 4], "country": [country, "DE"]}))
    with pytest.raises(DataError, match="1 row has both a value and a report"):
        summarize(table, STUDY, value="x", report="code", group="country", keys=["DE"])


def test_keys_of_another_kind_than_the_column_are_refused(engine: Engine) -> None:
    table = engine(pl.DataFrame({"x": [1.0], "country": ["DE"], "year": [2001], "share": [0.5]}))
    with pytest.raises(DataError, match="Column 'country' must hold integers .*, but holds String"):
        summarize(table, STUDY, value="x", group="country", keys=[1])
    for keys in (["this year"], ["02001"]):
        with pytest.raises(DataError, match="Column 'year' must hold texts.*, but holds Int64"):
            summarize(table, STUDY, value="x", group="year", keys=keys)
    with pytest.raises(DataError, match="Column 'share' must hold integers .*, but holds Float64"):
        summarize(table, STUDY, value="x", group="share", keys=[1])
    with pytest.raises(DataError, match="no column 'county'. Did you mean 'country'"):
        summarize(table, STUDY, value="x", group="county", keys=["DE"])


def test_texts_of_integers_name_the_keys_of_a_column_of_integers(engine: Engine) -> None:
    table = engine(pl.DataFrame({"x": [1.0, 2.0, 3.0], "year": [2001, 2002, -7]}))
    result = summarize(table, STUDY, value="x", group="year", keys=["2002", "-7", "0"])
    assert [part.trusted.count for part in result.values() if part.trusted] == [1, 1, 0]
    assert result.other == 1


@pytest.mark.parametrize("keys", [5, [], "DE", ["DE", "DE"], ["DE", 1], [True], [1.0], [None], [2**63]])
def test_keys_must_be_public_names(keys: Any) -> None:
    with pytest.raises(ParameterError, match="^keys must be all texts or all integers"):
        summarize(pl.DataFrame({"x": [1.0], "k": ["DE"]}), STUDY, value="x", group="k", keys=keys)


def test_group_and_keys_come_together() -> None:
    table = pl.DataFrame({"x": [1.0], "k": ["DE"]})
    with pytest.raises(ParameterError, match="^keys must be given exactly if group is"):
        summarize(table, STUDY, value="x", group="k")  # type: ignore[call-overload]
    with pytest.raises(ParameterError, match="^keys must be given exactly if group is"):
        summarize(table, STUDY, value="x", keys=["DE"])  # type: ignore[call-overload]
