"""Answers from a fitted distribution: quantiles, values of the CDF, bars of a histogram, and the mean beside them.

Errors are about the CDF: at every edge it has a standard error. Where a quantile lies follows from that, outward to
edges, since nothing is known of where values are within a bin: atoms and curved bins are covered, too. Values between
edges come from `hybriddp.distribution.within`.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.channels.masked import N_BINS
from hybriddp.distribution.bins import Bins
from hybriddp.distribution.fit import DistributionFit
from hybriddp.distribution.within import STRAIGHT, curve_of
from hybriddp.errors import ParameterError
from hybriddp.study.intervals import Interval

USUAL = (0.5, 0.9, 0.95, 0.99)
"""Quantiles that are published unless others are asked for."""
_LITTLE = 1e-12  # rounding errors of cumulated masses


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile, and all values whose place in the distribution may be the same."""

    q: float
    """Which one: 0.95 is the 95th percentile."""
    value: float
    """The estimate, within its bin by interpolation."""
    interval: Interval
    """Where the quantile lies, from an edge to an edge."""
    bin_number: int
    """The bin of ``value``."""
    bin_mass: float
    """The estimated fraction of users in that bin."""
    touches_lower: bool
    """Whether it is not determined from below: its interval begins at the lower bound and is wider than a bin, or it
    may be the bound itself. A lower bound of 0 itself is an answer, as of durations and amounts."""
    touches_upper: bool
    """Whether it is not determined from above: its interval ends at the upper bound and is wider than a bin, or it may
    be the bound itself, where all larger values count."""

    @property
    def name(self) -> str:
        """As people write it: p95."""
        return f"p{100 * self.q:.10g}"

    @property
    def determined(self) -> bool:
        """Whether the interval ends within the bounds on both sides, or is a bin at one of them, or 0 as a bound."""
        return not (self.touches_lower or self.touches_upper)

    @property
    def is_lower_bound(self) -> bool:
        """Whether it is the lower bound itself, or below: all smaller values count there."""
        return self.bin_number == 0 and self.interval.lower == self.interval.upper

    @property
    def is_upper_bound(self) -> bool:
        """Whether it is the upper bound itself, or above: all larger values count there."""
        return self.bin_number == N_BINS - 1 and self.interval.lower == self.interval.upper

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        from hybriddp.distribution.explain import shown

        return f"{self.name}: {shown(self)}"


@dataclass(frozen=True, slots=True)
class CdfValue:
    """The estimated fraction of users whose values are at most ``x``."""

    x: float
    value: float
    standard_error: float
    interval: Interval
    """Where the fraction lies; between two edges, from the lower band of one to the upper band of the other."""

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, slots=True)
class Bar:
    """The estimated fraction of users between two values: above ``lower`` and up to ``upper``.

    The first bar of a histogram holds its lower end, too.
    """

    lower: float
    upper: float
    fraction: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class DistributionMean:
    """The mean of a fitted distribution: a by-product. `hybriddp.MeanStudy` is more accurate."""

    value: float
    standard_error: float
    resolution: float
    """How far the mean may be off besides, because values may lie anywhere within their bins."""

    def interval(self, level: float = 0.95) -> Interval:
        """Compute an interval for the mean.

        The interval allows for any position of the values within their bins.
        """
        reach = normal_quantile(level) * self.standard_error + self.resolution
        return Interval(self.value - reach, self.value + reach, level)

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """The CDF at the 255 edges, with a band that holds each of its values at a level of confidence."""

    edges: FloatArray
    cdf: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float


class Steps(Protocol):
    """A CDF at the edges, its steps and its errors: a fit, or what is published of one."""

    @property
    def cdf(self) -> FloatArray:
        """The CDF at the 255 edges."""

    @property
    def masses(self) -> FloatArray:
        """Its steps, one per bin."""

    @property
    def standard_errors(self) -> FloatArray:
        """The standard errors of the CDF."""


def asked(name: str, several: Iterable[float]) -> tuple[float, ...]:
    """Validate several quantiles and return them as a tuple.

    An iterator would be empty when it is read a second time.
    """
    if (isinstance(several, str | np.ndarray) and np.ndim(several) != 1) or not isinstance(several, Iterable):
        raise ParameterError(name, "several quantiles, such as (0.5, 0.95)", several)
    return tuple(_check.number(name, q, _check.FRACTION) for q in several)


def normal_quantile(level: float) -> float:
    """Return the half-width of an interval of this level, in standard errors."""
    from scipy.special import ndtri

    return float(ndtri((1 + _check.number("level", level, _check.FRACTION)) / 2))


def band(fit: Steps, bins: Bins, level: float) -> Band:
    """Compute the CDF and its pointwise band at the edges."""
    reach = normal_quantile(level) * fit.standard_errors
    lower, upper = np.maximum(fit.cdf - reach, 0.0), np.minimum(fit.cdf + reach, 1.0)
    return Band(bins.edges, fit.cdf, lower, upper, level)


