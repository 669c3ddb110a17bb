r"""What the two groups say, and the weight that follows: for groups that are alike, and less where they differ.

From here on nothing is raw: everything is post-processing of private numbers, on the unit range (0 is the lower bound,
1 the upper). With $V_T = \sigma^2/n_T + s_T^2$ and $V_L = (\sigma^2 + s_L^2)/n_L$ the hybrid with weight $w$ errs by

$$
E(w; \sigma^2) = w^2 V_T + (1-w)^2 V_L - \sigma^2/n,
$$

so the best weight is $w(\sigma^2) = V_L/(V_T + V_L)$: known, but for $\sigma^2$. The reports themselves say between
which bounds it lies (`variance_range`), at no cost. Within them the weight is chosen whose error is never more than the
smallest possible multiple of the least one (`adaptive`: minimax regret), among the weights that are never more than 1 %
worse than the better group alone; $(2c)^{-2}$ times as much where the fraction $c$ of trusted users is below one half,
since there both groups together have more to gain. Without that condition the answer erred by up to 16 % more than the
trusted group's, where most people trust, values hardly vary, and reports do not reveal it.

A variance that is $z > 2$ standard errors below the reports' estimate is outside of the bounds, and still true now and
then. A weight that is far too small for it costs many times the least error. So down to $z = 4$ what may be lost there
is limited, too: to $e^{(z^2 - 4)/2}$ times as much, the more the less likely it is (`allowances`).

**The garrote.** Opting in is a choice, so the groups may differ. Weighing the trusted group more than its fraction $c$
of the users then pulls the answer towards it. With $D$ the difference of the two private means, $V_D = V_T + V_L$ its
variance if the groups are alike, and $K = s_L^2/n - c s_T^2$, the hybrid is the unbiased mean plus $(K/V_D) D$. The
garrote lets through only

$$
\frac{K}{V_D}\, D \min(1, \lambda^2 V_D/D^2),
$$

all of it where the difference is ordinary, next to nothing where it is not. $\lambda$ is the smallest one that is known
to add at most a fraction $\eta$ to the error when the groups are alike, for variances outside of the bounds as above.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.channels.window_channel import WindowChannel
from hybriddp.grid import UNITS, read_only
from hybriddp.release.release import ReleasedNumbers
from hybriddp.study.comparison import Comparison

ETA = 0.02
WORSE = 0.01
"""Fraction by which the adaptive weight may err more than the better group if at least half of the users trust."""
_USUAL, _FARTHEST = 2.0, 4.0  # standard errors below the estimate, within which variances are possible, and limited
_FEW = 30  # so few reports say nothing reliable about how values vary
_CANDIDATES = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 60)])  # positions within the range of variances
_LEAST_CEILING = 1e-6
_LARGEST_LAMBDA = 12.0
_LAMBDA_STEP = 1e-11  # to which it is found
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
    def of(cls, released: ReleasedNumbers) -> "TrustedStatistics":
        """From a released total."""
        return cls(
            count=released.count,
            mean=int(released.values[0]) / (released.count * UNITS),
            noise=released.variance / (released.count * UNITS) ** 2,
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
    def of(cls, frequencies: FloatArray, n: int, channel: WindowChannel) -> "LocalStatistics":
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


# The weight ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VarianceRange:
    """Between which bounds the variance of the values lies, on the unit range."""

    lower: float
    upper: float


def variance_range(trusted: TrustedStatistics, local: LocalStatistics, at_most: float = math.inf) -> VarianceRange:
    r"""Bounds of $\sigma^2$ from private numbers alone.

    The reports give an unbiased estimate; two standard errors are allowed for. Besides, no variable on [0, 1] with mean
    $\mu$ varies by more than $\mu(1-\mu)$ (Bhatia and Davis); $\mu$ is estimated with the noise-minimizing weight,
    and one standard error is allowed for. No variance above ``at_most``, which is public knowledge, is possible. An
    estimate above what is possible is taken for the largest possible variance.
    """
    noise_l = local.noise / local.count
    w = noise_l / (noise_l + trusted.noise)
    mean = w * trusted.mean + (1 - w) * local.mean
    sd = (w**2 * trusted.noise + (1 - w) ** 2 * noise_l) ** 0.5
    nearest = min(max(0.5, mean - sd), mean + sd)  # the possible mean that is nearest to the middle
    t = min(max(nearest, 0.0), 1.0)
    ceiling = min(max(t * (1 - t), _LEAST_CEILING), at_most)
    upper = min(max(local.variance + _USUAL * local.variance_se, 0.0), ceiling)
    lower = max(min(local.variance, upper) - _USUAL * local.variance_se, 0.0)
    return VarianceRange(lower, upper)


@dataclass(frozen=True, slots=True)
class Weighting:
    """A weight on the trusted group's mean, and the variances it was chosen with."""

    weight: float
    variance: float  # for which this weight is the best
    range: VarianceRange  # which other ones were possible


