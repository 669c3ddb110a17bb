"""`ShareResult`: what shares of known categories and of the items of an open domain have in common."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray, IntArray
from hybriddp.reporting.svg import Mark, intervals
from hybriddp.reporting.wording import FAR_APART, far_apart, percent
from hybriddp.shares import explain
from hybriddp.shares.blend import Blend
from hybriddp.shares.categories import Item
from hybriddp.shares.divergence import ShareDivergence
from hybriddp.shares.law import GroupShares, ShareIntervals
from hybriddp.shares.published import MOST_LARGEST, publish_rows, step_of_shares
from hybriddp.shares.selection import largest, selected_level, selection_lines
from hybriddp.study.published import Row
from hybriddp.study.result import Result, Step

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 20
"""Rows of a table."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ShareResult(Result):
    """Shares of categories or items, from private numbers only."""

    headings: ClassVar[tuple[str, ...]] = ("", "share", "standard error", "95 % interval")
    listed: ClassVar[slice] = slice(None)  # categories of the blend that have rows
    noun: ClassVar[str] = "categories"

    if TYPE_CHECKING:

        @property
        def blend(self) -> Blend:
            """Both groups' private shares, blended."""

        @property
        def items(self) -> tuple[Item, ...]:
            """Names of the rows."""

    @property
    def about_noise_only(self) -> bool:
        """Whether the intervals contain no sampling."""
        return False

    def __len__(self) -> int:
        return len(self.items)

    @property
    def shares(self) -> FloatArray:
        """Share of each row, clipped to 0 to 1. They need not add up to 1: see `distribution`."""
        return np.clip(self.unbiased, 0.0, 1.0)

    @property
    def unbiased(self) -> FloatArray:
        """Shares without clipping: for adding up, and for averaging over many estimates."""
        return self.blend.shares[self.listed]

    @property
    def weight(self) -> FloatArray:
        """Weight on the trusted group, for each row."""
        return self.blend.weight[self.listed]

    @property
    def standard_errors(self) -> FloatArray:
        """Root of the expected squared error of each share of all users, if the groups are alike."""
        return self.blend.law().standard_errors[self.listed]

    @property
    def trusted(self) -> GroupShares | None:
        """Shares of the trusted group alone; None where there was no such group."""
        return self.blend.trusted

    @property
    def local(self) -> GroupShares | None:
        """Shares of the local group alone; None where there was no such group."""
        return self.blend.local

    @property
    def divergence(self) -> ShareDivergence | None:
        """How far the groups are apart; None where there was only one."""
        return self.blend.divergence

    @property
    def n_trusted(self) -> int:
        """Number of users who trusted the curator."""
        return self.trusted.count if self.trusted else 0

    @property
    def n_local(self) -> int:
        """Number of users who reported locally."""
        return self.local.count if self.local else 0

    # Intervals and rows

    def intervals(
        self, level: float = 0.95, *, population: bool = False, groups_may_differ: bool = False
    ) -> ShareIntervals:
        """Compute where each share lies, one by one, at a level of confidence.

        Parameters
        ----------
        level : float
            How often such an interval holds the share.
        population : bool
            Whether it is about the population that these users were drawn from; about these users if not.
        groups_may_differ : bool
            By default the intervals assume that those who trust are like those who do not. With True they assume
            nothing: they are made from the shares in which every user weighs the same, and are wider.
        """
        return self._of_rows(self.blend.intervals(level, population=population, groups_may_differ=groups_may_differ))

    def stated_intervals(self, level: float = 0.95, *, population: bool = False) -> ShareIntervals:
        """Compute the intervals that are stated beside the shares, which depend on how much the groups differ.

        If all categories together are up to two standard errors apart, those that assume that the groups are alike;
        from four on, those that do not. In between nobody can tell, so both are inside. A category that clearly differs
        has the interval that assumes nothing, whatever the others do.
        """
        return self._of_rows(self.blend.stated_intervals(level, population=population))

    def _of_rows(self, ends: ShareIntervals) -> ShareIntervals:
        lower, upper = (np.minimum(numbers[self.listed], 1.0) for numbers in (ends.lower, ends.upper))
        return ShareIntervals(lower, upper, ends.level)

    @property
    def assumes_groups_alike(self) -> bool:
        """Whether the stated intervals hold only if those who trust are like those who do not."""
        return self.divergence is not None and not self.groups_differ

    def top(self, n: int = 10) -> list[Row]:
        """List the rows with the largest shares, the largest first; those of equal shares in their order.

        Noise helps to be among the largest. So the level of their intervals is higher, and of intervals selected like
        this 95 % hold.
        """
        return self._rows(self._largest(n, "n"))

    def rows(self) -> list[Row]:
        """List all rows, in their order."""
        return self._rows(np.arange(len(self)))

    def first(self, n: int) -> list[Row]:
        """List all rows, or the largest ones if there are more than ``n``."""
        return self.rows() if len(self) <= n else self.top(n)

    def _largest(self, n: int, name: str = "top") -> IntArray:
        return largest(self.unbiased, _check.integer(name, n, at_least=1))

    def _rows(self, order: IntArray) -> list[Row]:
        level, some = selected_level(len(order), len(self)), len(order) < len(self)
        ends = self.stated_intervals(level)
        columns = (self.shares, ends.lower, ends.upper, self.standard_errors)
        numbers = zip(*(column[order].tolist() for column in columns), strict=True)
        return [
            Row(self.items[i], share, lower, upper, level, error, selected=some)
            for i, (share, lower, upper, error) in zip(order.tolist(), numbers, strict=True)
        ]

    # What is published, and what is the curator's

    def _published_rows(self, level: float, step: Step, top: int | None) -> tuple[Row, ...]:
        """Round the rows, or this number of the largest ones, with the intervals of `top`."""
        rounding = step_of_shares(self.blend, step)
        order = np.arange(len(self)) if top is None else self._largest(top)
        _check.number("level", level, _check.FRACTION)
        ends = self.stated_intervals(selected_level(len(order), len(self), level))
        return publish_rows(self.items, self.shares, self.standard_errors, ends, rounding, order)

    def _published_largest(self) -> tuple[Row, ...] | None:
        """Round the largest rows if there are many, with intervals that allow for the selection."""
        return self._published_rows(0.95, None, MOST_LARGEST) if len(self) > MOST_LARGEST else None

    def _curator(self) -> dict[str, Any]:
        ends, gap = self.stated_intervals(), self.divergence
        alone = [None if group is None else group.shares[self.listed] for group in (self.trusted, self.local)]
        columns = {
            "value": self.shares,
            "unbiased": self.unbiased,
            "standard_error": self.standard_errors,
            "lower": ends.lower,
            "upper": ends.upper,
            "level": np.full(len(self), ends.level),
            "weight": self.weight,
            "trusted_alone": alone[0],
            "local_alone": alone[1],
        }
        lists = [[None] * len(self) if column is None else column.tolist() for column in columns.values()]
        names = ("name", *columns)
        return {
            "rows": [dict(zip(names, row, strict=True)) for row in zip(self.items, *lists, strict=True)],
            "divergence": gap and {"z": gap.z, "item_z": gap.item_z.tolist(), "kept": gap.kept.tolist()},
        }

    # How it is shown

    @property
    def answer(self) -> str:
        """The largest shares with their intervals."""
        return f"{explain.largest_shares(self)}."

    def _summary(self) -> str:
        return f"{len(self):,} {self.noun}"

    def _warnings(self) -> Iterable[str]:
        gap = self.divergence
        return () if gap is None or gap.z <= FAR_APART else (far_apart("shares", tied=self.tied),)

    def _meaning(self) -> list[str]:
        return [*selection_lines(explain.TOLD, len(self)), *explain.assumption(self)]

    def _left_out(self) -> str:
        return "they have no item"

    def _weights(self) -> Sequence[float]:
        return [float(w) for w in (self.weight.min(), self.weight.max())] if len(self) else ()

    def notes(self) -> list[str]:
        """List what belongs beside the table: how its rows were selected."""
        return [*super().notes(), *selection_lines(SHOWN, len(self))]

    def cells(self) -> list[tuple[str, ...]]:
        """Write the largest shares, with standard errors and intervals."""
        rows = [explain.share_words(row) for row in self.first(SHOWN)]
        rest = len(self) - len(rows)
        return [*rows, *([(f"{rest:,} more", "", "", "")] if rest else [])]

    def drawing(self) -> str:
        """Draw the largest shares with their intervals as SVG; empty if there are none."""
        rows = self.first(MOST_LARGEST)
        marks = [Mark(str(row.name), row.value, row.lower, row.upper) for row in rows]
        return intervals(marks, lambda share: percent(share, 2), zero=True) if rows else ""

    @staticmethod
    def plot_parts(parts: "Sequence[ShareResult]", path: Path | str | None = None) -> "Figure":
        """Draw the shares of parts of the users side by side, and write them to ``path`` if that is given."""
        from hybriddp.figures.frequencies import draw

        return draw(parts, path=None if path is None else Path(path))

    @abstractmethod
    def distribution(self) -> object:
        """Compute the nearest distribution: shares that are not negative and add up to 1."""
