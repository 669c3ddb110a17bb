r"""Intervals for a mean: every mean that would explain the answer is inside.

The error of a weighted mean is $N(0, a\sigma^2 + r) + \mathrm{Lap}(b)$: sampling and many small reports make it normal,
the curator's one draw does not. With $s^2 = a\sigma^2 + r$ and $k = s/b$ it lies above $y \ge 0$ with probability

$$
\Phi(-y/s) + \tfrac12 e^{k^2/2 - y/b}\,\Phi(y/s - k) - \tfrac12 e^{k^2/2 + y/b}\,\Phi(-y/s - k).
$$

A mean $\theta$ belongs to the interval if an error as large as $|y - \theta|$ is not too unlikely *if $\theta$ is the
mean*: $\sigma^2$ is limited by $\theta$, so a mean near a bound comes with little sampling error and one further away
with more (a score interval, Wilson 1927). Of the variances that are possible then the average is taken
(`VarianceEvidence`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.mean.weights import LocalStatistics, TrustedStatistics, VarianceEvidence


@dataclass(frozen=True, slots=True)
class Interval:
    """From ``lower`` to ``upper``, at a level of confidence; ``low, high = interval`` works."""

    lower: float
    upper: float
    level: float

    def __iter__(self) -> Iterator[float]:
        return iter((self.lower, self.upper))

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    @property
    def half_width(self) -> float:
        """Half of the distance between the ends."""
        return (self.upper - self.lower) / 2

    def rescaled(self, bounds: tuple[float, float]) -> "Interval":
        """An interval of the unit range in the units of values between these bounds."""
        lower, upper = bounds
        width = upper - lower
        low, high = lower + width * self.lower, min(lower + width * self.upper, upper)
        if low >= high:  # floats cannot tell the ends apart, and no interval is a point
            low, high = math.nextafter(high, -math.inf), math.nextafter(high, math.inf)
        return Interval(low, high, self.level)


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """The law of an error: a normal part of variance ``normal`` and a Laplace part of scale ``laplace``."""

    normal: float
    laplace: float

    @classmethod
    def of(
        cls,
        weight: float,
        trusted: TrustedStatistics | None,
        local: LocalStatistics | None,
        *,
        besides: float = 0.0,
    ) -> "NoiseLaw":
        """The noise of a weighted mean: the curator's draw and all reports, and a variance ``besides``."""
        normal = besides if local is None else besides + (1 - weight) ** 2 * local.noise / local.count
        if trusted is None:
            return cls(normal, 0.0)
        return cls.with_curator(normal, weight**2 * trusted.noise, laplace=trusted.laplace)

    @classmethod
    def with_curator(cls, normal: float, curator: float, *, laplace: bool) -> "NoiseLaw":
        """A normal error of variance ``normal`` and the curator's noise of variance ``curator``."""
        return cls(normal, math.sqrt(curator / 2)) if laplace else cls(normal + curator, 0.0)

    @property
    def variance(self) -> float:
        """Of both parts together."""
        return self.normal + 2 * self.laplace**2

    def exceeds(self, y: ArrayLike) -> FloatArray:
        """The probability that the error is larger than ``y``, to either side together."""
        return exceeds(y, self.normal, self.laplace)

    def half_width(self, level: float) -> float:
        """The error that is exceeded, to either side, with probability 1 - ``level``."""
        from scipy.optimize import brentq

        low, high = 0.0, math.sqrt(self.variance)
        if high == 0:
            return 0.0
        while float(self.exceeds(high)) > 1 - level:
            low, high = high, 2 * high
        return float(brentq(lambda y: float(self.exceeds(y)) - (1 - level), low, high, xtol=1e-13 * high, rtol=1e-13))


def exceeds(y: ArrayLike, normal: ArrayLike, laplace: float) -> FloatArray:
    """The probability that $|N(0, v) + Lap(b)|$ is larger than each ``y``, for each ``normal`` variance $v$."""
    from scipy.special import log_ndtr, ndtr

    size: FloatArray = np.abs(np.asarray(y, np.float64))
    s: FloatArray = np.sqrt(np.asarray(normal, np.float64))
    b = laplace
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        if b == 0:
            return np.asarray(np.where(s > 0, 2 * ndtr(-size / s), np.where(size > 0, 0.0, 1.0)))
        k = s / b
        down = np.exp(k * k / 2 - size / b + log_ndtr(size / s - k))
        up = np.exp(k * k / 2 + size / b + log_ndtr(-size / s - k))
        both = 2 * ndtr(-size / s) + down - up
        mostly_normal = 2 * ndtr(-size / np.sqrt(s * s + 2 * b * b))  # so small a Laplace part only adds variance
        return np.asarray(np.where(k > 1e3, mostly_normal, np.where(k < 1e-9, np.exp(-size / b), both)))


