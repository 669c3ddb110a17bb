"""The CDF of an estimated distribution as SVG, for pages and notebooks."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.distribution.axis import label, places, readable_ticks
from hybriddp.distribution.explain import quantile_words
from hybriddp.distribution.fit import DistributionFit
from hybriddp.reporting.html import color

if TYPE_CHECKING:
    from hybriddp.distribution.estimate import DistributionEstimate

_TRUSTED, _LOCAL, _BOTH, _INK, _MUTED, _GRID = map(color, ("trusted", "local", "both", "ink", "axis", "line"))
_LEFT, _WIDTH, _TOP, _HEIGHT = 52, 500, 14, 260  # of the axes, in pixels of the drawing
_ROW = 15  # pixels between the labels of quantiles


def draw_cdf(estimate: "DistributionEstimate", *, groups_alone: bool = True) -> str:
    """Draw the CDF with its 95 % band, the quantiles with their intervals, and thin beside it each group alone."""
    bins, band = estimate.study.bins, estimate.band(0.95)
    edges = places(bins, bins.edges)
    marks = [_axes(estimate)]
    corners = [*_points(edges, band.lower), *_points(edges[::-1], band.upper[::-1])]
    marks.append(f'<polygon points="{" ".join(corners)}" fill="{_BOTH}" fill-opacity="0.2"/>')
    curves: list[tuple[str, str, DistributionFit | None, float]] = [("both groups", _BOTH, estimate.fit, 2.0)]
    if estimate.divergence is None:
        curves = [("the only group", _BOTH, estimate.fit, 2.0)]
    elif groups_alone:
        fits = estimate.fits
        groups = (("trusted alone", _TRUSTED, fits.trusted), ("local alone", _LOCAL, fits.local))
        curves = [*((name, ink, fit, 0.8) for name, ink, fit in groups), *curves]
    for _, ink, fit, width in curves:
        if fit is not None:
            x, y = np.concatenate([[0.0], edges, [1.0]]), np.concatenate([[0.0], fit.cdf, [1.0]])
            line = " ".join(_points(x, y))
            marks.append(f'<polyline points="{line}" fill="none" stroke="{ink}" stroke-width="{width}"/>')
    marks += _quantile_marks(estimate)
    for i, (name, ink, fit, width) in enumerate(reversed(curves)):
        if fit is not None:
            x0, y0 = _LEFT + 140 * i, _TOP + _HEIGHT + 42
            marks.append(
                f'<line x1="{x0}" x2="{x0 + 22}" y1="{y0}" y2="{y0}" stroke="{ink}" stroke-width="{width + 1}"/>'
                f'<text x="{x0 + 28}" y="{y0 + 4}">{name}</text>'
            )
    return (
        f'<svg viewBox="0 0 730 {_TOP + _HEIGHT + 56}" role="img" aria-label="The distribution function with its '
        f'95 % band, and quantiles with 95 % intervals" font-family="system-ui, sans-serif" font-size="11" '
        f'fill="{_INK}">{"".join(marks)}</svg>'
    )


def _points(x: FloatArray, y: FloatArray) -> list[str]:
    """Compute corners in pixels, from places on the axis and fractions of the users."""
    return [f"{_x(a)},{_y(b)}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]


def _x(place: float) -> str:
    return f"{_LEFT + _WIDTH * place:.1f}"


def _y(fraction: float) -> str:
    return f"{_TOP + _HEIGHT * (1 - fraction):.1f}"


def _axes(estimate: "DistributionEstimate") -> str:
    bins, base = estimate.study.bins, _TOP + _HEIGHT
    across = "".join(
        f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{_y(f)}" y2="{_y(f)}" stroke="{_MUTED if f == 0 else _GRID}"/>'
        f'<text x="{_LEFT - 6}" y="{float(_y(f)) + 4:.1f}" text-anchor="end">{100 * f:.0f} %</text>'
        for f in (0.0, 0.25, 0.5, 0.75, 1.0)
    )
    along = "".join(
        f'<line x1="{_x(p)}" x2="{_x(p)}" y1="{_TOP}" y2="{base}" stroke="{_GRID}"/>'
        f'<text x="{_x(p)}" y="{base + 16}" text-anchor="middle">{label(value)}</text>'
        for value, p in ((value, float(places(bins, value))) for value in readable_ticks(bins))
    )
    return along + across


def _quantile_marks(estimate: "DistributionEstimate") -> list[str]:
    """Draw a dot and a whisker for each, and write its value at the right, below the one before."""
    bins, above, marks = estimate.study.bins, float(_TOP - _ROW), []
    for one in sorted(estimate.quantiles(), key=lambda one: -one.q):
        low, value, high = (_x(float(places(bins, x))) for x in (one.interval.lower, one.value, one.interval.upper))
        y, edge = _y(one.q), _LEFT + _WIDTH
        above = max(float(y), above + _ROW)
        marks.append(
            f'<line x1="{low}" x2="{high}" y1="{y}" y2="{y}" stroke="{_INK}" stroke-width="1.8"/>'
            f'<circle cx="{value}" cy="{y}" r="3.5" fill="{_INK}"/>'
            f'<line x1="{edge}" x2="{edge + 10}" y1="{y}" y2="{above:.1f}" stroke="{_MUTED}" stroke-width="0.7"/>'
            f'<text x="{edge + 14}" y="{above + 4:.1f}">{escape(quantile_words(one))}</text>'
        )
    return marks
