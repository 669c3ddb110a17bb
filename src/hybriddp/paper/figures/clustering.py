"""Figure 6: what the paper's K-means costs over the number of rounds, as printed and repaired, beside ours.

All of it is simulated, on the paper's data set: its algorithms as printed and repaired, and ours.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import count, product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.figures.canvas import HYBRID, INK, LOCAL, MUTED, PURPLE, TRUSTED, legend_below, readable_log_axis
from hybriddp.grid import read_only
from hybriddp.kmeans.clustering import nearest, wcss
from hybriddp.kmeans.estimator import HybridKMeans
from hybriddp.paper import kmeans as paper
from hybriddp.paper.figures.figure import PaperFigure
from hybriddp.paper.figures.rows import SIMULATION, THEORY, ClusteringRow, DensityRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLACES = ((0.20, 0.25), (0.35, 0.80), (0.65, 0.40), (0.85, 0.75))
"""Where the clusters are: our choice, since the paper does not say."""
FRACTIONS = {"b": 0.001, "c": 0.01}
"""The fraction of users who trust, by panel."""
ROUNDS = tuple(range(1, 11))
EPSILON = 7.0
PRINTED, REPAIRED = "printed", "repaired"

_PER_CLUSTER, _SPREAD = 40_000, 0.028
_FEWER = 50  # one run of K-means takes as long as many of a mean
_MIDDLE = (10, 90)  # percentiles


class Clusterer(StrEnum):
    """Who clusters whose points: the paper's algorithms with one group or both, and ours with both."""

    TRUSTED_ONLY = "trusted-only"
    FULL_LOCAL = "full-local"  # with everybody as a local user
    HYBRID = "hybrid"
    OURS = "ours"  # `hybriddp.kmeans`; it has no rounds to choose


@cache
def points() -> FloatArray:
    """Create the data set of four round clusters, which is always the same."""
    rng = np.random.default_rng(6)
    spread = rng.normal(0.0, _SPREAD, (len(PLACES) * _PER_CLUSTER, 2))
    return read_only(np.repeat(PLACES, _PER_CLUSTER, axis=0) + spread)


@cache
def best_cost() -> float:
    """Compute the cost of the best centers, the means of the clusters.

    The clusters are too far apart for any doubt about which centers are best.
    """
    labels = nearest(points(), np.array(PLACES))
    return wcss(points(), np.stack([points()[labels == k].mean(axis=0) for k in range(len(PLACES))]))


