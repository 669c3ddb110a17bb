"""Attacks on studies of frequencies, over real sockets: each is refused with a reason, and nothing of it is counted."""

import json
from collections.abc import Iterator

import pytest

from hybriddp import FrequencyStudy
from tests.service.attacking import AWKWARD, NONCE, Target, new_frequency_target, new_target, refused
from tests.service.running import Running

TEXTS = FrequencyStudy("diagnosis", categories=["none", "flu", "HIV-positive"], other=False, epsilon=1.0)
NUMBERS = FrequencyStudy("children", categories=[0, 1, 2, 3], other=False, epsilon=1.0)
BITS = FrequencyStudy("word", categories=[f"w{i}" for i in range(53)], other=False, epsilon=1.0)
UNKNOWN = "p1anted-category"


@pytest.fixture(scope="module")
def texts(kept_server: Running) -> Target:
    """A study of texts that nothing here gets into."""
    return new_frequency_target(kept_server, study=TEXTS)


@pytest.fixture(scope="module")
def numbers(kept_server: Running) -> Target:
    """A study of integers that nothing here gets into."""
    return new_frequency_target(kept_server, study=NUMBERS)


@pytest.fixture(scope="module")
def bits(kept_server: Running) -> Target:
    """A study whose reports have a bit for each category, and nothing here gets into it."""
    return new_frequency_target(kept_server, study=BITS)


@pytest.fixture(autouse=True)
def _nobody_is_counted(texts: Target, numbers: Target, bits: Target) -> Iterator[None]:
    yield
    for target in (texts, numbers, bits):
        assert target.counts() == {"trusted": 0, "local": 0}


def test_a_raw_item_where_a_code_belongs(texts: Target) -> None:
    for item in ("HIV-positive", "flu", UNKNOWN):
        for body in (texts.report(item), texts.report(value=item), texts.value(item)):
            assert refused(texts.send(body), item) == "malformed"
    batch = {"digest": TEXTS.digest, "reports": [{"participant": "p", "code": "flu", "nonce": NONCE}]}
    relay = texts.server.relay("raw items")
    answer = texts.server.http.post(f"/studies/{texts.id}/batches", headers=relay, json=batch)
    assert answer.json()["rejected"] == [{"index": 0, "reason": "malformed"}]


@pytest.mark.parametrize("number", ["1.5", "1e999", "true", "false", "null", '"1"', "[1]", "{}", "NaN", "Infinity"])
def test_codes_that_are_no_whole_numbers(texts: Target, numbers: Target, bits: Target, number: str) -> None:
    for target in (texts, numbers, bits):
        assert refused(target.send(target.raw(number))) == "malformed"


@pytest.mark.parametrize("code", [-1, 2**53, 2**53 + 1, 2**64, 2**200, -(2**63)])
def test_codes_that_no_device_sends(texts: Target, numbers: Target, bits: Target, code: int) -> None:
    for target in (texts, numbers, bits):
        for to in ("reports", "reports/withdraw"):
            answer = target.send(target.report(code), to=to)
            assert (answer.status_code, refused(answer)) == (422, "out-of-range")
    reports = [{"participant": "p", "code": code, "nonce": NONCE}]
    answer = bits.server.http.post(
        f"/studies/{bits.id}/batches",
        headers=bits.server.relay(f"codes {len(str(code))}{code % 7}"),
        json={"digest": BITS.digest, "reports": reports},
    )
    assert answer.json()["rejected"] == [{"index": 0, "reason": "out-of-range"}]


