"""Drawings as SVG that needs nothing from elsewhere."""

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from hybriddp.reporting.html import color
from hybriddp.reporting.wording import shortened

_LEFT, _RIGHT, _STEP = 190, 590, 26
_LABEL = 26  # characters


class Mark(NamedTuple):
    """An answer in a drawing: a dot, and the line of its interval in a color of the page."""

    name: str
    value: float
    lower: float
    upper: float
    color: str = "both"


def intervals(marks: Sequence[Mark], number: Callable[[float], str], *, zero: bool = False) -> str:
    """Draw answers below each other with their 95 % intervals, on an axis from the lowest to the highest end.

    ``number`` writes the numbers below the axis, which begins at 0 if ``zero`` is given.
    """
    low = min((mark.lower for mark in marks if not zero), default=0.0)
    width = max((mark.upper for mark in marks), default=0.0) - low or 1.0

    def x(value: float) -> str:
        return f"{_LEFT + (_RIGHT - _LEFT) * min(max((value - low) / width, 0.0), 1.0):.1f}"

    drawn = []
    for i, mark in enumerate(marks):
        y, ink = 18 + _STEP * i, color(mark.color)
        drawn.append(
            f'<text x="{_LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(shortened(mark.name, _LABEL))}</text>'
            f'<line x1="{x(mark.lower)}" x2="{x(mark.upper)}" y1="{y}" y2="{y}" stroke="{ink}" '
            f'stroke-width="4" stroke-linecap="round"/>'
            f'<circle cx="{x(mark.value)}" cy="{y}" r="6" fill="{ink}"/>'
        )
    base = 18 + _STEP * len(marks)
    axis = f'<line x1="{_LEFT}" x2="{_RIGHT}" y1="{base}" y2="{base}" stroke="{color("axis")}"/>' + "".join(
        f'<text x="{x(value)}" y="{base + 18}" text-anchor="middle">{number(value)}</text>'
        for value in (low, low + width / 2, low + width)
    )
    return (
        f'<svg viewBox="0 0 640 {base + 26}" role="img" aria-label="Answers with 95 % intervals" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="{color("ink")}">{"".join(drawn)}{axis}</svg>'
    )
