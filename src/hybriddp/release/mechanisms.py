r"""The noise mechanisms, drawn by OpenDP, and what the curator releases with them: a total, or a vector of integers.

**Discrete Laplace** noise gives pure ε, for one number and for many: if one user changes the numbers by at most Δ (the
sum of all changes), independent noise of scale Δ/ε on each hides that user, however many numbers there are. **Discrete
Gaussian** noise, where δ > 0, is for totals.

One user changes a total by at most $2^{24}$ units. The scale is the smallest floating-point number (for Gaussian noise
up to a part in $10^9$) for which OpenDP's own privacy map stays within what was promised, compared as exact fractions.

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

from hybriddp.grid import UNITS
from hybriddp.privacy import Privacy
from hybriddp.randomness import simulation_generator
from hybriddp.release.charging import charge_study
from hybriddp.release.event import Event, Part
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.mechanism_record import MechanismRecord


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
        """Independent draws. With a ``random_state`` they can be repeated, and hide nothing."""
        if random_state is None:
            return np.array(_measurement(self)([0] * math.prod(shape)), np.int64).reshape(shape)
        generator = simulation_generator(random_state, "release")
        if self.kind == "discrete-gaussian":  # σ is at least 2^20 units or so: rounding is invisible
            return np.rint(generator.normal(0.0, self.scale, shape)).astype(np.int64)
        # The difference of two geometric variables has exactly this law.
        stop = -math.expm1(-1 / self.scale)
        return np.asarray(generator.geometric(stop, shape) - generator.geometric(stop, shape))


@lru_cache(maxsize=64)
def mechanism_for(privacy: Privacy) -> Mechanism:
    """The least noise on a total that keeps the promise."""
    if privacy.exact_delta == 0:
        return Mechanism("discrete-laplace", laplace_scale(UNITS, privacy))
    return Mechanism("discrete-gaussian", _gaussian_scale(privacy))


@lru_cache(maxsize=256)
def laplace_scale(sensitivity: int, privacy: Privacy) -> float:
    """The smallest scale of discrete Laplace noise for this ε, by OpenDP's privacy map."""
    scale = float(sensitivity / privacy.exact_epsilon)
    while Fraction(_measurement(Mechanism("discrete-laplace", scale)).map(sensitivity)) > privacy.exact_epsilon:
        scale = math.nextafter(scale, math.inf)
    return scale


def laplace_variance(scale: float) -> float:
    """The variance of discrete Laplace noise, a little less than twice the square of its scale."""
    return 1 / (2 * math.sinh(1 / (2 * scale)) ** 2)


def _gaussian_scale(privacy: Privacy) -> float:
    """By bisection on OpenDP's conversion of zero-concentrated to approximate differential privacy."""
    low, high = 0.0, float(UNITS)
    while not _keeps(privacy, high):
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high and (high - low) > 1e-9 * high:
        low, high = (low, middle) if _keeps(privacy, middle) else (middle, high)
    return high


def _keeps(privacy: Privacy, scale: float) -> bool:
    dp, delta = import_opendp(), float(privacy.exact_delta)
    if Fraction(delta) > privacy.exact_delta:
        delta = math.nextafter(delta, 0.0)
    approximate = dp.combinators.make_zCDP_to_approxDP(_measurement(Mechanism("discrete-gaussian", scale)))
    return Fraction(dp.combinators.make_fix_delta(approximate, delta=delta).map(UNITS)[0]) <= privacy.exact_epsilon


@lru_cache(maxsize=256)
def _measurement(mechanism: Mechanism) -> Any:  # noqa: ANN401
    dp = import_opendp()
    make, distance = dp.measurements.make_laplace, dp.metrics.l1_distance
    if mechanism.kind == "discrete-gaussian":
        make, distance = dp.measurements.make_gaussian, dp.metrics.l2_distance
    domain = dp.domains.vector_domain(dp.domains.atom_domain(T="i64"))
    return make(domain, distance(T="i64"), scale=mechanism.scale)


def import_opendp() -> Any:  # noqa: ANN401
    """The library that draws the noise."""
    # Here, because not every command needs it; and not its prelude, which imports all of scikit-learn on the way.
    from opendp import combinators, domains, measurements, metrics, mod

    mod.enable_features("contrib")
    return SimpleNamespace(combinators=combinators, domains=domains, measurements=measurements, metrics=metrics)


@dataclass(frozen=True, slots=True)
class PrivateTotal:
    """A total with noise: safe to publish unless it is ``seeded``.

    Attributes
    ----------
    count, total : int
        Number of users, which is public, and the sum of their units with noise. It may lie outside of what a sum could
        be.
    mechanism, privacy : Mechanism, Privacy
        The noise, and what it cost each of these users.
    counted : bool
        Whether a ledger has it.
    seeded : bool
        Whether the noise can be repeated: then this is a simulation, and hides nothing.
    """

    count: int
    total: int
    mechanism: Mechanism
    privacy: Privacy
    counted: bool
    seeded: bool


def release_total(
    count: int,
    total: int,
    *,
    study: str,
    privacy: Privacy,
    part: Part | None = None,
    name: str | None = None,
    ledger: Ledger | None = None,
    paid: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> PrivateTotal:
    """The total of the trusted group with noise, paid for first.

    Parameters
    ----------
    count, total : int
        Number of users, and the exact sum of their units.
    study : str
        The digest of the study, for the ledger.
    privacy : Privacy
        What the release may cost each user.
    part : Part, optional
        Which part of the trusted group it is about, for the ledger.
    name : str, optional
        The name of the study, for the ledger.
    ledger : Ledger, optional
        Where the cost is written down before the noise is drawn; `BudgetError` if there is not enough left.
    paid : bool
        Whether it has been written down already, together with others (`total_event`).
    random_state : int or numpy.random.Generator, optional
        For simulation only. A simulation is not a release and is not written down.
    """
    mechanism = mechanism_for(privacy)
    seeded = random_state is not None
    counted = (ledger is not None or paid) and not seeded
    if ledger is not None and not seeded and not paid:
        charge_study(ledger, [total_event(study, privacy, part, name)], promised=privacy)
    noisy = total + int(mechanism.draw((), random_state))
    return PrivateTotal(count, noisy, mechanism, privacy, counted=counted, seeded=seeded)


def total_event(study: str, privacy: Privacy, part: Part | None, name: str | None = None) -> Event:
    """Make the event that `release_total` charges."""
    noise = mechanism_for(privacy)
    mechanism = MechanismRecord.noise(noise.kind, sensitivity=UNITS, scale=noise.scale)
    what = "total of the trusted group"
    return Event.now(what, who="trusted", study=study, privacy=privacy, part=part, mechanism=mechanism, name=name)


@dataclass(frozen=True, slots=True)
class PrivateVector:
    """Integers with discrete Laplace noise of this scale on each: safe to publish unless they are ``seeded``."""

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
    """The exact ``values`` with noise for this ε (δ is 0). Whoever calls this has paid for it first.

    ``sensitivity`` is how much one user can change the values, all changes added up. A ``random_state`` is for
    simulation only.
    """
    scale = laplace_scale(sensitivity, privacy)
    noise = Mechanism("discrete-laplace", scale).draw(values.shape, random_state)
    return PrivateVector(values + noise, scale, seeded=random_state is not None)
