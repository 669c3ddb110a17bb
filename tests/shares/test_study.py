import json
from typing import Any

import pytest

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
    FrequencyStudy("Grüße 你好", categories=["ä", "日本", "🙂", '"', "\\"], epsilon=2),
    FrequencyStudy("x", categories=range(12), epsilon="0.5"),
    FrequencyStudy("x", categories=range(30), epsilon=1),
    FrequencyStudy("x", categories=range(30), epsilon=1, max_bytes=2),
    FrequencyStudy("x", categories=range(1000), epsilon=1).part("country", "DE"),
]


def test_everything_that_matters_is_in_the_digest() -> None:
    base: dict[str, Any] = {"name": "x", "categories": ["a", "b", "c"], "epsilon": 1}
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
    texts, numbers = (FrequencyStudy("x", categories=c, epsilon=1) for c in (["1", "2"], [1, 2]))
    assert texts.digest != numbers.digest


def _text(**changes: object) -> str:
    return json.dumps({**json.loads(STUDY.to_json()), **changes}, separators=(",", ":"))


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


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "a\nb"}),
        ("categories", {"categories": ["a"]}),
        ("categories", {"categories": "ab"}),
        ("epsilon", {"epsilon": 0}),
        ("epsilon", {"epsilon": None}),
        ("other", {"other": None}),
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


def test_long_studies_are_shown_shortly() -> None:
    study = FrequencyStudy("x" * 100, categories=[f"{i}" * 30 for i in range(5)], epsilon=1, other=True)
    assert len(repr(study)) < 200
    assert "[… 1,000 in all]" in repr(FrequencyStudy("x", categories=range(1000), epsilon=1))


# Reports


def test_every_kind_of_channel_is_chosen_for_some_study() -> None:
    kinds = [type(study.channel) for study in STUDIES]
    assert {RandomizedResponse, ChoiceResponse, UnaryEncoding, LocalHashing} <= set(kinds)


def test_there_is_no_report_for_what_is_missing_or_outside() -> None:
    with pytest.raises(DataError, match="1 of 3 are missing. Leave them out"):
        STUDY.randomize(["yes", None, "maybe"])
    with pytest.raises(DataError, match="1 of 2 are not. Leave them out, or ask with other=True"):
        STUDY.randomize(["yes", "maybe"])
    other = FrequencyStudy("x", categories=["yes", "no"], epsilon=1, other=True)
    assert len(other.randomize(["yes", "maybe"])) == 2
    assert other.names == ("yes", "no", OTHER)
