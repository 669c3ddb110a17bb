"""Public parts of a study's users: which lists of names are taken, and which part a name means."""

import json

import pytest

from hybriddp.errors import ParameterError, ProtocolError
from hybriddp.study.users import MOST_PARTS, StudyParts, is_part_name

COUNTRIES = StudyParts("country", ["DE", "FR", "other"])


def test_a_name_means_the_part_at_its_place() -> None:
    assert [COUNTRIES.position(name) for name in COUNTRIES.names] == [0, 1, 2]
    assert [COUNTRIES.position(name) for name in ("de", "DE ", "", None, 0, ["DE"])] == [None] * 6


def test_two_spellings_of_a_letter_are_one_name() -> None:
    cities = StudyParts("city", ["K\u00f6ln", "Paris"])
    assert cities.position("Ko\u0308ln") == cities.position("K\u00f6ln") == 0


def test_texts_and_plain_values_give_the_same_parts() -> None:
    assert StudyParts.from_json(COUNTRIES.to_json()) == COUNTRIES == StudyParts.from_dict(COUNTRIES.to_dict())
    assert json.loads(COUNTRIES.to_json()) == {"by": "country", "names": ["DE", "FR", "other"]}


def test_many_names_are_cut_short_in_words() -> None:
    assert COUNTRIES.listed() == "DE, FR, other"
    assert StudyParts("n", [f"n{i}" for i in range(15)]).listed().endswith(", n11 and 3 more")


@pytest.mark.parametrize("count", [2, MOST_PARTS])
def test_as_many_parts_as_there_may_be(count: int) -> None:
    assert len(StudyParts("number", [str(i) for i in range(count)]).names) == count


@pytest.mark.parametrize("names", [[], ["DE"], [str(i) for i in range(MOST_PARTS + 1)], "DE", None, {"DE": 1, "FR": 2}])
def test_too_few_or_too_many_names(names: object) -> None:
    with pytest.raises(ParameterError, match=f"names must be a list of 2 to {MOST_PARTS} names"):
        StudyParts("country", names)


@pytest.mark.parametrize("name", ["", " ", " DE", "DE\n", "D  E", "D\u00a0E", "D\u202eE", "x" * 101, 7, None, "\ud800"])
def test_what_is_no_name(name: object) -> None:
    assert not is_part_name(name)
    with pytest.raises(ParameterError, match="names must be a readable text of at most 100 characters"):
        StudyParts("country", ["DE", name])  # type: ignore[list-item]
    with pytest.raises(ParameterError, match="by must be a readable text"):
        StudyParts(name, ["DE", "FR"])


@pytest.mark.parametrize(("one", "other"), [("DE", "DE"), ("DE", "de"), ("1", "01"), ("\uff21", "A")])
def test_names_that_a_ledger_takes_for_one(one: str, other: str) -> None:
    with pytest.raises(ParameterError, match="the same to a ledger"):
        StudyParts("country", [one, other])


@pytest.mark.parametrize(
    "fields", [None, [], {}, {"by": "x"}, {"by": "x", "names": ["a"]}, {"by": "x", "names": ["a", "b"], "c": 1}]
)
def test_plain_values_that_are_no_parts(fields: object) -> None:
    with pytest.raises(ProtocolError, match="parts of"):
        StudyParts.from_dict(fields)
