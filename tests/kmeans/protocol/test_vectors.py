"""The shared vectors of K-means rounds, as Python sees them; js/test/kmeans.test.js runs the same file."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError, ProtocolError
from hybriddp.kmeans.protocol.answers import messages_of, received_reports
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.protocol.turns import Turns, place
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.randomness import ByteSource
from tests.known_bytes import stream
from tests.refusals import not_refused

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "kmeans.json").read_text(encoding="utf-8"))
OWN = KMeansStudy.from_json(VECTORS["bases"][0])
MOST_BYTES = 1 << 15  # of an answer


class StreamBytes(ByteSource):
    """Known bytes, one after the other."""

    seeded = False

    def __init__(self, seed: str, count: int) -> None:
        self.raw = stream(f"{seed} bytes", count)
        self.used = 0

    def fill(self, buffer: NDArray[np.uint8]) -> None:
        buffer[:] = self.raw[self.used : self.used + len(buffer)]
        self.used += len(buffer)


def _text(case: dict[str, Any]) -> str:
    """The text of a refused case: a base with other characters in the place of some."""
    base, (front, back) = VECTORS["bases"][case["of"]], case["keep"]
    return str(base[:front] + case["text"] + base[len(base) - back :])


def _round(case: dict[str, Any]) -> Round:
    return Round.from_json(case["text"].replace("<study>", case["study"]), study=KMeansStudy.from_json(case["study"]))


def _points(case: dict[str, Any], study: KMeansStudy) -> FloatArray:
    d, count = study.box.n_dimensions, case["count"]
    words = stream(f"{case['seed']} inputs", 4 * count * d).view("<u4").reshape(count, d).tolist()
    rows = []
    for i, row in enumerate(words):
        shares = [word / 2**32 * 1.5 - 0.25 if i % 3 else (word >> 30) / 2 for word in row]
        bounds = study.box.bounds
        rows.append([low + (high - low) * share for (low, high), share in zip(bounds, shares, strict=True)])
    return np.array(rows)


@pytest.mark.repeated
@pytest.mark.parametrize("case", VECTORS["rounds"], ids=lambda c: c["seed"])
def test_known_bytes_give_the_same_answers_as_everywhere(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _round(case)
    assert asked.digest == case["digest"]
    source = StreamBytes(case["seed"], case["count"] * MOST_BYTES)
    monkeypatch.setattr("hybriddp.kmeans.protocol.round.byte_source", lambda _state: source)
    sent = [messages_of(asked, asked.answer(point[None]))[0] for point in _points(case, asked.study)]
    assert all(message["round"] == case["digest"] for message in sent)
    short = [f"{message['ask']} {message['variant']} {message['code']}" for message in sent]
    assert [answer[:80] for answer in short[:3]] == case["first"]
    assert source.used == case["bytes"]
    assert hashlib.sha256("".join(f"{answer}\n" for answer in short).encode()).hexdigest() == case["sha256"]
    received = received_reports(asked, sent)
    assert received.rejected == 0
    assert sum(tally.n_users for tally in asked.count(received.reports).answers) == case["count"]


def test_the_vectors_cover_every_kind_in_every_dimension() -> None:
    rounds = [_round(case) for case in VECTORS["rounds"]]
    kinds = {
        (asked.study.box.n_dimensions, ask.question.kind)
        for asked in rounds
        for ask in asked.asks
        if asked.study.n_clusters <= 13
    }
    all_kinds = {"grid", "label_signs", "direction", "second_moment", "length"}
    assert {(d, kind) for d in range(1, 17) for kind in all_kinds} <= kinds
    assert {ask.channel.kind for asked in rounds for ask in asked.asks} == {"response", "choice", "unary"}
    assert {asked.study.n_clusters for asked in rounds} >= {1, 2, 3, 5, 8, 13}
    assert len(VECTORS["refused_rounds"]) >= 900
    assert len(VECTORS["refused_studies"]) >= 140


@pytest.mark.parametrize("case", VECTORS["accepted_studies"], ids=lambda c: c["digest"][:8])
def test_odd_studies_that_are_fine_are_accepted(case: dict[str, str]) -> None:
    study = KMeansStudy.from_json(case["text"])
    assert (study.digest, study.privacy.epsilon) == (case["digest"], case["epsilon"])


def _not_refused(kind: str, parse: Callable[[str], object], words: str) -> list[str]:
    """List the texts that a device does not refuse, with a sentence of its own."""
    cases = [(case["why"], _text(case)) for case in VECTORS[kind]]
    return not_refused(cases, parse, ProtocolError, f"^The ({words}) is refused: ")


def test_tampered_texts_are_refused() -> None:
    def study(text: str) -> None:
        read = KMeansStudy.from_json(text)  # a device compares its ε with the one that its user was shown
        KMeansStudy.require(read.privacy.epsilon == "1", "it is for another epsilon")

    def turns(text: str) -> None:
        Turns.require(Turns.from_json(text).study_digest == OWN.digest, "it is of another study")

    def asked(text: str) -> None:
        Round.from_json(text, study=OWN)

    assert _not_refused("refused_studies", study, "study") == []
    assert _not_refused("refused_rounds", asked, "round|question|channel|ask|study") == []
    assert _not_refused("refused_turns", turns, "list of turns") == []


def test_everybody_finds_their_own_turn() -> None:
    for case in VECTORS["turns"]:
        turns = Turns.from_json(case["text"])
        assert turns.study_digest == OWN.digest
        for known in case["places"]:
            who = known["subject"], known["nonce"]
            assert place(OWN.digest, *who) == int(known["place"])
            assert turns.round_of(*who) == known["round"]


def test_texts_that_are_too_long_or_nested_are_refused() -> None:
    for text in ("x" * (1 << 20), '{"asks":' + "[" * 12_000 + "]" * 12_000 + "}"):
        with pytest.raises(ProtocolError, match="^The round is refused: "):
            Round.from_json(text, study=OWN)


def test_subjects_and_nonces_that_there_are_not_have_no_place() -> None:
    subjects: list[Any] = ["", "x" * 257, "half \ud800", 7, None]
    for subject in subjects:
        with pytest.raises(ParameterError, match="subject must be a text of 1 to 256 characters"):
            place(OWN.digest, subject, "0" * 32)
    nonces: list[Any] = ["", "0" * 31, "0" * 33, "F" * 32, "0" * 32 + "\n", 7, None, "secret"]
    for nonce in nonces:
        with pytest.raises(ParameterError, match="nonce must be 32 lower-case hexadecimal digits") as caught:
            place(OWN.digest, "participant", nonce)
        assert "secret" not in str(caught.value)
    with pytest.raises(ParameterError, match="study_digest must be the SHA-256"):
        place("visits", "user 1", "0" * 32)
