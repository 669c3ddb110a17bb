import json
from datetime import UTC, datetime

import pytest

from hybriddp import DistributionStudy, FrequencyStudy, HeavyHitterStudy, MeanStudy
from hybriddp.errors import BudgetError, DataError
from hybriddp.kmeans import KMeansStudy
from hybriddp.service.problems import Refusal
from hybriddp.service.routes.study_form import KINDS, StudyForm, offered, refused

NOW = int(datetime(2030, 1, 1, tzinfo=UTC).timestamp())
GOOD = {
    "kind": "mean",
    "name": "session minutes, week 47",
    "lower": "0",
    "upper": "240",
    "epsilon": "1",
    "organization": "Example Ltd",
    "purpose": "To make pages faster.",
    "contact": "privacy@example.org",
    "closes_at": "2030-02-01T12:00",
    "tokens": "yes",
}


POINTS = {"kind": "kmeans", "clusters": "3", "ranges": "0 10\n\n-1.5, 2,000\n"}


def test_a_form_says_what_the_route_s_body_says() -> None:
    form = StudyForm.read(GOOD | {"id": "minutes", "min_local": "1,000", "origins": "https://a.org\nhttps://b.org"})
    assert form.problems(NOW) == {}
    body = form.body()
    assert body.study == json.loads(MeanStudy(GOOD["name"], bounds=(0, 240), epsilon=1).to_json())
    assert (body.id, body.min_local, body.min_trusted, body.budget) == ("minutes", 1000, None, None)
    assert (body.tokens, body.open, body.single_group) == (True, True, False)
    assert body.origins == ["https://a.org", "https://b.org"]
    assert body.closes_at == datetime(2030, 2, 1, 12, tzinfo=UTC)
    boxes = StudyForm.read(
        GOOD | {"tokens": "no", "later": "yes", "single_group": "yes", "closes_at": "2030-02-01T12:00:30"}
    )
    assert (boxes.body().tokens, boxes.body().open, boxes.body().single_group) == (False, False, True)
    assert boxes.body().closes_at.second == 30


@pytest.mark.parametrize(
    ("field", "text"),
    [("epsilon", "0,5"), ("epsilon", "1,5"), ("lower", "-0,5"), ("upper", "1,5"), ("upper", "1.000,5")],
)
def test_a_decimal_comma_is_never_dropped(field: str, text: str) -> None:
    wrong = StudyForm.read(GOOD | {field: text}).problems(NOW)
    assert list(wrong) == [field]
    assert "after a point" in wrong[field]


def test_no_number_of_people_or_bound_of_a_point_has_a_decimal_comma() -> None:
    assert list(StudyForm.read(GOOD | {"min_local": "2,5"}).problems(NOW)) == ["min_local"]
    assert list(StudyForm.read(GOOD | POINTS | {"clusters": "1,2"}).problems(NOW)) == ["clusters"]
    assert list(StudyForm.read(GOOD | POINTS | {"ranges": "0 1,5"}).problems(NOW)) == ["ranges"]


@pytest.mark.parametrize("text", ["2030-02-01T12", "20300201T1200", "2030-02-01 12:00", "2030-W05-5T12:00"])
def test_a_time_may_be_written_in_other_ways(text: str) -> None:
    form = StudyForm.read(GOOD | {"closes_at": text})
    assert form.problems(NOW) == {}
    assert form.body().closes_at == datetime(2030, 2, 1, 12, tzinfo=UTC)


def test_categories_stand_on_lines() -> None:
    form = StudyForm.read(
        GOOD | {"kind": "frequency", "categories": "Firefox\n\n Safari \n", "other": "yes", "lower": "x"}
    )
    assert form.problems(NOW) == {}
    assert form.body().study["categories"] == ["Firefox", "Safari"]
    assert form.body().study["other"] is True
    for names, other, expected in (("a\nb", "", False), ("a\nb\nc", "", True), ("a\nb\nc", "no", False)):
        form = StudyForm.read(GOOD | {"kind": "frequency", "categories": names, "other": other})
        assert form.body().study["other"] is expected


def test_quantiles_have_a_scale() -> None:
    form = StudyForm.read(GOOD | {"kind": "distribution", "scale": "log"})
    assert form.problems(NOW) == {}
    assert (form.body().study["type"], form.body().study["scale"]) == ("distribution", {"log": 1000.0})


