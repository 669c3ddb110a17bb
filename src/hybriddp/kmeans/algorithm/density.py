r"""Where users are, as a grid says, and what that tells of reports that are clipped.

The grid says it twice: by frequencies $\hat f$ that are right on average, by which starts are compared, and by denoised
ones, $w$, that are not but have far less noise.

Reports of residuals $z$ are clipped to $\operatorname{clip}(z)$. If a cluster moves a little, the mean of that moves by
the part $g$ of its users who are inside of the radius, so that reports are divided by $g$. In a cluster that is alike
to all sides that is all. In others it is not: with users far out on one side a clipped mean is nearer to a median. What
is missing is the mean of $z - \operatorname{clip}(z)/g$, which the grid knows, with noise. It is added where it stands
out of that noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.denoise import denoised
from hybriddp.kmeans.algorithm.grid_start import GridFrequencies
from hybriddp.kmeans.clustering import nearest
from hybriddp.kmeans.reports.chi_square import chi_square_limit
from hybriddp.kmeans.reports.grid import GridQuestion


@dataclass(frozen=True, slots=True)
class Clipping:
    """How residuals are clipped in each cluster, and what that leaves of their sums, per user."""

    radii: FloatArray  # shape (K,)
    inside: FloatArray  # the part of a small shift that is left, shape (K,)
    missing: FloatArray  # what is missing once sums are divided by that part, shape (K, d)
    variance: FloatArray  # of the noise on what is missing

    @classmethod
    def chosen(cls, tried: "Sequence[Clipping]", best: NDArray[np.intp]) -> "Clipping":
        """For each cluster one of several, by its number."""
        at = np.arange(len(best))
        return cls(
            radii=np.stack([c.radii for c in tried])[best, at],
            inside=np.stack([c.inside for c in tried])[best, at],
            missing=np.stack([c.missing for c in tried])[best, at],
            variance=np.stack([c.variance for c in tried])[best, at],
        )


@dataclass(frozen=True, slots=True)
class Density:
    """Where users are, as a grid says."""

    points: FloatArray  # vertices, shape (M, d)
    values: FloatArray  # frequencies, right on average
    weights: FloatArray  # denoised frequencies
    variance: float  # of the noise on a value
    n_users: float  # as many as have the sampling error of the values
    rounding: float  # the variance that rounding to the grid adds to a coordinate

    @classmethod
    def of(cls, grid: GridQuestion, found: GridFrequencies) -> "Density":
        """The density by the frequencies on a grid."""
        weights = denoised(found.values, grid.sizes, math.sqrt(found.variance))
        rounding = float(np.mean(grid.step**2)) / 6  # of a value that is rounded to either side at random
        return cls(grid.vertices(), found.values, weights, found.variance, found.n_users, rounding)

    @property
    def noise(self) -> FloatArray:
        """The variance of each value, by noise and by sampling."""
        noise: FloatArray = self.variance + self.weights / self.n_users
        return noise

    @property
    def weight_noise(self) -> FloatArray:
        """The variance of the noise on each weight: a small one has lost most of it."""
        sd = math.sqrt(self.variance)
        noise: FloatArray = np.minimum(2 * self.weights, sd) * sd
        return noise

    def squares(self, centers: FloatArray) -> FloatArray:
        """The squared distance of each vertex to the nearest center."""
        rest = self.points - centers[nearest(self.points, centers)]
        squares: FloatArray = np.sum(rest * rest, axis=1)
        return squares

    def cost(self, centers: FloatArray) -> float:
        """The mean squared distance of a user to the nearest center, right on average."""
        rounding = len(centers[0]) * self.rounding
        return float(self.values @ self.squares(centers)) - rounding

    def within(self, centers: FloatArray) -> float:
        """The mean squared distance of a user to the nearest center, by what denoising left: less noisy than `cost`."""
        clusters = self.clusters(centers)
        return len(centers[0]) * float(np.average(clusters.spread, weights=clusters.mass))

    def difference_sd(self, centers: FloatArray, others: FloatArray) -> float:
        """The standard deviation of the difference of two costs."""
        return float(np.sqrt(self.noise @ (self.squares(centers) - self.squares(others)) ** 2))

    def sees(self, centers: FloatArray) -> bool:
        """Whether about every center, up to some distance, are more users than noise is likely to make."""
        label = nearest(self.points, centers)
        distance = np.sum((self.points - centers[label]) ** 2, axis=1)
        for k in range(len(centers)):
            own = np.flatnonzero(label == k)
            inside = np.cumsum(self.values[own[np.argsort(distance[own], kind="stable")]])
            noise_sd = np.sqrt(self.variance * np.arange(1, len(own) + 1))
            if not (inside >= tuning.SEEN * noise_sd).any():
                return False
        return True

    def clusters(self, centers: FloatArray) -> "GridClusters":
        """The clusters of these centers."""
        k, label = len(centers), nearest(self.points, centers)
        mass = np.maximum(np.bincount(label, self.weights, k), 1e-9)
        rest = self.points - centers[label]
        within = np.bincount(label, self.weights * np.mean(rest * rest, axis=1), k) / mass
        least = max(tuning.LEAST_SD**2, tuning.UNSEEN_VARIANCE * self.rounding)
        return GridClusters(self, label, mass, rest, np.maximum(within - self.rounding, least))


@dataclass(frozen=True, slots=True)
class GridClusters:
    """The clusters of some centers, as a grid says."""

    density: Density
    label: NDArray[np.intp]  # of each vertex
    mass: FloatArray  # the fraction of users in each cluster, positive
    rest: FloatArray  # the residual of each vertex
    spread: FloatArray  # the variance of a coordinate within each cluster, without what rounding adds

    def sums(self, values: FloatArray) -> FloatArray:
        """Values of the vertices, shape (M, d), summed up in each cluster."""
        return np.stack([np.bincount(self.label, column, len(self.mass)) for column in values.T], axis=1)

    def clipping(self, radii: FloatArray, *, by_length: bool) -> Clipping:
        """What clipping to radii leaves: of each coordinate on its own, or of the length."""
        density, d = self.density, self.rest.shape[1]
        # Rounding widens a cluster: residuals are scaled back to its spread.
        scale = np.sqrt(self.spread / (self.spread + density.rounding))
        residuals = self.rest * scale[self.label, None]
        size = np.linalg.norm(residuals, axis=1)[:, None] if by_length else np.abs(residuals)
        factor = np.minimum(1.0, radii[self.label, None] / np.maximum(size, 1e-300))
        moves = np.where(factor == 1, 1.0, (1 - 1 / d) * factor if by_length else 0.0).mean(axis=1)
        part = np.bincount(self.label, density.weights * moves, len(radii)) / self.mass
        inside = np.maximum(part, tuning.LEAST_INSIDE)
        lost = residuals * (1 - factor / inside[self.label, None])
        noise = density.weight_noise + density.weights / density.n_users
        missing, variance = self.sums(density.weights[:, None] * lost), self.sums(noise[:, None] * lost**2)
        stands_out = np.sum(missing**2 / np.maximum(variance, 1e-300), axis=1) > chi_square_limit(
            d, tuning.MISSING_LEVEL
        )
        return Clipping(radii, inside, missing * stands_out[:, None], variance * stands_out[:, None])
