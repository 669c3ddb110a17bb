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
from dataclasses import dataclass, replace

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.mean.groups import LocalGroup

WORST_CASE = 0.8  # the probability of the largest possible variance, before the reports speak
POWER = 0.25  # of the density of the smaller ones
HALF_A_USER = 0.5
_U = (np.arange(40) + 0.5) / 40
_NODES, _CELLS = _U**2, 2 * _U / len(_U)  # closer together towards small variances, and the width of each one's cell
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
    def readings(self) -> "tuple[VarianceEvidence, ...]":
        """All of the evidence, and also that without public knowledge: a limit must never widen an interval.

        The prior's weight on the largest possible variance is next to nothing where the reports rule that one out, but
        not at a limit that is close to what they say.
        """
        if self.known is not None or math.isinf(self.at_most) or math.isinf(self.spread):
            return (self,)
        return (self, replace(self, at_most=math.inf))

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
        low, high = np.zeros_like(top), top
        if informed:
            # The estimate varies most for the possible variance that is nearest to M²/2.
            reach = _REACH * np.sqrt(self._error(np.minimum(top[:, None], square / 2), square))[:, 0]
            nearest = np.clip(self.estimate, 0.0, top)
            low, high = np.clip(nearest - reach, 0.0, top), np.clip(nearest + reach, 0.0, top)
        width = (high - low)[:, None]
        s = np.concatenate([low[:, None] + width * _NODES, top[:, None]], axis=1)
        # The density (1 + q) (s/top)^q / top of the smaller variances, times the width of a cell of the grid.
        share = s[:, :-1] / top[:, None]
        smaller = (1 - WORST_CASE) * (1 + POWER) * share**POWER * _CELLS * width / top[:, None]
        # Never zero: very many reports leave a single variance, whose cell has no width.
        smaller = np.maximum(smaller, _LEAST_MASS)
        prior = np.concatenate([smaller, np.full((len(top), 1), WORST_CASE)], axis=1)
        mass = prior
        if informed:
            error = self._error(s, square)
            logarithm = np.log(prior) - (self.estimate - s) ** 2 / (2 * error) - np.log(error) / 2
            mass = np.exp(logarithm - logarithm.max(axis=1, keepdims=True))
        return Likely(s, mass / mass.sum(axis=1, keepdims=True))

    def most(self, mean: float, noise: float) -> float:
        r"""The largest variance to reckon with, where the mean is ``mean`` with noise of this variance.

        At most two standard errors above what the reports say, and what the mean allows that is nearest to the middle
        and two standard errors away (Wilson's bound, so that rare values that nobody has seen count).
        """
        n, z = self.n_users, 2.0
        off = min(max(min(mean, 1 - mean), 0.0), 0.5)
        root = math.sqrt(off * (1 - off) / n + noise + (z / (2 * n)) ** 2)
        away = np.array(min((off + z**2 / (2 * n) + z * root) / (1 + z**2 / n), 0.5))
        top = float(self.largest(away))
        told = max(self.estimate, 0.0)
        return min(top, told + 2 * math.sqrt(max(self.spread, top - top**2) / self.n_reports))

    def expected(self, mean: float) -> float:
        """The variance to reckon with, if this is the mean."""
        return min(float(evidence.likely(np.array([mean])).mean[0]) for evidence in self.readings)

    def _error(self, s: FloatArray, square: FloatArray) -> FloatArray:
        """The variance of the reports' estimate, if the variance is ``s``."""
        result: FloatArray = np.maximum(max(self.spread, _TINY), square * s - s**2) / self.n_reports
        return result
