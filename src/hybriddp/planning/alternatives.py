r"""What else might be: another ε, other bounds, more users, groups that differ, and reports that are forged.

A smaller ε is paid in noise. Wider bounds are too: noise grows with their width. Bounds that are too tight clip values,
which moves their mean by $E[(X-u)_+]$, and no number of users makes that smaller.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS
from hybriddp.planning.evaluate import OURS, Option, Span, errors, evaluate, readable
from hybriddp.planning.scenario import Scenario, largest_sd, values_like
from hybriddp.planning.search import smallest_epsilon, smallest_opt_ins, smallest_users
from hybriddp.release.mechanisms import mechanism_for

EPSILON_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
WIDTH_FACTORS = (0.25, 0.5, 0.75, 1.0, 2.0)
GAPS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0)
RATIOS = (0.25, 0.5, 2.0, 4.0)
_LEAST, _MOST = 0.01, 20.0
_VALUES = 20_001


@dataclass(frozen=True, slots=True)
class EpsilonChoice:
    """What one ε would cost."""

    epsilon: str  # as a decimal
    guess: float  # how often someone who has narrowed a value down to two candidates guesses right at most
    rmse: Span
    half_width: Span  # of the 95 % interval


@dataclass(frozen=True, slots=True)
class BoundsChoice:
    """What one pair of bounds would cost; under the assumed shape of the values, if there is one.

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
    """From which numbers of users on a plan becomes another one; None where there is no such number."""

    trusted_only_wins: (
        int | None
    )  # from so many trusting users on, they alone are as good as everybody reporting locally
    halves_the_error: int | None  # so many trusting users halve the error of a study in which nobody trusts
    least_users: int | None  # below so many users, of whom the same fraction trusts, the answer is mostly noise


@dataclass(frozen=True, slots=True, repr=False)
class Difference:
    """The typical errors if the groups differ, in the worst case, all with one-byte reports."""

    mean_gap: float  # by how much the trusted users' mean is higher, in the units of the values
    variance_ratio: float  # how many times as large their variance is
    trusted_only: float
    full_local: float
    known_variance: float
    adaptive: float

    def __repr__(self) -> str:
        named = (("trusted only", self.trusted_only), ("full local", self.full_local), ("adaptive", self.adaptive))
        found = ", ".join(f"{name} {readable(error)}" for name, error in named)
        return f"<Difference: gap {readable(self.mean_gap)}, variances × {self.variance_ratio:g}: {found}>"


@dataclass(frozen=True, slots=True)
class Poisoning:
    """How far so many forged contributions can move our estimate at most, its weight held fixed."""

    forged: int
    local: float  # in the units of the values, or as a share, if they are local reports
    trusted: float  # the same, if they are trusted values


def best_guess(epsilon: float) -> float:
    r"""How often a guess between two values is right at most, after seeing the answer: $e^\epsilon/(1+e^\epsilon)$."""
    return 1 / (1 + math.exp(-epsilon))


def epsilon_choices(scenario: Scenario, ours: Option) -> Iterator[EpsilonChoice]:
    """Quarter, half, once, twice and four times the ε of a plan, where there are such; ``ours`` is the plan's own."""
    for factor in EPSILON_FACTORS:
        epsilon = float(scenario.privacy.epsilon) * factor
        if factor == 1:
            yield EpsilonChoice(scenario.privacy.epsilon, best_guess(epsilon), ours.rmse, ours.half_width)
        elif _LEAST <= epsilon <= _MOST:
            text = f"{epsilon:.3g}"
            other = evaluate(scenario.changed(epsilon=text))[0][-1]
            yield EpsilonChoice(text, best_guess(float(text)), other.rmse, other.half_width)


def bounds_choices(scenario: Scenario, ours: Span) -> Iterator[BoundsChoice]:
    """Tighter and wider bounds, with the bound moved that is farther from the mean (the upper one if nobody knows).

    ``ours`` is the typical error of the plan. Bounds between which no values have the mean, spread or gap are left out.
    """
    (lower, upper), mean, sd = scenario.bounds, scenario.mean, scenario.sd
    from_above = mean is not None and mean - lower > upper - mean  # then the lower bound moves
    widths = {factor: factor * scenario.width for factor in WIDTH_FACTORS}
    moved = {
        factor: (upper - width, upper) if from_above else (lower, lower + width) for factor, width in widths.items()
    }
    moved[1.0] = scenario.bounds
    if sd is None or mean is None:
        for bounds in moved.values():
            with suppress(ParameterError):
                noise = ours if bounds == scenario.bounds else errors(scenario.changed(bounds=bounds))[OURS]
                yield BoundsChoice(bounds, None, None, None, noise, noise)
        return
    # Distances of the assumed values from the bound that stays.
    distance = (upper - mean if from_above else mean - lower) / scenario.width
    values = values_like(distance, sd / scenario.width, _VALUES) * scenario.width
    for factor, bounds in moved.items():
        clipped = np.minimum(values, widths[factor])
        center, bias = float(clipped.mean()), float(values.mean() - clipped.mean())
        changes = {}
        if factor < 1:
            most = (1 - 1e-9) * largest_sd(center / widths[factor]) * widths[factor]
            spread = min(float(clipped.std()), sd, most / max(scenario.variance_ratio, 1.0) ** 0.5)
            changes = {"mean": upper - center if from_above else lower + center, "sd": spread}
        with suppress(ParameterError):
            noise = ours if factor == 1 else errors(scenario.changed(bounds=bounds, **changes))[OURS]
            total = Span(math.hypot(noise.best, bias), math.hypot(noise.worst, bias))
            tail = _lognormal_excess(float(values.mean()), sd, widths[factor])
            yield BoundsChoice(bounds, float(np.mean(values > widths[factor])), bias, tail, noise, total)


