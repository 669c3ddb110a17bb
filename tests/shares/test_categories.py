from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import DataError, ParameterError
from hybriddp.items.records import shown_item
from hybriddp.shares.categories import MOST_CATEGORIES, OTHER, Categories, PlacedItems, is_shown

TEXTS = Categories.of(["a", "b", "c"], other=False)
NUMBERS = Categories.of([10, -3, 7], other=False)


def _plain(placed: PlacedItems) -> tuple[list[int], int, int]:
    return placed.categories.tolist(), placed.missing, placed.outside


@pytest.mark.parametrize(
    "items",
    [
        ["a", "c", "a", None, "d"],
        ("a", "c", "a", None, "d"),
        ["a", "c", "a", float("nan"), "d"],
        np.array(["a", "c", "a", None, "d"], object),
        pd.Series(["a", "c", "a", None, "d"]),
        pd.Series(["a", "c", "a", None, "d"], dtype="string"),
        pd.Series(["a", "c", "a", None, "d"], dtype="category"),
        pl.Series(["a", "c", "a", None, "d"]),
        np.ma.masked_array(["a", "c", "a", "b", "d"], mask=[0, 0, 0, 1, 0]),
        [np.str_("a"), "c", "a", None, "d"],
    ],
    ids=lambda items: type(items).__name__,
)
def test_texts_are_found_in_all_that_holds_them(items: Any) -> None:
    assert _plain(TEXTS.place(items)) == ([0, 2, 0], 1, 1)
    assert _plain(Categories.of(["a", "b", "c"], other=True).place(items)) == ([0, 2, 0, 3], 1, 0)


@pytest.mark.parametrize(
    "items",
    [
        [10, 7, 10, None, 8],
        [10, 7, 10.0, float("nan"), 8],
        [np.int16(10), 7, 10, None, 8],
        np.array([10, 7, 10, np.nan, 8]),
        pd.Series([10, 7, 10, None, 8]),
        pd.Series([10, 7, 10, None, 8], dtype="Int64"),
        pl.Series([10, 7, 10, None, 8]),
        np.ma.masked_array([10, 7, 10, 7, 8], mask=[0, 0, 0, 1, 0]),
        [10, 7, 10, None, 10**400],
    ],
    ids=lambda items: type(items).__name__,
)
def test_integers_are_found_in_all_that_holds_them(items: Any) -> None:
    assert _plain(NUMBERS.place(items)) == ([0, 2, 0], 1, 1)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, np.float32])
def test_integers_of_every_type_are_found(kind: type) -> None:
    assert _plain(NUMBERS.place(np.array([7, 10, 11, 7], kind))) == ([2, 0, 2], 0, 1)


def test_numbers_beyond_all_categories_are_outside() -> None:
    huge = np.array([2**64 - 1, 2**63, 7], np.uint64)
    assert _plain(NUMBERS.place(huge)) == ([2], 0, 2)
    assert _plain(NUMBERS.place(np.array([-(2**63), 2**63 - 1]))) == ([], 0, 2)
    assert _plain(NUMBERS.place(np.array([1e300, 7.0]))) == ([2], 0, 1)


def test_a_single_item_and_none_at_all() -> None:
    assert _plain(TEXTS.place("b")) == ([1], 0, 0)
    assert _plain(NUMBERS.place(7)) == ([2], 0, 0)
    assert _plain(TEXTS.place(None)) == ([], 1, 0)
    empty: list[Any] = [[], (), np.array([]), pd.Series([], dtype=float)]
    for nothing in empty:
        assert _plain(TEXTS.place(nothing)) == ([], 0, 0)


def test_a_text_is_what_it_is() -> None:
    assert TEXTS.place(["A", " a", "a ", "á", ""]).outside == 5


@given(st.lists(st.integers(-5, 30), min_size=1), st.lists(st.integers(-40, 40), unique=True, min_size=2))
def test_arrays_and_lists_give_the_same(items: list[int], categories: list[int]) -> None:
    domain = Categories.of(categories, other=False)
    expected = [categories.index(item) for item in items if item in categories]
    assert _plain(domain.place(items)) == (expected, 0, len(items) - len(expected))
    assert _plain(domain.place(np.array(items))) == _plain(domain.place(items))


