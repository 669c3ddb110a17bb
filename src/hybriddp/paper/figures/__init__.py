"""The figures of [ADK20], from their data to their pictures; each module has some of them.

`FIGURES` has them in the order of the paper, `make` writes them. The numbers need no matplotlib, the pictures do.
"""

from collections.abc import Sequence

from hybriddp.errors import ParameterError
from hybriddp.paper.figures.amplification import FIGURE_7
from hybriddp.paper.figures.beta import FIGURE_1, FIGURE_3, FIGURE_4, FIGURE_5
from hybriddp.paper.figures.clustering import FIGURE_6
from hybriddp.paper.figures.figure import Made, PaperFigure, make
from hybriddp.paper.figures.salaries import FIGURE_2, FIGURE_8

__all__ = ["FIGURES", "Made", "make", "select"]

FIGURES = (FIGURE_1, FIGURE_2, FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_6, FIGURE_7, FIGURE_8)
"""Figures of the paper."""


def select(numbers: Sequence[int]) -> tuple[PaperFigure, ...]:
    """Look up the figures of these numbers, in the order of the paper, each once."""
    for number in numbers:
        if not 1 <= number <= len(FIGURES):
            raise ParameterError("the number of a figure", f"from 1 to {len(FIGURES)}", number, shown_as="number")
    return tuple(figure for figure in FIGURES if figure.number in numbers)
