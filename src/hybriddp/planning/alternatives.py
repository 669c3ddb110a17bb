r"""What else might be: another ε, other bounds, more users, groups that differ, and reports that are forged.

A smaller ε is paid in noise. Wider bounds are too: noise grows with their width. Bounds that are too tight clip values,
which moves their mean by $E[(X-u)_+]$, and no number of users makes that smaller.
"""

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS
from hybriddp.planning.base import readable
from hybriddp.planning.estimators import OURS, Span
from hybriddp.planning.shape import beta_values, largest_sd
from hybriddp.planning.solver import smallest
from hybriddp.release.mechanisms import mechanism_for

if TYPE_CHECKING:
    from hybriddp.planning.mean import MeanPlan

EPSILON_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
WIDTH_FACTORS = (0.25, 0.5, 0.75, 1.0, 2.0)
GAPS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
RATIOS = (0.25, 0.5, 2.0, 4.0)
_LEAST, _MOST = 0.01, 20.0
_VALUES = 20_001


@dataclass(frozen=True, slots=True)
class EpsilonChoice:
    """Errors with one ε."""

    epsilon: str  # as a decimal
    guess: float  # how often someone who has narrowed a value down to two candidates guesses right at most
    rmse: Span
    half_width: Span  # of the 95 % interval


@dataclass(frozen=True, slots=True)
class BoundsChoice:
    """Errors with one pair of bounds; under the assumed shape of the values, if there is one.

    ``long_tail_bias`` is for lognormal values with the same mean and spread: the assumed Beta shape ends at the bounds
    of the plan, so it cannot say that these are too tight.
    """

    bounds: tuple[float, float]
    clipped_fraction: float | None  # of the values, which are beyond the bounds; None where no shape is assumed
    clipping_bias: float | None  # by how much clipping those moves the mean
    long_tail_bias: float | None  # the same if the values had a long tail
    noise: Span  # the typical error against the mean of the clipped values
    total: Span  # the typical error against the mean of the values themselves


@dataclass(frozen=True, slots=True)
class Crossovers:
    """Numbers of users from which on a plan becomes another one; None where there is no such number."""

    trusted_only_wins: int | None  # trusted users, from whom on they alone are as good as everybody reporting locally
    halves_the_error: int | None  # trusted users who halve the error of a study in which nobody trusts
    least_users: int | None  # users, with fewer of whom at the same trusted fraction the answer is mostly noise


@dataclass(frozen=True, slots=True, repr=False)
class Difference:
    """Typical errors if the groups differ, in the worst case, all with one-byte reports."""

    mean_gap: float  # by how much the trusted users' mean is higher, in the units of the values
    variance_ratio: float  # how many times as large their variance is
    trusted_only: float
    full_local: float
    known_variance: float
    adaptive: float

    def __repr__(self) -> str:
        errors = f"trusted only {readable(self.trusted_only)}, adaptive {readable(self.adaptive)}"
        return f"<Difference: gap {readable(self.mean_gap)}, variances × {self.variance_ratio:g}: {errors}>"


def best_guess(epsilon: float) -> float:
    r"""Return how often a guess between two values is right at most, after the answer: $e^\epsilon/(1+e^\epsilon)$."""
    return 1 / (1 + math.exp(-epsilon))


def epsilon_choices(plan: "MeanPlan") -> tuple[EpsilonChoice, ...]:
    """Try quarter, half, once, twice and four times the ε of a plan, where there are such."""
    rows = []
    for factor in EPSILON_FACTORS:
        epsilon = float(plan.privacy.epsilon) * factor
        if factor == 1 or _LEAST <= epsilon <= _MOST:
            other = plan if factor == 1 else plan.changed(epsilon=f"{epsilon:.3g}")
            text, ours = other.privacy.epsilon, other[OURS]
            rows.append(EpsilonChoice(text, best_guess(float(text)), ours.rmse, ours.half_width))
    return tuple(rows)


def bounds_choices(plan: "MeanPlan") -> tuple[BoundsChoice, ...]:
    """Try tighter and wider bounds, with the bound moved that is farther from the mean (the upper one if unknown).

    Bounds between which no values have the mean, spread or gap are left out.
    """
    (lower, upper), mean, sd = plan.bounds, plan.mean, plan.sd
    from_above = mean is not None and mean - lower > upper - mean  # then the lower bound moves
    widths = {factor: factor * plan.width for factor in WIDTH_FACTORS}
    moved = {
        factor: (upper - width, upper) if from_above else (lower, lower + width) for factor, width in widths.items()
    }
    moved[1.0] = plan.bounds
    rows = []
    if sd is None or mean is None:
        for bounds in moved.values():
            with suppress(ParameterError):
                noise = plan.changed(bounds=bounds).errors[OURS]
                rows.append(BoundsChoice(bounds, None, None, None, noise, noise))
        return tuple(rows)
    # Distances of the assumed values from the bound that stays.
    distance = (upper - mean if from_above else mean - lower) / plan.width
    values = beta_values(distance, sd / plan.width, _VALUES) * plan.width
    for factor, bounds in moved.items():
        clipped = np.minimum(values, widths[factor])
        center, bias = float(clipped.mean()), float(values.mean() - clipped.mean())
        changes = {}
        if factor < 1:
            most = (1 - 1e-9) * largest_sd(center / widths[factor]) * widths[factor]
            spread = min(float(clipped.std()), sd, most / max(plan.variance_ratio, 1.0) ** 0.5)
            changes = {"mean": upper - center if from_above else lower + center, "sd": spread}
        with suppress(ParameterError):
            noise = plan.changed(bounds=bounds, **changes).errors[OURS]
            total = Span(math.hypot(noise.best, bias), math.hypot(noise.worst, bias))
            tail = _lognormal_excess(float(values.mean()), sd, widths[factor])
            beyond = float(np.mean(values > widths[factor]))
            rows.append(BoundsChoice(bounds, beyond, bias, tail, noise, total))
    return tuple(rows)


