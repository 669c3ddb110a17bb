"""From which numbers on a plan becomes another one."""

import math
from dataclasses import dataclass
from functools import lru_cache

from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS
from hybriddp.planning.plan import Plan
from hybriddp.planning.solve import solve
from hybriddp.release.mechanisms import mechanism_for


@dataclass(frozen=True, slots=True)
class Crossovers:
    """Numbers of users; None where there is none.

    Attributes
    ----------
    trusted_only_wins : int or None
        From so many trusting users on, they alone are as good as everybody reporting locally.
    halves_the_error : int or None
        So many trusting users halve the error of a study in which nobody trusts.
    least_users : int or None
        Below so many users, at the same share of trusting ones, the answer is mostly noise.
    """

    trusted_only_wins: int | None
    halves_the_error: int | None
    least_users: int | None


@lru_cache(maxsize=8)
def crossovers(made: Plan) -> Crossovers:
    """The crossovers of a plan, in its worst case."""
    return Crossovers(
        trusted_only_wins=_trusted_only_wins(made),
        halves_the_error=_solved(made, "trusted_fraction", made.full_local.worst / 2),
        least_users=_solved(made, "n_users", made.noise_limit) if made.noise_limit > 0 else None,
    )


def _trusted_only_wins(made: Plan) -> int | None:
    r"""The smallest $n_T$ with $\sigma^2 (1/n_T - 1/n) + g/n_T^2 \le$ the error of full-local.

    With $x = 1/n_T$ that is a quadratic inequality: $g x^2 + \sigma^2 x - (\sigma^2/n + E_F) \le 0$.
    """
    noise = mechanism_for(made.privacy).variance / UNITS**2 * made.width**2
    spread = (0.5 * made.width if made.sd is None else made.sd) ** 2 * made.variance_ratio
    rest = spread / made.n_users + made.full_local.worst**2
    x = 2 * rest / (spread + math.sqrt(spread**2 + 4 * noise * rest))
    users = math.ceil(1 / x - 1e-9)
    return users if users <= made.n_users else None


def _solved(made: Plan, unknown: str, target: float) -> int | None:
    known = {name: value for name, value in made.question.items() if name != unknown}
    try:
        found = solve(for_=unknown, target_rmse=target, **known)
    except ParameterError:
        return None
    if unknown == "trusted_fraction":
        return found.plan.n_trusted
    return found.plan.n_users if found.plan.n_trusted > 2 else None  # even the smallest study is not mostly noise
