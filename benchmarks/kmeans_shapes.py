"""Cost of hybrid K-means over the non-private one on the shapes people have (`kmeans_shape_sets`).

    python -m benchmarks.kmeans_shapes                      (sets for tuning)
    python -m benchmarks.kmeans_shapes --final --seeds 10   (sets for the final table)

A ratio is the WCSS of the centers on everybody's points, over that of the best of fifty starts of ordinary K-means.
These costs are kept in a folder, since they take far longer than anything else; a file is named after its points.
"""

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from benchmarks.kmeans_data import PLANE, DataSet
from benchmarks.kmeans_shape_sets import FINAL_PLANE, FINAL_SPACE, TUNE_PLANE, TUNE_SPACE
from benchmarks.kmeans_summary import TARGET_HEADER, Target, excess_over_better, geometric_mean, mean, worst
from benchmarks.kmeans_trials import FULL_LOCAL, HYBRID, TRUSTED_ONLY, Cell, private, ratio
from hybriddp.kmeans.clustering import wcss, weighted_kmeans

STARTS = 50
ALL = (HYBRID, TRUSTED_ONLY, FULL_LOCAL)
SETS = {**TUNE_PLANE, **TUNE_SPACE, **FINAL_PLANE, **FINAL_SPACE, **PLANE}
FLAT = frozenset({*TUNE_PLANE, *FINAL_PLANE, *PLANE})  # up to three dimensions
Ratios = Mapping[Cell, Sequence[float]]
BAD, GOOD = 1.2, 1.05  # ratios above and below which an answer ought to be called doubtful, and ought not


@dataclass(frozen=True, slots=True)
class Measured:
    """Ratios per cell, in the order of the seeds, and so paired; and whether the models called them doubtful."""

    ratios: Ratios
    doubtful: Mapping[Cell, Sequence[bool]]


@dataclass(frozen=True, slots=True)
class Goal:
    """The most that a ratio may be at an ε: of every set, or of their geometric mean."""

    epsilon: float
    at_most: float
    of_every_set: bool = False


GOALS = {
    "up to three dimensions": (Goal(7.0, 1.02, of_every_set=True), Goal(2.0, 1.08), Goal(1.0, 1.3)),
    "more than three dimensions": (Goal(7.0, 1.04, of_every_set=True), Goal(2.0, 1.3), Goal(1.0, 1.3)),
}


def reference(data: DataSet, folder: Path) -> float:
    """The non-private cost of a set; looked up if it is known."""
    kept = folder / f"{data.name}-{data.n_clusters}-{crc32(np.ascontiguousarray(data.points).tobytes()):08x}"
    if kept.exists():
        return float(kept.read_text())
    cost = best_cost(data)
    folder.mkdir(parents=True, exist_ok=True)
    kept.write_text(repr(cost))
    return cost


def best_cost(data: DataSet) -> float:
    """The least cost of fifty starts, by scikit-learn if it is there."""
    points, k = data.points, data.n_clusters
    try:
        from sklearn.cluster import KMeans
    except ImportError:
        ones, rng = np.ones(len(points)), np.random.default_rng(0)
        return min(weighted_kmeans(points, ones, k, starts=1, generator=rng)[0].cost for _ in range(STARTS))
    best = KMeans(k, n_init=STARTS, random_state=0).fit(points).cluster_centers_
    return wcss(points, KMeans(k, init=best, n_init=1, tol=0.0).fit(points).cluster_centers_)


def measure(
    sets: Sequence[str],
    seeds: Sequence[int],
    epsilons: Sequence[float],
    fraction: float,
    algorithms: Sequence[str],
    folder: Path,
) -> Measured:
    """Fit every set, seed by seed."""
    ratios: dict[Cell, list[float]] = defaultdict(list)
    doubtful: dict[Cell, list[bool]] = defaultdict(list)
    began = time.monotonic()
    for name in sets:
        for seed in seeds:
            data = SETS[name](seed)
            cost = reference(data, folder)
            for epsilon in epsilons:
                for algorithm in algorithms:
                    fit = private(data, algorithm, epsilon=epsilon, trusted_fraction=fraction, seed=seed)
                    cell = Cell(name, epsilon, fraction, algorithm)
                    ratios[cell].append(ratio(data, fit.centers, cost))
                    doubtful[cell].append(fit.doubtful)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return Measured(ratios, doubtful)


