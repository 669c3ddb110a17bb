r"""Intervals for a mean: every mean that would explain the answer is inside.

The error of a weighted mean is $N(0, a\sigma^2 + r) + \mathrm{Lap}(b)$ (`hybriddp.study.intervals`).

A mean $\theta$ belongs to the interval if an error as large as $|y - \theta|$ is not too unlikely *if $\theta$ is the
mean*: $\sigma^2$ is limited by $\theta$, so a mean near a bound comes with little sampling error and one further away
with more (a score interval, Wilson 1927). Of the variances that are possible then the average is taken
(`VarianceEvidence`).

**What is known of the variance.** For an assumed mean $\theta$ of $n$ users, three things are known:

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
from dataclasses import dataclass, field, replace

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.mean.weights import LocalStatistics, TrustedStatistics
from hybriddp.study.intervals import Interval, NoiseLaw, exceeds

WORST_CASE = 0.8  # prior probability of the largest possible variance
POWER = 0.25  # of the prior density of the smaller ones
HALF_A_USER = 0.5
_U = (np.arange(40) + 0.5) / 40
_NODES, _CELLS = _U**2, 2 * _U / len(_U)  # closer together towards small variances, and the width of each one's cell
_TINY = 1e-12  # all reports may have had the same code
_LEAST_MASS = 1e-300
_REACH = 5.0  # standard errors to either side of what the reports say


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
        """Collect the evidence about the variance from the local group's reports.

        The evidence is empty if there is no local group.
        """
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
        """Compute the largest variance of values with each of these means."""
        n = max(self.n_users, 2)
        off = np.minimum(np.minimum(means, 1 - means) + HALF_A_USER / n, 0.5)  # distance from the nearer bound
        return np.asarray(np.minimum(off * (1 - off) * n / (n - 1), self.at_most))

    def likely(self, means: FloatArray) -> Likely:
        """Compute the posterior of the variance for each of these assumed means."""
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
        r"""Compute an upper bound of the variance for a noisy mean.

        ``mean`` is the estimate and ``noise`` is the variance of its noise.

        The bound is at most two standard errors above the estimate from the reports, and at most the largest variance
        for the mean two standard errors closer to the middle (Wilson's bound, so that rare values without any report
        count).
        """
        n, z = self.n_users, 2.0
        off = min(max(min(mean, 1 - mean), 0.0), 0.5)
        root = math.sqrt(off * (1 - off) / n + noise + (z / (2 * n)) ** 2)
        away = np.array(min((off + z**2 / (2 * n) + z * root) / (1 + z**2 / n), 0.5))
        top = float(self.largest(away))
        told = max(self.estimate, 0.0)
        return min(top, told + 2 * math.sqrt(max(self.spread, top - top**2) / self.n_reports))

    def expected(self, mean: float) -> float:
        """Compute the expected variance for this mean."""
        return min(float(evidence.likely(np.array([mean])).mean[0]) for evidence in self.readings)

    def _error(self, s: FloatArray, square: FloatArray) -> FloatArray:
        """Compute the variance of the reports' estimate for the variance ``s``."""
        return np.asarray(np.maximum(max(self.spread, _TINY), square * s - s**2) / self.n_reports)


# How an answer errs --------------------------------------------------------------------------------------------------


def noise_law(
    weight: float, trusted: TrustedStatistics | None, local: LocalStatistics | None, *, besides: float = 0.0
) -> NoiseLaw:
    """Return the law of the noise of a weighted mean.

    The noise consists of the curator's draw, the noise of all reports and a variance ``besides``.
    """
    normal = besides if local is None else besides + (1 - weight) ** 2 * local.noise / local.count
    if trusted is None:
        return NoiseLaw(normal, 0.0)
    return NoiseLaw.with_curator(normal, weight**2 * trusted.noise, laplace=trusted.laplace)


