r"""Which of the two single models is better, and where the boundary lies.

Trusted-only errs by $E_T$, full-local by $E_F$ (`Setting`). The noise on the
trusted mean is $s_T^2 = g/(cn)^2$, where $g$ is the noise variance of the trusted group's *total*:
for Laplace and Gaussian noise it equals one local user's noise, $g = s_L^2$.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray


@dataclass(frozen=True, slots=True)
class UserRange:
    """The numbers of users from ``lower`` to ``upper``, both included; both NaN where there are none."""

    lower: FloatArray
    upper: FloatArray

    @property
    def exists(self) -> NDArray[np.bool_]:
        """Whether any number is in the range."""
        return ~np.isnan(self.lower)

    def contains(self, n_users: ArrayLike) -> NDArray[np.bool_]:
        """Whether each number of users is in the range."""
        n = _check.numbers("n_users", n_users, _check.USERS)
        _check.same_shape(n_users=n, range=self.lower)
        inside: NDArray[np.bool_] = (self.lower <= n) & (n <= self.upper)  # NaN compares false
        return inside


def critical_trusted_fraction(
    *, trusted_variance: ArrayLike, local_variance: ArrayLike, local_noise: ArrayLike
) -> FloatArray:
    r"""Compute the trusting fraction that trusted-only needs to ever win.

    With a smaller fraction, no number of users makes trusted-only win.

    Where the means are equal and the trusted noise vanishes, $E_T \le E_F$ exactly if $c \ge c_{crit}$, the
    root in [0, 1] of $(1-c)\bigl((1-c)\sigma_T^2 + c \sigma_L^2\bigr) = c\, s_L^2$:

    $$
    c_{crit} = \frac{2 \sigma_T^2}{B + D}, \qquad B = 2\sigma_T^2 - \sigma_L^2 + s_L^2, \qquad
    D = \sqrt{(\sigma_L^2 - s_L^2)^2 + 4 s_L^2 \sigma_T^2}
    $$

    Parameters
    ----------
    trusted_variance, local_variance : array_like
        $\sigma_T^2, \sigma_L^2$.
    local_noise : array_like
        $s_L^2$, variance of the noise on one local report.

    Notes
    -----
    [ADK20] (Lemma on critical values) prints $(B - D)/(2(\sigma_T^2 - \sigma_L^2))$, which is the same number
    but loses all digits as the variances approach each other. It is used only where $B < 0$, where the form
    above would cancel instead.

    Examples
    --------
    >>> float(critical_trusted_fraction(trusted_variance=1/12, local_variance=1/12, local_noise=2.0))
    0.04
    """
    st = _check.numbers("trusted_variance", trusted_variance, _check.NON_NEGATIVE)
    sl = _check.numbers("local_variance", local_variance, _check.NON_NEGATIVE)
    noise = _check.numbers("local_noise", local_noise, _check.NON_NEGATIVE)
    _check.same_shape(trusted_variance=st, local_variance=sl, local_noise=noise)
    st, sl, noise = np.broadcast_arrays(st, sl, noise)
    b = 2.0 * st - sl + noise
    d = np.hypot(sl - noise, 2.0 * np.sqrt(noise) * np.sqrt(st))
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.where(b < 0.0, (b - d) / (2.0 * (st - sl)), 2.0 * st / (b + d))
    # 0/0 only where the trusted values do not spread and the local ones by no more than the noise: never worse.
    return np.where(np.isnan(root), 0.0, root)[()]


def trusted_only_wins_between(
    *,
    trusted_fraction: ArrayLike,
    trusted_variance: ArrayLike,
    local_variance: ArrayLike,
    local_noise: ArrayLike,
    total_noise: ArrayLike | None = None,
    mean_gap: ArrayLike = 0.0,
) -> UserRange:
    r"""Compute the numbers of users for which trusted-only wins or ties.

    For these numbers, trusted-only is at least as good as full-local.

    $E_T \le E_F$ exactly if $d n^2 - a n + b \le 0$ with

    $$
    a = s_L^2 - \frac{(1-c)\bigl((1-c)\sigma_T^2 + c\sigma_L^2\bigr)}{c}, \qquad b = \frac{g}{c^2}, \qquad
    d = \bigl((1-c)(\mu_T - \mu_L)\bigr)^2
    $$

    so below ``lower`` the trusted group is too small for its noise, and above ``upper`` (infinite for equal means)
    the difference of the means outweighs everything.

    Parameters
    ----------
    trusted_fraction : array_like
        $c$.
    trusted_variance, local_variance, local_noise : array_like
        $\sigma_T^2, \sigma_L^2, s_L^2$.
    total_noise : array_like, optional
        $g$, noise variance of the trusted group's total; noise variance of one local report if not given.
    mean_gap : array_like
        $\mu_T - \mu_L$.

    Notes
    -----
    [ADK20] has two lemmas here. The generic one has two signs wrong (errata, entry 8) and is a condition on
    $s_T$, which itself depends on $n$, rather than a threshold in $n$ (entry 9). The Laplace one is
    ``lower`` for equal means.

    Examples
    --------
    >>> wins = trusted_only_wins_between(trusted_fraction=0.05, trusted_variance=1/12, local_variance=1/12,
    ...                                  local_noise=2.0, mean_gap=0.005)
    >>> float(wins.lower), float(wins.upper)
    (2176.522, 16290.699)
    """
    c = _check.numbers("trusted_fraction", trusted_fraction, _check.FRACTION)
    st = _check.numbers("trusted_variance", trusted_variance, _check.NON_NEGATIVE)
    sl = _check.numbers("local_variance", local_variance, _check.NON_NEGATIVE)
    noise = _check.numbers("local_noise", local_noise, _check.NON_NEGATIVE)
    g = noise if total_noise is None else _check.numbers("total_noise", total_noise, _check.NON_NEGATIVE)
    gap = _check.numbers("mean_gap", mean_gap)
    _check.same_shape(
        trusted_fraction=c, trusted_variance=st, local_variance=sl, local_noise=noise, total_noise=g, mean_gap=gap
    )
    a = noise - (1.0 - c) * ((1.0 - c) * st + c * sl) / c
    b = g / c**2
    d = ((1.0 - c) * gap) ** 2
    a, b, d = np.broadcast_arrays(a, b, d)
    with np.errstate(invalid="ignore", divide="ignore"):
        larger = 0.5 * (a + np.sqrt(a * a - 4.0 * b * d))  # d times the larger root; NaN where there is none
        lower = np.where(b > 0.0, b / larger, 0.0)
        upper = np.where(d > 0.0, larger / d, np.inf)
    exists = (a >= 0.0) & (a * a >= 4.0 * b * d) & ((larger > 0.0) | (b == 0.0))
    return UserRange(lower=np.where(exists, lower, np.nan)[()], upper=np.where(exists, upper, np.nan)[()])


def laplace_critical_trusted_fraction(*, width: ArrayLike, epsilon: ArrayLike, variance: ArrayLike) -> FloatArray:
    r"""$c_{crit} = y/(2 + y)$ with $y = (\epsilon\sigma/m)^2$: equal groups, Laplace noise.

    [ADK20], Lemma on critical values with Laplace noise.

    Examples
    --------
    >>> float(laplace_critical_trusted_fraction(width=1.0, epsilon=1.0, variance=1/12))
    0.04
    """
    y = _snr(width, epsilon, variance)
    result: FloatArray = y / (2.0 + y)
    return result


def laplace_critical_users(
    *, trusted_fraction: ArrayLike, width: ArrayLike, epsilon: ArrayLike, variance: ArrayLike
) -> FloatArray:
    r"""Compute the number of users from which on trusted-only wins.

    This assumes equal groups and Laplace noise. The result is infinite if trusted-only never wins.

    $$
    n_{crit} = \frac{2}{c\,(2c - (1-c)\,y)}, \qquad y = (\epsilon\sigma/m)^2
    $$

    [ADK20], Lemma on critical values with Laplace noise. It is at least $1/c^2$.

    Examples
    --------
    >>> float(laplace_critical_users(trusted_fraction=0.05, width=1.0, epsilon=1.0, variance=1/12))
    1920.0
    """
    c = _check.numbers("trusted_fraction", trusted_fraction, _check.FRACTION)
    y = _snr(width, epsilon, variance, trusted_fraction=c)
    advantage = 2.0 * c - (1.0 - c) * y
    with np.errstate(divide="ignore"):
        return np.where(advantage > 0.0, 2.0 / (c * advantage), np.inf)[()]


def laplace_privacy_weight_wins_below(
    *, trusted_fraction: ArrayLike, width: ArrayLike, epsilon: ArrayLike, variance: ArrayLike
) -> FloatArray:
    r"""Compute the number of users below which the privacy weight wins.

    The privacy weight then beats both single models. The result is infinite if it always does.

    Equal groups, Laplace noise, more than one trusting user ($c n > 1$; with one or less it never wins):

    $$
    n < \frac{(1-c)(2 + y)}{c\,((1-c)\,y - 2c)} \quad\text{or}\quad c \ge c_{crit}, \qquad
    y = (\epsilon\sigma/m)^2
    $$

    Notes
    -----
    The region printed in [ADK20], section 5, belongs to the naive weight; see the errata, entry 13. The advice is the
    other way round: *small* ε·σ favors the privacy weight.

    Examples
    --------
    >>> float(laplace_privacy_weight_wins_below(trusted_fraction=0.005, width=1.0, epsilon=1.0, variance=1/12))
    5685.71
    """
    c = _check.numbers("trusted_fraction", trusted_fraction, _check.FRACTION)
    y = _snr(width, epsilon, variance, trusted_fraction=c)
    disadvantage = (1.0 - c) * y - 2.0 * c
    with np.errstate(divide="ignore"):
        return np.where(disadvantage > 0.0, (1.0 - c) * (2.0 + y) / (c * disadvantage), np.inf)[()]


def laplace_gain_at_crossover(
    *, trusted_fraction: ArrayLike, width: ArrayLike, epsilon: ArrayLike, variance: ArrayLike
) -> FloatArray:
    r"""Compute the gain R of the known-variance weight at $n = n_{crit}$.

    There both single models are equally good.

    $$
    R = \frac{2 (2 - c)}{2 - (1-c)\,y}, \qquad y = (\epsilon\sigma/m)^2
    $$

    Defined where $c > c_{crit}$, NaN elsewhere ([ADK20], proof of the Corollary on R).

    Examples
    --------
    >>> float(laplace_gain_at_crossover(trusted_fraction=0.05, width=1.0, epsilon=1.0, variance=1/12))
    2.0304
    """
    c = _check.numbers("trusted_fraction", trusted_fraction, _check.FRACTION)
    y = _snr(width, epsilon, variance, trusted_fraction=c)
    with np.errstate(divide="ignore"):
        gain = 2.0 * (2.0 - c) / (2.0 - (1.0 - c) * y)
    return np.where(c > y / (2.0 + y), gain, np.nan)[()]


def laplace_gain_supremum(*, epsilon: ArrayLike) -> FloatArray:
    r"""No setting with Laplace noise gives the known-variance weight a gain R of $2 + \epsilon^2/8$ or more.

    Approached as $\sigma = m/2$ (the most a bounded value can spread), $n \to \infty$ along the
    crossover. At ε = 1 it is 17/8, the lower bound of the Corollary of [ADK20], whose upper bound 16/7 is not
    reached (errata, entry 16).

    Examples
    --------
    >>> float(laplace_gain_supremum(epsilon=1.0))
    2.125
    """
    eps = _check.numbers("epsilon", epsilon, _check.POSITIVE)
    result: FloatArray = 2.0 + eps**2 / 8.0
    return result


def _snr(width: ArrayLike, epsilon: ArrayLike, variance: ArrayLike, **others: FloatArray) -> FloatArray:
    r"""$y = (\epsilon\sigma/m)^2$, all that the Laplace cases know of width, ε and variance."""
    m = _check.numbers("width", width, _check.POSITIVE)
    eps = _check.numbers("epsilon", epsilon, _check.POSITIVE)
    var = _check.numbers("variance", variance, _check.NON_NEGATIVE)
    _check.same_shape(**others, width=m, epsilon=eps, variance=var)
    result: FloatArray = var * (eps / m) ** 2
    return result
