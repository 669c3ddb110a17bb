"""`Document`: what is public, has exactly one text, and is known by the digest of that text."""

import hashlib
import re
from typing import Any, ClassVar, Self

from hybriddp import _check
from hybriddp.errors import ProtocolError

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Document:
    """A public document with exactly one text, the JSON object that `to_json` writes; anything else is refused."""

    _what: ClassVar[str]  # in errors
    _kind: ClassVar[str]  # in its text
    _version: ClassVar[int] = 2

    def _content(self) -> dict[str, Any]:
        """Return the fields of the text beside type and version, as plain values."""
        raise NotImplementedError

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Self:
        """Create the document from these plain values.

        Exceptions that Python raises here mean that the values are malformed.
        """
        raise NotImplementedError

    def fields(self) -> dict[str, Any]:
        """Return the document as plain values."""
        return {"type": self._kind, "version": self._version, **self._content()}

    def to_json(self) -> str:
        """Return the document as text."""
        return _check.compact(self.fields())

    @property
    def digest(self) -> str:
        """SHA-256 of the text, by which parties can tell that they mean the same."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parse the document from a text.

        Raises `ProtocolError` if the text differs from the output of `to_json` in any character.
        """
        return cls.of(parsed(text, cls._what)).written_as(text)

    def written_as(self, text: str) -> Self:
        """Return the document itself if this is its text.

        Raises `ProtocolError` otherwise.
        """
        self.require(self.to_json() == text, "its text is not the one that to_json writes")
        return self

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Self:
        """Create the document from plain values, or raise `ProtocolError`."""
        known = isinstance(fields, dict) and (fields.get("type"), fields.get("version")) == (cls._kind, cls._version)
        remedy = "write it anew with this version of hybriddp"
        cls.require(known, f"its text is not of type {cls._kind}, version {cls._version}; {remedy}")
        try:
            return cls._read(fields)
        except ProtocolError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as reason:
            raise ProtocolError(f"The {cls._what} is refused: it is incomplete or malformed ({reason}).") from None

    @classmethod
    def require(cls, condition: bool, reason: str) -> None:
        """Nothing, if the condition holds; `ProtocolError` with the reason if not."""
        if not condition:
            raise ProtocolError(f"The {cls._what} is refused: {reason}.")


def is_digest(value: object) -> bool:
    """Whether a value is a SHA-256 in hexadecimal digits, as documents are named by."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def parsed(text: str, what: str) -> dict[str, Any]:
    """Parse a text as a JSON object, or raise `ProtocolError`."""
    try:
        return _check.json_fields(text)
    except ValueError:
        raise ProtocolError(f"The {what} is refused: it is not a JSON object, or names something twice.") from None
