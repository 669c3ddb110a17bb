"""The smallest ε, number of users or number of opt-ins whose typical error is within a target."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from hybriddp import _check
from hybriddp.errors import ParameterError
from hybriddp.planning.evaluate import OURS, errors, readable
from hybriddp.planning.scenario import Scenario, scenario_of

MOST_USERS = 10**10
EPSILONS = [  # with three digits, from 0.01 to 20: what one would write into a study
    format((Decimal(digits) * Decimal(10) ** exponent).normalize(), "f")
    for exponent in (-4, -3, -2, -1)
    for digits in range(100, 1000)
    if digits * 10**exponent <= 20
]
_FEW_EPSILONS = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "4", "8", "20")
_STEPS = 24  # of the first, coarse look for a number that is enough


def smallest_epsilon(target: float, **known: Any) -> str:  # noqa: ANN401
    """The smallest ε with three digits; ``known`` are the other arguments of `plan`."""

    def at(index: int) -> Scenario:
        return scenario_of(epsilon=EPSILONS[index], **known)

    few = [EPSILONS.index(epsilon) for epsilon in _FEW_EPSILONS]
    return EPSILONS[_smallest(few, at, target, f"no ε up to {EPSILONS[-1]} gives less", log_scale=False)]


def smallest_users(target: float, **known: Any) -> int:  # noqa: ANN401
    """The smallest number of users of which a fraction trusts that is known."""
    fraction = _check.number("trusted_fraction", known["trusted_fraction"], _check.FRACTION)
    least = max(4, math.floor(1.5 / min(fraction, 1 - fraction)) - 1)
    while not 2 <= round(fraction * least) <= least - 2:
        least += 1
    why = f"not even {MOST_USERS:,} users give less"
    return _smallest(_steps(least, MOST_USERS), lambda n: scenario_of(n_users=n, **known), target, why)


def smallest_opt_ins(target: float, **known: Any) -> int:  # noqa: ANN401
    """The smallest number of trusted users among a number of users that is known."""
    n = _check.integer("n_users", known["n_users"], at_least=4)

    def at(trusted: int) -> Scenario:
        return scenario_of(trusted_fraction=trusted / n, **known)

    return _smallest(_steps(2, n - 2), at, target, "not even if all but two users trust")


def _steps(least: int, most: int) -> list[int]:
    return [round(least * (most / least) ** (i / _STEPS)) for i in range(_STEPS + 1)]


def _smallest(
    few: Sequence[int], at: Callable[[int], Scenario], target: float, why: str, *, log_scale: bool = True
) -> int:
    """The smallest number that is enough: the error falls as the number grows, but for groups that differ, whose
    trusting part does harm before it helps. For those, the first of a few that is enough is looked for.
    """

    def surplus(number: int) -> float:
        """By how much the error is too large, in logarithms; at most 0 if the number is enough."""
        return math.log(errors(at(number))[OURS].worst / target)

    best = errors(scenario := at(few[-1]))[OURS].worst
    if best > target:
        percent = f" ({100 * best / scenario.width:.2g} % of the range)"
        raise ParameterError("target_rmse", f"at least {readable(best)}{percent}: {why}", target)
    low, high = few[0], few[-1]
    if scenario.mean_gap or scenario.variance_ratio != 1:
        enough = next(i for i, number in enumerate(few) if surplus(number) <= 0)
        low, high = few[max(enough - 1, 0)], few[enough]
    above, below = surplus(low), surplus(high)
    if above <= 0:
        return low
    return _crossing(surplus, (low, above), (high, below), log_scale=log_scale)


def _crossing(
    surplus: Callable[[int], float], start: tuple[int, float], end: tuple[int, float], *, log_scale: bool
) -> int:
    """The first number whose surplus is not above 0, between one where it is and one where it is not.

    By interpolation, since the surplus is nearly linear (over logarithms, for numbers of users). An end that stays for
    long counts half (the Illinois rule), and every fifth step halves the way, so that none is slower than bisection.
    """
    (low, above), (high, below) = start, end
    last, steps = 0, 0
    while high - low > 1:
        steps += 1
        part = above / (above - below) if steps % 5 else 0.5
        guess = low * (high / low) ** part if log_scale else low + (high - low) * part
        number = min(max(round(guess), low + 1), high - 1)
        value = surplus(number)
        if value > 0:
            low, above, below = number, value, below / (2 if last > 0 else 1)
        else:
            high, below, above = number, value, above / (2 if last < 0 else 1)
        last = 1 if value > 0 else -1
    return high