def quantile(fit: Steps, bins: Bins, q: float, level: float) -> Quantile:
    """Estimate the value below which a fraction ``q`` of the distribution lies.

    The interval goes from the edge before the first one where the band reaches up to ``q``, to the first edge from
    which on the band stays above it. Within a bin, only a whole fit contains the change of the density.
    """
    q = _check.number("q", q, _check.FRACTION)
    edges, found = bins.edges, band(fit, bins, level)
    at = int(np.searchsorted(np.append(fit.cdf, 1.0), q - _LITTLE))
    mass = float(fit.masses[at])
    below = float(fit.cdf[at - 1]) if at else 0.0
    value = float(bins.middles[at])
    if 0 < at < N_BINS - 1 and mass > 0:
        share = min(max((q - below) / mass, 0.0), 1.0)
        curve = curve_of(fit, bins, at) if isinstance(fit, DistributionFit) else STRAIGHT
        value = float(edges[at - 1] + bins.widths[at] * curve.place(share))
    first = int(np.searchsorted(np.maximum.accumulate(found.upper), q))
    last = int(np.searchsorted(np.minimum.accumulate(found.lower[::-1])[::-1], q, side="right"))
    low = float(edges[max(first - 1, 0)]) if first < N_BINS - 1 else float(edges[-1])
    high = float(edges[last]) if last < N_BINS - 1 else float(edges[-1])
    return Quantile(
        q=q,
        value=value,
        interval=Interval(min(low, value), max(high, value), level),
        bin_number=at,
        bin_mass=mass,
        touches_lower=first <= 1 < last or (first == 0 and bins.grid.lower != 0),
        touches_upper=first < N_BINS - 2 <= last or last == N_BINS - 1,
    )


def cdf_value(fit: DistributionFit, bins: Bins, x: float, level: float) -> CdfValue:
    """Estimate the CDF at any value, interpolated between edges."""
    x = _check.number("x", x)
    weights, found = _up_to(fit, bins, x), band(fit, bins, level)
    value, error = _weighted(fit, weights)
    before = int(np.searchsorted(bins.edges, x, side="right")) - 1  # the last edge that is not above x
    if before < 0 or x >= bins.edges[-1]:
        return CdfValue(x, value, 0.0, Interval(value, value, level))
    after = max(before, bins.of_value(x)) if bins.edges[before] == x else before + 1
    low, high = float(found.lower[before]), float(found.upper[after])
    return CdfValue(x, value, error, Interval(min(low, value), max(high, value), level))


def histogram(fit: DistributionFit, bins: Bins, edges: ArrayLike) -> tuple[Bar, ...]:
    """Estimate the fractions between the given values, with standard errors."""
    cut = np.atleast_1d(_check.numbers("edges", edges))
    lower, upper = bins.grid.lower, bins.grid.upper
    if cut.ndim != 1 or len(cut) < 2 or np.any(np.diff(cut) <= 0) or cut[0] < lower or cut[-1] > upper:
        words = f"at least two values that increase, from {lower:g} to {upper:g}"
        raise ParameterError("edges", words, cut.tolist() if cut.size < 9 else cut)
    sums = [_up_to(fit, bins, float(x)) for x in cut]
    if cut[0] == lower:
        sums[0] = np.zeros(N_BINS)  # the first bar holds the bound itself
    bars = []
    for (low, high), (before, after) in zip(pairwise(cut.tolist()), pairwise(sums), strict=True):
        fraction, error = _weighted(fit, after - before)
        bars.append(Bar(low, high, fraction, error))
    return tuple(bars)


def mean_of(fit: DistributionFit, bins: Bins) -> DistributionMean:
    """Estimate the mean as if all values lay in the middles of their bins."""
    middles = bins.middles - bins.grid.lower
    value = float(middles @ fit.linear)
    error = math.sqrt(max(float(middles @ fit.covariance @ middles), 0.0))
    inside = min(max(value, 0.0), bins.grid.width) + bins.grid.lower
    return DistributionMean(inside, error, float(bins.widths @ fit.masses) / 2)


def _up_to(fit: DistributionFit, bins: Bins, x: float) -> FloatArray:
    """Compute the fraction of the mass of each bin at or below x."""
    edges = bins.edges
    inner = np.clip((x - edges[:-1]) / np.diff(edges), 0.0, 1.0)
    for i in np.flatnonzero((inner > 0) & (inner < 1)):  # one bin at most
        inner[i] = curve_of(fit, bins, int(i) + 1).share(float(inner[i]))
    return np.concatenate([[float(x >= edges[0])], inner, [float(x >= edges[-1])]])


def _weighted(fit: DistributionFit, weights: FloatArray) -> tuple[float, float]:
    """Compute a weighted sum of the masses and its standard error."""
    error = math.sqrt(max(float(weights @ fit.covariance @ weights), 0.0))
    return min(float(weights @ fit.masses), 1.0), error