def _lognormal_excess(mean: float, sd: float, bound: float) -> float:
    r"""Return $E[(X-u)_+]$ of a lognormal $X$: $m \Phi(d + v) - u \Phi(d)$ with $v^2 = \log(1 + s^2/m^2)$.

    Here $d = (\log(m/u) - v^2/2)/v$, $m$ and $s$ are mean and standard deviation, and $u$ is the bound.
    """
    from scipy.special import ndtr

    if sd == 0 or mean == 0:
        return max(mean - bound, 0.0)
    v = math.sqrt(math.log1p((sd / mean) ** 2))
    d = (math.log(mean / bound) - v**2 / 2) / v
    return max(float(mean * ndtr(d + v) - bound * ndtr(d)), 0.0)


def doublings(plan: "MeanPlan") -> dict[str, Span]:
    """Try twice the ε (one of `MeanPlan.epsilon_choices`), users or opt-ins, where that is possible."""
    epsilon = f"{2 * float(plan.privacy.epsilon):.3g}"
    errors = {f"ε = {epsilon}": row.rmse for row in plan.epsilon_choices if row.epsilon == epsilon}
    options: dict[str, dict[str, Any]] = {
        f"{2 * plan.n_users:,} users": {"n_users": 2 * plan.n_users},
        f"{2 * plan.n_trusted:,} opt-ins": {"trusted_fraction": 2 * plan.trusted_fraction},
    }
    for name, change in options.items():
        with suppress(ParameterError):  # nobody left who does not trust
            errors[name] = plan.changed(**change).errors[OURS]
    return errors


def public_limit(plan: "MeanPlan") -> tuple[float, Span] | None:
    """Return a limit of the spread, a quarter above it and rounded up, and the interval if it were public knowledge."""
    if not plan.sd or plan.sd_at_most is not None:
        return None
    digit = 10 ** math.floor(math.log10(plan.sd))
    limit = math.ceil(1.25 * plan.sd / digit) * digit
    try:
        return limit, plan.changed(sd_at_most=limit)[OURS].half_width
    except ParameterError:  # more than values between the bounds can vary
        return None


def least_epsilon(plan: "MeanPlan") -> str | None:
    """Return the smallest ε with which the answer is more than noise."""
    try:
        return smallest(plan, "epsilon", plan.noise_limit).privacy.epsilon
    except ParameterError:
        return None


def crossovers(plan: "MeanPlan") -> Crossovers:
    """Find the crossovers of a plan, in its worst case."""
    opt_ins = users = None
    with suppress(ParameterError):
        half = smallest(plan, "trusted_fraction", plan.full_local.worst / 2)
        opt_ins = half.n_trusted if half.allows_gap(plan.mean_gap) else None
    with suppress(ParameterError):
        least = smallest(plan, "n_users", plan.noise_limit)
        users = least.n_users if least.n_trusted > 2 else None  # else even the smallest study is not mostly noise
    return Crossovers(_trusted_only_wins(plan), opt_ins, users)


def _trusted_only_wins(plan: "MeanPlan") -> int | None:
    r"""Return the smallest $n_T$ with $\sigma^2 (1/n_T - 1/n) + g/n_T^2 \le$ the error of full-local.

    With $x = 1/n_T$ that is a quadratic inequality: $g x^2 + \sigma^2 x - (\sigma^2/n + E_F) \le 0$.
    """
    noise = mechanism_for(plan.privacy).variance / UNITS**2 * plan.width**2
    spread = (0.5 * plan.width if plan.sd is None else plan.sd) ** 2 * plan.variance_ratio
    rest = spread / plan.n_users + plan.full_local.worst**2
    x = 2 * rest / (spread + math.sqrt(spread**2 + 4 * noise * rest))
    users = math.ceil(1 / x - 1e-9)
    return users if users <= plan.n_users else None


def differences(plan: "MeanPlan") -> tuple[Difference, ...]:
    """Try other gaps and spreads: gaps in standard deviations, or in tenths of the range."""
    gaps = [gap * plan.gap_unit for gap in GAPS if plan.allows_gap(gap * plan.gap_unit)]
    most = largest_sd(plan.unit_mean) * plan.width
    ratios = [ratio for ratio in RATIOS if plan.sd is None or plan.sd * max(ratio, 1.0) ** 0.5 <= most]
    rows = []
    for gap, ratio in [(gap, 1.0) for gap in gaps] + [(0.0, ratio) for ratio in ratios]:
        errors = plan.changed(mean_gap=gap, variance_ratio=ratio).errors
        names = ("trusted-only", "full-local", "known-variance", OURS)
        rows.append(Difference(gap, ratio, *(errors[name].worst for name in names)))
    return tuple(rows)
