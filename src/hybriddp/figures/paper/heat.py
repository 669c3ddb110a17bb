"""A heat map over the trusted fraction and ε, with contours and the line on which both single models err alike."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.figures.canvas import INK
from hybriddp.figures.paper.rows import THEORY, GainRow
from hybriddp.figures.paper.salaries import CROSSOVER, EPSILONS, FRACTIONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize

_CROSSOVER = "#c8102e"  # seen on every color of the maps


def pale_to_blue() -> "Colormap":
    """Colors for values that only grow; without the darkest, on which contours could not be read."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["YlGnBu"](np.linspace(0.0, 0.75, 256)))


def orange_to_purple() -> "Colormap":
    """Colors for values on both sides of one that matters, which is white."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["PuOr"](np.linspace(0.15, 0.85, 256)))


def heat_panel(
    axes: "Axes",
    rows: Sequence[GainRow],
    *,
    title: str,
    label: str,
    norm: "Normalize",
    colors: "Colormap",
    levels: FloatArray,
    contours: Sequence[float],
    ticks: Sequence[float],
    worst: bool = False,
) -> None:
    """Draw R (or r) of the grid, and a bar that says what the colors mean."""
    name = "gain_over_worst" if worst else "gain_over_best"
    grid = np.array([getattr(row, name) for row in rows if row.source == THEORY]).reshape(len(FRACTIONS), -1)
    x, y = 100.0 * FRACTIONS, EPSILONS
    axes.set_xscale("log")  # first, because the labels of the contours are placed on the scale that is there
    axes.set_yscale("log")
    mesh = axes.contourf(x, y, grid.T, levels=levels, norm=norm, cmap=colors)
    lines = axes.contour(x, y, grid.T, levels=contours, colors=INK, linewidths=0.8)
    axes.clabel(lines, fmt=lambda level: f"{level:g}", fontsize=8)
    alike = [row for row in rows if row.source == CROSSOVER]
    axes.plot(
        [100.0 * row.trusted_fraction for row in alike],
        [row.epsilon for row in alike],
        color=_CROSSOVER,
        linewidth=1.4,
        linestyle="--",
    )
    axes.set_xticks([0.1, 1.0, 10.0], ["0.1 %", "1 %", "10 %"])
    axes.set_yticks([0.1, 1.0, 10.0], ["0.1", "1", "10"])
    axes.grid(visible=False)
    axes.set_xlabel("c, share of users who trust the curator")
    axes.set_ylabel("ε")
    axes.set_title(title)
    bar = axes.get_figure(root=True).colorbar(mesh, ax=axes, label=label, ticks=ticks, format="%g")  # type: ignore[union-attr]
    bar.outline.set_visible(False)
