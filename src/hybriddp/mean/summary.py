"""Summaries: a handful of integers per group, which add up over shards, files, days and replicas.

A summary belongs to a study, by its digest, and adding summaries of different studies is refused. A `TrustedSummary` is
*not* private: it holds the exact total and must not leave the curator. What leaves is a `PrivateTotal`. The summaries
of local reports are private, because every report is.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from hybriddp.channels.channel import is_integer
from hybriddp.errors import DataError, ProtocolError


class _Additive:
    """What both kinds of summary can do."""

    study: str

    def to_json(self) -> str:
        """The summary as text."""
        return json.dumps(asdict(self), separators=(",", ":"))  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The summary that a text describes, checked."""
        try:
            stored: dict[str, Any] = json.loads(text)
            if not isinstance(stored, dict):
                raise TypeError(text)
            return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()})
        except (TypeError, ValueError) as reason:
            raise DataError(f"The text is not a {cls.__name__}.") from reason

    def _same_study(self, other: "_Additive") -> None:
        if self.study != other.study:
            raise ProtocolError(
                f"Summaries of different studies cannot be added: {self.study[:12]}… and {other.study[:12]}…."
            )


@dataclass(frozen=True, slots=True)
class TrustedSummary(_Additive):
    """The trusted group in three integers. Holds the exact total: not private.

    Attributes
    ----------
    study : str
        The digest of the study.
    count, total : int
        How many values, and the sum of their units.
    rejected : int
        How many values were missing, NaN or infinite and are not in it.
    """

    study: str
    count: int
    total: int
    rejected: int = 0

    def __post_init__(self) -> None:
        from hybriddp.grid import UNITS

        whole = all(is_integer(x, 0, 1 << 62) for x in (self.count, self.total, self.rejected))
        if not isinstance(self.study, str) or not whole or self.total > self.count * UNITS:
            raise DataError("A TrustedSummary needs a study and whole numbers: a count, and a total it can have.")

    def __add__(self, other: object) -> "TrustedSummary":
        if not isinstance(other, TrustedSummary):
            return NotImplemented
        self._same_study(other)
        return TrustedSummary(
            self.study, self.count + other.count, self.total + other.total, self.rejected + other.rejected
        )

    def __radd__(self, other: object) -> "TrustedSummary":
        return self if other == 0 else NotImplemented  # so that sum() works


@dataclass(frozen=True, slots=True)
class LocalSummary(_Additive):
    """The local group as one count per code: private already, since every report is.

    Attributes
    ----------
    study : str
        The digest of the study.
    counts : tuple of int
        How many reports have each code.
    rejected : int
        How many reports were no code of the study's channel and are not in it.
    """

    study: str
    counts: tuple[int, ...]
    rejected: int = 0

    def __post_init__(self) -> None:
        whole = isinstance(self.counts, tuple) and all(is_integer(x, 0, 1 << 62) for x in (*self.counts, self.rejected))
        if not isinstance(self.study, str) or not whole:
            raise DataError("A LocalSummary needs a study and whole numbers that are not negative.")

    @property
    def count(self) -> int:
        """How many reports there are."""
        return sum(self.counts)

    def __add__(self, other: object) -> "LocalSummary":
        if not isinstance(other, LocalSummary):
            return NotImplemented
        self._same_study(other)
        if len(self.counts) != len(other.counts):
            raise ProtocolError("Summaries of different channels cannot be added.")
        counts = tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))
        return LocalSummary(self.study, counts, self.rejected + other.rejected)

    def __radd__(self, other: object) -> "LocalSummary":
        return self if other == 0 else NotImplemented


@dataclass(frozen=True, slots=True)
class LaplaceSummary(_Additive):
    """The local group of a study whose devices add Laplace noise, in three integers: private already.

    Attributes
    ----------
    study : str
        The digest of the study.
    count, total : int
        How many reports, and the sum of them, in units. It may lie outside of what a sum of units could be.
    rejected : int
        How many reports no device of the study can have sent; they are not in it.
    """

    study: str
    count: int
    total: int
    rejected: int = 0

    def __post_init__(self) -> None:
        whole = all(is_integer(x, 0, 1 << 62) for x in (self.count, self.rejected))
        if not isinstance(self.study, str) or not whole or not is_integer(self.total, -(1 << 110), 1 << 110):
            raise DataError("A LaplaceSummary needs a study and whole numbers: a count, and a total it can have.")

    def __add__(self, other: object) -> "LaplaceSummary":
        if not isinstance(other, LaplaceSummary):
            return NotImplemented
        self._same_study(other)
        return LaplaceSummary(
            self.study, self.count + other.count, self.total + other.total, self.rejected + other.rejected
        )

    def __radd__(self, other: object) -> "LaplaceSummary":
        return self if other == 0 else NotImplemented
