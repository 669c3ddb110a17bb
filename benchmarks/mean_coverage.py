"""How often 95 % intervals hold the mean of the users' values, and how wide they are for that.

    make bench NAME=mean_coverage                   (or python -m benchmarks.mean_coverage [TRIALS])

With reports and values drawn as counts. Rare values are 0 or 1 with probability p: sampling
is far from normal there, and hardly any report sees them. Ordinary ones are Betas and three deployments. "Needed" is
half the width of an interval that is told the variance. Takes some ten minutes on two cores.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from hybriddp.grid import UNITS
from hybriddp.mean import MeanStudy
from hybriddp.mean.answer import WeightRule, weigh
from hybriddp.mean.interval import VarianceEvidence
from hybriddp.mean.weights import TrustedStatistics
from hybriddp.planning.shape import beta_counts
from hybriddp.simulation.crowd import ValueCounts
from hybriddp.simulation.distributions import named
from hybriddp.simulation.mean import reports
from hybriddp.study.result import Statement

WIDTHS = 200  # trials of which the interval itself is made
ORDINARY_SHARE = 0.4  # of the trials: their coverage varies less from setting to setting
STATEMENT = Statement("", "", "", released=True, counted=False, seeded=True)


@dataclass(frozen=True)
class Cell:
    """One setting; a deployment's values are like a Beta with this mean and standard deviation."""

    values: str
    epsilon: float
    n_trusted: int
    n_local: int
    shape: tuple[float, float] | None = None

    @property
    def crowd(self) -> ValueCounts:
        """Where the users come from, on the unit range."""
        return named(self.values) if self.shape is None else beta_counts(*self.shape)


@dataclass(frozen=True)
class Found:
    """What came out: the relative standard error is that of the variance that the reports estimate, at the median."""

    cell: Cell
    coverage: float
    over_needed: float
    relative_se: float

    def __str__(self) -> str:
        c = self.cell
        return (
            f"| {c.values} | {c.epsilon:g} | {c.n_trusted:,} | {c.n_local:,} | {self.coverage:.3f} | "
            f"{self.over_needed:.2f} | {self.relative_se:.2g} |"
        )


RARE = [
    Cell(f"bernoulli({p:g})", epsilon, n_t, n_l)
    for p, epsilon, n_t, n_l in product(
        (0.0005, 0.002, 0.01, 0.05), (0.3, 1, 3, 5, 8), (10, 100, 1000), (100, 1000, 10_000)
    )
]
ORDINARY = [
    Cell(values, epsilon, n_t, n_l)
    for values, epsilon, (n_t, n_l) in product(
        ("beta(10,10)", "uniform", "beta(0.1,0.1)", "beta(2,8)", "beta(0.5,9)", "beta(20,80)"),
        (0.3, 1, 3, 5),
        ((100, 1000), (1000, 10_000), (400, 7600), (5000, 95_000)),
    )
]
DEPLOYMENTS = [
    Cell("page loads", 1, 4000, 1_996_000, (180 / 600, 115 / 600)),
    Cell("stays", 0.5, 400, 7600, (6 / 60, 7 / 60)),
    Cell("salaries", 1, 120, 180, (62 / 250, 28 / 250)),
]


def measure(cell: Cell, trials: int) -> Found:
    """So many trials of one setting: everything is the pipeline's, but the curator's noise is drawn by numpy."""
    crowd, n_t, n_l = cell.crowd, cell.n_trusted, cell.n_local
    study = MeanStudy("x", bounds=(0, 1), epsilon=cell.epsilon)
    scale = 1 / (n_t * cell.epsilon)
    rng = np.random.default_rng([n_t, n_l, int(10 * cell.epsilon), int(1e6 * crowd.mean)])
    inside, stated, needed, spread = [], [], [], []
    for i in range(trials):
        trusted, local = crowd.draw(n_t, rng), crowd.draw(n_l, rng)
        truth = (trusted.total + local.total) / ((n_t + n_l) * UNITS)
        released = TrustedStatistics(n_t, trusted.mean + rng.laplace(0, scale), 2 * scale**2, laplace=True)
        reported = study.decode(reports(study, local, rng))
        estimate = weigh(study, released, reported, WeightRule(), STATEMENT, n_users=n_t + n_l)
        law = estimate.laws.users
        inside.append(estimate.covers(truth, 0.95))
        spread.append((law.evidence.spread / law.evidence.n_reports) ** 0.5 / crowd.variance)
        if i < WIDTHS:
            told = replace(law, evidence=VarianceEvidence(law.evidence.n_users, known=crowd.variance))
            stated.append(estimate.interval(0.95).half_width)
            needed.append(told.interval(0.95).half_width)
    return Found(cell, float(np.mean(inside)), float(np.mean(stated) / np.mean(needed)), float(np.median(spread)))


def show(title: str, found: list[Found], rows: int) -> None:
    """The rows with the lowest coverage, and a summary."""
    covered = np.array([f.coverage for f in found])
    width = np.array([f.over_needed for f in found])
    print(f"\n{title}: {len(found)} settings")
    print(
        f"coverage {covered.min():.3f} / {np.median(covered):.3f} / {covered.max():.3f} (least, median, most), ", end=""
    )
    print(
        f"{int((covered < 0.93).sum())} below .93; stated over needed width {np.median(width):.2f} / {width.max():.2f}"
    )
    print("| values | ε | trusted | local | coverage | stated / needed | se of the variance / variance |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for one in sorted(found, key=lambda f: f.coverage)[:rows]:
        print(one)


def main() -> None:
    """All settings, on all cores."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    with ProcessPoolExecutor() as pool:
        rare = list(pool.map(measure, RARE, [trials] * len(RARE)))
        fewer = [round(ORDINARY_SHARE * trials)] * len(ORDINARY + DEPLOYMENTS)
        ordinary = list(pool.map(measure, ORDINARY + DEPLOYMENTS, fewer))
    show("Rare values", rare, 10)
    known = [f for f in ordinary if f.relative_se <= 0.5]
    show("Ordinary values, variance known to within half of itself", known, 10)
    show("Ordinary values, variance not known", [f for f in ordinary if f.relative_se > 0.5], 10)
    show("Deployments", ordinary[-len(DEPLOYMENTS) :], len(DEPLOYMENTS))


if __name__ == "__main__":
    main()
