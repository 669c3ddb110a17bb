"""A plan's curves as SVG, with logarithmic axes: what a page shows before, or without, its script."""

import math
from collections.abc import Callable, Iterator, Sequence

from hybriddp.planning.base import readable
from hybriddp.planning.curves import OPT_INS, ErrorCurves
from hybriddp.planning.estimators import OURS
from hybriddp.reporting.html import color
from hybriddp.reporting.wording import significant

__all__ = ["LINES", "axis_range", "curves_figure", "place_range", "swatch"]

LINES = {
    OURS: ("both", 3.0, ""),
    "trusted-only": ("trusted", 2.0, ""),
    "full-local": ("local", 2.0, ""),
    "known-variance": ("muted", 1.5, "8 4"),
    "privacy": ("link", 1.5, "2 3"),
    "naive": ("danger", 1.5, "7 3 2 3"),
    "local-only": ("local", 1.5, "3 4"),
}
"""For each estimator the name of its color, the width of its line and its dashes. The script has the same."""
_LEFT, _RIGHT, _TOP, _BASE, _HEIGHT = 56, 472, 12, 268, 312


def axis_range(curves: ErrorCurves) -> tuple[float, float]:
    """From where to where errors are shown: around ours, so that a hopeless estimator does not flatten the others."""
    ours = [error for error in (*curves.worst[OURS], *curves.best) if error > 0] or [1.0]
    everything = [error for line in curves.worst.values() for error in line]
    return 0.7 * min(ours), min(1.2 * max(everything), 8 * max(ours))


def place_range(curves: ErrorCurves) -> tuple[float, float]:
    """From where to where the other axis goes; around the only place, where there is one."""
    first, last = curves.x[0], curves.x[-1]
    return (first, last) if first < last else (first / 2, 2 * last)


def curves_figure(curves: ErrorCurves, rmse: float, *, x_label: str, y_label: str) -> str:
    """Draw the curves, and a dot for the plan."""
    low, high = axis_range(curves)
    first, last = place_range(curves)

    def x(value: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * math.log(value / first) / math.log(last / first)

    def y(error: float) -> float:
        return _BASE - (_BASE - _TOP) * math.log(min(max(error, low), high) / low) / math.log(high / low)

    marks = [*_axes(x, y, (first, last), (low, high), percent=curves.against == OPT_INS)]
    for name in reversed(LINES):
        ink, width, dashes = LINES[name]
        points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(curves.x, curves.worst[name], strict=True))
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        marks.append(
            f'<polyline points="{points}" fill="none" stroke="{color(ink)}" stroke-width="{width:g}"{dashed}/>'
        )
    here = f"{x(curves.here):.1f}"
    marks.append(
        f'<line x1="{here}" x2="{here}" y1="{_TOP}" y2="{_BASE}" stroke="{color("axis")}" stroke-dasharray="2 3"/>'
        f'<circle cx="{here}" cy="{y(rmse):.1f}" r="5" fill="{color("both")}"/>'
        f'<text x="{(_LEFT + _RIGHT) / 2:g}" y="{_HEIGHT - 4}" text-anchor="middle">{x_label}</text>'
    )
    return (
        f'<svg viewBox="0 0 480 {_HEIGHT}" role="img" aria-label="{y_label} against {x_label}; the table below has the '
        f'numbers of this plan" font-family="system-ui, sans-serif" font-size="12" fill="{color("ink")}">'
        f"{''.join(marks)}</svg>"
    )


def swatch(name: str) -> str:
    """Return a piece of an estimator's line, for tables."""
    ink, width, dashes = LINES[name]
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    line = f'<line x1="0" x2="28" y1="5" y2="5" stroke="{color(ink)}" stroke-width="{width:g}"{dashed}/>'
    return f'<svg class="swatch" viewBox="0 0 28 10" aria-hidden="true">{line}</svg>'


def _axes(
    x: Callable[[float], float],
    y: Callable[[float], float],
    across: tuple[float, float],
    up: tuple[float, float],
    *,
    percent: bool,
) -> Iterator[str]:
    for value in _ticks(*across):
        words = f"{significant(100 * value)} %" if percent else significant(value)
        yield f'<line x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{_TOP}" y2="{_BASE}" stroke="{color("line")}"/>'
        yield f'<text x="{x(value):.1f}" y="{_BASE + 16}" text-anchor="middle">{words}</text>'
    for value in _ticks(*up):
        yield f'<line x1="{_LEFT}" x2="{_RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="{color("line")}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{readable(value)}</text>'


def _ticks(low: float, high: float) -> Sequence[float]:
    """Round numbers on a logarithmic axis: 1, 2 and 5 times powers of ten where these are few, else powers of ten."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    found = [value for value in fine if low <= value <= high]
    return found if len(found) <= 8 else [10.0**power for power in powers if low <= 10.0**power <= high]
