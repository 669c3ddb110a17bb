"""The estimated distribution: quantiles, CDF, histogram, how wrong they may be, and what they cost."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hybriddp.channels.plausible import short_doubt
from hybriddp.distribution import explain, page, quantile
from hybriddp.distribution.explain import USUAL
from hybriddp.distribution.fit import DistributionFit, Fits, GroupComparison
from hybriddp.distribution.published import PublishedDistribution, publish
from hybriddp.distribution.quantile import Band, Bar, CdfValue, DistributionMean, Quantile
from hybriddp.study.result import Statement

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

    from hybriddp.distribution.study import DistributionStudy


@dataclass(frozen=True, repr=False, eq=False)
class DistributionEstimate:
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

    study: "DistributionStudy"
    fits: Fits
    """What both groups say together, and each alone."""
    n_trusted: int
    """How many users trusted the curator."""
    n_local: int
    """How many users reported locally."""
    privacy: Statement
    """What it cost."""
    tied: bool = True
    """Whether every local report came with its study's digest."""
    groups_may_differ: bool = False
    """Whether it is made from each group for its own users, and so holds however much they differ."""
    implausible_reports: int = 0
    """At least so many local reports did not come out of the study's channel (`hybriddp.channels.plausible`)."""

    @property
    def fit(self) -> DistributionFit:
        """The masses of the bins that all answers come from."""
        return self.fits.if_groups_differ if self.groups_may_differ else self.fits.both

    @property
    def comparison(self) -> GroupComparison | None:
        """How much the groups differ; None where there was only one."""
        return self.fits.comparison

    @property
    def groups_differ(self) -> bool:
        """Whether the groups differ by more than chance explains in 95 % of studies."""
        return self.comparison is not None and self.comparison.tau > 0

    @property
    def groups_clearly_differ(self) -> bool:
        """Whether they are four standard errors apart or more, which chance does not explain."""
        return self.comparison is not None and self.comparison.clear

    def allowing_groups_to_differ(self) -> "DistributionEstimate":
        """The same estimate without the assumption that those who trust are like those who do not.

        It is made from what was released already, and costs nothing. Every answer counts each group for its own users
        only. It is less accurate, and holds whatever the difference.
        """
        return replace(self, groups_may_differ=True)

    @property
    def if_groups_may_differ(self) -> "DistributionEstimate | None":
        """The answer that assumes less, to stand beside this one; None if this is it, or if there is none."""
        if self.comparison is None or self.groups_may_differ:
            return None
        return self.allowing_groups_to_differ()

    # Answers --------------------------------------------------------------------------------------------------------

    def quantile(self, q: float, *, level: float = 0.95) -> Quantile:
        """The value below which a fraction ``q`` of the population lies, with an interval from an edge to an edge."""
        return quantile.quantile(self.fit, self.study.bins, q, level)

    def quantiles(self, q: Iterable[float] = USUAL, *, level: float = 0.95) -> tuple[Quantile, ...]:
        """Several quantiles; each interval holds its own at this level, not all together."""
        return tuple(self.quantile(one, level=level) for one in quantile.asked("q", q))

    def cdf(self, x: float, *, level: float = 0.95) -> CdfValue:
        """The fraction of the population whose values are at most ``x``."""
        return quantile.cdf_value(self.fit, self.study.bins, x, level)

    def band(self, level: float = 0.95) -> Band:
        """The CDF at all edges of the bins, with a band that holds each value of it at this level."""
        return quantile.band(self.fit, self.study.bins, level)

    def histogram(self, edges: ArrayLike) -> tuple[Bar, ...]:
        """The fractions of the population between the given values, each with its standard error."""
        return quantile.histogram(self.fit, self.study.bins, edges)

    def mean(self) -> DistributionMean:
        """The mean as a by-product, with its error; a study of a mean gives it more accurately."""
        return quantile.mean_of(self.fit, self.study.bins)

    @cached_property
    def rank_error(self) -> float:
        """The standard error of the CDF: the root mean square over all edges."""
        return float(np.sqrt(np.mean(self.fit.standard_errors**2)))

    def published(
        self,
        *,
        at: Sequence[float] = USUAL,
        level: float = 0.95,
        step: Fraction | Decimal | str | float | None = None,
    ) -> PublishedDistribution:
        """What may be published: quantiles ``at`` with intervals, and the CDF with its errors, rounded.

        Parameters
        ----------
        at : sequence of float
            Which quantiles.
        level : float
            The level of confidence of the intervals, which are rounded outwards.
        step : Fraction, Decimal, str or float, optional
            What to round quantiles to. If not given, each has its own: 1, 2 or 5 times a power of ten, at most a tenth
            of its standard error.
        """
        return publish(self, quantile.asked("at", at), level=level, step=step)

    # How it is shown ------------------------------------------------------------------------------------------------

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know before the numbers."""
        return explain.warnings(self)

    def __str__(self) -> str:
        return explain.one_line(self)

    def __repr__(self) -> str:
        name = self.study.title if len(self.study.title) <= 40 else f"{self.study.title[:39]}…"
        seeded = ", a simulation" if self.privacy.seeded else ""
        median = explain.shown(self.quantile(0.5))
        doubt = short_doubt(self.implausible_reports)
        return f"DistributionEstimate({name!r}: median {median}, ε = {self.privacy.epsilon}{seeded}{doubt})"

    def explain(self, *, at: Sequence[float] = USUAL) -> str:
        """The quantiles ``at``, which of them are determined, what they assume and what they cost, in plain words."""
        return explain.explanation(self, quantile.asked("at", at))

    def plot(self, path: Path | str | None = None, *, at: Sequence[float] = USUAL) -> "Figure":
        """A picture of the CDF with its 95 % band, the quantiles ``at`` marked, and both groups thin beside it.

        It is written to ``path`` if that is given. Needs matplotlib (``pip install "hybriddp[plots]"``).
        """
        from hybriddp.figures import distribution as picture

        return picture.draw([self], at=quantile.asked("at", at), path=None if path is None else Path(path))

    def __rich__(self) -> "Table":
        return explain.table(self)

    def _repr_html_(self) -> str:
        return page.fragment(self)

    def to_html(self, *, at: Sequence[float] = USUAL) -> str:
        """A page of its own: the quantiles ``at``, a picture of the CDF and the explanation."""
        return page.page([self], quantile.asked("at", at))

    def to_json(self, *, at: Sequence[float] = USUAL, full: bool = False) -> str:
        """What `to_dict` gives, as text."""
        return json.dumps(self.to_dict(at=at, full=full), indent=2)

    def to_dict(self, *, at: Sequence[float] = USUAL, full: bool = False) -> dict[str, Any]:
        """What may be published, as plain values: rounded quantiles ``at`` and CDF, and the promise.

        The answer that assumes nothing of the groups stands beside the other one. With ``full`` all that the curator
        has beside it, unrounded, and what each group says alone.
        """
        at = quantile.asked("at", at)
        published = self.published(at=at).to_dict()
        return published if not full else published | {"curator": self._curator(at)}

    @staticmethod
    def from_json(text: str) -> PublishedDistribution:
        """Read what `to_json` or a server's result holds: the published numbers, and any other quantile at no cost."""
        return PublishedDistribution.from_json(text)

    def _curator(self, at: Sequence[float]) -> dict[str, Any]:
        """What is unrounded, and what each group says alone."""
        fits = {"both": self.fit, "trusted_alone": self.fits.trusted, "local_alone": self.fits.local}
        mean = self.mean()
        return {
            "quantiles": [
                {"q": one.q, "value": one.value, "interval_95": list(one.interval)} for one in self.quantiles(at)
            ],
            "mean": {"value": mean.value, "standard_error": mean.standard_error, "resolution": mean.resolution},
            **{
                name: fit and {"cdf": fit.cdf.tolist(), "standard_errors": fit.standard_errors.tolist()}
                for name, fit in fits.items()
            },
        }
