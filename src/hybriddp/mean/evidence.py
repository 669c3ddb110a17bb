r"""What is known of the variance of the values, if their mean is assumed.

The interval of a mean needs the variance $\sigma^2$ of the values, and nobody knows it. On the unit range, and for an
assumed mean $\theta$ of $n$ users, three things are known:

- it is at most $\theta(1-\theta)\,n/(n-1)$ (Bhatia and Davis), and at most what is public knowledge (``sd_at_most``);
- the $n_L$ reports estimate it by $\hat v$, without bias; the contributions of single reports vary by $t^2$;
- squared deviations lie below $M^2 = \max(\theta, 1-\theta)^2$ and so vary by up to $M^2 s - s^2$ if $\sigma^2 = s$:
  a few rare and large values may have been missed by all reports.

So $\hat v \sim N(s, \max(t^2, M^2 s - s^2)/n_L)$ says how likely each $s$ is, and an interval averages over them
(`VarianceEvidence.likely`). The prior gives the largest possible variance four fifths of the probability; the smaller
ones share the rest with density $\propto s^{1/4}$. Where the reports say little, intervals are nearly as wide as the
worst case asks for; where they say much, the prior is forgotten. If only a few users are away from a bound, sampling is
far from normal, so $\theta$ counts as half a user further from its bound in the first line.

The three constants (four fifths, 1/4, half a user) were chosen on the settings of ``benchmarks/mean_coverage.py``.
"""

import math
from dataclasses import dataclass

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.mean.groups import LocalGroup

WORST_CASE = 0.8  # the probability of the largest possible variance, before the reports speak
POWER = 0.25  # of the density of the smaller ones
HALF_A_USER = 0.5
_NODES = (np.arange(32) + 0.5) / 32
_TINY = 1e-12  # all reports may have had the same code
_LEAST_MASS = 1e-300
_REACH = 5.0  # standard errors to either side of what the reports say


@dataclass(frozen=True, slots=True)
class Likely:
    """Variances that are possible, one per column, and how likely each is; one row per assumed mean."""

    variance: FloatArray
    mass: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The expected variance for each assumed mean."""
        result: FloatArray = (self.variance * self.mass).sum(axis=-1)
        return result


@dataclass(frozen=True, slots=True)
class VarianceEvidence:
    r"""What the reports and public knowledge say about the variance of the values, on the unit range.

    Attributes
    ----------
    n_users : int
        $n$.
    estimate : float
        $\hat v$, which may be negative.
    spread : float
        $t^2$: infinite where reports say nothing.
    n_reports : int
        $n_L$.
    at_most : float
        Public knowledge: no larger variance is possible; infinite without any.
    known : float or None
        The variance itself, where that is public knowledge.
    """

    n_users: int
    estimate: float = 0.0
    spread: float = math.inf
    n_reports: int = 1
    at_most: float = math.inf
    known: float | None = None

    @classmethod
    def of(cls, local: LocalGroup, *, n_users: int, at_most: float = math.inf) -> "VarianceEvidence":
        """What the reports of the local group say."""
        spread = local.variance_se**2 * local.count
        return cls(n_users, local.variance, spread, local.count, at_most)

    @property
    def informative(self) -> bool:
        """Whether the variance is known to within half of itself."""
        if self.known is not None:
            return True
        return math.sqrt(self.spread / self.n_reports) <= max(self.estimate, 0.0) / 2

    def largest(self, means: FloatArray) -> FloatArray:
        """The largest variance that values with each of these means can have."""
        n = max(self.n_users, 2)
        off = np.minimum(np.minimum(means, 1 - means) + HALF_A_USER / n, 0.5)  # distance from the nearer bound
        result: FloatArray = np.minimum(off * (1 - off) * n / (n - 1), self.at_most)
        return result

    def likely(self, means: FloatArray) -> Likely:
        """Which variances are how likely, for each of these assumed means."""
        theta = np.clip(np.atleast_1d(means), 0.0, 1.0)
        top = self.largest(theta)
        if self.known is not None:
            known = np.minimum(self.known, top)[:, None]
            return Likely(known, np.ones_like(known))
        square = np.maximum(theta, 1 - theta)[:, None] ** 2
        informed = math.isfinite(self.spread)
        reach = _REACH * np.sqrt(self._error(top[:, None], square))[:, 0] if informed else math.inf
        low, high = np.clip(self.estimate - reach, 0.0, top), np.clip(self.estimate + reach, 0.0, top)
        s = np.concatenate([low[:, None] + (high - low)[:, None] * _NODES, top[:, None]], axis=1)
        # The density (1 + q) (s/top)^q / top of the smaller variances, times the width of a cell of the grid.
        cell = (1 - WORST_CASE) * (1 + POWER) * ((high - low) / (len(_NODES) * top))[:, None]
        smaller = cell * (s[:, :-1] / top[:, None]) ** POWER
        # Never zero: very many reports leave a single variance, whose cell has no width.
        smaller = np.maximum(smaller, _LEAST_MASS)
        prior = np.concatenate([smaller, np.full((len(top), 1), WORST_CASE)], axis=1)
        if not informed:
            return Likely(s, prior / prior.sum(axis=1, keepdims=True))
        error = self._error(s, square)
        logarithm = -((self.estimate - s) ** 2) / (2 * error) - np.log(error) / 2
        mass = prior * np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
        return Likely(s, mass / mass.sum(axis=1, keepdims=True))

    def most(self, mean: float) -> float:
        """Two standard errors above what the reports say, but no more than is possible."""
        top = float(self.largest(np.array(min(max(mean, 0.0), 1.0))))
        return min(top, max(self.estimate, 0.0) + 2 * math.sqrt(self.spread / self.n_reports))

    def expected(self, mean: float) -> float:
        """The variance to reckon with, if this is the mean."""
        return float(self.likely(np.array([mean])).mean[0])

    def _error(self, s: FloatArray, square: FloatArray) -> FloatArray:
        """The variance of the reports' estimate, if the variance is ``s``."""
        result: FloatArray = np.maximum(max(self.spread, _TINY), square * s - s**2) / self.n_reports
        return result
