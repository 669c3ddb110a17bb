"""Figure 4: the gain R of the known-variance weight where the two groups' values spread differently."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from hybriddp.paper.figures.curves import FigureScenario, Group, Weight, dots, gain_panel, shared_legend, theory_curves
from hybriddp.paper.figures.figure import PaperFigure
from hybriddp.paper.figures.rows import DensityRow, GainRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCENARIOS = (
    FigureScenario("a", Group(10), Group(0.1), 1.0, Weight.KNOWN_VARIANCE),
    FigureScenario("b", Group(0.1), Group(10), 1.0, Weight.KNOWN_VARIANCE),
)


def draw(figure: "Figure", gains: Sequence[GainRow], _: Sequence[DensityRow]) -> None:
    """A panel per scenario."""
    for axes, scenario in zip(figure.subplots(1, 2, sharey=True), SCENARIOS, strict=True):
        rows = [row for row in gains if row.panel == scenario.panel]
        title = f"({scenario.panel}) trusted {scenario.trusted.name}, local {scenario.local.name}"
        gain_panel(axes, rows, title=title)
        axes.set_ylim(0.85, 2.3)
    shared_legend(figure, gains)


FIGURE = PaperFigure(
    number=4,
    title="Groups whose values spread differently",
    shows=(
        "R of the known-variance weight is almost what it is if everybody's values spread like those of the trusted "
        "group (figure 1, panels b and d)."
    ),
    differs="Nowhere: against figure 1, R changes by at most 0.0982, and by less than 0.01 at most places.",
    theory=partial(theory_curves, SCENARIOS),
    size=(10, 4.4),
    draw=draw,
    dots=dots(SCENARIOS, first_seed=40_000),
)
