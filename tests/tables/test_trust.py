from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hybriddp.errors import DataError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.tables import summarize
from hybriddp.tables.report_files import write_table
from hybriddp.tables.trust import Trust
from tests.refusals import refused

Engine = Callable[[pl.DataFrame], Any]
STUDY = MeanStudy("x", bounds=(0, 100), epsilon=1)
X = [10.0, 20.0, 30.0, 40.0, 250.0]
CODES = [None, 3, 7, None, None]
TRUSTS: dict[str, tuple[list[Any], str]] = {
    "booleans": ([True, False, None, True, True], "who"),
    "integers": ([1, 0, None, 1, 1], "who"),
    "floats": ([1.0, 0.0, None, 1.0, 1.0], "who"),
    "words": (["yes", "no", None, "Yes", " TRUE "], "who"),
    "letters": (["Y", "n", "", "t", "1"], "who"),
    "ja": (["ja", "nein", None, "Ja", "J"], "who"),
    "oui": (["oui", "non", "", "OUI", " Oui"], "who"),
    "si": (["sí", "no", None, "Si", "SÌ"], "who"),
    "a word": (["gold", "silver", None, " gold", "gold"], "who=gold"),
    "a number": ([2, 1, None, 2, 2], "who = 2"),
    "not a boolean": ([False, True, True, False, False], "who=no"),
}
QUICK = ("booleans", "integers", "words", "a word")  # one of each type, and a word that is asked for


def _users(kind: str) -> pl.DataFrame:
    codes = pl.Series(CODES, dtype=pl.Int64)
    return pl.DataFrame({"x": X, "code": codes, "who": TRUSTS[kind][0]})


@pytest.mark.repeated
@pytest.mark.parametrize("kind", TRUSTS)
def test_a_column_says_who_trusts_and_others_values_are_not_looked_at(engine: Engine, kind: str) -> None:
    trusted, local = summarize(engine(_users(kind)), STUDY, value="x", report="code", trusted_if=TRUSTS[kind][1])
    assert trusted == STUDY.summarize_trusted([10.0, 40.0, 250.0])  # one of them clamped
    assert local == STUDY.summarize_local([3, 7])


@pytest.mark.parametrize(
    "kind", [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.repeated) for kind in TRUSTS]
)
def test_a_raw_value_of_somebody_who_does_not_trust_is_refused(engine: Engine, kind: str) -> None:
    users = engine(_users(kind).drop("code"))
    with pytest.raises(DataError, match="2 rows do not trust but have a value and no report.*--simulate-local"):
        summarize(users, STUDY, value="x", trusted_if=TRUSTS[kind][1])


def test_whoever_trusts_has_no_report(engine: Engine) -> None:
    users = _users("words").with_columns(code=pl.lit(5, pl.Int64))
    with pytest.raises(DataError, match="3 rows trust and have a report"):
        summarize(engine(users), STUDY, value="x", report="code", trusted_if="who")


@pytest.mark.parametrize("answers", [["yes", "maybe", "no"], [1, 2, 0], [1.0, float("nan"), 0.5]])
def test_neither_yes_nor_no_is_refused_and_not_shown(engine: Engine, answers: list[Any]) -> None:
    users = pl.DataFrame({"x": [1.0, 2.0, 3.0], "who": answers})
    with pytest.raises(
        DataError,
        match=r'says neither yes nor no in (1 row|\d rows)\..*trusted_if="who=WORD"\.$',
    ) as caught:
        summarize(engine(users.filter(~pl.lit(False))), STUDY, value="x", trusted_if="who")
    assert "maybe" not in str(caught.value)


def test_texts_of_files_say_it_too(tmp_path: Path) -> None:
    for kind, ending in ((kind, ending) for kind in TRUSTS for ending in ("csv", "jsonl")):
        path = tmp_path / f"{kind}.{ending}"
        write_table(_users(kind), path)
        if kind == "not a boolean":  # in a text file it is a word
            with pytest.raises(DataError, match="5 rows do not trust|3 rows do not trust"):
                summarize(path, STUDY, value="x", report="code", trusted_if="who=no")
            continue
        trusted, local = summarize(path, STUDY, value="x", report="code", trusted_if=TRUSTS[kind][1])
        assert trusted == STUDY.summarize_trusted([10.0, 40.0, 250.0])
        assert local == STUDY.summarize_local([3, 7])


def test_wrong_words_are_named() -> None:
    for text in ("", "=yes", "who=", 5):
        refused(ParameterError, "^trusted_if must be", Trust.of, text)
    frame = _users("booleans")
    for table, word in ((frame, "who=gold"), (_users("integers"), "who=gold")):
        refused(ParameterError, "^trusted_if must be", summarize, table, STUDY, value="x", trusted_if=word)
    with pytest.raises(DataError, match="Column 'who' must say who trusts"):
        summarize(frame.with_columns(who=pl.lit([1])), STUDY, value="x", trusted_if="who")
    refused(DataError, "no column 'whom'. Did you mean 'who'", summarize, frame, STUDY, value="x", trusted_if="whom")
