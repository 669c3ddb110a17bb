r"""How much of the answer comes from the trusted group, when nobody knows the variance.

On the unit range, with $V_T = \sigma^2/n_T + s_T^2$ and $V_L = (\sigma^2 + s_L^2)/n_L$, the hybrid with weight $w$
errs by

$$
E(w; \sigma^2) = w^2 V_T + (1-w)^2 V_L - \sigma^2/n,
$$

so the best weight is $w(\sigma^2) = V_L/(V_T + V_L)$: known, but for $\sigma^2$. The reports themselves say between
which bounds it lies (`variance_range`), at no cost. Within them the weight is chosen whose error is never more than the
smallest possible multiple of the least one (`adaptive`: minimax regret).
"""

import math
from dataclasses import dataclass

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.mean.groups import LocalGroup, TrustedGroup

_SHARES = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 60)])  # candidates within the range of variances
_LEAST_CEILING = 1e-6


@dataclass(frozen=True, slots=True)
class VarianceRange:
    """Between which bounds the variance of the values lies, on the unit range."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Weighting:
    r"""A weight on the trusted group's mean, and the variances it was chosen with.

    Attributes
    ----------
    weight : float
        $w$.
    variance : float
        The $\sigma^2$ for which it is the best.
    range : VarianceRange
        Which other ones were possible.
    """

    weight: float
    variance: float
    range: VarianceRange


def known_variance(trusted: TrustedGroup, local: LocalGroup, variance: float) -> Weighting:
    """The best weight for a variance that is known ([ADK20], KVH)."""
    weight = float(_best_weights(trusted, local, np.asarray(variance)))
    return Weighting(weight, variance, VarianceRange(variance, variance))


def adaptive(trusted: TrustedGroup, local: LocalGroup, at_most: float = math.inf) -> Weighting:
    """The weight with the least regret over all variances that the reports leave possible."""
    possible = variance_range(trusted, local, at_most)
    s = possible.lower + (possible.upper - possible.lower) * _SHARES
    w = _best_weights(trusted, local, s)
    n = trusted.count + local.count

    def error(weight: FloatArray, variance: FloatArray) -> FloatArray:
        v_t, v_l = variance / trusted.count + trusted.noise, (variance + local.noise) / local.count
        return np.asarray(weight**2 * v_t + (1 - weight) ** 2 * v_l - variance / n)

    regret = (error(w[:, None], s[None, :]) / error(w, s)).max(axis=1)
    best = int(np.argmin(regret))
    return Weighting(float(w[best]), float(s[best]), possible)


def variance_range(trusted: TrustedGroup, local: LocalGroup, at_most: float = math.inf) -> VarianceRange:
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


def _best_weights(trusted: TrustedGroup, local: LocalGroup, variance: FloatArray) -> FloatArray:
    v_t, v_l = variance / trusted.count + trusted.noise, (variance + local.noise) / local.count
    result: FloatArray = v_l / (v_t + v_l)
    return result
