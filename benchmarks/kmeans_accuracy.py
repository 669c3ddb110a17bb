"""Cost of hybrid K-means over the non-private one, beside our own trusted-only and full-local, against the targets.

    make bench NAME=kmeans_accuracy (or python -m benchmarks.kmeans_accuracy; --help says how to run a part of it)

A ratio is the WCSS of the centers on everybody's points, over that of the best of ten starts of ordinary K-means; each
seed draws new points. Numbers after ± are one standard error. One cell takes seconds:

    python -m benchmarks.kmeans_accuracy --trials 2 --sets paper --epsilons 7 --fractions 0.01
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from benchmarks.kmeans_data import LAYOUTS, SETS, SPACE
from benchmarks.kmeans_summary import (
    TARGET_HEADER,
    Estimate,
    Target,
    excess_over_better,
    geometric_mean,
    log_excess,
    mean,
    worst,
)
from benchmarks.kmeans_trials import FULL_LOCAL, HYBRID, TRUSTED_ONLY, Cell, trial

Ratios = Mapping[Cell, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Bound:
    """The most that a ratio may be at an ε and a trusted share."""

    epsilon: float
    trusted_fraction: float
    at_most: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run on some sets, and what for."""

    title: str
    sets: tuple[str, ...]
    epsilons: tuple[float, ...]
    fractions: tuple[float, ...]
    algorithms: tuple[str, ...]
    trials: int
    bounds: tuple[Bound, ...]


ALL = (HYBRID, TRUSTED_ONLY, FULL_LOCAL)
PAPER = Plan(
    title="the paper's data",
    sets=tuple(LAYOUTS),
    epsilons=(7.0, 3.0, 1.0),
    fractions=(0.001, 0.01),
    algorithms=ALL,
    trials=100,
    bounds=(
        Bound(7.0, 0.001, 1.005),
        Bound(7.0, 0.01, 1.005),
        Bound(3.0, 0.001, 1.01),
        Bound(3.0, 0.01, 1.01),
        Bound(1.0, 0.001, 1.08),
        Bound(1.0, 0.01, 1.02),
    ),
)
S1 = Plan(
    title="S1-like",
    sets=("s1",),
    epsilons=(7.0,),
    fractions=(0.001, 0.01),
    algorithms=ALL,
    trials=30,
    bounds=(Bound(7.0, 0.001, 1.01), Bound(7.0, 0.01, 1.01)),
)
MORE_DIMENSIONS = Plan(
    title="more than three dimensions",
    sets=tuple(SPACE),
    epsilons=(7.0, 2.0, 1.0),
    fractions=(0.001, 0.01, 0.05),
    algorithms=(HYBRID, FULL_LOCAL),
    trials=30,
    bounds=(
        Bound(7.0, 0.001, 1.02),
        Bound(7.0, 0.01, 1.02),
        Bound(7.0, 0.05, 1.02),
        Bound(2.0, 0.01, 1.16),
        Bound(2.0, 0.05, 1.06),
        Bound(1.0, 0.05, 1.12),
    ),
)
PLANS = (PAPER, S1, MORE_DIMENSIONS)


def measure(plan: Plan) -> Ratios:
    """Run a plan; ratios per cell are in the order of the seeds, and so are paired."""
    ratios: dict[Cell, list[float]] = defaultdict(list)
    began = time.monotonic()
    for name in plan.sets:
        for seed in range(plan.trials):
            data = SETS[name](seed)
            found = trial(data, seed, epsilons=plan.epsilons, fractions=plan.fractions, algorithms=plan.algorithms)
            for cell, ratio in found.items():
                ratios[cell].append(ratio)
            taken = time.monotonic() - began
            print(
                f"{plan.title}: {name}, trial {seed + 1} of {plan.trials}, {taken:.0f} s", file=sys.stderr, flush=True
            )
    return ratios


def plane_table(plan: Plan, ratios: Ratios) -> list[Target]:
    """Print means per set, with the better of the two single models beside; returns the targets."""
    print(f"\n### K-means, {plan.title}: mean WCSS ratio, {plan.trials} trials\n")
    print("| data | ε | trusted | hybrid | its worst | trusted only | full local | hybrid − better | worse by 2 s.e. |")
    print("| --- | ---: | ---: | --- | ---: | --- | --- | --- | --- |")
    excesses = {}
    for name, e, c in product(plan.sets, plan.epsilons, plan.fractions):
        ours = ratios[Cell(name, e, c, HYBRID)]
        trusted, local = ratios[Cell(name, e, c, TRUSTED_ONLY)], ratios[Cell(name, e, 0.0, FULL_LOCAL)]
        better, excess = excess_over_better(ours, {TRUSTED_ONLY: trusted, FULL_LOCAL: local})
        excesses[f"{name}, ε = {e:g}, {c:.1%}"] = excess
        print(
            f"| {name} | {e:g} | {c:.1%} | {mean(ours)} | {max(ours):.3f} | {mean(trusted)} | {mean(local)} | "
            f"{excess} ({better}) | {_yes(excess)} |"
        )
    _count_worse("the better single model", excesses)
    bounds = [
        worst(
            f"{plan.title}, ε = {b.epsilon:g}, {b.trusted_fraction:.1%} trusted",
            b.at_most,
            {name: mean(ratios[Cell(name, b.epsilon, b.trusted_fraction, HYBRID)]) for name in plan.sets},
        )
        for b in plan.bounds
        if b.epsilon in plan.epsilons and b.trusted_fraction in plan.fractions
    ]
    return [*bounds, worst(f"{plan.title}, hybrid − the better single model", 0.0, excesses, allowed_se=2.0)]


