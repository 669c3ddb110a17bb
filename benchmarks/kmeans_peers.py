"""Hybrid K-means against diffprivlib's, for which everybody is trusted, and against scikit-learn without privacy.

    make bench NAME=kmeans_peers (or python -m benchmarks.kmeans_peers; --help says how to run a part of it)

The same points and the same total ε in one run. Peers see everybody's raw points; of ours, 99 % report locally. What
else is uneven favors diffprivlib: its neighbors differ by one user more or less, ours by one user's value, which
changes counts and sums up to twice as much; and it adds no noise to empty clusters, which is not private.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.kmeans_data import SETS, DataSet
from benchmarks.kmeans_summary import geometric_mean, mean
from benchmarks.kmeans_trials import HYBRID, Fit, non_private, private, ratio
from hybriddp.kmeans.clustering import wcss

ROOT = Path(__file__).parents[1]
PEERS_PYTHON = ROOT / "build" / "peers" / "bin" / "python"
SCRIPT = ROOT / "benchmarks" / "peers" / "diffprivlib_kmeans.py"

OURS, DIFFPRIVLIB, PLAIN = "hybriddp, 1 % trusted", "diffprivlib, all trusted", "scikit-learn, one start, not private"
TRUSTED_FRACTION = 0.01
EPSILONS = (7.0, 2.0, 1.0)


def diffprivlib_spends(dimensions: int) -> float:
    r"""What diffprivlib 0.6.6 spends per unit of the epsilon it is given.

    Su et al. (2016) give a cluster's count $\epsilon_0$ and each of the $d$ sums $\epsilon_i$, with
    $\epsilon_0 / \epsilon_i = r = (4 d \rho^2)^{1/3}$, $\rho = .225$, so that $\epsilon_0 + d \epsilon_i$ is a round's
    share: $\epsilon_i = 1 / (d + r)$ of it. In ``models/k_means.py``, ``_split_epsilon`` returns
    $(\epsilon_i, \epsilon_0)$ and ``_update_centers`` takes it for $(\epsilon_0, \epsilon_i)$. Each sum then spends
    $r / (d + r)$ and the count $1 / (d + r)$, together $(1 + d r) / (d + r)$, whatever the number of rounds.
    """
    r = float(np.cbrt(4 * dimensions * 0.225**2))
    return (1 + dimensions * r) / (dimensions + r)


@dataclass(frozen=True, slots=True)
class Row:
    """One run of one library."""

    data: str
    epsilon: float
    library: str
    ratio: float
    cpu_seconds: float


def diffprivlib_fits(data: DataSet, epsilons: Sequence[float], seed: int) -> list[Fit]:
    """Its centers for each total epsilon, from its own environment, given what makes it spend just that."""
    given = np.array(epsilons) / diffprivlib_spends(data.points.shape[1])
    lower, upper = np.array(data.bounds).T
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.npz"
        np.savez(
            path, points=data.points, lower=lower, upper=upper, n_clusters=data.n_clusters, seed=seed, epsilons=given
        )
        done = subprocess.run(  # noqa: S603 our own script
            [PEERS_PYTHON, SCRIPT, path], check=True, stdout=subprocess.PIPE, text=True
        )
    return [Fit(np.array(run["centers"]), run["cpu_seconds"]) for run in json.loads(done.stdout)["runs"]]


def rows(data: DataSet, seed: int, epsilons: Sequence[float], *, ours: bool) -> list[Row]:
    """Every library once on the same points, at each epsilon."""
    reference = wcss(data.points, non_private(data).centers)

    def row(library: str, epsilon: float, fit: Fit) -> Row:
        return Row(data.name, epsilon, library, ratio(data, fit.centers, reference), fit.cpu_seconds)

    plain = non_private(data, starts=1)
    found = [row(PLAIN, epsilon, plain) for epsilon in epsilons]
    peers = diffprivlib_fits(data, epsilons, seed)
    found += [row(DIFFPRIVLIB, epsilon, fit) for epsilon, fit in zip(epsilons, peers, strict=True)]
    if ours:
        found += [
            row(OURS, e, private(data, HYBRID, epsilon=e, trusted_fraction=TRUSTED_FRACTION, seed=seed))
            for e in epsilons
        ]
    return found


def table(found: Sequence[Row]) -> None:
    """Print mean, median and processor time per set, and geometric means over the sets."""
    libraries = [name for name in (OURS, DIFFPRIVLIB, PLAIN) if any(row.library == name for row in found)]
    print(f"| data | ε | {' | '.join(f'{name}: mean | median | CPU s' for name in libraries)} |")
    print(f"| --- | ---: |{' --- | ---: | ---: |' * len(libraries)}")
    grouped: dict[tuple[str, float, str], list[Row]] = defaultdict(list)
    for row in found:
        grouped[row.data, row.epsilon, row.library].append(row)
    cells = list(dict.fromkeys((row.data, row.epsilon) for row in found))
    for data, epsilon in cells:
        line = []
        for library in libraries:
            runs = grouped[data, epsilon, library]
            ratios, seconds = [run.ratio for run in runs], [run.cpu_seconds for run in runs]
            line.append(f"{mean(ratios)} | {np.median(ratios):.3f} | {np.median(seconds):.2f}")
        print(f"| {data} | {epsilon:g} | {' | '.join(line)} |")
    for epsilon in dict.fromkeys(epsilon for _, epsilon in cells):
        line = []
        for library in libraries:
            by_set = {d: [run.ratio for run in grouped[d, e, library]] for d, e in cells if e == epsilon}
            line.append(f"{geometric_mean(by_set)} | |")
        print(f"| all sets, geometric mean | {epsilon:g} | {' | '.join(line)} |")


def main(words: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kmeans_peers")
    parser.add_argument("--trials", type=int, default=10, help="seeds per data set, at least 2")
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=tuple(SETS), help="only these data sets")
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS, help="only these ε")
    parser.add_argument("--without-ours", action="store_true", help="measure only the peers")
    arguments = parser.parse_args(words)
    if arguments.trials < 2:
        parser.error("--trials must be at least 2: one trial has no standard error")
    if not PEERS_PYTHON.exists():
        parser.error("diffprivlib's environment is missing: run `make bench NAME=kmeans_peers`")
    found: list[Row] = []
    for name in arguments.sets:
        for seed in range(arguments.trials):
            found += rows(SETS[name](seed), seed, arguments.epsilons, ours=not arguments.without_ours)
            print(f"{name}, trial {seed + 1} of {arguments.trials}", file=sys.stderr, flush=True)
    print(f"\n### K-means, against other libraries: WCSS ratio, {arguments.trials} trials\n")
    table(found)


if __name__ == "__main__":
    main()
