"""Values of an assumed mean and standard deviation.

They are assumed to have a Beta distribution on the bounds, which has every mean and spread that values between them can
have: a bump in the middle, a long tail to one side, or two heaps at the bounds.
"""

import math
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.grid import UNITS
from hybriddp.simulation.crowd import ValueCounts

_POINTS = 501  # equally likely values
_ALIKE, _APART = 1e-6, 0.999  # a spread that is none; from which fraction of the largest one on all are at the bounds


def largest_sd(mean: float) -> float:
    """Return the largest standard deviation on [0, 1] with this mean: all at the bounds (Bhatia and Davis)."""
    return math.sqrt(mean * (1 - mean))


@lru_cache(maxsize=256)
def beta_counts(mean: float, sd: float) -> ValueCounts:
    """Return people whose values on [0, 1] have this mean and standard deviation."""
    if sd <= _ALIKE:
        return ValueCounts(np.array([round(mean * UNITS)]), np.array([_POINTS]))
    if sd >= _APART * largest_sd(mean):
        upper = round(mean * 10**9)
        return ValueCounts(np.array([0, UNITS]), np.array([10**9 - upper, upper]))
    return ValueCounts.of(beta_values(mean, sd, _POINTS), (0, 1))


def beta_values(mean: float, sd: float, count: int) -> FloatArray:
    """Return equally likely values on [0, 1] with this mean and standard deviation, in increasing order."""
    levels = (np.arange(count) + 0.5) / count
    if sd <= _ALIKE:
        return np.full(count, mean)
    if sd >= _APART * largest_sd(mean):
        return (levels > 1 - mean).astype(np.float64)
    from scipy.special import betaincinv

    size = (largest_sd(mean) / sd) ** 2 - 1
    values: FloatArray = betaincinv(mean * size, (1 - mean) * size, levels)
    return values
