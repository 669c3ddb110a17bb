import copy
import json
import pickle

import pytest

from hybriddp.errors import DataError, ProtocolError
from hybriddp.items import HeavyHitterStudy, ItemCounts

STUDY = HeavyHitterStudy("words", epsilon=1, delta=1e-6)
WORDS = ["a", "b", "a", "c", None, "a"]


def test_parts_add_up_to_the_whole() -> None:
    whole = STUDY.summarize_trusted(WORDS)
    parts = [STUDY.summarize_trusted(WORDS[:2]), STUDY.summarize_trusted(WORDS[2:])]
    assert sum(parts) == whole
    assert (whole.n_users, whole.missing, dict(whole.counts)) == (5, 1, {"a": 3, "b": 1, "c": 1})


def test_text_and_summary_are_inverses() -> None:
    whole = STUDY.summarize_trusted(WORDS)
    assert ItemCounts.from_json(whole.to_json()) == whole
    assert pickle.loads(pickle.dumps(whole)) == copy.deepcopy(whole) == whole  # noqa: S301


def test_the_order_of_the_data_is_not_in_the_text() -> None:
    assert STUDY.summarize_trusted(["x", "a"]).to_json() == STUDY.summarize_trusted(["a", "x"]).to_json()


def test_it_does_not_show_what_it_holds() -> None:
    summary = STUDY.summarize_trusted(["secret"])
    assert "secret" not in repr(summary)
    assert "not private" in repr(summary)


def test_it_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        STUDY.summarize_trusted(WORDS).counts["a"] = 7  # type: ignore[index]


def test_summaries_of_different_studies_do_not_add() -> None:
    other = HeavyHitterStudy("words", epsilon=2, delta=1e-6)
    with pytest.raises(ProtocolError, match="^Summaries of different studies cannot be added"):
        STUDY.summarize_trusted(WORDS) + other.summarize_trusted(WORDS)
    with pytest.raises(TypeError):
        STUDY.summarize_trusted(WORDS) + 1


@pytest.mark.parametrize(
    "changed",
    [
        {"n_users": -1},
        {"n_users": 2.0},
        {"n_users": 2},
        {"missing": True},
        {"study": 5},
        {"counts": ["a"]},
        {"counts": {"a": 0}},
        {"counts": {"a": "secret"}},
        {"more": "secret"},
    ],
)
def test_other_texts_are_refused_without_being_shown(changed: dict[str, object]) -> None:
    fields = {**json.loads(STUDY.summarize_trusted(WORDS).to_json()), **changed}
    with pytest.raises(DataError, match="ItemCounts") as caught:
        ItemCounts.from_json(json.dumps(fields))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize("item", ["(other)", "", "a\0", "a" * 1001])
def test_what_no_list_can_show_is_refused_before_it_is_paid_for(item: str) -> None:
    with pytest.raises(DataError, match="^ItemCounts need readable texts of up to 1,000 characters"):
        ItemCounts(STUDY.digest, 100, {"a": 50, item: 50})


def test_more_items_than_users_are_refused() -> None:
    """The noise is for one item of each user."""
    assert ItemCounts(STUDY.digest, 1000, {"a": 900, "b": 100}).n_users == 1000
    with pytest.raises(DataError, match="^ItemCounts need one item per user at most, but they have more items"):
        ItemCounts(STUDY.digest, 1000, {"a": 900, "b": 101})
