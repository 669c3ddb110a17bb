"""Quantiles of like groups on the whole grid of the design: where both groups together are worse than the better one.

    python -m benchmarks.distribution_grid [TRIALS]

ε = 0.5, 1, 2, 4; 10,000 users (c = 1, 5 %), 100,000 and 1,000,000 (c = 0.1, 1, 5 %); four shapes: 128 cells of 40
studies each. T8, and T9 and T10 over everything. A cell is worse if the squared error of the CDF at the edges next to
p50, p90, p95 and p99 is larger than that of the better group, study by study, by more than two standard errors. Takes
ten minutes of processor time.
"""

import sys
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks.distribution_accuracy import Cell, Trio, head, pooled, row, run
from benchmarks.distribution_shapes import DEV

SIZES = ((10**4, (0.01, 0.05)), (10**5, (0.001, 0.01, 0.05)), (10**6, (0.001, 0.01, 0.05)))
CELLS = tuple(Cell("", epsilon, n, c) for epsilon in (0.5, 1, 2, 4) for n, shares in SIZES for c in shares)


@dataclass(frozen=True)
class GridCell:
    """A setting on a shape, and what came out."""

    cell: Cell
    shape: str
    found: Trio


def measure(trials: int) -> list[GridCell]:
    """All cells, a line for each setting."""
    head("ε", "n", "c", "both", "trusted", "local", "largest z", "band", "linear", "interval")
    every = []
    for cell in CELLS:
        found = [GridCell(cell, shape.name, run(shape, cell, trials, fresh=True)) for shape in DEV]
        trios = [one.found for one in found]
        errors = [pooled(getattr(trio, group) for trio in trios) for group in ("both", "trusted", "local")]
        held = [np.mean([x for t in trios for x in getattr(t.both, kind)]) for kind in ("band", "linear", "covered")]
        told = (f"{cell.epsilon:g}", f"{cell.n_users:,}", f"{100 * cell.trusted:g} %", *(f"{x:.2f}" for x in errors))
        row(*told, f"{max(trio.z for trio in trios):.2f}", *(f"{x:.3f}" for x in held))
        every += found
    return every


def clustered(values: list[float], size: int) -> tuple[float, float]:
    """A mean and its standard error, if each ``size`` neighbors come from one study."""
    studies = np.reshape(values, (-1, size)).mean(axis=1)
    return float(studies.mean()), float(studies.std(ddof=1) / len(studies) ** 0.5)


def tell(every: list[GridCell]) -> None:
    """T8 against chance, T9 and T10 with their standard errors."""
    worse = [one for one in every if one.found.z > 2]
    chance = stats.binom.sf(len(worse) - 1, len(every), stats.norm.sf(2))
    names = [(one.cell.epsilon, one.cell.n_users, one.cell.trusted, one.shape, round(one.found.z, 2)) for one in worse]
    print(f"\nT8: {len(worse)} of {len(every)} cells with z > 2 ({stats.norm.sf(2) * len(every):.1f} by chance,")
    print(f"probability of as many {chance:.2f}): {names}")
    ratios = {c: [one.found.ratio for one in every if one.cell.trusted == c] for c in (0.001, 0.01, 0.05)}
    for c, some in ratios.items():
        above = sum(ratio > 1 for ratio in some)
        told = f"median {np.median(some):.3f}, from {min(some):.2f} to {max(some):.2f}, {above} of {len(some)} above 1"
        print(f"ratio to the better group at c = {100 * c:g} %: {told}")
    for group in ("both", "trusted", "local"):
        for kind in ("band", "linear", "covered"):
            values = [x for one in every for x in getattr(getattr(one.found, group), kind)]
            mean, error = clustered(values, 4)
            print(f"{group}, {kind}: {mean:.4f} ± {error:.4f}")
    cells = [np.mean(one.found.both.band) for one in every]
    print(f"band, least of a cell: {min(cells):.3f}\n", flush=True)


def main() -> None:
    """Measure and tell."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    tell(measure(numbers[0] if numbers else 40))


if __name__ == "__main__":
    main()
