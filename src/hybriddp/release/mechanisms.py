r"""Noise on an integer total, drawn by OpenDP: discrete Laplace for pure privacy, discrete Gaussian where δ > 0.

One user changes the total by at most $2^{24}$ units. The scale is the smallest floating-point number (for Gaussian
noise but for a part in $10^9$) for which OpenDP's own privacy map says that this costs no more than what was promised,
compared as exact fractions.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from hybriddp.channels.laplace import DiscreteLaplace
from hybriddp.grid import UNITS
from hybriddp.privacy import Privacy
from hybriddp.randomness import byte_source, simulation_generator


@dataclass(frozen=True, slots=True)
class Mechanism:
    r"""A noise distribution on totals.

    Attributes
    ----------
    kind : str
        ``"discrete-laplace"`` or ``"discrete-gaussian"``.
    scale : float
        Its scale in units: $b$ with $P[k] \propto e^{-|k|/b}$, or σ with $P[k] \propto e^{-k^2/2\sigma^2}$.
    """

    kind: str
    scale: float

    @property
    def variance(self) -> float:
        """The variance of the noise in squared units; the discrete Gaussian's is at most σ²."""
        if self.kind == "discrete-gaussian":
            return self.scale**2
        return 1 / (2 * math.sinh(1 / (2 * self.scale)) ** 2)


def mechanism_for(privacy: Privacy) -> Mechanism:
    """The least noise on a total that keeps the promise."""
    if privacy.exact_delta == 0:
        return _laplace_for(privacy)
    return _gaussian_for(privacy)


def draw(mechanism: Mechanism, privacy: Privacy, random_state: int | np.random.Generator | None) -> int:
    """One draw of the noise. With a ``random_state`` it can be repeated, and hides nothing."""
    if random_state is None:
        return int(_measurement(mechanism)(0))
    generator = simulation_generator(random_state, "release")
    if mechanism.kind == "discrete-gaussian":  # σ is at least 2^20 units or so: rounding changes nothing one could see
        return round(generator.normal(0.0, mechanism.scale))
    return int(_simulated(privacy.epsilon).noise(1, byte_source(generator))[0])


@lru_cache(maxsize=64)
def _simulated(epsilon: str) -> DiscreteLaplace:
    return DiscreteLaplace(epsilon=epsilon)


@lru_cache(maxsize=64)
def _laplace_for(privacy: Privacy) -> Mechanism:
    scale = float(UNITS / privacy.exact_epsilon)
    while Fraction(_measurement(Mechanism("discrete-laplace", scale)).map(UNITS)) > privacy.exact_epsilon:
        scale = math.nextafter(scale, math.inf)
    return Mechanism("discrete-laplace", scale)


@lru_cache(maxsize=64)
def _gaussian_for(privacy: Privacy) -> Mechanism:
    """By bisection on OpenDP's conversion of zero-concentrated to approximate differential privacy."""
    low, high = 0.0, float(UNITS)
    while not _keeps(privacy, high):
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high and (high - low) > 1e-9 * high:
        low, high = (low, middle) if _keeps(privacy, middle) else (middle, high)
    return Mechanism("discrete-gaussian", high)


def _keeps(privacy: Privacy, scale: float) -> bool:
    dp = import_opendp()
    approximate = dp.c.make_zCDP_to_approxDP(_measurement(Mechanism("discrete-gaussian", scale)))
    fixed = dp.c.make_fix_delta(approximate, delta=_below(privacy.exact_delta))
    return Fraction(fixed.map(UNITS)[0]) <= privacy.exact_epsilon


def _below(exact: Fraction) -> float:
    """The largest float that is not above an exact number."""
    near = float(exact)
    return near if Fraction(near) <= exact else math.nextafter(near, 0.0)


@lru_cache(maxsize=64)
def _measurement(mechanism: Mechanism) -> Any:  # noqa: ANN401
    dp = import_opendp()
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    make = dp.m.make_laplace if mechanism.kind == "discrete-laplace" else dp.m.make_gaussian
    return make(*space, scale=mechanism.scale)


def import_opendp() -> Any:  # noqa: ANN401
    """The library that draws the noise."""
    # Here, because not every command needs it; and not its prelude, which imports all of scikit-learn on the way.
    from opendp import combinators, measurements
    from opendp.domains import atom_domain, vector_domain
    from opendp.metrics import absolute_distance, l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return SimpleNamespace(
        c=combinators,
        m=measurements,
        atom_domain=atom_domain,
        vector_domain=vector_domain,
        absolute_distance=absolute_distance,
        l1_distance=l1_distance,
    )
