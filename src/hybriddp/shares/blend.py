r"""The blend: shares of both groups into one, each category with the weight that its exact variances ask for.

For a category of share $f$ the unbiased shares of the two groups vary by

$$
V_T(f) = \frac{f(1-f)}{n_T} + \frac{s^2}{n_T^2}, \qquad
V_L(f) = \frac{f(1-f)}{n_L} + \frac{f\,p(1-p) + (1-f)\,q(1-q)}{n_L (p-q)^2},
$$

sampling first, then the noise for privacy: $s^2$ is the variance of the curator's noise on a count, $p$ and $q$ are the
hit and miss probabilities of the reports. The best weight on the trusted group is $w = V_L/(V_T + V_L)$. It needs $f$,
for which both variances take the *same* value, the blend itself, clipped to $[0, 1]$: it starts from the local share
and is repeated three times. With each group's own estimate in its own variance, low estimates would look precise and
get too much weight.

**Groups that differ.** Where the shares of a category are so far apart that chance explains it in one of 370 studies
only, all their categories together, the trusted group's extra weight yields: with $z$ the difference in standard errors
and $t$ that limit, $w$ becomes $c + (w - c)\,t^2/z^2$, where $c$ is the fraction of users who trust. At $c$ every user
weighs the same, which is right however much the groups differ.
"""

from dataclasses import dataclass, replace

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.errors import DataError
from hybriddp.shares.divergence import ShareDivergence, compare_groups
from hybriddp.shares.law import GroupShares, ShareIntervals, ShareLaw, quantile
from hybriddp.shares.listing import lower_ends, lower_ends_if_groups_differ

_ITERATIONS = 3
_FAMILY = 0.0027  # the chance that any category is taken for different: three standard errors of one


@dataclass(frozen=True, slots=True, eq=False)
class Blend:
    """One share per category from the private shares of both groups, or of one of them."""

    trusted: GroupShares | None
    local: GroupShares | None
    weight: FloatArray
    """The weight on the trusted group, for each category."""
    divergence: ShareDivergence | None
    """How far the groups are apart; None if there is only one."""
    n_users: int
    """Whom the shares are about: users of a group that gave none included."""

    @property
    def shares(self) -> FloatArray:
        """The blended shares, unbiased if the groups are alike; some may lie outside of 0 to 1."""
        return _mix(self.weight, self.trusted, self.local)

    @property
    def equal_shares(self) -> FloatArray:
        """The shares in which every user weighs the same, unbiased whether the groups are alike or not."""
        return _mix(np.full_like(self.weight, self._trusted_fraction), self.trusted, self.local)

    @property
    def _trusted_fraction(self) -> float:
        n_t, n_l = _count(self.trusted), _count(self.local)
        return n_t / (n_t + n_l)

    def law(self, *, population: bool = False) -> ShareLaw:
        """Return the error law of the shares about all users or their population.

        The population is the one that the users were drawn from.

        This assumes that the groups are alike.
        """
        n_t, n_l, w, n = _count(self.trusted), _count(self.local), self.weight, self.n_users
        if n_t and n_l:
            sampling = (w - n_t / (n_t + n_l)) ** 2 * (n_t + n_l) / (n_t * n_l)  # w²/n_T + (1-w)²/n_L - 1/n
        else:
            sampling = np.full_like(w, 1 / (n_t + n_l) - 1 / n)
        sampling = sampling * n / max(n - 1, 1) if not population else sampling + 1 / n
        rounding = self._half_a_user(w) if population else np.full_like(w, 0.5 / n)
        return ShareLaw.of(self.shares, w, self.trusted, self.local, sampling, rounding)

    def law_if_groups_differ(self, *, population: bool = False) -> ShareLaw:
        r"""Return the error law of `equal_shares`.

        About all users there is only noise, since all users weigh the same.

        The noise of local reports grows with the share of the *local* group, which is at most $1/(1-c)$ of the share of
        all users. About the population sampling adds at most $f(1-f)/n$, because $f(1-f)$ is concave.
        """
        c, n = self._trusted_fraction, self.n_users
        if n != _count(self.trusted) + _count(self.local):
            raise DataError("One group gave no shares, so nothing is known of how much it differs from the other.")
        w = np.full_like(self.weight, c)
        sampling = np.full_like(w, 1 / n if population else 0.0)
        rounding = np.full_like(w, 0.5 / n)
        steeper = 1 / (1 - c) if c < 1 else 1.0
        return ShareLaw.of(self.equal_shares, w, self.trusted, self.local, sampling, rounding, steeper=steeper)

    def intervals(self, level: float, *, population: bool = False, groups_may_differ: bool = False) -> ShareIntervals:
        """Compute an interval for each share.

        The intervals of listed items are conditional on the items being listed.
        """
        law = self.law_if_groups_differ if groups_may_differ else self.law
        errors = law(population=population)
        plain = errors.intervals(level)
        if self.trusted is None or self.trusted.listing is None:
            return plain
        listing, n = self.trusted.listing, self.trusted.count
        if groups_may_differ and self.local is not None:
            shares, c = self.trusted.shares, self._trusted_fraction
            lower = lower_ends_if_groups_differ(plain.lower, level, c, listing, shares, n)
        else:
            others = self.n_users - n
            lower = lower_ends(errors, plain.lower, level, self.weight, listing, n, others, population=population)
        return replace(plain, lower=lower)

    def stated_intervals(self, level: float, *, population: bool = False) -> ShareIntervals:
        """Return the intervals that are stated beside the shares.

        The difference between the groups determines these intervals.

        If all categories together are up to two standard errors apart, the intervals assume that the groups are alike.
        From four standard errors on, they do not. In between the data cannot decide, so the stated interval
        contains both. A category that clearly differs has the interval without this assumption, whatever the others do.
        """
        alike, gap = self.intervals(level, population=population), self.divergence
        if gap is None or not (gap.differ or gap.differing.any()):
            return alike
        honest = self.intervals(level, population=population, groups_may_differ=True)
        lower, upper = np.minimum(alike.lower, honest.lower), np.maximum(alike.upper, honest.upper)
        alone = gap.differing | gap.clearly_differ
        if not gap.differ:  # only some categories do
            lower, upper = alike.lower, alike.upper
        shares = np.clip(self.shares, 0.0, 1.0)
        lower = np.minimum(np.where(alone, honest.lower, lower), shares)
        upper = np.maximum(np.where(alone, honest.upper, upper), shares)
        return ShareIntervals(lower, upper, level)

    def reordered(self, order: IntArray) -> "Blend":
        """Return the same blend with its categories in another order."""
        trusted, local = (group and group.reordered(order) for group in (self.trusted, self.local))
        gap = self.divergence and self.divergence.reordered(order)
        return replace(self, trusted=trusted, local=local, weight=self.weight[order], divergence=gap)

    def _half_a_user(self, w: FloatArray) -> FloatArray:
        """By how much half a user of the group in which they weigh more moves each share."""
        per_user = [share / group.count for share, group in ((w, self.trusted), (1 - w, self.local)) if group]
        half: FloatArray = 0.5 * np.max(per_user, axis=0)
        return half


