"""The shares of all categories, how wrong they may be, and what they cost."""

import json
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray, IntArray
from hybriddp.channels.plausible import short_doubt
from hybriddp.errors import ParameterError
from hybriddp.shares import explain
from hybriddp.shares.blend import Blend, project_to_simplex
from hybriddp.shares.categories import Item
from hybriddp.shares.divergence import ShareDivergence
from hybriddp.shares.law import GroupShares, ShareIntervals
from hybriddp.shares.published import MOST_LARGEST, PublishedShares, publish_shares, share_table, step_of_shares
from hybriddp.shares.selection import largest, selected_level
from hybriddp.study.intervals import Interval
from hybriddp.study.result import Statement

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.table import Table

    from hybriddp.shares.study import FrequencyStudy


class ShareRow(NamedTuple):
    """One category: its share, the standard error of that, and the interval that is stated beside it.

    The interval of a ``selected`` row, one of the largest, has a higher level (`hybriddp.shares.selection`).
    """

    item: Item
    share: float
    standard_error: float
    interval: Interval
    selected: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frequencies:
    """The share of every category among all users, from private numbers only."""

    study: "FrequencyStudy"
    blend: Blend  # of both groups' private shares
    privacy: Statement
    """What it cost."""
    tied: bool = True
    """Whether every local report came with the study's digest."""
    implausible_reports: int = 0
    """At least so many local reports did not come out of the study's channel (`hybriddp.channels.plausible`)."""

    @property
    def items(self) -> tuple[Item, ...]:
        """The categories, in the order of the study; other items, if it counts them, come last."""
        return self.study.names

    @property
    def shares(self) -> FloatArray:
        """The share of each category, clipped to 0 to 1. They need not add up to 1: see `distribution`."""
        return np.clip(self.blend.shares, 0.0, 1.0)

    @property
    def unbiased(self) -> FloatArray:
        """The same without clipping: for adding up, and for averaging over many estimates."""
        return self.blend.shares

    @property
    def weight(self) -> FloatArray:
        """The weight on the trusted group, for each category."""
        return self.blend.weight

    @property
    def trusted(self) -> GroupShares | None:
        """What the trusted group alone says; None where there was no such group."""
        return self.blend.trusted

    @property
    def local(self) -> GroupShares | None:
        """What the local group alone says; None where there was no such group."""
        return self.blend.local

    @property
    def divergence(self) -> ShareDivergence | None:
        """How far the groups are apart; None where there was only one."""
        return self.blend.divergence

    @property
    def n_trusted(self) -> int:
        """How many users trusted the curator."""
        return self.trusted.count if self.trusted else 0

    @property
    def n_local(self) -> int:
        """How many users reported locally."""
        return self.local.count if self.local else 0

    @property
    def standard_errors(self) -> FloatArray:
        """The root of the expected squared error of each share of all users, if the groups are alike."""
        return self.blend.law().standard_errors

    def intervals(
        self, level: float = 0.95, *, population: bool = False, groups_may_differ: bool = False
    ) -> ShareIntervals:
        """Where the share of each category lies, one by one, at a level of confidence.

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
        return self.blend.intervals(level, population=population, groups_may_differ=groups_may_differ)

    def stated_intervals(self, level: float = 0.95, *, population: bool = False) -> ShareIntervals:
        """The intervals that are stated beside the shares: how much the groups differ decides which ones these are.

        If all categories together are up to two standard errors apart, those that assume that the groups are alike;
        from four on, those that do not. In between nobody can tell, so both are inside. A category that clearly differs
        has the interval that assumes nothing, whatever the others do.
        """
        return self.blend.stated_intervals(level, population=population)

    @property
    def groups_differ(self) -> bool:
        """Whether the groups' shares are more than two standard errors apart, as by chance alone in 5 % of studies."""
        return self.divergence is not None and self.divergence.differ

    @property
    def groups_clearly_differ(self) -> bool:
        """Whether they are more than four standard errors apart, which chance does not explain."""
        return self.divergence is not None and self.divergence.clearly_differ

    def share(self, item: Item) -> float:
        """The share of one category."""
        return float(self.shares[self._number(item)])

    def standard_error(self, item: Item) -> float:
        """The standard error of one category's share."""
        return float(self.standard_errors[self._number(item)])

    def interval(
        self, item: Item, level: float = 0.95, *, population: bool = False, groups_may_differ: bool = False
    ) -> Interval:
        """Where one category's share lies: see `intervals`."""
        found = self.intervals(level, population=population, groups_may_differ=groups_may_differ)
        number = self._number(item)
        return Interval(float(found.lower[number]), float(found.upper[number]), level)

    def top(self, n: int = 10) -> list[ShareRow]:
        """The categories with the largest shares, the largest first; those of equal shares in the study's order.

        Noise helps to be among the largest. So the level of their intervals is higher, and of intervals selected like
        this 95 % hold.
        """
        return self._rows(self._largest(n, "n"))

    def _largest(self, n: int, name: str = "top") -> IntArray:
        return largest(self.unbiased, _check.integer(name, n, at_least=1))

    def rows(self) -> list[ShareRow]:
        """All categories, in the study's order."""
        return self._rows(np.arange(len(self.items)))

    def _rows(self, order: IntArray) -> list[ShareRow]:
        shares, errors = self.shares, self.standard_errors
        ends = self.stated_intervals(selected_level(len(order), len(self)))
        return [
            ShareRow(
                self.items[i],
                float(shares[i]),
                float(errors[i]),
                Interval(float(ends.lower[i]), float(ends.upper[i]), ends.level),
                len(order) < len(self),
            )
            for i in order.tolist()
        ]

    def distribution(self) -> FloatArray:
        """The nearest distribution: shares that are not negative and add up to 1.

        For what needs one. It is biased: in a large domain the noise of rare categories lowers the frequent ones.
        """
        return project_to_simplex(self.unbiased)

    def published(
        self,
        *,
        level: float = 0.95,
        step: Fraction | Decimal | str | float | None = None,
        top: int | None = None,
    ) -> PublishedShares:
        """What may be published: shares, standard errors and the stated intervals, rounded, and nothing else.

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
        chosen, order = step_of_shares(self.blend, step), None if top is None else self._largest(top)
        _check.number("level", level, _check.FRACTION)
        ends = self.stated_intervals(level if order is None else selected_level(len(order), len(self), level))
        return publish_shares(self.items, self.shares, self.standard_errors, ends, chosen, order=order)

    def _number(self, item: Item) -> int:
        try:
            return self.study.domain.numbers[item]
        except (KeyError, TypeError):
            raise ParameterError("item", "one of the study's categories", item) from None

    # How it is shown ----------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.items)

    def __str__(self) -> str:
        return explain.one_line(self)

    def __repr__(self) -> str:
        name = self.study.title if len(self.study.title) <= 40 else f"{self.study.title[:39]}…"
        seeded = ", a simulation" if self.privacy.seeded else ""
        doubt = short_doubt(self.implausible_reports)
        return f"Frequencies({name!r}: {len(self):,} categories, ε = {self.privacy.epsilon}{seeded}{doubt})"

    def explain(self) -> str:
        """The shares, what they assume, how they came about and what they cost, in plain words."""
        return explain.explanation(self)

    def plot(self, path: Path | str | None = None) -> "Figure":
        """A picture of the largest shares with their intervals; written to ``path`` if given.

        Needs matplotlib (``pip install "hybriddp[plots]"``).
        """
        from hybriddp.figures import frequencies as picture

        return picture.draw([self], path=None if path is None else Path(path))

    def __rich__(self) -> "Table":
        return explain.table(self)

    def to_json(self, *, full: bool = False) -> str:
        """What `to_dict` gives, as text."""
        return json.dumps(self.to_dict(full=full), indent=2, ensure_ascii=False)

    def to_pandas(self, *, top: int | None = None) -> "pd.DataFrame":
        """Make a table with a row for each category, or for this number of the largest ones. Needs pandas."""
        order = np.arange(len(self)) if top is None else self._largest(top)
        ends = self.stated_intervals(selected_level(len(order), len(self)))
        return share_table(self.items, self.shares, self.standard_errors, ends, self.weight, order)

    def to_dict(self, *, full: bool = False) -> dict[str, Any]:
        """What may be published, as plain values: the rounded shares with errors and intervals, and the promise.

        Rows of the full table have plain intervals. Where there are more than 30, ``"largest"`` has the 30 largest with
        those of selected rows. With ``full`` all that the curator has beside it, unrounded: what each group says alone,
        unclipped shares and weights.
        """
        users, p = self.study.users, self.published()
        found = {
            "warnings": list(explain.warnings(self)),  # before the numbers
            "study": self.study.name,
            "digest": self.study.digest,
            "users": users and asdict(users),
            **p.to_dict(),
            "largest": self.published(top=MOST_LARGEST).to_dict() if len(self) > MOST_LARGEST else None,
            "intervals_assume_groups_alike": explain.assumes_alike(self),
            "n_trusted": self.n_trusted,
            "n_local": self.n_local,
            "tied": self.tied,
            "implausible_reports": self.implausible_reports,
            "privacy": self.privacy.to_dict(),
        }
        return found if not full else found | {"curator": self._curator()}

    def _curator(self) -> dict[str, Any]:
        """What is unrounded, and what each group says."""
        gap, ends = self.divergence, self.stated_intervals()
        return {
            "shares": self.shares.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "lower": ends.lower.tolist(),
            "upper": ends.upper.tolist(),
            "unbiased": self.unbiased.tolist(),
            "weights": self.weight.tolist(),
            "trusted_shares": None if self.trusted is None else self.trusted.shares.tolist(),
            "local_shares": None if self.local is None else self.local.shares.tolist(),
            "divergence": gap and {"z": gap.z, "item_z": gap.item_z.tolist(), "kept": gap.kept.tolist()},
        }
