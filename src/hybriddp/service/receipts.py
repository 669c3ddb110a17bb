"""Receipts: what a participant gets, signed, and can hold against the server later.

A **commitment** is a hash of a contribution and of a random nonce that the server does not store. The server stores
it instead of the contribution: it shows nothing by itself, and whoever has the nonce can open it to repeat or to
withdraw. The nonce is made on the device.

A **receipt** says which study, group and promise, what is stored, and on which day. It is signed with Ed25519 over its
canonical bytes; the public key is at ``/.well-known/hybriddp-receipts.json``.
"""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hybriddp.client import contribution
from hybriddp.client.receipt import canonical_bytes
from hybriddp.errors import ProtocolError
from hybriddp.study.users import StudyParts

__all__ = ["GROUPS", "Signer", "commitment", "commitments_sha256", "stored"]

GROUPS = ("local", "trusted")

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NONCE = re.compile(r"[0-9a-f]{32}")

_IDENTITY = (
    "A keyed hash of the participant's identifier, so that nobody counts twice. "
    "Without the server's key it does not tell who they are."
)
_COMMITMENT = (
    "A commitment: a hash of the {what} and of a random number that the participant keeps and this server "
    "does not. Without that number nobody can guess the {what} from it."
)
_LOCAL = "How often each code was reported, all participants together. The report is one in these counts."
_TRUSTED = "The total of all trusted values, encrypted. The value is a part of it and is never stored by itself."
_LOCAL_CODES = (
    "How often each code, or each bit of one, was reported, all participants together. The report is one in these "
    "counts."
)
_TRUSTED_COUNTS = (
    "How many trusted participants have each category, encrypted. The category is one in these counts and is never "
    "stored by itself."
)
_TRUSTED_ITEMS = (
    "How many trusted participants have each item, encrypted, until the list of frequent items is released. The item "
    "is one in these counts and is never stored beside a participant."
)
_LOCAL_PATTERNS = (
    "How often each report, a pattern and a code, was sent, all participants together. The report is one in these "
    "counts."
)
_TRUSTED_BINS = (
    "How many trusted participants have a value in each of 256 bins, encrypted. The value is one in these counts and "
    "is never stored by itself."
)
_LOCAL_ENROLLED = (
    "That one more person has enrolled. When it is their turn: how often each answer to the round was given, all "
    "participants together; the answer is one in these counts, beside a second keyed hash and a commitment to it."
)
_TRUSTED_POINT = (
    "The point, encrypted together with those of all other trusted participants and without a name, until the study "
    "ends, since several steps of it need the points. Then they are deleted."
)
_COUNTED = {
    "mean": {"local": _LOCAL, "trusted": _TRUSTED},
    "frequency": {"local": _LOCAL_CODES, "trusted": _TRUSTED_COUNTS},
    "distribution": {"local": _LOCAL_PATTERNS, "trusted": _TRUSTED_BINS},
    "heavy-hitters": {"local": _LOCAL_CODES, "trusted": _TRUSTED_ITEMS},
    "kmeans": {"local": _LOCAL_ENROLLED, "trusted": _TRUSTED_POINT},
}
_WHAT = {
    "mean": {"local": "report", "trusted": "value"},
    "frequency": {"local": "report", "trusted": "category"},
    "distribution": {"local": "report", "trusted": "value's bin"},
    "heavy-hitters": {"local": "report", "trusted": "item"},
    "kmeans": {"local": "enrollment", "trusted": "point"},
}
_ENVELOPE = "The day and the group."
_ENVELOPE_LOCAL = "The day, the group, and whether the participant or a relay sent it."
_PART = (
    "The part that the participant is counted in ({by}). It is not hidden: how many take part in each part, in either "
    "group, is public once the study has closed, and there is an answer for each part that enough people are in."
)
_WITHDRAWN = "Only a keyed hash of the participant's identifier, so that the same person cannot join this study again."
_WITHDRAWN_OPEN = "Only that one participant has withdrawn. The {what} and its commitment are gone."


