"""The shared vectors of contributions and receipts, as Python sees them; js/test/protocol.test.js runs them too."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from hybriddp.client import Contribution, StudyOffer, commitment, verify
from hybriddp.client.claims import read_claims
from hybriddp.client.contribution import answer_commitment
from hybriddp.client.receipt import canonical_bytes
from hybriddp.errors import ProtocolError

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "protocol.json").read_text(encoding="utf-8"))


def test_studies_have_their_digests() -> None:
    for study in VECTORS["studies"].values():
        assert StudyOffer.from_text(study["text"], digest=study["digest"]).digest == study["digest"]


@pytest.mark.parametrize("case", VECTORS["contributions"], ids=lambda case: case["commitment"][:8])
def test_contributions_have_their_bytes_and_commitments(case: dict[str, Any]) -> None:
    study = VECTORS["studies"][case["study"]]
    sent = None
    if case["group"] == "trusted":
        trusted = StudyOffer.from_text(study["text"]).asked.trusted(case["value"])
        assert trusted.integer == case["integer"]
        sent = trusted.sent
    made = Contribution(study["digest"], case["group"], case["integer"], case["nonce"], sent)
    assert (made.body().decode(), made.commitment) == (case["body"], case["commitment"])
    lines = ("hybriddp contribution 1", study["digest"], case["group"], str(case["integer"]), case["nonce"])
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == case["commitment"]
    assert commitment(study["digest"], case["group"], case["integer"], case["nonce"]) == case["commitment"]


@pytest.mark.parametrize("case", VECTORS["answers"], ids=lambda case: case["commitment"][:8])
def test_answers_have_their_commitments(case: dict[str, Any]) -> None:
    message, nonce = case["message"], case["nonce"]
    assert answer_commitment(message, nonce) == case["commitment"]
    assert answer_commitment(dict(reversed(message.items())), nonce) == case["commitment"]  # fields have one order
    lines = ("hybriddp answer 1", case["text"], nonce)
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == case["commitment"]
    code = json.dumps(message["code"])
    written = f'{{"round":"{message["round"]}","ask":{message["ask"]},"variant":{message["variant"]},"code":{code}}}'
    assert written == case["text"]


def test_tokens_name_study_and_participant() -> None:
    for case in VECTORS["participants"]:
        claims = read_claims(case["token"], None)
        assert (claims.study, claims.participant) == (case["study"], case["participant"])
    assert len({case["participant"] for case in VECTORS["participants"]}) == 2  # two spellings are one person


@pytest.mark.parametrize("case", VECTORS["receipts"], ids=lambda case: case["what"])
def test_receipts_are_accepted(case: dict[str, Any]) -> None:
    verify(case["document"], VECTORS["jwks"])
    assert canonical_bytes(case["document"]["receipt"]).decode() == case["canonical"]


@pytest.mark.parametrize("case", VECTORS["refused_receipts"], ids=lambda case: case["why"])
def test_receipts_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="receipt"):
        verify(case["document"], VECTORS["jwks"])
