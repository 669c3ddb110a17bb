"""What a figure of the paper is, here: its data and its drawing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybriddp.figures.paper.rows import DensityRow, Row
from hybriddp.figures.paper.scenario import Scenario
from hybriddp.figures.paper.simulated import Dot, dots

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
    scenarios : tuple of Scenario
        What is simulated beside the theory; nothing if empty.
    """

    number: int
    title: str
    shows: str
    differs: str
    theory: Callable[[], Sequence[Row]]
    draw: Drawing
    densities: Callable[[], list[DensityRow]] = _nothing
    scenarios: tuple[Scenario, ...] = ()

    def dots(self) -> list[Dot]:
        """The points to simulate; their seeds do not depend on which other figures are made."""
        return dots(self.scenarios, first_seed=10_000 * self.number)


@dataclass(frozen=True, slots=True)
class Gap:
    """A figure of the paper that cannot be made yet.

    Attributes
    ----------
    number : int
        In the paper.
    title : str
        In a few words.
    needs : str
        What is missing for it, as a half sentence after "needs".
    """

    number: int
    title: str
    needs: str