class Allowances(NamedTuple):
    """Variances for which losses are limited, and how many times larger a loss may be for each."""

    variances: FloatArray
    factors: FloatArray


def allowances(local: LocalStatistics, possible: VarianceRange) -> Allowances:
    """Extend a range of variances downwards, to less likely ones for which more may be lost."""
    estimate = min(local.variance, possible.upper)
    low = min(max(estimate - _FARTHEST * local.variance_se, 0.0), possible.lower)
    s: FloatArray = low + (possible.upper - low) * _CANDIDATES
    if low == possible.lower:
        return Allowances(s, np.ones_like(s))
    z = np.maximum((estimate - s) / local.variance_se, _USUAL)
    return Allowances(s, np.exp((z**2 - _USUAL**2) / 2))


def adaptive(trusted: TrustedStatistics, local: LocalStatistics, at_most: float = math.inf) -> Weighting:
    """Choose the weight with the least regret among those that are hardly ever worse than one group alone.

    Both are over all variances that the reports leave possible. If every weight is worse than one group alone for some
    variance, only those that are least so remain.
    """
    possible = variance_range(trusted, local, at_most)
    limited, factors = allowances(local, possible)
    s: FloatArray = possible.lower + (possible.upper - possible.lower) * _CANDIDATES
    candidates = s if limited[0] == s[0] else np.concatenate([s, limited])
    n = trusted.count + local.count

    def best_weight(variance: FloatArray) -> FloatArray:
        v_t, v_l = group_variances(trusted, local, variance)
        return np.asarray(v_l / (v_t + v_l))

    def error(weight: FloatArray | float, variance: FloatArray) -> FloatArray:
        v_t, v_l = group_variances(trusted, local, variance)
        return np.asarray(weight**2 * v_t + (1 - weight) ** 2 * v_l - variance / n)

    w = best_weight(candidates)
    regret = (error(w[:, None], s) / error(best_weight(s), s)).max(axis=1)
    alone = np.minimum(error(1.0, limited), error(0.0, limited))
    worse = ((error(w[:, None], limited) / alone - 1) / factors).max(axis=1)
    allowed = WORSE * max(1.0, n / (2 * trusted.count)) ** 2
    best = int(np.argmin(np.where(worse <= max(allowed, float(worse.min())), regret, np.inf)))
    return Weighting(float(w[best]), float(candidates[best]), possible)


# Groups that differ --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Divergence(Comparison):
    """How far the two groups' private means are apart, and what was done about it."""

    what: ClassVar[str] = "means"

    difference: float  # trusted minus local, in the units of the values
    z: float  # the same in standard errors that it would have if the groups were alike
    share: float  # of the trusted group's extra weight that was kept: 1 is all
    price: float  # what this adds at most to the expected squared error if the groups are alike, on the unit range

    @property
    def effect(self) -> str:
        """What the difference did to the trusted group's weight."""
        return "" if self.share == 1 else f"{100 * self.share:.0f} % of the trusted group's extra weight was kept."


@dataclass(frozen=True, slots=True)
class Threshold:
    """From which difference on the extra weight yields."""

    lam: float | None  # λ: that many standard errors; None if it never yields
    laplace_fraction: float  # which fraction of the variance of the difference is Laplace noise
    variance: float  # V_D, the variance of the difference
    price: float  # what it adds to the expected squared error if the groups are alike


def threshold(trusted: TrustedStatistics, local: LocalStatistics, chosen: Weighting) -> Threshold:
    r"""Find the smallest $\lambda$ within the limit of the added error.

    The limit is a fraction $\eta$ of the error when the groups are alike.
    """
    n = trusted.count + local.count
    v_d = sum(group_variances(trusted, local, chosen.variance))
    k = local.noise / n - trusted.count / n * trusted.noise
    s, factors = allowances(local, chosen.range)
    v_t, v_l = group_variances(trusted, local, s)
    least_error = float(np.min((v_t * v_l / (v_t + v_l) - s / n) * factors))
    limit = ETA * v_d * least_error / k**2 if k else math.inf
    laplace = trusted.noise / v_d if trusted.laplace else 0.0
    lam = _smallest_lambda(limit, laplace)
    price = 0.0 if lam is None else k**2 / v_d * null_risk(lam, laplace)
    return Threshold(lam, laplace, v_d, price)


