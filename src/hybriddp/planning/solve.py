"""Which ε, how many users or how many opt-ins a wanted error takes: the plan, turned around."""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any

from hybriddp import _check
from hybriddp.errors import ParameterError
from hybriddp.planning.plan import Plan, errors_of, plan, readable

UNKNOWNS = ("epsilon", "n_users", "trusted_fraction", "rmse")
MOST_USERS = 10**10
LEAST_EPSILON, MOST_EPSILON = "0.01", "20"
_FEW = (LEAST_EPSILON, "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "4", "8", MOST_EPSILON)
_STEPS = 24  # of the first, coarse look for a number that is enough


@dataclass(frozen=True, slots=True, repr=False)
class Solution:
    """The smallest value that reaches the target, and the plan with it.

    Attributes
    ----------
    unknown : str
        What was asked for.
    value : float
        The smallest one whose typical error is within the target: ε rounded up to three digits, whole users.
    plan : Plan
        What a study with it would give.
    """

    unknown: str
    value: float
    plan: Plan

    def __repr__(self) -> str:
        return f"<Solution: {self.unknown} = {self.value:,.12g}, typical error {readable(self.plan.rmse)}>"


def solve(
    *,
    for_: str,
    target_rmse: float | None = None,
    n_users: int | None = None,
    trusted_fraction: float | None = None,
    epsilon: float | str | None = None,
    **others: Any,  # noqa: ANN401
) -> Solution:
    """The smallest ε, number of users or share of opt-ins whose typical error is within a target.

    Parameters
    ----------
    for_ : {"epsilon", "n_users", "trusted_fraction", "rmse"}
        What to find. All others must be given, and this one must not.
    target_rmse : float
        The typical error that would be fine, in the units of the values; in the worst case, where ``sd`` is unknown.
    n_users, trusted_fraction, epsilon, **others
        As for `plan`.

    Examples
    --------
    >>> found = solve(for_="trusted_fraction", target_rmse=2000, n_users=252_540, epsilon=1.0,
    ...               bounds=(0, 2_349_033), sd=53_254)
    >>> found.plan.n_trusted, found.plan.rmse <= 2000
    (1853, True)
    """
    unknown = _check.choice("for_", for_, UNKNOWNS)
    given = {"n_users": n_users, "trusted_fraction": trusted_fraction, "epsilon": epsilon, "rmse": target_rmse}
    for name, value in given.items():
        shown = "target_rmse" if name == "rmse" else name
        if name == unknown and value is not None:
            raise ParameterError(shown, f"left out when solving for {unknown}", value)
        if name != unknown and value is None:
            raise ParameterError(shown, f"given when solving for {unknown}", value)
    fixed: dict[str, Any] = {name: value for name, value in given.items() if name not in (unknown, "rmse")} | others
    if unknown == "rmse":
        made = plan(**fixed)
        return Solution(unknown, made.rmse, made)
    target = _check.number("target_rmse", target_rmse or 0.0, _check.POSITIVE)
    searches: dict[str, Callable[[dict[str, Any], float], Solution]] = {
        "epsilon": _epsilon,
        "n_users": _users,
        "trusted_fraction": _fraction,
    }
    return searches[unknown](fixed, target)


def _epsilon(fixed: dict[str, Any], target: float) -> Solution:
    def at(epsilon: str) -> Plan:
        return errors_of(epsilon=epsilon, **fixed)

    best = at(MOST_EPSILON)
    if best.rmse > target:
        raise _out_of_reach(best.rmse, target, f"no ε up to {MOST_EPSILON} gives less", best)
    # The first of a few that is enough, then halfway between it and the one before.
    enough = next(i for i, epsilon in enumerate(_FEW) if at(epsilon).rmse <= target)
    if enough == 0:
        return Solution("epsilon", float(LEAST_EPSILON), plan(epsilon=LEAST_EPSILON, **fixed))
    low, high = math.log(float(_FEW[enough - 1])), math.log(float(_FEW[enough]))
    while high - low > 5e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if at(_digits(math.exp(middle))).rmse <= target else (middle, high)
    epsilon = _digits(math.exp(low))
    while at(epsilon).rmse > target:  # the next of those with three digits, a few at most
        epsilon = _digits(float(Decimal(epsilon) * Decimal("1.0005")))
    return Solution("epsilon", float(epsilon), plan(epsilon=epsilon, **fixed))


def _digits(epsilon: float) -> str:
    """With three digits, rounded up, from 0.01 to 20: what one would write into a study."""
    number = Decimal(repr(min(max(epsilon, float(LEAST_EPSILON)), float(MOST_EPSILON))))
    step = Decimal(1).scaleb(number.adjusted() - 2)
    return format(min((number / step).to_integral_value(ROUND_CEILING) * step, Decimal(MOST_EPSILON)), "f")


def _users(fixed: dict[str, Any], target: float) -> Solution:
    fraction = _check.number("trusted_fraction", fixed["trusted_fraction"], _check.FRACTION)
    least = max(4, math.floor(1.5 / min(fraction, 1 - fraction)) - 1)
    while not 2 <= round(fraction * least) <= least - 2:
        least += 1
    best = errors_of(n_users=MOST_USERS, **fixed)
    if best.rmse > target:
        raise _out_of_reach(best.rmse, target, f"not even {MOST_USERS:,} users give less", best)
    users = _smallest(least, MOST_USERS, lambda n: errors_of(n_users=n, **fixed), target, alike=_alike(fixed))
    return Solution("n_users", users, plan(n_users=users, **fixed))


def _fraction(fixed: dict[str, Any], target: float) -> Solution:
    n = _check.integer("n_users", fixed["n_users"], at_least=4)
    best = errors_of(trusted_fraction=(n - 2) / n, **fixed)
    if best.rmse > target:
        raise _out_of_reach(best.rmse, target, "not even if all but two users trust", best)

    def at(trusted: int) -> Plan:
        return errors_of(trusted_fraction=trusted / n, **fixed)

    trusted = _smallest(2, n - 2, at, target, alike=_alike(fixed))
    return Solution("trusted_fraction", trusted / n, plan(trusted_fraction=trusted / n, **fixed))


def _alike(fixed: dict[str, Any]) -> bool:
    """Whether the two groups have the same mean and spread."""
    return not fixed.get("mean_gap") and fixed.get("variance_ratio", 1.0) == 1


def _smallest(least: int, most: int, at: Callable[[int], Plan], target: float, *, alike: bool) -> int:
    """The first of a few that is enough, then by bisection: the error falls as the number grows, but for groups that
    differ, whose trusting part does harm before it helps. For groups that are alike the few are halved too.
    """
    few = [round(least * (most / least) ** (i / _STEPS)) for i in range(_STEPS + 1)]
    if alike:
        enough = bisect_left(few, True, hi=len(few) - 1, key=lambda number: at(number).rmse <= target)
    else:
        enough = next((i for i, number in enumerate(few) if at(number).rmse <= target), len(few) - 1)
    low, high = int(few[max(enough - 1, 0)]), int(few[enough])
    while high - low > 1:
        middle = min(max(round(math.sqrt(low * high)), low + 1), high - 1)
        low, high = (low, middle) if at(middle).rmse <= target else (middle, high)
    return high


def _out_of_reach(best: float, target: float, why: str, made: Plan) -> ParameterError:
    share = f" ({100 * best / made.width:.2g} % of the range)"
    return ParameterError("target_rmse", f"at least {readable(best)}{share}: {why}", target)
