import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hybriddp as hdp
from hybriddp.errors import BudgetError, DataError, ParameterError, ProtocolError
from hybriddp.items import HeavyHitterStudy, PrivateItems
from hybriddp.privacy import Privacy

STUDY = HeavyHitterStudy("words", epsilon=2, delta=1e-6)
WORDS = np.random.default_rng(0).choice(["sun", "moon", "star", "comet"], 6000, p=[0.5, 0.3, 0.1999, 0.0001]).tolist()
TRUSTED, LOCAL = WORDS[:1000], WORDS[1000:]


def _released(**more: Any) -> PrivateItems:
    return STUDY.release(STUDY.summarize_trusted(TRUSTED), **{"random_state": 1, **more})


# The steps


def test_list_question_reports_and_estimate_follow_each_other() -> None:
    released = _released()
    assert released.items == ("sun", "moon", "star")
    question = STUDY.question(released)
    assert question.names == ("sun", "moon", "star", "(other)")
    assert question.privacy.epsilon == "2"
    reports = question.randomize(LOCAL, random_state=2)
    found = STUDY.estimate(trusted=released, local=reports)
    assert found.items == ("sun", "moon", "star")
    np.testing.assert_allclose(found.shares, [0.5, 0.3, 0.2], atol=0.05)
    assert (found.n_trusted, found.n_local, found.method) == (1000, 5000, "list")
    assert found.tied
    assert found.privacy.seeded


def test_summaries_and_texts_give_the_same_answer() -> None:
    released = PrivateItems.from_json(_released().to_json())
    question = type(STUDY.question(released)).from_json(STUDY.question(released).to_json())
    reports = question.randomize(LOCAL, random_state=2)
    summary = question.summarize_local(reports[:2000]) + question.summarize_local(reports[2000:])
    one, other = STUDY.estimate(trusted=released, local=reports), STUDY.estimate(trusted=released, local=summary)
    np.testing.assert_array_equal(one.shares, other.shares)
    assert one.items == other.items


def test_a_list_without_items_asks_nothing() -> None:
    released = STUDY.release(["a", "b", "c"], random_state=1)  # without a seed each is listed with a chance of δ
    assert released.items == ()
    with pytest.raises(DataError, match="^No item is on the list"):
        STUDY.question(released)
    found = STUDY.estimate(trusted=released, local=None)
    assert found.items == ()
    assert found.other_share == 1
    assert "no item is frequent enough" in str(found)
    assert "The list is empty" in found.explain()


def test_a_list_of_one_item_is_enough() -> None:
    released = STUDY.release(["only"] * 1000, random_state=1)
    reports = STUDY.question(released).randomize(["only"] * 900 + ["another"] * 100, random_state=2)
    found = STUDY.estimate(trusted=released, local=reports)
    assert found.items == ("only",)
    assert found.shares[0] > 0.9


def test_the_release_is_paid_for_once() -> None:
    ledger = hdp.Ledger(Privacy(epsilon=10, delta=1e-3))
    released = STUDY.release(TRUSTED, ledger=ledger)
    assert released.counted
    assert ledger.spent("trusted").epsilon == 2
    found = STUDY.estimate(trusted=released, local=STUDY.question(released).randomize(LOCAL))
    assert found.privacy.counted
    assert not found.privacy.seeded
    assert len(ledger.events) == 1
    with pytest.raises(BudgetError):
        STUDY.release(TRUSTED, ledger=ledger)


# Which way


@pytest.mark.parametrize(
    ("n_trusted", "n_local", "expected"),
    [(0, 10**6, "discovery"), (10**6, 0, "list"), (1000, 999_000, "discovery"), (50_000, 950_000, "list")],
)
def test_public_numbers_decide(n_trusted: int, n_local: int, expected: str) -> None:
    assert STUDY.method(n_trusted=n_trusted, n_local=n_local) == expected


def test_a_dictionary_comes_first() -> None:
    known = HeavyHitterStudy("words", epsilon=1, domain=["a", "b"])
    assert known.method(n_trusted=0, n_local=10**6) == "dictionary"
    with pytest.raises(ProtocolError, match="no public dictionary"):
        _ = STUDY.dictionary


