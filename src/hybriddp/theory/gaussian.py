r"""The privacy of Gaussian noise, exactly: δ from (ε, σ), ε from (δ, σ), σ from (ε, δ).

Noise of standard deviation σ on a number of sensitivity Δ is (ε, δ)-private exactly if ([BW18], Theorem 8)

$$
\delta \ge \Phi(-u) - e^{\epsilon}\,\Phi(-v), \qquad
u = \frac{\epsilon\sigma}{\Delta} - \frac{\Delta}{2\sigma}, \quad v = u + \frac{\Delta}{\sigma}.
$$

Since $v^2 - u^2 = 2\epsilon$, the factor $e^\epsilon$ cancels in terms of the scaled complementary error
function, $\mathrm{erfcx}(t) = e^{t^2}\mathrm{erfc}(t)$. So nothing overflows, whatever ε is. The two inverses
halve a bracket down to neighboring floating-point numbers and return its private end, with a margin of $10^{-11}$ of δ
for the rounding in δ itself.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray

_SQRT2 = math.sqrt(2.0)
_SQRT_2PI = math.sqrt(2.0 * math.pi)
_NARROW = 1e-3  # below which Δ/σ needs the series
_MARGIN = 1.0 - 1e-11  # of δ, so that rounding in δ itself does not cost privacy


def gaussian_delta(*, epsilon: ArrayLike, sensitivity: ArrayLike, sigma: ArrayLike) -> FloatArray:
    r"""Compute the smallest δ with which Gaussian noise is (ε, δ)-private.

    Parameters
    ----------
    epsilon : array_like
        $\epsilon \ge 0$.
    sensitivity : array_like
        $\Delta$, how far one user can move the number.
    sigma : array_like
        $\sigma$, the standard deviation of the noise.

    Examples
    --------
    >>> float(gaussian_delta(epsilon=1.0, sensitivity=1.0, sigma=1.0))
    0.126936737507
    """
    eps = _check.numbers("epsilon", epsilon, _check.NON_NEGATIVE)
    sens = _check.numbers("sensitivity", sensitivity, _check.POSITIVE)
    sd = _check.numbers("sigma", sigma, _check.POSITIVE)
    _check.same_shape(epsilon=eps, sensitivity=sens, sigma=sd)
    return _delta(eps, sd / sens)


def gaussian_epsilon(*, delta: ArrayLike, sensitivity: ArrayLike, sigma: ArrayLike) -> FloatArray:
    """Compute the smallest ε with which Gaussian noise is (ε, δ)-private.

    The result is 0 if the noise is already (0, δ)-private.

    Parameters
    ----------
    delta : array_like
        δ, between 0 and 1.
    sensitivity, sigma : array_like
        Δ and σ as for `gaussian_delta`.

    Examples
    --------
    >>> float(gaussian_epsilon(delta=1e-5, sensitivity=1.0, sigma=4.0))
    0.9263415040
    """
    dlt = _check.numbers("delta", delta, _check.FRACTION)
    sens = _check.numbers("sensitivity", sensitivity, _check.POSITIVE)
    sd = _check.numbers("sigma", sigma, _check.POSITIVE)
    _check.same_shape(delta=dlt, sensitivity=sens, sigma=sd)
    dlt, ratio = np.broadcast_arrays(dlt, sd / sens)
    zero = np.zeros_like(ratio)
    # Φ(-u) <= δ is enough, and Φ(-z) <= δ for z = sqrt(2 ln 1/δ).
    with np.errstate(over="ignore", divide="ignore"):
        enough = (0.5 / ratio**2 + np.sqrt(-2.0 * np.log(dlt)) / ratio) * (1.0 + 1e-9)
    target = dlt * _MARGIN
    private = np.where(_delta(zero, ratio) <= target, 0.0, enough)
    return _private_side(lambda e: _delta(e, ratio) <= target, not_private=zero, private=private)


def gaussian_sigma(*, epsilon: ArrayLike, delta: ArrayLike, sensitivity: ArrayLike) -> FloatArray:
    """Compute the smallest standard deviation that is (ε, δ)-private.

    This is the analytic Gaussian mechanism, for every ε.

    Parameters
    ----------
    epsilon : array_like
        ε ≥ 0.
    delta : array_like
        δ, between 0 and 1.
    sensitivity : array_like
        Δ as for `gaussian_delta`.

    Examples
    --------
    >>> float(gaussian_sigma(epsilon=1.0, delta=1e-5, sensitivity=1.0))
    3.7306316
    """
    eps = _check.numbers("epsilon", epsilon, _check.NON_NEGATIVE)
    dlt = _check.numbers("delta", delta, _check.FRACTION)
    sens = _check.numbers("sensitivity", sensitivity, _check.POSITIVE)
    _check.same_shape(epsilon=eps, delta=dlt, sensitivity=sens)
    eps, dlt = np.broadcast_arrays(eps, dlt)
    # δ(ε, σ) <= δ(0, σ) <= Δ/(σ sqrt(2π)), and u = z as above: whichever asks for less noise.
    z = np.sqrt(-2.0 * np.log(dlt))
    with np.errstate(divide="ignore", over="ignore"):
        enough = np.minimum(1.0 / (dlt * _SQRT_2PI), (z + np.sqrt(z * z + 2.0 * eps)) / (2.0 * eps))
        private = np.minimum(enough * (1.0 + 1e-9), np.finfo(float).max)
    ratio = _private_side(
        lambda r: _delta(eps, r) <= dlt * _MARGIN, not_private=np.zeros_like(private), private=private
    )
    result: FloatArray = ratio * sens
    return result


def _delta(eps: FloatArray, ratio: FloatArray) -> FloatArray:
    """δ for σ = ``ratio`` · Δ, to about twelve digits."""
    eps, ratio = np.broadcast_arrays(eps, ratio)
    with np.errstate(all="ignore"):  # the branch that overflows or cancels is not taken
        h = 1.0 / ratio
        return np.where(h < _NARROW, _delta_narrow(eps, h), _delta_wide(eps, h))[()]


def _delta_wide(eps: FloatArray, h: FloatArray) -> FloatArray:
    from scipy.special import erfcx, ndtr  # here, because importing it takes longer than all of hybriddp

    u, v = eps / h - 0.5 * h, eps / h + 0.5 * h
    tail = 0.5 * np.exp(-0.5 * u * u)
    # erfcx(u) overflows far below 0, where Φ(-u) is near 1 and needs no scaling.
    near = np.where(u > 0.0, tail * erfcx(np.maximum(u, 0.0) / _SQRT2), ndtr(-u))
    result: FloatArray = np.maximum(near - tail * erfcx(v / _SQRT2), 0.0)
    return result


def _delta_narrow(eps: FloatArray, h: FloatArray) -> FloatArray:
    r"""Compute δ for $h = \Delta/\sigma$ near 0.

    There $\Phi(-u)$ and $e^\epsilon \Phi(-v)$ are nearly equal.

    With $m = \epsilon/h$ in the middle of $u$ and $v$, δ is $\int_u^v \varphi - (e^\epsilon - 1)\Phi(-v)$; the integral
    is $h \varphi(m)$ times a series in $h^2$, and $\epsilon = m h$, so that $h$ is a factor of both terms.
    """
    from scipy.special import erfcx

    m = eps / h
    m2, h2 = m * m, h * h
    series = 1.0 + h2 / 24.0 * (m2 - 1.0)
    series += h2 * h2 / 1920.0 * (m2 * m2 - 6.0 * m2 + 3.0)
    series += h2**3 / 322560.0 * (m2**3 - 15.0 * m2 * m2 + 45.0 * m2 - 15.0)
    density = np.exp(-0.5 * m2) / _SQRT_2PI
    v = m + 0.5 * h
    above = 0.5 * np.exp(-0.5 * v * v) * erfcx(v / _SQRT2)
    growth = np.where(eps > 0.0, np.expm1(eps) / np.where(eps > 0.0, eps, 1.0), 1.0)
    result: FloatArray = np.maximum(h * (density * series - m * growth * above), 0.0)
    return np.where(np.isnan(result), 0.0, result)  # where the tail is beyond all floats


def _private_side(
    is_private: Callable[[FloatArray], NDArray[np.bool_]], *, not_private: FloatArray, private: FloatArray
) -> FloatArray:
    """Return the upper ends of brackets after bisection, element by element.

    Each bracket is halved until no float lies between its ends.
    """
    low, high = np.array(not_private), np.array(private)
    while True:
        middle = low + 0.5 * (high - low)
        if not np.any((low < middle) & (middle < high)):
            return high[()]
        private_there = np.asarray(is_private(np.maximum(middle, np.finfo(float).tiny)))
        high = np.where(private_there, middle, high)
        low = np.where(private_there, low, middle)
