r"""Chi-square quantiles: squared lengths of normal vectors, and shifts that are too long for their noise.

With $\nu$ degrees of freedom, a whole number, the probability to exceed $x$ is a finite sum:

$$
Q_1(x) = \operatorname{erfc}\sqrt{x/2}, \qquad Q_2(x) = e^{-x/2}, \qquad
Q_{\nu+2}(x) = Q_\nu(x) + \frac{(x/2)^{\nu/2} e^{-x/2}}{\Gamma(\nu/2 + 1)}.
$$

scipy has these too. But to import it takes longer than to cluster a hundred thousand users.
"""

import math
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray

_HALVINGS = 100  # of an interval that holds a quantile: past the last digit


def erfc(values: FloatArray) -> FloatArray:
    """The complementary error function of each value."""
    return np.array([math.erfc(value) for value in values.tolist()])


def chi_square_above(x: FloatArray, degrees: int) -> FloatArray:
    """The probabilities that a chi-square variable with so many degrees of freedom exceeds numbers above 0.

    Examples
    --------
    >>> chi_square_above(np.array([5.991, 7.824]), 2).round(3).tolist()
    [0.05, 0.02]
    """
    half = x / 2
    first = 2 - degrees % 2
    above = np.exp(-half) if first == 2 else erfc(np.sqrt(half))
    logs = np.log(half)
    for nu in range(first, degrees, 2):
        above += np.exp(nu / 2 * logs - half - math.lgamma(nu / 2 + 1))
    return above


def chi_square_limits(degrees: int, levels: FloatArray) -> FloatArray:
    """What a chi-square variable exceeds with these probabilities, each between 0 and 1, by bisection."""
    low, high = np.zeros(levels.shape), np.full(levels.shape, float(degrees))
    while (short := chi_square_above(high, degrees) > levels).any():
        high[short] *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = chi_square_above(middle, degrees) > levels
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high


@lru_cache(maxsize=1024)
def chi_square_limit(degrees: int, level: float) -> float:
    """What a chi-square variable exceeds with this probability.

    Examples
    --------
    >>> round(chi_square_limit(3, 0.05), 3)
    7.815
    """
    return float(chi_square_limits(degrees, np.array([level]))[0])
