"""Texts of studies, questions, lists and counts of items: read back, and refused if anything was changed."""

import copy
import json
import pickle
from typing import Any

import pytest

from hybriddp.channels import LocalHashing
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.items import DiscoveryQuestion, HeavyHitterStudy, ItemCounts, PrivateItems
from tests.refusals import not_refused

PROMISE: dict[str, Any] = {"epsilon": "0.5", "delta": 1e-6}
STUDY = HeavyHitterStudy("words", epsilon=2, delta=1e-6)
QUESTION = DiscoveryQuestion("words", epsilon=2, channel=LocalHashing(epsilon=2, n_functions=16))
WORDS = ["a", "b", "a", "c", None, "a"]
LIST = STUDY.release(["sun"] * 500 + ["moon"] * 300, random_state=1)
COUNTS = STUDY.summarize_trusted(WORDS)

Document = HeavyHitterStudy | DiscoveryQuestion | PrivateItems | ItemCounts
DOCUMENTS: list[HeavyHitterStudy | DiscoveryQuestion] = [
    STUDY,
    *(
        HeavyHitterStudy("words", **PROMISE | given)
        for given in (
            {},
            {"delta": 0, "domain": ["a", "b c", "ü"]},
            {"alphabet": "letters"},
            {"min_group_size": 100},
            {"alphabet": "xyz-"},
        )
    ),
    QUESTION,
    *(DiscoveryQuestion("words", epsilon="0.5", alphabet=alphabet) for alphabet in ("bytes", "letters", "abc")),
]


def _changed(document: Document, change: dict[str, Any]) -> str:
    return json.dumps({**json.loads(document.to_json()), **change}, separators=(",", ":"), ensure_ascii=False)


def test_text_and_document_are_inverses() -> None:
    for document in DOCUMENTS:
        read = type(document).from_json(document.to_json())
        assert (read, read.digest, hash(read)) == (document, document.digest, hash(document))
    assert len({document.digest for document in DOCUMENTS}) == len(DOCUMENTS)
    assert PrivateItems.from_json(LIST.to_json()).to_json() == LIST.to_json()
    assert ItemCounts.from_json(COUNTS.to_json()) == COUNTS
    assert pickle.loads(pickle.dumps(COUNTS)) == copy.deepcopy(COUNTS) == COUNTS  # noqa: S301


def test_counts_add_up_whatever_the_order_of_the_data_and_cannot_be_changed() -> None:
    parts = [STUDY.summarize_trusted(WORDS[:2]), STUDY.summarize_trusted(WORDS[2:])]
    assert sum(parts) == COUNTS
    assert (COUNTS.n_users, COUNTS.missing, dict(COUNTS.counts)) == (5, 1, {"a": 3, "b": 1, "c": 1})
    assert STUDY.summarize_trusted(["x", "a"]).to_json() == STUDY.summarize_trusted(["a", "x"]).to_json()
    with pytest.raises(TypeError):
        COUNTS.counts["a"] = 7  # type: ignore[index]
    with pytest.raises(ProtocolError, match="^Summaries of different studies cannot be added"):
        COUNTS + HeavyHitterStudy("words", epsilon=1, delta=1e-6).summarize_trusted(WORDS)
    with pytest.raises(TypeError):
        COUNTS + 1


