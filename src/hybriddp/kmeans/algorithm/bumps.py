"""Noisy frequencies on a grid, explained by few bumps: a non-negative lasso.

Clusters are wider than a step of the grid, so a frequency that stands alone is noise. The frequencies are fitted by
bumps of the width of a cluster at the vertices, with weights that are not negative and cost something: what remains
are the weights of the bumps.
"""

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.reports.grid import GridQuestion

_STEPS = 150


def bump_weights(grid: GridQuestion, shares: FloatArray, noise_sd: float, bump_sd: float) -> FloatArray:
    """The weights of bumps at the vertices, by accelerated proximal gradient steps [BT09].

    Parameters
    ----------
    grid : GridQuestion
        The grid.
    shares : ndarray, shape (M,)
        Noisy frequencies.
    noise_sd : float
        The standard deviation of the noise on each.
    bump_sd : float
        The width of a bump; rounding to the grid widens it.
    """
    factors = [_factor(size, step, bump_sd) for size, step in zip(grid.sizes, grid.step, strict=True)]
    target = shares.reshape(grid.sizes)
    norm = float(np.prod([np.linalg.norm(f, axis=0).mean() for f in factors]))
    penalty = 1.5 * noise_sd * norm
    steepness = float(np.prod([np.linalg.norm(f, 2) ** 2 for f in factors]))
    weights = momentum = np.zeros(grid.sizes)
    t = 1.0
    for _ in range(_STEPS):
        slope = _apply([f.T for f in factors], _apply(factors, momentum) - target)
        better = np.maximum(momentum - (slope + penalty) / steepness, 0)
        faster = (1 + np.sqrt(1 + 4 * t * t)) / 2
        momentum = better + (t - 1) / faster * (better - weights)
        weights, t = better, faster
    return weights.ravel()


def _factor(size: int, step: float, bump_sd: float) -> FloatArray:
    """A bump at each vertex of one direction (columns), as seen at all vertices; each adds up to 1 inside."""
    width = np.sqrt(bump_sd**2 + step**2 / 6)
    at = step * np.arange(size)
    bumps = np.exp(-((at[:, None] - at) ** 2) / (2 * width**2))
    columns: FloatArray = bumps / bumps.sum(axis=0)
    return columns


def _apply(factors: list[FloatArray], weights: FloatArray) -> FloatArray:
    for axis, factor in enumerate(factors):
        weights = np.moveaxis(np.tensordot(factor, weights, axes=(1, axis)), 0, axis)
    return weights
