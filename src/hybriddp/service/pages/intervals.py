"""A mean as a drawing: what each group says alone and what both say together, with 95 % intervals."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from hybriddp.mean.explain import GroupRow, published_rows
from hybriddp.mean.published import step_of
from hybriddp.reporting.html import color, paragraphs
from hybriddp.reporting.wording import counted, significant
from hybriddp.study.rounding import nice_below, number

if TYPE_CHECKING:
    from hybriddp.mean.estimate import Estimate

__all__ = ["PAD", "STYLE", "WIDTH", "axis", "interval_blocks"]

STYLE = ".intervals { max-width: 36rem; display: block; margin: 1.5rem 0 .5rem; }\n"
WIDTH, PAD, _TOP, _STEP = 420, 12, 16, 46
_DIGIT = 8.5  # the width of a digit, with some space
_LONGEST = 50  # characters above a line; longer numbers are in the words below
_FAR = 3.0  # answers' widths to either side, beyond which a wide interval of one group is cut off
_NAMES = {
    "trusted alone": ("Trusted group alone", "trusted"),
    "local alone": ("Local group alone", "local"),
    "hybrid": ("Both groups together", "both"),
    "trusted only": ("Trusted group", "both"),
    "local only": ("Local group", "both"),
}


def interval_blocks(estimate: "Estimate") -> list[str]:
    """Return the drawing, and how to read it.

    Everything in it may be published, because its numbers are rounded.
    """
    rows, step = published_rows(estimate), step_of(estimate)
    scale = _scale(rows)
    words = "Dots are answers, lines their 95 % intervals."
    if any(_cut(row, scale) for row in rows):
        words += " A line with an arrow goes on: that group alone could say little."
    low, high = estimate.study.bounds
    if low < scale[0] or high > scale[1]:
        ends = " to ".join(significant(bound, 6) for bound in (low, high))
        words += f" The scale shows a part of {ends}, the range that was asked about."
    return [_drawing(rows, scale, step), *paragraphs([words])]


def _scale(rows: Sequence[GroupRow]) -> tuple[float, float]:
    """From where to where the drawing goes: all answers, and as much of the intervals as leaves the answer visible."""
    answer, values = rows[-1].interval, [row.value for row in rows]
    far = _FAR * (answer.upper - answer.lower)
    low = max(min(row.interval.lower for row in rows), min(answer.lower, *values) - far)
    high = min(max(row.interval.upper for row in rows), max(answer.upper, *values) + far)
    return low, high


def _cut(row: GroupRow, scale: tuple[float, float]) -> bool:
    return row.interval.lower < scale[0] or row.interval.upper > scale[1]


def _drawing(rows: Sequence[GroupRow], scale: tuple[float, float], step: Fraction) -> str:
    low, high = scale
    inner = WIDTH - 2 * PAD

    def x(value: float) -> float:
        return PAD + inner * min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0)

    marks, said = [], []
    for i, row in enumerate(rows):
        name, ink = _NAMES[row.name]
        value, lower, upper = (number(one, step) for one in (row.value, *row.interval))
        y, left, right = _TOP + _STEP * i, x(row.interval.lower), x(row.interval.upper)
        numbers = next((n for n in (f"{value} ({lower} … {upper})", value) if len(name) + len(n) <= _LONGEST), "")
        bold = ' font-weight="600"' if row is rows[-1] else ""
        marks.append(
            f'<g fill="{color(ink)}" stroke="{color(ink)}">'
            f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y + 15}" y2="{y + 15}" stroke-width="4"/>'
            + (f'<path d="M2 {y + 15}l10 -6v12z"/>' if row.interval.lower < low else "")
            + (f'<path d="M{WIDTH - 2} {y + 15}l-10 -6v12z"/>' if row.interval.upper > high else "")
            + f'<circle cx="{x(row.value):.1f}" cy="{y + 15}" r="5.5"/></g>'
            f'<text x="0" y="{y}"{bold}>{name}</text>'
            f'<text x="{WIDTH}" y="{y}" text-anchor="end"{bold}>{numbers}</text>'
        )
        said.append(f"{name}, {counted(row.users, 'participant')}: {value}, between {lower} and {upper}")
    base = _TOP + _STEP * len(rows) - 6
    return (
        f'<svg class="intervals" viewBox="0 0 {WIDTH} {base + 28}" role="img" aria-label="Means with 95 % intervals. '
        f'{escape(". ".join(said))}." font-family="system-ui, sans-serif" font-size="13" fill="{color("ink")}">'
        + axis(low, high, base, x)
        + f"{''.join(marks)}</svg>"
    )


def axis(low: float, high: float, base: int, x: Callable[[float], float]) -> str:
    """Draw the line below a drawing, with round numbers along it.

    ``x`` maps a number to its horizontal place.
    """
    marks = "".join(
        f'<line x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{base}" y2="{base + 5}" stroke="{color("axis")}"/>'
        f'<text x="{x(at):.1f}" y="{base + 20}" text-anchor="{_anchor(x(at))}">{words}</text>'
        for at, words in _ticks(low, high)
    )
    return f'<line x1="0" x2="{WIDTH}" y1="{base}" y2="{base}" stroke="{color("axis")}"/>{marks}'


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round numbers along the scale, as many as there is room for."""
    step = nice_below((high - low) / 3)
    first = -(-Fraction(low) // step)
    count = int(Fraction(high) // step - first) + 1
    ticks = [(float((first + i) * step), number(float((first + i) * step), step)) for i in range(count)]
    while len(ticks) > 1 and len(ticks) * max(len(words) for _, words in ticks) * _DIGIT > WIDTH:
        ticks = ticks[::2]
    return ticks


def _anchor(place: float) -> str:
    """Return the text anchor of a number at its tick.

    Numbers near the edges stay inside the drawing.
    """
    return "start" if place < 2 * PAD else "end" if place > WIDTH - 2 * PAD else "middle"
