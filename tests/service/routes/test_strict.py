"""What is told to whoever sends a body that cannot be read: the place and the rule, and nothing of what they sent."""

import json
from typing import Any, get_type_hints

import pytest

from hybriddp.service.problems import Refusal
from hybriddp.service.routes.strict import read_batch, read_body, rule_of
from hybriddp.service.routes.wire import (
    BODIES,
    BatchedReport,
    NewAnswer,
    NewBatch,
    NewBudget,
    NewRelay,
    NewReport,
    NewStudy,
    NewValue,
)
from tests.service.attacking import AWKWARD, NONCE, Target, new_target, refused
from tests.service.running import CLOSES, CONSENT, Running

DIGEST = "a" * 64
STUDY: dict[str, Any] = {"study": {}, "consent": CONSENT, "closes_at": CLOSES}
REPORT: dict[str, Any] = {"digest": DIGEST, "code": 7, "nonce": NONCE}
VALUE: dict[str, Any] = {"digest": DIGEST, "value": 7.5, "nonce": NONCE}
ANSWER: dict[str, Any] = {"round": DIGEST, "ask": 0, "variant": 0, "code": 7, "nonce": NONCE, "enrollment_nonce": NONCE}
ITEM: dict[str, Any] = {"participant": "a", "code": 7, "nonce": NONCE}
SECRET = "p4tient"  # noqa: S105


def told(body: object, wanted: type, read: Any = read_body) -> str:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(Refusal) as refusal:
        read(content, wanted) if read is read_body else read(content)
    assert refusal.value.reason == "malformed"
    return str(refusal.value)


@pytest.mark.parametrize(
    ("body", "wanted", "words"),
    [
        ({}, NewStudy, "At $.study: required."),
        (STUDY | {"id": "Sleep_2"}, NewStudy, "At $.id: 1 to 64 lowercase letters, digits and hyphens"),
        (STUDY | {"id": ""}, NewStudy, "At $.id: 1 to 64 lowercase"),
        (STUDY | {"closes_at": "2099-01-01T00:00:00"}, NewStudy, "At $.closes_at: a time with a time zone"),
        (STUDY | {"closes_at": "tomorrow"}, NewStudy, "At $.closes_at: a time with a time zone"),
        (STUDY | {SECRET: 1}, NewStudy, "At $: an unknown field. Known are study, consent, closes_at, id,"),
        (STUDY | {"consent": {"organization": "x"}}, NewStudy, "At $.consent.purpose: required."),
        (STUDY | {"consent": CONSENT | {SECRET: 1}}, NewStudy, "At $.consent: an unknown field. Known are organ"),
        (STUDY | {"consent": CONSENT | {"contact": ""}}, NewStudy, "At $.consent.contact: a text of 1 to 2,000"),
        (STUDY | {"min_trusted": -1}, NewStudy, "At $.min_trusted: a whole number from 1 to"),
        (STUDY | {"min_local": 1.5}, NewStudy, "At $.min_local: int | null is needed, not float (a whole number"),
        (STUDY | {"origins": ["https://a.org", f"{SECRET}/"]}, NewStudy, "At $.origins[1]: an origin such as https:"),
        (STUDY | {"origins": ["https://a.org"] * 33}, NewStudy, "At $.origins: at most 32 origins"),
        (STUDY | {"tokens": "yes"}, NewStudy, "At $.tokens: bool is needed, not str."),
        (STUDY | {"study": SECRET}, NewStudy, "At $.study: object is needed, not str."),
        ([STUDY], NewStudy, "At $: object is needed, not array."),
        ({"digest": DIGEST, "code": 7}, NewReport, "At $.nonce: required."),
        (REPORT | {"nonce": SECRET}, NewReport, "At $.nonce: a nonce, 128 random bits as 32 hexadecimal digits"),
        (REPORT | {"nonce": "G" * 32}, NewReport, "At $.nonce: a nonce"),
        (REPORT | {"digest": SECRET}, NewReport, "At $.digest: the study's digest, a SHA-256"),
        (REPORT | {"value": 1}, NewReport, "At $: an unknown field. Known are digest, code, nonce."),
        (VALUE | {"value": [SECRET]}, NewValue, "At $.value[0]: float is needed, not str."),
        (VALUE | {"value": [1.0] * 257}, NewValue, "At $.value: a number, a category of at most 1,000 characters, or"),
        (
            VALUE | {"value": {"a": SECRET}},
            NewValue,
            "At $.value: float | str | array is needed, not object (a number, a category",
        ),
        (ANSWER | {"code": 1.5}, NewAnswer, "At $.code: int | str is needed, not float (a whole number, or hexa"),
        (ANSWER | {"variant": -1}, NewAnswer, "At $.variant: a whole number from 0 to below 2^31"),
        ({"digest": DIGEST, "reports": [ITEM | {"nonce": "1"}]}, NewBatch, "At $.reports[0].nonce: a nonce"),
        ({"name": "_"}, NewRelay, "At $.name: 1 to 64 letters, digits, spaces"),
        ({"name": "a", "epsilon": 0.5}, NewBudget, "At $.epsilon: str is needed, not float (a number as a text"),
        (b'{"digest":"x","code":1e400,"nonce":"y"}', NewReport, ""),
        (b'{"digest":"x","digest":"x"}', NewReport, "A key stands twice"),
    ],
)
def test_the_place_and_the_rule_are_told(body: object, wanted: type, words: str) -> None:
    said = told(body, wanted)
    assert words in said
    assert SECRET not in said
    assert "regex" not in said


