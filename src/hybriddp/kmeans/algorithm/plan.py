"""What each step in more than three dimensions may cost, and whether the trusted group takes part in them.

The trusted group's ε goes to few steps rather than to all: halving the ε of a release quarters what it is worth, while
a local user is worth the same in every step. All percentages were tuned on the sets called *space* in `tuning`.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from hybriddp.channels.unary import symbol_variance
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.problem import Problem


@dataclass(frozen=True, slots=True)
class Effort:
    """What a step may cost: a fraction of the local users, and a fraction of the trusted group's ε."""

    user_fraction: Fraction
    epsilon_fraction: Fraction


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """What each step takes: all fractions of users add up to 1, and so do all fractions of ε."""

    initial: Effort  # moments of all points
    final: Effort  # moments about that mean
    grid: Effort  # on the main directions
    lift: Effort  # centers in all dimensions
    first: Effort  # the round with too many centers
    sizes: Effort  # of their clusters
    rounds: tuple[Effort, ...]  # refinement

    @classmethod
    def percent(cls, users: tuple[int, ...], epsilon: tuple[int, ...]) -> "BudgetPlan":
        """The plan with these percentages of the local users and of ε, step by step."""
        efforts = (Effort(Fraction(n, 100), Fraction(cost, 100)) for n, cost in zip(users, epsilon, strict=True))
        initial, final, grid, lift, first, sizes, *rounds = efforts
        return cls(initial, final, grid, lift, first, sizes, tuple(rounds))

    @property
    def efforts(self) -> tuple[Effort, ...]:
        """The efforts of all steps."""
        return self.initial, self.final, self.grid, self.lift, self.first, self.sizes, *self.rounds


# The steps in order: initial, final, grid, lift, first, sizes, rounds.
SMALL = BudgetPlan.percent(
    users=(4, 14, 15, 20, 12, 0, 12, 11, 12),
    epsilon=(0, 0, 45, 25, 0, 20, 0, 0, 10),
)
"""A trusted group that says no more than the local users helps most where a start is found, and a little at the end."""

LARGE = BudgetPlan.percent(
    users=(4, 26, 12, 18, 10, 0, 10, 8, 12),
    epsilon=(0, 0, 20, 20, 0, 10, 15, 0, 35),
)
"""One that says more takes part until the end, and leaves to local users what it is worst at: moments."""

DOMINANT = BudgetPlan.percent(
    users=(4, 26, 12, 18, 10, 0, 10, 8, 12),
    epsilon=(0, 10, 15, 20, 0, 10, 15, 0, 30),
)
"""One beside which local users hardly count does everything."""

LEAST_EPSILON_FRACTION = min(
    effort.epsilon_fraction for plan in (SMALL, LARGE, DOMINANT) for effort in plan.efforts if effort.epsilon_fraction
)
"""What the cheapest release of any plan costs."""


def sharpness(problem: Problem, effort: Effort) -> tuple[float, float]:
    """One over the standard error of a frequency on a grid, from local users and from the trusted group.

    It is known before anybody is asked, from public numbers.
    """
    variance = symbol_variance(float(problem.epsilon), tuning.TYPICAL_SYMBOLS)
    noise_sd = problem.changed_users * math.sqrt(2)  # times 1/ε
    local = math.sqrt(float(effort.user_fraction) * problem.n_local / variance)
    return local, float(effort.epsilon_fraction) * problem.n_trusted * problem.trusted_epsilon / noise_sd


def trusted_takes_part(problem: Problem) -> bool:
    """Whether the trusted group's grid would be at least about a third as sharp as the local users'."""
    local, trusted = sharpness(problem, LARGE.grid)
    return trusted > tuning.TAKES_PART * local


def plan_for(problem: Problem) -> BudgetPlan:
    """By the same measure, what the trusted group's ε is spent on."""
    local, trusted = sharpness(problem, LARGE.grid)
    if trusted > tuning.DOMINANT_FROM * local:
        return DOMINANT
    return LARGE if trusted > tuning.LARGE_FROM * local else SMALL
