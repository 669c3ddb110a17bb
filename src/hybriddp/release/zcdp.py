r"""The price of Gaussian and pure releases together: ρ and squares of Δ/σ add up, ε does not.

Three statements hold for every history, and the cheapest counts.

1. Basic composition: ε and δ add up.
2. Gaussian noise composes to Gaussian noise: with $\mu^2 = \sum (\Delta_i/\sigma_i)^2$ the analytic formula [BW18] is
   exact. It is for continuous noise and does *not* hold for discrete noise as it is; that costs at most
   `MechanismPrice.lattice_shift` more. All else adds its ε.
3. Zero-concentrated privacy: $\rho = \sum \Delta_i^2/2\sigma_i^2$, discrete or not. A release that is ε-private, or
   (ε, δ)-private, is $\epsilon^2/2$-zCDP but for a probability of δ [BS16], so it may add $\epsilon^2/2$ to ρ or ε to
   ε: the cheaper ones do the first. For every $\alpha > 1$, ρ-zCDP is (ε, δ)-private with
   $\epsilon = \rho\alpha + \ln(1 - 1/\alpha) - \ln(\delta\alpha)/(\alpha - 1)$ ([CKS20], Proposition 12).

The δ of what is not Gaussian adds up; the Gaussian formulas have what is left of the budget's. Sums are exact, and what
is not is rounded up.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hybriddp.release.cost import History, Times
from hybriddp.release.mechanism_price import GAUSSIAN, MechanismPrice
from hybriddp.theory.gaussian import gaussian_epsilon

_SLACK = 1e-12  # of every term, for the rounding in logarithms and products


@dataclass(frozen=True, slots=True)
class Noise:
    """A mechanism, and how often it was used."""

    mechanism: MechanismPrice
    times: int


def split(history: History) -> tuple[list[Noise], list[Times]]:
    """The Gaussian mechanisms, and everything else: what has an ε, and a δ that adds up."""
    gaussian, others = [], []
    for paid in history:
        if paid.cost.mechanism is not None and paid.cost.mechanism.kind in GAUSSIAN:
            gaussian.append(Noise(paid.cost.mechanism, paid.times))
        else:
            others.append(paid)
    return gaussian, others


def sum_epsilon(history: Iterable[Times]) -> Fraction:
    """The sum of all ε."""
    return sum((paid.times * paid.cost.epsilon for paid in history), Fraction(0))


def sum_delta(history: Iterable[Times]) -> Fraction:
    """The sum of all δ."""
    return sum((paid.times * paid.cost.delta for paid in history), Fraction(0))


def basic_price(history: History, delta: Fraction) -> Fraction | None:
    """The sum of all ε; None if the sum of all δ is more than ``delta``."""
    return sum_epsilon(history) if sum_delta(history) <= delta else None


@lru_cache(maxsize=4096)
def zcdp_price(history: History, delta: Fraction) -> Fraction | None:
    """The least ε that is known to hold at this δ; None if none is."""
    gaussian, others = split(history)
    left = delta - sum_delta(others)
    prices = [basic_price(history, delta)]
    if left > 0:
        prices += [_concentrated(gaussian, others, left)]
        if gaussian:
            prices += [composed_gaussian(gaussian, left) + sum_epsilon(others)]
    return min((price for price in prices if price is not None), default=None)


def composed_gaussian(mechanisms: Sequence[Noise], delta: Fraction) -> Fraction:
    """The ε of all of these Gaussian mechanisms together, by the analytic formula."""
    epsilon = gaussian_epsilon(delta=below(delta), sensitivity=joint_sensitivity(mechanisms), sigma=1.0)
    return Fraction(float(epsilon)) + total_shift(mechanisms)


def joint_sensitivity(mechanisms: Sequence[Noise]) -> float:
    """The sensitivity, in units of σ, of the one Gaussian mechanism that these are together."""
    twice_rho = 2 * _rho(mechanisms)
    return math.nextafter(math.sqrt(above(twice_rho)), math.inf)


def total_shift(mechanisms: Sequence[Noise]) -> Fraction:
    """What discrete noise costs more than continuous noise, over all of these."""
    return sum((noise.times * noise.mechanism.lattice_shift for noise in mechanisms), Fraction(0))


def _rho(mechanisms: Sequence[Noise]) -> Fraction:
    return sum((noise.times * noise.mechanism.rho for noise in mechanisms), Fraction(0))


def _concentrated(gaussian: Sequence[Noise], others: Sequence[Times], delta: Fraction) -> Fraction:
    """Statement 3, with the best number of the others in ρ: those of the smallest ε.

    ε at ρ is the least of straight lines in ρ, one for each α, and so concave: of several releases with the same ε it
    is best to move all into ρ, or none.
    """
    rho, outside = _rho(gaussian), sum_epsilon(others)
    prices = [zcdp_epsilon(rho, delta) + outside]
    for paid in sorted(others, key=lambda paid: paid.cost.epsilon):
        rho += paid.times * paid.cost.epsilon**2 / 2
        outside -= paid.times * paid.cost.epsilon
        prices.append(zcdp_epsilon(rho, delta) + outside)
    return min(prices)


def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """The ε at which a ρ-zCDP mechanism is (ε, δ)-private, rounded up.

    Every α gives a true statement, so that the search for the best one need not be exact.

    Examples
    --------
    >>> float(zcdp_epsilon(Fraction("0.1"), Fraction("1e-6")))
    2.14193892
    """
    if rho == 0:
        return Fraction(0)
    r, log_delta = above(rho), math.log(below(delta))
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


def below(exact: Fraction) -> float:
    """A float that is not above an exact number."""
    near = float(exact)
    return near if Fraction(near) <= exact else math.nextafter(near, 0.0)


def above(exact: Fraction) -> float:
    """A float that is not below an exact number."""
    near = float(exact)
    return near if Fraction(near) >= exact else math.nextafter(near, math.inf)
