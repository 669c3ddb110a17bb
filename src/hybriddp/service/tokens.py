"""Participants' tokens: JWTs that say who (``sub``) takes part in which study (``aud``) until when (``exp``).

In a study of parts of the users they also say in which one the person is (``part``).

The organization's backend mints them, in any language, with HS256 and the server's token secret or with EdDSA and a
private key of its own. Each algorithm has a key of its own type here and a token is verified with the key of the
algorithm that it names, so neither ``alg: none`` nor a token that uses a public key as an HMAC secret can pass.
"""

import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from jwt.exceptions import InvalidSubjectError

from hybriddp.client.claims import check_study_id
from hybriddp.errors import DataError, ParameterError, raise_unchained
from hybriddp.service.problems import Refusal
from hybriddp.study.users import PART_NAME, StudyParts, is_part_name

__all__ = [
    "LONGEST_LIFETIME",
    "LONGEST_SUBJECT",
    "TokenError",
    "TokenKeys",
    "TokenPartError",
    "TokenTimeError",
    "VerifiedToken",
    "check_subject",
    "mint",
    "read_private_key",
    "read_public_key",
]

LONGEST_SUBJECT = 256
"""Characters of a ``sub``."""

LONGEST_LIFETIME = timedelta(days=3650)
"""Of a token that is minted here."""

_LONGEST_TOKEN = 8192  # characters: a subject of 256 characters outside of ASCII, escaped, needs about 4,500
_SHORTEST_SECRET = 32  # bytes: what HMAC-SHA256 puts out (RFC 7518, 3.2)
# Times are compared with the server's clock, which the library cannot be given.
_OPTIONS: Any = {"require": ["exp", "aud", "sub"], "strict_aud": True}
_OPTIONS |= dict.fromkeys(("verify_exp", "verify_nbf", "verify_iat"), False)

_WORDS = {
    jwt.InvalidAudienceError: "The token is for another study: its aud must be this study's id.",
    jwt.MissingRequiredClaimError: "The token lacks a claim: exp, aud and sub are required.",
    jwt.InvalidSignatureError: "The token's signature is not valid.",
    InvalidSubjectError: f"The token's sub must be a text of 1 to {LONGEST_SUBJECT} characters.",
}


class TokenError(Refusal):
    """A token that is not valid; the message says why and never shows it."""

    def __init__(self, detail: str = "") -> None:
        super().__init__("bad-token", detail)


class TokenTimeError(TokenError):
    """A token that has expired or is not valid yet."""


class TokenPartError(TokenError):
    """A token that is valid, but not for a part of the users that the study has."""


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """What a valid token says: who takes part, and whatever it has as their part, which nobody has checked."""

    subject: str
    claimed_part: object = None

    def part_in(self, parts: StudyParts | None) -> int | None:
        """Return the number of the participant's part.

        Return None in a study of everybody, even if the token names a part. Raise `TokenPartError` if the study has
        parts and the token names no part, or one that does not exist.
        """
        if parts is None:
            return None
        found = parts.position(self.claimed_part)
        if found is None:
            wrong = "lacks the claim part" if self.claimed_part is None else "has a part that this study does not have"
            raise TokenPartError(
                f"The token {wrong}: part must say which {parts.by} the person counts in, {parts.listed()}. Ask for a "
                "new token."
            )
        return found


@dataclass(frozen=True)
class TokenKeys:
    """What participants' tokens are verified with: an HS256 secret, an Ed25519 public key, or both."""

    secret: bytes | None = field(default=None, repr=False)
    public_key: Ed25519PublicKey | None = None

    def __post_init__(self) -> None:
        if self.secret is not None:
            _check_secret(self.secret)
        if self.public_key is not None and not isinstance(self.public_key, Ed25519PublicKey):
            raise ParameterError("public_key", "an Ed25519PublicKey", type(self.public_key).__name__)

    def subject(self, token: str, study: str) -> str:
        """Return the subject of a token for this study, or raise `TokenError`.

        The error is raised unless everything about the token is right.
        """
        return self.verified(token, study).subject

    def verified(self, token: str, study: str, *, now: float | None = None) -> VerifiedToken:
        """Return the claims of a token for this study, or raise `TokenError`.

        The error is raised unless everything about the token is right. ``now`` is in seconds since 1970. It defaults to
        the machine's clock.
        """
        if not isinstance(token, str) or not token or len(token) > _LONGEST_TOKEN:
            raise TokenError("The token is missing or too long.")
        try:
            claims = self._claims(token, study)
            _require_time(claims, time.time() if now is None else now)
        except TokenError:
            raise
        except Exception as error:  # a forged token may be anything: nested a thousand deep, with infinite numbers
            _refuse(error)
        return VerifiedToken(check_subject(claims["sub"]), claims.get("part"))

    def _claims(self, token: str, study: str) -> Mapping[str, Any]:
        algorithm = _algorithm(token.partition(".")[0])
        key: jwt.PyJWK | Ed25519PublicKey | None = None
        if algorithm == "HS256":
            key = None if self.secret is None else _prepared(self.secret)
        elif algorithm == "EdDSA":
            key = self.public_key
        if key is None:
            raise TokenError(f"The token's algorithm is not the one that this server takes: {self._algorithms()}.")
        claims: Mapping[str, Any] = jwt.decode(
            token, key, algorithms=[algorithm], audience=study, leeway=0, options=_OPTIONS
        )
        return claims

    def _algorithms(self) -> str:
        """Describe the accepted values of the header's alg."""
        given = {"HS256": self.secret, "EdDSA": self.public_key}
        return " or ".join(name for name, key in given.items() if key is not None) or "none"


