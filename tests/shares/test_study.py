import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hybriddp as hdp
from hybriddp.channels import ChoiceResponse, RandomizedResponse, UnaryEncoding, WindowChannel
from hybriddp.channels.hashing import LocalHashing
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.release import Part
from hybriddp.shares import OTHER, FrequencyStudy

STUDY = FrequencyStudy("opened the app", categories=["yes", "no"], epsilon=1.0)


# The study as a value


def test_a_yes_no_question_is_as_short_as_a_mean() -> None:
    study = hdp.FrequencyStudy("opened the app", categories=["yes", "no"], epsilon=1.0)
    assert study == STUDY
    assert isinstance(study.channel, RandomizedResponse)
    assert study.names == ("yes", "no")
    assert repr(study) == "FrequencyStudy('opened the app', categories=['yes', 'no'], epsilon='1')"


STUDIES = [
    STUDY,
    FrequencyStudy("x", categories=[3, -1, 2**53 - 1], epsilon="0.25", other=True, min_group_size=7),
    FrequencyStudy("Grüße 你好", categories=["ä", "日本", "🙂", '"', "\\"], other=False, epsilon=2),
    FrequencyStudy("x", categories=range(12), other=False, epsilon="0.5"),
    FrequencyStudy("x", categories=range(30), other=False, epsilon=1),
    FrequencyStudy("x", categories=range(30), other=False, epsilon=1, max_bytes=2),
    FrequencyStudy("x", categories=range(1000), other=False, epsilon=1).part("country", "DE"),
]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: f"{study.channel.kind} {study.name}")
def test_text_and_study_are_inverses(study: FrequencyStudy) -> None:
    again = FrequencyStudy.from_json(study.to_json())
    assert again == study
    assert (again.digest, again.names, hash(again)) == (study.digest, study.names, hash(study))
    assert copy.deepcopy(study) == pickle.loads(pickle.dumps(study)) == study  # noqa: S301
    reports = again.randomize(study.categories, random_state=1)
    assert reports == study.randomize(study.categories, random_state=1)


def test_everything_that_matters_is_in_the_digest() -> None:
    base: dict[str, Any] = {"name": "x", "categories": ["a", "b", "c"], "other": False, "epsilon": 1}
    changes: list[dict[str, Any]] = [
        {},
        {"name": "y"},
        {"categories": ["a", "c", "b"]},
        {"categories": ["a", "b", "d"]},
        {"epsilon": 2},
        {"other": True},
        {"min_group_size": 3},
        {"channel": UnaryEncoding(epsilon=1, n_categories=3)},
        {"users": Part("country", "DE")},
    ]
    digests = [FrequencyStudy(**{**base, **change}).digest for change in changes]
    assert len(set(digests)) == len(changes)
    assert FrequencyStudy(**{**base, "epsilon": "1.0"}).digest == digests[0]
    texts, numbers = (FrequencyStudy("x", categories=c, other=False, epsilon=1) for c in (["1", "2"], [1, 2]))
    assert texts.digest != numbers.digest


def _text(**changes: object) -> str:
    return json.dumps({**json.loads(STUDY.to_json()), **changes}, separators=(",", ":"))


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"name":"x"}', "[" * 200_000, '{"type":"mean"}'])
def test_what_is_no_study_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError, match="does not describe a study of frequencies"):
        FrequencyStudy.from_json(text)


@pytest.mark.parametrize(
    "change",
    [
        {"categories": ["yes"]},
        {"categories": ["yes", "yes"]},
        {"categories": ["yes", 1]},
        {"categories": "yn"},
        {"categories": ["yes", "no", "maybe"]},
        {"epsilon": "0.5"},
        {"epsilon": 1},
        {"other": 0},
        {"other": True},
        {"min_group_size": 0},
        {"min_group_size": 2.0},
        {"users": {"by": "country"}},
        {"users": {"by": "country", "key": ""}},
        {"type": "mean"},
        {"version": 2},
        {"more": 1},
        {"channel": {}},
        {"channel": json.loads(RandomizedResponse(epsilon=1, n_categories=3).to_json())},
        {"channel": json.loads(WindowChannel(epsilon=1).to_json())},
        {"channel": {**json.loads(STUDY.channel.to_json()), "low": 1155094609, "extra": 1984778078}},
    ],
    ids=str,
)
def test_a_changed_text_is_refused(change: dict[str, object]) -> None:
    assert FrequencyStudy.from_json(_text()) == STUDY
    with pytest.raises(ProtocolError):
        FrequencyStudy.from_json(_text(**change))


