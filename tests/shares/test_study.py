import json
from typing import Any

import pytest

import hybriddp as hdp
from hybriddp.channels import RandomizedResponse, UnaryEncoding
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


@pytest.mark.parametrize(
    "change",
    [
        {"categories": ["yes"]},
        {"categories": ["yes", "yes"]},
        {"categories": ["yes", 1]},
        {"categories": "yn"},
        {"categories": ["yes", "no", "maybe"]},
        {"other": 0},
        {"other": True},
        {"channel": json.loads(RandomizedResponse(epsilon=1, n_categories=3).to_json())},
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
        ("categories", {"categories": ["a"]}),
        ("categories", {"categories": "ab"}),
        ("other", {"other": 1}),
        ("categories", {"categories": ["a", "b", "(other)"]}),
        ("max_bytes", {"max_bytes": 0}),
        ("max_bytes", {"max_bytes": 1, "categories": range(300)}),
        ("max_bytes", {"max_bytes": 1, "channel": RandomizedResponse(epsilon=1, n_categories=2)}),
        ("channel", {"channel": RandomizedResponse(epsilon=1, n_categories=3)}),
        ("channel", {"channel": RandomizedResponse(epsilon=2, n_categories=2)}),
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


def test_long_studies_are_shown_shortly() -> None:
    study = FrequencyStudy("x" * 100, categories=[f"{i}" * 30 for i in range(5)], epsilon=1, other=True)
    assert len(repr(study)) < 200
    assert "[… 1,000 in all]" in repr(FrequencyStudy("x", categories=range(1000), other=False, epsilon=1))


# Reports


def test_there_is_no_report_for_what_is_missing_or_outside() -> None:
    with pytest.raises(DataError, match="1 of 3 are missing. Leave them out"):
        STUDY.randomize(["yes", None, "maybe"])
    with pytest.raises(DataError, match="1 of 2 are not. Leave them out, or ask with other=True"):
        STUDY.randomize(["yes", "maybe"])
    other = FrequencyStudy("x", categories=["yes", "no"], epsilon=1, other=True)
    assert len(other.randomize(["yes", "maybe"])) == 2
    assert other.names == ("yes", "no", OTHER)
