r"""Intervals, and the law of an error that has a normal and a Laplace part.

The error of a weighted mean is $N(0, a\sigma^2 + r) + \mathrm{Lap}(b)$: sampling and many small reports make it normal,
the curator's one draw does not. With $s^2 = a\sigma^2 + r$ and $k = s/b$ it lies above $y \ge 0$ with probability

$$
\Phi(-y/s) + \tfrac12 e^{k^2/2 - y/b}\,\Phi(y/s - k) - \tfrac12 e^{k^2/2 + y/b}\,\Phi(-y/s - k).
$$
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hybriddp._check import FloatArray


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
        """Rescale an interval of the unit range to values between these bounds."""
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
    def with_curator(cls, normal: float, curator: float, *, laplace: bool) -> "NoiseLaw":
        """Combine a normal error and the curator's noise.

        ``normal`` and ``curator`` are their variances.
        """
        return cls(normal, math.sqrt(curator / 2)) if laplace else cls(normal + curator, 0.0)

    @property
    def variance(self) -> float:
        """Of both parts together."""
        return self.normal + 2 * self.laplace**2

    def exceeds(self, y: ArrayLike) -> FloatArray:
        """Compute the probability that the error is larger than ``y``.

        Both sides count together.
        """
        return exceeds(y, self.normal, self.laplace)

    def half_width(self, level: float) -> float:
        """Compute the half-width of an interval of this level.

        The error exceeds it, to either side, with probability 1 - ``level``.
        """
        from scipy.optimize import brentq

        low, high = 0.0, math.sqrt(self.variance)
        if high == 0:
            return 0.0
        while float(self.exceeds(high)) > 1 - level:
            low, high = high, 2 * high
        return float(brentq(lambda y: float(self.exceeds(y)) - (1 - level), low, high, xtol=1e-13 * high, rtol=1e-13))


def exceeds(y: ArrayLike, normal: ArrayLike, laplace: float) -> FloatArray:
    """Compute the probability that $|N(0, v) + Lap(b)|$ is larger than ``y``.

    The result has an entry for each ``y`` and each ``normal`` variance $v$.
    """
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
