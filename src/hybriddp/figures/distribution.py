"""A picture of a distribution: the CDF with its band, quantiles with their intervals, and thin beside it each group."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.distribution.axis import label, places, readable_ticks, values_at
from hybriddp.distribution.estimate import DistributionEstimate
from hybriddp.distribution.explain import quantile_words
from hybriddp.distribution.fit import DistributionFit
from hybriddp.figures.canvas import HYBRID, INK, LOCAL, MUTED, TRUSTED, canvas, panels, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEVEL = 0.95
_MOST_PARTS = 12
_LEAST_GAP = 0.047  # between labels of quantiles, of the height of a panel
_TITLE, _PANEL_TITLE = 90, 60  # characters of a line


def draw(estimates: Sequence[DistributionEstimate], *, path: Path | None = None) -> "Figure":
    """Draw the estimates, a panel each, with their quantiles marked, and write them to ``path`` if it is given."""
    shown = estimates[:_MOST_PARTS]
    columns = min(len(shown), 2)
    with canvas(8.2 if columns == 1 else 13.0, 4.6 * -(-len(shown) // columns)) as figure:
        for axes, estimate in zip(panels(figure, len(shown), columns), shown, strict=True):
            _panel(axes, estimate, _TITLE if columns == 1 else _PANEL_TITLE)
        return save(figure, path)


def _panel(axes: "Axes", estimate: DistributionEstimate, width: int) -> None:
    bins, band = estimate.study.bins, estimate.band(_LEVEL)
    axes.set_xscale("function", functions=(lambda x: places(bins, x), lambda p: values_at(bins, p)))
    axes.fill_between(
        bins.edges, band.lower, band.upper, color=HYBRID, alpha=0.2, linewidth=0, label="95 % band of the CDF"
    )
    fits = estimate.fits
    if fits.comparison is not None:
        for name, color, fit in (("trusted", TRUSTED, fits.trusted), ("local", LOCAL, fits.local)):
            if fit is not None:
                _curve(axes, estimate, fit, color=color, linewidth=0.8, alpha=0.9, label=f"{name} group alone")
    said = "the only group" if fits.comparison is None else "both groups"
    _curve(axes, estimate, estimate.fit, color=HYBRID, linewidth=2.0, label=said)
    _mark_quantiles(axes, estimate)
    axes.set_ylim(0, 1.02)
    axes.set_xlim(*estimate.study.bounds)
    axes.set_xticks(shown := readable_ticks(bins, 70 if width == _TITLE else 48), [label(x) for x in shown])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda y, _: f"{100 * y:.0f} %")
    axes.set_ylabel("users at or below")
    seeded = " (a simulation)" if estimate.privacy.seeded else ""
    title = f"{estimate.study.title}, ε = {estimate.privacy.epsilon}{seeded}"
    axes.set_title(textwrap.fill(title, width), parse_math=False)
    axes.legend(loc="lower right" if _room_below(estimate) else "upper left", fontsize=9, labelcolor=INK)


def _curve(axes: "Axes", estimate: DistributionEstimate, fit: DistributionFit, **look: object) -> None:
    """Draw a CDF from 0 to 1, which jumps at bounds where values pile up."""
    x, y = outline(estimate.study.bins.edges, fit.cdf)
    axes.plot(x, y, **look)  # type: ignore[arg-type]


def outline(edges: FloatArray, cdf: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the corners of a CDF, with the jumps at both bounds."""
    return np.concatenate([edges[:1], edges, edges[-1:]]), np.concatenate([[0.0], cdf, [1.0]])


def _mark_quantiles(axes: "Axes", estimate: DistributionEstimate) -> None:
    """Draw a dot and a whisker for each quantile, and write its value at the right."""
    found = sorted(estimate.quantiles(level=_LEVEL), key=lambda one: -one.q)
    height, first = 1.1, True
    for one in found:
        low, high = one.interval
        axes.plot([low, high], [one.q, one.q], color=INK, linewidth=1.6, solid_capstyle="butt", zorder=3)
        name = "quantiles, 95 % intervals" if first else None
        axes.plot(one.value, one.q, "o", color=INK, markersize=4.5, zorder=4, label=name)
        axes.axhline(one.q, color=MUTED, linewidth=0.6, linestyle=(0, (1, 3)), zorder=1)
        height, first = min(one.q, height - _LEAST_GAP), False
        axes.annotate(
            quantile_words(one),
            xy=(1.0, one.q),
            xytext=(1.02, height),
            xycoords=("axes fraction", "data"),
            textcoords=("axes fraction", "data"),
            va="center",
            fontsize=8.5,
            color=INK,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": MUTED, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 0},
        )


def _room_below(estimate: DistributionEstimate) -> bool:
    """Whether the lower right corner is free: the CDF is high there already."""
    return float(np.interp(0.55, np.linspace(0, 1, len(estimate.fit.cdf)), estimate.fit.cdf)) > 0.45
