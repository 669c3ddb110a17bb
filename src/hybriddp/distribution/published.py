"""What is published of a distribution: rounded, so that no digit claims more than the noise leaves.

All numbers of a result are private, so rounding is not what protects anybody. As with a mean, a step is 1, 2 or 5 times
a power of ten, at most a tenth of a standard error. The CDF has one step, where its errors are least. Quantiles differ
too much for that: p50 may be known to 10 ms and p99 to a second, so each has its own. Intervals and standard errors are
rounded outwards.

The CDF at all edges determines any other quantile and its interval, so a result can be read back from its JSON and
asked again. Within a bin the value then lies on a straight line: how the densities of neighboring bins vary together,
which the curve of an estimate needs, is not published.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.distribution.bins import N_EDGES, Bins
from hybriddp.distribution.fit import DistributionFit
from hybriddp.distribution.quantile import DistributionMean, Quantile, asked, normal_quantile, quantile
from hybriddp.errors import DataError
from hybriddp.grid import Grid, read_only
from hybriddp.study.published import Published, Row
from hybriddp.study.rounding import nearest, step_for

_LARGEST_STEP = 0.02  # of the CDF
_LEAST_OF_AVERAGE = 0.01  # no step follows a standard error that is smaller than this part of the average one


@dataclass(frozen=True, slots=True)
class PublishedQuantile(Row):
    """A quantile as it may be published; its step is None if it is a bound itself, which is public."""

    q: float = 0.5
    """Which one: 0.95 is the 95th percentile."""
    determined_from_below: bool = True
    determined_from_above: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.q < 1:
            raise DataError("A quantile must be above 0 and below 1.")


@dataclass(frozen=True, slots=True, eq=False)
class PublishedCdf:
    """The CDF at the edges of the bins as it may be published: all numbers are rounded to ``step``."""

    bins: Bins
    """The bins, whose edges are public and not rounded."""
    cdf: FloatArray
    standard_errors: FloatArray
    """Rounded up."""
    step: Fraction

    @property
    def masses(self) -> FloatArray:
        """Masses of the 256 bins."""
        return np.diff(self.cdf, prepend=0.0, append=1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "edges": self.bins.edges.tolist(),
            "values": self.cdf.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "step": float(self.step),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "PublishedCdf":
        """Read what `to_dict` gave; `ValueError` if it is no CDF."""
        edges = content["edges"]
        cdf, errors = (np.array(content[name], np.float64) for name in ("values", "standard_errors"))
        right = cdf.shape == errors.shape == (N_EDGES,) and bool(np.all(errors >= 0) and np.all(np.isfinite(errors)))
        if not right or cdf[0] < 0 or cdf[-1] > 1 or not np.all(np.diff(cdf) >= 0):
            raise ValueError("no CDF")
        bins = Bins(Grid.of((edges[0], edges[-1])), edges)
        return cls(bins, read_only(cdf), read_only(errors), Fraction(repr(content["step"])))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class PublishedDistribution(Published):
    """A distribution as it may be published: quantiles, a row each, and the CDF, rounded.

    Any other quantile follows from the CDF, without data and at no cost.

    Examples
    --------
    >>> from hybriddp import DistributionStudy
    >>> study = DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1.0, scale="log")
    >>> load = np.random.default_rng(0).lognormal(6.0, 0.8, 202_000)
    >>> reports = study.randomize(load[2000:], random_state=1)
    >>> text = study.estimate(trusted=load[:2000], local=reports, random_state=2).to_json()
    >>> p80 = PublishedDistribution.from_json(text).quantile(0.8)
    >>> print(f"{p80.value:.0f}, between {p80.interval.lower:.0f} and {p80.interval.upper:.0f}")
    802, between 766 and 856
    """

    kind: ClassVar[str] = "quantiles"
    row_type: ClassVar[type[Row]] = PublishedQuantile

    cdf: PublishedCdf
    mean: dict[str, float]
    """The mean as a by-product."""
    divergence: dict[str, float] | None
    """How far apart the groups are; None where there was one."""
    if_groups_may_differ: "PublishedDistribution | None"
    """The answer that holds however much the groups differ; None if this is it, or if there was one group."""

    def quantile(self, q: float, *, level: float = 0.95) -> Quantile:
        """Compute the value below which a fraction ``q`` of the population lies, with an interval between edges."""
        return quantile(self.cdf, self.cdf.bins, q, level)

    def with_quantiles(self, at: Iterable[float]) -> "PublishedDistribution":
        """Replace the quantiles by those ``at``, with 95 % intervals."""
        at, grid, beside = asked("at", at), self.cdf.bins.grid, self.if_groups_may_differ
        rows = tuple(publish_quantile(self.quantile(q), (grid.lower, grid.upper)) for q in at)
        return replace(self, rows=rows, if_groups_may_differ=beside and beside.with_quantiles(at))

    def allowing_groups_to_differ(self) -> "PublishedDistribution":
        """Return the answer that assumes nothing about the groups."""
        if self.if_groups_may_differ is None:
            raise DataError("This result has one answer only: there was one group, or it is this one already.")
        return self.if_groups_may_differ

    @classmethod
    def _read(cls, plain: dict[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
        beside = content["if_groups_may_differ"]
        return super()._read(plain, content) | {
            "cdf": PublishedCdf.from_dict(content["cdf"]),
            "if_groups_may_differ": beside and cls.from_dict(beside),
        }


def publish_quantile(one: Quantile, bounds: tuple[float, float], step: Fraction | None = None) -> PublishedQuantile:
    """Round a quantile; its interval outwards, but not beyond the bounds."""
    (low, high), level = one.interval, one.interval.level
    row = PublishedQuantile(
        one.name,
        one.value,
        low,
        high,
        level,
        q=one.q,
        determined_from_below=not one.touches_lower,
        determined_from_above=not one.touches_upper,
    )
    if low == high:
        return row
    return row.rounded(step or step_for((high - low) / (2 * normal_quantile(level))), bounds)


def publish_cdf(fit: DistributionFit, bins: Bins) -> PublishedCdf:
    """Round the CDF and its standard errors; it still never falls."""
    errors = fit.standard_errors
    average = float(np.sqrt(np.mean(errors**2)))
    step = step_for(max(float(errors.min()), _LEAST_OF_AVERAGE * average), _LARGEST_STEP)
    values = [min(float(nearest(Fraction(x), step)), 1.0) for x in fit.cdf.tolist()]
    up = [float(math.ceil(Fraction(x) / step) * step) for x in errors.tolist()]
    return PublishedCdf(bins, np.array(values), np.array(up), step)


def publish_mean(mean: DistributionMean, bounds: tuple[float, float]) -> dict[str, float]:
    """Round the mean of a distribution to its own step."""
    step = step_for(mean.standard_error or mean.resolution)
    value = min(max(float(nearest(Fraction(mean.value), step)), bounds[0]), bounds[1])
    error, resolution = (float(math.ceil(Fraction(x) / step) * step) for x in (mean.standard_error, mean.resolution))
    return {"value": value, "standard_error": error, "resolution": resolution, "step": float(step)}