@dataclass(frozen=True, slots=True)
class ErrorLaw:
    """How an answer errs, on the unit range, if the groups are alike."""

    answer: float  # the unbiased one
    sampling: float  # a: by what the variance of the values is multiplied
    noise: NoiseLaw  # what else there is: r and b
    evidence: VarianceEvidence = field(repr=False)  # what is known of the variance of the values

    @classmethod
    def of(
        cls, answer: float, weight: float, n_trusted: int, n_local: int, noise: NoiseLaw, evidence: VarianceEvidence
    ) -> "ErrorLaw":
        r"""Of a hybrid with this weight, against the mean of all users' values: $a = (w - c)^2 n / (n_T n_L)$."""
        n = n_trusted + n_local
        return cls(answer, (weight - n_trusted / n) ** 2 * n / (n_trusted * n_local), noise, evidence)

    @property
    def sampling_error(self) -> float:
        """The part of the expected squared error that comes from sampling."""
        return self.sampling * self.evidence.expected(self.answer)

    @property
    def variance(self) -> float:
        """The expected squared error."""
        return self.sampling_error + self.noise.variance

    def explains(self, mean: float) -> float:
        """Compute the p-value of ``mean``.

        This is the probability of an error at least as large as the error of the answer, if ``mean`` is the mean.
        """
        p = []
        for evidence in self.evidence.readings:
            likely = evidence.likely(np.array([mean]))
            variance = self.noise.normal + self.sampling * likely.variance
            p.append(float((likely.mass * exceeds(self.answer - mean, variance, self.noise.laplace)).sum()))
        return min(p)

    def interval(self, level: float) -> Interval:
        """Compute an interval for the mean within [0, 1].

        If noise moved the answer too far out of the bounds for almost any mean to explain it, the interval reaches one
        standard error inwards from the bound. Its width is never 0.
        """
        start = min(max(self.answer, 0.0), 1.0)
        lower, upper = self._end(start, 0.0, level), self._end(start, 1.0, level)
        if start != self.answer:
            inwards = min(math.sqrt(self.variance), 1.0)
            lower, upper = (lower, max(upper, inwards)) if start == 0 else (min(lower, 1 - inwards), upper)
        return Interval(lower, upper, level)

    def _end(self, start: float, edge: float, level: float) -> float:
        """Find the last mean from ``start`` to ``edge`` that explains the answer."""
        from scipy.optimize import brentq
        from scipy.special import ndtri

        def surplus(distance: float) -> float:
            return self.explains(start + math.copysign(distance, edge - start)) - (1 - level)

        room = abs(edge - start)
        near, far = 0.0, min(room, math.sqrt(self.variance) * max(1.05 * float(ndtri((1 + level) / 2)), 1e-3))
        if room == 0 or surplus(near) < 0:
            return start
        while surplus(far) >= 0:
            if far >= room:
                return edge
            near, far = far, min(room, 1.5 * far)
        reach = float(brentq(surplus, near, far, xtol=1e-9 * far, rtol=1e-9))
        return start + math.copysign(reach, edge - start)


@dataclass(frozen=True, slots=True)
class Laws:
    """How the unbiased answer errs, on the unit range.

    Against the mean of these users' values, and of the population that they come from, if the groups are alike; and the
    same for the mean in which every user weighs the same, which needs no such assumption (None where one of the groups
    was not asked).
    """

    users: ErrorLaw
    population: ErrorLaw = field(repr=False)
    users_if_groups_differ: ErrorLaw | None = field(repr=False)
    population_if_groups_differ: ErrorLaw | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Errors:
    """The expected squared error against the mean of all users' values, in their squared units, by its cause."""

    sampling: float  # from users who do not all weigh the same, and from doubting that the groups are alike
    trusted_noise: float  # from the curator's noise
    local_noise: float  # from that of the local users' reports

    @property
    def total(self) -> float:
        """The whole of it, if the groups are alike; what a difference of the groups adds is unknown."""
        return self.sampling + self.trusted_noise + self.local_noise


@dataclass(frozen=True, slots=True)
class GroupMean:
    """What one group alone says about everybody, if the groups are alike."""

    count: int  # of its users
    mean: float  # their private mean, which may lie outside of the bounds
    bounds: tuple[float, float]  # of the study
    law: ErrorLaw = field(repr=False)  # how it errs against the mean of *all* users' values

    def interval(self, level: float = 0.95) -> Interval:
        """Compute an interval for the mean of all users from this group alone."""
        return self.law.interval(_check.number("level", level, _check.FRACTION)).rescaled(self.bounds)
