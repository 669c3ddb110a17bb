r"""What the two groups say, what is known of the variance of the values, and the weight that follows.

From here on nothing is raw: everything is post-processing of private numbers, on the unit range (0 is the lower bound,
1 the upper). With $V_T = \sigma^2/n_T + s_T^2$ and $V_L = (\sigma^2 + s_L^2)/n_L$ the hybrid with weight $w$ errs by

$$
E(w; \sigma^2) = w^2 V_T + (1-w)^2 V_L - \sigma^2/n,
$$

so the best weight is $w(\sigma^2) = V_L/(V_T + V_L)$: known, but for $\sigma^2$. The reports themselves say between
which bounds it lies (`variance_range`), at no cost. Within them the weight is chosen whose error is never more than the
smallest possible multiple of the least one (`adaptive`: minimax regret).

An interval needs more than bounds of $\sigma^2$. For an assumed mean $\theta$ of $n$ users, three things are known:

- it is at most $\theta(1-\theta)\,n/(n-1)$ (Bhatia and Davis), and at most what is public knowledge (``sd_at_most``);
- the $n_L$ reports estimate it by $\hat v$, without bias; the contributions of single reports vary by $t^2$;
- squared deviations lie below $M^2 = \max(\theta, 1-\theta)^2$ and so vary by up to $M^2 s - s^2$ if $\sigma^2 = s$:
  a few rare and large values may have been missed by all reports.

So $\hat v \sim N(s, \max(t^2, M^2 s - s^2)/n_L)$ says how likely each $s$ is, and an interval averages over them
(`VarianceEvidence.likely`). The prior gives the largest possible variance four fifths of the probability; the smaller
ones divide the rest with density $\propto s^{1/4}$. Where the reports say little, intervals are nearly as wide as the
worst case asks for; where they say much, the prior is forgotten. If only a few users are away from a bound, sampling is
far from normal, so $\theta$ counts as half a user further from its bound in the first line. The three constants (four
fifths, 1/4, half a user) were chosen on the settings of ``benchmarks/mean_coverage.py``.
"""

import math
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.numeric import NumericChannel
from hybriddp.grid import UNITS
from hybriddp.release.mechanisms import PrivateTotal

WORST_CASE = 0.8  # prior probability of the largest possible variance
POWER = 0.25  # of the prior density of the smaller ones
HALF_A_USER = 0.5
_FEW = 30  # so few reports say nothing reliable about how values vary
_U = (np.arange(40) + 0.5) / 40
_NODES, _CELLS = _U**2, 2 * _U / len(_U)  # closer together towards small variances, and the width of each one's cell
_TINY = 1e-12  # all reports may have had the same code
_LEAST_MASS = 1e-300
_REACH = 5.0  # standard errors to either side of what the reports say
_CANDIDATES = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 60)])  # positions within the range of variances
_LEAST_CEILING = 1e-6
_Number = TypeVar("_Number", float, FloatArray)


# What the groups say ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TrustedStatistics:
    """The released mean of the trusted group."""

    count: int  # n_T
    mean: float  # with the curator's noise
    noise: float  # s_T², the variance of that noise
    laplace: bool  # whether the noise is Laplace; Gaussian if not

    @classmethod
    def of(cls, released: PrivateTotal) -> "TrustedStatistics":
        """From a released total."""
        return cls(
            count=released.count,
            mean=released.total / (released.count * UNITS),
            noise=released.mechanism.variance / (released.count * UNITS) ** 2,
            laplace=released.mechanism.kind == "discrete-laplace",
        )


@dataclass(frozen=True, slots=True)
class LocalStatistics:
    """What the reports of the local group say."""

    count: int  # n_L
    mean: float  # of the reports' values: unbiased
    variance: float  # an unbiased estimate of the variance of the users' values, which may be negative
    variance_se: float  # its standard error; infinite where the reports say nothing about the variance
    noise: float  # s_L²: the variance of a report given its value, averaged over the values as far as the reports tell

    @classmethod
    def of(cls, frequencies: FloatArray, n: int, channel: NumericChannel) -> "LocalStatistics":
        """From ``n`` reports, of which each code has this relative frequency."""
        v, squares = channel.values, channel.square_values
        mean = float(frequencies @ v)
        square = float(frequencies @ squares)
        excess = float(frequencies @ (v - mean) ** 2) / n  # by which the square of the mean is too large, on average
        influence = squares - 2 * mean * v
        spread = float(frequencies @ (influence - frequencies @ influence) ** 2)
        # The rounding of an input to one of its rows may add more than `square_values` takes off on average.
        noise = float(frequencies @ (v**2 - squares)) + channel.worst_rounding_variance - channel.rounding_variance
        return cls(
            count=n,
            mean=mean,
            variance=square - mean**2 + excess,
            variance_se=(spread / n) ** 0.5 if n >= _FEW else math.inf,
            noise=min(max(noise, channel.least_variance), channel.worst_variance),
        )


