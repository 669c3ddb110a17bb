"""Figure 1: three Beta distributions, and the gain R of the known-variance weight on each."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from hybriddp.figures.canvas import HYBRID, LOCAL, TRUSTED
from hybriddp.paper.figures.curves import (
    FigureScenario,
    Group,
    Weight,
    density_panel,
    dots,
    gain_panel,
    shared_legend,
    theory_curves,
)
from hybriddp.paper.figures.figure import PaperFigure
from hybriddp.paper.figures.rows import DensityRow, GainRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUPS = (Group(10), Group(1), Group(0.1))
SCENARIOS = tuple(
    FigureScenario(panel, group, group, 1.0, Weight.KNOWN_VARIANCE) for panel, group in zip("bcd", GROUPS, strict=True)
)
_COLORS = dict(zip((group.name for group in GROUPS), (TRUSTED, HYBRID, LOCAL), strict=True))


def densities() -> list[DensityRow]:
    """The three distributions."""
    return [row for group in GROUPS for row in group.densities(panel="a", group="both")]


def draw(figure: "Figure", gains: Sequence[GainRow], shapes: Sequence[DensityRow]) -> None:
    """Four panels."""
    panels = figure.subplots(2, 2).ravel()
    density_panel(panels[0], shapes, title="(a) what users' values look like", colors=_COLORS, top=5.4, by_group=False)
    panels[0].legend(loc="upper center")
    for axes, scenario in zip(panels[1:], SCENARIOS, strict=True):
        rows = [row for row in gains if row.panel == scenario.panel]
        gain_panel(axes, rows, title=f"({scenario.panel}) R on {scenario.trusted.name}")
        axes.set_ylim(0.85, 2.3)
    shared_legend(figure, gains)


FIGURE = PaperFigure(
    number=1,
    title="Gain of the known-variance weight on Beta distributions",
    shows=(
        "How many times as large as the hybrid's the squared error of the better single model is, over the number of "
        "users, for little, medium and much spread."
    ),
    differs=(
        "Four of the curves without a peak have it at 400 to 451 users, left of the plot, where the text says below "
        "one user (erratum 18)."
    ),
    theory=partial(theory_curves, SCENARIOS),
    size=(9.6, 7),
    draw=draw,
    densities=densities,
    dots=dots(SCENARIOS, first_seed=10_000),
)
