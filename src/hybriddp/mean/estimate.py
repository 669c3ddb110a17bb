"""The answer, how wrong it may be, and what it cost."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hybriddp import _check
from hybriddp.errors import DataError
from hybriddp.mean import explain
from hybriddp.mean.interval import ErrorLaw, Errors, GroupMean, Laws
from hybriddp.mean.published import PublishedMean, has_second_tier, publish, rounded, step_of
from hybriddp.mean.weights import Divergence, Weighting
from hybriddp.reporting.svg import Mark, intervals
from hybriddp.reporting.wording import noise_part, significant
from hybriddp.study.intervals import Interval
from hybriddp.study.result import Result, Step
from hybriddp.study.rounding import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hybriddp.mean.study import MeanStudy


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """A mean, from private numbers only.

    For publication take `published`, which is also what ``float()``, ``str()`` and `to_json` show: the rounded value
    and interval. The attributes are the curator's: publishing them leaves every user their own ε. The second tier of
    `hybriddp.amplify`, which a weight has that was fixed beforehand, is lost.
    """

    published_type: ClassVar[type[PublishedMean]] = PublishedMean
    headings: ClassVar[tuple[str, ...]] = ("", "users", "mean", "95 % interval")

    study: "MeanStudy"
    value: float
    """The answer. With the adaptive weight it lies within the bounds and has been pulled towards their middle by as
    much as makes the worst case best: $4 E / (1 + 4 E)$ of the way, $E$ the expected squared error on the unit range,
    so next to nothing unless noise covers a good part of the range."""
    unbiased: float
    """The weighted mean of the groups as it is: for averaging over many estimates. It may lie outside of the bounds."""
    weight: float
    """The weight on the trusted group's mean that it was made with."""
    weighting: Weighting  # how that weight was chosen, before the groups were compared
    trusted: GroupMean | None
    """Mean of the trusted group alone; None where there was no such group."""
    local: GroupMean | None
    """Mean of the local group alone; None where there was no such group."""
    divergence: Divergence | None
    """How far the groups are apart; None where there was only one."""
    error: Errors
    """The expected squared error of ``unbiased``; that of ``value`` is not larger."""
    laws: Laws  # how it errs: what the intervals are made from
    exact: Fraction | None = None  # `unbiased` without rounding errors, where the weight was fixed before any data
    fixed_weight: bool = False  # whether it was
    public_variance: float | None = None  # the variance of the values on the unit range, where it is public knowledge
    refuted_sd: float | None = None
    """Public bound on the spread (``sd_at_most``) that the reports refuted, and that was not used."""

    @property
    def n_trusted(self) -> int:
        """Number of users who trusted the curator."""
        return self.trusted.count if self.trusted else 0

    @property
    def n_local(self) -> int:
        """Number of users who reported locally."""
        return self.local.count if self.local else 0

    @property
    def trusted_mean(self) -> float | None:
        """Private mean of the trusted group."""
        return self.trusted.mean if self.trusted else None

    @property
    def local_mean(self) -> float | None:
        """Private mean of the local group."""
        return self.local.mean if self.local else None

    @property
    def standard_error(self) -> float:
        """Root of the expected squared error against the mean of all users' values, if the groups are alike."""
        return math.sqrt(self.laws.users.variance) * self.study.width

    # Intervals

    def interval(self, level: float = 0.95, *, groups_may_differ: bool = False) -> Interval:
        """Compute where the mean of *these users'* values lies, at a level of confidence.

        Parameters
        ----------
        level : float
            How often such an interval holds the mean.
        groups_may_differ : bool
            By default the interval assumes that those who trust are like those who do not: where their means differ, it
            holds the mean less often, however small the difference that the noise hides. With True it assumes nothing:
            it is made from the mean in which every user weighs the same. That one is wider, and has a center of its
            own: `value` may lie outside.
        """
        return self._interval(level, self.laws.users, self.laws.users_if_groups_differ, groups_may_differ)

    def population_interval(self, level: float = 0.95, *, groups_may_differ: bool = False) -> Interval:
        """Compute where the mean of the population lies that these users come from: wider, see `interval`."""
        laws = self.laws
        return self._interval(level, laws.population, laws.population_if_groups_differ, groups_may_differ)

    def stated_interval(self, level: float = 0.95, *, population: bool = False) -> Interval:
        """Compute the interval that is stated beside the answer, which depends on how much the groups' means differ.

        Up to two standard errors apart, the one that assumes that the groups are alike. From four on, the one that
        does not. In between nobody can tell chance from a difference, so both are inside: whichever is right, the level
        holds.
        """
        make = self.population_interval if population else self.interval
        if not self.groups_differ:
            return make(level)
        honest = make(level, groups_may_differ=True)
        held = [honest] if self.groups_clearly_differ else [honest, make(level)]
        ends = [end for interval in held for end in interval] + [self.value]
        return Interval(min(ends), max(ends), level)

    def covers(self, mean: float, level: float = 0.95) -> bool:
        """Whether `interval` holds this mean; quicker than making the interval."""
        inside = self.laws.users.explains((mean - self.study.bounds[0]) / self.study.width) >= 1 - level
        return inside or mean in self.interval(level)

    @property
    def assumes_groups_alike(self) -> bool:
        """Whether the published interval holds only if those who trust are like those who do not."""
        alike = self.laws.users is self.laws.users_if_groups_differ
        return not alike and (self.fixed_weight or not self.groups_differ)

    def _interval(self, level: float, alike: ErrorLaw, different: ErrorLaw | None, may_differ: bool) -> Interval:
        _check.number("level", level, _check.FRACTION)
        if may_differ:
            if different is None:
                raise DataError("One group gave no mean, so nothing is known of how much it differs from the other.")
            return different.interval(level).rescaled(self.study.bounds)
        interval = alike.interval(level).rescaled(self.study.bounds)
        return Interval(min(interval.lower, self.value), max(interval.upper, self.value), level)

    # What is published, and what is the curator's

    def published(self, *, level: float = 0.95, step: Step = None) -> PublishedMean:
        """Round what may be published: the value and its interval, in exact fractions, and nothing else.

        Where the weight was fixed before any data was seen, the interval follows from the published value and public
        numbers too, so that value and interval together keep what `hybriddp.amplify` says. It is wider than `interval`,
        which the reports narrow: a public ``sd`` (``weight="known-variance"``) makes up for that. With the adaptive
        weight there is no second tier, and it is `stated_interval`, rounded; warnings go with it then.

        Parameters
        ----------
        level : float
            The level of confidence of the interval, which is rounded outwards.
        step : Fraction, Decimal, str or float, optional
            What to round to, chosen without looking at the data. If not given, 1, 2 or 5 times a power of ten, at most
            a tenth of the noise's standard deviation, by public numbers alone.
        """
        row = publish(self, level=level, step=step)
        header = self._header()
        if has_second_tier(self):
            header |= {"warnings": (), "implausible_reports": None}
        return PublishedMean(rows=(row,), sd_at_most=self.study.sd_at_most, **header)

    def __float__(self) -> float:
        return float(rounded(self, step_of(self)))

    def _curator(self) -> dict[str, Any]:
        lower, upper = self.interval(0.95)
        row = {
            "name": "mean",
            "value": self.value,
            "unbiased": self.unbiased,
            "standard_error": self.standard_error,
            "lower": lower,
            "upper": upper,
            "level": 0.95,
            "weight": self.weight,
            "trusted_alone": self.trusted_mean,
            "local_alone": self.local_mean,
        }
        gap = self.divergence
        return {
            "note": explain.FIRST_TIER_ONLY if has_second_tier(self) else explain.NOT_ROUNDED,
            "rows": [row],
            "population_interval": list(self.population_interval(0.95)),
            "divergence": gap and {"z": gap.z, "difference": gap.difference, "share": gap.share},
            "error": asdict(self.error),
        }

    # How it is shown

    @property
    def answer(self) -> str:
        """The published answer, with the assumption of its interval in the same breath."""
        return f"{explain.stated(self)}."

    def _summary(self) -> str:
        return str(self.published())

    def _warnings(self) -> Iterable[str]:
        return explain.warnings(self)

    def _meaning(self) -> list[str]:
        return explain.meaning(self)

    def _weights(self) -> Sequence[float]:
        return (self.weight,)

    def _details(self) -> list[str]:
        noise = self.error.trusted_noise + self.error.local_noise
        error = f"the standard error is {significant(self.standard_error, 2)}"
        lines = [noise_part(noise / self.error.total if self.error.total else 0.0, error)]
        if self.standard_error > 0.1 * self.study.width:
            lines.insert(0, "This answer is mostly noise: the error is more than a tenth of the whole range.")
        return [*lines, *([explain.FIRST_TIER_ONLY] if has_second_tier(self) else [])]

    def notes(self) -> list[str]:
        """List what belongs beside the answers of the groups."""
        return [*super().notes(), *([explain.FIRST_TIER_ONLY] if has_second_tier(self) else [])]

    def cells(self) -> list[tuple[str, ...]]:
        """Write the answers of the groups, and of both together: name, users, mean and 95 % interval."""
        step = step_of(self)
        return [
            (row.name, f"{row.users:,}", number(row.value, step), " … ".join(number(end, step) for end in row.interval))
            for row in explain.rows(self)
        ]

    def part_cells(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Write weight, mean and interval for a table of all parts of the users."""
        return ("weight", *self.headings[2:]), [(f"{100 * self.weight:.1f} %", *self.cells()[-1][2:])]

    def drawing(self) -> str:
        """Draw the answers with their intervals as SVG."""
        colors = ("trusted", "local", "both") if self.divergence else ("both",)
        rows = zip(explain.rows(self), colors, strict=True)
        return intervals([Mark(row.name, row.value, row.lower, row.upper, ink) for row, ink in rows], significant)

    @staticmethod
    def plot_parts(parts: "Sequence[Estimate]", path: Path | str | None = None) -> "Figure":
        """Draw the estimates of parts of the users below each other, and write them to ``path`` if that is given."""
        from hybriddp.figures.estimate import draw

        return draw(parts, path=None if path is None else Path(path))
