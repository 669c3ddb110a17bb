"""Figure 2: the gain R of the known-variance weight for the salaries of the University of California."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.figures.canvas import note, pale_to_blue
from hybriddp.paper.figures.curves import Weight
from hybriddp.paper.figures.figure import PaperFigure
from hybriddp.paper.figures.heat import heat_panel, salary_gains
from hybriddp.paper.figures.rows import DensityRow, GainRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(figure: "Figure", gains: Sequence[GainRow], _: Sequence[DensityRow]) -> None:
    """The heat map, and why the histogram is not there."""
    from matplotlib.colors import Normalize

    axes = figure.subplots()
    heat_panel(
        axes,
        gains,
        title="(b) R for the UC salaries, from the paper's three numbers",
        norm=Normalize(1.0, 2.05),
        colors=pale_to_blue(),
        levels=np.linspace(1.0, 2.05, 22),
        contours=(1.1, 1.25, 1.5, 1.75),
        ticks=(1.0, 1.2, 1.4, 1.6, 1.8, 2.0),
    )
    note(figure, "Dashed red: both single models err alike. Panel (a), a histogram of the salaries, needs their file.")


FIGURE = PaperFigure(
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
    draw=draw,
)
