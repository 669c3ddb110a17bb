r"""How much of the answer comes from the trusted group: the weights of the paper, and when they win.

Everything is a function of four numbers (see `Setting`): the trusted fraction $c$,
the disagreement of the two groups' sample means $A$, and the noise on each group's mean, $p$ (trusted)
and $q$ (local). The hybrid with weight $w$ errs by

$$
E(w) = A (w - c)^2 + p w^2 + q (1 - w)^2.
$$
"""

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray


def known_variance(c: FloatArray, a: FloatArray, p: FloatArray, q: FloatArray) -> FloatArray:
    r"""The minimizer of $E$: $w^* = (A c + q)/(A + p + q)$; $c$ where every weight is as good."""
    s = a + p + q
    with np.errstate(invalid="ignore"):
        return np.where(s > 0.0, np.minimum(c * (a / s) + q / s, 1.0), c)[()]


def known_variance_error(c: FloatArray, a: FloatArray, p: FloatArray, q: FloatArray) -> FloatArray:
    r"""The minimum of $E$: $(A p c^2 + A q (1-c)^2 + p q)/(A + p + q)$, without cancellation."""
    s = a + p + q
    with np.errstate(invalid="ignore"):
        return np.where(s > 0.0, (p * c**2 + q * (1.0 - c) ** 2) * (a / s) + p * (q / s), 0.0)[()]


def privacy(c: FloatArray, p: FloatArray, q: FloatArray) -> FloatArray:
    r"""The minimizer of the noise alone: $q/(p + q)$; $c$ where there is no noise."""
    s = p + q
    with np.errstate(invalid="ignore"):
        return np.where(s > 0.0, q / s, c)[()]


def known_variance_beats_both(c: FloatArray, a: FloatArray, p: FloatArray, q: FloatArray) -> NDArray[np.bool_]:
    r"""Whether $E(w^*) < \min(E_T, E_F)$.

    $$
    E_T - E(w^*) = \frac{((1-c) A + p)^2}{A + p + q}, \qquad
    E_F - E(w^*) = \frac{(c A + q)\,((1-c) q - c p)}{A + p + q}
    $$
    """
    wins: NDArray[np.bool_] = ((1.0 - c) * q > c * p) & ((a > 0.0) | (p > 0.0))
    return wins


def privacy_weight_beats_both(c: FloatArray, a: FloatArray, p: FloatArray, q: FloatArray) -> NDArray[np.bool_]:
    r"""Whether $E(w_P) < \min(E_T, E_F)$.

    With $X = (1-c) q - c p$,

    $$
    E_F - E(w_P) = \frac{X\,(q (p + q) - A X)}{(p+q)^2}, \qquad
    E_T - E(w_P) = \frac{p\,\bigl(A ((1-c)(p+q) + X) + p (p + q)\bigr)}{(p+q)^2}
    $$
    """
    x = (1.0 - c) * q - c * p
    with np.errstate(invalid="ignore", divide="ignore"):  # q = 0 makes X <= 0, so what x / q is does not matter
        wins: NDArray[np.bool_] = (x > 0.0) & (p > 0.0) & (a * (x / q) < p + q)
    return wins
