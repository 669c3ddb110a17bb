"""From noisy frequencies on a grid to centres: blend, cut, cluster, and say how uncertain it is."""

import math
from dataclasses import dataclass

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.lloyd import nearest, weighted_kmeans
from hybriddp.kmeans.questions import GridQuestion


@dataclass(frozen=True, slots=True)
class Frequencies:
    """The share of users at each vertex.

    Attributes
    ----------
    shares : ndarray, shape (M,)
        The shares; with noise, so some are negative.
    variance : float
        The variance of the noise on each.
    users : float
        How many users they are about.
    threshold : float
        What noise alone hardly exceeds anywhere.
    """

    shares: FloatArray
    variance: float
    users: float
    threshold: float


@dataclass(frozen=True, slots=True)
class Blend:
    """Frequencies of both groups in one.

    Attributes
    ----------
    frequencies : Frequencies
        The blend; its ``users`` are as many as would have the same sampling error.
    trusted_weight : float
        How much of it is the trusted group's, on average over the weight.
    """

    frequencies: Frequencies
    trusted_weight: float


def blended(trusted: Frequencies | None, local: Frequencies | None) -> Blend:
    """Both groups' frequencies by inverse variance, noise and sampling together, as at the average vertex."""
    if trusted is None or local is None:
        only = local if local is not None else trusted
        assert only is not None  # noqa: S101
        return Blend(only, 0.0 if trusted is None else 1.0)
    m = len(trusted.shares)
    a, b = trusted.variance + 1 / m / trusted.users, local.variance + 1 / m / local.users
    weight = b / (a + b)
    variance = weight**2 * trusted.variance + (1 - weight) ** 2 * local.variance
    mixed = Frequencies(
        shares=weight * trusted.shares + (1 - weight) * local.shares,
        variance=variance,
        users=1 / (weight**2 / trusted.users + (1 - weight) ** 2 / local.users),
        threshold=math.sqrt(2 * math.log(m) * variance),
    )
    return Blend(mixed, weight)


@dataclass(frozen=True, slots=True)
class Start:
    """First centres, from a grid.

    Attributes
    ----------
    centres : ndarray, shape (K, d)
        The centres.
    variance : ndarray, shape (K, d)
        The variance of each coordinate.
    sizes : ndarray, shape (K,)
        The share of users in each cluster.
    size_variance : ndarray, shape (K,)
        The variance of these shares.
    spread : ndarray, shape (K,)
        The variance of one coordinate within each cluster.
    """

    centres: FloatArray
    variance: FloatArray
    sizes: FloatArray
    size_variance: FloatArray
    spread: FloatArray


LEAST_SD = 0.005
"""No cluster is taken to be narrower than this part of the widest dimension."""


def start(grid: GridQuestion, found: Frequencies, n_clusters: int, dice: np.random.Generator) -> Start:
    """K-means of the vertices whose frequency is above the threshold."""
    vertices = grid.vertices()
    least = np.sort(found.shares)[-min(2 * n_clusters, len(vertices))]  # enough vertices for all centres, always
    kept = found.shares > min(found.threshold, least - 1e-12)
    points, weights = vertices[kept], np.maximum(found.shares[kept], 1e-9)
    centres = weighted_kmeans(points, weights, n_clusters, starts=8, generator=dice)[0].centres
    label = nearest(points, centres)
    mass = np.maximum(np.bincount(label, weights, n_clusters), 1e-9)
    squares = (points - centres[label]) ** 2
    rounding = float(np.mean(grid.step**2)) / 6  # of a value that is rounded to either side at random
    within = np.bincount(label, weights * squares.mean(axis=1), n_clusters) / mass
    spread = np.maximum(within - rounding, LEAST_SD**2)
    noise = (
        np.stack([np.bincount(label, s, n_clusters) for s in squares.T], axis=1) * found.variance / mass[:, None] ** 2
    )
    sampling = (spread + rounding) / (found.users * mass)
    cells = np.bincount(label, minlength=n_clusters)
    sizes = mass / mass.sum()
    size_variance = cells * found.variance + sizes / found.users + (0.1 * sizes) ** 2
    return Start(centres, noise + sampling[:, None], sizes, size_variance, spread)
