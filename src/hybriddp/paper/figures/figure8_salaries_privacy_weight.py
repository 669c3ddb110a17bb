"""Figure 8 (appendix): the gains R and r of the privacy weight for the salaries of the University of California."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hybriddp.figures.canvas import note, orange_to_purple, pale_to_blue
from hybriddp.paper.figures.curves import Weight
from hybriddp.paper.figures.figure import PaperFigure
from hybriddp.paper.figures.heat import heat_panel, salary_gains
from hybriddp.paper.figures.rows import DensityRow, GainRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(figure: "Figure", gains: Sequence[GainRow], _: Sequence[DensityRow]) -> None:
    """Two heat maps."""
    from matplotlib.colors import LogNorm, TwoSlopeNorm

    left, right = figure.subplots(1, 2)
    heat_panel(
        left,
        gains,
        title="(a) R, from the paper's three numbers",
        norm=TwoSlopeNorm(1.0, 0.2, 2.0),
        colors=orange_to_purple(),
        levels=np.linspace(0.2, 2.0, 37),
        contours=(0.5, 1.0, 1.5),
        ticks=(0.2, 0.5, 1.0, 1.5, 2.0),
    )
    heat_panel(
        right,
        gains,
        title="(b) r, from the paper's three numbers",
        norm=LogNorm(1.0, 2400.0),
        colors=pale_to_blue(),
        levels=np.geomspace(1.0, 2400.0, 25),
        contours=(10, 100, 1500),
        ticks=(1, 10, 100, 1000),
        worst=True,
    )
    note(figure, "Dashed red: both single models err alike.")


FIGURE = PaperFigure(
    number=8,
    title="Gains of the privacy weight on the UC salaries",
    shows="R and r of the weight that knows nothing of the values, from the paper's three numbers.",
    differs=(
        "The text's regions lie on the other axis: R < 0.5 at small c and large ε, r > 1,500 at large c and small ε; r "
        "is between 10 and 100 in a quarter of the figure, not in most of it (erratum 20)."
    ),
    theory=partial(salary_gains, Weight.PRIVACY, panel="ab"),
    size=(11, 4.6),
    draw=draw,
)
