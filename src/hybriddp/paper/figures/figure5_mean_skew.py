"""Figure 5: the gain R of the known-variance weight where the groups' means differ and the curator does not know it."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from hybriddp.figures.canvas import LOCAL, MUTED, TRUSTED
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

SHIFTS = (0.0, 0.25, 0.5)
_CENTERED = 0.5  # moves the uniform distribution on [0, 1] to the middle of [0, 2]
SCENARIOS = tuple(
    FigureScenario(panel, Group(1, _CENTERED - t), Group(1, _CENTERED + t), 2.0, Weight.KNOWN_VARIANCE)
    for panel, t in zip("bdf", SHIFTS, strict=True)
)
_COLORS = {"trusted": TRUSTED, "local": LOCAL, "both": MUTED}


def densities() -> list[DensityRow]:
    """The groups' values for each shift."""
    rows = []
    for panel, scenario in zip("ace", SCENARIOS, strict=True):
        if scenario.trusted == scenario.local:
            rows += scenario.trusted.densities(panel=panel, group="both")
        else:
            rows += scenario.trusted.densities(panel=panel, group="trusted")
            rows += scenario.local.densities(panel=panel, group="local")
    return rows


def draw(figure: "Figure", gains: Sequence[GainRow], shapes: Sequence[DensityRow]) -> None:
    """Densities above, R below; a column per shift."""
    panels = figure.subplots(2, 3, height_ratios=(1, 2))
    for column, (letter, t, scenario) in enumerate(zip("ace", SHIFTS, SCENARIOS, strict=True)):
        upper, lower = panels[:, column]
        density_panel(
            upper,
            [row for row in shapes if row.panel == letter],
            title=f"({letter}) shift t = {t:g}",
            colors=_COLORS,
            top=2.0,
            by_group=True,
        )
        upper.set_xlim(-0.05, 2.05)
        upper.legend(loc="upper center", ncols=2)
        rows = [row for row in gains if row.panel == scenario.panel]
        gain_panel(lower, rows, title=f"({scenario.panel}) R at t = {t:g}", log=t > 0.0)
        lower.set_ylim(*((1e-4, 3.0) if t > 0.0 else (0.85, 2.3)))
        if t > 0.0:
            lower.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
        if column:
            upper.set_ylabel("")
        if column == len(SHIFTS) - 1:
            lower.set_ylabel("")
    shared_legend(figure, gains)


FIGURE = PaperFigure(
    number=5,
    title="Groups whose means differ, and nobody knows",
    shows=(
        "R of a weight that takes the groups for alike, as the trusted group is shifted down and the local group up by "
        "t: with many users the bias ruins it."
    ),
    differs=(
        "The text says that R falls as the means part; with few users it can rise: from 1.382 to 1.581 at c = 5 %, "
        "ε = 0.1, n = 1,000, t = 0.25, because the bias hurts the single model of the trusted more."
    ),
    theory=partial(theory_curves, SCENARIOS),
    size=(11, 6.4),
    draw=draw,
    densities=densities,
    dots=dots(SCENARIOS, first_seed=50_000),
)
