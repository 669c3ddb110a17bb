"""Figure 3: the gains R and r of the privacy weight, which needs no variance, on three Beta distributions."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from hybriddp.paper.figures.curves import FigureScenario, Weight, dots, gain_panel, shared_legend, theory_curves
from hybriddp.paper.figures.figure import PaperFigure
from hybriddp.paper.figures.figure1_known_variance import GROUPS
from hybriddp.paper.figures.rows import DensityRow, GainRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCENARIOS = tuple(
    FigureScenario(panels, group, group, 1.0, Weight.PRIVACY)
    for panels, group in zip(("ad", "be", "cf"), GROUPS, strict=True)
)


def draw(figure: "Figure", gains: Sequence[GainRow], _: Sequence[DensityRow]) -> None:
    """R above, r below."""
    panels = figure.subplots(2, 3, sharey="row")
    for column, scenario in enumerate(SCENARIOS):
        rows = [row for row in gains if row.panel == scenario.panel]
        upper, lower = tuple(scenario.panel)
        gain_panel(panels[0, column], rows, title=f"({upper}) R on {scenario.trusted.name}")
        gain_panel(panels[1, column], rows, title=f"({lower}) r on {scenario.trusted.name}", worst=True, log=True)
        if column:
            panels[0, column].set_ylabel("")
            panels[1, column].set_ylabel("")
    panels[0, 0].set_ylim(0.0, 2.5)
    panels[1, 0].yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    shared_legend(figure, gains)


FIGURE = PaperFigure(
    number=3,
    title="Gains of the privacy weight on Beta distributions",
    shows=(
        "The same curves for a weight that knows nothing of the values: R against the better single model can fall "
        "below 1, r against the worse one never does."
    ),
    differs=(
        "R is above 1 where ε times the spread is small, not large: the regions printed in "
        "section 5 are those of another weight (erratum 13)."
    ),
    theory=partial(theory_curves, SCENARIOS),
    size=(11, 6.8),
    draw=draw,
    dots=dots(SCENARIOS, first_seed=30_000),
)