def test_the_largest_report_is_the_last_that_is_taken(kept_server: Running) -> None:
    study = FrequencyStudy("word again", categories=[f"w{i}" for i in range(53)], other=False, epsilon=1.0)
    target = new_frequency_target(kept_server, study=study)
    assert target.send(target.report(2**53 - 1)).status_code == 201
    assert target.counts() == {"trusted": 0, "local": 1}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        *((text, "out-of-range") for text in (UNKNOWN, "", "FLU", "flu ", "(other)")),
        *((value, "malformed") for value in ("f" * 1001, ["flu"], {"flu": 1}, 1, 1.0, True, False, None)),
    ],
)
def test_what_is_no_category_among_texts(texts: Target, value: object, reason: str) -> None:
    for to in ("values", "values/withdraw"):
        assert refused(texts.send(texts.value(value), to=to), UNKNOWN) == reason


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        *((number, "out-of-range") for number in ("4", "-1", "9007199254740993", "1e300")),
        *((number, "malformed") for number in ("0.5", "1e999", "true", "null", "NaN", '"1"', f"1{'0' * 400}")),
        (f'"{UNKNOWN}"', "malformed"),
    ],
)
def test_what_is_no_category_among_integers(numbers: Target, number: str, reason: str) -> None:
    assert refused(numbers.send(numbers.raw(number, "value"), to="values"), UNKNOWN) == reason


@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_texts_are_no_categories(texts: Target, text: str) -> None:
    assert refused(texts.send(texts.value(text), to="values"), text.strip() or "\x00") == "out-of-range"


def test_half_a_character_is_no_category(kept_server: Running) -> None:
    study = FrequencyStudy("with other", categories=["a", "b"], epsilon=1.0, other=True)
    target = new_frequency_target(kept_server, study=study)
    assert refused(target.send(target.raw('"\\ud800"', "value"), to="values")) == "malformed"
    assert target.counts() == {"trusted": 0, "local": 0}


def test_another_study_s_digest(texts: Target) -> None:
    for to, body in (("values", texts.value("flu")), ("reports", texts.report(1))):
        assert refused(texts.send(body | {"digest": NUMBERS.digest}, to=to)) == "wrong-digest"


def test_a_value_of_a_mean_is_no_category_and_a_category_no_value(kept_server: Running, texts: Target) -> None:
    assert refused(texts.send(texts.value(37.5), to="values"), "37.5") == "malformed"
    mean = new_target(kept_server)
    for text in ("37.5", UNKNOWN, "NaN"):
        assert refused(mean.send(mean.value(text), to="values"), text) == "malformed"
    assert mean.counts() == {"trusted": 0, "local": 0}


def test_studies_that_are_not_taken(kept_server: Running) -> None:
    many = FrequencyStudy("many", categories=list(range(4097)), other=False, epsilon=1.0)
    assert refused(kept_server.create(many, "many")) == "malformed"
    weak = json.loads(TEXTS.to_json())
    weak["channel"]["extra"] *= 5
    body = {"study": weak, "consent": dict.fromkeys(("organization", "purpose", "contact"), "x")}
    body |= {"closes_at": "2099-01-01T00:00:00Z"}
    assert refused(kept_server.http.post("/studies", headers=kept_server.admin, json=body)) == "malformed"
    part = FrequencyStudy("children", categories=[0, 1], epsilon=1.0).part("country", "DE")
    assert refused(kept_server.create(part, "part")) == "malformed"


def test_reports_that_cannot_have_come_from_the_channel_stop_no_release_but_are_told(kept_server: Running) -> None:
    """A closed study cannot be opened again, so whoever sends reports could otherwise end it for everybody."""
    study = FrequencyStudy("raw", categories=["yes", "no"], epsilon=0.5)
    target = new_frequency_target(kept_server, study=study)
    reports = [{"participant": f"p{i}", "code": 0, "nonce": NONCE} for i in range(500)]
    relay = kept_server.relay("raw categories")
    batch = {"digest": study.digest, "reports": reports}
    assert kept_server.http.post(f"/studies/{target.id}/batches", headers=relay, json=batch).json()["accepted"] == 500
    for i in range(3):
        kept_server.trust(study, f"t{i}", "yes", study_id=target.id)
    target.move("close")
    released = target.move("release").json()["estimate"]
    assert 100 < released["implausible_reports"] <= 500
    assert released["warnings"][0].startswith(f"WARNING: at least {released['implausible_reports']} of the 500 local")
    assert kept_server.http.get(f"/studies/{target.id}").json()["state"] == "released"
