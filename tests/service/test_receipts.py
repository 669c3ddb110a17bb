import base64
import hashlib
import json

import jwt
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from hybriddp.client.receipt import canonical_bytes
from hybriddp.errors import ProtocolError
from hybriddp.service.receipts import GROUPS, Signer, commitment, commitments_sha256, stored

DIGEST, NONCE = "ab" * 32, "0f" * 16
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
RECEIPT = {"version": 1, "study": "größe", "stored": stored("local"), "day": "2026-11-17"}


def test_a_commitment_is_the_hash_of_its_text() -> None:
    text = f"hybriddp contribution 1\n{DIGEST}\ntrusted\n16777216\n{NONCE}"
    assert commitment(DIGEST, "trusted", 2**24, NONCE) == hashlib.sha256(text.encode()).digest()


def test_every_part_counts() -> None:
    made = {
        commitment(digest, group, integer, nonce)
        for digest in (DIGEST, "cd" * 32)
        for group in GROUPS
        for integer in (0, 1, -1, 2**60)
        for nonce in (NONCE, "f0" * 16)
    }
    assert len(made) == 2 * 2 * 4 * 2


@pytest.mark.parametrize(
    "wrong",
    [
        (DIGEST.upper(), "local", 1, NONCE),
        (f"{DIGEST}\n", "local", 1, NONCE),
        (DIGEST, "Local", 1, NONCE),
        (DIGEST, "local\n1", 1, NONCE),
        (DIGEST, "local", 1.0, NONCE),
        (DIGEST, "local", True, NONCE),
        (DIGEST, "local", "1", NONCE),
        (DIGEST, "local", 1, NONCE[:-1]),
        (DIGEST, "local", 1, NONCE.upper()),
        (DIGEST, "local", 1, f"{NONCE}\n"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(wrong: tuple[str, str, int, str]) -> None:
    with pytest.raises(ProtocolError):
        commitment(*wrong)


def test_batches_hash_their_commitments_in_order() -> None:
    first, second = commitment(DIGEST, "local", 1, NONCE), commitment(DIGEST, "local", 2, NONCE)
    assert commitments_sha256([first, second]) == hashlib.sha256(first + second).hexdigest()
    assert commitments_sha256([second, first]) != commitments_sha256([first, second])
    assert commitments_sha256([]) == hashlib.sha256(b"").hexdigest()


def test_a_signature_verifies_with_the_published_key_and_nothing_else() -> None:
    signer = Signer(KEY)
    document = signer.sign(RECEIPT)
    (public,) = signer.jwks()["keys"]
    key = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(public["x"] + "="))
    signature = base64.urlsafe_b64decode(document["signature"] + "==")
    text = json.dumps(RECEIPT, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    key.verify(signature, text.encode())
    assert document["receipt"] == RECEIPT
    assert document["kid"] == public["kid"]
    changed = canonical_bytes(RECEIPT | {"day": "2026-11-18"})
    with pytest.raises(InvalidSignature):
        key.verify(signature, changed)


def test_the_key_set_is_one_that_libraries_read() -> None:
    (public,) = Signer(KEY).jwks()["keys"]
    assert {name: public[name] for name in ("kty", "crv", "use", "alg")} == {
        "kty": "OKP",
        "crv": "Ed25519",
        "use": "sig",
        "alg": "EdDSA",
    }
    assert jwt.PyJWK(public).key.public_bytes_raw() == KEY.public_key().public_bytes_raw()


def test_the_same_key_signs_the_same_and_has_the_same_name() -> None:
    assert Signer(KEY).sign(RECEIPT) == Signer(KEY).sign(dict(reversed(RECEIPT.items())))
    assert Signer(KEY).kid != Signer(Ed25519PrivateKey.generate()).kid


def test_the_key_is_named_by_its_thumbprint() -> None:
    # RFC 8037, A.3
    private = base64.urlsafe_b64decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=")
    assert Signer(Ed25519PrivateKey.from_private_bytes(private)).kid == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


@pytest.mark.parametrize("kind", ["mean", "frequency", "distribution", "heavy-hitters"])
@pytest.mark.parametrize("group", GROUPS)
def test_what_is_stored_is_said_in_sentences(group: str, kind: str) -> None:
    told = stored(group, kind=kind)
    assert all(sentence.endswith(".") for sentence in told)
    assert any("keyed hash" in sentence for sentence in told)
    (opened,) = [sentence for sentence in told if sentence.startswith("A commitment")]
    assert "the participant keeps and this server does not" in opened  # true of a form without a script, too
    assert "device" not in opened
    assert not any("keyed hash" in sentence for sentence in stored(group, tokens=False))
    assert len(stored(group, withdrawn=True)) == 1
    assert "keyed hash" in stored(group, withdrawn=True)[0]
    assert "keyed hash" not in stored(group, withdrawn=True, tokens=False)[0]


def test_only_trusted_values_are_in_the_encrypted_total() -> None:
    assert any("encrypted" in sentence for sentence in stored("trusted"))
    assert not any("value" in sentence for sentence in stored("local"))
    with pytest.raises(ProtocolError, match="group must be"):
        stored("everybody")


def test_relays_are_spoken_of_only_where_they_may_send() -> None:
    assert "relay" in stored("local")[-1]
    others = (stored("trusted"), stored("trusted", tokens=False), stored("local", tokens=False))
    assert [told[-1] for told in others] == ["The day and the group."] * 3
    assert not any("relay" in sentence for told in others for sentence in told)
