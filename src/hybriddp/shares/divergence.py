r"""Whether the two groups have the same shares: a chi-square test of all of them, and which ones differ.

With $D_v$ the difference of the groups' shares of category $v$ and $V_v$ its variance if the groups are alike, let
$Q = \sum_v D_v^2/V_v$. Its mean is the number $k$ of categories, and

$$
\operatorname{Var} Q = \sum_v (2 + 3\lambda_v^2) + 2 \sum_{u \ne v} \rho_{uv}^2,
$$

where $\lambda_v$ is the fraction of $V_v$ that is Laplace noise, whose tails are longer, and the correlations $\rho$
come from sampling, and from reports of which each supports one category only. $Q$ is compared with a multiple of a
chi-square variable that has this mean and this variance (Satterthwaite 1946). With very many categories $Q$ would
notice variances that are half a percent off, as collisions of hashed reports make them; so 5 % of excess are forgiven.

A single category that differs may vanish in such a sum. So the largest difference is tested beside it, and the smaller
of the two probabilities counts twice (Bonferroni 1936).

Where noise is small and a category so rare that less than one user is expected, counts are far from normal: the first
user who has it would be many standard errors. So for $V_v$ at least one user is expected in each group.

**Listed items** have large noisy counts, because that is how they got onto the list. So the trusted group's shares of
items near the threshold are above the local group's even if the groups are alike, and by much where reports are
precise.

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

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.shares.law import GroupShares
from hybriddp.study.comparison import LARGEST_Z, Comparison
from hybriddp.study.intervals import exceeds

_FORGIVEN = 0.05
_TOPS = 16
_STEPS = 6
_LEAST = 1e-300


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShareDivergence(Comparison):
    """How far the two groups' private shares are apart, and what was done about it."""

    what: ClassVar[str] = "shares"

    z: float
    """Of all categories together, as standard errors: a normal variable is that large, to either side, as often."""
    differences: FloatArray
    """Trusted minus local, for each category."""
    item_z: FloatArray
    """The same in standard errors that they would have if the groups were alike."""
    laplace_fraction: FloatArray
    """Which fraction of the variance of each difference is the curator's noise."""
    kept: FloatArray
    """Which fraction of the trusted group's extra weight was kept, for each category: 1 is all."""

    def __repr__(self) -> str:
        n = int(np.count_nonzero(self.differing))
        return f"ShareDivergence({self.z:.1f} standard errors, {n:,} of {len(self.kept):,} shares clearly differ)"

    @property
    def differing(self) -> NDArray[np.bool_]:
        """Which categories differ so much that the trusted group's extra weight yielded."""
        return self.kept < 1

    def limited(self, limit: FloatArray) -> "ShareDivergence":
        """With weights that yield from these numbers of standard errors on."""
        return replace(self, kept=(limit / np.maximum(np.abs(self.item_z), limit)) ** 2)

    def reordered(self, order: IntArray) -> "ShareDivergence":
        """Return the same comparison with its categories in another order."""
        arrays = (self.differences, self.item_z, self.laplace_fraction, self.kept)
        return ShareDivergence(self.z, *(array[order] for array in arrays))

    @property
    def effect(self) -> str:
        """What the difference did to the trusted group's weights."""
        n, k = int(np.count_nonzero(self.differing)), len(self.kept)
        return f"For {n:,} of {k:,} shares the trusted group's extra weight was reduced." if n else ""


def compare_groups(trusted: GroupShares, local: GroupShares, f: FloatArray) -> ShareDivergence:
    """Compare the groups, assuming that ``f`` are the shares of both."""
    variance = _variance(trusted, f) + _variance(local, f)
    difference = trusted.shares - local.shares
    z = difference / np.sqrt(variance)
    laplace = np.clip((trusted.noise if trusted.laplace else 0.0) / variance, 0.0, 1.0)
    if trusted.listing is not None:
        listed = score_listed(trusted, local, f, _variance(local, f))
        z[-1] = (difference[-1] + listed.excess) / math.sqrt(variance[-1] + listed.variance)
        z[listed.items], laplace[listed.items] = listed.scores, 0.0
    if len(f) == 2 and np.isclose(z[0], -z[1]):  # one number, and its complement
        tail = _largest(z[:1], laplace[:1])
    else:
        tail = min(1.0, 2 * min(_chi_square(z, variance, laplace, f, trusted, local), _largest(z, laplace)))
    return ShareDivergence(_standard_errors(tail), difference, z, laplace, np.ones_like(z))


def _variance(group: GroupShares, f: FloatArray) -> FloatArray:
    """Of each share, if at least one user has the category, and at least one has not."""
    one = min(1 / group.count, 0.5)
    return group.variance(np.clip(f, one, 1 - one))


def _standard_errors(tail: float) -> float:
    """Return the normal quantile of a two-sided tail, in standard errors."""
    from scipy.special import ndtri

    return float(np.clip(-ndtri(tail / 2), 0.0, LARGEST_Z)) + 0.0  # no minus zero, and infinity for a tail of 0


def _largest(z: FloatArray, laplace: FloatArray) -> float:
    """Bound the probability that any of these differences is as large.

    The bound assumes that the groups are alike.
    """
    tops = np.argsort(-np.abs(z))[:_TOPS].tolist()  # several, because the smaller one may have the shorter tail
    tails = [float(exceeds(z[i], 1 - laplace[i], math.sqrt(laplace[i] / 2))) for i in tops]
    return min(1.0, len(z) * min(tails))


def _chi_square(
    z: FloatArray, variance: FloatArray, laplace: FloatArray, f: FloatArray, trusted: GroupShares, local: GroupShares
) -> float:
    """Compute the probability that the sum of squares is as large.

    The probability assumes that the groups are alike.
    """
    from scipy.special import gammaincc

    # The covariance of two differences is -(f_u f_v/n_T + g_u g_v/n_L): two products of vectors, so that the sum of all
    # squared correlations does not need all pairs.
    g = f + local.offset
    terms = [(f * f, trusted.count, trusted.count), (g * g, local.count, local.count)]
    pairs = sum(float(np.sum(t / variance)) ** 2 / (n * m) for t, n, m in terms)
    pairs += 2 * float(np.sum(f * g / variance)) ** 2 / (trusted.count * local.count)
    own = (f * f / trusted.count + g * g / local.count) / variance
    correlated = max(pairs - float(np.sum(own**2)), 0.0)
    spread = float(np.sum(2 + 3 * laplace**2)) + 2 * correlated
    mean, found = float(len(z)), float(np.sum(z**2)) / (1 + _FORGIVEN)
    scale, degrees = spread / (2 * mean), 2 * mean**2 / spread
    return float(gammaincc(degrees / 2, found / scale / 2))


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
