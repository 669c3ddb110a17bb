"""The shared vectors of heavy hitters, as Python sees them; js/test/heavy.test.js runs the same file."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from hybriddp.client import StudyOffer, commitment
from hybriddp.errors import HybridDPError, ProtocolError
from hybriddp.items import HeavyHitterStudy
from tests.refusals import not_refused

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "heavy.json").read_text(encoding="utf-8"))
FIRST = VECTORS["accepted"][0]


@pytest.mark.parametrize("case", VECTORS["accepted"], ids=lambda case: case["digest"][:8])
def test_studies_have_their_digests(case: dict[str, str]) -> None:
    assert StudyOffer.from_text(case["text"]).digest == case["digest"]


def test_what_no_client_may_accept_is_refused() -> None:
    def take(text: str) -> None:
        document = {"kind": "heavy-hitters", "text": text, "epsilon": "1", "delta": "0.000001"}
        document["digest"] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        StudyOffer.from_document(document)

    take(FIRST["text"])
    cases = [(case["why"], case["text"]) for case in VECTORS["refused"]]
    assert len(cases) >= 90
    assert not_refused(cases, take, HybridDPError, "") == []


@pytest.mark.parametrize("case", VECTORS["questions"], ids=lambda case: case["why"] or case["digest"][:8])
def test_questions_are_taken_and_refused(case: dict[str, Any]) -> None:
    study = HeavyHitterStudy.from_json(FIRST["text"])
    document = {"kind": "heavy-hitters", **FIRST, "epsilon": "1", "delta": study.privacy.delta, "state": "asking"}
    document["question"] = {"text": case["text"], "digest": case["digest"]}
    if case["why"]:
        with pytest.raises(ProtocolError):
            StudyOffer.from_document(document)
    else:
        assert StudyOffer.from_document(document).draw("news").digest == case["digest"]


def test_items_have_their_integers_and_commitments() -> None:
    asked = StudyOffer.from_text(FIRST["text"]).asked
    assert len(VECTORS["items"]) >= 60
    for case in VECTORS["items"]:
        trusted = asked.trusted(case["item"])
        committed = commitment(FIRST["digest"], "trusted", trusted.integer, case["nonce"])
        drawn = {"sent": trusted.sent, "integer": str(trusted.integer), "commitment": committed}
        assert {**case, **drawn} == case