@dataclass(frozen=True, slots=True)
class ErrorLaw:
    """How an answer errs, on the unit range, if the groups are alike."""

    answer: float  # the unbiased one
    sampling: float  # a: by what the variance of the values is multiplied
    noise: NoiseLaw  # what else there is: r and b
    evidence: VarianceEvidence = field(repr=False)  # what is known of the variance of the values

    @classmethod
    def of(
        cls, answer: float, weight: float, n_trusted: int, n_local: int, noise: NoiseLaw, evidence: VarianceEvidence
    ) -> "ErrorLaw":
        r"""Of a hybrid with this weight, against the mean of all users' values: $a = (w - c)^2 n / (n_T n_L)$."""
        n = n_trusted + n_local
        return cls(answer, (weight - n_trusted / n) ** 2 * n / (n_trusted * n_local), noise, evidence)

    @property
    def sampling_error(self) -> float:
        """The part of the expected squared error that comes from sampling."""
        return self.sampling * self.evidence.expected(self.answer)

    @property
    def variance(self) -> float:
        """The expected squared error."""
        return self.sampling_error + self.noise.variance

    def explains(self, mean: float) -> float:
        """How probable an error at least as large as that of the answer is, if ``mean`` is the mean (a p-value)."""
        p = []
        for evidence in self.evidence.readings:
            likely = evidence.likely(np.array([mean]))
            variance = self.noise.normal + self.sampling * likely.variance
            p.append(float((likely.mass * exceeds(self.answer - mean, variance, self.noise.laplace)).sum()))
        return min(p)

    def interval(self, level: float) -> Interval:
        """Where the mean lies, between 0 and 1.

        Where noise took the answer so far out of the bounds that hardly any mean explains it, the interval reaches one
        standard error inwards from the bound: it never has no width.
        """
        start = min(max(self.answer, 0.0), 1.0)
        lower, upper = self._end(start, 0.0, level), self._end(start, 1.0, level)
        if start != self.answer:
            inwards = min(math.sqrt(self.variance), 1.0)
            lower, upper = (lower, max(upper, inwards)) if start == 0 else (min(lower, 1 - inwards), upper)
        return Interval(lower, upper, level)

    def _end(self, start: float, edge: float, level: float) -> float:
        """The last mean on the way from ``start`` to ``edge`` that explains the answer."""
        from scipy.optimize import brentq
        from scipy.special import ndtri

        def surplus(distance: float) -> float:
            return self.explains(start + math.copysign(distance, edge - start)) - (1 - level)

        room = abs(edge - start)
        near, far = 0.0, min(room, math.sqrt(self.variance) * max(1.05 * float(ndtri((1 + level) / 2)), 1e-3))
        if room == 0 or surplus(near) < 0:
            return start
        while surplus(far) >= 0:
            if far >= room:
                return edge
            near, far = far, min(room, 1.5 * far)
        reach = float(brentq(surplus, near, far, xtol=1e-9 * far, rtol=1e-9))
        return start + math.copysign(reach, edge - start)


@dataclass(frozen=True, slots=True)
class Laws:
    """How the unbiased answer errs, on the unit range.

    Against the mean of these users' values, and of the population that they come from, if the groups are alike; and the
    same for the mean in which every user weighs the same, which needs no such assumption (None where one of the groups
    was not asked).
    """

    users: ErrorLaw
    population: ErrorLaw = field(repr=False)
    users_if_groups_differ: ErrorLaw | None = field(repr=False)
    population_if_groups_differ: ErrorLaw | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Errors:
    """The expected squared error against the mean of all users' values, in their squared units, by its cause."""

    sampling: float  # from users who do not all weigh the same, and from doubting that the groups are alike
    trusted_noise: float  # from the curator's noise
    local_noise: float  # from that of the local users' reports

    @property
    def total(self) -> float:
        """The whole of it, if the groups are alike; what a difference of the groups adds is unknown."""
        return self.sampling + self.trusted_noise + self.local_noise


@dataclass(frozen=True, slots=True)
class GroupMean:
    """What one group alone says about everybody, if the groups are alike."""

    count: int  # of its users
    mean: float  # their private mean, which may lie outside of the bounds
    bounds: tuple[float, float]  # of the study
    law: ErrorLaw = field(repr=False)  # how it errs against the mean of *all* users' values

    def interval(self, level: float = 0.95) -> Interval:
        """Where the mean of all users' values lies by this group alone."""
        return self.law.interval(_check.number("level", level, _check.FRACTION)).rescaled(self.bounds)
