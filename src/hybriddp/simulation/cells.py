r"""A continuous law as a crowd: cut into cells, each with its exact mass at its own mean.

Equally likely points would flatten a long tail: the far cells that carry a good part of the mean and most of the
variance have little mass. So the cells are cut at three kinds of edges: at equally likely levels, for the bulk; at
levels that get rarer by a factor, down to $10^{-15}$, for the tails; and at equal distances between the bounds, so that
no cell is wide. The mass of a cell $(a, b]$ is $m = F(b) - F(a)$, and its mean follows by integration by parts,

$$
a + \frac1m \int_a^b (F(b) - F(x))\, dx = b - \frac1m \int_a^b (F(x) - F(a))\, dx,
$$

by Gauss-Legendre quadrature. Either form is used on its side of the median, where it loses no digits.
"""

from typing import Any

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.grid import UNITS, Grid
from hybriddp.simulation.crowd import Crowd

MASS = 10**15
"""How many people stand for the whole law: smaller probabilities than one of them are left out."""

_LEVELS = np.arange(1, 1000) / 1000
_RARE = 10.0 ** -np.arange(3, 15.01, 0.05)
_DISTANCES = np.linspace(0.0, 1.0, 513)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def crowd_of(law: Any, grid: Grid) -> Crowd:  # noqa: ANN401  (a frozen distribution of scipy)
    """People whose values have this law, clamped to the bounds of the grid."""
    edges = _edges(law, grid)
    a, b = edges[:-1], edges[1:]
    below, above = law.cdf(edges), law.sf(edges)
    low = below[1:] < 0.5
    mass = np.where(low, np.diff(below), -np.diff(above))
    x = (a + b)[:, None] / 2 + (b - a)[:, None] / 2 * _NODES
    inner = np.where(low[:, None], law.cdf(x) - below[:-1, None], law.sf(x) - above[1:, None])
    share = np.divide(inner @ (_WEIGHTS / 2), mass, out=np.full(len(mass), 0.5), where=mass > 0)
    share = np.clip(share, 0.0, 1.0) * (b - a)
    values = np.concatenate([[grid.lower], np.where(low, b - share, a + share), [grid.upper]])
    masses = np.concatenate([below[:1], mass, above[-1:]])
    return _of_masses(grid.place(values).units, np.maximum(masses, 0.0))


def _edges(law: Any, grid: Grid) -> FloatArray:  # noqa: ANN401
    """Where to cut, from bound to bound, in increasing order."""
    at = [law.ppf(_LEVELS), law.ppf(_RARE), law.isf(_RARE), grid.lower + grid.width * _DISTANCES]
    inside = np.clip(np.concatenate(at), grid.lower, grid.upper)
    edges: FloatArray = np.unique(np.concatenate([inside, [grid.lower, grid.upper]]))
    return edges


def _of_masses(units: Any, masses: FloatArray) -> Crowd:  # noqa: ANN401
    """Whole people, those with the same value together."""
    distinct, which = np.unique(np.asarray(units, np.int64), return_inverse=True)
    users = np.rint(np.bincount(which, masses) / masses.sum() * MASS).astype(np.int64)
    some = users > 0
    return Crowd(distinct[some], users[some])


def two_points(p: float) -> Crowd:
    """A share ``p`` of the people at the upper bound, the rest at the lower one."""
    upper = round(p * MASS)
    return Crowd(np.array([0, UNITS]), np.array([MASS - upper, upper]))
