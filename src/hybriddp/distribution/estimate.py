"""The estimated distribution: quantiles, CDF, histogram, how wrong they may be, and what they cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hybriddp.distribution import explain, quantile
from hybriddp.distribution.drawing import draw_cdf
from hybriddp.distribution.fit import DistributionFit, Fits, GroupComparison
from hybriddp.distribution.published import PublishedDistribution, publish_cdf, publish_mean, publish_quantile
from hybriddp.distribution.quantile import USUAL, Band, Bar, CdfValue, DistributionMean, Quantile
from hybriddp.reporting.html import paragraphs, table
from hybriddp.study.result import Result, Step
from hybriddp.study.rounding import exact_step

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hybriddp.distribution.study import DistributionStudy


@dataclass(frozen=True, repr=False, eq=False)
class DistributionEstimate(Result):
    """A distribution, from private numbers only. It is about the population that the users were drawn from.

    Examples
    --------
    >>> from hybriddp import DistributionStudy
    >>> study = DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1.0, scale="log")
    >>> load = np.random.default_rng(0).lognormal(6.0, 0.8, 202_000)
    >>> reports = study.randomize(load[2000:], random_state=1)
    >>> estimate = study.estimate(trusted=load[:2000], local=reports, random_state=2)
    >>> p95 = estimate.quantile(0.95)
    >>> print(f"{p95.value:.0f}, between {p95.interval.lower:.0f} and {p95.interval.upper:.0f}")
    1509, between 1402 and 1698
    >>> print(f"{estimate.cdf(1000).value:.3f}, give or take {estimate.cdf(1000).standard_error:.3f}")
    0.858, give or take 0.007
    """

    published_type: ClassVar[type[PublishedDistribution]] = PublishedDistribution
    headings: ClassVar[tuple[str, ...]] = explain.HEADINGS

    study: "DistributionStudy"
    fits: Fits
    """What both groups say together, and each alone."""
    n_trusted: int
    """Number of users who trusted the curator."""
    n_local: int
    """Number of users who reported locally."""
    groups_may_differ: bool = False
    """Whether it is made from each group for its own users, and so holds however much they differ."""
    at: tuple[float, ...] = USUAL
    """Quantiles that are published and shown: see `with_quantiles`."""

    @property
    def fit(self) -> DistributionFit:
        """Masses of the bins that all answers come from."""
        return self.fits.if_groups_differ if self.groups_may_differ else self.fits.both

    @property
    def divergence(self) -> GroupComparison | None:
        """How much the groups differ; None where there was only one."""
        return self.fits.comparison

    @property
    def assumes_groups_alike(self) -> bool:
        """Whether the intervals hold only if those who trust are like those who do not."""
        return self.divergence is not None and not (self.groups_may_differ or self.groups_clearly_differ)

    def allowing_groups_to_differ(self) -> "DistributionEstimate":
        """Return the same estimate without the assumption that those who trust are like those who do not.

        It is made from what was released already, and costs nothing. Every answer counts each group for its own users
        only. It is less accurate, and holds whatever the difference.
        """
        return replace(self, groups_may_differ=True)

    @property
    def if_groups_may_differ(self) -> "DistributionEstimate | None":
        """The answer that assumes less, to stand beside this one; None if this is it, or if there is none."""
        if self.divergence is None or self.groups_may_differ:
            return None
        return self.allowing_groups_to_differ()

    def with_quantiles(self, at: Iterable[float]) -> "DistributionEstimate":
        """Return the same estimate, which publishes and shows the quantiles ``at``."""
        return replace(self, at=quantile.asked("at", at))

    # Answers

    def quantile(self, q: float, *, level: float = 0.95) -> Quantile:
        """Find the value below which a fraction ``q`` of the population lies, with an interval from edge to edge."""
        return quantile.quantile(self.fit, self.study.bins, q, level)

    def quantiles(self, q: Iterable[float] | None = None, *, level: float = 0.95) -> tuple[Quantile, ...]:
        """Find several quantiles; each interval holds its own at this level, not all together."""
        return tuple(self.quantile(one, level=level) for one in (self.at if q is None else quantile.asked("q", q)))

    def cdf(self, x: float, *, level: float = 0.95) -> CdfValue:
        """Compute the fraction of the population whose values are at most ``x``."""
        return quantile.cdf_value(self.fit, self.study.bins, x, level)

    def band(self, level: float = 0.95) -> Band:
        """Compute the CDF at all edges of the bins, with a band that holds each value of it at this level."""
        return quantile.band(self.fit, self.study.bins, level)

    def histogram(self, edges: ArrayLike) -> tuple[Bar, ...]:
        """Compute the fractions of the population between the given values, each with its standard error."""
        return quantile.histogram(self.fit, self.study.bins, edges)

    def mean(self) -> DistributionMean:
        """Compute the mean as a by-product, with its error; a study of a mean gives it more accurately."""
        return quantile.mean_of(self.fit, self.study.bins)

    @cached_property
    def rank_error(self) -> float:
        """Standard error of the CDF: the root mean square over all edges."""
        return float(np.sqrt(np.mean(self.fit.standard_errors**2)))

    # What is published, and what is the curator's

    def published(self, *, level: float = 0.95, step: Step = None) -> PublishedDistribution:
        """Round what may be published: quantiles with intervals, and the CDF with its errors.

        Parameters
        ----------
        level : float
            The level of confidence of the intervals, which are rounded outwards.
        step : Fraction, Decimal, str or float, optional
            What to round quantiles to. If not given, each has its own: 1, 2 or 5 times a power of ten, at most a tenth
            of its standard error.
        """
        study, gap, honest = self.study, self.divergence, self.if_groups_may_differ
        rounding = None if step is None else exact_step(step, study.grid.width)
        return PublishedDistribution(
            rows=tuple(publish_quantile(one, study.bounds, rounding) for one in self.quantiles(level=level)),
            cdf=publish_cdf(self.fit, study.bins),
            mean=publish_mean(self.mean(), study.bounds),
            divergence=None if gap is None else gap.to_dict(),
            if_groups_may_differ=None if honest is None else honest.published(level=level, step=step),
            **self._header(),
        )

    def _curator(self) -> dict[str, Any]:
        fits = {"both": self.fit, "trusted_alone": self.fits.trusted, "local_alone": self.fits.local}
        mean = self.mean()
        return {
            "rows": [
                {"name": one.name, "q": one.q, "value": one.value, "lower": low, "upper": high, "level": 0.95}
                for one in self.quantiles()
                for low, high in [one.interval]
            ],
            "mean": {"value": mean.value, "standard_error": mean.standard_error, "resolution": mean.resolution},
            "cdf": {
                name: fit and {"values": fit.cdf.tolist(), "standard_errors": fit.standard_errors.tolist()}
                for name, fit in fits.items()
            },
        }

    # How it is shown

    @property
    def answer(self) -> str:
        """Median and 95th percentile."""
        return f"{'; '.join(f'{one.name} {explain.shown(one)}' for one in self.quantiles((0.5, 0.95)))}."

    def lead(self) -> list[str]:
        """Begin the explanation: the title, and a line for each quantile."""
        return [f"{self.title}:", *map(explain.quantile_line, self.quantiles())]

    def _summary(self) -> str:
        return f"median {explain.shown(self.quantile(0.5))}"

    def _warnings(self) -> Iterable[str]:
        return explain.warnings(self)

    def _meaning(self) -> list[str]:
        return explain.meaning(self)

    def _groups(self) -> list[str]:
        gap = self.divergence
        return super()._groups() if gap is None or not self.groups_may_differ else [gap.verdict]

    def _details(self) -> list[str]:
        return explain.details(self)

    def cells(self) -> list[tuple[str, ...]]:
        """Write the quantiles: name, value, 95 % interval, and whether it is determined."""
        return [explain.cell(one) for one in self.quantiles()]

    def drawing(self) -> str:
        """Draw the CDF with its band, the quantiles, and each group alone as SVG."""
        return draw_cdf(self)

    def more_blocks(self) -> list[str]:
        """Show the answer that assumes nothing of the groups in a second table."""
        honest = self.if_groups_may_differ
        return [] if honest is None else [*paragraphs([explain.HONEST]), table(honest.headings, honest.cells())]

    @staticmethod
    def plot_parts(parts: "Sequence[DistributionEstimate]", path: Path | str | None = None) -> "Figure":
        """Draw the CDFs of parts of the users, a panel each, and write them to ``path`` if that is given."""
        from hybriddp.figures.distribution import draw

        return draw(parts, path=None if path is None else Path(path))
