"""Summaries: a handful of integers per group, which add up over shards, files and days.

All of them belong to a study, by its digest, and what belongs to different studies cannot be added. A summary of
reports says whether all of them came with that digest (``tied``): see `hybriddp.study.reports`.

A `TrustedSummary` is *not* private: it holds the exact total and must not leave the curator. What leaves is a
`PrivateTotal`. Local reports and their summaries are private, because every report is.
"""

import json
import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from hybriddp import _check
from hybriddp.channels.channel import is_integer
from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.channels.window_channel import VALUE_BITS, WindowChannel
from hybriddp.errors import DataError, ProtocolError, raise_unchained
from hybriddp.grid import UNITS
from hybriddp.mean.weights import LocalStatistics
from hybriddp.study.reports import check_same_study


class _Summary:
    """What every kind of summary can do."""

    study: str

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

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # so that sum() works


@dataclass(frozen=True, slots=True, repr=False)
class TrustedSummary(_Summary):
    """The trusted group in four integers. Holds the exact total: not private.

    Its ``repr`` shows the number of values only, so that a log or a notebook does not give the total away.
    """

    study: str
    """The digest of the study."""
    count: int
    """How many values."""
    total: int
    """The sum of their units."""
    rejected: int = 0
    """How many values were missing, NaN or infinite and are not in it."""
    clamped: int = 0
    """How many values lay outside of the bounds and count as the nearer one: for the curator, not for publication."""

    def __post_init__(self) -> None:
        whole = all(is_integer(x, 0, 1 << 62) for x in (self.count, self.total, self.rejected, self.clamped))
        possible = whole and self.total <= self.count * UNITS and self.clamped <= self.count
        if not isinstance(self.study, str) or not possible:
            raise DataError("A TrustedSummary needs a study and whole numbers: a count, and a total it can have.")

    def __add__(self, other: object) -> "TrustedSummary":
        if not isinstance(other, TrustedSummary):
            return NotImplemented
        check_same_study("Summaries", self.study, other.study)
        return TrustedSummary(
            self.study,
            self.count + other.count,
            self.total + other.total,
            self.rejected + other.rejected,
            self.clamped + other.clamped,
        )

    def __repr__(self) -> str:
        return f"TrustedSummary({self.count:,} values of study {self.study[:12]}…: not private)"


@dataclass(frozen=True, slots=True, repr=False)
class LocalSummary(_Summary):
    """The local group as one count per code: private already, since every report is."""

    study: str
    """The digest of the study."""
    counts: tuple[int, ...]
    """How many reports have each code."""
    rejected: int = 0
    """How many reports were no code of the study's channel and are not in it."""
    tied: bool = False
    """Whether every report in it came with the study's digest; if not, they may be those of another study."""
    seeded: bool = False
    """Whether any of them was drawn with a seed: such reports are a simulation, and not private."""

    def __post_init__(self) -> None:
        whole = isinstance(self.counts, tuple) and all(is_integer(x, 0, 1 << 62) for x in (*self.counts, self.rejected))
        if not isinstance(self.study, str) or not whole or not _are_flags(self.tied, self.seeded):
            raise DataError("A LocalSummary needs a study and whole numbers that are not negative.")

    @property
    def count(self) -> int:
        """How many reports there are."""
        return sum(self.counts)

    def __add__(self, other: object) -> "LocalSummary":
        if not isinstance(other, LocalSummary):
            return NotImplemented
        check_same_study("Summaries", self.study, other.study)
        if len(self.counts) != len(other.counts):
            raise ProtocolError("Summaries of different channels cannot be added.")
        counts = tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))
        seeded = self.seeded or other.seeded
        return LocalSummary(self.study, counts, self.rejected + other.rejected, _both_tied(self, other), seeded)

    def window_channel(self, channel: WindowChannel | DiscreteLaplace) -> WindowChannel:
        """The channel, if these can be counts of its codes; `ProtocolError` if not."""
        if isinstance(channel, DiscreteLaplace):
            raise ProtocolError(f"A LocalSummary is not what {channel!r} gives.")
        if len(self.counts) != channel.n_codes:
            raise ProtocolError(f"The local summary has {len(self.counts)} codes, the study {channel.n_codes}.")
        return channel

    def statistics(self, channel: WindowChannel | DiscreteLaplace) -> LocalStatistics:
        """What the reports say about the users, read with the channel of their study."""
        n = self.count
        return LocalStatistics.of(np.array(self.counts, float) / n, n, self.window_channel(channel))

    def exact_mean(self, channel: WindowChannel | DiscreteLaplace) -> Fraction:
        """The mean of the reports on the unit range, without rounding errors."""
        values = self.window_channel(channel).code_values
        total = sum(count * value for count, value in zip(self.counts, values, strict=True))
        return Fraction(1, 2) + Fraction(total, self.count << (VALUE_BITS + 1))

    def __repr__(self) -> str:
        return f"LocalSummary({self.count:,} reports of study {self.study[:12]}…, tied={self.tied})"