def garrote(trusted: TrustedStatistics, local: LocalStatistics, chosen: Weighting, width: float) -> Divergence:
    """Compute the part of the extra weight that the groups' difference leaves."""
    limit, difference = threshold(trusted, local, chosen), trusted.mean - local.mean
    z = difference / limit.variance**0.5
    share = 1.0 if limit.lam is None or abs(z) <= limit.lam else (limit.lam / z) ** 2
    return Divergence(difference=difference * width, z=z, share=share, price=limit.price)


def compare(trusted: TrustedStatistics, local: LocalStatistics, variance: float, width: float) -> Divergence:
    """Compare the means of the groups when the weight is fixed."""
    v_d = sum(group_variances(trusted, local, variance))
    difference = trusted.mean - local.mean
    return Divergence(difference=difference * width, z=difference / v_d**0.5, share=1.0, price=0.0)


def null_risk(lam: float, laplace_fraction: float) -> float:
    r"""$E[(y - \lambda^2/y)^2; |y| > \lambda]$ for a standardized $y$: Laplace with this probability, else normal.

    The difference of the means is a *sum* of Laplace and normal noise, with these fractions of the variance, whose
    tails are lighter than those of the mixture: so this is an upper bound of its risk.
    """
    return laplace_fraction * _laplace_risk(lam) + (1 - laplace_fraction) * _normal_risk(lam)


def risk(lam: float | None, laplace_fraction: float, theta: float) -> float:
    r"""$E[(\hat\delta(y) - \theta)^2]$ for $\hat\delta(y) = y\,(1 - \lambda^2/y^2)_+$ and $y$ around $\theta$.

    What the extra weight costs if the groups' means are $\theta$ standard errors apart: $\theta^2$ without a
    threshold, about 1 where the groups clearly differ.
    """
    if lam is None:
        return theta**2
    noise, normal, laplace = _densities()
    y = theta + noise
    beyond = np.abs(y) > lam
    estimated = np.where(beyond, y - lam**2 / np.where(beyond, y, 1.0), 0.0)
    density = laplace_fraction * laplace + (1 - laplace_fraction) * normal
    return float((estimated - theta) ** 2 @ density)


@lru_cache(maxsize=1)
def _densities() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a grid with standard normal and Laplace probabilities.

    Each probability is the mass of the standard variable at a point of the grid.
    """
    noise = np.linspace(-24.0, 24.0, 4801)
    normal = np.exp(-(noise**2) / 2)
    laplace = np.exp(-math.sqrt(2) * np.abs(noise))
    return read_only(noise), read_only(normal / normal.sum()), read_only(laplace / laplace.sum())


def _smallest_lambda(limit: float, laplace_fraction: float) -> float | None:
    """Find the smallest λ whose risk is within the limit.

    Returns None if no λ up to 12 is within the limit.
    """
    if null_risk(_LARGEST_LAMBDA, laplace_fraction) > limit:
        return None
    from scipy.optimize import brentq

    if null_risk(0.0, laplace_fraction) <= limit:
        return _LAMBDA_STEP
    root = brentq(lambda lam: null_risk(lam, laplace_fraction) - limit, 0.0, _LARGEST_LAMBDA, xtol=_LAMBDA_STEP / 4)
    return min(float(root) + _LAMBDA_STEP, _LARGEST_LAMBDA)  # on the side that is within the limit


def _normal_risk(lam: float) -> float:
    density = math.exp(-(lam**2) / 2) / math.sqrt(2 * math.pi)
    tail = math.erfc(lam / math.sqrt(2)) / 2
    return 2 * ((lam + lam**3) * density + (1 - 2 * lam**2 - lam**4) * tail)


def _laplace_risk(lam: float) -> float:
    from scipy.special import exp1

    if lam == 0:
        return 1.0
    a = math.sqrt(2)
    tail = math.exp(-a * lam)
    square = tail * (lam**2 / a + 2 * lam / a**2 + 2 / a**3)
    inverse = tail / lam - a * float(exp1(a * lam))
    return a * (square - 2 * lam**2 * tail / a + lam**4 * inverse)
