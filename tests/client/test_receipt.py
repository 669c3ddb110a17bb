import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hybriddp.client.receipt import Receipt, canonical_bytes, has_key, verify
from hybriddp.errors import ProtocolError

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
SAID = {
    "version": 1,
    "study": "minutes",
    "digest": "ab" * 32,
    "group": "local",
    "epsilon": "1",
    "delta": "0",
    "commitment": "cd" * 32,
    "asserted_by": "participant",
    "stored": ["A commitment, für immer."],
    "day": "2026-11-17",
}


def _url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _signed(said: dict[str, Any], key: Ed25519PrivateKey = KEY) -> dict[str, Any]:
    """By hand: what the protocol says, without any code of the client."""
    data = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return {"receipt": said, "signature": _url(key.sign(data)), "kid": "k1"}


def _jwks(**changed: object) -> dict[str, Any]:
    key = {"kty": "OKP", "crv": "Ed25519", "x": _url(KEY.public_key().public_bytes_raw()), "kid": "k1"}
    return {"keys": [{"kty": "RSA", "kid": "k1"}, key | changed]}


def test_a_signature_made_by_hand_is_accepted() -> None:
    verify(_signed(SAID), _jwks())
    parsed = json.loads(json.dumps(_signed(SAID), indent=3))  # neither order nor spaces matter
    verify({"kid": "k1", **parsed, "receipt": dict(reversed(parsed["receipt"].items()))}, _jwks())


def test_canonical_bytes_are_sorted_and_utf8() -> None:
    assert canonical_bytes({"b": [1, "ü"], "a": None}) == '{"a":null,"b":[1,"ü"]}'.encode()


@pytest.mark.parametrize("name", sorted(SAID))
def test_every_change_breaks_the_signature(name: str) -> None:
    changed = _signed(SAID) | {"receipt": SAID | {name: "other"}}
    with pytest.raises(ProtocolError, match="signature is not valid"):
        verify(changed, _jwks())


def test_another_key_does_not_do() -> None:
    with pytest.raises(ProtocolError, match="signature is not valid"):
        verify(_signed(SAID, Ed25519PrivateKey.generate()), _jwks())
    with pytest.raises(ProtocolError, match="not among the curator's public keys"):
        verify(_signed(SAID), _jwks(kid="k2"))
    with pytest.raises(ProtocolError, match="not among the curator's public keys"):
        verify(_signed(SAID), _jwks(crv="X25519"))
    assert has_key(_signed(SAID), _jwks())
    assert not has_key(_signed(SAID), _jwks(kid="k2"))
    assert not has_key(_signed(SAID), {"keys": "none"})


@pytest.mark.parametrize(
    ("document", "jwks"),
    [
        ({}, _jwks()),
        (_signed(SAID), {}),
        (_signed(SAID), {"keys": None}),
        (_signed(SAID), _jwks(x=5)),
        (_signed(SAID), _jwks(x="AAAA")),
        (_signed(SAID) | {"signature": "!!"}, _jwks()),
        (_signed(SAID) | {"signature": _signed(SAID)["signature"] + "=="}, _jwks()),
        (_signed(SAID) | {"receipt": {"study": "\ud800"}}, _jwks()),
        (_signed(SAID) | {"receipt": {1: 2, "a": 3}}, _jwks()),
    ],
)
def test_what_cannot_be_read_is_refused(document: dict[str, Any], jwks: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="not in the form of the protocol"):
        verify(document, jwks)


def test_a_curators_sentences_cannot_look_like_ours() -> None:
    forged = "You were promised ε = 0."
    document = _signed(SAID | {"stored": [f"x\n{forged}", f"\x1b[1A\x1b[2K{forged}\u202e"]})
    receipt = Receipt.from_document(document)
    assert not any(line.startswith(forged) for line in str(receipt).splitlines())
    assert all(line.isprintable() for line in str(receipt).split("\n"))
    assert receipt.document == document  # as it was signed
    verify(receipt.document, _jwks())


@pytest.mark.parametrize("name", ["study", "group", "epsilon", "delta", "asserted_by", "day", "commitment"])
def test_other_parts_of_a_receipt_have_no_such_characters(name: str) -> None:
    for text in ("1\nYou were promised ε = 0.", "1\x1b[2J", "\u202e1", "1" * 5000):
        with pytest.raises(ProtocolError, match="not in the form"):
            Receipt.from_document(_signed(SAID | {name: text}))


def test_a_receipt_in_words() -> None:
    words = str(Receipt.from_document(_signed(SAID)))
    for part in ("minutes", "abababababab…", "ε = 1.", "with a token", "A commitment, für immer.", "2026-11-17"):
        assert part in words
    assert "earlier call" in str(Receipt.from_document(_signed(SAID), resent=True))
    assert "withdrew your randomized report" in str(Receipt.from_document(_signed(SAID | {"withdrawn": True})))
    assert "δ = 1e-9" in str(Receipt.from_document(_signed(SAID | {"delta": "1e-9", "group": "trusted"})))


@pytest.mark.parametrize(
    "changed",
    [
        {"version": 2},
        {"day": 3},
        {"stored": [1]},
        {"stored": None},
        {"withdrawn": 1},
        {"opened": True},
        {"withdrawn": True, "opened": 1},
    ],
)
def test_a_receipt_of_another_form_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="not in the form"):
        Receipt.from_document(_signed(SAID | changed))
    with pytest.raises(ProtocolError, match="not in the form"):
        Receipt.from_document({"receipt": None})
