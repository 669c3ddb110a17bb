"""The trusted group of an open domain as exact counts, which add up over shards, files and days: *not* private.

What leaves the curator's hands is a `PrivateItems`. Summaries of shards add exactly if nobody is in two of them.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hybriddp import _check
from hybriddp.channels.channel import is_integer
from hybriddp.errors import DataError
from hybriddp.shares.categories import LONGEST_CATEGORY, is_shown
from hybriddp.study.summary import Summary

_LARGEST = 1 << 62


@dataclass(frozen=True, slots=True, repr=False)
class ItemCounts(Summary):
    """How many trusted users have each item. Holds exact counts, and items of single persons: not private.

    Its ``repr`` shows the number of users only, so that a log or a notebook does not give anything away.
    """

    study: str
    """The digest of the study."""
    n_users: int
    """How many users there are, those with none of the items included."""
    counts: Mapping[str, int]
    """How many of them have each item."""
    missing: int = 0
    """How many users had no item (None, NaN) and are not in it."""

    def __post_init__(self) -> None:
        numbers = (self.n_users, self.missing)
        whole = all(is_integer(x, 0, _LARGEST) for x in numbers) and isinstance(self.counts, Mapping)
        if not isinstance(self.study, str) or not whole:
            raise DataError("ItemCounts need a study, items and whole numbers that are not negative.")
        texts = all(is_shown(item) for item in self.counts)
        if not texts or not all(is_integer(count, 1, self.n_users) for count in self.counts.values()):
            raise DataError(
                f"ItemCounts need readable texts of up to {LONGEST_CATEGORY:,} characters as items, each with a count "
                "from 1 to the number of users. What is none of these counts as other, and is left out."
            )
        if sum(self.counts.values()) > self.n_users:
            raise DataError(
                "ItemCounts need one item per user at most, but they have more items than users: somebody was counted "
                "more often, and the noise would not hide them."
            )
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))

    def _plus(self, other: "ItemCounts") -> "ItemCounts":
        counts = Counter(self.counts)
        counts.update(other.counts)
        return ItemCounts(self.study, self.n_users + other.n_users, counts, self.missing + other.missing)

    def __reduce__(self) -> tuple[type["ItemCounts"], tuple[str, int, dict[str, int], int]]:
        return ItemCounts, (self.study, self.n_users, dict(self.counts), self.missing)

    def to_json(self) -> str:
        """Write the summary as text, its items in order: not private."""
        content = {"study": self.study, "n_users": self.n_users, "counts": dict(sorted(self.counts.items()))}
        return _check.compact({**content, "missing": self.missing})

    def __repr__(self) -> str:
        return f"ItemCounts({self.n_users:,} users of study {self.study[:12]}…: not private)"