def test_every_kind_is_the_study_that_its_class_makes() -> None:
    assert set(offered()) <= set(KINDS)
    made: dict[str, MeanStudy | DistributionStudy | FrequencyStudy | HeavyHitterStudy] = {
        "mean": MeanStudy(GOOD["name"], bounds=(0, 240), epsilon="0.5"),
        "distribution": DistributionStudy(GOOD["name"], bounds=(0, 240), epsilon="0.5"),
        "frequency": FrequencyStudy(GOOD["name"], categories=["a", "b"], epsilon="0.5"),
        "heavy-hitters": HeavyHitterStudy(GOOD["name"], epsilon="0.5", delta="0.00001"),
    }
    typed = GOOD | {"epsilon": "0.5", "delta": "0.00001", "categories": "a\nb"}
    for kind, study in made.items():
        form = StudyForm.read(typed | {"kind": kind})
        assert form.problems(NOW) == {}
        assert form.body().study == json.loads(study.to_json())


def test_items_need_a_delta() -> None:
    items = GOOD | {"kind": "heavy-hitters", "lower": "x"}
    assert StudyForm.new(items, NOW).body().study["delta"] == "0.000001"
    for delta in ("0", "1", "", "none"):
        assert set(StudyForm.read(items | {"delta": delta}).problems(NOW)) == {"delta"}


def test_bounds_of_points_stand_on_lines() -> None:
    form = StudyForm.read(GOOD | POINTS | {"lower": "x"})
    assert form.problems(NOW) == {}
    study = KMeansStudy(GOOD["name"], n_clusters=3, bounds=[(0, 10), (-1.5, 2000)], epsilon=1)
    assert (form.body().study, form.body().dimensions) == (json.loads(study.to_json()), [])
    named = StudyForm.read(GOOD | POINTS | {"ranges": "0 10 hour of the day\n-1.5, 2,000 spent, in $"})
    assert named.problems(NOW) == {}
    assert named.body().dimensions == ["hour of the day", "spent, in $"]


def test_rounds_may_follow_by_themselves() -> None:
    timed = StudyForm.read(GOOD | POINTS | {"round_hours": "1.5", "release_at_end": "yes"})
    assert timed.problems(NOW) == {}
    assert (timed.body().round_hours, timed.body().release_at_end) == (1.5, True)
    by_hand = StudyForm.read(GOOD | POINTS).body()
    assert (by_hand.round_hours, by_hand.release_at_end) == (None, False)
    mean = StudyForm.read(GOOD | {"round_hours": "none", "release_at_end": "yes"})
    assert mean.problems(NOW) == {}
    assert (mean.body().round_hours, mean.body().release_at_end) == (None, False)


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"name": ""}, "name", "a text that says what is asked"),
        ({"lower": ""}, "lower", "A number is needed."),
        ({"upper": "ten"}, "upper", "A number is needed."),
        ({"upper": "-1"}, "upper", "above the lower bound"),
        ({"epsilon": "30"}, "epsilon", "from 0.01 to 20"),
        ({"organization": " "}, "organization", "This is needed."),
        ({"purpose": "x" * 2001}, "purpose", "1 to 2,000 characters"),
        ({"closes_at": ""}, "closes_at", "This is needed."),
        ({"closes_at": "tomorrow"}, "closes_at", "a day and a time"),
        ({"closes_at": "2029-12-31T23:59"}, "closes_at", "in the future"),
        ({"closes_at": "2030-02-01T12:00+01:00"}, "closes_at", "without a time zone"),
        ({"id": "No!"}, "id", "lowercase letters"),
        ({"min_trusted": "0.5"}, "min_trusted", "a whole number"),
        ({"min_local": "1"}, "min_local", "at least 2"),
        ({"budget": "-"}, "budget", "a letter or digit first"),
        ({"budget": "2030", "tokens": "no"}, "budget", "needs tokens"),
        ({"origins": "example.org"}, "origins", "at most 32 origins"),
        ({"kind": "frequency", "categories": "one"}, "categories", "At least two"),
        ({"kind": "frequency", "categories": "a\na"}, "categories", "must be"),
        ({"kind": "frequency", "categories": "\n".join(map(str, range(5000)))}, "categories", "4,096"),
        (POINTS | {"clusters": ""}, "clusters", "A whole number is needed."),
        (POINTS | {"clusters": "2.5"}, "clusters", "A whole number is needed."),
        (POINTS | {"clusters": "0"}, "clusters", "from 1"),
        (POINTS | {"ranges": " \n"}, "ranges", "At least one line"),
        (POINTS | {"ranges": "0 10\n5"}, "ranges", "two numbers"),
        (POINTS | {"ranges": "0 ten"}, "ranges", "two numbers"),
        (POINTS | {"ranges": "0 10 hour\n0 1"}, "ranges", "each has another one"),
        (POINTS | {"ranges": "0 10 hour\n0 1 hour"}, "ranges", "each has another one"),
        (POINTS | {"ranges": "0 10 hour\n0 1 Hour"}, "ranges", "each has another one"),
        (POINTS | {"ranges": "0 10 hour\n0 1 h\N{RIGHT-TO-LEFT OVERRIDE}"}, "ranges", "a readable text"),
        (POINTS | {"ranges": f"0 10 {'x' * 2001}"}, "ranges", "at most 100 characters"),
        (POINTS | {"ranges": "10 0"}, "ranges", "the lower bound before"),
        (POINTS | {"tokens": "no"}, "kind", "needs people with a token"),
        (POINTS | {"round_hours": "a day"}, "round_hours", "from 0.01 to 8,760"),
        (POINTS | {"round_hours": "0"}, "round_hours", "from 0.01 to 8,760"),
        (POINTS | {"release_at_end": "yes"}, "round_hours", "is needed"),
    ],
)
def test_each_field_is_told_what_is_wrong_with_it(changes: dict[str, str], field: str, words: str) -> None:
    form = StudyForm.read(GOOD | changes)
    found = form.problems(NOW)
    assert list(found) == [field]
    assert words in found[field]


