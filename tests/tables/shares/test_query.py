"""Counting items and codes: the same integers on every engine as from arrays."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hybriddp.channels import LocalHashing
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.shares import FrequencyStudy, LocalCounts, TrustedCounts
from hybriddp.shares.oracles import UnaryOracle
from hybriddp.tables import CsvFormat, GroupedSummaries, Summaries, simulate_local, summarize, summarize_both
from hybriddp.tables.report_files import write_table
from hybriddp.tables.shares import query
from hybriddp.tables.shares.query import FrequencyTally

Engine = Callable[[pl.DataFrame], Any]

FRUIT = FrequencyStudy("fruit", categories=["apple", "pear", "quince 'x'", "çilek", "100 %"], epsilon=1)
HOSTILE = ["apple", "apple", "Apple", " apple", "apple ", "", None, "çilek", "quince 'x'", "100 %", "100_%", "NA",
           "nan", "(other)", "pear", None, "\\", "p%", "pear\n", "🍐", "apple"]  # fmt: skip
NUMBERS = FrequencyStudy("number", categories=[3, -7, 0, 2**53 - 1, 12], epsilon=1)
INTEGERS = [3, 3, -7, 0, None, 2**53 - 1, 2**53, -(2**53), 2**63 - 1, -(2**63), 12, 13, 3, None]


def with_other(study: FrequencyStudy) -> FrequencyStudy:
    return FrequencyStudy(study.name, categories=study.categories, epsilon=1, other=True)


def whole(found: Summaries[Any, Any] | GroupedSummaries[Any, Any]) -> tuple[TrustedCounts | None, LocalCounts | None]:
    assert isinstance(found, Summaries)
    return found.trusted, found.local


# The same integers everywhere


def check_texts(engine: Engine, *, other: bool) -> None:
    study = with_other(FRUIT) if other else FRUIT
    frame = pl.DataFrame({"item": pl.Series(HOSTILE, dtype=pl.String)})
    trusted, local = summarize(engine(frame), study, value="item")
    assert trusted == study.summarize_trusted(HOSTILE)
    assert trusted is not None
    assert (trusted.counts[:5], trusted.missing, trusted.outside) == ((3, 1, 1, 1, 1), 2, 0 if other else 12)
    assert local is None


def check_integers(engine: Engine, *, other: bool) -> None:
    study = with_other(NUMBERS) if other else NUMBERS
    frame = pl.DataFrame({"item": pl.Series(INTEGERS, dtype=pl.Int64)})
    # What is beyond 2^53 is outside in any case, whether an engine has integers with missing ones or floats.
    assert summarize(engine(frame), study, value="item").trusted == study.summarize_trusted(INTEGERS)


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("compared", [query.MOST_COMPARED, 0])
def test_hostile_items_are_counted_as_from_a_list(
    engine: Engine, other: bool, compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query, "MOST_COMPARED", compared)  # 0: what a large domain does
    check_texts(engine, other=other)
    check_integers(engine, other=other)


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt64, pl.Float32, pl.Float64, pl.Decimal(10, 2)])
def test_integers_may_be_of_every_numeric_type(engine: Engine, dtype: Any) -> None:  # noqa: ANN401
    frame = pl.DataFrame({"item": pl.Series([3, 12, 3, 9, None], dtype=dtype)})
    assert summarize(engine(frame), NUMBERS, value="item").trusted == NUMBERS.summarize_trusted([3, 12, 3, 9, None])


def test_categorical_texts_are_texts(engine: Engine) -> None:
    frame = pl.DataFrame({"item": pl.Series(["pear", "apple", "pear", None, "fig"], dtype=pl.Categorical)})
    expected = FRUIT.summarize_trusted(["pear", "apple", "pear", None, "fig"])
    assert summarize(engine(frame), FRUIT, value="item").trusted == expected


CHANNELS = {2: "RandomizedResponse", 12: "ChoiceResponse", 20: "UnaryEncoding", 3000: "LocalHashing"}


@pytest.mark.repeated
@pytest.mark.parametrize("k", CHANNELS)
def test_reports_of_every_oracle_are_counted_as_from_an_array(engine: Engine, k: int) -> None:
    study = FrequencyStudy("item", categories=list(range(k)), epsilon=1)
    assert type(study.channel).__name__ == CHANNELS[k]
    codes = study.randomize(np.random.default_rng(0).integers(0, k, 3000), random_state=1)
    bad = [-1, study.oracle.n_codes, 2**60]
    frame = pl.DataFrame(
        {
            "item": pl.Series([0, 1, 1, None] + [None] * 3003, dtype=pl.Int64),
            "code": pl.Series([None] * 4 + codes.tolist() + bad, dtype=pl.Int64),
        }
    )
    trusted, local = summarize(engine(frame), study, value="item", report="code")
    assert local == study.summarize_local(np.array([*codes.tolist(), *bad]))
    assert trusted == study.summarize_trusted([0, 1, 1, None])
    found = study.estimate(trusted=trusted, local=local, random_state=0)
    assert found.n_local == 3000


@pytest.mark.repeated
def test_reports_may_be_floats(engine: Engine) -> None:
    study = FrequencyStudy("item", categories=list(range(50)), epsilon=1)
    assert isinstance(study.oracle, UnaryOracle)
    codes = study.randomize(np.arange(50).repeat(20), random_state=1)
    frame = pl.DataFrame({"code": pl.Series([*codes.tolist(), None, float("nan")], dtype=pl.Float64)})
    assert summarize(engine(frame), study, report="code").local == study.summarize_local(codes.codes)


def test_groups_users_and_consent(engine: Engine) -> None:
    codes = FRUIT.randomize(["apple"] * 300 + ["pear"] * 300, random_state=1).tolist()
    frame = pl.DataFrame(
        {
            "item": pl.Series(["apple", "pear", "fig", None, "pear", "pear"] + [None] * 600, dtype=pl.String),
            "code": pl.Series([None] * 6 + codes, dtype=pl.Int64),
            "consent": ["yes"] * 6 + ["no"] * 600,
            "country": ["DE", "FR"] * 303,
            "user": range(606),
        }
    )
    how: dict[str, Any] = {"value": "item", "report": "code", "trusted_if": "consent", "user": "user"}
    found = summarize(engine(frame), FRUIT, **how, group="country", keys=["DE", "FR"])
    for key, items, mine in (("DE", ["apple", "fig", "pear"], codes[::2]), ("FR", ["pear", None, "pear"], codes[1::2])):
        part = FRUIT.part("country", key)
        assert found[key] == (part.summarize_trusted(items), part.summarize_local(np.array(mine)))
    shares = FRUIT.estimate_parts("country", found, random_state=1)
    assert set(shares) == {"DE", "FR"}


def test_reports_are_simulated_for_those_who_do_not_trust(engine: Engine) -> None:
    items = ["apple", "pear", "fig", None] * 200
    frame = pl.DataFrame({"item": pl.Series(items, dtype=pl.String), "trusts": [1, 0, 0, 0, 0, 0, 0, 0] * 100})
    for study, n_local in ((FRUIT, 300), (with_other(FRUIT), 500)):
        trusted, local = whole(simulate_local(engine(frame), study, value="item", trusted_if="trusts", random_state=1))
        assert trusted is not None
        assert local is not None
        assert trusted.counts[:2] == (100, 0)
        assert (local.count, local.seeded, local.rejected) == (n_local, True, 0)
    numbers = pl.DataFrame({"item": [3, 12, 5] * 100, "trusts": [1, 0, 0] * 100})
    _, local = whole(simulate_local(engine(numbers), NUMBERS, value="item", trusted_if="trusts"))
    assert local is not None
    assert local.count == 100


# Files


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_files_are_counted(tmp_path: Path, ending: str) -> None:
    items = ["apple", "pear", "fig", "100 %", "çilek", None] * 20
    write_table(pl.DataFrame({"item": items}), tmp_path / f"raw.{ending}")
    reports = FRUIT.randomize(["pear"] * 50, random_state=3)
    path = tmp_path / f"reports.{ending}"
    write_table(pl.DataFrame({"code": reports.codes}), path, study=FRUIT.digest, seeded=True)
    trusted, local = whole(summarize_both(tmp_path / f"raw.{ending}", path, FRUIT, value="item", report="code"))
    assert (trusted, local) == (FRUIT.summarize_trusted(items), FRUIT.summarize_local(reports))
    assert local is not None
    assert local.tied
    numbers = [3, 12, 3, None, 99]
    write_table(pl.DataFrame({"item": numbers}), tmp_path / f"numbers.{ending}")
    trusted, _ = summarize(tmp_path / f"numbers.{ending}", NUMBERS, value="item")
    assert trusted == NUMBERS.summarize_trusted(numbers)


def test_reports_of_another_study_are_refused(tmp_path: Path) -> None:
    write_table(pl.DataFrame({"code": [1, 2]}), tmp_path / "reports.parquet", study=NUMBERS.digest)
    with pytest.raises(ProtocolError, match="name, categories, other, epsilon, channel and min_group_size"):
        summarize(tmp_path / "reports.parquet", FRUIT, report="code")


def test_users_are_told_apart_over_two_tables() -> None:
    raw = pl.DataFrame({"item": ["apple", "fig"], "user": ["a", "b"]})
    reports = pl.DataFrame({"code": [0, 1], "user": ["c", "d"]})
    found = summarize_both(raw, reports, FRUIT, value="item", report="code", user="user")
    assert found == (FRUIT.summarize_trusted(["apple", "fig"]), FRUIT.summarize_local(np.array([0, 1])))
    twice = reports.with_columns(user=pl.lit("a"))
    with pytest.raises(DataError, match="1 user is in both groups"):
        summarize_both(raw, twice, FRUIT, value="item", report="code", user="user")
    whole = pl.DataFrame({"item": [3, 4], "user": [1, 2]})
    trusted, _ = summarize_both(
        whole, pl.DataFrame({"code": [0], "user": [3]}), NUMBERS, value="item", report="code", user="user"
    )
    assert trusted == NUMBERS.summarize_trusted([3, 4])


# Objects of pandas, and edges


def test_objects_of_pandas_are_items() -> None:
    texts = pd.DataFrame({"item": pd.Series(["apple", None, np.nan, pd.NA, "fig", "pear"], dtype=object)})
    assert summarize(texts, FRUIT, value="item").trusted == FRUIT.summarize_trusted(texts["item"])
    mixed = [3, 12.0, None, np.int64(-7), 2**70, -(2**70), pd.NA, 5]
    numbers = pd.DataFrame({"item": pd.Series(mixed, dtype=object)})
    trusted = summarize(numbers, NUMBERS, value="item").trusted
    assert trusted == NUMBERS.summarize_trusted(mixed)
    assert trusted is not None
    assert (trusted.missing, trusted.outside) == (2, 3)


@pytest.mark.parametrize("wrong", [["apple", 5], ["apple", b"pear"], [["apple"], "pear"], ["apple", True]])
def test_objects_that_are_no_items_are_refused(wrong: list[Any]) -> None:
    frame = pd.DataFrame({"item": pd.Series(wrong, dtype=object)})
    with pytest.raises(DataError, match="items must be texts, as the categories are, got one of type"):
        summarize(frame, FRUIT, value="item")
    with pytest.raises(DataError, match="items must be texts, as the categories are, got one of type"):
        FRUIT.summarize_trusted(wrong)


def test_a_column_without_any_item_is_all_missing(engine: Engine) -> None:
    frame = pl.DataFrame({"item": pl.Series([None, None], dtype=pl.Float64)})
    assert summarize(engine(frame), FRUIT, value="item").trusted == FRUIT.summarize_trusted([None, None])
    with pytest.raises(DataError, match="Column 'item' must hold texts, as the categories are"):
        summarize(engine(pl.DataFrame({"item": [1.5, None]})), FRUIT, value="item")


def test_an_empty_table_is_an_empty_summary(engine: Engine) -> None:
    frame = pl.DataFrame({"item": pl.Series([], dtype=pl.String), "code": pl.Series([], dtype=pl.Int64)})
    trusted, local = summarize(engine(frame), FRUIT, value="item", report="code")
    assert trusted == FRUIT.summarize_trusted([])
    assert local is not None
    assert local.count == 0


def test_columns_of_another_type_are_named(engine: Engine) -> None:
    with pytest.raises(DataError, match="Column 'item' must hold texts, as the categories are, but holds Boolean"):
        summarize(engine(pl.DataFrame({"item": [True, False]})), FRUIT, value="item")
    with pytest.raises(DataError, match="Column 'item' must hold integers, as the categories are, but holds String"):
        summarize(engine(pl.DataFrame({"item": ["3"]})), NUMBERS, value="item")
    for wrong in (3.5, float("inf")):
        with pytest.raises(DataError, match="Column 'item' must hold integers"):
            summarize(engine(pl.DataFrame({"item": [3.0, wrong]})), NUMBERS, value="item")


def test_codes_of_something_else_and_rows_in_both_groups_are_refused(engine: Engine) -> None:
    with pytest.raises(DataError, match="2 of 3 reports are outside 0 to 4; they probably belong to another study"):
        summarize(engine(pl.DataFrame({"code": [0, 5, 6]})), FRUIT, report="code")
    with pytest.raises(DataError, match="1 row has both a value and a report"):
        summarize(engine(pl.DataFrame({"item": ["apple"], "code": [3]})), FRUIT, value="item", report="code")


def test_a_study_of_another_kind_is_refused() -> None:
    wrong: Any = LocalHashing(epsilon=1)
    with pytest.raises(ParameterError, match="study must be a MeanStudy, a FrequencyStudy, a HeavyHitterStudy or"):
        summarize(pl.DataFrame({"x": [1]}), wrong, value="x")


def test_a_tally_shows_no_items() -> None:
    tally = FrequencyTally(column="item")
    tally.add({"rows": 1, "count": 1, "item": "HIV-positive"})
    assert "HIV" not in repr(tally)


def test_empty_cells_of_text_files_are_missing_and_others_are_items(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text("item;x\n apple ;1\n;2\nNA;3\n", encoding="utf-8")
    trusted = summarize(path, with_other(FRUIT), value="item", csv=CsvFormat(separator=";")).trusted
    assert trusted is not None
    assert (trusted.counts, trusted.missing) == ((1, 0, 0, 0, 0, 1), 1)


def test_summaries_of_shards_add_up_group_by_group() -> None:
    study = FrequencyStudy("x", categories=["a", "b"], epsilon=1)
    table = pl.DataFrame({"item": ["a", "b", "a", None, None], "code": [None, None, None, 1, 0]})
    whole = summarize(table, study, value="item", report="code")
    shards = [summarize(part, study, value="item", report="code") for part in (table[:2], table[2:])]
    for added in (shards[0] + shards[1], sum(shards)):
        assert isinstance(added, Summaries)
        assert (added.trusted, added.local) == (whole.trusted, whole.local)
    alone = summarize(table[:3], study, value="item") + summarize(table[3:], study, report="code")
    assert alone.trusted is not None
    assert (alone.trusted.counts, alone.local) == ((2, 1), whole.local)
    pair = (1, 2)
    for wrong in (lambda: whole + pair, lambda: pair + whole, lambda: whole + None, lambda: 1 + whole):
        with pytest.raises(TypeError, match="Summaries can be added to Summaries"):
            wrong()