# Text


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"delta": 0, "domain": ["a", "b c", "ü"]},
        {"alphabet": "letters"},
        {"min_group_size": 100},
        {"alphabet": "xyz-"},
    ],
)
def test_text_and_study_are_inverses(given: dict[str, Any]) -> None:
    study = HeavyHitterStudy("words", **{"epsilon": "0.5", "delta": 1e-6, **given})
    read = HeavyHitterStudy.from_json(study.to_json())
    assert read == study
    assert read.digest == study.digest
    assert hash(read) == hash(study)


TAMPERED: dict[str, dict[str, Any]] = {
    "no delta": {"delta": "0"},
    "a large delta": {"delta": "0.5"},
    "no epsilon": {"epsilon": "0"},
    "one level, as a truth value": {"levels": True},
    "one record, as a float": {"max_records": 1.0},
    "an alphabet of one": {"alphabet": "a"},
    "an empty domain": {"domain": []},
    "a domain of numbers": {"domain": [1, 2]},
    "no users": {"min_group_size": 0},
    "one more field": {"n": 1},
    "another spelling": {"epsilon": "2.0"},
    "another version": {"version": 2},
}


@pytest.mark.parametrize("how", TAMPERED)
def test_tampered_texts_are_refused(how: str) -> None:
    fields = json.loads(STUDY.to_json())
    with pytest.raises(ProtocolError):
        HeavyHitterStudy.from_json(json.dumps({**fields, **TAMPERED[how]}, separators=(",", ":")))


LISTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "a lower threshold": lambda f: {"threshold": f["threshold"] - 1},
    "less noise": lambda f: {"scale": f["scale"] / 2},
    "fewer counts": lambda f: {"counts": f["counts"][:-1]},
    "a count that is no integer": lambda f: {"counts": [1.5] * len(f["counts"])},
    "an item twice": lambda f: {"items": [f["items"][0]] * len(f["items"])},
    "an item that is no text": lambda f: {"items": [1] * len(f["items"])},
    "a flag that is none": lambda _: {"seeded": 0},
    "no records": lambda _: {"max_records": None},
    "two records": lambda _: {"max_records": 2},
}


@pytest.mark.parametrize("how", LISTS)
def test_tampered_lists_are_refused(how: str) -> None:
    fields = json.loads(_released().to_json())
    with pytest.raises(ProtocolError):
        PrivateItems.from_json(json.dumps({**fields, **LISTS[how](fields)}, separators=(",", ":")))


@pytest.mark.parametrize("changed", [{"max_records": 2}, {"max_records": 0}, {"records": "all"}, {"levels": 2}])
def test_texts_about_several_items_or_pairs_are_refused_with_a_plain_sentence(changed: dict[str, Any]) -> None:
    text = json.dumps({**json.loads(STUDY.to_json()), **changed}, separators=(",", ":"))
    with pytest.raises(ProtocolError, match="several items per user, or about pairs, which is not supported"):
        HeavyHitterStudy.from_json(text)


def test_representations_show_no_item() -> None:
    assert repr(STUDY) == "HeavyHitterStudy('words', epsilon='2', delta='0.000001')"
    assert "domain=[2 items]" in repr(HeavyHitterStudy("w", epsilon=1, domain=["secret", "b"]))
    assert repr(_released()).endswith("with a seed: not private)")


# Errors


