r"""What cutting leaves of a small shift of a normal cluster, by which measured shifts are put right again.

Let $z$ be normal with mean $\delta$ and standard deviation 1 in each of $d$ coordinates, and cut to $z \min(1, r/|z|)$
in some norm. For small $\delta$ the mean of that is $\delta$ times

$$
E\Big[1[|z| < r] + 1[|z| \ge r]\,\frac{r}{|z|}\Big(1 - \frac1d\Big)\Big]:
$$

inside of the radius a shift stays what it is, outside it moves only across the direction of $z$.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray

_CENTILES = (np.arange(200) + 0.5) / 200


def clipping_factor_signs(radius: float) -> float:
    """If each coordinate is cut on its own: the chance to be inside.

    Examples
    --------
    >>> clipping_factor_signs(1.7)
    0.9109
    """
    return math.erf(radius / math.sqrt(2))


def clipping_factor_lengths(radius: float, d: int) -> float:
    """If the Euclidean length is cut.

    Examples
    --------
    >>> clipping_factor_lengths(1.7, 1), clipping_factor_lengths(2.0, 8)
    (0.91, 0.6776)
    """
    return _kept(np.sqrt(squared_lengths(d)), radius, d)


def clipping_factor_sums(radius: float, d: int) -> float:
    """If the sum of absolute values is cut, which is nearly normal in more than three dimensions.

    Examples
    --------
    >>> clipping_factor_sums(8 * 0.92, 8)
    0.9353
    """
    from scipy.special import ndtri

    lengths = d * math.sqrt(2 / math.pi) + math.sqrt(d * (1 - 2 / math.pi)) * ndtri(_CENTILES)
    return _kept(np.maximum(lengths, 1e-3), radius, d)


@lru_cache(maxsize=64)
def squared_lengths(d: int) -> FloatArray:
    """Two hundred squared lengths of a normal vector, equally likely."""
    from scipy.special import gammaincinv

    squares: FloatArray = 2 * gammaincinv(d / 2, _CENTILES)
    squares.flags.writeable = False
    return squares


def _kept(lengths: FloatArray, radius: float, d: int) -> float:
    return float(np.mean(np.where(lengths < radius, 1.0, (1 - 1 / d) * radius / lengths)))


@dataclass(frozen=True, slots=True)
class ResidualSums:
    """What one group says of every cluster, per user of that group.

    Attributes
    ----------
    sizes : ndarray, shape (K,)
        The fraction of users in each cluster; may be slightly negative.
    size_variance : float
        The variance of each size.
    sums : ndarray, shape (K, d)
        The mean, over all users, of the residual if the user is in the cluster, and 0 if not.
    variance : ndarray, shape (K, d)
        The variance of the sums.
    """

    sizes: FloatArray
    size_variance: float
    sums: FloatArray
    variance: FloatArray

    def undo_clipping(self, factors: FloatArray) -> "ResidualSums":
        """Clipping shrinks a small mean shift of each cluster by a known factor, shape (K,): divide by it."""
        factor = factors[:, None]
        return replace(self, sums=self.sums / factor, variance=self.variance / factor**2)