@lru_cache(maxsize=8)
def _prepared(secret: bytes) -> jwt.PyJWK:
    """Convert the secret for PyJWT, so that its form is not checked for every token."""
    encoded = urlsafe_b64encode(secret).rstrip(b"=").decode()
    return jwt.PyJWK({"kty": "oct", "alg": "HS256", "k": encoded})


@lru_cache(maxsize=64)
def _algorithm(header: str) -> str:
    """Return the algorithm in a token's header, only to choose the key.

    The header is verified with that key. Tokens of a backend all begin with the same part, so it is read once.
    """
    algorithm = json.loads(urlsafe_b64decode(f"{header}==")).get("alg")
    return algorithm if isinstance(algorithm, str) else ""


def mint(
    secret_or_private_key: bytes | Ed25519PrivateKey,
    *,
    subject: str,
    study: str,
    lifetime: timedelta,
    part: str | None = None,
) -> str:
    """Create a participant's token.

    It is signed with HS256 for a secret, and with EdDSA for a private key. It has no ``iat``: a server whose clock is a
    second behind would refuse it. ``part`` is for a study of parts of the users, and is the name of the participant's
    part.

    Examples
    --------
    >>> secret = bytes(32)
    >>> token = mint(secret, subject="u1", study="minutes", lifetime=timedelta(days=7))
    >>> TokenKeys(secret).subject(token, "minutes")
    'u1'
    """
    check_subject(subject)
    check_study_id(study)
    if not isinstance(lifetime, timedelta) or not timedelta(seconds=1) <= lifetime <= LONGEST_LIFETIME:
        raise ParameterError("lifetime", f"a timedelta from 1 second to {LONGEST_LIFETIME.days:,} days", str(lifetime))
    algorithm = "EdDSA"
    if isinstance(secret_or_private_key, bytes):
        _check_secret(secret_or_private_key)
        algorithm = "HS256"
    elif not isinstance(secret_or_private_key, Ed25519PrivateKey):
        raise ParameterError(
            "secret_or_private_key", "bytes or an Ed25519PrivateKey", type(secret_or_private_key).__name__
        )
    claims = {"sub": subject, "aud": study, "exp": int(time.time() + lifetime.total_seconds())}
    if part is not None:
        if not is_part_name(part):
            raise ParameterError("part", PART_NAME, part)
        claims["part"] = part
    return jwt.encode(claims, secret_or_private_key, algorithm=algorithm)


def read_public_key(path: Path) -> Ed25519PublicKey:
    """Read the Ed25519 public key in a PEM file."""
    content = _read(path, "--token-public-key")
    if b"PRIVATE KEY" in content:
        raise DataError(f"{path} holds a private key, which the server must not have. Give it the public key.")
    try:
        key = load_pem_public_key(content)
    except Exception:  # the library has many kinds, and may quote the file
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise_unchained(DataError(f"{path} is not an Ed25519 public key in PEM. Make a pair: hybriddp tokens keypair"))
    return key


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """Read the Ed25519 private key in a PEM file without a password."""
    try:
        key = load_pem_private_key(_read(path, "--private-key"), password=None)
    except DataError:
        raise
    except Exception:  # as above
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise_unchained(DataError(f"{path} is not an Ed25519 private key in PEM without a password."))
    return key


def _read(path: Path, option: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"The key {path} cannot be read ({error.strerror}). Correct {option}.") from None


def _require_time(claims: Mapping[str, Any], now: float) -> None:
    """Raise `TokenTimeError` unless a token is valid now: from ``nbf`` and ``iat``, if it has them, until ``exp``."""
    if any(int(claims[name]) > now for name in ("nbf", "iat") if name in claims):
        raise TokenTimeError("The token is not valid yet. Compare the clocks of its issuer and of the server.")
    if int(claims["exp"]) <= now:
        raise TokenTimeError("The token has expired. Ask for a new one.")


def check_subject(subject: object) -> str:
    """Return the subject if it is valid, else raise `TokenError`.

    A subject is a text of 1 to 256 characters, all of which can be written in UTF-8.
    """
    right = isinstance(subject, str) and 1 <= len(subject) <= LONGEST_SUBJECT
    text = str(subject)
    if not right or (not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)):
        raise TokenError(_WORDS[InvalidSubjectError])
    return text


def _check_secret(secret: bytes) -> None:
    if not isinstance(secret, bytes) or len(secret) < _SHORTEST_SECRET:
        raise DataError(f"The secret of tokens must have at least {_SHORTEST_SECRET} bytes, all of them random.")


def _refuse(error: Exception) -> NoReturn:
    """Raise a `TokenError` in our words: the library's may quote the token."""
    words = next((words for kind, words in _WORDS.items() if isinstance(error, kind)), "The token cannot be read.")
    raise_unchained(TokenError(words))
