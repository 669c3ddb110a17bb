"""Figures 1, 3, 4 and 5: gains over the number of users, on Beta distributions."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from hybriddp.figures.canvas import HYBRID, LOCAL, MUTED, TRUSTED
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

_LIMITS = (0.85, 2.3)  # of R where the hybrid is never far below the single models

# 1: known variance

GROUPS = (Group(10), Group(1), Group(0.1))
ALIKE = tuple(
    FigureScenario(panel, group, group, 1.0, Weight.KNOWN_VARIANCE) for panel, group in zip("bcd", GROUPS, strict=True)
)


def shapes_1() -> list[DensityRow]:
    """Tabulate the three distributions."""
    return [row for group in GROUPS for row in group.densities(panel="a", group="both")]


def draw_1(figure: "Figure", gains: Sequence[GainRow], shapes: Sequence[DensityRow]) -> None:
    """Draw the densities and a panel per distribution."""
    first, *panels = figure.subplots(2, 2).ravel()
    colors = dict(zip((group.name for group in GROUPS), (TRUSTED, HYBRID, LOCAL), strict=True))
    density_panel(first, shapes, title="(a) what users' values look like", colors=colors, top=5.4, by_group=False)
    first.legend(loc="upper center")
    for axes, scenario in zip(panels, ALIKE, strict=True):
        gain_panel(axes, gains, scenario, title=f"({scenario.panel}) R on {scenario.trusted.name}")
        axes.set_ylim(*_LIMITS)
    shared_legend(figure, gains)


FIGURE_1 = PaperFigure(
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
    theory=partial(theory_curves, ALIKE),
    size=(9.6, 7),
    draw=draw_1,
    densities=shapes_1,
    dots=dots(ALIKE, first_seed=10_000),
)

# 3: privacy weight

PRIVATE = tuple(
    FigureScenario(panels, group, group, 1.0, Weight.PRIVACY)
    for panels, group in zip(("ad", "be", "cf"), GROUPS, strict=True)
)


def draw_3(figure: "Figure", gains: Sequence[GainRow], _: Sequence[DensityRow]) -> None:
    """Draw R above, r below."""
    panels = figure.subplots(2, 3, sharey="row")
    for (above, below), scenario in zip(panels.T, PRIVATE, strict=True):
        upper, lower = tuple(scenario.panel)
        gain_panel(above, gains, scenario, title=f"({upper}) R on {scenario.trusted.name}")
        gain_panel(below, gains, scenario, title=f"({lower}) r on {scenario.trusted.name}", worst=True, log=True)
        if scenario is not PRIVATE[0]:
            above.set_ylabel("")
            below.set_ylabel("")
    panels[0, 0].set_ylim(0.0, 2.5)
    shared_legend(figure, gains)


FIGURE_3 = PaperFigure(
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
    theory=partial(theory_curves, PRIVATE),
    size=(11, 6.8),
    draw=draw_3,
    dots=dots(PRIVATE, first_seed=30_000),
)

# 4: variances differ

SKEWED = (
    FigureScenario("a", Group(10), Group(0.1), 1.0, Weight.KNOWN_VARIANCE),
    FigureScenario("b", Group(0.1), Group(10), 1.0, Weight.KNOWN_VARIANCE),
)


def draw_4(figure: "Figure", gains: Sequence[GainRow], _: Sequence[DensityRow]) -> None:
    """Draw a panel per scenario."""
    for axes, scenario in zip(figure.subplots(1, 2, sharey=True), SKEWED, strict=True):
        title = f"({scenario.panel}) trusted {scenario.trusted.name}, local {scenario.local.name}"
        gain_panel(axes, gains, scenario, title=title)
        axes.set_ylim(*_LIMITS)
    shared_legend(figure, gains)


FIGURE_4 = PaperFigure(
    number=4,
    title="Groups whose values spread differently",
    shows=(
        "R of the known-variance weight is almost what it is if everybody's values spread like those of the trusted "
        "group (figure 1, panels b and d)."
    ),
    differs="Nowhere: against figure 1, R changes by at most 0.0982, and by less than 0.01 at most places.",
    theory=partial(theory_curves, SKEWED),
    size=(10, 4.4),
    draw=draw_4,
    dots=dots(SKEWED, first_seed=40_000),
)

# 5: means differ

SHIFTS = (0.0, 0.25, 0.5)
_CENTERED = 0.5  # moves the uniform distribution on [0, 1] to the middle of [0, 2]
SHIFTED = tuple(
    FigureScenario(panel, Group(1, _CENTERED - t), Group(1, _CENTERED + t), 2.0, Weight.KNOWN_VARIANCE)
    for panel, t in zip("bdf", SHIFTS, strict=True)
)


def shapes_5() -> list[DensityRow]:
    """Tabulate the groups' values for each shift."""
    rows = []
    for panel, scenario in zip("ace", SHIFTED, strict=True):
        groups = {"trusted": scenario.trusted, "local": scenario.local}
        for name, group in ({"both": scenario.trusted} if scenario.alike else groups).items():
            rows += group.densities(panel=panel, group=name)
    return rows


def draw_5(figure: "Figure", gains: Sequence[GainRow], shapes: Sequence[DensityRow]) -> None:
    """Draw densities above, R below; a column per shift."""
    columns = figure.subplots(2, 3, height_ratios=(1, 2)).T
    colors = {"trusted": TRUSTED, "local": LOCAL, "both": MUTED}
    for (upper, lower), letter, t, scenario in zip(columns, "ace", SHIFTS, SHIFTED, strict=True):
        rows = [row for row in shapes if row.panel == letter]
        density_panel(upper, rows, title=f"({letter}) shift t = {t:g}", colors=colors, top=2.0, by_group=True)
        upper.set_xlim(-0.05, 2.05)
        upper.legend(loc="upper center", ncols=2)
        gain_panel(lower, gains, scenario, title=f"({scenario.panel}) R at t = {t:g}", log=t > 0.0)
        lower.set_ylim(*((1e-4, 3.0) if t > 0.0 else _LIMITS))
        if t > 0.0:
            upper.set_ylabel("")
    columns[-1][1].set_ylabel("")
    shared_legend(figure, gains)


FIGURE_5 = PaperFigure(
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
    theory=partial(theory_curves, SHIFTED),
    size=(11, 6.4),
    draw=draw_5,
    densities=shapes_5,
    dots=dots(SHIFTED, first_seed=50_000),
)
