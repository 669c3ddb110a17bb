"""Tokens against an independent implementation of JWS, and the attacks on them."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hybriddp.errors import DataError, ParameterError
from hybriddp.service.tokens import LONGEST_SUBJECT, TokenError, TokenKeys, TokenTimeError, mint
from tests.test_leaks import everything

SECRET = b"0123456789abcdef" * 4
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = PRIVATE.public_key()
KEYS = TokenKeys(SECRET, PUBLIC)
WEEK = timedelta(days=7)


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def hs256(signed: bytes, secret: bytes = SECRET) -> bytes:
    return hmac.new(secret, signed, hashlib.sha256).digest()


def token(claims: object, header: dict[str, Any] | None = None, sign: Callable[[bytes], bytes] = hs256) -> str:
    """A token by the book (RFC 7515), made without the library."""
    parts = [header or {"alg": "HS256", "typ": "JWT"}, claims]
    signed = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    return f"{signed}.{encoded(sign(signed.encode()))}"


def claims(**changes: object) -> dict[str, Any]:
    whole = {"sub": "u1", "aud": "minutes", "exp": int(time.time()) + 3600} | changes
    return {name: value for name, value in whole.items() if value is not None}


def refused(text: str, study: str = "minutes", keys: TokenKeys = KEYS) -> str:
    with pytest.raises(TokenError) as caught:
        keys.subject(text, study)
    assert (caught.value.reason, caught.value.status) == ("bad-token", 401)
    if len(text) > 20:
        for shown in everything(caught.value):
            for part in text.split("."):
                assert len(part) < 12 or part not in shown
    return str(caught.value)


# Definition


def test_a_token_made_by_the_book_is_accepted() -> None:
    assert KEYS.subject(token(claims()), "minutes") == "u1"
    assert KEYS.subject(token(claims(sub="größe 🙂")), "minutes") == "größe 🙂"
    assert KEYS.subject(token(claims(), {"alg": "EdDSA"}, PRIVATE.sign), "minutes") == "u1"


@pytest.mark.parametrize("key", [SECRET, PRIVATE], ids=["HS256", "EdDSA"])
def test_what_mint_writes_is_what_the_book_says(key: object) -> None:
    before = int(time.time())
    head, body, signature = mint(key, subject="u1", study="minutes", lifetime=WEEK).split(".")
    decoded = [json.loads(base64.urlsafe_b64decode(part + "==")) for part in (head, body)]
    assert decoded[0]["alg"] == ("HS256" if key is SECRET else "EdDSA")
    assert set(decoded[1]) == {"sub", "aud", "exp"}
    assert (decoded[1]["sub"], decoded[1]["aud"]) == ("u1", "minutes")
    assert 0 <= decoded[1]["exp"] - before - WEEK.total_seconds() <= 60
    raw = base64.urlsafe_b64decode(signature + "==")
    if key is SECRET:
        assert raw == hs256(f"{head}.{body}".encode())
    else:
        PUBLIC.verify(raw, f"{head}.{body}".encode())


# Identities


@pytest.mark.parametrize("key", [SECRET, PRIVATE], ids=["HS256", "EdDSA"])
@pytest.mark.parametrize("subject", ["u", "x" * LONGEST_SUBJECT, "🙂" * LONGEST_SUBJECT, "a\x00'; DROP TABLE x; --"])
def test_minted_tokens_verify(key: object, subject: str) -> None:
    made = mint(key, subject=subject, study="minutes", lifetime=WEEK)
    assert KEYS.subject(made, "minutes") == subject


# Attacks


def test_forged_tokens() -> None:
    assert "signature" in refused(token(claims(), sign=lambda signed: hs256(signed, b"another secret " * 4)))
    head, body, signature = token(claims()).split(".")
    other = token(claims(sub="u2")).split(".")[1]
    assert "signature" in refused(f"{head}.{other}.{signature}")
    refused(f"{head}.{body}.")
    refused(f"{head}.{body}")
    stranger = Ed25519PrivateKey.generate()
    assert "signature" in refused(token(claims(), {"alg": "EdDSA"}, stranger.sign))


def test_expired_and_early_tokens() -> None:
    assert "expired" in refused(token(claims(exp=int(time.time()) - 1)))
    assert "expired" in refused(token(claims(exp=int(time.time()))))  # no leeway
    assert "not valid yet" in refused(token(claims(nbf=int(time.time()) + 60)))
    assert "not valid yet" in refused(token(claims(iat=int(time.time()) + 60)))


def test_tokens_at_a_given_time() -> None:
    made = token({"sub": "u1", "aud": "minutes", "iat": 1000, "nbf": 2000, "exp": 3000})
    for now in (2000, 2999):
        assert KEYS.verified(made, "minutes", now=now).subject == "u1"
    for now, words in ((0, "not valid yet"), (1999, "not valid yet"), (3000, "expired"), (2**40, "expired")):
        with pytest.raises(TokenTimeError, match=words):
            KEYS.verified(made, "minutes", now=now)
    with pytest.raises(TokenTimeError, match="not valid yet"):
        KEYS.verified(token({"sub": "u1", "aud": "minutes", "iat": 1000, "exp": 3000}), "minutes", now=999)
    forged = made.rpartition(".")[0] + "."
    with pytest.raises(TokenError, match="signature"):  # whose times say nothing
        KEYS.verified(forged, "minutes", now=2000)


def test_tokens_of_another_study() -> None:
    assert "another study" in refused(token(claims(aud="incomes")))
    assert "another study" in refused(token(claims(aud="Minutes")))
    assert "another study" in refused(token(claims(aud=["minutes"])))  # one token, one study
    assert "another study" in refused(token(claims(aud="minutes ")))


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "NONE", "nOnE", "", None, 0, ["HS256"], "HS384", "RS256", "ES256"]
)
def test_no_or_another_algorithm(algorithm: object) -> None:
    for sign in (hs256, lambda _: b""):
        refused(token(claims(), {"alg": algorithm}, sign))


def test_the_public_key_is_no_secret() -> None:
    pem = PUBLIC.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    der = PUBLIC.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    for keys in (KEYS, TokenKeys(public_key=PUBLIC)):
        for secret in (pem, pem.strip(), der, PUBLIC.public_bytes_raw()):
            refused(token(claims(), sign=partial(hs256, secret=secret)), keys=keys)
    refused(token(claims(), {"alg": "EdDSA"}))  # and a MAC is no signature


def test_an_algorithm_without_its_key_is_refused() -> None:
    assert "this server takes: EdDSA." in refused(token(claims()), keys=TokenKeys(public_key=PUBLIC))
    eddsa = token(claims(), {"alg": "EdDSA"}, PRIVATE.sign)
    assert "this server takes: HS256." in refused(eddsa, keys=TokenKeys(SECRET))
    assert "HS256 or EdDSA." in refused(token(claims(), {"alg": "RS256"}), keys=TokenKeys(SECRET, PUBLIC))
    assert "algorithm" in refused(token(claims()), keys=TokenKeys())


@pytest.mark.parametrize("claim", ["sub", "aud", "exp"])
def test_missing_claims(claim: str) -> None:
    refused(token(claims(**{claim: None})))
    refused(token(claims() | {claim: None}))


@pytest.mark.parametrize("subject", ["", "x" * (LONGEST_SUBJECT + 1), 7, True, ["u1"], {"u": 1}, "\ud800"])
def test_subjects_that_are_none(subject: object) -> None:
    refused(token(claims(sub=subject)))


@pytest.mark.parametrize("time_", ["soon", float("inf"), float("nan"), [1], {}, -1, True])
def test_times_that_are_none(time_: object) -> None:
    refused(token(claims(exp=time_)))
    if not isinstance(time_, int):  # a time long ago
        refused(token(claims(nbf=time_)))
        refused(token(claims(iat=time_)))


@pytest.mark.parametrize("body", [[], "u1", 7, None, ["sub", "aud"]])
def test_bodies_that_are_no_claims(body: object) -> None:
    refused(token(body))


def test_headers_that_are_none() -> None:
    body = encoded(json.dumps(claims()).encode())
    for head in (b"[]", b"7", b'"HS256"', b"null", b"", b"\xff\xfe", b"[" * 2000, b'{"alg":' * 300):
        signed = f"{encoded(head)}.{body}"
        refused(f"{signed}.{encoded(hs256(signed.encode()))}")
    refused(token(claims(), {"alg": "HS256", "b64": False, "crit": ["b64"]}))
    refused(token(claims(), {"alg": "HS256", "crit": ["unknown"]}))


def test_keys_that_the_token_brings_along_are_ignored() -> None:
    own = Ed25519PrivateKey.generate()
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": encoded(own.public_key().public_bytes_raw())}
    refused(token(claims(), {"alg": "EdDSA", "jwk": jwk}, own.sign))
    refused(token(claims(), {"alg": "HS256", "kid": "/dev/null"}, lambda signed: hs256(signed, b"")))


@pytest.mark.parametrize("text", ["", ".", "..", "...", "a.b.c", "é.é.é", "\x00", "\ud800.x.y", "x" * 10_000, " "])
def test_what_is_no_token(text: str) -> None:
    refused(text)


def test_a_huge_token_is_not_even_read() -> None:
    assert "too long" in refused(token(claims(sub="x" * 10_000)))


# Edges


def test_weak_secrets_and_other_keys_are_refused() -> None:
    with pytest.raises(DataError, match="at least 32 bytes") as caught:
        TokenKeys(b"hunter2")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(DataError, match="at least 32 bytes"):
        mint(b"hunter2", subject="u1", study="minutes", lifetime=WEEK)
    with pytest.raises(ParameterError, match="public_key must be an Ed25519PublicKey"):
        TokenKeys(public_key=PRIVATE)
    with pytest.raises(ParameterError, match="must be bytes or an Ed25519PrivateKey"):
        mint("0" * 64, subject="u1", study="minutes", lifetime=WEEK)
    assert "0123" not in repr(KEYS)


@pytest.mark.parametrize("lifetime", [timedelta(0), timedelta(days=-1), timedelta(days=9999), 7])
def test_lifetimes_that_are_none(lifetime: object) -> None:
    with pytest.raises(ParameterError, match="lifetime must be"):
        mint(SECRET, subject="u1", study="minutes", lifetime=lifetime)


def test_mint_refuses_what_would_not_verify() -> None:
    for subject in ("", "x" * (LONGEST_SUBJECT + 1), "\udfff"):
        with pytest.raises(TokenError, match="1 to 256 characters"):
            mint(SECRET, subject=subject, study="minutes", lifetime=WEEK)
    with pytest.raises(ParameterError, match="study must be"):
        mint(SECRET, subject="u1", study="", lifetime=WEEK)
