r"""Privacy accountants: the ε of all that happened to a user, at the budget's δ, in three ways.

All three are true, whatever a ledger holds, and none costs more than the one before it. What happens to disjoint users
does not add up: a user's history is what happened to everybody, and to their part of every partition.

**Basic composition**: ε and δ add up.

**Zero-concentrated privacy.** Three statements hold for every history, and the cheapest counts.

1. Basic composition.
2. Gaussian noise composes to Gaussian noise: with $\mu^2 = \sum (\Delta_i/\sigma_i)^2$ the analytic formula [BW18] is
   exact. It is for continuous noise and does *not* hold for discrete noise as it is; that costs at most
   `MechanismRecord.lattice_shift` more. All else adds its ε.
3. $\rho = \sum \Delta_i^2/2\sigma_i^2$, discrete or not. A release that is ε-private, or (ε, δ)-private, is
   $\epsilon^2/2$-zCDP except for a probability of δ [BS16], so it may add $\epsilon^2/2$ to ρ or ε to ε: the cheaper
   ones do the first. For every $\alpha > 1$, ρ-zCDP is (ε, δ)-private with
   $\epsilon = \rho\alpha + \ln(1 - 1/\alpha) - \ln(\delta\alpha)/(\alpha - 1)$ ([CKS20], Proposition 12).

The δ of what is not Gaussian adds up; the Gaussian formulas have what is left of the budget's. Sums are exact, and what
is not is rounded up.

**Privacy loss distributions**, by Google's dp-accounting, discretized upwards. Gaussian mechanisms are one Gaussian
mechanism together; every Laplace mechanism has its own distribution; what is known by its (ε, δ) only has the worst
distribution there is with it. Discrete noise counts as continuous noise plus its `lattice_shift`: dp-accounting knows
the discrete distributions too, but looks at every integer, and ours have $2^{24}$ and more.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from hybriddp.errors import MissingExtraError, ParameterError
from hybriddp.release.event import NOTHING, Part, Spent
from hybriddp.release.history import Cost, Exposure, History, RepeatedCost
from hybriddp.release.mechanism_record import GAUSSIAN, LAPLACE, MechanismRecord
from hybriddp.theory.gaussian import gaussian_epsilon

ACCOUNTANTS = {
    "basic": "ε and δ add up, exactly",
    "zcdp": "ρ adds up (zero-concentrated privacy), Gaussian noise by the analytic formula; never more than the sum",
    "pld": "privacy-loss distributions, by dp-accounting, rounded up; never more than zcdp",
}
_SLACK = 1e-12  # of every term, for the rounding in logarithms and products
_STEP = 1e-4  # of the privacy loss, for histories of up to ε = 10 in total
_CONVOLUTION_ERROR = Fraction(1e-13)  # in δ, of one convolution by Fourier transforms; many times what is seen
_LEAST_DELTA = Fraction(1e-10)  # below which that error would matter
_ROUNDING = Fraction(1, 10**9)  # in ε


@dataclass(frozen=True, slots=True)
class Accountant:
    """How the costs of a ledger's events are composed.

    Attributes
    ----------
    name : str
        ``"basic"``, ``"zcdp"`` or ``"pld"``.

    Examples
    --------
    >>> Accountant("zcdp").adds_up
    False
    """

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in ACCOUNTANTS:
            raise ParameterError("accountant", f"one of {', '.join(ACCOUNTANTS)}", self.name)
        if self.name == "pld":
            _import_dp_accounting()  # better now than when something is to be released

    @property
    def adds_up(self) -> bool:
        """Whether ε and δ are sums; if not, ε is what holds at the budget's δ."""
        return self.name == "basic"

    def spent(self, exposure: Exposure, delta: Fraction, part: Part | None = None) -> Spent:
        """Compute the most that any of these users has spent; with ``part``, any of those in it.

        By sums, it is the sums. Else it is ε at ``delta``, the budget's δ; if no ε is enough at this δ, it is the sums,
        whose δ is larger.
        """
        if self.adds_up:
            return exposure.sums(part)
        histories = exposure.histories(part)
        found = [self.epsilon(history, delta) for history in histories]
        known = [epsilon for epsilon in found if epsilon is not None]
        if len(known) < len(found):
            return exposure.sums(part)
        return Spent(max(known), delta if any(histories) else Fraction(0))

    def epsilon(self, history: History, delta: Fraction) -> Fraction | None:
        """Compute the least ε that holds at ``delta`` for one user's history; None if none is known."""
        if self.adds_up:
            return _basic_epsilon(history, delta)
        found = [_zcdp_epsilon(history, delta), _pld_epsilon(history, delta) if self.name == "pld" else None]
        return min((epsilon for epsilon in found if epsilon is not None), default=None)

    def explain(self, delta: Fraction) -> str:
        """Describe how it counts."""
        words = f"Composed by the accountant {self.name!r}: {ACCOUNTANTS[self.name]}."
        if self.adds_up or delta > 0:
            return words
        return f"{words} The budget's δ is 0: only pure releases can be paid for, and their ε adds up."


