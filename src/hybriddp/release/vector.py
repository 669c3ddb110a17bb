"""Many whole numbers about the trusted group at once, with noise that hides any one user in all of them together.

One user changes the numbers by at most ``sensitivity`` in total (the sum of all changes). Discrete Laplace noise of the
scale sensitivity/ε on each of them, drawn by OpenDP, hides that: pure ε, whatever the number of numbers.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.privacy import Privacy
from hybriddp.randomness import simulation_generator
from hybriddp.release.mechanisms import import_opendp


@dataclass(frozen=True, slots=True)
class PrivateVector:
    """Numbers with noise: safe to publish, if they are not ``seeded``.

    Attributes
    ----------
    values : ndarray of int64
        The numbers, with noise.
    scale : float
        The scale of the noise on each.
    seeded : bool
        Whether the noise can be repeated: then this is a simulation, and hides nothing.
    """

    values: NDArray[np.int64]
    scale: float
    seeded: bool

    @property
    def variance(self) -> float:
        """The variance of the noise on each number."""
        return laplace_variance(self.scale)


def release_vector(
    values: NDArray[np.int64],
    *,
    sensitivity: int,
    privacy: Privacy,
    random_state: int | np.random.Generator | None = None,
) -> PrivateVector:
    """The numbers with noise. Whoever calls this has paid for it first.

    Parameters
    ----------
    values : ndarray of int64
        The exact numbers.
    sensitivity : int
        How much one user can change them, all changes added up.
    privacy : Privacy
        What it costs; δ is 0.
    random_state : int or numpy.random.Generator, optional
        For simulation only.
    """
    scale = laplace_scale(sensitivity, privacy)
    if random_state is None:
        noisy = np.array(_measurement(scale)(values.tolist()), np.int64)
        return PrivateVector(noisy, scale, seeded=False)
    generator = simulation_generator(random_state, "release")
    # The difference of two geometric variables has the law of the noise.
    stop = -math.expm1(-1 / scale)
    noise = generator.geometric(stop, values.shape) - generator.geometric(stop, values.shape)
    return PrivateVector(values + noise, scale, seeded=True)


@lru_cache(maxsize=256)
def laplace_scale(sensitivity: int, privacy: Privacy) -> float:
    """The smallest scale for which OpenDP's own privacy map says that the promise is kept."""
    scale = float(sensitivity / privacy.exact_epsilon)
    while Fraction(_measurement(scale).map(sensitivity)) > privacy.exact_epsilon:
        scale = math.nextafter(scale, math.inf)
    return scale


def laplace_variance(scale: float) -> float:
    r"""The variance of discrete Laplace noise, $P[k] \propto e^{-|k|/b}$."""
    return 1 / (2 * math.sinh(1 / (2 * scale)) ** 2)


@lru_cache(maxsize=256)
def _measurement(scale: float) -> Any:  # noqa: ANN401
    dp = import_opendp()
    return dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale)
