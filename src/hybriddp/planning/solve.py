"""Which ε, how many users or how many opt-ins a wanted error takes: the plan, turned around."""

from dataclasses import dataclass
from typing import Any

from hybriddp import _check
from hybriddp.errors import ParameterError
from hybriddp.planning.evaluate import readable
from hybriddp.planning.plan import Plan, plan
from hybriddp.planning.search import smallest_epsilon, smallest_opt_ins, smallest_users

UNKNOWNS = ("epsilon", "n_users", "trusted_fraction", "rmse")


@dataclass(frozen=True, slots=True, repr=False)
class Solution:
    """The smallest value that reaches the target, and the plan with it."""

    unknown: str
    value: float  # ε rounded up to three digits, whole users
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
    """The smallest ε, number of users or fraction of opt-ins whose typical error is within a target.

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
    known: dict[str, Any] = {name: value for name, value in given.items() if name not in (unknown, "rmse")} | others
    if unknown == "rmse":
        made = plan(**known)
        return Solution(unknown, made.rmse, made)
    target = _check.number("target_rmse", target_rmse or 0.0, _check.POSITIVE)
    if unknown == "epsilon":
        found = smallest_epsilon(target, **known)
        return Solution(unknown, float(found), plan(epsilon=found, **known))
    if unknown == "n_users":
        users = smallest_users(target, **known)
        return Solution(unknown, users, plan(n_users=users, **known))
    fraction = smallest_opt_ins(target, **known) / known["n_users"]
    return Solution(unknown, fraction, plan(trusted_fraction=fraction, **known))