# Sums over histories


def _sums(history: Iterable[RepeatedCost]) -> Spent:
    return sum((Spent(p.times * p.cost.epsilon, p.times * p.cost.delta) for p in history), NOTHING)


_Noises = Sequence[tuple[MechanismRecord, int]]
"""Mechanisms, and how often each was used."""


def _noises(history: History, kinds: tuple[str, ...]) -> _Noises:
    return [(paid.cost.mechanism, paid.times) for paid in history if paid.cost.mechanism and paid.cost.kind in kinds]


def _rho(noises: _Noises) -> Fraction:
    return sum((times * noise.rho for noise, times in noises), Fraction(0))


def _shift(noises: _Noises) -> Fraction:
    """Add up what discrete noise costs more than continuous noise."""
    return sum((times * noise.lattice_shift for noise, times in noises), Fraction(0))


def _joint_sensitivity(noises: _Noises) -> float:
    """Compute the sensitivity, in units of σ, of the one Gaussian mechanism that these are together."""
    return math.nextafter(math.sqrt(_above(2 * _rho(noises))), math.inf)


def _not_gaussian(history: History) -> list[RepeatedCost]:
    """Select what has an ε, and a δ that adds up."""
    return [paid for paid in history if paid.cost.kind not in GAUSSIAN]


def _basic_epsilon(history: History, delta: Fraction) -> Fraction | None:
    sums = _sums(history)
    return sums.epsilon if sums.delta <= delta else None


# Zero-concentrated privacy


@lru_cache(maxsize=4096)
def _zcdp_epsilon(history: History, delta: Fraction) -> Fraction | None:
    gaussian, others = _noises(history, GAUSSIAN), _not_gaussian(history)
    left = delta - _sums(others).delta
    found = [_basic_epsilon(history, delta)]
    if left > 0:
        found.append(_concentrated(_rho(gaussian), others, left))
    if left > 0 and gaussian:
        analytic = gaussian_epsilon(delta=_below(left), sensitivity=_joint_sensitivity(gaussian), sigma=1.0)
        found.append(Fraction(float(analytic)) + _shift(gaussian) + _sums(others).epsilon)
    return min((epsilon for epsilon in found if epsilon is not None), default=None)


def _concentrated(rho: Fraction, others: Sequence[RepeatedCost], delta: Fraction) -> Fraction:
    """Statement 3, with the best number of the others in ρ: those of the smallest ε.

    ε at ρ is the least of straight lines in ρ, one for each α, and so concave: of several releases with the same ε it
    is best to move all into ρ, or none.
    """
    outside = _sums(others).epsilon
    found = [rho_to_epsilon(rho, delta) + outside]
    for paid in sorted(others, key=lambda paid: paid.cost.epsilon):
        rho += paid.times * paid.cost.epsilon**2 / 2
        outside -= paid.times * paid.cost.epsilon
        found.append(rho_to_epsilon(rho, delta) + outside)
    return min(found)


