"""Before any data is collected: what a study would give (`plan`), and what a wanted error takes (`solve`).

**For one situation**: `plan` gives a `Plan`: the answer in three lines, every estimator's error, interval and gain, in
numbers, words, a picture and a page. **To choose**: `Plan.epsilon_choices` and `Plan.bounds_choices` say what each
would cost. **For the way back**: `solve` finds the smallest ε, number of users or fraction of opt-ins for a target.
**For what could go wrong**: `Plan.differences` of the groups, `Plan.poisoning` by forged reports, and
`Plan.crossovers` between estimators. **For frequencies**: `plan_frequencies` gives a `FrequencyPlan`.
**For quantiles**: `plan_quantiles` gives a `QuantilePlan`, and `solve_quantiles` says what an error of p95 takes.
"""

from hybriddp.planning.alternatives import BoundsChoice, Crossovers, Difference, EpsilonChoice, Poisoning
from hybriddp.planning.evaluate import Option, Span
from hybriddp.planning.frequencies import FrequencyPlan, RankRow, plan_frequencies
from hybriddp.planning.plan import Plan, plan
from hybriddp.planning.quantiles import QuantilePlan, QuantileRow, QuantileSolution, plan_quantiles, solve_quantiles
from hybriddp.planning.scenario import Scenario
from hybriddp.planning.solve import Solution, solve

__all__ = [
    "BoundsChoice",
    "Crossovers",
    "Difference",
    "EpsilonChoice",
    "FrequencyPlan",
    "Option",
    "Plan",
    "Poisoning",
    "QuantilePlan",
    "QuantileRow",
    "QuantileSolution",
    "RankRow",
    "Scenario",
    "Solution",
    "Span",
    "plan",
    "plan_frequencies",
    "plan_quantiles",
    "solve",
    "solve_quantiles",
]
