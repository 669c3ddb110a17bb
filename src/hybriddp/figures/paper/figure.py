"""What a figure of the paper is, here: its data and its drawing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybriddp.figures.paper.rows import DensityRow, Row
from hybriddp.figures.paper.running import Simulated

Drawing = Callable[[Any, Sequence[DensityRow], Sequence[Path]], None]
"""Takes all numbers and the files that the picture is written to."""


def _nothing() -> list[DensityRow]:
    return []


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A figure that can be made.

    Attributes
    ----------
    number : int
        In the paper.
    title : str
        In a few words.
    shows : str
        What there is to see.
    differs : str
        Where we differ from the paper, in one line.
    theory : callable
        Gives the exact numbers.
    draw : callable
        Draws all numbers, those of a simulation too if there are any.
    densities : callable
        Gives the densities that are drawn beside, if any.
    dots : tuple of Simulated
        The points that are simulated beside the theory, each with a seed of its own; nothing if empty.
    """

    number: int
    title: str
    shows: str
    differs: str
    theory: Callable[[], Sequence[Row]]
    draw: Drawing
    densities: Callable[[], list[DensityRow]] = _nothing
    dots: tuple[Simulated[Row], ...] = ()
