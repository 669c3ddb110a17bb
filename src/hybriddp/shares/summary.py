"""Summaries of the two groups: integers that add up over shards, files and days.

`TrustedCounts` is *not* private: it has the exact count of every category and must not leave the curator. What leaves
is a release with noise. `LocalCounts` is private, because every report in it is.
"""

import json
from dataclasses import asdict, dataclass
from typing import Self

import numpy as np

from hybriddp import _check
from hybriddp._check import IntArray
from hybriddp.channels.channel import is_integer
from hybriddp.errors import DataError, ProtocolError, raise_unchained

_LARGEST = 1 << 62


class _Counts:
    """What both kinds of summaries can do."""

    study: str
    counts: tuple[int, ...]

    def to_json(self) -> str:
        """The summary as text."""
        return json.dumps(asdict(self), separators=(",", ":"))  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The summary that a text describes, checked."""
        try:
            stored = _check.json_fields(text)
            return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()})
        except (TypeError, ValueError):
            # Not chained: what was wrong with the text would show what is in it.
            raise_unchained(DataError(f"The text is not a {cls.__name__}."))

    def array(self) -> IntArray:
        """The counts as an array."""
        return np.array(self.counts, np.int64)

    def added_counts(self, other: "_Counts") -> tuple[int, ...]:
        """The sums of the counts of both; `ProtocolError` if they are of different studies."""
        if self.study != other.study:
            one, two = self.study[:12], other.study[:12]
            raise ProtocolError(f"Summaries of different studies cannot be added: {one}… and {two}….")
        if len(self.counts) != len(other.counts):
            raise ProtocolError("Summaries of different channels cannot be added.")
        return tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # so that sum() works

    def _is_plain(self, *numbers: int) -> bool:
        whole = isinstance(self.counts, tuple) and all(is_integer(x, 0, _LARGEST) for x in (*self.counts, *numbers))
        return isinstance(self.study, str) and whole


@dataclass(frozen=True, slots=True, repr=False)
class TrustedCounts(_Counts):
    """The trusted group as one count per category. Holds exact counts: not private.

    Its ``repr`` shows the number of users only, so that a log or a notebook does not give the counts away.
    """

    study: str
    """The digest of the study."""
    counts: tuple[int, ...]
    """How many users have each category."""
    missing: int = 0
    """How many items were None or NaN and are not in it."""
    outside: int = 0
    """How many items were none of the categories and are not in it: for the curator, not for publication."""

    def __post_init__(self) -> None:
        if not self._is_plain(self.missing, self.outside):
            raise DataError("TrustedCounts need a study and whole numbers that are not negative.")

    @property
    def count(self) -> int:
        """How many users there are."""
        return sum(self.counts)

    def __add__(self, other: object) -> "TrustedCounts":
        if not isinstance(other, TrustedCounts):
            return NotImplemented
        counts = self.added_counts(other)
        return TrustedCounts(self.study, counts, self.missing + other.missing, self.outside + other.outside)

    def __repr__(self) -> str:
        return f"TrustedCounts({self.count:,} items of study {self.study[:12]}…: not private)"


@dataclass(frozen=True, slots=True, repr=False)
class LocalCounts(_Counts):
    """The local group as one count per code, or per bit of a code: private already, since every report is."""

    study: str
    """The digest of the study."""
    count: int
    """How many reports there are."""
    counts: tuple[int, ...]
    """How many of them have each code; with unary encoding, each bit."""
    rejected: int = 0
    """How many reports were no code of the study's channel and are not in it."""
    tied: bool = False
    """Whether every report in it came with the study's digest; if not, they may be those of another study."""
    seeded: bool = False
    """Whether any of them was drawn with a seed: such reports are a simulation, and not private."""

    def __post_init__(self) -> None:
        flags = isinstance(self.tied, bool) and isinstance(self.seeded, bool)
        possible = self._is_plain(self.count, self.rejected) and max(self.counts, default=0) <= self.count
        if not flags or not possible:
            raise DataError("LocalCounts need a study and whole numbers that reports can have.")

    def __add__(self, other: object) -> "LocalCounts":
        if not isinstance(other, LocalCounts):
            return NotImplemented
        counts, seeded = self.added_counts(other), self.seeded or other.seeded
        both = [summary for summary in (self, other) if summary.count or not (self.count or other.count)]
        tied = all(summary.tied for summary in both)  # a summary without reports has none that is not
        count, rejected = self.count + other.count, self.rejected + other.rejected
        return LocalCounts(self.study, count, counts, rejected, tied, seeded)

    def __repr__(self) -> str:
        return f"LocalCounts({self.count:,} reports of study {self.study[:12]}…, tied={self.tied})"