def test_a_text_has_one_form() -> None:
    for text in (STUDY.to_json() + " ", STUDY.to_json().replace('"yes"', '"\\u0079es"')):
        with pytest.raises(ProtocolError, match="form that studies are written in"):
            FrequencyStudy.from_json(text)
    twice = STUDY.to_json().replace('"other":false', '"other":false,"other":false')
    with pytest.raises(ProtocolError, match="does not describe"):
        FrequencyStudy.from_json(twice)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "a\nb"}),
        ("categories", {"categories": ["a"]}),
        ("categories", {"categories": "ab"}),
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": None}),
        ("other", {"other": 1}),
        ("categories", {"categories": ["a", "b", "(other)"]}),
        ("min_group_size", {"min_group_size": 0}),
        ("max_bytes", {"max_bytes": 0}),
        ("max_bytes", {"max_bytes": 1, "categories": range(300)}),
        ("max_bytes", {"max_bytes": 1, "channel": RandomizedResponse(epsilon=1, n_categories=2)}),
        ("channel", {"channel": RandomizedResponse(epsilon=1, n_categories=3)}),
        ("channel", {"channel": RandomizedResponse(epsilon=2, n_categories=2)}),
        ("channel", {"channel": "response"}),
        ("users", {"users": "DE"}),
    ],
)
def test_bad_parameters_are_named(name: str, change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as caught:
        FrequencyStudy(**{"name": "x", "categories": ["a", "b"], "epsilon": 1, **change})
    assert caught.value.name == name


def test_three_categories_have_other_items_and_two_do_not() -> None:
    two, three = (FrequencyStudy("x", categories=list(names), epsilon=1) for names in ("ab", "abc"))
    assert (two.other, three.other, three.names[-1]) == (False, True, "(other)")
    assert three.summarize_trusted(["a", "z"]).outside == 0
    for study, other in ((two, True), (three, False)):
        asked = FrequencyStudy("x", categories=study.categories, other=other, epsilon=1)
        assert asked.digest != study.digest
        assert f", other={other})" in repr(asked)
        assert FrequencyStudy.from_json(asked.to_json()) == asked
    with pytest.raises(ProtocolError):
        FrequencyStudy.from_json(three.to_json().replace('"other":true', '"other":null'))


def test_a_study_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        STUDY.name = "x"  # type: ignore[misc]


def test_long_studies_are_shown_shortly() -> None:
    study = FrequencyStudy("x" * 100, categories=[f"{i}" * 30 for i in range(5)], epsilon=1, other=True)
    assert len(repr(study)) < 200
    assert "[… 1,000 in all]" in repr(FrequencyStudy("x", categories=range(1000), other=False, epsilon=1))


# Reports


def test_every_kind_of_channel_is_chosen_for_some_study() -> None:
    kinds = [type(study.channel) for study in STUDIES]
    assert {RandomizedResponse, ChoiceResponse, UnaryEncoding, LocalHashing} <= set(kinds)


def test_reports_know_their_study_and_their_seed() -> None:
    reports = STUDY.randomize(["yes", "no", "yes"])
    assert (len(reports), reports.study, reports.seeded) == (3, STUDY.digest, False)
    assert STUDY.randomize(["yes"], random_state=1).seeded
    assert len(STUDY.randomize("yes")) == 1
    assert len(STUDY.randomize([])) == 0


def test_there_is_no_report_for_what_is_missing_or_outside() -> None:
    with pytest.raises(DataError, match="1 of 3 are missing. Leave them out"):
        STUDY.randomize(["yes", None, "maybe"])
    with pytest.raises(DataError, match="1 of 2 are not. Leave them out, or ask with other=True"):
        STUDY.randomize(["yes", "maybe"])
    other = FrequencyStudy("x", categories=["yes", "no"], epsilon=1, other=True)
    assert len(other.randomize(["yes", "maybe"])) == 2
    assert other.names == ("yes", "no", OTHER)


@given(st.lists(st.sampled_from(["yes", "no"])), st.integers(0, 5))
def test_seeds_repeat_reports(items: list[str], seed: int) -> None:
    assert STUDY.randomize(items, random_state=seed) == STUDY.randomize(np.array(items, "U3"), random_state=seed)
