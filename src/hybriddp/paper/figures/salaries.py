"""Figures 2 and 8: gains over the trusted fraction and ε, on the paper's real data set, salaries.

The theory needs three numbers of it, which are printed: users, width and spread.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.figures.canvas import INK, RED, note, orange_to_purple, pale_to_blue
from hybriddp.paper.figures.curves import Weight, gain_rows
from hybriddp.paper.figures.figure import PaperFigure
from hybriddp.paper.figures.rows import BEST_LABEL, THEORY, WORST_LABEL, DensityRow, GainRow
from hybriddp.theory import UC_SALARIES, laplace_noise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure

CROSSOVER = "crossover"
STEPS = 100
"""Steps of the grid along each axis, even in the logarithm."""

FRACTIONS = np.geomspace(0.001, 0.1, STEPS + 1)
EPSILONS = np.geomspace(0.1, 10.0, STEPS + 1)


def crossover(epsilon: FloatArray) -> FloatArray:
    r"""Find the trusted fraction at which both single models err alike.

    It solves $n_{crit}(c) = n$ (`laplace_critical_users`), that is $(2 + y) c^2 - y c = 2/n$ with
    $y = (\epsilon\sigma/m)^2$.
    """
    y = (epsilon * UC_SALARIES.sd / UC_SALARIES.width) ** 2
    return (y + np.sqrt(y**2 + 8.0 * (2.0 + y) / UC_SALARIES.n_users)) / (2.0 * (2.0 + y))


def salary_gains(weight: Weight, *, panel: str) -> list[GainRow]:
    """Tabulate the heat map's grid, then the line on which both single models err alike, one point per ε."""
    fractions, epsilons = np.meshgrid(FRACTIONS, EPSILONS, indexing="ij")
    places = ((THEORY, fractions.ravel(), epsilons.ravel()), (CROSSOVER, crossover(EPSILONS), EPSILONS))
    n, m, name, rows = UC_SALARIES.n_users, UC_SALARIES.width, UC_SALARIES.name, []
    for source, c, epsilon in places:
        setting = UC_SALARIES.setting(c, laplace_noise(n_users=n, trusted_fraction=c, width=m, epsilon=epsilon))
        w = setting.weight_privacy() if weight is Weight.PRIVACY else setting.weight_known_variance()
        rows += gain_rows((panel, source, name, name), setting, epsilon, w)
    return rows


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
    axes.plot(fractions, epsilons, color=RED, linewidth=1.4, linestyle="--")
    axes.set_yticks([0.1, 1.0, 10.0], ["0.1", "1", "10"])
    axes.set_ylabel("ε")
    axes.set_title(f"{title}, from the paper's three numbers")


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
    """Draw a heat map with contours over the trusted fraction (rows of ``grid``) and ``y``."""
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


def draw_2(figure: "Figure", gains: Sequence[GainRow], _: Sequence[DensityRow]) -> None:
    """Draw the heat map, and explain why there is no histogram."""
    from matplotlib.colors import Normalize

    heat_panel(
        figure.subplots(),
        gains,
        title="(b) R for the UC salaries",
        norm=Normalize(1.0, 2.05),
        colors=pale_to_blue(),
        levels=np.linspace(1.0, 2.05, 22),
        contours=(1.1, 1.25, 1.5, 1.75),
        ticks=(1.0, 1.2, 1.4, 1.6, 1.8, 2.0),
    )
    note(figure, "Dashed red: both single models err alike. Panel (a), a histogram of the salaries, needs their file.")


def draw_8(figure: "Figure", gains: Sequence[GainRow], _: Sequence[DensityRow]) -> None:
    """Draw both heat maps."""
    from matplotlib.colors import LogNorm, TwoSlopeNorm

    left, right = figure.subplots(1, 2)
    heat_panel(
        left,
        gains,
        title="(a) R",
        norm=TwoSlopeNorm(1.0, 0.2, 2.0),
        colors=orange_to_purple(),
        levels=np.linspace(0.2, 2.0, 37),
        contours=(0.5, 1.0, 1.5),
        ticks=(0.2, 0.5, 1.0, 1.5, 2.0),
    )
    heat_panel(
        right,
        gains,
        title="(b) r",
        norm=LogNorm(1.0, 2400.0),
        colors=pale_to_blue(),
        levels=np.geomspace(1.0, 2400.0, 25),
        contours=(10, 100, 1500),
        ticks=(1, 10, 100, 1000),
        worst=True,
    )
    note(figure, "Dashed red: both single models err alike.")


FIGURE_2 = PaperFigure(
    number=2,
    title="Gain of the known-variance weight on the UC salaries",
    shows=(
        "R over the fraction of trusting users and ε, from the paper's three numbers (252,540 users, salaries up to "
        "$2,349,033, standard deviation $53,254)."
    ),
    differs=(
        "(a), the histogram of the salaries, cannot be drawn without their file; for ε ≤ 1 the peak is 1.9984, and 2 "
        "is passed only for ε > 2.34 (erratum 19)."
    ),
    theory=partial(salary_gains, Weight.KNOWN_VARIANCE, panel="b"),
    size=(7.2, 5.2),
    draw=draw_2,
)
FIGURE_8 = PaperFigure(
    number=8,
    title="Gains of the privacy weight on the UC salaries",
    shows="R and r of the weight that knows nothing of the values, from the paper's three numbers.",
    differs=(
        "The text's regions lie on the other axis: R < 0.5 at small c and large ε, r > 1,500 at large c and small ε; r "
        "is between 10 and 100 in a quarter of the figure, not in most of it (erratum 20)."
    ),
    theory=partial(salary_gains, Weight.PRIVACY, panel="ab"),
    size=(11, 4.6),
    draw=draw_8,
)