def rho_to_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Compute the ε at which a ρ-zCDP mechanism is (ε, δ)-private, rounded up.

    Every α gives a true statement, so that the search for the best one need not be exact.

    Examples
    --------
    >>> float(rho_to_epsilon(Fraction("0.1"), Fraction("1e-6")))
    2.14193892
    """
    if rho == 0:
        return Fraction(0)
    r, log_delta = _above(rho), math.log(_below(delta))
    # The usual formula ρ + 2 sqrt(ρ log(1/δ)) has this α - 1; the best one is near.
    low, high = (math.log(math.sqrt(-log_delta / r)) + side for side in (-7.0, 7.0))
    best = math.inf
    for _ in range(3):
        steps = np.linspace(low, high, 129)
        u = np.exp(steps)  # α - 1
        terms = np.array([r * (1 + u), -np.log1p(1 / u), -np.log1p(u) / u, -log_delta / u])
        epsilon = terms.sum(axis=0) + _SLACK * np.abs(terms).sum(axis=0)
        k = int(np.argmin(epsilon))
        best = min(best, float(epsilon[k]))
        low, high = float(steps[max(k - 1, 0)]), float(steps[min(k + 1, 128)])
    return Fraction(max(best, 0.0))


def _below(exact: Fraction) -> float:
    """Round an exact number down to a float."""
    near = float(exact)
    return near if Fraction(near) <= exact else math.nextafter(near, 0.0)


def _above(exact: Fraction) -> float:
    """Round an exact number up to a float."""
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)


# Privacy loss distributions


def _import_dp_accounting() -> Any:  # noqa: ANN401
    try:
        from dp_accounting import pld
    except ImportError:
        purpose = 'The accountant "pld"'
        raise MissingExtraError("dp-accounting", extra="accounting", purpose=purpose) from None
    return pld


@lru_cache(maxsize=1024)
def _pld_epsilon(history: History, delta: Fraction) -> Fraction | None:
    """None if another way is better."""
    gaussian, others = _noises(history, GAUSSIAN), _not_gaussian(history)
    left = delta - _sums(others).delta - sum(paid.times for paid in history) * _CONVOLUTION_ERROR
    if not others or left < _LEAST_DELTA:
        return None  # Gaussian noise alone has a formula, which is exact
    pld = _import_dp_accounting()
    step = _STEP * max(1.0, float(_sums(history).epsilon) / 10)
    losses = [_loss(pld, paid.cost, step).self_compose(paid.times) for paid in others]
    if gaussian:
        losses.append(
            pld.privacy_loss_distribution.from_gaussian_mechanism(
                1.0, sensitivity=_joint_sensitivity(gaussian), value_discretization_interval=step
            )
        )
    composed = losses[0]
    for loss in losses[1:]:
        composed = composed.compose(loss)
    epsilon = float(composed.get_epsilon_for_delta(_below(left)))
    shift = _shift(_noises(history, GAUSSIAN + LAPLACE))
    return None if math.isinf(epsilon) else Fraction(epsilon) + shift + _ROUNDING


def _loss(pld: Any, cost: Cost, step: float) -> Any:  # noqa: ANN401
    """Make the privacy loss of one release that is not Gaussian, without its δ."""
    make = pld.privacy_loss_distribution
    if cost.mechanism is not None and cost.kind in LAPLACE:
        ratio = _above(cost.mechanism.exact_sensitivity / cost.mechanism.exact_scale)
        return make.from_laplace_mechanism(1.0, sensitivity=ratio, value_discretization_interval=step)
    parameters = pld.common.DifferentialPrivacyParameters(_above(cost.epsilon), 0.0)
    return make.from_privacy_parameters(parameters, value_discretization_interval=step)
