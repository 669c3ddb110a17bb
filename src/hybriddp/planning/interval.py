"""Which change of the mean between two studies could be told: from the law of their errors."""

import math
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.mean.interval import NoiseLaw

LEVEL = 0.95
POWER = 0.8
_STEPS = 1000
_SHARES = np.linspace(0.0, 1.0, 33)


def detectable_change(law: NoiseLaw) -> float:
    r"""The change of a mean that a two-sided 5 % test between two such studies finds with a probability of 80 %.

    The difference $D$ of two independent errors $N(0, s^2) + \mathrm{Lap}(b)$ is symmetric, with the characteristic
    function $\varphi(t) = e^{-s^2 t^2}/(1 + b^2 t^2)^2$. The test rejects beyond the 97.5 % quantile of $D$; a change
    of that plus the 80 % quantile is found with that probability. For normal errors it is
    $(1.96 + 0.84)\sqrt{2}\, s$.

    Examples
    --------
    >>> detectable_change(NoiseLaw(normal=1.0, laplace=0.0))
    3.962
    """
    scale = math.sqrt(law.variance)
    if scale == 0:
        return 0.0
    share = 2 * law.laplace**2 / law.variance
    return scale * float(np.interp(share, _SHARES, _standard_changes()))


@lru_cache(maxsize=1)
def _standard_changes() -> FloatArray:
    """For errors of variance 1, by the share of the Laplace part: smooth, so a few of them are enough."""
    return np.array([_quantile((1 + LEVEL) / 2, share) + _quantile(POWER, share) for share in _SHARES.tolist()])


def _quantile(level: float, share: float) -> float:
    r"""Of $D$, by inverting $F(y) = \frac12 + \frac1\pi \int_0^\infty \varphi(t) \sin(ty)/t \, dt$ (Gil-Pelaez)."""
    from scipy.optimize import brentq

    t = (np.arange(_STEPS) + 0.5) * (40.0 / _STEPS)  # midpoints; beyond 40 the tail of φ(t)/t is below 1e-6
    phi = np.exp(-(1 - share) * t**2) / (1 + share * t**2 / 2) ** 2
    weight = phi / t * (40.0 / _STEPS) / math.pi
    return float(brentq(lambda y: 0.5 + float(weight @ np.sin(t * y)) - level, 0.0, 20.0))
