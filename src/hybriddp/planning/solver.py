"""The solver: the smallest ε, number of users or number of opt-ins whose error is within a target, by bisection."""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar

from hybriddp.errors import ParameterError
from hybriddp.planning.base import Plan

UNKNOWNS = ("epsilon", "n_users", "trusted_fraction")
EPSILONS = [  # with three digits, from 0.01 to 20: what one would write into a study
    format((Decimal(digits) * Decimal(10) ** exponent).normalize(), "f")
    for exponent in (-4, -3, -2, -1)
    for digits in range(100, 1000)
    if digits * 10**exponent <= 20
]
_STEPS = 24  # of the coarse look where an error may rise before it falls

PlanT = TypeVar("PlanT", bound=Plan)


class _Candidates(NamedTuple):
    """Values of an unknown by number, and why none of them may be enough."""

    first: int
    last: int
    settings: Callable[[int], dict[str, Any]]
    why: str


def smallest(
    start: PlanT, unknown: str, target: float, *, name: str = "target_rmse", trusted_fraction: float | None = None
) -> PlanT:
    """Find the plan with the smallest ε, number of users or opt-ins that reaches a target.

    All other settings are those of ``start``; ``trusted_fraction`` is the one before it was rounded to whole users.
    """
    fraction = start.trusted_fraction if trusted_fraction is None else trusted_fraction
    candidates = _candidates(start, unknown, fraction)

    def error(number: int) -> float:
        return start.changed(**candidates.settings(number)).achieved(name)

    if (best := error(candidates.last)) > target:
        raise ParameterError(name, f"at least {start.in_words(best)}: {candidates.why}", target)
    low, high = 0, candidates.last
    if not start.more_is_better:
        low, high = _first_step(error, target, candidates)
    return start.changed(**candidates.settings(_bisected(error, target, low, high, precision=start.solved_to)))


def _candidates(start: Plan, unknown: str, fraction: float) -> _Candidates:
    if unknown == "epsilon":
        why = f"no ε up to {EPSILONS[-1]} gives less"
        return _Candidates(1, len(EPSILONS), lambda number: {"epsilon": EPSILONS[number - 1]}, why)
    if unknown == "n_users":
        least, most = smallest_study(start, fraction), start.most_solved
        why = f"not even {most:,} users give less"
        return _Candidates(least, most, lambda n: {"n_users": max(n, least), "trusted_fraction": fraction}, why)
    least, most = (1, start.n_users) if start.single_groups else (2, start.n_users - 2)
    why = f"not even if all {'' if start.single_groups else 'but two '}users trust"
    return _Candidates(least, most, lambda trusted: {"trusted_fraction": max(trusted, least) / start.n_users}, why)


def smallest_study(start: Plan, fraction: float) -> int:
    """Return the smallest number of users of whom this fraction can trust."""
    if start.single_groups:
        return 4
    users = max(4, math.floor(1.5 / min(fraction, 1 - fraction)) - 1)
    while not 2 <= round(fraction * users) <= users - 2:
        users += 1
    return users


def _first_step(error: Callable[[int], float], target: float, candidates: _Candidates) -> tuple[int, int]:
    """Return the first of a few numbers that is enough, and the one before.

    Where the groups differ, those who trust do harm before they help.
    """
    first, last = candidates.first, candidates.last
    steps = [round(first * (last / first) ** (step / _STEPS)) for step in range(_STEPS + 1)]
    enough = next(step for step, number in enumerate(steps) if error(number) <= target)
    return (steps[enough - 1] if enough else 0), steps[enough]


def _bisected(error: Callable[[int], float], target: float, low: int, high: int, *, precision: int) -> int:
    """Return the first number that is enough; ``low`` is not, and ``high`` is."""
    while high - low > max(1, low // precision if precision else 1):
        middle = (low + high) // 2 if high < 4 * max(low, 1) else max(1, round((max(low, 1) * high) ** 0.5))
        if error(middle) <= target:
            high = middle
        else:
            low = middle
    return high
