r"""Lower ends of the intervals of listed items, given that they are listed.

With a share $f$ of all users (of which $M = fn$ have the item) the blended share of an item is

$$
X = w\,\frac{y}{n_T} + (1 - w)\Bigl(\frac{M - K}{n_L} + N(0, v_L)\Bigr),
$$

and $y$ follows the law of `hybriddp.shares.listing`. The lower end is the smallest share under which
$P[X \ge x \mid \text{listed}]$ is at least half of what the interval may miss. The upper end needs no condition: being
listed makes estimates larger, and so the interval is the plain one, reaching further down.

**Groups that may differ.** Then every user weighs the same, and nothing is known of $K$. For $K \le T$ the noisy count
of a listed item is $T$ plus a geometric variable, whatever $K$ is, because Laplace noise has no memory. That lies
furthest above $K$ at $K = 1$: by $T - 1 + b \ln 2$ more than noise that nothing was asked of. So much lower is the end,
unless a count is so far above the threshold that it cannot come from a $K \le T$.
"""

import math

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.shares.law import ShareLaw
from hybriddp.shares.listing import Listing

_RULED_OUT = 0.05  # fraction of the interval's error that is left to counts with K ≤ T far above the threshold
_LEAST_DEVIATION = 1e-12


def lower_ends(
    law: ShareLaw,
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
