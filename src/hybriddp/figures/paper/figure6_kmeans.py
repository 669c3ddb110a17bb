"""Figure 6: what the paper's K-means costs over the number of rounds, as printed and repaired, beside ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from hybriddp.figures.canvas import HYBRID, INK, LOCAL, MUTED, TRUSTED, canvas, readable_log_axis
from hybriddp.figures.paper.clustering import (
    FRACTIONS,
    PLACES,
    PRINTED,
    REPAIRED,
    ROUNDS,
    Algorithm,
    best_cost,
    clustering_dots,
    points,
)
from hybriddp.figures.paper.figure import PaperFigure
from hybriddp.figures.paper.files import save_all
from hybriddp.figures.paper.rows import SIMULATION, THEORY, ClusteringRow, DensityRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = {
    Algorithm.TRUSTED_ONLY: TRUSTED,
    Algorithm.FULL_LOCAL: LOCAL,
    Algorithm.HYBRID: HYBRID,
    Algorithm.OURS: "#7b4ea3",
}
_LINES: dict[str, Literal["--", "-"]] = {PRINTED: "--", REPAIRED: "-"}
_BANDS = {PRINTED: 0.07, REPAIRED: 0.15}  # how dark
_SHOWN = 40  # one of so many points is drawn


def theory() -> list[ClusteringRow]:
    """All that is known without a simulation: what the best centers cost."""
    best = best_cost()
    return [ClusteringRow("bc", THEORY, "without privacy", "", None, None, None, best, best, best)]


def draw(rows: Sequence[ClusteringRow], _: Sequence[DensityRow], paths: Sequence[Path]) -> None:
    """The data set and, if there was a simulation, the costs beside it."""
    simulated = [row for row in rows if row.source == SIMULATION]
    with canvas(11 if simulated else 5.0, 4.4 if simulated else 5.0) as figure:
        if simulated:
            data, *costs = figure.subplots(1, 3, width_ratios=(3, 4, 4))
            for axes, (panel, c) in zip(costs, FRACTIONS.items(), strict=True):
                _cost_panel(axes, [row for row in rows if panel in row.panel])
                axes.set_title(f"({panel}) c = {100 * c:g} % trust")
            costs[0].set_ylabel("sum of squared distances")
            _legend(figure, simulated)
        else:
            data = figure.subplots()
        _data_panel(data)
        save_all(figure, paths)


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
        if row.algorithm == Algorithm.OURS:
            axes.axhspan(row.cost_low, row.cost_high, color=_COLORS[Algorithm.OURS], alpha=0.25, linewidth=0)
            axes.axhline(row.cost, color=_COLORS[Algorithm.OURS])
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
    title = f"Lines: mean of {rows[0].trials:,} trials; bands: the middle 80 % of them"
    legend = figure.legend(handles=handles, loc="outside lower center", ncols=4, title=title, title_fontsize=9)
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_color(INK)


FIGURE = PaperFigure(
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
    draw=draw,
    dots=clustering_dots(first_seed=60_000),
)