def group_variances(trusted: TrustedStatistics, local: LocalStatistics, variance: _Number) -> tuple[_Number, _Number]:
    """$V_T$ and $V_L$: how the two private means vary, for a variance of the values."""
    return variance / trusted.count + trusted.noise, (variance + local.noise) / local.count


# What is known of the variance --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Likely:
    """Possible variances, one per column, and the probability of each; one row per assumed mean."""

    variance: FloatArray
    mass: FloatArray

    @property
    def mean(self) -> FloatArray:
        """The expected variance for each assumed mean."""
        return np.asarray((self.variance * self.mass).sum(axis=-1))


@dataclass(frozen=True, slots=True)
class VarianceEvidence:
    """What the reports and public knowledge say about the variance of the values, on the unit range."""

    n_users: int  # n
    estimate: float = 0.0  # v̂, which may be negative
    spread: float = math.inf  # t²: infinite where reports say nothing
    n_reports: int = 1  # n_L
    at_most: float = math.inf  # public knowledge: no larger variance is possible
    known: float | None = None  # the variance itself, where that is public knowledge

    @classmethod
    def of(cls, local: LocalStatistics | None, *, n_users: int, at_most: float = math.inf) -> "VarianceEvidence":
        """What the reports of the local group say; nothing if there is none."""
        if local is None:
            return cls(n_users, at_most=at_most)
        return cls(n_users, local.variance, local.variance_se**2 * local.count, local.count, at_most)

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
        return np.asarray(np.minimum(off * (1 - off) * n / (n - 1), self.at_most))

    def likely(self, means: FloatArray) -> Likely:
        """The posterior of the variance, for each of these assumed means."""
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
        ratio = s[:, :-1] / top[:, None]
        smaller = (1 - WORST_CASE) * (1 + POWER) * ratio**POWER * _CELLS * width / top[:, None]
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
        return np.asarray(np.maximum(max(self.spread, _TINY), square * s - s**2) / self.n_reports)


@dataclass(frozen=True, slots=True)
class VarianceRange:
    """Between which bounds the variance of the values lies, on the unit range."""

    lower: float
    upper: float


def variance_range(trusted: TrustedStatistics, local: LocalStatistics, at_most: float = math.inf) -> VarianceRange:
    r"""Bounds of $\sigma^2$ from private numbers alone.

    The reports give an unbiased estimate; two standard errors are allowed for. Besides, no variable on [0, 1] with mean
    $\mu$ varies by more than $\mu(1-\mu)$ (Bhatia and Davis); $\mu$ is estimated with the noise-minimizing weight,
    and one standard error is allowed for. No variance above ``at_most``, which is public knowledge, is possible.
    """
    noise_l = local.noise / local.count
    w = noise_l / (noise_l + trusted.noise)
    mean = w * trusted.mean + (1 - w) * local.mean
    sd = (w**2 * trusted.noise + (1 - w) ** 2 * noise_l) ** 0.5
    nearest = min(max(0.5, mean - sd), mean + sd)  # the possible mean that is nearest to the middle
    t = min(max(nearest, 0.0), 1.0)
    ceiling = min(max(t * (1 - t), _LEAST_CEILING), at_most)
    upper = min(max(local.variance + 2 * local.variance_se, 0.0), ceiling)
    lower = min(max(local.variance - 2 * local.variance_se, 0.0), upper)
    return VarianceRange(lower, upper)


# The weight ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Weighting:
    """A weight on the trusted group's mean, and the variances it was chosen with."""

    weight: float
    variance: float  # for which this weight is the best
    range: VarianceRange  # which other ones were possible


def adaptive(trusted: TrustedStatistics, local: LocalStatistics, at_most: float = math.inf) -> Weighting:
    """The weight with the least regret over all variances that the reports leave possible."""
    possible = variance_range(trusted, local, at_most)
    s: FloatArray = possible.lower + (possible.upper - possible.lower) * _CANDIDATES
    v_t, v_l = group_variances(trusted, local, s)
    w: FloatArray = v_l / (v_t + v_l)
    n = trusted.count + local.count

    def error(weight: FloatArray) -> FloatArray:
        return np.asarray(weight**2 * v_t + (1 - weight) ** 2 * v_l - s / n)

    regret = (error(w[:, None]) / error(w)).max(axis=1)
    best = int(np.argmin(regret))
    return Weighting(float(w[best]), float(s[best]), possible)
