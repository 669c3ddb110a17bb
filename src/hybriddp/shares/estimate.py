"""The shares of all categories, how wrong they may be, and what they cost."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.errors import ParameterError
from hybriddp.reporting.wording import noise_part, percent
from hybriddp.shares.blend import Blend, project_to_simplex
from hybriddp.shares.categories import Item
from hybriddp.shares.published import PublishedShares
from hybriddp.shares.result import ShareResult
from hybriddp.study.intervals import Interval
from hybriddp.study.result import Step

if TYPE_CHECKING:
    from hybriddp.shares.study import FrequencyStudy


@dataclass(frozen=True, eq=False, repr=False)
class Frequencies(ShareResult):
    """The share of every category among all users, from private numbers only."""

    published_type: ClassVar[type[PublishedShares]] = PublishedShares

    study: "FrequencyStudy"
    blend: Blend  # of both groups' private shares

    @property
    def items(self) -> tuple[Item, ...]:
        """Categories, in the order of the study; other items, if it counts them, come last."""
        return self.study.names

    def share(self, item: Item) -> float:
        """Return the share of one category."""
        return float(self.shares[self._number(item)])

    def standard_error(self, item: Item) -> float:
        """Return the standard error of one category's share."""
        return float(self.standard_errors[self._number(item)])

    def interval(
        self, item: Item, level: float = 0.95, *, population: bool = False, groups_may_differ: bool = False
    ) -> Interval:
        """Compute where one category's share lies: see `intervals`."""
        ends = self.intervals(level, population=population, groups_may_differ=groups_may_differ)
        number = self._number(item)
        return Interval(float(ends.lower[number]), float(ends.upper[number]), level)

    def _number(self, item: Item) -> int:
        try:
            return self.study.domain.numbers[item]
        except (KeyError, TypeError):
            raise ParameterError("item", "one of the study's categories", item) from None

    def distribution(self) -> FloatArray:
        """Compute the nearest distribution: shares that are not negative and add up to 1.

        It is biased: in a large domain the noise of rare categories lowers the frequent ones.
        """
        return project_to_simplex(self.unbiased)

    def published(self, *, level: float = 0.95, step: Step = None, top: int | None = None) -> PublishedShares:
        """Round what may be published: shares, standard errors and the stated intervals, and nothing else.

        Parameters
        ----------
        level : float
            The level of confidence of the intervals, which are rounded outwards.
        step : Fraction, Decimal, str or float, optional
            What to round to. If not given, 1, 2 or 5 times a power of ten, at most a tenth of the noise's standard
            deviation.
        top : int, optional
            Only this number of the largest shares, with the intervals of `top`.
        """
        rows = self._published_rows(level, step, top)
        return PublishedShares(rows=rows, largest=self._published_largest(), **self._header())

    def _meaning(self) -> list[str]:
        return [
            *super()._meaning(),
            "An interval is about the share among these users, of one category alone; that of the population they come "
            "from is wider (population=True).",
        ]

    def _left_out(self) -> str:
        return super()._left_out() if self.study.other else "their item is missing or none of the categories"

    def _details(self) -> list[str]:
        errors, lines = self.standard_errors, []
        hidden = int(np.count_nonzero(self.shares < 2 * errors))
        if hidden:
            lines.append(f"{hidden:,} of {len(self):,} shares are below two standard errors, and may as well be 0.")
        noise = float(np.average(self.blend.law().noise_fraction, weights=errors**2)) if errors.any() else 0.0
        lines += [
            noise_part(noise, f"standard errors go up to {percent(float(errors.max()), 2)} of the users"),
            "Shares are estimated one by one and need not add up to 1: distribution() gives those that do.",
        ]
        if not self.study.other:
            lines.append("Users whose item is none of the categories are counted with other=True.")
        return lines
