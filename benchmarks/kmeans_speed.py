"""Processor time and memory of one hybrid K-means with 1 % trusted users, against targets and one assignment."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.kmeans_data import DataSet, blobs, paper
from benchmarks.kmeans_trials import HYBRID, private
from benchmarks.timing import least_cpu, peak_bytes
from hybriddp.kmeans.clustering import nearest

TRUSTED_FRACTION = 0.01
MEGABYTES = 100.0


@dataclass(frozen=True, slots=True)
class Task:
    """One fit whose time and memory are measured, and the most seconds it may take."""

    name: str
    make: Callable[[], DataSet]
    epsilon: float
    seconds: float


TASKS = (
    Task("160,000 points, K = 4, d = 2, ε = 7", partial(paper, "paper", 0), 7.0, 0.1),
    Task("160,000 points, K = 4, d = 2, ε = 1", partial(paper, "paper", 0), 1.0, 0.1),
    Task(
        "160,000 points, K = 8, d = 8, ε = 2",
        partial(blobs, "blobs8", 0, dimensions=8, n_clusters=8, sd=0.06, size=160_000),
        2.0,
        0.5,
    ),
    Task("1,600,000 points, K = 4, d = 2, ε = 7", partial(paper, "paper", 0, size=1_600_000), 7.0, 1.0),
)


def within(value: float, bound: float) -> str:
    """A target in words."""
    return f"target {bound:g}: {'met' if value < bound else 'missed'}"


def main() -> None:
    """Measure and print."""
    for task in TASKS:
        data = task.make()
        fit = partial(private, data, HYBRID, epsilon=task.epsilon, trusted_fraction=TRUSTED_FRACTION, seed=0)
        assign = partial(nearest, data.points, fit().centers)
        seconds = least_cpu({"fit": fit, "assign": assign}, rounds=5)
        peak = peak_bytes(fit) / 1e6
        print(
            f"K-means, {task.name}: {seconds['fit']:.3f} s of processor time ({within(seconds['fit'], task.seconds)}), "
            f"{seconds['fit'] / seconds['assign']:.1f} times one assignment of all points; "
            f"{peak:.0f} MB ({within(peak, MEGABYTES)}) beside the points' {data.points.nbytes / 1e6:.1f} MB",
            flush=True,
        )


if __name__ == "__main__":
    main()