def test_a_number_beyond_all_numbers() -> None:
    body = json.dumps(VALUE).replace("7.5", "1e999").encode()
    assert "At $.value: a number, a category of at most 1,000 characters, or a point of" in told(body, NewValue)


@pytest.mark.parametrize("name", [*AWKWARD, "x` - at `$.patient", "x` - at `$.reports[0].patient", "x` - at `$.code"])
def test_the_name_of_an_unknown_field_is_not_told(name: str) -> None:
    said = told(REPORT | {name: 1}, NewReport)
    assert "an unknown field" in said
    assert "patient" not in said
    assert name.strip() == "" or name not in said


def test_every_rule_of_a_text_or_number_has_words() -> None:
    for body in BODIES:
        for name, kind in get_type_hints(body, include_extras=True).items():
            assert rule_of(kind) or name in (
                "study",
                "consent",
                "parts",
                "tokens",
                "single_group",
                "open",
                "release_at_end",
                "code",
                "value",
            )


# Batches

WRONG: tuple[object, ...] = (
    ITEM | {"nonce": "12"},
    ITEM | {"participant": ""},
    ITEM | {"participant": "\ud800"},
    ITEM | {"value": 1.5},
    ITEM | {"code": "7"},
    ITEM | {"code": 7.0},
    ITEM | {"code": True},
    {"participant": "a"},
    [],
    "a",
    None,
    7,
)


def test_a_batch_that_is_right_is_read_alike() -> None:
    body = json.dumps({"digest": DIGEST, "reports": [ITEM, ITEM]}).encode()
    assert read_batch(body) == read_body(body, NewBatch) == NewBatch(DIGEST, [BatchedReport("a", 7, NONCE)] * 2)


def test_reports_of_a_batch_are_read_one_by_one() -> None:
    body = json.dumps({"digest": DIGEST, "reports": [ITEM, *WRONG, ITEM]}).encode()
    right = BatchedReport("a", 7, NONCE)
    assert read_batch(body).reports == [right, *([None] * len(WRONG)), right]
    for number in ("9" * 5000, "1e400", '7,"code":8'):
        body = (
            json.dumps({"digest": DIGEST, "reports": [ITEM, ITEM]}).replace('"code": 7', f'"code":{number}', 1).encode()
        )
        assert read_batch(body).reports == [None, right]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"digest": "x", "reports": [ITEM, None]}, "At $.digest: the study's digest"),
        ({"reports": [ITEM, None]}, "At $.digest: required"),
        ({"digest": DIGEST, "reports": []}, "At $.reports: an array of at least one report is needed"),
        ({"digest": DIGEST, "reports": 7}, "At $.reports: array is needed, not int"),
        ({"digest": DIGEST}, "At $.reports: required"),
        ({"digest": DIGEST, "reports": [{}], SECRET: 1}, "At $: an unknown field. Known are digest, reports."),
        ([], "At $: object is needed, not array"),
        (b'{"digest":"a","digest":"b","reports":[{}]}', "A key stands twice"),
        (b'{"digest":"a","reports":[NaN]}', "NaN and Infinity are no JSON"),
        (b'{"digest":"a","reports":[{}', "one JSON object"),
    ],
)
def test_what_is_no_batch_is_refused(body: object, words: str) -> None:
    said = told(body, NewBatch, read_batch)
    assert words in said
    assert SECRET not in said


@pytest.fixture(scope="module")
def target(kept_server: Running) -> Target:
    return new_target(kept_server)


def test_a_study_that_cannot_be_read(target: Target) -> None:
    answer = target.server.create(target.study, "other", min_trusted=-1)
    assert refused(answer) == "malformed"
    assert "At $.min_trusted: a whole number" in answer.json()["detail"]


def test_a_malformed_report_does_not_spoil_its_batch(target: Target) -> None:
    reports = [ITEM | {"participant": SECRET, "nonce": "12"}, ITEM, ITEM | {"participant": "b", "code": 256}]
    batch = {"digest": target.study.digest, "reports": reports}
    relay = target.server.relay("strict")
    answer = target.server.http.post(f"/studies/{target.id}/batches", headers=relay, json=batch)
    assert answer.status_code == 200
    assert answer.json()["rejected"] == [{"index": 0, "reason": "malformed"}, {"index": 2, "reason": "out-of-range"}]
    assert answer.json()["accepted"] == 1
    assert SECRET not in answer.text
    assert target.counts() == {"trusted": 0, "local": 1}
    assert target.server.prepared.app.state.metrics.rejections(target.id)["malformed"] == 1
