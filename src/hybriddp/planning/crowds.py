"""People who might be asked: a crowd with a given mean and spread, when nothing else is known."""

import math
from functools import lru_cache

import numpy as np

from hybriddp.grid import UNITS
from hybriddp.simulation.crowd import Crowd

_POINTS = 501  # equally likely values


def largest_sd(mean: float) -> float:
    """The largest standard deviation on [0, 1] with this mean: everybody at one of the bounds (Bhatia and Davis)."""
    return math.sqrt(mean * (1 - mean))


@lru_cache(maxsize=256)
def crowd_like(mean: float, sd: float) -> Crowd:
    """People whose values on [0, 1] have this mean and standard deviation: a Beta distribution, or its limits."""
    most = largest_sd(mean)
    if sd <= 1e-6:
        return Crowd(np.array([round(mean * UNITS)]), np.array([_POINTS]))
    if sd >= 0.999 * most:
        upper = round(mean * 10**9)
        return Crowd(np.array([0, UNITS]), np.array([10**9 - upper, upper]))
    from scipy.special import betaincinv

    size = (most / sd) ** 2 - 1
    levels = (np.arange(_POINTS) + 0.5) / _POINTS
    return Crowd.of(betaincinv(mean * size, (1 - mean) * size, levels), (0, 1))
