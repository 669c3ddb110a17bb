r"""When the two groups have different means: a garrote on the weight, and a report.

Opting in is a choice, so the groups may differ. Weighing the trusted group more than its share $c$ then pulls the
answer towards it. With $D$ the difference of the two private means, $V_D = V_T + V_L$ its variance if the groups are
alike, and $K = s_L^2/n - c s_T^2$, the hybrid is the unbiased mean plus $(K/V_D) D$. The garrote lets through only

$$
\frac{K}{V_D}\, D \min(1, \lambda^2 V_D/D^2),
$$

all of it where the difference is ordinary, next to nothing where it is not. $\lambda$ is the smallest one that costs at
most a share $\eta$ of the error when the groups are alike.
"""

import math
from dataclasses import dataclass

from hybriddp.mean.groups import LocalGroup, TrustedGroup
from hybriddp.mean.weights import Weighting

ETA = 0.05
_LARGEST_LAMBDA = 12.0


@dataclass(frozen=True, slots=True)
class Divergence:
    """How far the two groups' private means are apart, and what was done about it.

    Attributes
    ----------
    difference : float
        Trusted minus local, in the units of the values.
    z : float
        The same in standard errors that it would have if the groups were alike.
    share : float
        How much of the trusted group's extra weight was kept: 1 is all.
    price : float
        What this caution adds to the expected squared error if the groups are alike, on the unit range.
    """

    difference: float
    z: float
    share: float
    price: float

    @property
    def verdict(self) -> str:
        """In plain words."""
        if abs(self.z) < 2:
            return "The two groups' means agree within what chance explains."
        size = "slightly" if abs(self.z) < 4 else "clearly"
        kept = "all" if self.share == 1 else f"{100 * self.share:.0f} %"
        return (
            f"The two groups' means differ {size} ({abs(self.z):.1f} standard errors): those who trust may be other "
            f"people than those who do not. {kept} of the trusted group's extra weight was kept."
        )


def garrote(trusted: TrustedGroup, local: LocalGroup, chosen: Weighting, width: float) -> Divergence:
    """How much of the extra weight the difference of the means leaves."""
    n, n_t, n_l = trusted.count + local.count, trusted.count, local.count
    v_t = chosen.variance / n_t + trusted.noise
    v_l = (chosen.variance + local.noise) / n_l
    v_d = v_t + v_l
    k = local.noise / n - n_t / n * trusted.noise
    difference = trusted.mean - local.mean
    z = difference / v_d**0.5
    limit = ETA * v_d * _least_error(trusted, local, chosen.range.lower) / k**2 if k else math.inf
    laplace = trusted.noise / v_d if trusted.laplace else 0.0
    lam = _smallest_lambda(limit, laplace)
    share = 1.0 if lam is None or abs(z) <= lam else (lam / z) ** 2
    price = 0.0 if lam is None else k**2 / v_d * null_risk(lam, laplace)
    return Divergence(difference=difference * width, z=z, share=share, price=price)


def compare(trusted: TrustedGroup, local: LocalGroup, variance: float, width: float) -> Divergence:
    """How far the groups are apart, when the weight is kept whatever they say."""
    v_d = variance / trusted.count + trusted.noise + (variance + local.noise) / local.count
    difference = trusted.mean - local.mean
    return Divergence(difference=difference * width, z=difference / v_d**0.5, share=1.0, price=0.0)


def null_risk(lam: float, laplace_share: float) -> float:
    r"""$E[(y - \lambda^2/y)^2; |y| > \lambda]$ for a standardised $y$, part Laplace and part normal."""
    return laplace_share * _laplace_risk(lam) + (1 - laplace_share) * _normal_risk(lam)


def _smallest_lambda(limit: float, laplace_share: float) -> float | None:
    """The smallest λ whose risk is within the limit; None if there is none up to 12."""
    if null_risk(_LARGEST_LAMBDA, laplace_share) > limit:
        return None
    low, high = 0.0, _LARGEST_LAMBDA
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if null_risk(middle, laplace_share) <= limit else (middle, high)
    return high


def _least_error(trusted: TrustedGroup, local: LocalGroup, variance: float) -> float:
    v_t = variance / trusted.count + trusted.noise
    v_l = (variance + local.noise) / local.count
    return v_t * v_l / (v_t + v_l) - variance / (trusted.count + local.count)


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