def space_tables(plan: Plan, ratios: Ratios) -> list[Target]:
    """Print geometric means over the sets and per set; returns the targets."""

    def by_set(e: float, c: float, algorithm: str) -> dict[str, Sequence[float]]:
        return {name: ratios[Cell(name, e, c, algorithm)] for name in plan.sets}

    cells = list(product(plan.epsilons, plan.fractions))
    print(f"\n### K-means, {plan.title}: geometric mean of the WCSS ratio, {plan.trials} seeds per set\n")
    print("| data | ε | trusted | hybrid | its worst | full local | log of hybrid / full local | worse by 2 s.e. |")
    print("| --- | ---: | ---: | --- | ---: | --- | --- | --- |")
    excesses = {}
    for name, (e, c) in product(plan.sets, cells):
        ours, local = ({name: by_set(e, c, HYBRID)[name]}, {name: by_set(e, 0.0, FULL_LOCAL)[name]})
        excess = excesses[f"{name}, ε = {e:g}, {c:.1%}"] = log_excess(ours, local)
        print(
            f"| {name} | {e:g} | {c:.1%} | {geometric_mean(ours)} | {max(ours[name]):.3f} | {geometric_mean(local)} | "
            f"{excess} | {_yes(excess)} |"
        )
    _count_worse("full local", excesses)
    print("\n| all sets: ε | trusted | hybrid | full local | log of hybrid / full local |")
    print("| ---: | ---: | --- | --- | --- |")
    totals, against = {}, {}
    for e, c in cells:
        ours, local = by_set(e, c, HYBRID), by_set(e, 0.0, FULL_LOCAL)
        totals[e, c] = geometric_mean(ours)
        excess = against[f"ε = {e:g}, {c:.1%}"] = log_excess(ours, local)
        print(f"| {e:g} | {c:.1%} | {totals[e, c]} | {geometric_mean(local)} | {excess} |")
    bounds = [
        Target(
            f"{plan.title}, ε = {b.epsilon:g}, {b.trusted_fraction:.1%} trusted",
            b.at_most,
            totals[b.epsilon, b.trusted_fraction],
        )
        for b in plan.bounds
        if (b.epsilon, b.trusted_fraction) in totals
    ]
    return [*bounds, worst(f"{plan.title}, all sets, log of hybrid / full local", 0.0, against, allowed_se=2.0)]


def _yes(excess: Estimate) -> str:
    return "yes" if excess.is_measurably_positive else "no"


def _count_worse(than: str, excesses: Mapping[str, Estimate]) -> None:
    worse = sum(excess.is_measurably_positive for excess in excesses.values())
    print(
        f"\nMeasurably worse than {than} in {worse} of {len(excesses)} cells; by chance alone, one in 30 or so.",
        flush=True,
    )


def chosen(plan: Plan, arguments: argparse.Namespace) -> Plan:
    """The part of a plan that the command line asks for."""
    return replace(
        plan,
        trials=arguments.trials or plan.trials,
        sets=tuple(name for name in plan.sets if name in (arguments.sets or plan.sets)),
        epsilons=tuple(e for e in plan.epsilons if e in (arguments.epsilons or plan.epsilons)),
        fractions=tuple(c for c in plan.fractions if c in (arguments.fractions or plan.fractions)),
    )


def _values(field: str) -> list[float]:
    return sorted({value for plan in PLANS for value in getattr(plan, field)})


def main(words: Sequence[str] | None = None) -> None:
    """Measure what is asked for, print the tables, and each target with the number reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kmeans_accuracy")
    parser.add_argument("--trials", type=int, help="seeds per set, at least 2; 100 for the paper's data, 30 else")
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), help="only these data sets")
    parser.add_argument("--epsilons", nargs="+", type=float, choices=_values("epsilons"), help="only these ε")
    parser.add_argument(
        "--fractions", nargs="+", type=float, choices=_values("fractions"), help="only these trusted shares"
    )
    arguments = parser.parse_args(words)
    if arguments.trials is not None and arguments.trials < 2:
        parser.error("--trials must be at least 2: one trial has no standard error")
    parts = [chosen(plan, arguments) for plan in PLANS]
    parts = [part for part in parts if part.sets and part.epsilons and part.fractions]
    if not parts:
        parser.error("these data sets are not measured at these ε and shares")
    targets = []
    for part in parts:
        tables = plane_table if TRUSTED_ONLY in part.algorithms else space_tables
        targets += tables(part, measure(part))
    print("\n### K-means, targets\n")
    print(TARGET_HEADER)
    for target in targets:
        print(target)


if __name__ == "__main__":
    main()
