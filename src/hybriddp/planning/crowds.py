"""People who might be asked: a crowd with a given mean and spread, when nothing else is known.

Its shape is that of a Beta distribution on the bounds, which has every mean and spread that values between them can
have: a bump in the middle, a long tail to one side, or two heaps at the bounds.
"""

import math
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.grid import UNITS
from hybriddp.simulation.crowd import Crowd

_POINTS = 501  # equally likely values
_ALIKE, _APART = 1e-6, 0.999  # a spread that is none; from which share of the largest one on all are at the bounds


def largest_sd(mean: float) -> float:
    """The largest standard deviation on [0, 1] with this mean: everybody at one of the bounds (Bhatia and Davis)."""
    return math.sqrt(mean * (1 - mean))


@lru_cache(maxsize=256)
def crowd_like(mean: float, sd: float) -> Crowd:
    """People whose values on [0, 1] have this mean and standard deviation: a Beta distribution, or its limits."""
    if sd <= _ALIKE:
        return Crowd(np.array([round(mean * UNITS)]), np.array([_POINTS]))
    if sd >= _APART * largest_sd(mean):
        upper = round(mean * 10**9)
        return Crowd(np.array([0, UNITS]), np.array([10**9 - upper, upper]))
    return Crowd.of(values_like(mean, sd, _POINTS), (0, 1))


def values_like(mean: float, sd: float, count: int) -> FloatArray:
    """So many equally likely values on [0, 1], in increasing order, of that Beta distribution or its limits."""
    levels = (np.arange(count) + 0.5) / count
    if sd <= _ALIKE:
        return np.full(count, mean)
    if sd >= _APART * largest_sd(mean):
        return (levels > 1 - mean).astype(np.float64)
    from scipy.special import betaincinv

    size = (largest_sd(mean) / sd) ** 2 - 1
    result: FloatArray = betaincinv(mean * size, (1 - mean) * size, levels)
    return result
