r"""How shares err, and intervals for them: every share that would explain the estimate is inside.

The estimate $x$ of a share $f$ has the variance $v(f) = A + Bf - hf^2$: the noise for privacy, which grows with $f$ if
hits vary more than misses, and sampling, $hf(1-f)$. A share belongs to the interval if $|x - f| \le t\sqrt{v(f)}$, with
the variance that it would have *if $f$ were the share* (a score interval, Wilson 1927). The ends are the roots of

$$
(1 + t^2 h) f^2 - (2x + t^2 B) f + x^2 - t^2 A = 0.
$$

$t$ is a quantile of a normal plus a Laplace variable: sampling and many reports are normal, the curator's one draw is
not. Users come in whole numbers, so the interval reaches half a user further: of all of them, or, about a population,
of the group in which a user weighs more. An estimate outside of 0 to 1 counts as the nearer end: the interval never has
no width, and covers more often, not less.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray, IntArray
from hybriddp.grid import read_only
from hybriddp.release.release import ReleasedNumbers
from hybriddp.shares.listing import Listing
from hybriddp.study.intervals import NoiseLaw

_FRACTIONS = read_only(np.linspace(0.0, 1.0, 65))
_ROUNDS = 3  # in which the quantile is found that belongs to each end


@dataclass(frozen=True, slots=True, eq=False)
class GroupShares:
    """The private, unbiased shares of one group, and how they vary."""

    count: int
    """How many users the group has."""
    shares: FloatArray
    """One per category."""
    noise: float | FloatArray
    """The variance that noise for privacy adds to a share of 0."""
    slope: float | FloatArray = 0.0
    """How much more it adds to a share of 1."""
    laplace: bool = False
    """Whether this noise is Laplace; nearly normal, being that of many reports, if not."""
    offset: float = 0.0
    """$q/(p - q)$ if a report supports exactly one category, by which the shares of two others are correlated."""
    listing: Listing | None = None
    """Condition on which its shares were released; None if there was none."""

    @classmethod
    def of_counts(cls, counts: FloatArray, n_users: int, variance: float) -> "GroupShares":
        """Of the trusted group: counts with Laplace noise of this variance."""
        return cls(n_users, np.asarray(counts, np.float64) / n_users, variance / n_users**2, laplace=True)

    @classmethod
    def of_release(cls, released: ReleasedNumbers, n_categories: int) -> "GroupShares":
        """Of the trusted group; of two categories one count was released, and the other is the rest."""
        counts = released.values.astype(np.float64)
        if len(counts) < n_categories:
            counts = np.array([counts[0], released.count - counts[0]])
        return cls.of_counts(counts, released.count, released.variance)

    @classmethod
    def of_reports(
        cls, shares: FloatArray, n_users: int, *, hit: float, miss: float, single: bool = False
    ) -> "GroupShares":
        """Of the local group: unbiased shares from reports with these probabilities of hits and misses."""
        scale = n_users * (hit - miss) ** 2
        noise, slope = miss * (1 - miss) / scale, (hit * (1 - hit) - miss * (1 - miss)) / scale
        return cls(n_users, shares, noise, slope, offset=miss / (hit - miss) if single else 0.0)

    def reordered(self, order: IntArray) -> "GroupShares":
        """Return the same shares with the categories in another order."""
        noise, slope = (x[order] if isinstance(x, np.ndarray) else x for x in (self.noise, self.slope))
        listing = self.listing and self.listing.reordered(order)
        return replace(self, shares=self.shares[order], noise=noise, slope=slope, listing=listing)

    def variance(self, f: FloatArray) -> FloatArray:
        """Of each share, if ``f`` are the true ones: sampling and noise."""
        users: FloatArray = f * np.maximum(1.0 - f, 0.0) / self.count
        return users + self.noise + self.slope * f


@dataclass(frozen=True, slots=True, eq=False)
class ShareIntervals:
    """One interval per category, at a level of confidence."""

    lower: FloatArray
    upper: FloatArray
    level: float


@dataclass(frozen=True, slots=True, eq=False)
class ShareLaw:
    """How estimated shares err."""

    estimate: FloatArray  # x
    normal: FloatArray  # the part of A that is normal noise
    laplace: FloatArray  # and the part that is Laplace noise
    slope: FloatArray  # B without sampling
    sampling: FloatArray  # h
    rounding: FloatArray  # half a user

    @classmethod
    def of(
        cls,
        estimate: FloatArray,
        weight: FloatArray,
        trusted: GroupShares | None,
        local: GroupShares | None,
        sampling: FloatArray,
        rounding: FloatArray,
        *,
        steeper: float = 1.0,
    ) -> "ShareLaw":
        """Of shares in which the trusted group has these weights; slopes count ``steeper`` times."""
        parts = {False: np.zeros_like(weight), True: np.zeros_like(weight)}
        slope = np.zeros_like(weight)
        for squared, group in ((weight**2, trusted), ((1 - weight) ** 2, local)):
            if group is not None:
                parts[group.laplace] = parts[group.laplace] + squared * group.noise
                slope = slope + squared * group.slope * steeper
        return cls(estimate, parts[False], parts[True], slope, sampling, rounding)

    def variance(self, f: FloatArray) -> FloatArray:
        """$v(f)$."""
        noise: FloatArray = self.normal + self.laplace + self.slope * f
        return noise + self.sampling * f * (1.0 - f)

    @property
    def standard_errors(self) -> FloatArray:
        """The root of the expected squared error, where the estimates stand for the shares."""
        return np.sqrt(self.variance(np.clip(self.estimate, 0.0, 1.0)))

    @property
    def noise_fraction(self) -> FloatArray:
        """Which fraction of the expected squared error is noise for privacy."""
        f = np.clip(self.estimate, 0.0, 1.0)
        total = self.variance(f)
        noise = total - self.sampling * f * (1.0 - f)
        return np.where(total > 0, noise / np.where(total > 0, total, 1.0), 0.0)

    def intervals(self, level: float) -> ShareIntervals:
        """Compute an interval for each share."""
        _check.number("level", level, _check.FRACTION)
        return ShareIntervals(self._ends(level, -1), self._ends(level, 1), level)

    def _ends(self, level: float, side: int) -> FloatArray:
        x = np.clip(self.estimate, 0.0, 1.0)
        end = x
        floor, slope = self.normal + self.laplace, self.slope + self.sampling
        for _ in range(_ROUNDS):
            variance = np.maximum(self.variance(end), np.finfo(float).tiny)
            t2 = quantile(level, self.laplace / variance) ** 2
            a, b, c = 1 + t2 * self.sampling, 2 * x + t2 * slope, x**2 - t2 * floor
            root = np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0))
            end = np.clip((b + side * root) / (2 * a), 0.0, 1.0)
        return np.clip(end + side * self.rounding, 0.0, 1.0)


def quantile(level: float, laplace_fraction: FloatArray) -> FloatArray:
    """Compute the two-sided quantile of a standardized error.

    The error exceeds it, to either side, with probability 1 - ``level``.

    The error is a sum of a normal and a Laplace variable that have these fractions of the variance.

    Examples
    --------
    >>> quantile(0.95, np.array([0.0, 0.5, 1.0])).round(3).tolist()
    [1.96, 1.989, 2.118]
    """
    return np.interp(laplace_fraction, _FRACTIONS, _quantiles(level))


@lru_cache(maxsize=64)
def _quantiles(level: float) -> FloatArray:
    found = [NoiseLaw(1 - fraction, math.sqrt(fraction / 2)).half_width(level) for fraction in _FRACTIONS.tolist()]
    return read_only(np.array(found))
