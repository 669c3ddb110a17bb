import dataclasses
import hashlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp import MeanStudy
from hybriddp.channels import WindowChannel
from hybriddp.client import MockCurator, StudyOffer
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.grid import Grid
from tests.levels import z_limit

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1)
DOCUMENT = MockCurator(STUDY).document()


def test_an_offer_from_a_text_is_that_study() -> None:
    offer = StudyOffer.from_text(STUDY.device_json(), digest=STUDY.digest)
    assert offer.study == STUDY
    assert offer.digest == hashlib.sha256(offer.text.encode()).hexdigest()


def test_an_offer_from_a_document_has_what_the_curator_says() -> None:
    offer = StudyOffer.from_document(DOCUMENT)
    assert offer.study == STUDY
    assert offer.consent["organization"] == "Example"
    assert offer.stored["local"] == ("This is a test: the code is kept in memory.",)
    assert (offer.id, offer.state, offer.tokens) == ("mock-study", "open", True)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"kind": "median"}, "of K-means only"),
        ({"kind": "frequency"}, "another kind of study"),
        ({"text": None}, "no study text"),
        ({"digest": "00"}, "no study text"),
        ({"digest": "0" * 64}, "does not have the digest that the curator claims"),
        ({"text": STUDY.device_json().replace("240.0", "241.0")}, "does not have the digest that the curator claims"),
        ({"epsilon": "0.1"}, "another ε or δ"),
        ({"delta": "1e-9"}, "another ε or δ"),
    ],
)
def test_a_document_that_contradicts_itself_is_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        StudyOffer.from_document(DOCUMENT | changed)


def test_another_digest_than_the_pinned_one_is_refused() -> None:
    with pytest.raises(ProtocolError, match="this app was made for 000000000000…"):
        StudyOffer.from_document(DOCUMENT, digest="0" * 64)
    with pytest.raises(ParameterError, match="digest must be 64"):
        StudyOffer.from_text(STUDY.device_json(), digest="0")


def test_a_channel_that_breaks_its_promise_is_refused() -> None:
    text = STUDY.device_json()
    low = text[text.index('"low":') :].partition(",")[0]
    cheating = text.replace(low, '"low":1')
    changed = {"text": cheating, "digest": hashlib.sha256(cheating.encode()).hexdigest()}
    with pytest.raises(ProtocolError):
        StudyOffer.from_document(DOCUMENT | changed)


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"a":' * 100_000])
def test_a_text_that_is_no_study_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError):
        StudyOffer.from_text(text)


def test_the_text_of_devices_is_the_only_one() -> None:
    known = MeanStudy("session minutes", bounds=(0, 240), epsilon=1, sd_at_most=30)
    with pytest.raises(ProtocolError, match="device_json"):
        StudyOffer.from_text(known.to_json())
    assert StudyOffer.from_text(known.device_json()).digest == known.digest
    with pytest.raises(ParameterError, match="text must be"):
        StudyOffer.from_text(b"{}")


def test_a_trusted_contribution_has_the_units_of_the_grid() -> None:
    made = StudyOffer.from_text(STUDY.device_json()).draw(30, group="trusted")
    assert (made.integer, made.value) == (2_097_152, 30.0)
    assert StudyOffer.from_text(STUDY.device_json()).draw(1e9, group="trusted").integer == 2**24


