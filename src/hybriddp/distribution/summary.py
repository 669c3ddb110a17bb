"""Summaries of a distribution study: counts of bins and counts of reports, which add up over shards, files and days.

`BinCounts` of the trusted group are *not* private and must not leave the curator. What leaves is a `PrivateHistogram`
(`hybriddp.distribution.release`). `PatternCounts` of the local group are private, because every report is.
"""

import json
from dataclasses import asdict, dataclass
from typing import Self

from hybriddp import _check
from hybriddp.channels.channel import is_integer
from hybriddp.channels.masked import N_BINS
from hybriddp.errors import DataError, ProtocolError, raise_unchained

_MOST = 1 << 62


class Tallied:
    """What both kinds of counts can do."""

    study: str
    counts: tuple[int, ...]

    @property
    def count(self) -> int:
        """How many users are in it."""
        return sum(self.counts)

    def to_json(self) -> str:
        """The counts as text."""
        return json.dumps(asdict(self), separators=(",", ":"))  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The counts that a text describes, checked."""
        try:
            stored = _check.json_fields(text)
            return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()})
        except (TypeError, ValueError):
            # Not chained: what was wrong with the text would show what is in it.
            raise_unchained(DataError(f"The text is not a {cls.__name__}."))

    def added_counts(self, other: "Tallied") -> tuple[int, ...]:
        """The sums of both counts; `ProtocolError` if they belong to different studies."""
        if self.study != other.study:
            digests = f"{self.study[:12]}… and {other.study[:12]}…"
            raise ProtocolError(f"Summaries of different studies cannot be added: {digests}.")
        if len(self.counts) != len(other.counts):
            raise ProtocolError("Summaries of different channels cannot be added.")
        return tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # so that sum() works


def _are_counts(values: object, *more: object) -> bool:
    return isinstance(values, tuple) and all(is_integer(x, 0, _MOST) for x in (*values, *more))


@dataclass(frozen=True, slots=True, repr=False)
class BinCounts(Tallied):
    """The trusted group as one count per bin. Exact counts: not private.

    Its ``repr`` shows the number of values only, so that a log or a notebook does not give the counts away.
    """

    study: str
    """The digest of the study."""
    counts: tuple[int, ...]
    """How many values are in each of the 256 bins."""
    rejected: int = 0
    """How many values were missing, NaN or infinite and are not in it."""
    clamped: int = 0
    """How many values lay outside of the bounds and count as the nearer one: for the curator, not for publication."""

    def __post_init__(self) -> None:
        whole = _are_counts(self.counts, self.rejected, self.clamped) and len(self.counts) == N_BINS
        if not isinstance(self.study, str) or not whole or self.clamped > self.count:
            raise DataError(f"BinCounts need a study and {N_BINS} whole numbers that are not negative.")

    def __add__(self, other: object) -> "BinCounts":
        if not isinstance(other, BinCounts):
            return NotImplemented
        counts = self.added_counts(other)
        return BinCounts(self.study, counts, self.rejected + other.rejected, self.clamped + other.clamped)

    def __repr__(self) -> str:
        return f"BinCounts({self.count:,} values of study {self.study[:12]}…: not private)"


@dataclass(frozen=True, slots=True, repr=False)
class PatternCounts(Tallied):
    """The local group as one count per report, a pattern and a code: private already, since every report is."""

    study: str
    """The digest of the study."""
    counts: tuple[int, ...]
    """How many reports are 0, 1, …: the codes of the first pattern, then those of the second, and so on."""
    rejected: int = 0
    """How many reports were none of the study's channel and are not in it."""
    tied: bool = False
    """Whether every report in it came with the study's digest; if not, they may be those of another study."""
    seeded: bool = False
    """Whether any of them was drawn with a seed: such reports are a simulation, and not private."""

    def __post_init__(self) -> None:
        flags = isinstance(self.tied, bool) and isinstance(self.seeded, bool)
        if not isinstance(self.study, str) or not flags or not _are_counts(self.counts, self.rejected):
            raise DataError("PatternCounts need a study and whole numbers that are not negative.")

    def __add__(self, other: object) -> "PatternCounts":
        if not isinstance(other, PatternCounts):
            return NotImplemented
        counts, rejected = self.added_counts(other), self.rejected + other.rejected
        # A summary without reports has none that is not tied.
        tied = all(one.tied for one in (self, other) if one.count or not (self.count or other.count))
        return PatternCounts(self.study, counts, rejected, tied, self.seeded or other.seeded)

    def __repr__(self) -> str:
        return f"PatternCounts({self.count:,} reports of study {self.study[:12]}…, tied={self.tied})"
