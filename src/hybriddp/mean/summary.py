"""Summaries: a handful of integers per group, which add up over shards, files, days and replicas.

A summary belongs to a study, by its digest, and adding summaries of different studies is refused. A `TrustedSummary` is
*not* private: it holds the exact total and must not leave the curator. What leaves is a `PrivateTotal`. The summaries
of local reports are private, because every report is.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from hybriddp.channels.channel import is_integer
from hybriddp.errors import DataError, ProtocolError, raise_unchained


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
            return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()})
        except (AttributeError, TypeError, ValueError):
            # Not chained: what was wrong with the text would show what is in it.
            raise_unchained(DataError(f"The text is not a {cls.__name__}."))

    def _same_study(self, other: "_Additive") -> None:
        if self.study != other.study:
            raise ProtocolError(
                f"Summaries of different studies cannot be added: {self.study[:12]}… and {other.study[:12]}…."
            )


@dataclass(frozen=True, slots=True, repr=False)
class TrustedSummary(_Additive):
    """The trusted group in four integers. Holds the exact total: not private.

    Its ``repr`` shows the number of values only, so that a log or a notebook does not give the total away.

    Attributes
    ----------
    study : str
        The digest of the study.
    count, total : int
        How many values, and the sum of their units.
    rejected : int
        How many values were missing, NaN or infinite and are not in it.
    clamped : int
        How many values lay outside of the bounds and count as the nearer one: for the curator, not for publication.
    """

    study: str
    count: int
    total: int
    rejected: int = 0
    clamped: int = 0

    def __post_init__(self) -> None:
        from hybriddp.grid import UNITS

        whole = all(is_integer(x, 0, 1 << 62) for x in (self.count, self.total, self.rejected, self.clamped))
        possible = whole and self.total <= self.count * UNITS and self.clamped <= self.count
        if not isinstance(self.study, str) or not possible:
            raise DataError("A TrustedSummary needs a study and whole numbers: a count, and a total it can have.")

    def __add__(self, other: object) -> "TrustedSummary":
        if not isinstance(other, TrustedSummary):
            return NotImplemented
        self._same_study(other)
        return TrustedSummary(
            self.study,
            self.count + other.count,
            self.total + other.total,
            self.rejected + other.rejected,
            self.clamped + other.clamped,
        )

    def __radd__(self, other: object) -> "TrustedSummary":
        return self if other == 0 else NotImplemented  # so that sum() works

    def __repr__(self) -> str:
        return f"TrustedSummary({self.count:,} values of study {self.study[:12]}…: not private)"


@dataclass(frozen=True, slots=True, repr=False)
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
    tied : bool
        Whether every report in it came with the study's digest; if not, they may be those of another study.
    seeded : bool
        Whether any of them was drawn with a seed: such reports are a simulation, and not private.
    """

    study: str
    counts: tuple[int, ...]
    rejected: int = 0
    tied: bool = False
    seeded: bool = False

    def __post_init__(self) -> None:
        whole = isinstance(self.counts, tuple) and all(is_integer(x, 0, 1 << 62) for x in (*self.counts, self.rejected))
        if not isinstance(self.study, str) or not whole or not _flags(self.tied, self.seeded):
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
        seeded = self.seeded or other.seeded
        return LocalSummary(self.study, counts, self.rejected + other.rejected, _both_tied(self, other), seeded)

    def __radd__(self, other: object) -> "LocalSummary":
        return self if other == 0 else NotImplemented

    def __repr__(self) -> str:
        return f"LocalSummary({self.count:,} reports of study {self.study[:12]}…, tied={self.tied})"


@dataclass(frozen=True, slots=True, repr=False)
class LaplaceSummary(_Additive):
    """The local group of a study whose devices add Laplace noise, in a few integers: private already.

    Attributes
    ----------
    study : str
        The digest of the study.
    count, total : int
        How many reports, and the sum of them, in units. It may lie outside of what a sum of units could be.
    rejected : int
        How many reports no device of the study can have sent; they are not in it.
    tied : bool
        Whether every report in it came with the study's digest.
    seeded : bool
        Whether any of them was drawn with a seed: such reports are a simulation, and not private.
    """

    study: str
    count: int
    total: int
    rejected: int = 0
    tied: bool = False
    seeded: bool = False

    def __post_init__(self) -> None:
        whole = all(is_integer(x, 0, 1 << 62) for x in (self.count, self.rejected))
        whole = whole and is_integer(self.total, -(1 << 110), 1 << 110)
        if not isinstance(self.study, str) or not whole or not _flags(self.tied, self.seeded):
            raise DataError("A LaplaceSummary needs a study and whole numbers: a count, and a total it can have.")

    def __add__(self, other: object) -> "LaplaceSummary":
        if not isinstance(other, LaplaceSummary):
            return NotImplemented
        self._same_study(other)
        return LaplaceSummary(
            self.study,
            self.count + other.count,
            self.total + other.total,
            self.rejected + other.rejected,
            _both_tied(self, other),
            self.seeded or other.seeded,
        )

    def __radd__(self, other: object) -> "LaplaceSummary":
        return self if other == 0 else NotImplemented

    def __repr__(self) -> str:
        return f"LaplaceSummary({self.count:,} reports of study {self.study[:12]}…, tied={self.tied})"


def _flags(*values: object) -> bool:
    return all(isinstance(value, bool) for value in values)


def _both_tied(one: LocalSummary | LaplaceSummary, other: LocalSummary | LaplaceSummary) -> bool:
    """Whether all reports of both are tied; a summary without reports has none that is not."""
    return all(summary.tied for summary in (one, other) if summary.count or not (one.count or other.count))
