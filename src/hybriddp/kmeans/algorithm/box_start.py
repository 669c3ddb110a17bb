r"""First centers in a box of up to three dimensions: K-means of denoised frequencies on a grid.

All of this is post-processing of what both groups published, so that K-means may begin from as many starts as it likes.
Where users are is known twice: from frequencies $\hat f$ that are right on average, but noisy, and from denoised ones,
$w$ (`denoise`), by which centers are found.
"""

import math
from dataclasses import dataclass

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.cluster_estimate import ClusterEstimate
from hybriddp.kmeans.algorithm.denoise import denoised
from hybriddp.kmeans.algorithm.grid_start import GridFrequencies
from hybriddp.kmeans.clustering import nearest, weighted_kmeans
from hybriddp.kmeans.reports.base import ResidualSums
from hybriddp.kmeans.reports.grid import GridQuestion


@dataclass(frozen=True, slots=True)
class Clipped:
    """What clipping leaves of residuals, as the grid says; everything is a sum over users, per user."""

    radii: FloatArray  # shape (K,)
    inside: FloatArray  # by what a small shift of a cluster shrinks, shape (K,)
    offset: FloatArray  # to be added to the sum of clipped residuals over `inside`, shape (K, d)
    variance: FloatArray  # of that, or the square of what is left out, shape (K, d)


@dataclass(frozen=True, slots=True)
class Density:
    """Where users are, as the grid says."""

    points: FloatArray  # vertices, shape (M, d)
    values: FloatArray  # frequencies with noise, right on average
    weights: FloatArray  # denoised ones
    variance: float  # of the noise on a value
    n_users: float  # as many as have the sampling error of the values
    rounding: float  # the variance that rounding to the grid adds to a coordinate

    @classmethod
    def of(cls, grid: GridQuestion, found: GridFrequencies) -> "Density":
        """The density by frequencies."""
        weights = denoised(found.values, grid.sizes, math.sqrt(found.variance))
        rounding = float(np.mean(grid.step**2)) / 6  # of a value that is rounded to either side at random
        return cls(grid.vertices(), found.values, weights, found.variance, found.n_users, rounding)

    def spread(self, centers: FloatArray) -> FloatArray:
        """The variance of a coordinate within each cluster, without what rounding adds; shape (K,)."""
        label = nearest(self.points, centers)
        mass = np.maximum(np.bincount(label, self.weights, len(centers)), 1e-9)
        squares = np.mean((self.points - centers[label]) ** 2, axis=1)
        within = np.bincount(label, self.weights * squares, len(centers)) / mass
        least = np.maximum(tuning.LEAST_SD**2, tuning.UNSEEN_VARIANCE * self.rounding)
        spread: FloatArray = np.maximum(within - self.rounding, least)
        return spread

    def clipped(self, centers: FloatArray, radii: FloatArray, *, by_length: bool) -> Clipped:
        """What clipping to radii leaves, of each coordinate or of the length; radii have the shape (K,)."""
        from scipy.special import chdtri

        k, d = centers.shape
        label = nearest(self.points, centers)
        spread = self.spread(centers)
        residuals = (self.points - centers[label]) * np.sqrt(spread / (spread + self.rounding))[label, None]
        size = np.linalg.norm(residuals, axis=1)[:, None] if by_length else np.abs(residuals)
        factor = np.minimum(1.0, radii[label, None] / np.maximum(size, 1e-12))
        within = np.mean(np.where(factor < 1, (1 - 1 / d) * factor if by_length else 0.0, 1.0), axis=1)
        mass = np.maximum(np.bincount(label, self.weights, k), 1e-9)
        inside = np.maximum(np.bincount(label, self.weights * within, k) / mass, tuning.LEAST_INSIDE)
        rest = residuals * (1 - factor / inside[label, None])
        noise = self.variance + self.weights / self.n_users
        offset = np.stack([np.bincount(label, self.values * r, k) for r in rest.T], axis=1)
        variance = np.stack([np.bincount(label, noise * r**2, k) for r in rest.T], axis=1)
        sure = np.sum(offset**2 / np.maximum(variance, 1e-300), axis=1) > chdtri(d, tuning.OFFSET_LEVEL)
        return Clipped(radii, inside, np.where(sure[:, None], offset, 0.0), np.where(sure[:, None], variance, 0.0))


def box_start(
    grid: GridQuestion, found: GridFrequencies, k: int, rng: np.random.Generator
) -> tuple[ClusterEstimate, Density]:
    """K-means of the denoised frequencies."""
    density = Density.of(grid, found)
    some = density.weights > 0
    points, weights = density.points[some], density.weights[some]
    centers = weighted_kmeans(points, weights, k, starts=tuning.GRID_STARTS, generator=rng)[0].centers
    label = nearest(points, centers)
    mass = np.maximum(np.bincount(label, weights, k), 1e-9)
    squares = (points - centers[label]) ** 2
    noise = np.stack([np.bincount(label, s, k) for s in squares.T], axis=1) * found.variance / mass[:, None] ** 2
    sampling = (density.spread(centers) + density.rounding) / (found.n_users * mass)
    cells = np.bincount(label, minlength=k)
    size_variance = cells * found.variance + mass / found.n_users + (tuning.GRID_SIZE_ERROR * mass) ** 2
    weight = np.full(k, found.trusted_weight)
    return ClusterEstimate(centers, noise + sampling[:, None], mass, size_variance, weight), density
