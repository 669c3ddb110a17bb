"""Before any data is collected: what a study would give (`plan`), and what a wanted error takes (`solve`).

**For one situation**: `plan` gives a `Plan`: the answer in a few lines, errors in numbers, words, tables, a picture and
a page. It is a `MeanPlan`, a `SharePlan` or a `QuantilePlan`. **To choose**: `MeanPlan.epsilon_choices` and
`MeanPlan.bounds_choices` say what each would cost. **For the way back**: `solve` finds the smallest ε, number of users
or fraction of opt-ins for a target. **For what could go wrong**: `MeanPlan.differences` of the groups, `poisoning` by
forged reports, and `MeanPlan.crossovers` between estimators.
"""

from hybriddp.planning.alternatives import BoundsChoice, Crossovers, Difference, EpsilonChoice
from hybriddp.planning.base import Plan, Poisoning, Table
from hybriddp.planning.estimators import Option, Span
from hybriddp.planning.mean import MeanPlan
from hybriddp.planning.plan import Solution, plan, solve
from hybriddp.planning.quantiles import ForgedRank, QuantilePlan, QuantileRow
from hybriddp.planning.shares import RankRow, SharePlan

__all__ = [
    "BoundsChoice",
    "Crossovers",
    "Difference",
    "EpsilonChoice",
    "ForgedRank",
    "MeanPlan",
    "Option",
    "Plan",
    "Poisoning",
    "QuantilePlan",
    "QuantileRow",
    "RankRow",
    "SharePlan",
    "Solution",
    "Span",
    "Table",
    "plan",
    "solve",
]
