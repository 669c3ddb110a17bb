"""Counting the items of an open domain: the same integers on every engine as from lists."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.items.counts import ItemCounts
from hybriddp.items.discovery import DiscoveryCounts
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.tables import simulate_local, summarize, summarize_both
from hybriddp.tables.items.query import ItemTally
from hybriddp.tables.report_files import write_table

Engine = Callable[[pl.DataFrame], Any]

STUDY = HeavyHitterStudy("fruit", epsilon=2, delta=1e-6)
PUBLIC = HeavyHitterStudy("fruit", epsilon=2, domain=["apple", "pear"])
HOSTILE = ["apple", "Apple", " apple", "", None, "çilek", "a'b", "(other)", "x\ty", "y" * 1001, "z" * 1000, "🍐", None,
           "apple", "NA", "100 %", "\\"]  # fmt: skip


def same(one: Any, two: Any) -> bool:  # noqa: ANN401
    return type(one) is type(two) and bool(one.to_json() == two.to_json())


def test_hostile_items_are_counted_as_from_a_list(engine: Engine) -> None:
    frame = pl.DataFrame({"item": pl.Series(HOSTILE, dtype=pl.String)})
    trusted, local = summarize(engine(frame), STUDY, value="item")
    assert same(trusted, STUDY.summarize_trusted(HOSTILE))
    assert isinstance(trusted, ItemCounts)
    assert (trusted.n_users, trusted.missing, trusted.counts["apple"]) == (15, 2, 2)
    assert local is None


def test_both_groups_of_local_discovery_in_one_table(engine: Engine) -> None:
    codes = STUDY.discovery.randomize(["pear"] * 3000, random_state=1).codes
    bad = [-1, STUDY.discovery.n_codes]
    frame = pl.DataFrame(
        {
            "item": pl.Series(["apple", "apple", None] + [None] * 3002, dtype=pl.String),
            "code": pl.Series([None] * 3 + codes.tolist() + bad, dtype=pl.Int64),
        }
    )
    trusted, local = summarize(engine(frame), STUDY, value="item", report="code")
    assert same(trusted, STUDY.summarize_trusted(["apple", "apple", None]))
    assert isinstance(local, DiscoveryCounts)
    assert same(local, STUDY.discovery.summarize(np.array([*codes.tolist(), *bad])))


def test_a_dictionary_is_a_known_domain(engine: Engine) -> None:
    frame = pl.DataFrame({"item": ["apple", "pear", "fig", None]})
    trusted, _ = summarize(engine(frame), PUBLIC, value="item")
    assert trusted == PUBLIC.dictionary.summarize_trusted(["apple", "pear", "fig", None])
    found = PUBLIC.estimate(trusted=trusted, local=None, single_group=True, random_state=1)
    assert found.method == "dictionary"


def test_a_list_from_tables_is_that_from_lists(engine: Engine) -> None:
    people = ["apple"] * 600 + ["pear"] * 300 + ["quince"]
    trusted, _ = summarize(engine(pl.DataFrame({"item": people})), STUDY, value="item")
    released = STUDY.release(trusted, random_state=1)
    assert released.to_json() == STUDY.release(people, random_state=1).to_json()
    question = STUDY.question(released)
    codes = question.randomize(["pear"] * 500, random_state=2).codes
    local = summarize(engine(pl.DataFrame({"code": codes})), question, report="code").local
    assert local == question.summarize_local(codes)


def test_devices_are_simulated(engine: Engine) -> None:
    frame = pl.DataFrame({"item": ["apple", "pear", None, "z" * 1001] * 100, "trusts": [1, 0, 0, 0] * 100})
    found = simulate_local(engine(frame), STUDY, value="item", trusted_if="trusts", random_state=1)
    trusted, local = found.trusted, found.local
    assert trusted is not None
    assert local is not None
    assert trusted.counts == {"apple": 100}
    assert (local.count, local.seeded, local.tied) == (200, True, True)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_are_counted(tmp_path: Path, ending: str) -> None:
    items = ["apple", "pear", "fig", None] * 20
    raw, reports = tmp_path / f"raw.{ending}", tmp_path / f"reports.{ending}"
    write_table(pl.DataFrame({"item": items, "user": range(80)}), raw)
    sent = STUDY.discovery.randomize(["pear"] * 50, random_state=3)
    write_table(
        pl.DataFrame({"code": sent.codes, "user": range(100, 150)}), reports, study=STUDY.discovery.digest, seeded=True
    )
    for user in (None, "user"):
        trusted, local = summarize_both(raw, reports, STUDY, value="item", report="code", user=user)
        assert same(trusted, STUDY.summarize_trusted(items))
        assert same(local, STUDY.discovery.summarize(sent))


# Edges


def test_reports_to_another_question_are_refused() -> None:
    other = HeavyHitterStudy(STUDY.name, epsilon=STUDY.privacy.epsilon, delta="1e-6", alphabet="digits").discovery
    table = pl.DataFrame({"code": [1, 2], "study": [other.digest] * 2})
    with pytest.raises(ProtocolError, match="name, epsilon and alphabet must all be the same"):
        summarize(table, STUDY, report="code")


def test_objects_of_pandas_are_items() -> None:
    texts = pd.DataFrame({"item": pd.Series(["apple", None, np.nan, pd.NA, "fig"], dtype=object)})
    assert same(summarize(texts, STUDY, value="item").trusted, STUDY.summarize_trusted(texts["item"].tolist()))
    for wrong in (["apple", 5], [["apple"], "pear"], ["apple", b"pear"]):
        with pytest.raises(DataError, match="items must be texts, got one of type"):
            summarize(pd.DataFrame({"item": pd.Series(wrong, dtype=object)}), STUDY, value="item")


def test_columns_of_another_type_are_named(engine: Engine) -> None:
    with pytest.raises(DataError, match="Column 'item' must hold texts, as items are, but holds Int64"):
        summarize(engine(pl.DataFrame({"item": [1, 2]})), STUDY, value="item")
    with pytest.raises(DataError, match="Column 'item' must hold texts, but some cells"):
        summarize(engine(pl.DataFrame({"item": [1.5, None]})), STUDY, value="item")
    with pytest.raises(DataError, match="reports are outside 0 to"):
        summarize(engine(pl.DataFrame({"code": [0, -5]})), STUDY, report="code")


def test_what_tables_cannot_hold_is_refused() -> None:
    frame = pl.DataFrame({"item": ["a"], "g": ["x"]})
    wrong: dict[str, Any] = {"group": "g", "keys": ["x"]}
    with pytest.raises(ParameterError, match="group must be left out"):
        summarize(frame, STUDY, value="item", **wrong)


def test_a_tally_shows_no_items() -> None:
    tally = ItemTally(column="item")
    tally.add({"rows": 1, "count": 1, "item": "HIV-positive"})
    assert "HIV" not in repr(tally)
