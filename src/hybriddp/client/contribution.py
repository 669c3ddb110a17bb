"""Contributions: what one person gives to a study, and the commitment by which the curator knows it again.

A contribution is one integer with a random nonce of 128 bits: a code, a value in units of the study's grid, the number
of the bin that it is in, or the number of a category, from 0 in the order of the study's text (all other items have the
number after the last). The curator stores its **commitment**, a hash of both, instead of the contribution. The hash
shows nothing without the nonce, which the device keeps; opening it proves to the curator that it is the same
contribution (a retry) or the one to be subtracted (a withdrawal).
"""

import hashlib
import math
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hybriddp import _check
from hybriddp.errors import DataError, ParameterError, ProtocolError

__all__ = ["GROUPS", "Contribution", "answer_commitment", "commitment", "is_digest"]

GROUPS = ("local", "trusted")

_DIGEST = re.compile(r"[0-9a-f]{64}")
_LARGEST, _LONGEST = (1 << 53) - 1, 1000  # of categories
_NONCE = re.compile(r"[0-9a-f]{32}")


def commitment(digest: str, group: str, integer: int, nonce: str) -> str:
    """Return the commitment to a contribution, as 64 hexadecimal digits.

    Examples
    --------
    >>> commitment("0" * 64, "local", 7, "f" * 32)[:16]
    'd7833c9277792d5d'
    """
    return hashlib.sha256(f"hybriddp contribution 1\n{digest}\n{group}\n{integer}\n{nonce}".encode()).hexdigest()


def answer_commitment(message: Mapping[str, Any], nonce: str) -> str:
    """Return the commitment to an answer to a K-means round, as 64 hex digits.

    The message is written as it is sent: round, ask, variant and code, without spaces.

    Examples
    --------
    >>> answer_commitment({"round": "0" * 64, "ask": 0, "variant": 3, "code": 17}, "f" * 32)[:16]
    'b2d553b7a614e2d6'
    """
    ordered = {name: message[name] for name in ("round", "ask", "variant", "code")}
    text = _check.compact(ordered)
    return hashlib.sha256(f"hybriddp answer 1\n{text}\n{nonce}".encode()).hexdigest()


def _is_sendable(value: object) -> bool:
    """Whether it is a finite number, or a category: an integer that every language has, or a text."""
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is int:
        return abs(value) <= _LARGEST
    if type(value) is tuple:
        return 0 < len(value) <= _LONGEST and all(type(x) is float and math.isfinite(x) for x in value)
    return type(value) is str and 0 < len(value) <= _LONGEST


def is_digest(text: object) -> bool:
    """Whether it is written as a digest is: 64 lower-case hexadecimal digits."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Contribution:
    """One person's contribution to one study, as it is sent, stored and opened again.

    Make it with `StudyOffer.draw`. It shows neither its integer nor its nonce when it is printed.

    Attributes
    ----------
    digest : str
        The digest of the study that it was made for.
    group : {"local", "trusted"}
        The group.
    integer : int
        The code; for a trusted contribution the value in units of the study's grid, or its bin's or category's number.
    nonce : str
        128 random bits, as 32 hexadecimal digits.
    value : float, int, str, tuple of float or None
        Only in a trusted contribution: the number, category or point that the integer stands for, which is what is
        sent.
    enrolls : bool
        Whether it says no more than that somebody takes part: in the local group of a study that asks in rounds.
    """

    digest: str
    group: str
    integer: int = field(repr=False)
    nonce: str = field(repr=False)
    value: float | str | tuple[float, ...] | None = field(default=None, repr=False)
    enrolls: bool = False

    def __post_init__(self) -> None:
        if self.group not in GROUPS:
            raise ParameterError("group", '"local" or "trusted"', self.group)
        if not is_digest(self.digest):
            raise ParameterError("digest", "64 lower-case hexadecimal digits", self.digest)
        has_value = _is_sendable(self.value)
        right = type(self.integer) is int and isinstance(self.nonce, str) and _NONCE.fullmatch(self.nonce)
        empty = not self.enrolls or (self.integer == 0 and self.group == "local")
        if not (right and empty and type(self.enrolls) is bool) or has_value is not (self.group == "trusted"):
            raise DataError("The contribution is not one that StudyOffer.draw has made.")

    @classmethod
    def new(
        cls, digest: str, group: str, integer: int, value: float | str | tuple[float, ...] | None = None
    ) -> "Contribution":
        """Create a contribution with a fresh nonce."""
        return cls(digest, group, integer, secrets.token_hex(16), value)

    @classmethod
    def enrollment(cls, digest: str) -> "Contribution":
        """Create the enrollment that joins the local group of a study with rounds."""
        return cls(digest, "local", 0, secrets.token_hex(16), enrolls=True)

    @property
    def commitment(self) -> str:
        """Its commitment, as 64 hexadecimal digits."""
        return commitment(self.digest, self.group, self.integer, self.nonce)

    @property
    def route(self) -> str:
        """Where it goes: the last part of the path below the study."""
        if self.enrolls:
            return "enrollments"
        return "reports" if self.group == "local" else "values"

    def body(self) -> bytes:
        """Return the request body, the same bytes every time.

        An enrollment contains the commitment alone, and opens it later.
        """
        if not self.enrolls:
            return self.opening()
        return _check.compact({"digest": self.digest, "commitment": self.commitment}, escaped=True).encode()

    def opening(self) -> bytes:
        """Return the content of the commitment, which is sent to withdraw."""
        number: dict[str, Any] = {"code": self.integer} if self.group == "local" else {"value": self.value}
        if self.enrolls:
            number = {}
        return _check.compact({"digest": self.digest, **number, "nonce": self.nonce}, escaped=True).encode()

    def to_dict(self) -> dict[str, Any]:
        """Return the contribution as plain data, for a file only its owner may read."""
        more: dict[str, Any] = {} if self.value is None else {"value": self.value}
        if self.enrolls:
            more["enrolls"] = True
        return {"digest": self.digest, "group": self.group, "integer": self.integer, "nonce": self.nonce, **more}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Contribution":
        """Restore a contribution from the output of `to_dict`.

        Raises `ProtocolError` for anything else.
        """
        value = fields.get("value")
        point = {"value": tuple(value)} if isinstance(value, list) else {}  # as JSON has it
        try:
            return cls(**{**fields, **point})
        except (TypeError, DataError, ParameterError):
            pass  # what these say could quote the contribution
        raise ProtocolError("This is not a stored contribution.")