def commitment(digest: str, group: str, integer: int, nonce: str) -> bytes:
    """Return the 32 bytes of a commitment to one contribution.

    Parameters
    ----------
    digest : str
        The study's digest.
    group : {"local", "trusted"}
        Which group the contribution is for.
    integer : int
        The code, the value in units of the study's grid, or the number of the category or the bin, from 0.
    nonce : str
        128 random bits, as 32 lower-case hexadecimal digits.

    Examples
    --------
    >>> commitment("0" * 64, "local", 7, "f" * 32).hex()[:16]
    'd7833c9277792d5d'
    """
    if not _DIGEST.fullmatch(digest):
        raise ProtocolError("A study's digest must be 64 lower-case hexadecimal digits.")
    if group not in GROUPS:
        raise ProtocolError(f"The group must be one of {', '.join(GROUPS)}.")
    if type(integer) is not int:
        raise ProtocolError(
            "A contribution must be an integer: a code, units of the grid, or the number of a category or bin."
        )
    if not _NONCE.fullmatch(nonce):
        raise ProtocolError("A nonce must be 32 lower-case hexadecimal digits.")
    return bytes.fromhex(contribution.commitment(digest, group, integer, nonce))


def commitments_sha256(commitments: Sequence[bytes]) -> str:
    """Hash the commitments of a batch receipt's items, joined in order, with SHA-256."""
    return hashlib.sha256(b"".join(commitments)).hexdigest()


def stored(
    group: str,
    *,
    kind: str = "mean",
    tokens: bool = True,
    parts: StudyParts | None = None,
    withdrawn: bool = False,
) -> list[str]:
    """List in plain sentences what the server stores of a participant.

    Parameters
    ----------
    group : {"local", "trusted"}
        The participant's group.
    kind : {"mean", "frequency", "distribution", "heavy-hitters", "kmeans"}
        What the study is about.
    tokens : bool
        Whether the study knows participants by their tokens; an open pilot does not.
    parts : StudyParts or None
        The parts of the users, if there is an answer for each.
    withdrawn : bool
        Whether they have withdrawn: then it is what remains.
    """
    if group not in GROUPS:
        raise ProtocolError(f"The group must be one of {', '.join(GROUPS)}.")
    what = _WHAT[kind][group]
    if withdrawn:
        return [_WITHDRAWN if tokens else _WITHDRAWN_OPEN.format(what=what)]
    envelope = _ENVELOPE_LOCAL if group == "local" and tokens else _ENVELOPE  # relays send nothing else
    counted = _COUNTED[kind][group]
    if parts is not None:
        counted = counted.replace("all participants", "all participants of the same part")
        counted = counted.replace("all trusted values", "all trusted values of the same part")
    told = [*([_IDENTITY] if tokens else []), _COMMITMENT.format(what=what), counted, envelope]
    return told if parts is None else [*told, _PART.format(by=parts.by)]


class Signer:
    """The server's signature under receipts."""

    def __init__(self, signing_key: Ed25519PrivateKey) -> None:
        self._key = signing_key
        self._x = _base64url(signing_key.public_key().public_bytes_raw())
        # RFC 7638: the key's name is a hash of itself, so every replica and every restart gives it the same one.
        thumbprint = canonical_bytes({"crv": "Ed25519", "kty": "OKP", "x": self._x})
        self.kid = _base64url(hashlib.sha256(thumbprint).digest())

    def sign(self, receipt: Mapping[str, Any]) -> dict[str, Any]:
        """Return a receipt with its signature and the name of the key."""
        signature = _base64url(self._key.sign(canonical_bytes(receipt)))
        return {"receipt": dict(receipt), "signature": signature, "kid": self.kid}

    def jwks(self) -> dict[str, Any]:
        """Return the public key as a JSON Web Key Set."""
        public = {"kty": "OKP", "crv": "Ed25519", "x": self._x, "kid": self.kid, "use": "sig", "alg": "EdDSA"}
        return {"keys": [public]}


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")
