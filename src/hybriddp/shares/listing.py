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

**Lower ends of intervals**, given that the item is listed. With a share $f$ of all users (of which $M = fn$ have the
item) the blended share of an item is

$$
X = w\,\frac{y}{n_T} + (1 - w)\Bigl(\frac{M - K}{n_L} + N(0, v_L)\Bigr),
$$

and $y$ follows this law. The lower end is the smallest share under which $P[X \ge x \mid \text{listed}]$ is at least
half of what the interval may miss. The upper end needs no condition: being listed makes estimates larger, and so the
interval is the plain one, reaching further down.

**Groups that may differ.** Then every user weighs the same, and nothing is known of $K$. For $K \le T$ the noisy count
of a listed item is $T$ plus a geometric variable, whatever $K$ is, because Laplace noise has no memory. That lies
furthest above $K$ at $K = 1$: by $T - 1 + b \ln 2$ more than noise that nothing was asked of. So much lower is the end,
unless a count is so far above the threshold that it cannot come from a $K \le T$.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.grid import read_only

if TYPE_CHECKING:
    from hybriddp.shares.law import ShareLaw

_ROWS = 384
_DEVIATIONS, _SCALES = 3.0, 4.0  # of the count, and of its noise: further above the threshold items are listed
_BEYOND, _BEYOND_SCALES = 8.0, 20.0  # the same where the columns end
_NODES_PER_SCALE = 8
_LEAST = 1e-300  # probability, so that ratios exist
_RULED_OUT = 0.05  # fraction of the interval's error that is left to counts with K ≤ T far above the threshold
_LEAST_DEVIATION = 1e-12


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


def lower_ends(
    law: "ShareLaw",
    plain: FloatArray,
    level: float,
    weight: FloatArray,
    listing: Listing,
    n_trusted: int,
    n_others: int,
    *,
    population: bool,
) -> FloatArray:
    """Lower the ends of items whose being listed was not certain, if the groups are alike.

    Parameters
    ----------
    law : ShareLaw
        How the blended shares err.
    plain : FloatArray
        The lower ends without the condition.
    level : float
        The level of confidence.
    weight : FloatArray
        The weight on the trusted group.
    listing : Listing
        The threshold and its noise.
    n_trusted, n_others : int
        Number of trusted users, and of all others whom the shares are about.
    population : bool
        Whether the shares are about the population that the users were drawn from.
    """
    from scipy.special import ndtr

    table = listing.law(n_trusted, None if population else n_others)
    c = table.expected
    items = np.flatnonzero(listing.listed & (plain * n_trusted < c[-1]))
    if not len(items):
        return plain
    x, w = np.clip(law.estimate[items], 0.0, 1.0), weight[items]
    others = max(n_others, 1)
    enough = (1 - level) / 2

    def tail(rows: IntArray) -> FloatArray:
        """Probability of a blended share of at least x, half a count included, for these rows of the table."""
        f = c[rows] / n_trusted
        if population:
            local, sampling = f[:, None], (f * np.maximum(1.0 - f, 0.0) / others)[:, None]
        else:
            local = (c[rows, None] * (n_trusted + n_others) / n_trusted - table.exact_mean[rows]) / others
            sampling = table.exact_variance[rows] / others**2
        blended = w[:, None] * (table.counts + 0.5) / n_trusted + (1 - w)[:, None] * local
        noise = law.normal[items] + law.slope[items] * f
        deviation = np.sqrt(noise[:, None] + (1 - w)[:, None] ** 2 * sampling)
        z = (blended - x[:, None]) / np.maximum(deviation, _LEAST_DEVIATION)
        return np.asarray(np.sum(table.density[rows] * ndtr(z), axis=1))

    # Bisection over the table's rows, then a straight line between two of them.
    high = np.clip(np.searchsorted(c, plain[items] * n_trusted), 0, len(c) - 1)
    low, last = np.full(len(items), -1), high
    while np.any(high - low > 1):
        middle = np.maximum((low + high) // 2, 0)
        open_ = high - low > 1
        explains = tail(middle) >= enough
        low, high = np.where(open_ & ~explains, middle, low), np.where(open_ & explains, middle, high)
    below = np.maximum(low, 0)
    c_low, t_low = (np.where(low < 0, 0.0, v) for v in (c[below], tail(below)))
    t_high = tail(high)
    ratio = np.clip((enough - t_low) / np.maximum(t_high - t_low, _LEAST_DEVIATION), 0.0, 1.0)
    end = (c_low + ratio * (c[high] - c_low)) / n_trusted - law.rounding[items]
    explained = tail(last) >= enough
    ends = plain.copy()
    ends[items] = np.where(explained, np.clip(end, 0.0, plain[items]), plain[items])
    return ends


def lower_ends_if_groups_differ(
    plain: FloatArray, level: float, fraction: float, listing: Listing, trusted: FloatArray, n_trusted: int
) -> FloatArray:
    """Lower the ends of items near the threshold, whatever the groups' shares are.

    ``fraction`` is that of users who trust, and ``trusted`` are the trusted group's own shares.
    """
    reach = listing.scale * math.log(1 / (_RULED_OUT * (1 - level)))
    near = listing.listed & (trusted * n_trusted < listing.threshold + reach)
    most = fraction * (listing.threshold - 1 + listing.scale * math.log(2)) / n_trusted
    return np.where(near, np.maximum(plain - most, 0.0), plain)
