r"""Law of counts that were released because they reached a threshold.

An item is listed if its count $K$ among the trusted users, with noise $Z$, reaches the threshold $T$. So the noisy
count $y = K + Z$ of a listed item follows a truncated law: given the expected count $c$,

$$
P[y] = \sum_{k \ge 1} P[K = k \mid c]\,P[Z = y - k], \qquad y \ge T,
$$

divided by the sum over all $y \ge T$, the chance of being listed. $Z$ is discrete Laplace noise of scale $b$. $K$ is
hypergeometric if $M = cn/n_T$ of all $n$ users have the item, and binomial in a population in which their share is
$c/n_T$. All items of a list have the same law, so it is tabulated once, on a grid of expected counts. The grid ends
where more than 99 % of the items are listed, because a condition that nearly always holds changes nothing.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.grid import read_only

_ROWS = 384
_DEVIATIONS, _SCALES = 3.0, 4.0  # of the count, and of its noise: further above the threshold items are listed
_BEYOND, _BEYOND_SCALES = 8.0, 20.0  # the same where the columns end
_NODES_PER_SCALE = 8
_LEAST = 1e-300  # probability, so that ratios exist


@dataclass(frozen=True, slots=True, eq=False)
class ListedLaw:
    """Law of the noisy count of a listed item, tabulated by its expected count in the trusted group."""

    expected: FloatArray
    """$c$, ascending."""
    counts: FloatArray
    """$y$, ascending from the threshold."""
    density: FloatArray
    """Probability of each $y$ (columns) for each $c$ (rows), given that the item is listed."""
    exact_mean: FloatArray
    """Mean of $K$, given $c$ and $y$."""
    exact_variance: FloatArray
    """Variance of $K$, given $c$ and $y$."""
    mean: FloatArray
    """Mean of $y$, given $c$."""
    variance: FloatArray
    """Variance of $y$, given $c$."""
    slope: FloatArray
    """Derivative of the mean by $c$."""


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """Threshold and noise of a list, and which categories are on it because they reached it."""

    threshold: int
    """$T$."""
    scale: float
    """$b$."""
    listed: NDArray[np.bool_]
    """One per category; False for all others together, and for public candidates."""

    def reordered(self, order: IntArray) -> "Listing":
        """Return the same listing with its categories in another order."""
        return replace(self, listed=self.listed[order])

    def law(self, n_trusted: int, n_others: int | None) -> ListedLaw:
        """Tabulate the law for these numbers of users; without ``n_others``, for users drawn from a population."""
        return _law(self.threshold, self.scale, n_trusted, n_others)


@lru_cache(maxsize=8)
def _law(threshold: int, scale: float, n_trusted: int, n_others: int | None) -> ListedLaw:
    root = (_DEVIATIONS + math.sqrt(_DEVIATIONS**2 + 4 * (threshold + _SCALES * scale))) / 2
    most = min(root**2, float(n_trusted))
    c = most * (np.arange(1, _ROWS + 1) / _ROWS) ** 2
    step = max(1, int(scale / _NODES_PER_SCALE))
    end = most + _BEYOND * math.sqrt(most)
    k = np.arange(1.0, min(end, n_trusted) + 1, step)
    y = np.arange(float(threshold), max(end, threshold) + _BEYOND_SCALES * scale + 1, step)
    noise = np.exp(-np.abs(y - k[:, None]) / scale)  # but for a constant
    if step > 1:
        exact = _normal(n_trusted, c, k, step, n_others)
    elif n_others is None:
        exact = _binomial(n_trusted, c / n_trusted, k)
    else:
        n = n_trusted + n_others
        users = c * n / n_trusted
        whole = np.floor(users)
        low, high = (_hypergeometric(n, n_trusted, m, k) for m in (whole, whole + 1))
        exact = low + (users - whole)[:, None] * (high - low)
    joint, first, second = (np.maximum((exact * k**power) @ noise, _LEAST) for power in range(3))
    density = joint / joint.sum(axis=1, keepdims=True)
    mean = density @ y
    variance = density @ y**2 - mean**2
    given = first / joint
    spread = np.maximum(second / joint - given**2, 0.0)
    return ListedLaw(*map(read_only, (c, y, density, given, spread, mean, variance, np.gradient(mean, c))))


def _normal(n: int, expected: FloatArray, k: FloatArray, step: int, n_others: int | None) -> FloatArray:
    """Probability of a cell of width ``step`` around each ``k`` (columns), where counts near the threshold are large.

    A standard deviation of half a cell is added, so that no law falls between the middles of two cells.
    """
    from scipy.special import ndtr

    finite = 1.0 if n_others is None else n_others / max(n + n_others - 1, 1)
    variance = expected * (1 - expected / n) * finite
    deviation = np.sqrt(variance + (step / 2) ** 2)[:, None]
    edges = np.append(k - step / 2, k[-1] + step / 2)
    return np.asarray(np.diff(ndtr((edges - expected[:, None]) / deviation), axis=1))


def _binomial(n: int, shares: FloatArray, k: FloatArray) -> FloatArray:
    """Probability that ``k`` (columns) of ``n`` users have an item of each share (rows)."""
    from scipy.special import gammaln, xlog1py, xlogy

    f = shares[:, None]
    log = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, f) + xlog1py(n - k, -f)
    return np.asarray(np.exp(log))


def _hypergeometric(n: int, drawn: int, users: FloatArray, k: FloatArray) -> FloatArray:
    """Probability that ``k`` (columns) of ``users`` (rows) are among ``drawn`` of all ``n``."""
    from scipy.special import gammaln

    m = np.minimum(users, n)[:, None]
    possible = (k <= m) & (drawn - k <= n - m)
    inside, outside = np.where(possible, m - k, 0.0), np.where(possible, n - m - drawn + k, 0.0)
    log = gammaln(m + 1) + gammaln(n - m + 1) - gammaln(k + 1) - gammaln(drawn - k + 1)
    log = log - gammaln(inside + 1) - gammaln(outside + 1)
    log = log + gammaln(drawn + 1) + gammaln(n - drawn + 1) - gammaln(n + 1)
    return np.asarray(np.exp(np.where(possible, log, -np.inf)))
