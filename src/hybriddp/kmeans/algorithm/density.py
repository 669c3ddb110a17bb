r"""Where users are, as a grid says, and what that tells of reports that are clipped.

The grid says it twice: by frequencies $\hat f$ that are right on average, by which starts are compared, and by denoised
ones, $w$, that are not but have far less noise.

Reports of residuals $z$ are clipped to $\operatorname{clip}(z)$. If a cluster moves a little, the mean of that moves by
the part $g$ of its users who are inside of the radius, so that reports are divided by $g$. In a cluster that is alike
to all sides that is all. In others it is not: with users far out on one side a clipped mean is nearer to a median. What
is missing is the mean of $z - \operatorname{clip}(z)/g$, which the grid knows, with noise. It is added where it stands
out of that noise.

**Denoising** is wavelet shrinkage, with no more users than there are. A cluster that is spread over many vertices
stands out of the noise at none of them, and a threshold on frequencies would lose it. But it stands out in sums over
blocks. Haar wavelets are differences of such sums, at all scales at once: where a frequency has noise of the standard
deviation $\sigma$, a coefficient that is an average over $m$ vertices has $\sigma/\sqrt m$. With $M/m$ blocks, noise
alone rarely exceeds $\sqrt{2\log(M/m)}$ standard deviations; what is below that is set to 0 [DJ94]. Where many
coefficients of a scale stand out, as with many small places at a large ε, that is too strict: there the threshold is
the lowest at which at most a tenth of what passes is noise [BH95]. All placements of the blocks are averaged, so that
their edges leave no trace [CD95]. Outside of the grid there is nobody, so that blocks grow along an axis until they are
as long as the grid is there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.clustering import nearest
from hybriddp.kmeans.reports.base import GridQuestion
from hybriddp.kmeans.reports.moments import chi_square_limit, erfc


@dataclass(frozen=True, slots=True)
class GridFrequencies:
    """The fraction of users at each vertex, with noise."""

    values: FloatArray  # shape (M,); some are negative
    variance: float  # of the noise on each
    n_users: float  # of a blend, as many as would have the same sampling error
    trusted_weight: float  # how much of it the trusted group says


def blended(trusted: GridFrequencies, local: GridFrequencies) -> GridFrequencies:
    r"""Blend both groups' frequencies by inverse variance, noise and sampling together, at an average user's vertex.

    The frequency there is $\sum_v f_v^2$. Noise is independent in the two groups, so that the product of what they say
    is right on average. It is at least $1/M$, that of users who are spread evenly.
    """
    m = len(trusted.values)
    usual = float(np.clip(np.sum(trusted.values * local.values), 1 / m, 1.0))  # not BLAS: the same everywhere
    a, b = trusted.variance + usual / trusted.n_users, local.variance + usual / local.n_users
    weight = b / (a + b)
    variance = weight**2 * trusted.variance + (1 - weight) ** 2 * local.variance
    return GridFrequencies(
        values=weight * trusted.values + (1 - weight) * local.values,
        variance=variance,
        n_users=1 / (weight**2 / trusted.n_users + (1 - weight) ** 2 / local.n_users),
        trusted_weight=weight,
    )


@dataclass(frozen=True, slots=True)
class Clipping:
    """How residuals are clipped in each cluster, and what that leaves of their sums, per user."""

    radii: FloatArray  # shape (K,)
    inside: FloatArray  # the part of a small shift that is left, shape (K,)
    missing: FloatArray  # what is missing once sums are divided by that part, shape (K, d)
    variance: FloatArray  # of the noise on what is missing

    @classmethod
    def chosen(cls, tried: "Sequence[Clipping]", best: NDArray[np.intp]) -> "Clipping":
        """Choose one of several for each cluster, by its number."""
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
    def of(cls, grid: GridQuestion, frequencies: GridFrequencies) -> "Density":
        """Denoise the frequencies on a grid."""
        weights = denoised(frequencies.values, grid.sizes, math.sqrt(frequencies.variance))
        rounding = float(np.mean(grid.step**2)) / 6  # of a value that is rounded to either side at random
        return cls(grid.vertices(), frequencies.values, weights, frequencies.variance, frequencies.n_users, rounding)

    @property
    def noise(self) -> FloatArray:
        """Variance of each value, by noise and by sampling."""
        noise: FloatArray = self.variance + self.weights / self.n_users
        return noise

    @property
    def weight_noise(self) -> FloatArray:
        """Variance of the noise on each weight: a small one has lost most of it."""
        sd = math.sqrt(self.variance)
        noise: FloatArray = np.minimum(2 * self.weights, sd) * sd
        return noise

    def squares(self, centers: FloatArray) -> FloatArray:
        """Compute the squared distance of each vertex to the nearest center."""
        rest = self.points - centers[nearest(self.points, centers)]
        squares: FloatArray = np.sum(rest * rest, axis=1)
        return squares

    def cost(self, centers: FloatArray) -> float:
        """Estimate the mean squared distance of a user to the nearest center, right on average."""
        rounding = len(centers[0]) * self.rounding
        return float(self.values @ self.squares(centers)) - rounding

    def within(self, centers: FloatArray) -> float:
        """Estimate the mean squared distance of a user to the nearest center, denoised: less noisy than `cost`."""
        clusters = self.clusters(centers)
        return len(centers[0]) * float(np.average(clusters.spread, weights=clusters.mass))

    def difference_sd(self, centers: FloatArray, others: FloatArray) -> float:
        """Compute the standard deviation of the difference of two costs."""
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
        """Assign the vertices to these centers."""
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
        """Add up values of the vertices, shape (M, d), in each cluster."""
        return np.stack([np.bincount(self.label, column, len(self.mass)) for column in values.T], axis=1)

    def clipping(self, radii: FloatArray, *, by_length: bool) -> Clipping:
        """Compute what clipping to radii leaves: of each coordinate on its own, or of the length."""
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


_LEAST_NOISE = 1e-150  # frequencies that are exact are divided by it


def denoised(values: FloatArray, sizes: tuple[int, ...], noise_sd: float) -> FloatArray:
    """Denoise frequencies on a grid of these sizes; none is negative afterwards, and they add up to at most 1."""
    return at_most_all(haar_shrunk(values.reshape(sizes), noise_sd).ravel())


def haar_shrunk(values: FloatArray, noise_sd: float) -> FloatArray:
    """Keep the Haar coefficients of values on a grid that stand out of noise."""
    scales = [math.ceil(math.log2(size)) for size in values.shape]  # along each axis
    rough: FloatArray = np.pad(values, [(1 << own, 1 << own) for own in scales])
    kept = []
    for scale in range(max(scales)):
        rough, *details = _split(rough, 1 << scale, _axes(scales, scale))
        placements = _vertices(scales, scale + 1)  # of a block, which are as many as its vertices
        sd = max(noise_sd, _LEAST_NOISE) / math.sqrt(placements)
        most = _level(values.size / _vertices(scales, scale))
        many = tuning.HAAR_MANY * placements  # one place of noise is seen in as many placements
        least = [sd * threshold(np.abs(band) / sd, most, many) for band in details]
        kept.append([np.where(np.abs(band) > low, band, 0.0) for band, low in zip(details, least, strict=True)])
    for scale in reversed(range(max(scales))):
        rough = _join([rough, *kept[scale]], 1 << scale, _axes(scales, scale))
    inside: FloatArray = rough[tuple(slice(1 << own, -(1 << own)) for own in scales)]
    return inside


def _axes(scales: list[int], scale: int) -> list[int]:
    """List the axes along which blocks still grow at a scale."""
    return [axis for axis, own in enumerate(scales) if scale < own]


def _vertices(scales: list[int], scale: int) -> int:
    """Count the vertices of a block of a scale."""
    return math.prod(1 << min(scale, own) for own in scales)


def _level(blocks: float) -> float:
    """Compute the standard deviations that a coefficient must have, among those of ``blocks`` blocks."""
    return max(tuning.HAAR_LEVEL * math.sqrt(2 * math.log(max(blocks, 1.0))), tuning.HAAR_LEAST)


def threshold(sizes: FloatArray, most: float, many: int) -> float:
    """Choose what coefficients must exceed, in standard deviations: ``most``, and less if at least ``many`` do.

    Of those that exceed it, noise alone would make at most the fraction `tuning.HAAR_FALSE` [BH95]. Coefficients that
    are 0 are those outside of the grid, and do not count.
    """
    high = np.sort(sizes[sizes > tuning.HAAR_LEAST])[::-1]
    by_noise = erfc(high / math.sqrt(2)) * np.count_nonzero(sizes)
    number = np.arange(1, len(high) + 1)
    passes = high[(by_noise <= tuning.HAAR_FALSE * number) & (number >= many)]
    return float(np.clip(passes.min(initial=most), tuning.HAAR_LEAST, most)) - 1e-12


def _split(values: FloatArray, step: int, axes: list[int]) -> list[FloatArray]:
    """Compute half sums and half differences of neighbors along each axis; sums along all of them come first."""
    bands = [values]
    for axis in axes:
        pairs = [(band, np.roll(band, -step, axis)) for band in bands]
        bands = [(a + b) / 2 for a, b in pairs] + [(a - b) / 2 for a, b in pairs]
    return bands


def _join(bands: list[FloatArray], step: int, axes: list[int]) -> FloatArray:
    """Undo `_split`: each value is in two pairs, and is the average of what they say."""
    for axis in reversed(axes):
        half = len(bands) // 2
        pairs = zip(bands[:half], bands[half:], strict=True)
        bands = [((a + b) + np.roll(a - b, step, axis)) / 2 for a, b in pairs]
    return bands[0]


def at_most_all(values: FloatArray) -> FloatArray:
    r"""Find the nearest values, not negative, that add up to at most 1: $\max(v - t, 0)$ with the least $t \ge 0$.

    Examples
    --------
    >>> at_most_all(np.array([0.5, -0.1, 0.25])).tolist()
    [0.5, 0.0, 0.25]
    >>> at_most_all(np.array([1.0, 0.5, -0.25])).tolist()
    [0.75, 0.25, 0.0]
    """
    positive: FloatArray = np.maximum(values, 0.0)
    if positive.sum() <= 1:
        return positive
    largest = np.sort(values)[::-1]
    excess = (np.cumsum(largest) - 1) / np.arange(1, len(values) + 1)
    least = excess[np.flatnonzero(largest > excess)[-1]]
    nearest: FloatArray = np.maximum(values - least, 0.0)
    return nearest
