"""The figures of [ADK20], each from its data to its picture, in one file of its own.

`FIGURES` has them in the order of the paper, `make` writes them. The numbers need no matplotlib, the pictures do.
"""

from collections.abc import Sequence

from hybriddp.errors import ParameterError
from hybriddp.paper.figures import (
    figure1_known_variance,
    figure2_salaries,
    figure3_privacy_weight,
    figure4_variance_skew,
    figure5_mean_skew,
    figure6_kmeans,
    figure7_amplification,
    figure8_salaries_privacy_weight,
)
from hybriddp.paper.figures.figure import Made, PaperFigure, make

__all__ = ["FIGURES", "Made", "make", "select"]

FIGURES: tuple[PaperFigure, ...] = (
    figure1_known_variance.FIGURE,
    figure2_salaries.FIGURE,
    figure3_privacy_weight.FIGURE,
    figure4_variance_skew.FIGURE,
    figure5_mean_skew.FIGURE,
    figure6_kmeans.FIGURE,
    figure7_amplification.FIGURE,
    figure8_salaries_privacy_weight.FIGURE,
)
"""What the paper shows."""


def select(numbers: Sequence[int]) -> tuple[PaperFigure, ...]:
    """The figures of these numbers, in the order of the paper, each once."""
    known = {figure.number for figure in FIGURES}
    for number in numbers:
        if number not in known:
            raise ParameterError("the number of a figure", f"from 1 to {len(FIGURES)}", number, shown_as="number")
    return tuple(figure for figure in FIGURES if figure.number in numbers)
