import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from hybriddp.errors import DataError, ParameterError
from hybriddp.frequency.categories import OTHER
from hybriddp.frequency.records import RecordForm
from tests.levels import LEVEL

PAIRS = RecordForm(levels=2)
THREE = RecordForm(max_records=3, records="all")
ONE_OF_THREE = RecordForm(max_records=3)


# One record per user


@pytest.mark.parametrize(
    "users",
    [
        ["a", "b", "a"],
        ("a", "b", "a"),
        np.array(["a", "b", "a"]),
        np.array(["a", "b", "a"], object),
        pd.Series(["a", "b", "a"]),
    ],
    ids=lambda users: type(users).__name__,
)
def test_users_come_as_lists_arrays_and_columns(users: object) -> None:
    counts, drawn = RecordForm().count(users)
    assert counts == {"a": 2, "b": 1}
    assert (drawn.n_users, drawn.missing) == (3, 0)


def test_what_is_missing_is_left_out_and_counted() -> None:
    masked = np.ma.masked_array(np.array(["a", "b", "c"], object), mask=[False, True, False])
    for users in (["a", None, "c"], ["a", float("nan"), "c"], pd.Series(["a", None, "c"]), ["a", pd.NA, "c"], masked):
        counts, drawn = RecordForm().count(users)
        assert counts == {"a": 1, "c": 1}
        assert (drawn.n_users, drawn.missing) == (2, 1)


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "\x1b[31m", "x" * 1001, "\ud800", OTHER])
def test_what_no_study_could_show_counts_as_other(text: str) -> None:
    counts, drawn = RecordForm().count(["a", text])
    assert counts == {"a": 1}
    assert drawn.items == ["a", OTHER]
    assert drawn.n_users == 2


@pytest.mark.parametrize(
    ("users", "words"),
    [
        ([1, 2], "items must be texts, got one of type int"),
        (["a", 2.5], "items must be texts, got one of type float"),
        (["a", b"b"], "items must be texts, got one of type bytes"),
        (["a", ["b"]], "got one of type list. For several items per user there is max_records"),
        ([{"a"}], "got one of type set. For several"),
        ([{"a": 1}], "items must be texts, got one of type dict"),
        ([("a", "b")], "items must be texts, got one of type tuple"),
        (np.array([[1, 2]]), "items must be one-dimensional, got shape"),
        ("text", "a list or an array with one entry per user, got str"),
        ({"a", "b"}, "with one entry per user, got set"),
        (None, "with one entry per user, got NoneType"),
        (7, "items must be one-dimensional"),
    ],
)
def test_what_is_no_text_is_refused_without_being_shown(users: object, words: str) -> None:
    with pytest.raises(DataError, match=words):
        RecordForm().count(users)


# Pairs


def test_pairs_have_texts_that_are_read_back() -> None:
    for pair in [("query", "url"), ('a","b', "c"), ("[]", '\\"'), ("ü", "→")]:
        assert PAIRS.record(PAIRS.text(pair)) == pair
    assert len({PAIRS.text(pair) for pair in [("a,b", "c"), ("a", "b,c"), ('a","b', "c"), ("a", 'b","c')]}) == 4
    assert PAIRS.record(OTHER) == OTHER


@pytest.mark.parametrize("bad", ["a", ("a",), ("a", "b", "c"), ("a", 1), ["a", "b"]])
def test_what_is_no_pair_is_refused(bad: object) -> None:
    with pytest.raises(DataError, match="^items must be pairs of texts, got one of type"):
        PAIRS.count([bad])


def test_a_pair_with_a_part_that_no_study_shows_counts_as_other() -> None:
    assert PAIRS.text(("a", "")) == PAIRS.text(("\0", "b")) == OTHER


# Several records


def test_repeated_records_count_once() -> None:
    counts, drawn = THREE.count([["a", "a", "a"], ["a", "b"], "b", [], {"c"}, None])
    assert counts == {"a": 2, "b": 2, "c": 1}
    assert (drawn.n_users, drawn.missing) == (5, 1)


def test_a_user_adds_to_at_most_m_items() -> None:
    for seed in range(20):
        counts, _ = THREE.count([list("abcdefgh")], seed)
        assert sum(counts.values()) == len(counts) == 3


def test_one_record_of_each_user_is_drawn() -> None:
    counts, drawn = ONE_OF_THREE.count([["a", "b"], ["c"], [], "d"], 1)
    assert len(drawn.items) == drawn.n_users == 4
    assert sum(counts.values()) == 3  # nobody has what the empty list stands for
    assert counts["c"] == counts["d"] == 1
    assert drawn.items[2] == OTHER


def test_pairs_may_be_several() -> None:
    form = RecordForm(levels=2, max_records=2, records="all")
    counts, _ = form.count([("q", "u"), [("q", "u"), ("q", "v")], {("q", "u")}])
    assert {form.record(text): n for text, n in counts.items()} == {("q", "u"): 3, ("q", "v"): 1}


@pytest.mark.parametrize("bad", [5, {"a": 1}, b"x", 2.5])
def test_records_must_be_a_list_or_a_set(bad: object) -> None:
    with pytest.raises(DataError, match="^a user's items must be a list or a set of them, got"):
        THREE.count([bad])


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("form", "records", "law"),
    [
        (ONE_OF_THREE, ["a", "b"], {"a": 1 / 2, "b": 1 / 2}),
        (ONE_OF_THREE, list("abcde"), dict.fromkeys("abcde", 1 / 5)),
        (THREE, ["a", "b"], {"a": 1 / 3, "b": 1 / 3, OTHER: 1 / 3}),
        (THREE, list("abcde"), dict.fromkeys("abcde", 1 / 5)),
    ],
)
def test_devices_draw_records_uniformly(form: RecordForm, records: list[str], law: dict[str, float]) -> None:
    """Chi-square; a probability that is a fifth off does not pass."""
    n = 20_000
    drawn = Counter(form.draw([records] * n, 3).items)
    assert set(drawn) == set(law)
    counts, expected = np.array([drawn[key] for key in law]), np.array(list(law.values()))
    assert stats.chisquare(counts, n * expected).pvalue > LEVEL
    wrong = expected * np.where(np.arange(len(law)) == 0, 0.8, 1.0)
    assert stats.chisquare(counts, n * wrong / wrong.sum()).pvalue < LEVEL


@pytest.mark.statistical
def test_too_many_records_are_drawn_without_preference() -> None:
    """Each of five records is among three with probability 3/5, and a fifth less is not."""
    n = 5000
    counts, _ = THREE.count([list("abcde")] * n, 2)
    z = np.array([(counts[key] - 0.6 * n) / math.sqrt(0.24 * n) for key in "abcde"])
    assert stats.norm.sf(np.abs(z)).min() * 10 > LEVEL
    assert stats.binomtest(counts["a"], n, 0.48).pvalue < LEVEL


# Errors


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"levels": 3}, "levels"),
        ({"levels": 0}, "levels"),
        ({"max_records": 0}, "max_records"),
        ({"max_records": 101}, "max_records"),
        ({"records": "some"}, "records"),
        ({"records": "all"}, "records"),
    ],
)
def test_parameters_are_checked(given: dict[str, object], name: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        RecordForm(**given)


def test_drawn_items_are_not_shown() -> None:
    _, drawn = RecordForm().count(["secret"])
    assert "secret" not in repr(drawn)
