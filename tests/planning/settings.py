"""Plans from one set of keywords: those of a study and those of `hybriddp.plan`."""

from typing import Any

from hybriddp import DistributionStudy, FrequencyStudy, HeavyHitterStudy, MeanStudy, plan, solve
from hybriddp.planning import MeanPlan, QuantilePlan, SharePlan, Solution

OF_STUDY = ("bounds", "epsilon", "delta", "sd_at_most", "scale", "kappa")


def _split(settings: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    of_study = {name: value for name, value in settings.items() if name in OF_STUDY}
    return {"epsilon": 1} | of_study, {name: value for name, value in settings.items() if name not in OF_STUDY}


def plan_mean(**settings: Any) -> MeanPlan:
    of_study, others = _split(settings)
    return plan(MeanStudy("x", **of_study), **others)


def solve_mean(**settings: Any) -> Solution[MeanPlan]:
    of_study, others = _split(settings)
    return solve(MeanStudy("x", **of_study), **others)


def plan_quantiles(**settings: Any) -> QuantilePlan:
    of_study, others = _split(settings)
    return plan(DistributionStudy("x", **of_study), **others)


def solve_quantiles(**settings: Any) -> Solution[QuantilePlan]:
    of_study, others = _split(settings)
    return solve(DistributionStudy("x", **of_study), **others)


def plan_shares(**settings: Any) -> SharePlan:
    """Plan an open domain if there is a δ, and else a number of public categories."""
    of_study, others = _split(settings)
    if of_study.get("delta"):
        return plan(HeavyHitterStudy("x", **of_study), **others)
    n_items = others.pop("n_items", None) or len(others["shares"])
    return plan(FrequencyStudy("x", categories=range(n_items), other=False, **of_study), **others)
