"""Frequent items, their shares, how wrong these may be, and what they cost."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.channels.plausible import short_doubt
from hybriddp.items import explain
from hybriddp.shares.blend import Blend, project_to_simplex
from hybriddp.shares.categories import OTHER, Item
from hybriddp.shares.divergence import ShareDivergence
from hybriddp.shares.law import ShareIntervals
from hybriddp.shares.published import (
    MOST_LARGEST,
    PublishedShares,
    publish_shares,
    rounded_share,
    share_table,
    step_of_shares,
)
from hybriddp.shares.selection import selected_level
from hybriddp.study.intervals import Interval
from hybriddp.study.result import Statement

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table

    from hybriddp.items.study import HeavyHitterStudy


class ItemRow(NamedTuple):
    """One item: its share, the standard error of that, its interval, and the weight on the trusted group.

    The interval of a ``selected`` row, one of the largest, has a higher level (`hybriddp.shares.selection`).
    """

    item: str
    share: float
    standard_error: float
    interval: Interval
    weight: float
    selected: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HeavyHitters:
    """The frequent items, the most frequent first, with their shares among all users; from private numbers only."""

    study: "HeavyHitterStudy"
    items: tuple[str, ...]
    blend: Blend  # of the items in this order, and of all others together
    privacy: Statement
    """What it cost."""
    method: str
    """How they were found: ``"dictionary"``, ``"list"`` or ``"discovery"``."""
    tied: bool = True
    """Whether every local report came with the digest of its question."""
    n_without_code: int = 0
    """How many of the items are too long for local discovery, so that only the trusted group counts them."""
    implausible_reports: int = 0
    """At least so many local reports did not come out of their channel (`hybriddp.channels.plausible`)."""

    @classmethod
    def of(
        cls,
        study: "HeavyHitterStudy",
        items: Sequence[Item],
        blended: Blend,
        privacy: Statement,
        method: str,
        *,
        tied: bool = True,
        n_without_code: int = 0,
        implausible_reports: int = 0,
    ) -> "HeavyHitters":
        """Items with their blended shares, that of all others last; sorted here."""
        # Not by an array of texts: in it all are as wide as the longest one.
        shares = (-blended.shares[:-1]).tolist()
        ranked = sorted(range(len(items)), key=lambda i: (shares[i], items[i]))
        order = np.array([*ranked, len(items)], np.int64)
        ordered = explain.reordered(blended, order)
        ranked_items = tuple(str(items[i]) for i in order[:-1].tolist())
        return cls(study, ranked_items, ordered, privacy, method, tied, n_without_code, implausible_reports)

    @property
    def shares(self) -> FloatArray:
        """The share of each item among all users, not below 0. The shares need not add up: see `distribution`."""
        return np.clip(self.unbiased, 0.0, 1.0)

    @property
    def unbiased(self) -> FloatArray:
        """The same without clipping."""
        return self.blend.shares[:-1]

    @property
    def other_share(self) -> float:
        """The share of all other items together."""
        return float(np.clip(self.blend.shares[-1], 0.0, 1.0))

    @property
    def weight(self) -> FloatArray:
        """The weight on the trusted group, for each item."""
        return self.blend.weight[:-1]

    @property
    def standard_errors(self) -> FloatArray:
        """The root of the expected squared error of each share, if the groups are alike."""
        return self.blend.law().standard_errors[:-1]

    @property
    def divergence(self) -> ShareDivergence | None:
        """How far the groups are apart; None where there was only one."""
        return self.blend.divergence

    @property
    def n_trusted(self) -> int:
        """How many users trusted the curator."""
        return self.blend.trusted.count if self.blend.trusted else 0

    @property
    def n_local(self) -> int:
        """How many users reported locally."""
        return self.blend.local.count if self.blend.local else 0

    def intervals(
        self, level: float = 0.95, *, population: bool = False, groups_may_differ: bool = False
    ) -> ShareIntervals:
        """Where the share of each item lies, one by one; see `Frequencies.intervals`.

        An item is on the list because its count, noise included, is large. So shares of items just above the threshold
        are too large on average. Their intervals reach further down, so that they hold as often as others, given that
        the item is listed. Nothing allows for local discovery: intervals of items that it found by luck hold less
        often.
        """
        return self._of_items(self.blend.intervals(level, population=population, groups_may_differ=groups_may_differ))

    def stated_intervals(self, level: float = 0.95, *, population: bool = False) -> ShareIntervals:
        """The intervals that are stated beside the shares, by how much the groups differ: see `Frequencies`."""
        return self._of_items(self.blend.stated_intervals(level, population=population))

    def _of_items(self, found: ShareIntervals) -> ShareIntervals:
        lower, upper = (np.minimum(ends[:-1], 1.0) for ends in (found.lower, found.upper))
        return ShareIntervals(lower, upper, found.level)

    def distribution(self) -> dict[str, float]:
        """The nearest distribution over the items and all others: shares that are not negative and add up to 1."""
        projected = project_to_simplex(self.blend.shares).tolist()
        return dict(zip((*self.items, OTHER), projected, strict=True))

    def top(self, n: int = 10) -> list[ItemRow]:
        """The most frequent items, with intervals whose level allows for that selection: see `Frequencies.top`."""
        return self._rows(_check.integer("n", n, at_least=1))

    def rows(self) -> list[ItemRow]:
        """All items, the most frequent first, with plain intervals."""
        return self._rows(len(self))

    def _rows(self, n: int) -> list[ItemRow]:
        ends, n = self.stated_intervals(selected_level(n, len(self))), min(n, len(self))
        columns = (self.shares, self.standard_errors, ends.lower, ends.upper, self.weight)
        return [
            ItemRow(item, share, error, Interval(lower, upper, ends.level), weight, n < len(self))
            for item, share, error, lower, upper, weight in zip(
                self.items[:n], *(column[:n].tolist() for column in columns), strict=True
            )
        ]

    def published(
        self,
        *,
        level: float = 0.95,
        step: Fraction | Decimal | str | float | None = None,
        top: int | None = None,
    ) -> PublishedShares:
        """What may be published: shares, standard errors and the stated intervals, rounded: see `Frequencies`."""
        chosen = step_of_shares(self.blend, step)
        order = None if top is None else np.arange(min(_check.integer("top", top, at_least=1), len(self)))
        _check.number("level", level, _check.FRACTION)
        ends = self.stated_intervals(level if order is None else selected_level(len(order), len(self), level))
        return publish_shares(self.items, self.shares, self.standard_errors, ends, chosen, order=order)

    # How it is shown

    def __len__(self) -> int:
        return len(self.items)

    def __str__(self) -> str:
        return explain.one_line(self)

    def __repr__(self) -> str:
        name = self.study.name if len(self.study.name) <= 40 else f"{self.study.name[:39]}…"
        seeded = ", a simulation" if self.privacy.seeded else ""
        more = f"{seeded}{short_doubt(self.implausible_reports)}"
        return f"HeavyHitters({name!r}: {len(self):,} items by {self.method}, ε = {self.privacy.epsilon}{more})"

    def explain(self) -> str:
        """The items, how they were found, what their shares assume and what they cost, in plain words."""
        return explain.explanation(self)

    def __rich__(self) -> "Table":
        return explain.table(self)

    def plot(self, path: Path | str | None = None) -> "Figure":
        """A picture of the largest shares with their intervals; written to ``path`` if given.

        Needs matplotlib (``pip install "hybriddp[plots]"``).
        """
        from hybriddp.figures import frequencies as picture

        return picture.draw([self], path=None if path is None else Path(path))

    def to_pandas(self, *, top: int | None = None) -> "pd.DataFrame":
        """Make a table with a row for each item, or for this number of the most frequent ones. Needs pandas."""
        order = np.arange(len(self) if top is None else min(_check.integer("top", top, at_least=1), len(self)))
        ends = self.stated_intervals(selected_level(len(order), len(self)))
        return share_table(self.items, self.shares, self.standard_errors, ends, self.weight, order)

    def to_json(self, *, full: bool = False) -> str:
        """What `to_dict` gives, as text."""
        return json.dumps(self.to_dict(full=full), indent=2, ensure_ascii=False)

    def to_dict(self, *, full: bool = False) -> dict[str, Any]:
        """What may be published, as plain values: the items with rounded shares, errors and intervals, and the promise.

        With ``full`` all that the curator has beside it, unrounded: unclipped shares, weights, and what each group says
        alone.
        """
        p = self.published()
        found: dict[str, Any] = {
            "warnings": list(explain.warnings(self)),  # before the numbers
            "study": self.study.name,
            "digest": self.study.digest,
            "method": self.method,
            **p.to_dict(),
            "largest": self.published(top=MOST_LARGEST).to_dict() if len(self) > MOST_LARGEST else None,
            "intervals_assume_groups_alike": self.divergence is not None and not self.divergence.differ,
            "other_share": rounded_share(self.other_share, p.step),
            "n_trusted": self.n_trusted,
            "n_local": self.n_local,
            "tied": self.tied,
            "implausible_reports": self.implausible_reports,
            "privacy": self.privacy.to_dict(),
        }
        return found if not full else found | {"curator": self._curator()}

    def _curator(self) -> dict[str, Any]:
        """What is unrounded, and what each group says."""
        groups, ends = {"trusted_shares": self.blend.trusted, "local_shares": self.blend.local}, self.stated_intervals()
        return {
            "shares": self.shares.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "lower": ends.lower.tolist(),
            "upper": ends.upper.tolist(),
            "other_share": self.other_share,
            "unbiased": self.unbiased.tolist(),
            "weights": self.weight.tolist(),
            **{name: group and group.shares[:-1].tolist() for name, group in groups.items()},
        }
