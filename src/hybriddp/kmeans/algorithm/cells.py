"""From noisy frequencies on a grid to centers: blend, cut, cluster, and say how uncertain it is."""

import math
from dataclasses import dataclass

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.clustering import nearest, weighted_kmeans
from hybriddp.kmeans.reports.grid import GridQuestion


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
    """Both groups' frequencies by inverse variance, noise and sampling together, at an average user's vertex."""
    if trusted is None or local is None:
        only = local if local is not None else trusted
        assert only is not None  # noqa: S101
        return Blend(only, 0.0 if trusted is None else 1.0)
    share = _usual_share(trusted, local)
    a, b = trusted.variance + share / trusted.users, local.variance + share / local.users
    weight = b / (a + b)
    variance = weight**2 * trusted.variance + (1 - weight) ** 2 * local.variance
    mixed = Frequencies(
        shares=weight * trusted.shares + (1 - weight) * local.shares,
        variance=variance,
        users=1 / (weight**2 / trusted.users + (1 - weight) ** 2 / local.users),
        threshold=math.sqrt(2 * math.log(len(trusted.shares)) * variance),
    )
    return Blend(mixed, weight)


def _usual_share(trusted: Frequencies, local: Frequencies) -> float:
    r"""The share at the vertex of an average user, $\sum_v f_v^2$.

    Noise is independent in the two groups, so that the product of what they say is right on average. It is at least
    $1/M$, that of users who are spread evenly.
    """
    return float(np.clip(trusted.shares @ local.shares, 1 / len(trusted.shares), 1.0))


@dataclass(frozen=True, slots=True)
class Start:
    """First centers, from a grid.

    Attributes
    ----------
    centers : ndarray, shape (K, d)
        The centers.
    variance : ndarray, shape (K, d)
        The variance of each coordinate.
    sizes : ndarray, shape (K,)
        The share of users in each cluster.
    size_variance : ndarray, shape (K,)
        The variance of these shares.
    spread : ndarray, shape (K,)
        The variance of one coordinate within each cluster.
    """

    centers: FloatArray
    variance: FloatArray
    sizes: FloatArray
    size_variance: FloatArray
    spread: FloatArray


LEAST_SD = 0.005
"""No cluster is taken to be narrower than this part of the widest dimension."""

# Clusters narrower than the steps of the grid look like nothing but rounding: they are taken to be a third as wide.
_UNSEEN = 0.1


def start(grid: GridQuestion, found: Frequencies, n_clusters: int, rng: np.random.Generator) -> Start:
    """K-means of the vertices whose frequency is above the threshold."""
    vertices = grid.vertices()
    least = np.sort(found.shares)[-min(2 * n_clusters, len(vertices))]  # enough vertices for all centers, always
    cut = min(found.threshold, least - 1e-12)
    kept = found.shares > cut
    points, weights = vertices[kept], np.maximum(found.shares[kept], 1e-9)
    centers = weighted_kmeans(points, weights, n_clusters, starts=8, generator=rng)[0].centers
    label = nearest(points, centers)
    mass = np.maximum(np.bincount(label, weights, n_clusters), 1e-9)
    squares = (points - centers[label]) ** 2
    rounding = float(np.mean(grid.step**2)) / 6  # of a value that is rounded to either side at random
    within = np.bincount(label, weights * squares.mean(axis=1), n_clusters) / mass
    spread = np.maximum(within - rounding, np.maximum(LEAST_SD**2, _UNSEEN * rounding))
    owner = nearest(vertices, centers)
    moments = (vertices - centers[owner]) ** 2 * passed_variance(found.shares, cut, math.sqrt(found.variance))[:, None]
    noise = np.stack([np.bincount(owner, m, n_clusters) for m in moments.T], axis=1) / mass[:, None] ** 2
    sampling = (spread + rounding) / (found.users * mass)
    cells = np.bincount(label, minlength=n_clusters)
    sizes = mass / mass.sum()
    size_variance = cells * found.variance + sizes / found.users + (0.1 * sizes) ** 2
    return Start(centers, noise + sampling[:, None], sizes, size_variance, spread)


def passed_variance(shares: FloatArray, cut: float, sd: float) -> FloatArray:
    r"""The variance of what passes the cut, of each vertex: of $f 1[f > t]$ for normal $f$.

    A vertex near the cut is in or out by chance, and if it is in, with all of its weight. So it adds more than the
    variance of its noise, and even one that is out adds something. With $a = (t - \mu)/\sigma$

    $$
    E = \mu \Phi(-a) + \sigma \varphi(a), \qquad
    \operatorname{Var} = (\mu^2 + \sigma^2) \Phi(-a) + \sigma (\mu + t) \varphi(a) - E^2.
    $$

    Parameters
    ----------
    shares : ndarray, shape (M,)
        Frequencies with noise. They stand for $\mu$ if they are above half of the cut; else $\mu$ is taken to be 0.
    cut : float
        $t$.
    sd : float
        $\sigma$.
    """
    from scipy.special import ndtr

    mean = np.where(shares > cut / 2, shares, 0.0)
    a = (cut - mean) / sd
    passes, density = ndtr(-a), np.exp(-a * a / 2) / math.sqrt(2 * math.pi)
    first = mean * passes + sd * density
    second = (mean**2 + sd**2) * passes + sd * (mean + cut) * density
    variance: FloatArray = np.maximum(second - first**2, 0.0)
    return variance