def _lognormal_excess(mean: float, sd: float, bound: float) -> float:
    r"""$E[(X-u)_+]$ of a lognormal $X$: $m \Phi(d + v) - u \Phi(d)$ with $v^2 = \log(1 + s^2/m^2)$.

    Here $d = (\log(m/u) - v^2/2)/v$, $m$ and $s$ are mean and standard deviation, and $u$ is the bound.
    """
    from scipy.special import ndtr

    if sd == 0 or mean == 0:
        return max(mean - bound, 0.0)
    v = math.sqrt(math.log1p((sd / mean) ** 2))
    d = (math.log(mean / bound) - v**2 / 2) / v
    return max(float(mean * ndtr(d + v) - bound * ndtr(d)), 0.0)


def doublings(scenario: Scenario, choices: Sequence[EpsilonChoice]) -> Iterator[tuple[str, Span]]:
    """The typical error with twice the ε (one of the ``choices``), users or opt-ins, where that is possible."""
    epsilon = f"{2 * float(scenario.privacy.epsilon):.3g}"
    yield from ((f"ε = {epsilon}", row.rmse) for row in choices if row.epsilon == epsilon)
    options: dict[str, dict[str, object]] = {
        f"{2 * scenario.n_users:,} users": {"n_users": 2 * scenario.n_users},
        f"{2 * scenario.n_trusted:,} opt-ins": {"trusted_fraction": 2 * scenario.trusted_fraction},
    }
    for name, change in options.items():
        with suppress(ParameterError):  # nobody left who does not trust
            yield name, errors(scenario.changed(**change))[OURS]


def public_limit(scenario: Scenario) -> tuple[float, Span] | None:
    """A limit of the spread, a quarter above it and rounded up, and the interval if it were public knowledge."""
    if not scenario.sd or scenario.sd_at_most is not None:
        return None
    digit = 10 ** math.floor(math.log10(scenario.sd))
    limit = math.ceil(1.25 * scenario.sd / digit) * digit
    try:
        return limit, evaluate(scenario.changed(sd_at_most=limit))[0][-1].half_width
    except ParameterError:  # more than values between the bounds can vary
        return None


def least_epsilon(scenario: Scenario) -> str | None:
    """The smallest ε with which the answer is more than noise."""
    known = {name: value for name, value in scenario.arguments.items() if name != "epsilon"}
    try:
        return smallest_epsilon(scenario.noise_limit, **known)
    except ParameterError:
        return None


def crossovers(scenario: Scenario, full_local: float) -> Crossovers:
    """The crossovers of a plan, in its worst case; ``full_local`` is the error if everybody reports locally."""
    opt_ins = users = None
    known = {name: value for name, value in scenario.arguments.items() if name != "trusted_fraction"}
    with suppress(ParameterError):
        opt_ins = smallest_opt_ins(full_local / 2, **known)
        if not scenario.changed(trusted_fraction=opt_ins / scenario.n_users).allows_gap(scenario.mean_gap):
            opt_ins = None
    known = {name: value for name, value in scenario.arguments.items() if name != "n_users"}
    with suppress(ParameterError):
        users = smallest_users(scenario.noise_limit, **known)
        if round(users * scenario.trusted_fraction) <= 2:  # even the smallest study is not mostly noise
            users = None
    return Crossovers(_trusted_only_wins(scenario, full_local), opt_ins, users)


def _trusted_only_wins(scenario: Scenario, full_local: float) -> int | None:
    r"""The smallest $n_T$ with $\sigma^2 (1/n_T - 1/n) + g/n_T^2 \le$ the error of full-local.

    With $x = 1/n_T$ that is a quadratic inequality: $g x^2 + \sigma^2 x - (\sigma^2/n + E_F) \le 0$.
    """
    noise = mechanism_for(scenario.privacy).variance / UNITS**2 * scenario.width**2
    spread = (0.5 * scenario.width if scenario.sd is None else scenario.sd) ** 2 * scenario.variance_ratio
    rest = spread / scenario.n_users + full_local**2
    x = 2 * rest / (spread + math.sqrt(spread**2 + 4 * noise * rest))
    users = math.ceil(1 / x - 1e-9)
    return users if users <= scenario.n_users else None


def differences(scenario: Scenario) -> Iterator[Difference]:
    """What other gaps and spreads would do: gaps in standard deviations, or in tenths of the range."""
    gaps = [gap * scenario.gap_unit for gap in GAPS if scenario.allows_gap(gap * scenario.gap_unit)]
    most = largest_sd(scenario.unit_mean) * scenario.width
    ratios = [ratio for ratio in RATIOS if scenario.sd is None or scenario.sd * max(ratio, 1.0) ** 0.5 <= most]
    for gap, ratio in [(gap, 1.0) for gap in gaps] + [(0.0, ratio) for ratio in ratios]:
        found = errors(scenario.changed(mean_gap=gap, variance_ratio=ratio))
        names = ("trusted-only", "full-local", "known-variance", OURS)
        yield Difference(gap, ratio, *(found[name].worst for name in names))
