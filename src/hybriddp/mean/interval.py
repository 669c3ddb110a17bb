r"""Intervals for a mean: every mean that would explain the answer is inside.

The error of a weighted mean is $N(0, a\sigma^2 + r) + \mathrm{Lap}(b)$: sampling and many small reports make it normal,
the curator's one draw does not. With $s^2 = a\sigma^2 + r$ and $k = s/b$ it lies above $y \ge 0$ with probability

$$
\Phi(-y/s) + \tfrac12 e^{k^2/2 - y/b}\,\Phi(y/s - k) - \tfrac12 e^{k^2/2 + y/b}\,\Phi(-y/s - k).
$$

A mean $\theta$ belongs to the interval if an error as large as $|y - \theta|$ is not too unlikely *if $\theta$ is the
mean*: $\sigma^2$ is limited by $\theta$, so a mean near a bound comes with little sampling error and one further away
with more (a score interval, Wilson 1927). Of the variances that are possible then the average is taken (`evidence`).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from hybriddp._check import FloatArray
from hybriddp.mean.evidence import VarianceEvidence


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


@dataclass(frozen=True, slots=True)
class Noise:
    """The law of an error: a normal part of variance ``normal`` and a Laplace part of scale ``laplace``."""

    normal: float
    laplace: float

    @property
    def variance(self) -> float:
        """Of both parts together."""
        return self.normal + 2 * self.laplace**2

    def times(self, width: float) -> "Noise":
        """The law of the error in units that are ``width`` times smaller."""
        return Noise(normal=self.normal * width**2, laplace=self.laplace * width)

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
        mostly_normal = 2 * ndtr(
            -size / np.sqrt(s * s + 2 * b * b)
        )  # so small a Laplace part only adds to the variance
        return np.asarray(np.where(k > 1e3, mostly_normal, np.where(k < 1e-9, np.exp(-size / b), both)))


@dataclass(frozen=True, slots=True)
class ErrorLaw:
    r"""How an answer errs, on the unit range, if the groups are alike.

    Attributes
    ----------
    answer : float
        The unbiased answer.
    sampling : float
        $a$: by what the variance of the values is multiplied.
    noise : Noise
        What else there is: $r$ and $b$.
    evidence : VarianceEvidence
        What is known of the variance of the values.
    """

    answer: float
    sampling: float
    noise: Noise
    evidence: VarianceEvidence = field(repr=False)

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
        return min(self._explains(mean, evidence) for evidence in self.evidence.readings)

    def _explains(self, mean: float, evidence: VarianceEvidence) -> float:
        likely = evidence.likely(np.array([mean]))
        variance = self.noise.normal + self.sampling * likely.variance
        tails = exceeds(self.answer - mean, variance, self.noise.laplace)
        return float((likely.mass * tails).sum())

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