@dataclass(frozen=True, slots=True)
class ClusteringDot:
    """One algorithm in one setting, with its seed; see `ClusteringRow` for what it is described by."""

    panel: str
    algorithm: Clusterer
    reading: str
    trusted_fraction: float | None
    iterations: int | None
    seed: int

    def trials(self, asked: int) -> int:
        """Return a fiftieth of the requested number of trials, but at least 2."""
        return max(2, asked // _FEWER)

    def run(self, trials: int) -> ClusteringRow:
        """Simulate the cost of the centers.

        The trusted users, the start and the noise are drawn anew in each trial.
        """
        rng = np.random.default_rng(self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that the print is flawed is what the figure shows
            costs = np.array([wcss(points(), self._centers(rng)) for _ in range(trials)])
        low, high = np.percentile(costs, _MIDDLE)
        return ClusteringRow(
            panel=self.panel,
            source=SIMULATION,
            algorithm=str(self.algorithm),
            reading=self.reading,
            trusted_fraction=self.trusted_fraction,
            iterations=self.iterations,
            epsilon=EPSILON,
            cost=float(costs.mean()),
            cost_low=float(low),
            cost_high=float(high),
            cost_se=float(costs.std(ddof=1) / np.sqrt(trials)),
            trials=trials,
        )

    def _centers(self, rng: np.random.Generator) -> FloatArray:
        everybody = points()
        trusts = np.zeros(len(everybody), np.bool_)
        trusts[rng.choice(len(everybody), round((self.trusted_fraction or 0.0) * len(everybody)), replace=False)] = True
        trusted, local = everybody[trusts], everybody[~trusts]
        public: dict[str, Any] = {"n_clusters": len(PLACES), "epsilon": EPSILON, "bounds": [(0.0, 1.0)] * 2}
        if self.algorithm is Clusterer.OURS:
            ours = HybridKMeans(**public, random_state=int(rng.integers(1 << 31)))
            return np.asarray(ours.fit(trusted, local).cluster_centers_)
        if self.algorithm is Clusterer.TRUSTED_ONLY:
            local = local[:0]
        reading = paper.PRINTED if self.reading == PRINTED else paper.REPAIRED
        public |= {"iterations": self.iterations, "random_state": rng, "reading": reading}
        return paper.hybrid(trusted, local, **public).centers


def clustering_dots(*, first_seed: int) -> tuple[ClusteringDot, ...]:
    """All settings of the figure, the longest first so that the processes end together."""
    seeds = count(first_seed)
    both = [
        ClusteringDot(panel, algorithm, reading, c, rounds, next(seeds))
        for rounds, algorithm, reading, (panel, c) in product(
            ROUNDS[::-1], (Clusterer.HYBRID, Clusterer.TRUSTED_ONLY), (PRINTED, REPAIRED), FRACTIONS.items()
        )
    ]
    alone = [
        ClusteringDot("bc", Clusterer.FULL_LOCAL, reading, None, rounds, next(seeds))
        for rounds, reading in product(ROUNDS[::-1], (PRINTED, REPAIRED))
    ]
    ours = [ClusteringDot(panel, Clusterer.OURS, "", c, None, next(seeds)) for panel, c in FRACTIONS.items()]
    return (*alone, *both, *ours)


_COLORS = {
    Clusterer.TRUSTED_ONLY: TRUSTED,
    Clusterer.FULL_LOCAL: LOCAL,
    Clusterer.HYBRID: HYBRID,
    Clusterer.OURS: PURPLE,
}
_LINES: dict[str, Literal["--", "-"]] = {PRINTED: "--", REPAIRED: "-"}
_BANDS = {PRINTED: 0.07, REPAIRED: 0.15}  # how dark
_SHOWN = 40  # one of so many points is drawn


def theory() -> list[ClusteringRow]:
    """All that is known without a simulation: what the best centers cost."""
    best = best_cost()
    return [ClusteringRow("bc", THEORY, "without privacy", "", None, None, None, best, best, best)]


def draw(figure: "Figure", rows: Sequence[ClusteringRow], _: Sequence[DensityRow]) -> None:
    """Draw the data set, and the costs beside it if there was a simulation."""
    simulated = [row for row in rows if row.source == SIMULATION]
    if not simulated:
        figure.set_size_inches(5.0, 5.0)
        _data_panel(figure.subplots())
        return
    data, *costs = figure.subplots(1, 3, width_ratios=(3, 4, 4))
    _data_panel(data)
    for axes, (panel, c) in zip(costs, FRACTIONS.items(), strict=True):
        _cost_panel(axes, [row for row in rows if panel in row.panel])
        axes.set_title(f"({panel}) c = {100 * c:g} % trust")
    costs[0].set_ylabel("sum of squared distances")
    _legend(figure, simulated)


def _data_panel(axes: "Axes") -> None:
    shown = points()[::_SHOWN]
    axes.plot(*shown.T, linestyle="none", marker=".", markersize=1.5, color=MUTED, rasterized=True)
    axes.plot(*np.array(PLACES).T, linestyle="none", marker="+", markersize=9, markeredgewidth=1.6, color=INK)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.set_title("(a) the data set")


def _cost_panel(axes: "Axes", rows: Sequence[ClusteringRow]) -> None:
    for algorithm, color in _COLORS.items():
        for reading, line in _LINES.items():
            of = {row.iterations or 0: row for row in rows if (row.algorithm, row.reading) == (algorithm, reading)}
            rounds = sorted(of)
            low, high = [of[t].cost_low for t in rounds], [of[t].cost_high for t in rounds]
            axes.fill_between(rounds, low, high, color=color, alpha=_BANDS[reading], linewidth=0)
            axes.plot(rounds, [of[t].cost for t in rounds], color=color, linestyle=line)
    for row in rows:
        if row.algorithm == Clusterer.OURS:
            axes.axhspan(row.cost_low, row.cost_high, color=_COLORS[Clusterer.OURS], alpha=0.25, linewidth=0)
            axes.axhline(row.cost, color=_COLORS[Clusterer.OURS])
        elif row.source == THEORY:
            axes.axhline(row.cost, color=INK, linestyle=":", linewidth=1, zorder=3)
    axes.set_yscale("log")
    axes.set_ylim(200, 30_000)
    readable_log_axis(axes.yaxis, lambda y: f"{y:,.0f}")
    axes.set_xticks(ROUNDS)
    axes.set_xlim(ROUNDS[0], ROUNDS[-1])
    axes.set_xlabel("rounds τ")


def _legend(figure: "Figure", rows: Sequence[ClusteringRow]) -> None:
    from matplotlib.lines import Line2D

    drawn = {(row.algorithm, row.reading) for row in rows}
    handles = [
        Line2D([], [], color=color, linestyle=line, label=", ".join(filter(None, (algorithm, reading))))
        for algorithm, color in _COLORS.items()
        for reading, line in {**_LINES, "": "-"}.items()
        if (algorithm, reading) in drawn
    ]
    handles.append(Line2D([], [], color=INK, linestyle=":", linewidth=1, label="without privacy"))
    legend_below(figure, handles, f"Lines: mean of {rows[0].trials:,} trials; bands: the middle 80 % of them")


FIGURE_6 = PaperFigure(
    number=6,
    title="K-means with both groups",
    shows=(
        "The cost (sum of squared distances) of the paper's K-means at ε = 7 over its rounds, with 0.1 % and 1 % of "
        "160,000 users trusting, as printed and repaired, and of ours, which needs no number of rounds. All of it is "
        "simulated, with a fiftieth of the trials; without simulation there is only the data set."
    ),
    differs=(
        "As printed, the hybrid ignores the trusted group and costs as much as full-local; it follows the better "
        "single model only after repairs (errata 2, 4 and 5)."
    ),
    theory=theory,
    size=(11, 4.4),
    draw=draw,
    dots=clustering_dots(first_seed=60_000),
)
