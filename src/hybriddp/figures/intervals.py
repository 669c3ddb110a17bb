"""A picture of numbers with their intervals, one below the other: what may be published of any result."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hybriddp.figures.canvas import HYBRID, canvas, note, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LONGEST = 32  # characters of a label
_TITLE = 70  # characters of a line


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """A number with the ends of its interval, and what it is."""

    label: str
    value: float
    lower: float
    upper: float


def draw(rows: Sequence[IntervalRow], *, title: str, below: str = "", path: Path | None = None) -> "Figure":
    """Draw the rows from top to bottom; words are shown as they are, whatever they look like."""
    with canvas(7, 1.5 + 0.32 * len(rows)) as figure:
        axes = figure.subplots()
        places = range(len(rows))
        for place, row in zip(places, rows, strict=True):
            axes.plot([row.lower, row.upper], [place, place], color=HYBRID, linewidth=3, solid_capstyle="round")
            axes.plot([row.value], [place], "o", color=HYBRID, markersize=8)
        labels = [textwrap.shorten(row.label, _LONGEST, placeholder="…") or row.label[:_LONGEST] for row in rows]
        axes.set_yticks(list(places), labels, parse_math=False)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(axis="y", visible=False)
        axes.set_title(textwrap.fill(title, _TITLE), parse_math=False)
        if below:
            note(figure, below)
        return save(figure, path)