SEVERAL = "several items per user, or about pairs, which is not supported"
TAMPERED: list[tuple[Document, dict[str, Any], str]] = [
    (STUDY, {"delta": "0"}, "delta must be above 0"),
    (STUDY, {"delta": "0.5"}, "delta"),
    (STUDY, {"epsilon": "0"}, "epsilon"),
    (STUDY, {"levels": True}, "not the one that to_json writes"),
    (STUDY, {"max_records": 1.0}, "not the one that to_json writes"),
    (STUDY, {"max_records": 2}, SEVERAL),
    (STUDY, {"max_records": 0}, SEVERAL),
    (STUDY, {"records": "all"}, SEVERAL),
    (STUDY, {"levels": 2}, SEVERAL),
    (STUDY, {"alphabet": "a"}, "alphabet"),
    (STUDY, {"domain": []}, "domain"),
    (STUDY, {"domain": [1, 2]}, "domain"),
    (STUDY, {"min_group_size": 0}, "min_group_size"),
    (STUDY, {"n": 1}, "not the one that to_json writes"),
    (STUDY, {"epsilon": "2.0"}, "not the one that to_json writes"),
    (STUDY, {"version": 2}, "version 1"),
    (QUESTION, {"epsilon": "1"}, "2"),
    (QUESTION, {"channel": {**json.loads(QUESTION.channel.to_json()), "functions": 3}}, "not a power of two"),
    (QUESTION, {"levels": [48]}, "not the one that to_json writes"),
    (QUESTION, {"alphabet": "a"}, "alphabet"),
    (QUESTION, {"n": 1}, "not the one that to_json writes"),
    (QUESTION, {"name": ""}, "name"),
    (LIST, {"threshold": LIST.rule.threshold - 1}, "threshold of the release is too low"),
    (LIST, {"scale": LIST.rule.scale / 2}, "noise of the release is too little"),
    (LIST, {"counts": list(LIST.counts[:-1])}, "each with a count"),
    (LIST, {"counts": [1.5] * len(LIST)}, "not integers"),
    (LIST, {"items": ["sun"] * len(LIST)}, "not different readable texts"),
    (LIST, {"items": [1, 2]}, "not different readable texts"),
    (LIST, {"n_users": 0}, "nobody is in it"),
    (LIST, {"n_users": -5}, "nobody is in it"),
    (LIST, {"seeded": 0}, "neither true nor false"),
    (LIST, {"max_records": None}, "not the one that to_json writes"),
    (LIST, {"max_records": 2}, "not the one that to_json writes"),
]


def test_tampered_texts_are_refused() -> None:
    for document, change, reason in TAMPERED:
        cases = [(f"{type(document).__name__} {change}", _changed(document, change))]
        assert not_refused(cases, type(document).from_json, ProtocolError, reason) == []


def test_texts_that_hold_no_counts_are_refused_without_being_shown() -> None:
    changes: list[dict[str, Any]] = [
        {"n_users": -1},
        {"n_users": 2.0},
        {"n_users": 2},
        {"missing": True},
        {"study": 5},
        {"counts": ["a"]},
        {"counts": {"a": 0}},
        {"counts": {"a": "secret"}},
        {"more": "secret"},
    ]
    for change in changes:
        with pytest.raises(DataError, match="ItemCounts") as caught:
            ItemCounts.from_json(_changed(COUNTS, change))
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None


PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name must be"),
    ({"epsilon": 0}, "epsilon must be"),
    ({"delta": 0.1}, "delta must be"),
    ({"delta": 0}, "delta must be above 0 for an open domain.*With a public list"),
    ({"domain": "abc"}, "domain must be"),
    ({"domain": {"a", "b"}}, "domain must be"),
    ({"domain": [1, 2]}, "domain must be"),
    ({"domain": ["a", "a"]}, "domain must be"),
    ({"domain": ["a", ""]}, "domain must be"),
    ({"min_group_size": 0}, "min_group_size must be"),
    ({"alphabet": ""}, "alphabet must be"),
]


def test_parameters_are_checked() -> None:
    for given, words in PARAMETERS:
        cases = [(str(given), {"name": "words", "epsilon": 1, "delta": 1e-6, **given})]
        assert not_refused(cases, lambda case: HeavyHitterStudy(**case), ParameterError, f"^{words}") == []
    with pytest.raises(ParameterError, match="^channel must be local hashing for epsilon 1"):
        DiscoveryQuestion("words", epsilon=1, channel=QUESTION.channel)


def test_what_no_list_can_show_is_refused_before_it_is_paid_for() -> None:
    for item in ("(other)", "", "a\0", "a" * 1001):
        with pytest.raises(DataError, match="^ItemCounts need readable texts of up to 1,000 characters"):
            ItemCounts(STUDY.digest, 100, {"a": 50, item: 50})
    assert ItemCounts(STUDY.digest, 1000, {"a": 900, "b": 100}).n_users == 1000
    with pytest.raises(DataError, match="^ItemCounts need one item per user at most, but they have more items"):
        ItemCounts(STUDY.digest, 1000, {"a": 900, "b": 101})


def test_representations_show_no_item() -> None:
    assert repr(STUDY) == "HeavyHitterStudy('words', epsilon='2', delta='0.000001')"
    assert "domain=[2 items]" in repr(HeavyHitterStudy("w", epsilon=1, domain=["secret", "b"]))
    assert repr(LIST).endswith("with a seed: not private)")
    counts = STUDY.summarize_trusted(["secret"])
    assert "secret" not in repr(counts)
    assert "not private" in repr(counts)
