r"""Amplification by Laplace noise: per group, pure and with δ > 0.

The noise of the published estimate is $Z = b_1 \mathrm{Lap} + \sum_{i=1}^{h} b_2 \mathrm{Lap}_i$ with
$b_1 = w m/(c n \epsilon)$ and $b_2 = (1-w) m/((1-c) n \epsilon)$. It is log-concave, so for a shift $D$ the worst
event is a half line:

$$
\epsilon(x) = \log\frac{p(x)}{p(x + D)}, \qquad
\delta(x) = P[Z > x] - e^{\epsilon(x)} P[Z > x + D].
$$

Pure: $\epsilon' = D/\max(b_1, b_2)$ (`sums` has how $p$ and $P$ are computed). The paper finds no amplification, which
is true of the worst user only: with $w > c$ local users gain, at δ = 0 even.
"""

import math
from dataclasses import dataclass

from hybriddp import _check
from hybriddp.amplification.by_group import Amplification, GroupEpsilon
from hybriddp.amplification.sums import LaplaceSum
from hybriddp.errors import NumericalError

_ERROR = 1e-12  # of a logarithm of a density or a tail: ten times what the integrals are certified to


def exact(
    *,
    n_users: float,
    trusted_fraction: float,
    weight: float,
    width: float,
    epsilon: float,
    honest_local: int,
    delta: float = 0.0,
) -> Amplification[float]:
    r"""An upper bound of ε′ of each group at δ, tight to about nine digits.

    Parameters
    ----------
    n_users, trusted_fraction, weight, width : float
        $n$, $c$, $w$ (fixed before any data was seen), $m$.
    epsilon : float
        What everybody is promised: the curator's noise has scale $m/(c n \epsilon)$, a report's $m/\epsilon$.
    honest_local : int
        $h$: local users whose noise the adversary does not know; a local user counts her own.
    delta : float
        δ, from 0 and below 1.

    Examples
    --------
    >>> from hybriddp.theory import UC_SALARIES as pay
    >>> found = exact(n_users=pay.n_users, trusted_fraction=0.01, weight=0.9, width=pay.width, epsilon=1.0,
    ...               honest_local=250_000)
    >>> found.trusted.epsilon, found.local.epsilon
    (1.0, 0.0011223)
    """
    n = _check.number("n_users", n_users, _check.USERS)
    c = _check.number("trusted_fraction", trusted_fraction, _check.FRACTION)
    w = _check.number("weight", weight, _check.WEIGHT)
    _check.number("width", width, _check.POSITIVE)
    eps = _check.number("epsilon", epsilon, _check.POSITIVE)
    dlt = _check.number("delta", delta, _check.Range("a number from 0 and below 1", 0.0, 1.0, upper_open=True))
    honest = _check.integer("honest_local", honest_local, at_least=0)
    if honest > (1 - c) * n + 1:
        _check.number("honest_local", honest, _check.Range("at most the number of local users", 0.0, (1 - c) * n))
    shift_t, shift_l = w / (c * n), (1 - w) / ((1 - c) * n)  # in widths: noise and shifts grow with the width alike
    noise = LaplaceSum(shift_t / eps, shift_l / eps, honest)
    return Amplification(
        trusted=GroupEpsilon(_epsilon(noise, shift_t, dlt)),
        local=GroupEpsilon(_epsilon(noise, shift_l, dlt)),
    )


def _epsilon(noise: LaplaceSum, shift: float, delta: float) -> float:
    """The smallest ε for which noise hides a shift but for δ."""
    if shift == 0:
        return 0.0
    widest = noise.widest
    if widest == 0:
        return math.inf
    pure = shift / widest
    if delta == 0:
        return pure
    if noise.single:  # one Laplace variable: in closed form
        return max(0.0, pure + 2 * math.log1p(-delta))
    try:
        return min(_search(noise, shift, delta * (1 - 1e-9)), pure)
    except (NumericalError, OverflowError, ZeroDivisionError, ValueError):
        return pure  # which always holds: where one scale is next to nothing, or δ is, no integral settles


def _search(noise: LaplaceSum, shift: float, target: float) -> float:
    """ε at the point where δ falls below the target: bracketed, then found by Brent's method, then made safe."""
    from scipy.optimize import brentq

    def excess(x: float) -> float:
        return math.log(max(_at(noise, x, shift).delta, 1e-320) / target)

    low = -shift / 2  # where ε is 0; it grows with x, and δ falls
    if excess(low) <= 0:
        return 0.0
    step = noise.sd
    high = low + step
    while excess(high) > 0:
        low, high, step = high, high + step, 2 * step
    x = float(brentq(excess, low, high, xtol=1e-11 * noise.sd))
    nudge = 1e-11 * noise.sd
    while excess(x) > 0:
        x, nudge = x + nudge, 2 * nudge
    return _at(noise, x, shift).epsilon


@dataclass(frozen=True, slots=True)
class _Point:
    """Upper bounds of both, the error of the integrals included."""

    epsilon: float
    delta: float


def _at(noise: LaplaceSum, x: float, shift: float) -> _Point:
    here, there = noise.at(x), noise.at(x + shift)
    epsilon = max(here.log_density - there.log_density, 0.0) + _ERROR
    # P[Z > x] - e^ε P[Z > x + D], without losing what is common to both.
    tail = math.exp(here.log_tail)
    delta = tail * -math.expm1(epsilon + there.log_tail - here.log_tail) + tail * _ERROR
    return _Point(epsilon, delta)
