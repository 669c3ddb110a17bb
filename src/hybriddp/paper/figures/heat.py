"""Heat maps over the trusted fraction and ε of the paper's real data set, salaries.

The theory needs three numbers of it, which are printed: users, width and spread.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.figures.canvas import INK
from hybriddp.paper.figures.curves import Weight, gain_rows
from hybriddp.paper.figures.rows import BEST_LABEL, THEORY, WORST_LABEL, GainRow
from hybriddp.theory import UC_SALARIES, laplace_noise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap, Normalize

_LINE = "#c8102e"  # seen on every color of the maps
CROSSOVER = "crossover"
STEPS = 100
"""Of the grid, along each axis; even in the logarithm."""

FRACTIONS = np.geomspace(0.001, 0.1, STEPS + 1)
EPSILONS = np.geomspace(0.1, 10.0, STEPS + 1)


def crossover(epsilon: FloatArray) -> FloatArray:
    r"""The trusted fraction at which both single models err alike.

    It solves $n_{crit}(c) = n$ (`laplace_critical_users`), that is $(2 + y) c^2 - y c = 2/n$ with
    $y = (\epsilon\sigma/m)^2$.
    """
    y = (epsilon * UC_SALARIES.sd / UC_SALARIES.width) ** 2
    return (y + np.sqrt(y**2 + 8.0 * (2.0 + y) / UC_SALARIES.n_users)) / (2.0 * (2.0 + y))


def salary_gains(weight: Weight, *, panel: str) -> list[GainRow]:
    """The grid of the heat map, then the line on which both single models are equally good, one point per ε."""
    fractions, epsilons = np.meshgrid(FRACTIONS, EPSILONS, indexing="ij")
    return [
        *_rows(weight, panel, THEORY, fractions.ravel(), epsilons.ravel()),
        *_rows(weight, panel, CROSSOVER, crossover(EPSILONS), EPSILONS),
    ]


def _rows(weight: Weight, panel: str, source: str, c: FloatArray, epsilon: FloatArray) -> list[GainRow]:
    noise = laplace_noise(n_users=UC_SALARIES.n_users, trusted_fraction=c, width=UC_SALARIES.width, epsilon=epsilon)
    setting = UC_SALARIES.setting(c, noise)
    w = setting.weight_privacy() if weight is Weight.PRIVACY else setting.weight_known_variance()
    return gain_rows((panel, source, UC_SALARIES.name, UC_SALARIES.name), setting, epsilon, w)


def heat_panel(
    axes: "Axes",
    rows: Sequence[GainRow],
    *,
    title: str,
    norm: "Normalize",
    colors: "Colormap",
    levels: FloatArray,
    contours: Sequence[float],
    ticks: Sequence[float],
    worst: bool = False,
) -> None:
    """Draw R (or r) of the grid, the line on which both single models err alike, and a bar for the colors."""
    name, label = ("gain_over_worst", WORST_LABEL) if worst else ("gain_over_best", BEST_LABEL)
    grid = np.array([getattr(row, name) for row in rows if row.source == THEORY]).reshape(len(FRACTIONS), -1)
    axes.set_yscale("log")
    bar = fraction_map(axes, FRACTIONS, EPSILONS, grid, norm=norm, colors=colors, levels=levels, contours=contours)
    bar.set_label(label)
    bar.set_ticks(list(ticks), labels=[f"{tick:g}" for tick in ticks])
    alike = [row for row in rows if row.source == CROSSOVER]
    fractions, epsilons = [100.0 * row.trusted_fraction for row in alike], [row.epsilon for row in alike]
    axes.plot(fractions, epsilons, color=_LINE, linewidth=1.4, linestyle="--")
    axes.set_yticks([0.1, 1.0, 10.0], ["0.1", "1", "10"])
    axes.set_ylabel("ε")
    axes.set_title(title)


def fraction_map(
    axes: "Axes",
    fractions: FloatArray,
    y: FloatArray,
    grid: FloatArray,
    *,
    norm: "Normalize",
    colors: "Colormap",
    levels: FloatArray,
    contours: Sequence[float] | FloatArray,
) -> "Colorbar":
    """A heat map with contours over the trusted fraction (rows of ``grid``) and something else; its bar of colors."""
    x = 100.0 * fractions
    axes.set_xscale("log")  # first, because the labels of the contours are placed on the scale that is there
    mesh = axes.contourf(x, y, grid.T, levels=levels, norm=norm, cmap=colors)
    lines = axes.contour(x, y, grid.T, levels=contours, colors=INK, linewidths=0.8)
    axes.clabel(lines, fmt=lambda level: f"{level:g}" if level >= 1 else f"{level:.2g}", fontsize=8)
    axes.set_xticks([0.1, 1.0, 10.0], ["0.1 %", "1 %", "10 %"])
    axes.set_xlabel("c, fraction of users who trust the curator")
    axes.grid(visible=False)
    bar = axes.get_figure(root=True).colorbar(mesh, ax=axes)  # type: ignore[union-attr]
    bar.ax.minorticks_off()
    bar.outline.set_visible(False)
    return bar
