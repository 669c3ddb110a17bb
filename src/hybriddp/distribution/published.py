"""What is published of a distribution: rounded, so that no digit claims more than the noise leaves.

All numbers of a result are private, so rounding is not what protects anybody. As with a mean, a step is 1, 2 or 5 times
a power of ten, at most a tenth of a standard error. The CDF has one step, where its errors are least. Quantiles differ
too much for that: p50 may be known to 10 ms and p99 to a second, so each has its own. Intervals and standard errors are
rounded outwards.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.distribution.fit import DistributionFit
from hybriddp.distribution.quantile import DistributionMean, Quantile, normal_quantile
from hybriddp.mean.interval import Interval
from hybriddp.mean.published import exact_step, nearest, nice_below

if TYPE_CHECKING:
    from hybriddp.distribution.estimate import DistributionEstimate

_STEPS_PER_SD = 10
_LARGEST_STEP = 0.02  # of the CDF
_LEAST_OF_AVERAGE = 0.01  # no step follows a standard error that is smaller than so much of the average one


@dataclass(frozen=True, slots=True)
class PublishedQuantile:
    """A quantile as it may be published: its numbers are rounded to ``step``, or are a bound."""

    q: float
    value: float
    lower: float
    """Where it lies, rounded outwards."""
    upper: float
    """The other end."""
    level: float
    """The level of confidence of the interval."""
    determined_from_below: bool
    determined_from_above: bool
    step: Fraction | None
    """What the numbers are a multiple of; None if the quantile is a bound itself, which is public."""

    @property
    def interval(self) -> Interval:
        """From ``lower`` to ``upper``."""
        return Interval(self.lower, self.upper, self.level)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "q": self.q,
            "value": self.value,
            f"interval_{100 * self.level:g}": [self.lower, self.upper],
            "determined_from_below": self.determined_from_below,
            "determined_from_above": self.determined_from_above,
            "step": None if self.step is None else float(self.step),
        }


@dataclass(frozen=True, slots=True, eq=False)
class PublishedCdf:
    """The CDF at the edges as it may be published: all numbers are rounded to ``step``."""

    values: FloatArray
    standard_errors: FloatArray
    """Rounded up."""
    step: Fraction

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "values": self.values.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "step": float(self.step),
        }


@dataclass(frozen=True, slots=True, eq=False)
class PublishedDistribution:
    """A distribution as it may be published: quantiles and the CDF, rounded."""

    quantiles: tuple[PublishedQuantile, ...]
    edges: FloatArray
    """The public edges of the bins, not rounded."""
    cdf: PublishedCdf
    level: float
    """The level of confidence of each interval."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before the numbers."""

    def __repr__(self) -> str:
        names = ", ".join(f"p{100 * one.q:.10g} {one.value:,.10g}" for one in self.quantiles)
        return f"PublishedDistribution({names})"

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "warnings": list(self.warnings),
            "quantiles": [one.to_dict() for one in self.quantiles],
            "cdf": {"edges": self.edges.tolist(), **self.cdf.to_dict()},
            "level": self.level,
        }

    def to_json(self) -> str:
        """As text."""
        return json.dumps(self.to_dict())


def publish(
    estimate: "DistributionEstimate",
    at: Sequence[float],
    *,
    level: float,
    step: Fraction | Decimal | str | float | None = None,
    warnings: tuple[str, ...] = (),
) -> PublishedDistribution:
    """What is published of an estimate; see `DistributionEstimate.published`."""
    bounds = estimate.study.bounds
    chosen = None if step is None else exact_step(step, bounds[1] - bounds[0])
    quantiles = tuple(publish_quantile(one, bounds, chosen) for one in estimate.quantiles(at, level=level))
    return PublishedDistribution(quantiles, estimate.study.bins.edges, publish_cdf(estimate.fit), level, warnings)


def answers_of(published: PublishedDistribution) -> dict[str, Any]:
    """The answers alone, for what stands beside others about the same edges."""
    return {"quantiles": [one.to_dict() for one in published.quantiles], "cdf": published.cdf.to_dict()}


def publish_quantile(one: Quantile, bounds: tuple[float, float], step: Fraction | None = None) -> PublishedQuantile:
    """A quantile, rounded; its interval outwards, but not beyond the bounds."""
    low, high = one.interval
    value, level = one.value, one.interval.level
    if low < high:
        step = step or nice_below((high - low) / (2 * normal_quantile(level) * _STEPS_PER_SD))
        value = min(max(float(nearest(Fraction(value), step)), bounds[0]), bounds[1])
        low = min(max(float(math.floor(Fraction(low) / step) * step), bounds[0]), value)
        high = max(min(float(math.ceil(Fraction(high) / step) * step), bounds[1]), value)
    else:
        step = None
    return PublishedQuantile(one.q, value, low, high, level, not one.touches_lower, not one.touches_upper, step)


def publish_cdf(fit: DistributionFit) -> PublishedCdf:
    """The CDF and its standard errors, rounded; it still never falls."""
    errors = fit.standard_errors
    average = float(np.sqrt(np.mean(errors**2)))
    least = max(float(errors.min()), _LEAST_OF_AVERAGE * average)
    step = nice_below(min(least / _STEPS_PER_SD, _LARGEST_STEP))
    values = [min(float(nearest(Fraction(x), step)), 1.0) for x in fit.cdf.tolist()]
    up = [float(math.ceil(Fraction(x) / step) * step) for x in errors.tolist()]
    return PublishedCdf(np.array(values), np.array(up), step)


def publish_mean(mean: DistributionMean, bounds: tuple[float, float]) -> dict[str, float]:
    """The mean of a distribution as plain values, rounded to its own step."""
    step = nice_below((mean.standard_error or mean.resolution) / _STEPS_PER_SD)
    value = min(max(float(nearest(Fraction(mean.value), step)), bounds[0]), bounds[1])
    error, resolution = (float(math.ceil(Fraction(x) / step) * step) for x in (mean.standard_error, mean.resolution))
    return {"value": value, "standard_error": error, "resolution": resolution, "step": float(step)}
