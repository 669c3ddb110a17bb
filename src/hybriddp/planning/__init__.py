"""Before any data is collected: what a study would give (`plan`), and what a wanted error takes (`solve`).

**For one situation**: `plan` gives a `Plan`: the answer in three lines, every estimator's error, interval and gain, in
numbers, words, a picture and a page. **To choose**: `epsilon_choices` and `bounds_choices` say what each would cost.
**For the way back**: `solve` finds the smallest ε, number of users or share of opt-ins for a target. **For what could
go wrong**: `differences` of the groups, `poisoning` by forged reports, and `crossovers` between estimators.
"""

from hybriddp.planning.choices import BoundsChoice, EpsilonChoice, bounds_choices, epsilon_choices
from hybriddp.planning.crossovers import Crossovers, crossovers
from hybriddp.planning.plan import Option, Plan, Span, plan
from hybriddp.planning.risks import Difference, Poisoning, differences, poisoning
from hybriddp.planning.solve import Solution, solve

__all__ = [
    "BoundsChoice",
    "Crossovers",
    "Difference",
    "EpsilonChoice",
    "Option",
    "Plan",
    "Poisoning",
    "Solution",
    "Span",
    "bounds_choices",
    "crossovers",
    "differences",
    "epsilon_choices",
    "plan",
    "poisoning",
    "solve",
]
