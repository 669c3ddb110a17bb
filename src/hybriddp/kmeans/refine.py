r"""Centres that are moved to where the measured means are, as far as the measurement deserves.

A centre $c$ with variance $v$ and a measured step $s$ with variance $v'$ become

$$
c + \frac{v}{v + v'} s, \qquad \frac{v v'}{v + v'}.
$$

If the step is longer than both variances can explain (a chi-square test at level .001 for all clusters together), then
$v$ was too small, and is raised to what the step says.
"""

from dataclasses import dataclass, replace

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.kmeans.measure import Joined

GUARD = 0.001


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the centres so far.

    Attributes
    ----------
    centres : ndarray, shape (K, d)
        Where they are.
    variance : ndarray, shape (K, d)
        How uncertain each coordinate is.
    sizes : ndarray, shape (K,)
        The share of users in each cluster.
    trusted_weight : ndarray, shape (K,)
        How much of each centre the trusted group decided.
    """

    centres: FloatArray
    variance: FloatArray
    sizes: FloatArray
    trusted_weight: FloatArray


def half_distances(centres: FloatArray) -> FloatArray:
    """Half of the distance from each centre to the nearest other one; 1/2 if there is none."""
    if len(centres) == 1:
        return np.array([0.5])
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)
    np.fill_diagonal(apart, np.inf)
    half: FloatArray = 0.5 * apart.min(axis=1)
    return half


def moved(known: Known, news: Joined, widths: FloatArray) -> Known:
    """The centres after a measurement, kept in the box."""
    step, fresh = news.measured.step, news.measured.variance
    seen = np.isfinite(fresh).all(axis=1)
    fresh = np.where(seen[:, None], fresh, 1.0)
    variance = _guarded(known.variance, step, fresh)
    gain = np.where(seen[:, None], variance / (variance + fresh), 0.0)
    share = gain.mean(axis=1)
    return replace(
        known,
        centres=np.clip(known.centres + gain * step, 0.0, widths),
        variance=np.where(seen[:, None], gain * fresh, known.variance),
        sizes=np.maximum(news.measured.sizes, 0.0),
        trusted_weight=(1 - share) * known.trusted_weight + share * news.weight,
    )


def _guarded(variance: FloatArray, step: FloatArray, fresh: FloatArray) -> FloatArray:
    """The variances, raised where a step is too long for them."""
    from scipy.special import chdtri

    k, d = step.shape
    limit = chdtri(d, GUARD / k) / d
    long = np.mean(step**2, axis=1) > limit * np.mean(variance + fresh, axis=1)
    implied = np.mean(step**2, axis=1) - np.mean(fresh, axis=1)
    return np.where(long[:, None], np.maximum(variance, implied[:, None]), variance)