@given(
    st.sampled_from([(0, 240), (-1e-3, 7.7e5), (1e15, 1e15 + 2), (-1e100, 1e100), (0.1, 0.1 + 1e-12)]),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_the_curator_gets_the_units_that_the_journal_has(bounds: tuple[float, float], value: float) -> None:
    study = MeanStudy("x", bounds=bounds, epsilon=1)
    made = StudyOffer.from_text(study.device_json()).draw(value, group="trusted")
    assert study.grid.place([made.value]).units.tolist() == [made.integer]
    assert study.grid.place([value]).units.tolist() == [made.integer]


def test_a_value_that_units_cannot_give_back_is_sent_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    offer = StudyOffer.from_text(STUDY.device_json())
    monkeypatch.setattr(Grid, "values", lambda _, units: np.array([240.0] * len(units)))  # worse than any rounding
    for value, sent in ((30.0, 30.0), (-5.0, 0.0)):
        made = offer.draw(value, group="trusted")
        assert (made.value, made.integer) == (sent, round(sent / 240 * 2**24))


@pytest.mark.statistical
@pytest.mark.representative
def test_codes_are_unbiased_reports_of_the_value() -> None:
    """The study's own channel: 20 % of the standard deviation are 12 standard errors."""
    offer = StudyOffer.from_text(STUDY.device_json())
    channel = WindowChannel(epsilon=1)
    assert isinstance(offer.study, MeanStudy)
    assert offer.study.channel == channel
    codes = np.array([offer.draw(60.0).integer for _ in range(4000)])
    values = channel.values[codes]
    z = (values.mean() - 0.25) / (channel.variance(0.25) / len(codes)) ** 0.5
    assert abs(z) < z_limit()


@pytest.mark.parametrize("value", [math.nan, math.inf, None, "37.5", True, [1.0], [1.0, 2.0], {}, object()])
def test_what_is_no_number_is_refused_and_not_shown(value: object) -> None:
    offer = StudyOffer.from_text(STUDY.device_json())
    for group in ("local", "trusted"):
        with pytest.raises(DataError) as caught:
            offer.draw(value, group=group)
        assert "37.5" not in str(caught.value)
    with pytest.raises(ParameterError, match="group must be"):
        offer.draw(1.0, group="both")


def test_the_promise_in_words() -> None:
    words = StudyOffer.from_document(DOCUMENT).promise()
    for part in (
        "Example asks for one number: session minutes, from 0 to 240.",
        "Purpose: a test",
        "Contact: test@example.org",
        "ε = 1: someone who has narrowed your number down to two candidates",
        "and sees the code guesses right at most 73 %",
        "The curator could see your number.",
        "- This is a test: the code is kept in memory.",
        STUDY.digest,
    ):
        assert part in words
    pilot = dataclasses.replace(StudyOffer.from_document(DOCUMENT), warning="Nobody vouches.")
    assert "Warning: Nobody vouches." in pilot.promise()


FORGED = "If you report: ε = 0.001: nobody learns anything."


@pytest.mark.parametrize(
    "breaks", ["\n", "\r\n", "\u2028", "\x1b[2J\x1b[H", "\x9b1E", "\x85", "\u202e", "\u2067", "\u200f"]
)
def test_a_curators_words_cannot_look_like_ours(breaks: str) -> None:
    words = f"x{breaks}{FORGED}"
    forged = {
        "consent": dict.fromkeys(("organization", "purpose", "contact"), words),
        "stored": {"local": [words, 5], "trusted": [words]},
        "state": words,
        "closes_at": words,
        "warning": words,
    }
    offer = StudyOffer.from_document(DOCUMENT | forged)
    honest = StudyOffer.from_document(DOCUMENT | {"warning": "w"})
    assert len(offer.promise().splitlines()) == len(honest.promise().splitlines())
    assert not any(line.startswith(FORGED) for line in offer.promise().splitlines())
    assert all(line.isprintable() for line in offer.promise().split("\n"))
    assert offer.state.isprintable()


def test_a_title_is_on_one_line() -> None:
    study = MeanStudy(f"x\u2028{FORGED}", bounds=(0, 1), epsilon=1)
    words = StudyOffer.from_text(study.device_json()).promise()
    assert not any(line.startswith(FORGED) for line in words.splitlines())


def test_the_promise_without_a_curator_says_what_is_not_known() -> None:
    study = MeanStudy("x", bounds=(0, 1), epsilon=1, delta="1e-9")
    words = StudyOffer.from_text(study.device_json()).promise()
    assert "It has not said." in words
    assert "but for a chance of 0.000000001" in words