@pytest.mark.parametrize(
    "items",
    [
        ["a", ["b"]],
        ["a", {"b": 1}],
        ["a", 1],
        ["a", 1.5],
        ["a", True],
        ["a", b"b"],
        ["a", ("b",)],
        [1, 2],
        np.array([1, 2]),
        np.array([1.0, 2.0]),
        np.array([True, False]),
        np.array([b"a"]),
        np.array(["2026-01-01"], "datetime64[D]"),
        np.array([["a", "b"]]),
        {"a", "b"},
        {"a": 1},
        iter(["a"]),
        object(),
        pd.DataFrame({"x": ["a"]}),
    ],
    ids=lambda items: type(items).__name__,
)
def test_what_is_no_text_is_refused(items: object) -> None:
    with pytest.raises(DataError, match="^items must be") as caught:
        TEXTS.place(items)
    assert "'b'" not in str(caught.value)


@pytest.mark.parametrize(
    "items", [["a"], np.array(["a"]), [1.5], np.array([1.5, 7]), np.array([np.inf]), [True], [[7]]]
)
def test_what_is_no_integer_is_refused(items: object) -> None:
    with pytest.raises(DataError, match="^items must be integers"):
        NUMBERS.place(items)


@pytest.mark.parametrize(
    "categories",
    [
        [],
        ["a"],
        "ab",
        b"ab",
        None,
        {"a", "b"},
        {"a": 1, "b": 2},
        ["a", "a"],
        [1, 1],
        ["a", 1],
        [1, True],
        [1, 1.5],
        ["a", None],
        ["a", ""],
        ["a", " "],
        ["a", "b\n"],
        ["a", "x" * 1001],
        [1, 2**53],
        [["a"], ["b"]],
        range(MOST_CATEGORIES + 1),
    ],
    ids=lambda categories: type(categories).__name__,
)
def test_bad_categories_are_named(categories: object) -> None:
    with pytest.raises(ParameterError) as caught:
        Categories.of(categories, other=False)
    assert caught.value.name == "categories"


def test_one_category_and_all_others_are_two() -> None:
    domain = Categories.of(["yes"], other=True)
    assert (len(domain), domain.names) == (2, ("yes", OTHER))
    with pytest.raises(
        ParameterError, match=r"^categories must be different from each other, got repeated ones=\['a'\]\.$"
    ):
        Categories.of(["a", "b", "a", "a"], other=False)
    with pytest.raises(ParameterError, match="as all other items are called"):
        Categories.of(["yes", OTHER], other=True)
    with pytest.raises(ParameterError, match="^other must be True, False or None"):
        Categories.of(["yes"], other=1)


def test_categories_may_come_from_arrays() -> None:
    assert Categories.of(np.array(["a", "b"]), other=False) == Categories.of(("a", "b"), other=False)
    assert Categories.of(np.array([3, 1], np.uint8), other=False).items == (3, 1)
    assert Categories.of(range(5), other=False).items == (0, 1, 2, 3, 4)
    assert type(Categories.of([np.str_("a"), "b"], other=False).items[0]) is str


def test_items_are_not_shown() -> None:
    assert repr(TEXTS.place(["a", "d", None])) == "<PlacedItems: 1 items, 1 missing, 1 outside>"


@pytest.mark.parametrize(
    "character",
    [
        "\u200b",  # zero-width space
        "\u200d",  # zero-width joiner
        "\u00ad",  # soft hyphen
        "\u200e",  # left-to-right mark
        "\u061c",  # Arabic letter mark
        "\u202e",  # right-to-left override
        "\u2028",  # line separator
        "\u2029",  # paragraph separator
        "\ufeff",  # byte order mark
        "\x07",
        "\ud800",
        "\ue000",  # private use
        "\U000e0041",  # tag
        "\uffff",
        "\u0378",  # not assigned
        "\u034f",  # combining grapheme joiner
        "\u115f",  # Hangul fillers
        "\u3164",
        "\uffa0",
        "\u17b4",  # Khmer inherent vowel
        "\u180b",  # Mongolian variation selector
        "\ufe00",  # variation selectors
        "\ufe0f",
        "\U000e0100",
        "\u2800",  # Braille without a dot
    ],
)
def test_items_that_look_like_others_are_not_shown(character: str) -> None:
    assert is_shown("apple")
    for item in (f"app{character}le", f"apple{character}", f"{character}apple", character):
        assert not is_shown(item)
        assert shown_item(item) == OTHER


@pytest.mark.parametrize(
    "item", ["ünïcode ☂", "日本\u3000語", "no\u00a0break", "аpple", "क्षि", "🍎", "e\u0301", "\u2764\ufe0f!"]
)
def test_what_can_be_seen_is_shown(item: str) -> None:
    assert is_shown(item)  # the fourth begins with a Cyrillic letter: look-alikes of other scripts are different items


def test_a_second_selector_behind_an_emoji_is_not_seen() -> None:
    assert not is_shown("\u2764\ufe0f\ufe0f")
    assert not is_shown("20\u00b0\ufe0f")  # nor one behind a symbol that is no emoji
