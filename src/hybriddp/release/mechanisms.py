r"""Noise mechanisms on the integers, drawn by OpenDP. `hybriddp.release.release` alone calls them.

**Discrete Laplace** noise gives pure ε, for one number and for many: if one user changes the numbers by at most Δ (the
sum of all changes), independent noise of scale Δ/ε on each hides that user, however many numbers there are. **Discrete
Gaussian** noise, where δ > 0, is for one number.

The scale is the smallest floating-point number (for Gaussian noise up to a part in $10^9$) for which OpenDP's own
privacy map stays within what was promised, compared as exact fractions.

With a ``random_state``, numpy draws noise of the same law, much faster: for simulation, never for a private release.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS
from hybriddp.privacy import Privacy
from hybriddp.randomness import simulation_generator


@dataclass(frozen=True, slots=True)
class Mechanism:
    r"""A noise distribution on the integers.

    Attributes
    ----------
    kind : str
        ``"discrete-laplace"`` or ``"discrete-gaussian"``.
    scale : float
        $b$ with $P[k] \propto e^{-|k|/b}$, or σ with $P[k] \propto e^{-k^2/2\sigma^2}$.
    """

    kind: str
    scale: float

    @property
    def variance(self) -> float:
        """The variance of the noise; the discrete Gaussian's is at most σ²."""
        if self.kind == "discrete-gaussian":
            return self.scale**2
        return laplace_variance(self.scale)

    def draw(self, shape: tuple[int, ...], random_state: int | np.random.Generator | None) -> NDArray[np.int64]:
        """Draw independently. With a ``random_state`` draws can be repeated, and hide nothing."""
        if random_state is None:
            return np.array(_measurement(self)([0] * math.prod(shape)), np.int64).reshape(shape)
        generator = simulation_generator(random_state, "release")
        if self.kind == "discrete-gaussian":  # σ is at least 2^20 units or so: rounding is invisible
            return np.rint(generator.normal(0.0, self.scale, shape)).astype(np.int64)
        # The difference of two geometric variables has exactly this law.
        stop = -math.expm1(-1 / self.scale)
        return np.asarray(generator.geometric(stop, shape) - generator.geometric(stop, shape))


@lru_cache(maxsize=256)
def mechanism_for(privacy: Privacy, sensitivity: int = UNITS, *, size: int = 1) -> Mechanism:
    """Choose the least noise that keeps the promise, on ``size`` numbers of this sensitivity; by default on a total."""
    if privacy.exact_delta == 0:
        return Mechanism("discrete-laplace", laplace_scale(sensitivity, privacy))
    if size > 1:
        raise ParameterError("delta", "0 for a release of several numbers", privacy.delta)
    return Mechanism("discrete-gaussian", _gaussian_scale(sensitivity, privacy))


@lru_cache(maxsize=256)
def laplace_scale(sensitivity: int, privacy: Privacy) -> float:
    """Find the smallest scale of discrete Laplace noise for this ε, by OpenDP's privacy map."""
    scale = float(sensitivity / privacy.exact_epsilon)
    while Fraction(_measurement(Mechanism("discrete-laplace", scale)).map(sensitivity)) > privacy.exact_epsilon:
        scale = math.nextafter(scale, math.inf)
    return scale


def laplace_variance(scale: float) -> float:
    """Compute the variance of discrete Laplace noise, a little less than twice its squared scale."""
    return 1 / (2 * math.sinh(1 / (2 * scale)) ** 2)


def _gaussian_scale(sensitivity: int, privacy: Privacy) -> float:
    """Bisect on OpenDP's conversion of zero-concentrated to approximate differential privacy."""
    low, high = 0.0, float(sensitivity)
    while not _keeps(privacy, sensitivity, high):
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high and (high - low) > 1e-9 * high:
        low, high = (low, middle) if _keeps(privacy, sensitivity, middle) else (middle, high)
    return high


def _keeps(privacy: Privacy, sensitivity: int, scale: float) -> bool:
    dp, delta = import_opendp(), float(privacy.exact_delta)
    if Fraction(delta) > privacy.exact_delta:
        delta = math.nextafter(delta, 0.0)
    approximate = dp.combinators.make_zCDP_to_approxDP(_measurement(Mechanism("discrete-gaussian", scale)))
    return (
        Fraction(dp.combinators.make_fix_delta(approximate, delta=delta).map(sensitivity)[0]) <= privacy.exact_epsilon
    )


@lru_cache(maxsize=256)
def _measurement(mechanism: Mechanism) -> Any:  # noqa: ANN401
    dp = import_opendp()
    make, distance = dp.measurements.make_laplace, dp.metrics.l1_distance
    if mechanism.kind == "discrete-gaussian":
        make, distance = dp.measurements.make_gaussian, dp.metrics.l2_distance
    domain = dp.domains.vector_domain(dp.domains.atom_domain(T="i64"))
    return make(domain, distance(T="i64"), scale=mechanism.scale)


def import_opendp() -> Any:  # noqa: ANN401
    """Import the library that draws the noise."""
    # Here, because not every command needs it; and not its prelude, which imports all of scikit-learn on the way.
    from opendp import combinators, domains, measurements, metrics, mod

    mod.enable_features("contrib")
    return SimpleNamespace(combinators=combinators, domains=domains, measurements=measurements, metrics=metrics)
