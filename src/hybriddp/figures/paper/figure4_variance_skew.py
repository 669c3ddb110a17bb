"""Figure 4: the gain R of the known-variance weight where the two groups' values spread differently."""

from collections.abc import Sequence
from pathlib import Path

from hybriddp.figures.canvas import canvas
from hybriddp.figures.paper.curves import gain_panel, shared_legend
from hybriddp.figures.paper.figure import PaperFigure
from hybriddp.figures.paper.files import save_all
from hybriddp.figures.paper.rows import DensityRow, GainRow
from hybriddp.figures.paper.scenario import Group, Scenario, Weight
from hybriddp.figures.paper.simulated import dots

SCENARIOS = (
    Scenario("a", Group(10), Group(0.1), 1.0, Weight.KNOWN_VARIANCE),
    Scenario("b", Group(0.1), Group(10), 1.0, Weight.KNOWN_VARIANCE),
)


def theory() -> list[GainRow]:
    """R with little spread among the trusted and much among the local users, and the other way round."""
    return [row for scenario in SCENARIOS for row in scenario.theory()]


def draw(gains: Sequence[GainRow], _: Sequence[DensityRow], paths: Sequence[Path]) -> None:
    """A panel per scenario."""
    with canvas(10, 4.4) as figure:
        for axes, scenario in zip(figure.subplots(1, 2, sharey=True), SCENARIOS, strict=True):
            rows = [row for row in gains if row.panel == scenario.panel]
            title = f"({scenario.panel}) trusted {scenario.trusted.name}, local {scenario.local.name}"
            gain_panel(axes, rows, title=title)
            axes.set_ylim(0.85, 2.3)
        shared_legend(figure, gains)
        save_all(figure, paths)


FIGURE = PaperFigure(
    number=4,
    title="Groups whose values spread differently",
    shows=(
        "R of the known-variance weight is almost what it is if everybody's values spread like those of the trusted "
        "group (figure 1, panels b and d)."
    ),
    differs="Nowhere: against figure 1, R changes by at most 0.0982, and by less than 0.01 at most places.",
    theory=theory,
    draw=draw,
    dots=dots(SCENARIOS, first_seed=40_000),
)
