"""The axis of a distribution's pictures: as the bins are, so that each of them is as wide as the next.

An axis in values would squeeze half of the bins of a log scale into a three-hundredth of the picture.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from hybriddp._check import FloatArray
from hybriddp.distribution.bins import N_EDGES, Bins

_MANTISSAS = (1.0, 2.0, 5.0)
_FEWER = (10, 8, 6, 5, 4, 3)


def places(bins: Bins, values: ArrayLike) -> FloatArray:
    """Return the places of values on the axis.

    The lower bound is at 0, the upper bound is at 1, and edges are equally far apart.
    """
    found: FloatArray = np.interp(np.asarray(values, float), bins.edges, np.linspace(0.0, 1.0, N_EDGES))
    return found


def values_at(bins: Bins, places: ArrayLike) -> FloatArray:
    """Return the values at places on the axis."""
    found: FloatArray = np.interp(np.asarray(places, float), np.linspace(0.0, 1.0, N_EDGES), bins.edges)
    return found


def ticks(bins: Bins, most: int = 10) -> list[float]:
    """Round values for the axis, at least a gap apart: steps of one size if the bins have one, of 1, 2 and 5 if not."""
    lower, upper, width = bins.grid.lower, bins.grid.upper, bins.grid.width
    if bins.scale == "equal":
        power = 10.0 ** math.floor(math.log10(width / most))
        step = next(m * power for m in (*_MANTISSAS, 10.0) if m * power * most >= width)
        first = math.ceil(round(lower / step, 9))
        return [round(i * step, 12) for i in range(first, math.floor(round(upper / step, 9)) + 1)]
    powers = range(math.floor(math.log10(width)) - 6, math.floor(math.log10(width)) + 2)
    steps = [m * 10.0**power for power in powers for m in _MANTISSAS]
    rounded = sorted({sign * x for x in steps for sign in (-1, 1)} | {0.0})
    inside = [x for x in rounded if lower <= x <= upper]
    return _apart(bins, [lower, upper, *inside[::-1]], 1 / most)


def readable_ticks(bins: Bins, characters: int = 70) -> list[float]:
    """As many ticks as there is room for, on an axis on which so many characters fit."""
    found: list[float] = []
    for most in _FEWER:
        found = ticks(bins, most)
        if most * (1 + max(len(label(x)) for x in found)) <= characters:
            break
    return found


def _apart(bins: Bins, candidates: list[float], gap: float) -> list[float]:
    """Those that are not too near to one that came before."""
    kept: list[float] = []
    for x in candidates:
        if all(abs(float(places(bins, x)) - float(places(bins, other))) >= gap for other in kept):
            kept.append(x)
    return sorted(kept)


def label(value: float) -> str:
    """Format the label of a tick for readers."""
    return f"{value:,.12g}"
