"""Frequent items, their shares, how wrong these may be, and what they cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hybriddp.items import explain
from hybriddp.shares.blend import Blend, project_to_simplex
from hybriddp.shares.categories import OTHER, Item
from hybriddp.shares.law import ShareIntervals
from hybriddp.shares.published import PublishedShares, rounded_share, step_of_shares
from hybriddp.shares.result import ShareResult
from hybriddp.study.result import Statement, Step

if TYPE_CHECKING:
    from hybriddp.items.study import HeavyHitterStudy


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PublishedItems(PublishedShares):
    """Frequent items as they may be published, a row for each, the most frequent first."""

    kind: ClassVar[str] = "items"

    method: str
    """How they were found: ``"dictionary"``, ``"list"`` or ``"discovery"``."""
    other_share: float
    """Share of all other items together."""

    @classmethod
    def _read(cls, plain: dict[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
        beside = {"method": str(content["method"]), "other_share": float(content["other_share"])}
        return super()._read(plain, content) | beside


@dataclass(frozen=True, eq=False, repr=False)
class HeavyHitters(ShareResult):
    """The frequent items, the most frequent first, with their shares among all users; from private numbers only."""

    published_type: ClassVar[type[PublishedItems]] = PublishedItems
    listed: ClassVar[slice] = slice(None, -1)
    noun: ClassVar[str] = "items"

    study: "HeavyHitterStudy"
    items: tuple[str, ...]
    blend: Blend  # of the items in this order, and of all others together
    method: str
    """How they were found: ``"dictionary"``, ``"list"`` or ``"discovery"``."""
    n_without_code: int = 0
    """Number of items that are too long for local discovery, so that only the trusted group counts them."""

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
        """Sort items with their blended shares, that of all others last."""
        # Not by an array of texts: in it all are as wide as the longest one.
        shares = (-blended.shares[:-1]).tolist()
        ranked = sorted(range(len(items)), key=lambda i: (shares[i], items[i]))
        order = np.array([*ranked, len(items)], np.int64)
        return cls(
            study,
            tuple(str(items[i]) for i in ranked),
            blended.reordered(order),
            method,
            n_without_code,
            privacy=privacy,
            tied=tied,
            implausible_reports=implausible_reports,
        )

    @property
    def other_share(self) -> float:
        """Share of all other items together."""
        return float(np.clip(self.blend.shares[-1], 0.0, 1.0))

    def intervals(
        self, level: float = 0.95, *, population: bool = False, groups_may_differ: bool = False
    ) -> ShareIntervals:
        """Compute where the share of each item lies, one by one; see `Frequencies.intervals`.

        An item is on the list because its count, noise included, is large. So shares of items just above the threshold
        are too large on average. Their intervals reach further down, so that they hold as often as others, given that
        the item is listed. Nothing allows for local discovery: intervals of items that it found by luck hold less
        often.
        """
        return super().intervals(level, population=population, groups_may_differ=groups_may_differ)

    def distribution(self) -> dict[str, float]:
        """Compute the nearest distribution over the items and all others."""
        projected = project_to_simplex(self.blend.shares).tolist()
        return dict(zip((*self.items, OTHER), projected, strict=True))

    def published(self, *, level: float = 0.95, step: Step = None, top: int | None = None) -> PublishedItems:
        """Round what may be published: see `Frequencies.published`."""
        return PublishedItems(
            rows=self._published_rows(level, step, top),
            largest=self._published_largest(),
            method=self.method,
            other_share=rounded_share(self.other_share, step_of_shares(self.blend, step)),
            **self._header(),
        )

    def _curator(self) -> dict[str, Any]:
        return super()._curator() | {"other_share": self.other_share}

    def _summary(self) -> str:
        return f"{super()._summary()} by {self.method}"

    @property
    def about_noise_only(self) -> bool:
        """Whether the intervals contain no sampling, as in the first step, when only the trusted group is there."""
        return self.n_local == 0

    def _meaning(self) -> list[str]:
        return [*super()._meaning(), *explain.discovery(self), *explain.remainder(self)]

    def _details(self) -> list[str]:
        return []
