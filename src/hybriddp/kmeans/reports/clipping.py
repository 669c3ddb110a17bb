r"""What clipping leaves of a normal cluster's moments, by which measured ones are corrected.

Let $z$ be normal with mean $\delta$ and standard deviation 1 in each of $d$ coordinates, clipped to
$z \min(1, r/|z|)$ in some norm. For small $\delta$ the mean of that is $\delta$ times

$$
E\Big[1[|z| < r] + 1[|z| \ge r]\,\frac{r}{|z|}\Big(1 - \frac1d\Big)\Big]:
$$

inside of the radius a shift stays what it is, outside it moves only across the direction of $z$.
"""

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.grid import read_only
from hybriddp.kmeans.reports.chi_square import chi_square_limits

_CENTILES = (np.arange(200) + 0.5) / 200


def clipping_factor_signs(radius: float) -> float:
    """If each coordinate is clipped on its own: the chance to be inside."""
    return math.erf(radius / math.sqrt(2))


def clipping_factor_lengths(radius: float, d: int) -> float:
    """If the Euclidean length is clipped."""
    return _mean_factor(np.sqrt(squared_lengths(d)), radius, d)


def clipping_factor_sums(radius: float, d: int) -> float:
    """If the sum of absolute values is clipped, which is nearly normal in more than three dimensions."""
    lengths = d * math.sqrt(2 / math.pi) + math.sqrt(d * (1 - 2 / math.pi)) * _normal_centiles()
    return _mean_factor(np.maximum(lengths, 1e-3), radius, d)


@lru_cache(maxsize=64)
def squared_lengths(d: int) -> FloatArray:
    """Two hundred squared lengths of a normal vector, equally likely."""
    return read_only(chi_square_limits(d, 1 - _CENTILES))


@lru_cache(maxsize=1)
def _normal_centiles() -> FloatArray:
    return read_only(np.array([NormalDist().inv_cdf(centile) for centile in _CENTILES.tolist()]))


def _mean_factor(lengths: FloatArray, radius: float, d: int) -> float:
    return float(np.mean(np.where(lengths < radius, 1.0, (1 - 1 / d) * radius / lengths)))


def undo_clipping(mean: float, d: int) -> tuple[float, float]:
    r"""A mean square before it was clipped at 1: the $s$ with $E \min(1, s\chi^2/d)$ = ``mean``, and the slope there.

    By bisection; noise beyond what can be is taken for the nearest.
    """
    squares = squared_lengths(d) / d
    mean, low, high = min(max(mean, 0.02), 0.95), 1e-3, 50.0
    for _ in range(50):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if np.minimum(1, middle * squares).mean() < mean else (low, middle)
    return middle, float(np.mean(np.where(middle * squares < 1, squares, 0.0)))


def usual_size(d: int) -> float:
    r"""The mean size of the upper triangle of $zz^T$ in $L_1$, for normal $z$ with variance 1.

    $\sum_{i \le j} |z_i z_j| = (|z|_1^2 + |z|_2^2)/2$, with the mean $d + d(d-1)/\pi$.
    """
    return d + d * (d - 1) / math.pi