@dataclass(frozen=True, slots=True, repr=False)
class LaplaceSummary(_Summary):
    """The local group of a study whose devices add Laplace noise, in a few integers: see `LocalSummary`."""

    study: str
    """The digest of the study."""
    count: int
    """How many reports."""
    total: int
    """The sum of them, in units. It may lie outside of what a sum of units could be."""
    rejected: int = 0
    """How many reports no device of the study can have sent; they are not in it."""
    tied: bool = False
    seeded: bool = False

    def __post_init__(self) -> None:
        whole = all(is_integer(x, 0, 1 << 62) for x in (self.count, self.rejected))
        whole = whole and is_integer(self.total, -(1 << 110), 1 << 110)
        if not isinstance(self.study, str) or not whole or not _are_flags(self.tied, self.seeded):
            raise DataError("A LaplaceSummary needs a study and whole numbers: a count, and a total it can have.")

    def __add__(self, other: object) -> "LaplaceSummary":
        if not isinstance(other, LaplaceSummary):
            return NotImplemented
        check_same_study("Summaries", self.study, other.study)
        count, total = self.count + other.count, self.total + other.total
        seeded = self.seeded or other.seeded
        return LaplaceSummary(self.study, count, total, self.rejected + other.rejected, _both_tied(self, other), seeded)

    def laplace_channel(self, channel: WindowChannel | DiscreteLaplace) -> DiscreteLaplace:
        """The channel, if this can be the sum of its reports; `ProtocolError` if not."""
        if not isinstance(channel, DiscreteLaplace):
            raise ProtocolError(f"A LaplaceSummary is not what {channel!r} gives.")
        return channel

    def statistics(self, channel: WindowChannel | DiscreteLaplace) -> LocalStatistics:
        """What the reports say about the users; a sum says nothing about the variance of their values."""
        noise = self.laplace_channel(channel).noise_variance
        return LocalStatistics(self.count, self.total / (self.count * UNITS), 0.0, math.inf, noise)

    def exact_mean(self, channel: WindowChannel | DiscreteLaplace) -> Fraction:
        """The mean of the reports on the unit range, without rounding errors."""
        self.laplace_channel(channel)
        return Fraction(self.total, self.count * UNITS)

    def __repr__(self) -> str:
        return f"LaplaceSummary({self.count:,} reports of study {self.study[:12]}…, tied={self.tied})"


def _are_flags(*values: object) -> bool:
    return all(isinstance(value, bool) for value in values)


def _both_tied(one: LocalSummary | LaplaceSummary, other: LocalSummary | LaplaceSummary) -> bool:
    """Whether all reports of both are tied; a summary without reports has none that is not."""
    return all(summary.tied for summary in (one, other) if summary.count or not (one.count or other.count))
