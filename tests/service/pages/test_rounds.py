"""Rounds on the operator's page."""

from typing import Any

import pytest

from hybriddp.kmeans import KMeansStudy
from hybriddp.service.pages.operator import study_page
from hybriddp.service.pages.rounds import round_rows
from tests.service.pages.test_operator import EVIL, Read, document

STUDY = KMeansStudy("visits", n_clusters=2, bounds=[(0, 24)], epsilon=1)
ROUNDS = [
    {"number": 1, "purpose": "a grid", "user_fraction": "1/2", "closes_at": "2030-01-31T12:00:00Z"}
    | {"asked_about": 500, "answered": 411},
    {"number": 2, "purpose": EVIL, "user_fraction": "1/4", "closes_at": "2030-02-01T12:00:00Z"}
    | {"asked_about": 250, "answered": 7},
]
ENDED = [{"name": "rounds", "state": "released"}, {"name": "release", "state": "pending"}]


def visits(**changes: object) -> dict[str, Any]:
    steps = [{"name": "rounds", "state": "pending"}, {"name": "release", "state": "pending"}]
    told: dict[str, object] = {"kind": "kmeans", "text": STUDY.to_json(), "digest": STUDY.digest, "steps": steps}
    return document(**told | {"rounds": [], "round": None, "round_hours": None, "release_at_end": False} | changes)


def page(study: dict[str, Any], **more: Any) -> Read:
    return Read(study_page(study, form_token="t", **more))  # noqa: S106


def test_each_round_in_numbers() -> None:
    study = visits(state="asking", rounds=ROUNDS, round={**ROUNDS[1], "digest": "0" * 64})
    refused = {(1, "late"): 3, (2, "early"): 1_200}
    first, second = round_rows(study, refused)
    assert first == ["1", "a grid", "2030-01-31 12:00", "about 500", "411", "about 89", "3", "0"]
    assert second[3:] == ["about 250", "7", "about 243 so far", "0", "1,200"]
    shown = page(study, round_rejections=refused)
    assert all(words in shown.words for words in ("about 500", "about 243 so far", EVIL))
    assert shown.tags.count("script") <= 1  # the page's own
    assert "Enrollmentclosed" in shown.words
    assert "of the local group" in shown.words
    assert "End the round" in shown.words
    assert ("value", "2") in shown.attributes  # the round that the button ends
    assert "Close enrollment" in page(visits(state="open")).words


def test_more_answers_than_expected_are_none_missing() -> None:
    study = visits(state="closed", rounds=[{**ROUNDS[0], "answered": 520}])
    assert round_rows(study, {})[0][4:6] == ["520", "about 0"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "open"}, "Enrollmentopen: people can join and leave"),
        ({"state": "open"}, "No round has been published yet"),
        ({"state": "closed"}, "Nobody can join or leave any more"),
        ({"state": "closed"}, "Next stepby hand"),
        ({"state": "closed", "rounds": ROUNDS[:1]}, "Roundended"),
        ({"state": "closed", "rounds": ROUNDS[:1], "steps": ENDED, "round_hours": 24.0}, "Next steprelease it"),
        ({"round_hours": 24.0}, "by itself, a round every 24 hours; after the last one the study waits for you"),
        ({"round_hours": 1.0}, "a round every 1 hour;"),
        ({"round_hours": 0.25, "release_at_end": True}, "every 15 minutes; after the last one the study is released"),
    ],
)
def test_what_is_next(changes: dict[str, object], words: str) -> None:
    assert words in page(visits(**changes)).words


def test_the_next_round_is_published_by_a_button() -> None:
    shown = page(visits(state="closed", round_hours=48.0))
    assert "Publish the next round" in shown.words
    assert ("value", "48") in shown.attributes
    assert any(value.endswith("/round") for value in shown.all("action"))
    last = page(visits(state="closed", rounds=ROUNDS, steps=ENDED))
    assert "the last one has been counted" in last.words
    assert any(value.endswith("/release") for value in last.all("action"))
    assert "Publish the next round" not in last.words


def test_what_stops_a_study() -> None:
    short = page(visits(state="closed"), obstacle="The local group has 1 of the 2 contributions.")
    assert "It cannot go on. The local group has 1 of the 2 contributions." in short.words
    failed = page(visits(state="closed", round_hours=24.0), trouble="The disk is full.")
    assert "The next step failed, and will be tried again by itself. The disk is full." in failed.words


def test_other_studies_have_no_rounds() -> None:
    assert "Rounds" not in page(document()).words
    assert "Enrollment" not in page(document()).words
    assert "Rounds" not in page(visits(state="withdrawn")).words
