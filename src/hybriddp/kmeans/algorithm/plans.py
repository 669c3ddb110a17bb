"""What each step of the algorithm for more than three dimensions may cost, by how much the trusted group can say.

The trusted group's ε goes to few steps rather than to all: halving the ε of a release quarters what it is worth, while
a local user is worth the same in every step. All percentages were tuned on the sets called *space* in `tuning`.
"""

from dataclasses import dataclass
from fractions import Fraction

from hybriddp.errors import ParameterError
from hybriddp.kmeans.algorithm import tuning
from hybriddp.kmeans.algorithm.grid_start import root_precision
from hybriddp.kmeans.algorithm.problem import Effort, Problem


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
        for name, percentages in (("users", users), ("epsilon", epsilon)):
            if sum(percentages) != 100 or min(percentages) < 0:
                raise ParameterError(name, "percentages that add up to 100", percentages)
        efforts = (Effort(Fraction(n, 100), Fraction(cost, 100)) for n, cost in zip(users, epsilon, strict=True))
        initial, final, grid, lift, first, sizes, *rounds = efforts
        return cls(initial, final, grid, lift, first, sizes, tuple(rounds))

    @property
    def efforts(self) -> tuple[Effort, ...]:
        """The efforts of all steps."""
        return self.initial, self.final, self.grid, self.lift, self.first, self.sizes, *self.rounds


# The steps in order: initial, final, grid, lift, first, sizes, rounds.
SMALL = BudgetPlan.percent(
    users=(4, 14, 15, 20, 11, 0, 8, 7, 7, 7, 7),
    epsilon=(0, 0, 45, 25, 0, 20, 0, 0, 0, 0, 10),
)
"""A trusted group that says no more than the local users helps most where a start is found, and a little at the end.

Local users refine in five rounds, since a round costs them nothing: with many clusters the first ones are far off.
"""

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


def trusted_takes_part(problem: Problem) -> bool:
    """Whether the trusted group's grid would be at least about a third as sharp as the local users'."""
    local, trusted = root_precision(problem, LARGE.grid)
    return trusted > tuning.TAKES_PART * local


def plan_for(problem: Problem) -> BudgetPlan:
    """By the same measure, what the trusted group's ε is spent on."""
    local, trusted = root_precision(problem, LARGE.grid)
    if trusted > tuning.DOMINANT_FROM * local:
        return DOMINANT
    return LARGE if trusted > tuning.LARGE_FROM * local else SMALL