def test_all_that_is_wrong_is_said_at_once() -> None:
    found = StudyForm.read({}).problems(NOW)
    assert {"organization", "purpose", "contact", "closes_at", "lower"} <= set(found)


def test_an_address_fills_the_form_in() -> None:
    form = StudyForm.new({"kind": "mean", "upper": "50", "epsilon": "", "password": "x"}, NOW)
    assert (form.texts["upper"], form.texts["epsilon"]) == ("50", "1")
    assert form.texts["closes_at"] == "2030-01-15T00:00"
    assert "password" not in form.texts
    assert StudyForm.read({"kind": "unknown", "tokens": "no"}).texts["kind"] == "mean"


def test_a_kind_that_the_server_does_not_know_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybriddp.service.routes.study_form.known_kinds", lambda: frozenset({"mean"}))
    assert list(offered()) == ["mean"]
    assert StudyForm.read(GOOD | {"kind": "frequency"}).problems(NOW) == {
        "kind": "This server does not know such studies."
    }


def test_what_the_database_refuses_belongs_to_a_field() -> None:
    assert refused(Refusal("refused", "Taken.", field="id")) == {"id": "Taken."}
    assert refused(BudgetError("Too much.")) == {"budget": "Too much."}
    assert refused(DataError("Full.")) == {"": "Full."}


def test_a_mean_may_have_parts_and_other_kinds_ignore_the_fields() -> None:
    typed = GOOD | {"part_by": "country", "part_names": " DE\n\nFR \nother"}
    form = StudyForm.read(typed)
    assert form.problems(NOW) == {}
    parts = form.body().parts
    assert parts is not None
    assert (parts.by, parts.names) == ("country", ["DE", "FR", "other"])
    assert StudyForm.read(GOOD).body().parts is None
    assert StudyForm.read(typed | {"kind": "distribution"}).body().parts is None


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"part_by": ""}, "part_by", "a readable text"),
        ({"part_names": "DE"}, "part_names", "a list of 2 to 300 names"),
        ({"part_names": "DE\nde"}, "part_names", "DE and de are the same"),
        ({"tokens": "no"}, "part_names", "Parts need tokens"),
    ],
)
def test_parts_that_are_wrong_say_so_beside_their_field(changes: dict[str, str], field: str, words: str) -> None:
    problems = StudyForm.read(GOOD | {"part_by": "country", "part_names": "DE\nFR"} | changes).problems(NOW)
    assert list(problems) == [field]
    assert words in problems[field]
