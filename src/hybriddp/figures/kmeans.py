"""Centers and how uncertain they are, in two dimensions of the box."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybriddp import _check
from hybriddp.channels.plausible import short_doubt
from hybriddp.errors import ParameterError
from hybriddp.figures.canvas import HYBRID, INK, MUTED, canvas, save
from hybriddp.kmeans.report import DOUBTFUL, doubt_words
from hybriddp.reporting.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hybriddp.kmeans.result import KMeansResult

# Radius that holds 95 % of a normal variable: of the ellipse in two dimensions, sqrt(-2 log 0.05), and in one.
_HOLDS_95_PERCENT, _HALF_OF_95_PERCENT = 2.448, 1.960
_READING = "shaded: where the center is, 95 % by noise and sampling; larger rings: more users"


def draw_centers(result: "KMeansResult", path: Path | None, dimensions: tuple[int, int]) -> "Figure":
    """Draw the centers with confidence ellipses and rings for their users.

    The ellipses hold the best centers with 95 % confidence.
    """
    x, y = _checked(dimensions, result.study.box.n_dimensions)
    with canvas(6.4, 5.6) as figure:
        axes = figure.subplots()
        _draw(result, axes, x, y)
        seeded = " (a simulation)" if result.privacy.seeded else ""
        forged = short_doubt(result.implausible_reports)
        centers = counted(len(result.centers), "center")
        title = f"{result.title}: {centers}, ε = {result.privacy.epsilon}{forged}{seeded}"
        axes.set_title(title, parse_math=False)
        axes.text(0.0, -0.13, _READING, transform=axes.transAxes, color=MUTED, fontsize=8.5)
        if result.doubtful:
            why = f"{DOUBTFUL}:\n{doubt_words(result)}"
            axes.text(0.0, -0.155, why, transform=axes.transAxes, color=INK, fontsize=8.5, va="top")
        return save(figure, path)


def _draw(result: "KMeansResult", axes: "Axes", x: int, y: int | None) -> None:
    """Two dimensions, or one."""
    from matplotlib.patches import Ellipse

    bounds, names = result.study.box.bounds, result.names
    widths = [2 * (upper - lower) for lower, upper in bounds]  # beyond what can be seen
    for k, (center, error) in enumerate(zip(result.centers, result.standard_errors, strict=True)):
        at = (center[x], 0.0 if y is None else center[y])
        if y is None:  # uncertain in one direction only
            half = min(_HALF_OF_95_PERCENT * error[x], widths[x])
            axes.plot([at[0] - half, at[0] + half], [0.0, 0.0], "-", color=HYBRID, alpha=0.4, linewidth=5)
        else:
            sides = [min(2 * _HOLDS_95_PERCENT * error[j], 2 * widths[j]) for j in (x, y)]
            axes.add_patch(Ellipse(at, *sides, facecolor=HYBRID, alpha=0.25, edgecolor=HYBRID))
        ring = 8 + 40 * np.sqrt(result.sizes[k])
        axes.plot(*at, "o", markerfacecolor="none", markeredgecolor=MUTED, markersize=ring, markeredgewidth=0.8)
        axes.plot(*at, ".", color=HYBRID, markersize=4)
        axes.annotate(str(k), at, xytext=(0.36 * ring, 0.36 * ring), textcoords="offset points", color=INK)
    axes.set_xlim(*bounds[x])
    axes.set_xlabel(names[x], parse_math=False)  # names may hold dollar signs
    if y is None:
        axes.set_ylim(-1, 1)
        axes.set_yticks([])
    else:
        axes.set_ylim(*bounds[y])
        axes.set_ylabel(names[y], parse_math=False)


def _checked(dimensions: tuple[int, int], d: int) -> tuple[int, int | None]:
    if d == 1:
        return 0, None
    try:
        x, y = (_check.integer("dimensions", one, at_least=0) for one in dimensions)
    except (TypeError, ValueError):
        raise ParameterError("dimensions", "a pair of dimensions, counted from 0", dimensions) from None
    if max(x, y) >= d or x == y:
        raise ParameterError("dimensions", f"two different ones of 0 to {d - 1}", dimensions)
    return x, y
