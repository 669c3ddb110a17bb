r"""Amplification by Laplace noise: per group, pure and with δ > 0.

The noise of the published estimate is $Z = b_1 \mathrm{Lap} + \sum_{i=1}^{h} b_2 \mathrm{Lap}_i$ with
$b_1 = w m/(c n \epsilon)$ and $b_2 = (1-w) m/((1-c) n \epsilon)$. It is log-concave, so for a shift $D$ the worst
event is a half line:

$$
\epsilon(x) = \log\frac{p(x)}{p(x + D)}, \qquad
\delta(x) = P[Z > x] - e^{\epsilon(x)} P[Z > x + D].
$$

Pure: $\epsilon' = D/\max(b_1, b_2)$. The paper finds no amplification, which is true of the worst user only: with
$w > c$ local users gain, at δ = 0 even.

**Density and tail** to twelve digits or not at all (`LaplaceSum`). With the moment generating function
$M(s) = 1/((1-(b_1 s)^2)(1-(b_2 s)^2)^h)$,

$$
p(x) = \frac{1}{2\pi i}\int M(s)\, e^{-s x}\, ds, \qquad P[Z > x] = \frac{1}{2\pi i}\int M(s)\, e^{-s x}\,\frac{ds}{s}
$$

along any line that crosses the real axis between 0 and $1/\max(b)$. It crosses at the saddle point, where the
integrand is largest on the line and smallest on the axis, and bends away to the right as a hyperbola whose branches
stay more than 45 degrees from the axis: there $M$ falls and $e^{-sx}$ falls too, without oscillating much. The
trapezoid rule then converges geometrically. The number of points is doubled until two results agree, and if they do
not, `NumericalError` is raised: a step chosen from the distance to the poles alone would be wrong for few terms.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import NumericalError
from hybriddp.grid import read_only
from hybriddp.paper.amplification.groups import PerGroup, check_honest, sensitivities
from hybriddp.theory import Setting

_ANGLE = math.radians(65.0)
_REACH = 14.0  # of the hyperbola's parameter: e^14 saddle widths
_AGREE = 1e-13  # how well two numbers of points must agree, relatively
_POINTS = (64, 128, 256, 512, 1024, 2048, 4096)
_ERROR = 1e-12  # of a logarithm of a density or a tail: ten times what the integrals are certified to


def exact(setting: Setting, *, weight: float, width: float, honest_local: int, delta: float = 0.0) -> PerGroup[float]:
    r"""Bound ε′ of each group at δ from above, to about nine digits.

    Parameters
    ----------
    setting : Setting
        The users and their noise: $s_T^2$ on the trusted mean and $s_L^2$ on one report, both Laplace.
    weight, width : float
        $w$, fixed before any data was seen, and $m$.
    honest_local : int
        $h$: local users whose noise the adversary does not know; a local user counts their own.
    delta : float
        δ, from 0 and below 1.

    Examples
    --------
    >>> from hybriddp.theory import UC_SALARIES as pay, laplace_noise
    >>> noise = laplace_noise(n_users=pay.n_users, trusted_fraction=0.01, width=pay.width, epsilon=1.0)
    >>> setting = pay.setting(0.01, noise)
    >>> found = exact(setting, weight=0.9, width=pay.width, honest_local=250_000)
    >>> found.trusted, found.local
    (1.0, 0.0011223)
    """
    w, m = _check.number("weight", weight, _check.WEIGHT), _check.number("width", width, _check.POSITIVE)
    dlt = _check.number("delta", delta, _check.DELTA)
    honest = _check.integer("honest_local", honest_local, at_least=0)
    check_honest(setting, honest)
    shift = sensitivities(setting, weight=w, width=1.0)  # in widths
    of_one = (1 - w) / float((1 - setting.trusted_fraction) * setting.n_users)
    trusted, local = (math.sqrt(noise / 2) / m for noise in (setting.trusted_noise, setting.local_noise))
    noise = LaplaceSum(w * trusted, of_one * local, honest)
    return PerGroup(_epsilon(noise, float(shift.trusted), dlt), _epsilon(noise, float(shift.local), dlt))


@dataclass(frozen=True, slots=True)
class DensityAndTail:
    """Logarithms of density and tail probability at a point."""

    log_density: float
    log_tail: float


@dataclass(frozen=True, slots=True)
class LaplaceSum:
    """The law of a Laplace variable of scale ``first`` ($b_1$) plus $h$ = ``terms`` of scale ``others`` ($b_2$)."""

    first: float
    others: float
    terms: int

    @property
    def widest(self) -> float:
        """Largest scale of a term."""
        return max(self.first, self.others if self.terms else 0.0)

    @property
    def single(self) -> bool:
        """Whether the sum is one Laplace variable."""
        return (self.terms == 0 or self.others == 0) or (self.terms == 1 and self.first == 0)

    @property
    def sd(self) -> float:
        """Standard deviation."""
        return math.sqrt(2 * self.first**2 + 2 * self.terms * self.others**2)

    def at(self, x: float) -> DensityAndTail:
        """Compute density and tail at ``x``; the law is symmetric."""
        if x >= 0:
            return self._right(x)
        mirrored = self._right(-x)
        return DensityAndTail(mirrored.log_density, math.log1p(-math.exp(mirrored.log_tail)))

    def _right(self, x: float) -> DensityAndTail:
        sigma = self._saddle(x)
        width = 1 / math.sqrt(self._curvature(sigma))
        last = None
        for points in _POINTS:
            density, tail = self._integrals(x, sigma, width, points)
            if last is not None and abs(density / last[0] - 1) < _AGREE and abs(tail / last[1] - 1) < _AGREE:
                top = self._log_mgf(sigma) - sigma * x
                return DensityAndTail(top + math.log(density), top + math.log(tail))
            last = density, tail
        raise NumericalError(f"The integrals of {self!r} at {x:g} did not settle.")

    def _integrals(self, x: float, sigma: float, width: float, points: int) -> tuple[float, float]:
        """Integrate along the upper half of the path, in multiples of the integrand at the saddle point."""
        u = _parameters(points)
        scale = 1.5 * width
        s = sigma + scale * ((np.cosh(u) - 1) * math.cos(_ANGLE) + 1j * np.sinh(u) * math.sin(_ANGLE))
        ds = scale * (np.sinh(u) * math.cos(_ANGLE) + 1j * np.cosh(u) * math.sin(_ANGLE))
        log_mgf = -sum(k * _log1p(-((b * s) ** 2)) for b, k in self._scales)
        value = np.exp(log_mgf - s * x - (self._log_mgf(sigma) - sigma * x)) * ds
        step = u[1] - u[0]
        value[0] /= 2  # the point on the axis belongs to both halves
        return float(value.imag.sum() * step / math.pi), float((value / s).imag.sum() * step / math.pi)

    @property
    def _scales(self) -> tuple[tuple[float, int], ...]:
        """Scales with their numbers of terms."""
        return (self.first, 1), (self.others, self.terms)

    def _log_mgf(self, s: float) -> float:
        return -sum(k * math.log1p(-((b * s) ** 2)) for b, k in self._scales)

    def _slope(self, s: float, x: float) -> float:
        r"""Differentiate the logarithm of $M(s) e^{-sx}/s$, which grows from $-\infty$ to $\infty$."""
        return sum(2 * k * b * b * s / (1 - (b * s) ** 2) for b, k in self._scales) - x - 1 / s

    def _curvature(self, s: float) -> float:
        return sum(2 * k * b * b * (1 + (b * s) ** 2) / (1 - (b * s) ** 2) ** 2 for b, k in self._scales) + 1 / s**2

    def _saddle(self, x: float) -> float:
        """Approximate the root of the slope; any point of the interval would do, the root is best."""
        low, high = 0.0, 1 / self.widest
        for _ in range(24):
            middle = (low + high) / 2
            low, high = (middle, high) if self._slope(middle, x) < 0 else (low, middle)
        return low


def _log1p(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    r"""Compute $\log(1 + z)$ accurately for small complex $z$, which numpy does not."""
    x, y = z.real, z.imag
    result: NDArray[np.complex128] = 0.5 * np.log1p(x * (2 + x) + y * y) + 1j * np.arctan2(y, 1 + x)
    return result


@lru_cache(maxsize=8)
def _parameters(points: int) -> FloatArray:
    return read_only(np.linspace(0.0, _REACH, points))


def _epsilon(noise: LaplaceSum, shift: float, delta: float) -> float:
    """Compute the smallest ε at δ for which the noise hides a shift."""
    if shift == 0:
        return 0.0
    if noise.widest == 0:
        return math.inf
    pure = shift / noise.widest
    if delta == 0:
        return pure
    if noise.single:  # one Laplace variable: in closed form
        return max(0.0, pure + 2 * math.log1p(-delta))
    try:
        return min(_search(noise, shift, delta * (1 - 1e-9)), pure)
    except (NumericalError, OverflowError, ZeroDivisionError, ValueError):
        return pure  # which always holds: where one scale is next to nothing, or δ is, no integral settles


def _search(noise: LaplaceSum, shift: float, target: float) -> float:
    """Find ε where δ falls below the target: bracket, Brent's method, then a step to the safe side."""
    from scipy.optimize import brentq

    def excess(x: float) -> float:
        return math.log(max(_at(noise, x, shift)[1], 1e-320) / target)

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
    return _at(noise, x, shift)[0]


def _at(noise: LaplaceSum, x: float, shift: float) -> tuple[float, float]:
    """Bound ε and δ at a point from above, with the error of the integrals."""
    here, there = noise.at(x), noise.at(x + shift)
    epsilon = max(here.log_density - there.log_density, 0.0) + _ERROR
    # P[Z > x] - e^ε P[Z > x + D], without losing what is common to both.
    tail = math.exp(here.log_tail)
    return epsilon, tail * -math.expm1(epsilon + there.log_tail - here.log_tail) + tail * _ERROR