def blend(
    trusted: GroupShares | None, local: GroupShares | None, *, n_users: int | None = None, yields: bool = True
) -> Blend:
    """Blend the shares of two groups.

    The blend of a single group consists of its own shares.

    Parameters
    ----------
    trusted, local : GroupShares or None
        The private shares of the groups, category by category.
    n_users : int, optional
        Number of users that the shares are about; the users of the groups, if not given.
    yields : bool
        Whether the weight is reduced where the groups clearly differ.
    """
    present = [group for group in (trusted, local) if group is not None]
    if not present:
        raise DataError("Both groups are empty.")
    n = n_users if n_users is not None else sum(group.count for group in present)
    if trusted is None or local is None:
        weight = np.full(len(present[0].shares), 0.0 if trusted is None else 1.0)
        return Blend(trusted, local, weight, None, n)
    f = np.clip(local.shares, 0.0, 1.0)
    w = np.zeros_like(f)
    for _ in range(_ITERATIONS):
        v_t, v_l = trusted.variance(f), local.variance(f)
        w = v_l / (v_t + v_l)
        f = np.clip(_mix(w, trusted, local), 0.0, 1.0)
    divergence = compare_groups(trusted, local, f)
    if yields:
        limit = quantile(1 - _FAMILY / len(f), divergence.laplace_fraction)
        divergence = divergence.limited(limit)
        c = trusted.count / (trusted.count + local.count)
        w = np.where(divergence.differing, c + (w - c) * divergence.kept, w)
    return Blend(trusted, local, w, divergence, n)


def project_to_simplex(shares: FloatArray) -> FloatArray:
    """Project shares to the nearest distribution in Euclidean distance.

    All shares are lowered by the same amount, and shares below 0 are cut off.

    Use this only if you need a distribution. It is harmful for reading the most frequent categories of a large domain:
    the noise of the many rare categories determines the amount by which all shares are lowered.

    Examples
    --------
    >>> project_to_simplex(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    ordered = np.sort(shares)[::-1]
    excess: FloatArray = (np.cumsum(ordered) - 1) / np.arange(1, len(shares) + 1)
    last = int(np.flatnonzero(ordered > excess)[-1])
    projected: FloatArray = np.maximum(shares - excess[last], 0.0)
    return projected


def _mix(weight: FloatArray, trusted: GroupShares | None, local: GroupShares | None) -> FloatArray:
    if trusted is None or local is None:
        alone = local if trusted is None else trusted
        return np.zeros_like(weight) if alone is None else alone.shares
    mixed: FloatArray = weight * trusted.shares + (1 - weight) * local.shares
    return mixed


def _count(group: GroupShares | None) -> int:
    return 0 if group is None else group.count
