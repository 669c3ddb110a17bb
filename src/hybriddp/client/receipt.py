"""Receipts: what the curator signs about a contribution, and how a client checks it.

A receipt is a JSON object with a signature (Ed25519) over its canonical bytes. The curator's public keys are at
``/.well-known/hybriddp-receipts.json``, as a JSON Web Key Set.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hybriddp.client.plain import one_line
from hybriddp.errors import ProtocolError, raise_unchained

__all__ = ["KEYS_PATH", "Receipt", "canonical_bytes", "has_key", "verify"]

KEYS_PATH = "/.well-known/hybriddp-receipts.json"

_TEXTS = ("study", "digest", "group", "epsilon", "delta", "commitment", "asserted_by", "day")
_ASSERTED = {
    "participant": "You sent it yourself, with a token.",
    "relay": "A relay sent it for you, and vouches for who you are.",
    "nobody": "Nobody vouches for who sent it: this study takes contributions without tokens.",
}


def canonical_bytes(receipt: Mapping[str, Any]) -> bytes:
    """Return the bytes that a signature covers.

    They are JSON in UTF-8 with sorted keys and without spaces.

    Examples
    --------
    >>> canonical_bytes({"study": "größe", "day": "2026-11-17"}).decode()
    '{"day":"2026-11-17","study":"größe"}'
    """
    return json.dumps(receipt, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def verify(document: Mapping[str, Any], jwks: Mapping[str, Any]) -> None:
    """Check the signature of a receipt, of a withdrawal or of a batch; `ProtocolError` unless it is right.

    Parameters
    ----------
    document : mapping
        The receipt as the curator sent it: ``receipt``, ``signature`` and ``kid``.
    jwks : mapping
        The curator's public keys, as they are at ``/.well-known/hybriddp-receipts.json``.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        signed = canonical_bytes(document["receipt"])
        signature, kid = _bytes(document["signature"]), document["kid"]
        found = [key for key in jwks["keys"] if _usable(key) and key.get("kid") == kid]
        public = [Ed25519PublicKey.from_public_bytes(_bytes(key["x"])) for key in found]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise_unchained(ProtocolError("The receipt or the curator's public keys are not in the form of the protocol."))
    if not public:
        raise ProtocolError("The receipt was signed with a key that is not among the curator's public keys.")
    for key in public:
        try:
            key.verify(signature, signed)
        except InvalidSignature:
            continue
        return
    raise ProtocolError("The receipt's signature is not valid: the curator did not sign it, or it was changed.")


def has_key(document: Mapping[str, Any], jwks: Mapping[str, Any]) -> bool:
    """Whether the key that a receipt names is in a key set."""
    keys = jwks.get("keys")
    return isinstance(keys, list) and any(_usable(key) and key.get("kid") == document.get("kid") for key in keys)


def _usable(key: object) -> bool:
    return isinstance(key, Mapping) and key.get("kty") == "OKP" and key.get("crv") == "Ed25519"


def _bytes(text: str) -> bytes:
    """Base64url without padding, and nothing else: other spellings of the same bytes are refused."""
    try:
        content = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise ValueError from None
    if base64.urlsafe_b64encode(content).rstrip(b"=").decode() != text:
        raise ValueError
    return content


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the curator says about your contribution, signed.

    Attributes
    ----------
    study, digest, group : str
        For which study, and in which group.
    epsilon, delta : str
        What you were promised.
    commitment : str
        The hash by which the curator knows the contribution again.
    asserted_by : {"participant", "relay", "nobody"}
        Who says that it is yours.
    stored : tuple of str
        What the curator stores of you, in sentences, each on one line.
    day : str
        When it was taken, as a date.
    withdrawn : bool
        Whether it is the receipt of a withdrawal.
    document : dict
        All of it with the signature, as the curator sent it: keep this to show it to others.
    resent : bool
        Whether the contribution was already in the journal: then it was sent again as it was drawn the first time, and
        the value that was given now was not used.
    opened : bool
        In the receipt of a withdrawal, whether the curator had the contribution and subtracted it then. False if there
        was nothing to subtract: it never arrived, or an earlier withdrawal, whose answer was lost, has removed it.
    part, part_by : str
        In a study of parts of the users, the one that you are counted in, and what the parts are by; else empty.
    round : int or None
        In the receipt of an answer to a round of K-means, the number of the round.
    enrolled : bool
        Whether it is about enrolling in a study that asks in rounds: nothing about your point was sent for it. Receipts
        do not say so; the journal does.
    """

    study: str
    digest: str
    group: str
    epsilon: str
    delta: str
    commitment: str
    asserted_by: str
    stored: tuple[str, ...]
    day: str
    withdrawn: bool
    document: dict[str, Any]
    resent: bool = False
    opened: bool = False
    part: str = ""
    part_by: str = ""
    round: int | None = None
    enrolled: bool = False

    @classmethod
    def from_document(cls, document: Mapping[str, Any], *, resent: bool = False) -> "Receipt":
        """Read the receipt in a document.

        Its signature is not checked here. Check it with `verify`.
        """
        try:
            said = document["receipt"]
            texts = {name: said[name] for name in _TEXTS}
            texts |= {name: said.get(name, "") for name in ("part", "part_by")}
            stored, withdrawn = tuple(said["stored"]), said.get("withdrawn", False)
            opened = said.get("opened", withdrawn)  # which older curators do not say: they opened, or refused
            right = said["version"] == 1 and isinstance(withdrawn, bool) and isinstance(opened, bool)
            right = right and (withdrawn or not opened)
            answered = said.get("round")
            right = right and (answered is None or type(answered) is int)
            right = right and all(isinstance(text, str) for text in (*texts.values(), *stored))
            right = right and all(text == one_line(text) for text in texts.values())
            shown = tuple(one_line(sentence) for sentence in stored)
        except (KeyError, TypeError, AttributeError):
            right = False
        if not right:
            raise_unchained(ProtocolError("The receipt is not in the form of the protocol."))
        told: dict[str, Any] = {"withdrawn": withdrawn, "opened": opened, "round": answered}
        return cls(**texts, **told, stored=shown, document=dict(document), resent=resent)

    @property
    def _what(self) -> str:
        """What the person did."""
        if self.enrolled:
            return "withdrew your enrollment" if self.withdrawn else "enrolled, and will be asked once"
        if self.round is not None:
            return f"answered round {self.round}"
        given = "value" if self.withdrawn else "value, in trust"
        group = "randomized report" if self.group == "local" else given
        return f"withdrew your {group}" if self.withdrawn else f"gave a {group}"

    def __str__(self) -> str:
        delta = "" if self.delta == "0" else f", δ = {self.delta}"
        lines = [
            f"Study {self.study} (digest {self.digest[:12]}…), {self.day}: you {self._what}.",
            f"You were promised ε = {self.epsilon}{delta}.",
        ]
        if self.withdrawn and not self.opened:
            lines.append("The curator had nothing of yours to subtract: it never arrived, or was withdrawn before.")
        if not self.withdrawn:
            lines.append(_ASSERTED.get(self.asserted_by, f"It is asserted by {self.asserted_by}."))
        if self.part:
            lines.append(f"You are counted in {self.part_by}: {self.part}.")
        if self.resent and not self.withdrawn:
            lines.append(
                "It is the contribution of an earlier call, sent again as it was. The value given now was not used."
            )
        return "\n".join([*lines, "What the curator stores of you:", *(f"- {sentence}" for sentence in self.stored)])
