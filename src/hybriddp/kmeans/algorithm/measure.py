"""How far the means of the clusters are from given centers: what each group says, and both together.

Local users are asked (`label_signs`). Of the **trusted** group counts and sums of residuals are released, all in one
release; residuals are cut to a radius in $L_1$.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.step import Published, Release
from hybriddp.kmeans.reports.base import Labels, ResidualSums
from hybriddp.kmeans.statistics import UNIT, ClusterSums

COUNT_WEIGHT = UNIT // 20
"""One part of a release's budget for counts, twenty for sums."""

LEAST_SIZE = 0.1
"""No cluster is taken to be smaller than this part of the average one."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How far the mean of each cluster is from its center.

    Attributes
    ----------
    sizes : ndarray, shape (K,)
        The share of users in each cluster.
    size_variance : ndarray, shape (K,)
        The variance of each share.
    step : ndarray, shape (K, d)
        From the center to the mean.
    variance : ndarray, shape (K, d)
        The variance of the step.
    trusted_weight : ndarray, shape (K,)
        How much of the step the trusted group decided.
    """

    sizes: FloatArray
    size_variance: FloatArray
    step: FloatArray
    variance: FloatArray
    trusted_weight: FloatArray

    @classmethod
    def nothing(cls, sizes: FloatArray, size_variance: FloatArray, d: int) -> "Measured":
        """What is known if nobody was asked."""
        k = len(sizes)
        return cls(sizes, size_variance, np.zeros((k, d)), np.full((k, d), np.inf), np.zeros(k))


# Trusted --------------------------------------------------------------------------------------------------------------


def mean_release(labels: Labels, centers: FloatArray, radii: FloatArray, epsilon_fraction: Fraction) -> Release:
    """What to release of the trusted group; radii are of sums of absolute values."""
    return Release(ClusterSums(labels, centers, radii, COUNT_WEIGHT), epsilon_fraction)


def trusted_sums(release: Release, published: Published, n_users: int, spread: FloatArray) -> ResidualSums:
    """What the release says; ``spread`` is the variance of a coordinate within each cluster."""
    statistic = release.statistic
    assert isinstance(statistic, ClusterSums)  # noqa: S101
    k, d = statistic.centers.shape
    n = max(n_users, 1)
    sizes = published.values[:k] / COUNT_WEIGHT / n
    unit = statistic.radii[:, None] / UNIT / n
    noise = published.variance * unit**2 + (spread * np.maximum(sizes, 0) / n)[:, None]
    size_noise = published.variance / COUNT_WEIGHT**2 / n**2
    return ResidualSums(sizes, size_noise, unit * published.values[k:].reshape(k, d), noise)


# Both -----------------------------------------------------------------------------------------------------------------


def measured(
    local: ResidualSums | None,
    trusted: ResidualSums | None,
    sizes: FloatArray,
    size_variance: FloatArray,
    reach: FloatArray,
) -> Measured:
    """Steps from sums: a ratio of sums to sizes.

    Parameters
    ----------
    local, trusted : ResidualSums or None
        What the groups say.
    sizes, size_variance : ndarray, shape (K,)
        What was thought of the sizes before.
    reach : ndarray, shape (K,)
        No step is longer than this in a coordinate.
    """
    said = [sums for sums in (local, trusted) if sums is not None]
    size_precision = 1 / size_variance + sum(1 / (s.size_variance + 1e-12) for s in said)
    size = (sizes / size_variance + sum(s.sizes / (s.size_variance + 1e-12) for s in said)) / size_precision
    safe = np.maximum(size, LEAST_SIZE / len(sizes))[:, None]
    precision = sum(1 / s.variance for s in said)
    total = sum(s.sums / s.variance for s in said) / precision
    weight = np.zeros(len(sizes)) if trusted is None else np.mean(1 / trusted.variance / precision, axis=1)
    step = np.clip(total / safe, -reach[:, None], reach[:, None])
    return Measured(np.maximum(size, 0), 1 / size_precision, step, 1 / precision / safe**2, weight)
