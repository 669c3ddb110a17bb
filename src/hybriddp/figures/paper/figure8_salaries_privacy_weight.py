"""Figure 8 (appendix): the gains R and r of the privacy weight for the salaries of the University of California."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hybriddp.figures.canvas import INK, canvas
from hybriddp.figures.paper import salaries
from hybriddp.figures.paper.figure import PaperFigure
from hybriddp.figures.paper.files import save_all
from hybriddp.figures.paper.heat import heat_panel, orange_to_purple, pale_to_blue
from hybriddp.figures.paper.rows import DensityRow, GainRow
from hybriddp.figures.paper.scenario import Weight


def theory() -> list[GainRow]:
    """R (panel a) and r (panel b) over the trusted fraction and ε."""
    return salaries.theory(Weight.PRIVACY, panel="ab")


def draw(gains: Sequence[GainRow], _: Sequence[DensityRow], paths: Sequence[Path]) -> None:
    """Two heat maps."""
    with canvas(11, 4.6) as figure:
        from matplotlib.colors import LogNorm, TwoSlopeNorm

        left, right = figure.subplots(1, 2)
        heat_panel(
            left,
            gains,
            title="(a) R, from the paper's three numbers",
            label="R, gain over the better world",
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
            label="r, gain over the worse world",
            norm=LogNorm(1.0, 2400.0),
            colors=pale_to_blue(),
            levels=np.geomspace(1.0, 2400.0, 25),
            contours=(10, 100, 1500),
            ticks=(1, 10, 100, 1000),
            worst=True,
        )
        figure.supxlabel("Dashed red: both single models err alike.", fontsize=8, color=INK)
        save_all(figure, paths)


FIGURE = PaperFigure(
    number=8,
    title="Gains of the privacy weight on the UC salaries",
    shows="R and r of the weight that knows nothing of the values, from the paper's three numbers.",
    differs=(
        "The text's regions lie on the other axis: R < 0.5 at small c and large ε, r > 1,500 at large c and small ε; r "
        "is between 10 and 100 in a quarter of the figure, not in most of it (erratum 20)."
    ),
    theory=theory,
    draw=draw,
)
