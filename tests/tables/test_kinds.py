"""Counting each kind of study in a table: the same integers on every engine as from arrays and lists."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hybriddp.channels import LocalHashing
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import DataError, MissingExtraError, ParameterError, ProtocolError
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.mean import MeanStudy
from hybriddp.shares import FrequencyStudy
from hybriddp.shares.oracle import UnaryOracle
from hybriddp.tables import CsvFormat, Summaries, shares, simulate_local, summarize, summarize_both
from hybriddp.tables.report_files import write_table
from hybriddp.tables.tally import Tally
from tests.refusals import refused

Engine = Callable[[pl.DataFrame], Any]

MEAN = MeanStudy("x", bounds=(-60, 1440), epsilon=0.5)
SCALES: dict[str, Any] = {
    "equal": "equal",
    "log": "log",
    "edges": np.concatenate([np.linspace(-5, -1, 100), np.linspace(-0.5, 300, 155)]).tolist(),
}
BINS = {name: DistributionStudy("load", bounds=(-5, 300), epsilon=1, scale=scale) for name, scale in SCALES.items()}
FRUIT = FrequencyStudy("fruit", categories=["apple", "pear", "quince 'x'", "çilek", "100 %"], other=False, epsilon=1)
NUMBERS = FrequencyStudy("number", categories=[3, -7, 0, 2**53 - 1, 12], other=False, epsilon=1)
ITEMS = HeavyHitterStudy("fruit", epsilon=2, delta=1e-6)


@dataclass(frozen=True)
class Kind:
    """What differs between the kinds: the study, the question of its reports, and values that a table may hold."""

    study: Any
    question: Any
    dtype: Any
    values: list[Any]
    differs: Any  # another study of the kind
    must_agree: str  # what an error names

    @property
    def name(self) -> str:
        return "item" if self.dtype == pl.String else "x"

    def raw(self, values: list[Any], **columns: Any) -> pl.DataFrame:
        return pl.DataFrame({self.name: pl.Series(values, dtype=self.dtype), **columns})

    def both(self, values: list[Any], codes: list[int], **columns: Any) -> pl.DataFrame:
        """Users who trust, and after them those who have sent a code."""
        cells = [*values, *[None] * len(codes)]
        return self.raw(cells, code=pl.Series([*[None] * len(values), *codes], dtype=pl.Int64), **columns)

    @property
    def most(self) -> int:
        """The largest code."""
        return int(getattr(self.question, "reports_between", (0, getattr(self.question, "n_codes", 0) - 1))[1])

    @property
    def answers(self) -> list[Any]:
        """Values that devices send reports for: not those that are no categories."""
        return [value for value in self.values if self.study is not FRUIT or value in FRUIT.categories]

    def codes(self, times: int = 1) -> Any:
        return self.question.randomize(self.answers * times, random_state=1)

    def trusted(self, values: list[Any]) -> Any:
        return self.study.summarize_trusted(values if self.dtype == pl.String else np.array(values, float))

    def local(self, reports: Any) -> Any:
        summarize = getattr(self.question, "summarize_local", None) or self.question.summarize
        return summarize(reports)


LOADS = np.random.default_rng(0).gamma(2.0, 20.0, 40).tolist()
KINDS = [
    Kind(MEAN, MEAN, pl.Float64, LOADS, MeanStudy("y", bounds=(0, 9), epsilon=1),
         "name, .*bounds, .*min_group_size.* must all be the same"),
    Kind(BINS["log"], BINS["log"], pl.Float64, LOADS, BINS["equal"], "scale.* must all be the same"),
    Kind(FRUIT, FRUIT, pl.String, ["apple", "pear", "fig", "100 %", "çilek"] * 8, NUMBERS,
         "categories, other.* must all be the same"),
    Kind(ITEMS, ITEMS.discovery, pl.String, ["apple", "pear", "fig", "a'b", "🍐"] * 8,
         HeavyHitterStudy("fruit", epsilon=2, delta="1e-6", alphabet="digits").discovery,
         "name, epsilon, alphabet.* must all be the same"),
]  # fmt: skip
IDS = ["mean", "distribution", "shares", "items"]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=IDS)


def same(found: Any, *expected: Any) -> bool:
    """Whether summaries are of the same types and say the same."""
    return all(
        one is two or (type(one) is type(two) and one.to_json() == two.to_json())
        for one, two in zip(found, expected, strict=True)
    )


def with_other(study: FrequencyStudy) -> FrequencyStudy:
    return FrequencyStudy(study.name, categories=study.categories, epsilon=1, other=True)


# Hostile values


HALF_UNIT = 1500 / 2**25
FLOATS = [
    0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e308, -1e308, 1440.0, -60.0, np.nextafter(1440.0, 0), np.nextafter(-60.0, 0),
    *(-60 + HALF_UNIT * k for k in (1, 3, 5, 2**20 + 1, 2**25 - 1)),  # ties at half units
    0.1, 1 / 3, 2**53 + 2.0, 123.456789, None, float("nan"), float("inf"), float("-inf"), None,
]  # fmt: skip
BEYOND = [-5.0000001, 300.0000001, -4.9999999, 299.9999999, 0.0, -0.0, 1e308, -1e308, 5e-324,
          float("nan"), float("inf"), float("-inf"), None]  # fmt: skip
TEXTS = ["apple", "apple", "Apple", " apple", "apple ", "", None, "çilek", "quince 'x'", "100 %", "100_%", "NA",
         "nan", "(other)", "pear", None, "\\", "p%", "pear\n", "🍐", "apple"]  # fmt: skip
INTEGERS = [3, 3, -7, 0, None, 2**53 - 1, 2**53, -(2**53), 2**63 - 1, -(2**63), 12, 13, 3, None]
OPEN = ["apple", "Apple", " apple", "", None, "çilek", "a'b", "(other)", "x\ty", "y" * 1001, "z" * 1000, "🍐", None,
        "apple", "NA", "100 %", "\\"]  # fmt: skip


def around_cuts(study: DistributionStudy) -> list[float | None]:
    """Values at every cut, and the nearest floats on both sides of where rounding decides."""
    middle = study.grid.values(np.clip(study.bins.cuts, 0, 1 << 24)) - study.grid.width / (1 << 25)
    near = np.concatenate([middle, np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf), study.bins.edges])
    return [-5.0, 300.0, *near.tolist(), *BEYOND]


FLOAT_CASES: dict[str, tuple[Any, list[Any], int]] = {
    "mean": (MEAN, FLOATS, 5),
    "random": (MEAN, np.random.default_rng(0).normal(100, 400, 50_000).tolist(), 0),
    **{scale: (study, around_cuts(study), 4) for scale, study in BINS.items()},
}


@pytest.mark.parametrize("case", FLOAT_CASES)
def test_hostile_floats_give_the_same_bits_on_every_engine(engine: Engine, case: str) -> None:
    study, values, rejected = FLOAT_CASES[case]
    found: Any = summarize(engine(pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)})), study, value="x")
    assert same(found, study.summarize_trusted(np.array(values, object if study is MEAN else float)), None)
    assert found.trusted.missing == rejected
    assert study is MEAN or min(found.trusted.sums) > 0


@pytest.mark.repeated
@pytest.mark.parametrize("scale", BINS)
def test_a_table_of_both_groups_has_the_same_bins(engine: Engine, scale: str) -> None:
    """Beside other columns an engine counts by itself, in other ways than a column of values alone."""
    study, values = BINS[scale], around_cuts(BINS[scale])
    frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64), "trusts": [True] * len(values)})
    trusted = summarize(engine(frame), study, value="x", trusted_if="trusts").trusted
    assert trusted == study.summarize_trusted(np.array(values, float))


def check_texts(engine: Engine, *, other: bool) -> None:
    study = with_other(FRUIT) if other else FRUIT
    found = summarize(engine(pl.DataFrame({"item": pl.Series(TEXTS, dtype=pl.String)})), study, value="item")
    assert same(found, study.summarize_trusted(TEXTS), None)
    trusted: Any = found.trusted
    assert (trusted.sums[:5], trusted.missing, trusted.outside) == ((3, 1, 1, 1, 1), 2, 0 if other else 12)


def check_integers(engine: Engine, *, other: bool) -> None:
    study = with_other(NUMBERS) if other else NUMBERS
    frame = pl.DataFrame({"item": pl.Series(INTEGERS, dtype=pl.Int64)})
    # What is beyond 2^53 is outside in any case, whether an engine has integers with missing ones or floats.
    assert summarize(engine(frame), study, value="item").trusted == study.summarize_trusted(INTEGERS)


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("compared", [shares.MOST_COMPARED, 0])
def test_hostile_items_are_counted_as_from_a_list(
    engine: Engine, other: bool, compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "MOST_COMPARED", compared)  # 0: what a large domain does
    check_texts(engine, other=other)
    check_integers(engine, other=other)


def test_hostile_items_of_an_open_domain_are_counted_as_from_a_list(engine: Engine) -> None:
    found = summarize(engine(pl.DataFrame({"item": pl.Series(OPEN, dtype=pl.String)})), ITEMS, value="item")
    assert same(found, ITEMS.summarize_trusted(OPEN), None)
    trusted: Any = found.trusted
    assert (trusted.n_users, trusted.missing, trusted.counts["apple"]) == (15, 2, 2)


# Types


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int64, pl.UInt16, pl.UInt64, pl.Float32, pl.Float64, pl.Decimal(10, 2)])
def test_numbers_may_be_of_every_numeric_type(engine: Engine, dtype: Any) -> None:
    values = [3, 12, 3, 100, None]
    frame = pl.DataFrame({"x": pl.Series(values, dtype=dtype)})
    for study in (MEAN, BINS["log"]):
        assert summarize(engine(frame), study, value="x").trusted == study.summarize_trusted(np.array(values, float))
    assert summarize(engine(frame), NUMBERS, value="x").trusted == NUMBERS.summarize_trusted(values)


def test_integers_beyond_exact_floats(engine: Engine) -> None:
    wide = MeanStudy("x", bounds=(0, 2.0**60), epsilon=0.5)
    values = np.array([2**53 + 1, 2**59 + 12345, 2**60 - 1], np.int64)
    assert summarize(engine(pl.DataFrame({"x": values})), wide, value="x").trusted == wide.summarize_trusted(values)


def test_categorical_texts_are_texts(engine: Engine) -> None:
    items = ["pear", "apple", "pear", None, "fig"]
    frame = pl.DataFrame({"item": pl.Series(items, dtype=pl.Categorical)})
    assert summarize(engine(frame), FRUIT, value="item").trusted == FRUIT.summarize_trusted(items)


def test_objects_of_pandas_are_values_and_items() -> None:
    floats = pd.DataFrame({"x": pd.Series([3, None, 4.5, np.nan], dtype=object)})
    expected = BINS["log"].summarize_trusted([3, np.nan, 4.5, np.nan])
    assert summarize(floats, BINS["log"], value="x").trusted == expected
    texts = pd.DataFrame({"item": pd.Series(["apple", None, np.nan, pd.NA, "fig", "pear"], dtype=object)})
    for study in (FRUIT, ITEMS):
        assert same(summarize(texts, study, value="item"), study.summarize_trusted(texts["item"].tolist()), None)
    mixed = [3, 12.0, None, np.int64(-7), 2**70, -(2**70), pd.NA, 5]
    trusted = summarize(pd.DataFrame({"item": pd.Series(mixed, dtype=object)}), NUMBERS, value="item").trusted
    assert trusted == NUMBERS.summarize_trusted(mixed)
    assert (trusted.missing, trusted.outside) == (2, 3)


@pytest.mark.parametrize("wrong", [["apple", 5], ["apple", b"pear"], [["apple"], "pear"], ["apple", True]])
def test_objects_that_are_no_items_are_refused(wrong: list[Any]) -> None:
    frame = pd.DataFrame({"item": pd.Series(wrong, dtype=object)})
    with pytest.raises(DataError, match="items must be texts, as the categories are, got one of type"):
        summarize(frame, FRUIT, value="item")
    refused(DataError, "items must be texts, as the categories are, got one of type", FRUIT.summarize_trusted, wrong)
    refused(DataError, "items must be texts, got one of type", summarize, frame, ITEMS, value="item")


def test_a_column_without_any_item_is_all_missing(engine: Engine) -> None:
    frame = pl.DataFrame({"item": pl.Series([None, None], dtype=pl.Float64)})
    assert summarize(engine(frame), FRUIT, value="item").trusted == FRUIT.summarize_trusted([None, None])


# Both groups


@every_kind
def test_values_and_reports_in_one_table_are_counted_as_apart(engine: Engine, kind: Kind) -> None:
    codes = kind.codes(100)
    bad = [-1, kind.most + 1, 2**60]
    missing = [None, float("nan")] if kind.dtype == pl.Float64 else [None]
    frame = kind.both([*kind.values, *missing], [*codes.tolist(), *bad])
    found: Any = summarize(engine(frame), kind.study, value=kind.name, report="code")
    # A plain table ties its reports to nothing.
    assert same(found, kind.trusted([*kind.values, *missing]), kind.local(np.array([*codes.tolist(), *bad])))
    assert found.local.rejected == 3
    if kind.study is kind.question:
        estimate = kind.study.estimate(trusted=found.trusted, local=found.local, random_state=1)
        assert estimate.n_local == found.local.count == len(codes)


@every_kind
def test_an_empty_table_is_an_empty_summary(engine: Engine, kind: Kind) -> None:
    table = engine(kind.both([], []))
    found: Any = summarize(table, kind.study, value=kind.name, report="code")
    assert same(found, kind.trusted([]), kind.local(np.empty(0, np.int64)))
    assert found.local.count == 0
    assert same(summarize(table, kind.study, value=kind.name), kind.trusted([]), None)


CHANNELS = {2: "RandomizedResponse", 12: "ChoiceResponse", 20: "UnaryEncoding", 3000: "LocalHashing"}


@pytest.mark.repeated
@pytest.mark.parametrize("k", CHANNELS)
def test_reports_of_every_oracle_are_counted_as_from_an_array(engine: Engine, k: int) -> None:
    study = FrequencyStudy("item", categories=list(range(k)), other=False, epsilon=1)
    assert type(study.channel).__name__ == CHANNELS[k]
    codes = study.randomize(np.random.default_rng(0).integers(0, k, 3000), random_state=1)
    bad = [-1, study.n_codes, 2**60]
    frame = pl.DataFrame({"code": pl.Series([None, *codes.tolist(), *bad], dtype=pl.Int64)})
    found = summarize(engine(frame), study, report="code")
    assert same(found, None, study.summarize_local(np.array([*codes.tolist(), *bad])))


@pytest.mark.repeated
def test_reports_may_be_floats(engine: Engine) -> None:
    study = FrequencyStudy("item", categories=list(range(50)), other=False, epsilon=1)
    assert isinstance(study.oracle, UnaryOracle)
    codes = study.randomize(np.arange(50).repeat(20), random_state=1)
    frame = pl.DataFrame({"code": pl.Series([*codes.tolist(), None, float("nan")], dtype=pl.Float64)})
    assert summarize(engine(frame), study, report="code").local == study.summarize_local(codes.codes)


@pytest.mark.parametrize("kind", KINDS[:3], ids=IDS[:3])
def test_groups_users_and_consent(engine: Engine, kind: Kind) -> None:
    values, codes = [*kind.values[:5], None], kind.codes(20).tolist()[:600]
    frame = kind.both(
        values, codes, consent=["yes"] * 6 + ["no"] * 600, country=["DE", "FR"] * 303, user=list(range(606))
    )
    how: dict[str, Any] = {"value": kind.name, "report": "code", "trusted_if": "consent", "user": "user"}
    found = summarize(engine(frame), kind.study, **how, group="country", keys=["DE", "FR"])
    for i, key in enumerate(("DE", "FR")):
        part = kind.study.part("country", key)
        mine = values[i::2] if kind.dtype == pl.String else np.array(values[i::2], float)
        assert same(found[key], part.summarize_trusted(mine), part.summarize_local(np.array(codes[i::2])))
    assert set(kind.study.estimate_parts("country", found, random_state=1)) == {"DE", "FR"}


@every_kind
def test_nobody_is_in_both_groups(engine: Engine, kind: Kind) -> None:
    """One row with a value and a report, or a user with a row of each; nobody is named."""
    how: dict[str, Any] = {"value": kind.name, "report": "code"}
    with pytest.raises(DataError, match="1 row has both a value and a report: nobody is in both groups"):
        summarize(engine(kind.raw([*kind.values[:1], None], code=[3, 4])), kind.study, **how)
    frame = kind.both(kind.values[:2], [0, 1], user=["ada", "bob", "ada", "cy"])
    with pytest.raises(DataError, match="1 user is in both groups by column 'user'") as caught:
        summarize(engine(frame), kind.study, **how, user="user")
    assert "ada" not in str(caught.value)
    fine = engine(frame.with_columns(user=pl.Series(["ada", "bob", "dan", "cy"])))
    assert same(summarize(fine, kind.study, **how, user="user"), *summarize(frame, kind.study, **how))


@every_kind
def test_users_are_told_apart_over_two_tables(kind: Kind) -> None:
    raw, reports = kind.raw(kind.values[:2], user=["a", "b"]), pl.DataFrame({"code": [0, 1], "user": ["c", "d"]})
    how: dict[str, Any] = {"value": kind.name, "report": "code", "user": "user"}
    found = summarize_both(raw, reports, kind.study, **how)
    assert same(found, kind.trusted(kind.values[:2]), kind.local(np.array([0, 1])))
    with pytest.raises(DataError, match="1 user is in both groups"):
        summarize_both(raw, reports.with_columns(user=pl.Series(["a", "d"])), kind.study, **how)
    numbers, codes = pl.DataFrame({"item": [3, 4], "user": [1, 2]}), pl.DataFrame({"code": [0], "user": [3]})
    trusted, _ = summarize_both(numbers, codes, NUMBERS, **{**how, "value": "item"})
    assert trusted == NUMBERS.summarize_trusted([3, 4])


def test_nobody_reports_for_a_mean_and_for_a_distribution() -> None:
    """Two reports cost ε twice. Their studies tell them apart, and if nothing is tied, their users do."""
    study, mean = BINS["log"], MeanStudy("load", bounds=(-5, 300), epsilon=1)
    codes = [*study.randomize([3.0, 40.0], random_state=1).tolist(), *mean.randomize([3.0], random_state=1).tolist()]
    frame = pl.DataFrame({"code": codes, "user": ["a", "b", "a"]})
    digests = pl.Series([f"{of.digest} seeded" for of in (study, study, mean)])
    refused(ProtocolError, "another study", summarize, frame.with_columns(study=digests), study, report="code")
    refused(DataError, "1 user has more than one row", summarize, frame, study, report="code", user="user")


@every_kind
def test_reports_are_simulated_for_those_who_do_not_trust(engine: Engine, kind: Kind) -> None:
    values = [*kind.values, None] * 12
    table = engine(kind.raw(values, trusts=[1, 0, 0, 0] * 123))
    found = simulate_local(table, kind.study, value=kind.name, trusted_if="trusts", random_state=1)
    assert isinstance(found, Summaries)
    assert same((found.trusted,), kind.trusted([x for i, x in enumerate(values) if i % 4 == 0 or x is None]))
    sent = sum(i % 4 > 0 and value in kind.answers for i, value in enumerate(values))
    local: Any = found.local
    assert (local.count, local.seeded, local.tied, local.rejected) == (sent, True, True, 0)


def test_reports_of_other_items_are_simulated(engine: Engine) -> None:
    items = pl.DataFrame({"item": ["apple", "pear", "fig", "z" * 1001] * 100, "trusts": [1, 0, 0, 0] * 100})
    for study in (with_other(FRUIT), ITEMS):
        found: Any = simulate_local(engine(items), study, value="item", trusted_if="trusts", random_state=1)
        assert same((found.trusted,), study.summarize_trusted(["apple"] * 100))
        assert found.local.count == 300
    numbers = pl.DataFrame({"item": [3, 12, 5] * 100, "trusts": [1, 0, 0] * 100})
    found = simulate_local(engine(numbers), NUMBERS, value="item", trusted_if="trusts")
    assert found.local.count == 100


# A dictionary and a list of heavy hitters


def test_a_dictionary_is_a_known_domain(engine: Engine) -> None:
    public = HeavyHitterStudy("fruit", epsilon=2, domain=["apple", "pear"])
    items = ["apple", "pear", "fig", None]
    trusted, _ = summarize(engine(pl.DataFrame({"item": items})), public, value="item")
    assert trusted == public.dictionary.summarize_trusted(items)
    found = public.estimate(trusted=trusted, local=None, single_group=True, random_state=1)
    assert found.method == "dictionary"


def test_a_list_from_tables_is_that_from_lists(engine: Engine) -> None:
    people = ["apple"] * 600 + ["pear"] * 300 + ["quince"]
    trusted, _ = summarize(engine(pl.DataFrame({"item": people})), ITEMS, value="item")
    released = ITEMS.release(trusted, random_state=1)
    assert released.to_json() == ITEMS.release(people, random_state=1).to_json()
    question = ITEMS.question(released)
    codes = question.randomize(["pear"] * 500, random_state=2).codes
    local = summarize(engine(pl.DataFrame({"code": codes})), question, report="code").local
    assert local == question.summarize_local(codes)


# Files


@every_kind
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_files_are_counted(tmp_path: Path, ending: str, kind: Kind) -> None:
    values = [*kind.values, None]
    raw, reports = tmp_path / f"raw.{ending}", tmp_path / f"reports.{ending}"
    write_table(kind.raw(values, user=list(range(41))), raw)
    sent = kind.codes()
    frame = pl.DataFrame({"code": sent.codes, "user": range(100, 100 + len(sent))})
    write_table(frame, reports, study=kind.question.digest, seeded=True)
    for user in (None, "user"):
        found = summarize_both(raw, reports, kind.study, value=kind.name, report="code", user=user)
        assert same(found, kind.trusted(values), kind.local(sent))
        assert found.local.tied
    for name, part in (("a", values[:30]), ("b", values[30:])):
        write_table(kind.raw(part), tmp_path / f"{name}.{ending}")
    alike = str(tmp_path / f"[ab].{ending}")
    assert same(summarize(alike, kind.study, value=kind.name), kind.trusted(values), None)
    shards = [summarize(tmp_path / f"{name}.{ending}", kind.study, value=kind.name) for name in "ab"]
    assert same(shards[0] + shards[1], kind.trusted(values), None)


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_integers_of_files_are_items(tmp_path: Path, ending: str) -> None:
    numbers = [3, 12, 3, None, 99]
    write_table(pl.DataFrame({"item": numbers}), tmp_path / f"numbers.{ending}")
    trusted, _ = summarize(tmp_path / f"numbers.{ending}", NUMBERS, value="item")
    assert trusted == NUMBERS.summarize_trusted(numbers)


def test_empty_cells_of_text_files_are_missing_and_others_are_items(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text("item;x\n apple ;1\n;2\nNA;3\n", encoding="utf-8")
    trusted = summarize(path, with_other(FRUIT), value="item", csv=CsvFormat(separator=";")).trusted
    assert (trusted.sums, trusted.missing) == ((1, 0, 0, 0, 0, 1), 1)


@every_kind
def test_reports_of_another_study_are_refused(tmp_path: Path, kind: Kind) -> None:
    codes, path = pl.DataFrame({"code": [1, 2]}), tmp_path / "reports.parquet"
    write_table(codes, path, study=kind.differs.digest)
    for table in (path, codes.with_columns(study=pl.lit(kind.differs.digest))):
        refused(ProtocolError, kind.must_agree, summarize, table, kind.study, report="code")


def test_summaries_of_shards_add_up_group_by_group() -> None:
    table = pl.DataFrame({"item": ["apple", "pear", "apple", None, None], "code": [None, None, None, 1, 0]})
    whole = summarize(table, FRUIT, value="item", report="code")
    shards = [summarize(part, FRUIT, value="item", report="code") for part in (table[:2], table[2:])]
    for added in (shards[0] + shards[1], sum(shards)):
        assert isinstance(added, Summaries)
        assert same(added, *whole)
    alone = summarize(table[:3], FRUIT, value="item") + summarize(table[3:], FRUIT, report="code")
    assert (alone.trusted.sums[:2], alone.local) == ((2, 1), whole.local)
    pair = (1, 2)
    for wrong in (lambda: whole + pair, lambda: pair + whole, lambda: whole + None, lambda: 1 + whole):
        refused(TypeError, "Summaries can be added to Summaries", wrong)


# Edges


@every_kind
def test_codes_of_something_else_are_refused(engine: Engine, kind: Kind) -> None:
    most = kind.most
    wrong = [0, most + 1, most + 2]
    with pytest.raises(
        DataError, match=f"2 of 3 reports are outside 0 to {most}; they probably belong to another study"
    ):
        summarize(engine(pl.DataFrame({"code": wrong})), kind.study, report="code")
    with pytest.raises(DataError, match=f"reports are outside 0 to {most}"):
        summarize(engine(pl.DataFrame({"code": [0.5, 1.0]})), kind.study, report="code")


def test_columns_that_are_not_there_are_named(engine: Engine) -> None:
    table = engine(pl.DataFrame({"minutes": [1.0], "name": ["a"]}))
    for study in (MEAN, BINS["log"]):
        refused(DataError, "no column 'minuts'. Did you mean 'minutes'", summarize, table, study, value="minuts")
        refused(DataError, "no column 'q'. It has 'minutes', 'name'", summarize, table, study, report="q")


TYPES: list[tuple[Any, list[Any], str]] = [
    (MEAN, ["a"], "Column 'x' must hold numbers, but holds String"),
    (BINS["log"], ["3"], "Column 'x' must hold numbers, but holds String"),
    (FRUIT, [True, False], "Column 'x' must hold texts, as the categories are, but holds Boolean"),
    (FRUIT, [1.5, None], "Column 'x' must hold texts, as the categories are"),
    (NUMBERS, ["3"], "Column 'x' must hold integers, as the categories are, but holds String"),
    (NUMBERS, [3.0, 3.5], "Column 'x' must hold integers"),
    (NUMBERS, [3.0, float("inf")], "Column 'x' must hold integers"),
    (ITEMS, [1, 2], "Column 'x' must hold texts, as items are, but holds Int64"),
    (ITEMS, [1.5, None], "Column 'x' must hold texts, but some cells"),
]


def test_columns_of_another_type_are_named(engine: Engine) -> None:
    for study, values, words in TYPES:
        refused(DataError, words, summarize, engine(pl.DataFrame({"x": values})), study, value="x")


def test_other_mistakes_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(ParameterError, "^value must be the name of a column", summarize, pd.DataFrame({"x": [1.0]}), MEAN)
    refused(DataError, "table must be a dataframe", summarize, 5, MEAN, value="x")
    refused(DataError, "There is no file", summarize, tmp_path / "no.csv", MEAN, value="x")
    wrong: Any = LocalHashing(epsilon=1)
    with pytest.raises(ParameterError, match="study must be a MeanStudy, a FrequencyStudy, a HeavyHitterStudy or"):
        summarize(pl.DataFrame({"x": [1]}), wrong, value="x")
    groups: dict[str, Any] = {"group": "g", "keys": ["x"]}
    with pytest.raises(ParameterError, match="group must be left out"):
        summarize(pl.DataFrame({"item": ["a"], "g": ["x"]}), ITEMS, value="item", **groups)
    monkeypatch.setitem(sys.modules, "narwhals", None)
    refused(MissingExtraError, r'pip install "hybriddp\[tables\]"', summarize, 5, MEAN, value="x")


def test_a_tally_shows_no_counts() -> None:
    tally = Tally()
    tally.add({"rows": 4711, "count": 4711, "item": "HIV-positive"})
    assert tally.items["HIV-positive"] == 4711
    assert "HIV" not in repr(tally)
    assert "4711" not in repr(tally)
