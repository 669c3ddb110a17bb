r"""Centers that are moved to where the measured means are, as far as the measurement deserves.

A center $c$ with variance $v$ and a measured step $s$ with variance $v'$ become

$$
c + \frac{v}{v + v'} s, \qquad \frac{v v'}{v + v'}.
$$

If the step is longer than both variances can explain (a chi-square test at level .001 for all clusters together), then
$v$ was too small, and is raised to what the step says.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.measure import Measured

GUARD = 0.001


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the centers so far.

    Attributes
    ----------
    centers : ndarray, shape (K, d)
        Where they are.
    variance : ndarray, shape (K, d)
        How uncertain each coordinate is.
    sizes : ndarray, shape (K,)
        The share of users in each cluster.
    size_variance : ndarray, shape (K,)
        How uncertain the shares are.
    trusted_weight : ndarray, shape (K,)
        How much of each center the trusted group decided.
    """

    centers: FloatArray
    variance: FloatArray
    sizes: FloatArray
    size_variance: FloatArray
    trusted_weight: FloatArray


def half_distances(centers: FloatArray) -> FloatArray:
    """Half of the distance from each center to the nearest other one; 1/2 if there is none."""
    if len(centers) == 1:
        return np.array([0.5])
    nearest = [np.sum((np.delete(centers, k, axis=0) - center) ** 2, axis=1).min() for k, center in enumerate(centers)]
    half: FloatArray = 0.5 * np.sqrt(nearest)
    return half


def moved(known: Known, news: Measured, widths: FloatArray) -> Known:
    """The centers after a measurement, kept in the box."""
    variance = _guarded(known.variance, news.step, news.variance)
    gain = variance / (variance + news.variance)  # 0 where nothing was measured
    share = gain.mean(axis=1)
    return Known(
        centers=np.clip(known.centers + gain * news.step, 0.0, widths),
        variance=(1 - gain) * variance,
        sizes=news.sizes,
        size_variance=news.size_variance,
        trusted_weight=(1 - share) * known.trusted_weight + share * news.trusted_weight,
    )


def _guarded(variance: FloatArray, step: FloatArray, fresh: FloatArray) -> FloatArray:
    """The variances, raised where a step is too long for them."""
    from scipy.special import chdtri

    k, d = step.shape
    limit = chdtri(d, GUARD / k) / d
    long = np.mean(step**2, axis=1) > limit * np.mean(variance + fresh, axis=1)
    implied = np.mean(step**2, axis=1) - np.mean(fresh, axis=1)
    return np.where(long[:, None], np.maximum(variance, implied[:, None]), variance)
