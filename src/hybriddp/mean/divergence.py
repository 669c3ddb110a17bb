r"""When the two groups have different means: a garrote on the weight, and what to say about it.

Opting in is a choice, so the groups may differ. Weighing the trusted group more than its fraction $c$ of the users then
pulls the answer towards it. With $D$ the difference of the two private means, $V_D = V_T + V_L$ its variance if the
groups are alike, and $K = s_L^2/n - c s_T^2$, the hybrid is the unbiased mean plus $(K/V_D) D$. The garrote lets
through only

$$
\frac{K}{V_D}\, D \min(1, \lambda^2 V_D/D^2),
$$

all of it where the difference is ordinary, next to nothing where it is not. $\lambda$ is the smallest one that is known
to add at most a fraction $\eta$ to the error when the groups are alike.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.grid import read_only
from hybriddp.mean.weights import LocalStatistics, TrustedStatistics, Weighting, group_variances

ETA = 0.02
_LARGEST_LAMBDA = 12.0
_LAMBDA_STEP = 1e-11  # to which it is found


@dataclass(frozen=True, slots=True)
class Divergence:
    """How far the two groups' private means are apart, and what was done about it."""

    difference: float  # trusted minus local, in the units of the values
    z: float  # the same in standard errors that it would have if the groups were alike
    share: float  # of the trusted group's extra weight that was kept: 1 is all
    price: float  # what this adds at most to the expected squared error if the groups are alike, on the unit range

    @property
    def verdict(self) -> str:
        """Whether the groups agree, in plain words."""
        if abs(self.z) < 2:
            return "The two groups' means agree within what chance explains."
        size = "slightly" if abs(self.z) < 4 else "clearly"
        kept = "" if self.share == 1 else f" {100 * self.share:.0f} % of the trusted group's extra weight was kept."
        return (
            f"The two groups' means differ {size} ({abs(self.z):.1f} standard errors): those who trust may be other "
            f"people than those who do not.{kept}"
        )


@dataclass(frozen=True, slots=True)
class Threshold:
    """From which difference on the extra weight yields."""

    lam: float | None  # λ: that many standard errors; None if it never yields
    laplace_fraction: float  # which fraction of the variance of the difference is Laplace noise
    variance: float  # V_D, the variance of the difference
    price: float  # what it adds to the expected squared error if the groups are alike


def threshold(trusted: TrustedStatistics, local: LocalStatistics, chosen: Weighting) -> Threshold:
    r"""The smallest $\lambda$ that adds at most a fraction $\eta$ to the error when the groups are alike."""
    n = trusted.count + local.count
    v_d = sum(group_variances(trusted, local, chosen.variance))
    k = local.noise / n - trusted.count / n * trusted.noise
    v_t, v_l = group_variances(trusted, local, chosen.range.lower)
    least_error = v_t * v_l / (v_t + v_l) - chosen.range.lower / n
    limit = ETA * v_d * least_error / k**2 if k else math.inf
    laplace = trusted.noise / v_d if trusted.laplace else 0.0
    lam = _smallest_lambda(limit, laplace)
    price = 0.0 if lam is None else k**2 / v_d * null_risk(lam, laplace)
    return Threshold(lam, laplace, v_d, price)


def garrote(trusted: TrustedStatistics, local: LocalStatistics, chosen: Weighting, width: float) -> Divergence:
    """How much of the extra weight the difference of the means leaves."""
    limit, difference = threshold(trusted, local, chosen), trusted.mean - local.mean
    z = difference / limit.variance**0.5
    share = 1.0 if limit.lam is None or abs(z) <= limit.lam else (limit.lam / z) ** 2
    return Divergence(difference=difference * width, z=z, share=share, price=limit.price)


def compare(trusted: TrustedStatistics, local: LocalStatistics, variance: float, width: float) -> Divergence:
    """How far the groups are apart, when the weight is kept whatever they say."""
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
    estimated = np.where(np.abs(y) > lam, y - lam**2 / np.where(y == 0, 1.0, y), 0.0)
    density = laplace_fraction * laplace + (1 - laplace_fraction) * normal
    return float((estimated - theta) ** 2 @ density)


@lru_cache(maxsize=1)
def _densities() -> tuple[FloatArray, FloatArray, FloatArray]:
    """A grid, and how much of a standard normal and of a standard Laplace variable lies at each of its points."""
    noise = np.linspace(-24.0, 24.0, 4801)
    normal = np.exp(-(noise**2) / 2)
    laplace = np.exp(-math.sqrt(2) * np.abs(noise))
    return read_only(noise), read_only(normal / normal.sum()), read_only(laplace / laplace.sum())


def _smallest_lambda(limit: float, laplace_fraction: float) -> float | None:
    """The smallest λ whose risk is within the limit; None if there is none up to 12."""
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
