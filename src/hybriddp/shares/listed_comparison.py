r"""Comparison of the groups' shares of listed items, given that they are listed.

Listed items have large noisy counts, because that is how they got onto the list. So the trusted group's shares of items
near the threshold are above the local group's even if the groups are alike, and by much where reports are precise.

Let $\mu(f)$ be the mean of the trusted group's share, given that the item is listed (`hybriddp.shares.listing`), and
$v(f)$ its variance. From the local share $\hat g$, with variance $V_L$, the trusted share is expected to be
$\mu(f) + \mu'(f)(\hat g - f)$, for $f$ that fits both: Newton's steps for the least squares of

$$
\frac{(\hat g - f)^2}{V_L} + \frac{(\hat f_T - \mu(f))^2}{v(f)}.
$$

The probability of a residual as large, to its side, follows from the table and the normal law of $\hat g$. Its normal
score takes the place of the difference in standard errors. The trusted group's share of all others is what listed items
leave of 1, so it is expected to be smaller by as much as theirs are expected to be larger.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.shares.law import GroupShares

_STEPS = 6
_LEAST = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class ListedScores:
    """Comparison of listed items near the threshold, and its effect on all others."""

    items: IntArray
    """Numbers of the categories."""
    scores: FloatArray
    """Difference of each, as a normal score."""
    excess: float
    """Sum by which the trusted group's shares of these items are expected to be larger."""
    variance: float
    """Variance that the condition adds to the difference of all others."""


def score_listed(trusted: GroupShares, local: GroupShares, f: FloatArray, variance: FloatArray) -> ListedScores:
    """Compare listed items near the threshold.

    ``f`` are the blended shares, and ``variance`` those of the local group's shares.
    """
    from scipy.special import ndtr, ndtri

    listing = trusted.listing
    if listing is None:
        return ListedScores(np.zeros(0, np.int64), np.zeros(0), 0.0, 0.0)
    table = listing.law(trusted.count, None)
    c, n = table.expected, trusted.count
    candidates = np.flatnonzero(listing.listed)
    count, told, v_l = n * f[candidates], n * local.shares[candidates], n**2 * variance[candidates]
    seen = n * trusted.shares[candidates]
    for _ in range(_STEPS):
        count = np.clip(count, c[0], c[-1])
        mean, v_t, slope = (np.interp(count, c, column) for column in (table.mean, table.variance, table.slope))
        step = ((told - count) / v_l + slope * (seen - mean) / v_t) / (1 / v_l + slope**2 / v_t)
        count = count + step
    near = count < c[-1]
    count = np.clip(count, c[0], c[-1])[near]
    mean, v_t, slope = (np.interp(count, c, column) for column in (table.mean, table.variance, table.slope))
    told, v_l = told[near], v_l[near]
    residual = seen[near] - mean - slope * (told - count)
    rows = np.searchsorted(c, count)
    deviation = np.sqrt(slope**2 * v_l + 1 / 12)  # counts are whole
    z = (table.counts - mean[:, None] - residual[:, None]) / deviation[:, None]
    above, below = (np.sum(table.density[rows] * ndtr(side * z), axis=1) for side in (1, -1))
    scores = np.where(above < below, -ndtri(np.maximum(above, _LEAST)), ndtri(np.maximum(below, _LEAST)))
    items = candidates[near]
    excess = float(np.sum(mean + slope * (told - count) - told)) / n
    plain = n**2 * trusted.variance(f)[items]
    # Smaller variances of counts are left out: the others' variance must not fall below that of what remains.
    added = float(np.sum(np.maximum(v_t - plain, 0.0) + (1 - slope) ** 2 * v_l)) / n**2
    return ListedScores(items, scores, excess, added)
