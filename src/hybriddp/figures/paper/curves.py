"""Panels that several figures share: gains over the number of users, and densities."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Literal

from hybriddp.figures.canvas import INK, MUTED
from hybriddp.figures.paper.rows import SIMULATION, THEORY, DensityRow, GainRow
from hybriddp.figures.paper.scenario import EPSILONS, FRACTIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = {0.1: "#7b4ea3", 1.0: "#1d8a6b"}  # by ε
_LINES: dict[float, Literal["--", "-"]] = {0.005: "--", 0.05: "-"}  # by trusted fraction
_MARKERS = {0.005: "s", 0.05: "o"}


def gain_panel(axes: "Axes", rows: Sequence[GainRow], *, title: str, worst: bool = False, log: bool = False) -> None:
    """R (or r) over n: a line per trusted fraction and ε, and the simulated dots with bars of one standard error."""
    name = "gain_over_worst" if worst else "gain_over_best"
    for c, epsilon in product(FRACTIONS, EPSILONS):
        of = [row for row in rows if (row.trusted_fraction, row.epsilon) == (c, epsilon)]
        line = [row for row in of if row.source == THEORY]
        axes.plot(
            [row.n_users for row in line],
            [getattr(row, name) for row in line],
            color=_COLORS[epsilon],
            linestyle=_LINES[c],
        )
        dots = [row for row in of if row.source == SIMULATION]
        if dots:
            axes.errorbar(
                [row.n_users for row in dots],
                [getattr(row, name) for row in dots],
                [getattr(row, f"{name}_se") for row in dots],
                color=_COLORS[epsilon],
                marker=_MARKERS[c],
                markerfacecolor="white" if c == FRACTIONS[0] else _COLORS[epsilon],
                markersize=4,
                linestyle="none",
                elinewidth=1.2,
                capsize=2,
            )
    axes.axhline(1.0, color=MUTED, linewidth=1, zorder=0)
    axes.set_xscale("log")
    if log:
        axes.set_yscale("log")
    axes.set_xlabel("number of users n")
    axes.set_ylabel("r, gain over the worse world" if worst else "R, gain over the better world")
    axes.set_title(title)


def shared_legend(figure: "Figure", rows: Sequence[GainRow]) -> None:
    """One legend for all panels of gains, below them."""
    from matplotlib.lines import Line2D

    simulated = [row for row in rows if row.source == SIMULATION]
    handles = [
        Line2D(
            [],
            [],
            color=_COLORS[epsilon],
            linestyle=_LINES[c],
            marker=_MARKERS[c] if simulated else None,
            markerfacecolor="white" if c == FRACTIONS[0] else _COLORS[epsilon],
            markersize=4,
            label=f"c = {100 * c:g} %, ε = {epsilon:g}",
        )
        for c, epsilon in product(FRACTIONS, EPSILONS)
    ]
    dots = f"; dots: simulated {simulated[0].trials:,} times, bars ± 1 standard error" if simulated else ""
    title = f"Lines: theory{dots}"
    legend = figure.legend(handles=handles, loc="outside lower center", ncols=4, title=title, title_fontsize=9)
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_color(INK)


def density_panel(
    axes: "Axes", rows: Sequence[DensityRow], *, title: str, colors: dict[str, str], top: float, by_group: bool
) -> None:
    """Densities over the value, a line per group or per population."""
    for label in dict.fromkeys(row.group if by_group else row.population for row in rows):
        of = [row for row in rows if label in {row.group, row.population}]
        values = [of[0].value, *(row.value for row in of), of[-1].value]
        heights = [0.0, *(row.density for row in of), 0.0]
        axes.plot(values, heights, color=colors[label], label=label)
        if by_group:
            axes.fill_between(values, heights, color=colors[label], alpha=0.15)
    axes.set_ylim(0.0, top)
    axes.set_xlabel("value")
    axes.set_ylabel("density")
    axes.set_title(title)
