r"""Intervals for a sum of normal and Laplace noise, exactly.

The error of an estimate is $N(0, s^2) + \mathrm{Lap}(b)$: sampling and many small reports make it normal, the
curator's one draw does not. With $k = s/b$ its distribution function is

$$
F(y) = \Phi(y/s) - \tfrac12 e^{k^2/2 - y/b}\,\Phi(y/s - k) + \tfrac12 e^{k^2/2 + y/b}\,\Phi(-y/s - k).
$$
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """From ``lower`` to ``upper``, at a level of confidence; ``low, high = interval`` works."""

    lower: float
    upper: float
    level: float

    def __iter__(self) -> Iterator[float]:
        return iter((self.lower, self.upper))


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

    def cdf(self, y: float) -> float:
        """The probability that the error is at most ``y``."""
        from scipy.special import log_ndtr, ndtr

        s, b = math.sqrt(self.normal), self.laplace
        if b <= 1e-3 * s:  # a Laplace part that small only adds to the variance
            total = math.sqrt(self.variance)
            return float(ndtr(y / total)) if total > 0 else float(y >= 0)
        if s <= 1e-9 * b:
            return 0.5 * math.exp(y / b) if y < 0 else 1 - 0.5 * math.exp(-y / b)
        k = s / b
        down = math.exp(k * k / 2 - y / b + float(log_ndtr(y / s - k)))
        up = math.exp(k * k / 2 + y / b + float(log_ndtr(-y / s - k)))
        return float(ndtr(y / s)) - 0.5 * down + 0.5 * up

    def half_width(self, level: float) -> float:
        """The error that is exceeded, to either side, with probability 1 - ``level``."""
        from scipy.optimize import brentq

        target = (1 + level) / 2
        low, high = 0.0, math.sqrt(self.variance)
        if high == 0:
            return 0.0
        while self.cdf(high) < target:
            low, high = high, 2 * high
        return float(brentq(lambda y: self.cdf(y) - target, low, high, xtol=1e-13 * high, rtol=1e-13))