def test_delta_zero_is_refused_with_the_reason() -> None:
    with pytest.raises(ParameterError, match=r"^delta must be above 0 for an open domain.*With a public list"):
        HeavyHitterStudy("words", epsilon=1)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"name": ""}, "name"),
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 0.1}, "delta"),
        ({"domain": "abc"}, "domain"),
        ({"domain": {"a", "b"}}, "domain"),
        ({"domain": [1, 2]}, "domain"),
        ({"domain": ["a", "a"]}, "domain"),
        ({"domain": ["a", ""]}, "domain"),
        ({"min_group_size": 0}, "min_group_size"),
        ({"alphabet": ""}, "alphabet"),
    ],
)
def test_parameters_are_checked(given: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        HeavyHitterStudy(**{"name": "words", "epsilon": 1, "delta": 1e-6, **given})


def test_what_belongs_to_another_study_is_refused() -> None:
    other = HeavyHitterStudy("words", epsilon=1, delta=1e-6)
    released = _released()
    with pytest.raises(ProtocolError, match="^The list belongs to study .*: name, epsilon, delta and"):
        other.question(released)
    with pytest.raises(ProtocolError, match="^The list belongs to study"):
        other.estimate(trusted=released, local=None)
    with pytest.raises(ProtocolError, match="^The summary belongs to study"):
        other.release(STUDY.summarize_trusted(TRUSTED))
    reports = other.question(other.release(TRUSTED)).randomize(LOCAL)
    with pytest.raises(ProtocolError, match="^The reports belong to study"):
        STUDY.estimate(trusted=released, local=reports)
    question = STUDY.question(released)
    local = question.summarize_local(question.randomize(LOCAL))
    with pytest.raises(ProtocolError, match="give what release"):
        STUDY.estimate(trusted=STUDY.summarize_trusted(TRUSTED), local=local)
    with pytest.raises(ProtocolError, match="^The summary belongs to study"):
        STUDY.estimate(trusted=TRUSTED, local=other.discovery.summarize([1]))


def test_empty_and_small_groups_are_refused() -> None:
    released = _released()
    with pytest.raises(DataError, match="^The local group is empty. Pass single_group"):
        STUDY.estimate(trusted=released, local=None)
    with pytest.raises(DataError, match="^The local group is empty. Pass single_group"):
        STUDY.estimate(trusted=released, local=[])
    with pytest.raises(DataError, match="^The trusted group has 0 users; the study asks for 2"):
        STUDY.release([])
    with pytest.raises(DataError, match="^The trusted group has 1 user; the study asks for 2"):
        STUDY.release(["a"])
    with pytest.raises(DataError, match="^The local group has 1 user; the study asks for 2"):
        STUDY.estimate(trusted=released, local=[1])
    with pytest.raises(DataError, match="^Both groups are empty"):
        STUDY.estimate(trusted=None, local=None)
    with pytest.raises(DataError, match="^The trusted group is empty"):
        STUDY.estimate(trusted=None, local=[1, 2, 3])
    with pytest.raises(DataError, match="^The local group has 1 user"):
        STUDY.estimate(trusted=None, local=[1], single_group=True)
    alone = STUDY.estimate(trusted=released, local=None, single_group=True)
    assert alone.n_local == 0
    assert "single model" in alone.explain()


def test_lists_of_another_rule_are_refused() -> None:
    """A text with the digest of this study and the noise of a larger ε."""
    weaker = HeavyHitterStudy("words", epsilon=20, delta=1e-6)
    text = weaker.release(["a"] * 1000).to_json().replace(weaker.digest, STUDY.digest)
    changed = PrivateItems.from_json(text)
    with pytest.raises(ProtocolError, match="^The list was released by another rule"):
        STUDY.estimate(trusted=changed, local=None, single_group=True)
    with pytest.raises(ProtocolError, match="^The list was released by another rule"):
        STUDY.question(changed)


@pytest.mark.parametrize("n_users", [0, -5])
def test_lists_of_nobody_are_refused(n_users: int) -> None:
    text = STUDY.release(["a"] * 1000).to_json().replace('"n_users":1000', f'"n_users":{n_users}')
    with pytest.raises(ProtocolError, match="^The text does not describe a list"):
        PrivateItems.from_json(text)


def test_a_ledger_that_comes_too_late_is_refused() -> None:
    """Else an estimate that was given a ledger would be in none."""
    ledger = hdp.Ledger(Privacy(epsilon=10, delta=1e-3))
    with pytest.raises(ProtocolError, match="^The list was released without a ledger"):
        STUDY.estimate(trusted=STUDY.release(["a"] * 1000), local=None, single_group=True, ledger=ledger)
    assert ledger.events == ()
    released = STUDY.release(["a"] * 1000, ledger=ledger)
    assert STUDY.estimate(trusted=released, local=None, single_group=True, ledger=ledger).privacy.counted
    assert len(ledger.events) == 1
