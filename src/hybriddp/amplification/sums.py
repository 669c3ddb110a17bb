r"""Density and tail of $b_1 \mathrm{Lap} + \sum_{i=1}^{k} b_2 \mathrm{Lap}_i$, to twelve digits or not at all.

With the moment generating function $M(s) = 1/((1-(b_1 s)^2)(1-(b_2 s)^2)^k)$,

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

from hybriddp._check import FloatArray
from hybriddp.errors import NumericalError

_ANGLE = math.radians(65.0)
_REACH = 14.0  # of the hyperbola's parameter: e^14 saddle widths
_AGREE = 1e-13  # how well two numbers of points must agree, relatively
_POINTS = (64, 128, 256, 512, 1024, 2048, 4096)


@dataclass(frozen=True, slots=True)
class Value:
    """Logarithms of the density and of the tail probability at a point."""

    log_density: float
    log_tail: float


@dataclass(frozen=True, slots=True)
class LaplaceSum:
    """The law of the sum.

    Attributes
    ----------
    first : float
        $b_1$, the scale of the single term.
    others : float
        $b_2$, the scale of the others.
    terms : int
        $k$, how many others there are.
    """

    first: float
    others: float
    terms: int

    @property
    def widest(self) -> float:
        """The largest scale of a term."""
        return max(self.first, self.others if self.terms else 0.0)

    @property
    def single(self) -> bool:
        """Whether it is one Laplace variable only."""
        return (self.terms == 0 or self.others == 0) or (self.terms == 1 and self.first == 0)

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return math.sqrt(2 * self.first**2 + 2 * self.terms * self.others**2)

    def at(self, x: float) -> Value:
        """Density and tail at ``x``; the law is symmetric."""
        if x >= 0:
            return self._right(x)
        mirrored = self._right(-x)
        return Value(mirrored.log_density, math.log1p(-math.exp(mirrored.log_tail)))

    def _right(self, x: float) -> Value:
        sigma = self._saddle(x)
        width = 1 / math.sqrt(self._curvature(sigma))
        last = None
        for points in _POINTS:
            density, tail = self._integrals(x, sigma, width, points)
            if last is not None and abs(density / last[0] - 1) < _AGREE and abs(tail / last[1] - 1) < _AGREE:
                top = self._log_mgf(sigma) - sigma * x
                return Value(top + math.log(density), top + math.log(tail))
            last = density, tail
        raise NumericalError(f"The integrals of {self!r} at {x:g} did not settle.")

    def _integrals(self, x: float, sigma: float, width: float, points: int) -> tuple[float, float]:
        """Density and tail, as multiples of the integrand at the saddle point; the lower half is the mirror image."""
        u = _parameters(points)
        scale = 1.5 * width
        s = sigma + scale * ((np.cosh(u) - 1) * math.cos(_ANGLE) + 1j * np.sinh(u) * math.sin(_ANGLE))
        ds = scale * (np.sinh(u) * math.cos(_ANGLE) + 1j * np.cosh(u) * math.sin(_ANGLE))
        log_mgf = -_log1p(-((self.first * s) ** 2)) - self.terms * _log1p(-((self.others * s) ** 2))
        value = np.exp(log_mgf - s * x - (self._log_mgf(sigma) - sigma * x)) * ds
        step = u[1] - u[0]
        value[0] /= 2  # the point on the axis belongs to both halves
        return float(value.imag.sum() * step / math.pi), float((value / s).imag.sum() * step / math.pi)

    def _log_mgf(self, s: float) -> float:
        return -math.log1p(-((self.first * s) ** 2)) - self.terms * math.log1p(-((self.others * s) ** 2))

    def _slope(self, s: float, x: float) -> float:
        r"""The derivative of the logarithm of $M(s) e^{-sx}/s$: it grows from $-\infty$ to $\infty$."""
        a, b = self.first, self.others
        return 2 * a * a * s / (1 - (a * s) ** 2) + self.terms * 2 * b * b * s / (1 - (b * s) ** 2) - x - 1 / s

    def _curvature(self, s: float) -> float:
        a, b = self.first, self.others

        def one(scale: float) -> float:
            square = (scale * s) ** 2
            return 2 * scale**2 * (1 + square) / (1 - square) ** 2

        return one(a) + self.terms * one(b) + 1 / s**2

    def _saddle(self, x: float) -> float:
        """Near enough to the root of the slope: any point of the interval would do, the root is the best."""
        low, high = 0.0, 1 / self.widest
        for _ in range(24):
            middle = (low + high) / 2
            low, high = (middle, high) if self._slope(middle, x) < 0 else (low, middle)
        return low


def _log1p(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    r"""$\log(1 + z)$ to full accuracy for small $z$ too, which numpy's own loses for complex numbers."""
    x, y = z.real, z.imag
    result: NDArray[np.complex128] = 0.5 * np.log1p(x * (2 + x) + y * y) + 1j * np.arctan2(y, 1 + x)
    return result


@lru_cache(maxsize=8)
def _parameters(points: int) -> FloatArray:
    return np.linspace(0.0, _REACH, points)