def table(sets: Sequence[str], epsilons: Sequence[float], fraction: float, ratios: Ratios) -> None:
    """Print means per set, and the hybrid against the better single model where those were run."""
    print("| data | ε | hybrid | its worst | trusted only | full local | hybrid − better | worse by 2 s.e. |")
    print("| --- | ---: | --- | ---: | --- | --- | --- | --- |")
    worse, compared = 0, 0
    for name in sets:
        for e in epsilons:
            ours = ratios[Cell(name, e, fraction, HYBRID)]
            single = {a: ratios.get(Cell(name, e, fraction, a), ()) for a in (TRUSTED_ONLY, FULL_LOCAL)}
            line = f"| {name} | {e:g} | {mean(ours)} | {max(ours):.3f} | "
            if not all(single.values()):
                print(line + " | | | |")
                continue
            better, excess = excess_over_better(ours, single)
            compared, worse = compared + 1, worse + excess.is_measurably_positive
            flag = "yes" if excess.is_measurably_positive else "no"
            print(line + f"{mean(single[TRUSTED_ONLY])} | {mean(single[FULL_LOCAL])} | {excess} ({better}) | {flag} |")
    if compared:
        print(f"\nMeasurably worse than the better single model in {worse} of {compared} cells; by chance, one in 30.")


def doubt_table(measured: Measured) -> None:
    """Print how many of the hybrid answers that are far from the best are called doubtful, and of those near to it."""
    print(f"| where | ε | above {BAD:g}, called doubtful | below {GOOD:g}, called doubtful |")
    print("| --- | ---: | ---: | ---: |")
    for flat, where in zip((True, False), GOALS, strict=True):
        cells = [cell for cell in measured.ratios if cell.algorithm == HYBRID and (cell.data in FLAT) == flat]
        for e in sorted({cell.epsilon for cell in cells}, reverse=True):
            some = [cell for cell in cells if cell.epsilon == e]
            runs = [one for cell in some for one in zip(measured.ratios[cell], measured.doubtful[cell], strict=True)]
            bad, good = [flag for r, flag in runs if r > BAD], [flag for r, flag in runs if r < GOOD]
            print(f"| {where} | {e:g} | {sum(bad)} of {len(bad)} | {sum(good)} of {len(good)} |")


def targets(sets: Sequence[str], epsilons: Sequence[float], fraction: float, ratios: Ratios) -> list[Target]:
    """Each goal with the number reached: the worst set, or the geometric mean of all."""
    reached = []
    for where, goals in GOALS.items():
        names = [name for name in sets if (name in FLAT) == (where == "up to three dimensions")]
        for goal in goals:
            if not names or goal.epsilon not in epsilons:
                continue
            by_set = {name: ratios[Cell(name, goal.epsilon, fraction, HYBRID)] for name in names}
            what = f"{where}, ε = {goal.epsilon:g}"
            reached.append(Target(f"{what}, geometric mean", goal.at_most, geometric_mean(by_set)))
            if goal.of_every_set:
                means = {name: mean(numbers) for name, numbers in by_set.items()}
                reached.append(worst(f"{what}, every set", goal.at_most, means))
    return reached


def main(words: Sequence[str] | None = None) -> None:
    """Measure what is asked for; print the table, and each goal with the number reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kmeans_shapes")
    parser.add_argument("--final", action="store_true", help="the sets of the final table instead of those for tuning")
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), help="only these data sets")
    parser.add_argument("--epsilons", nargs="+", type=float, default=[7.0, 2.0, 1.0])
    parser.add_argument("--seeds", type=int, default=4, help="how many, from --first on")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--fraction", type=float, default=0.01, help="of trusted users")
    parser.add_argument("--algorithms", nargs="+", choices=ALL, default=[HYBRID])
    parser.add_argument("--references", type=Path, default=Path(tempfile.gettempdir()) / "kmeans-references")
    chosen = parser.parse_args(words)
    sets = chosen.sets or list({**FINAL_PLANE, **FINAL_SPACE} if chosen.final else {**TUNE_PLANE, **TUNE_SPACE})
    seeds, algorithms = (
        range(chosen.first, chosen.first + chosen.seeds),
        list(dict.fromkeys([HYBRID, *chosen.algorithms])),
    )
    measured = measure(sets, seeds, chosen.epsilons, chosen.fraction, algorithms, chosen.references)
    print(f"\n### K-means on shapes: mean WCSS ratio, {len(seeds)} seeds, {chosen.fraction:.1%} trusted\n")
    table(sets, chosen.epsilons, chosen.fraction, measured.ratios)
    print()
    doubt_table(measured)
    print(f"\n{TARGET_HEADER}")
    for target in targets(sets, chosen.epsilons, chosen.fraction, measured.ratios):
        print(target)


if __name__ == "__main__":
    main()
