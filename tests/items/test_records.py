import numpy as np
import pandas as pd
import pytest

from hybriddp.errors import DataError
from hybriddp.items.records import items_of
from hybriddp.shares.categories import OTHER


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
    read = items_of(users)
    assert read.counts() == {"a": 2, "b": 1}
    assert (read.items, read.missing) == (["a", "b", "a"], 0)


def test_what_is_missing_is_left_out_and_counted() -> None:
    masked = np.ma.masked_array(np.array(["a", "b", "c"], object), mask=[False, True, False])
    for users in (["a", None, "c"], ["a", float("nan"), "c"], pd.Series(["a", None, "c"]), ["a", pd.NA, "c"], masked):
        read = items_of(users)
        assert read.counts() == {"a": 1, "c": 1}
        assert (read.items, read.missing) == (["a", "c"], 1)


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "\x1b[31m", "x" * 1001, "\ud800", OTHER])
def test_what_no_study_could_show_counts_as_other(text: str) -> None:
    read = items_of(["a", text])
    assert read.counts() == {"a": 1}
    assert read.items == ["a", OTHER]


@pytest.mark.parametrize(
    ("users", "words"),
    [
        ([1, 2], "items must be texts, got one of type int"),
        (["a", 2.5], "items must be texts, got one of type float"),
        (["a", b"b"], "items must be texts, got one of type bytes"),
        (["a", ["b"]], "got one of type list. Every user has one item: draw one of several, or make one text of them"),
        ([{"a"}], "got one of type set. Every user has one item"),
        ([{"a": 1}], r"items must be texts, got one of type dict\.$"),
        ([("a", "b")], "items must be texts, got one of type tuple. Every user has one item"),
        (np.array([[1, 2]]), "items must be one-dimensional, got shape"),
        ("text", "a list or an array with one entry per user, got str"),
        ({"a", "b"}, "with one entry per user, got set"),
        (None, "with one entry per user, got NoneType"),
        (7, "items must be one-dimensional"),
    ],
)
def test_what_is_no_text_is_refused_without_being_shown(users: object, words: str) -> None:
    with pytest.raises(DataError, match=words):
        items_of(users)


def test_items_are_not_shown() -> None:
    assert "secret" not in repr(items_of(["secret"]))
