"""Summaries of the two groups: integers that add up over shards, files and days.

A `TrustedSummary` is *not* private: it holds exact sums and must not leave the curator. What leaves is a release with
noise. A `LocalSummary` is private, because every report in it is.

Both belong to a study, by its digest. `hybriddp.study.groups` checks that they fit to it.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Self

import numpy as np

from hybriddp import _check
from hybriddp._check import IntArray
from hybriddp.channels.channel import is_integer
from hybriddp.errors import DataError, ProtocolError, raise_unchained
from hybriddp.study.reports import check_same_study

_LARGEST = 1 << 62


class Summary(ABC):
    """Text and sum of all kinds of summaries."""

    study: str

    def to_json(self) -> str:
        """Write the summary as text."""
        return _check.compact(asdict(self), escaped=True)  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read and check the summary in a text."""
        try:
            stored = _check.json_fields(text)
            return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()})
        except (TypeError, ValueError):
            # Not chained: what was wrong with the text would show what is in it.
            raise_unchained(DataError(f"The text is not of type {cls.__name__}."))

    def __add__(self, other: object) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        check_same_study("Summaries", self.study, other.study)
        return self._plus(other)

    def __radd__(self, other: object) -> Self:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum() works

    @abstractmethod
    def _plus(self, other: Self) -> Self:
        """Add the summary of other users of the same study."""


@dataclass(frozen=True, slots=True, repr=False)
class TrustedSummary(Summary):
    """Exact sums over the trusted group: not private.

    Its ``repr`` shows the number of users only, so that a log or a notebook does not give the sums away.
    """

    study: str
    """The digest of the study."""
    count: int
    """How many users."""
    sums: tuple[int, ...]
    """The sum of their units, for a mean; how many of them are in each category, or in each bin."""
    missing: int = 0
    """How many values were missing, NaN or infinite and are not in it."""
    outside: int = 0
    """How many items were none of the categories and are not in it: for the curator, not for publication."""
    clamped: int = 0
    """How many values lay outside of the bounds and count as the nearer one: for the curator, not for publication."""

    def __post_init__(self) -> None:
        whole = _are_whole(self.sums, self.count, self.missing, self.outside, self.clamped)
        if not isinstance(self.study, str) or not whole or self.clamped > self.count:
            raise DataError("A TrustedSummary needs a study, and whole numbers that its users can have.")

    def _plus(self, other: "TrustedSummary") -> "TrustedSummary":
        return TrustedSummary(
            self.study,
            self.count + other.count,
            _added(self.sums, other.sums),
            self.missing + other.missing,
            self.outside + other.outside,
            self.clamped + other.clamped,
        )

    def array(self) -> IntArray:
        """Return the sums as an array."""
        return np.array(self.sums, np.int64)

    def __repr__(self) -> str:
        return f"TrustedSummary({self.count:,} users of study {self.study[:12]}…: not private)"


@dataclass(frozen=True, slots=True, repr=False)
class LocalSummary(Summary):
    """Counts of the local group's reports: private already, since every report is."""

    study: str
    """The digest of the study."""
    count: int
    """How many reports."""
    counts: tuple[int, ...]
    """How many of them have each code; with unary encoding, each bit."""
    rejected: int = 0
    """How many reports were no code of the study's channel and are not in it."""
    tied: bool = False
    """Whether every report in it came with the study's digest; if not, they may be those of another study."""
    seeded: bool = False
    """Whether any of them was drawn with a seed: such reports are a simulation, and not private."""

    def __post_init__(self) -> None:
        whole = _are_whole(self.counts, self.count, self.rejected) and max(self.counts, default=0) <= self.count
        flags = isinstance(self.tied, bool) and isinstance(self.seeded, bool)
        if not isinstance(self.study, str) or not whole or not flags:
            raise DataError("A LocalSummary needs a study, and whole numbers that its reports can have.")

    @classmethod
    def of_codes(
        cls, study: str, counts: Sequence[int], rejected: int = 0, *, tied: bool = False, seeded: bool = False
    ) -> "LocalSummary":
        """Summarize reports of which each has one code, by the count of every code."""
        return cls(study, sum(counts), tuple(counts), rejected, tied, seeded)

    def _plus(self, other: "LocalSummary") -> "LocalSummary":
        # A summary without reports has none that is not tied.
        tied = all(one.tied for one in (self, other) if one.count or not (self.count or other.count))
        return LocalSummary(
            self.study,
            self.count + other.count,
            _added(self.counts, other.counts),
            self.rejected + other.rejected,
            tied,
            self.seeded or other.seeded,
        )

    def array(self) -> IntArray:
        """Return the counts as an array."""
        return np.array(self.counts, np.int64)

    def __repr__(self) -> str:
        return f"LocalSummary({self.count:,} reports of study {self.study[:12]}…, tied={self.tied})"


def _are_whole(numbers: object, *more: object) -> bool:
    """Whether these are a tuple of whole numbers that are not negative, and more such numbers."""
    return isinstance(numbers, tuple) and all(is_integer(x, 0, _LARGEST) for x in (*numbers, *more))


def _added(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Add the numbers of two summaries place by place."""
    if len(one) != len(other):
        raise ProtocolError("Summaries of different channels cannot be added.")
    return tuple(a + b for a, b in zip(one, other, strict=True))
