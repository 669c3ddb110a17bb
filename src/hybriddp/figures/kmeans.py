"""Centers and how uncertain they are, in two dimensions of the box."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybriddp import _check
from hybriddp.errors import ParameterError
from hybriddp.figures.canvas import HYBRID, INK, MUTED, canvas, save
from hybriddp.kmeans.explain import DOUBTFUL, doubt_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hybriddp.kmeans.estimator import HybridKMeans

# Radius that holds 95 % of a normal variable: of the ellipse in two dimensions, sqrt(-2 log 0.05), and in one.
_HOLDS_95_PERCENT, _HALF_OF_95_PERCENT = 2.448, 1.960


def draw_centers(model: "HybridKMeans", path: Path | None, dimensions: tuple[int, int]) -> "Figure":
    """The centers with ellipses that hold the best ones with 95 % confidence, and rings for their users."""
    centers, errors, bounds = model.cluster_centers_, model.standard_errors_, model.study_.box.bounds
    x, y = _checked(dimensions, len(bounds))
    with canvas(6.4, 5.6) as figure:
        from matplotlib.patches import Ellipse

        axes = figure.subplots()
        for k, (center, error) in enumerate(zip(centers, errors, strict=True)):
            at = (center[x], 0.0 if y is None else center[y])
            if y is None:  # uncertain in one direction only
                half = _HALF_OF_95_PERCENT * error[x]
                axes.plot([at[0] - half, at[0] + half], [0.0, 0.0], "-", color=HYBRID, alpha=0.4, linewidth=5)
            else:
                sides = 2 * _HOLDS_95_PERCENT * error[[x, y]]
                axes.add_patch(Ellipse(at, *sides, facecolor=HYBRID, alpha=0.25, edgecolor=HYBRID))
            ring = 8 + 40 * np.sqrt(model.sizes_[k])
            axes.plot(*at, "o", markerfacecolor="none", markeredgecolor=MUTED, markersize=ring, markeredgewidth=0.8)
            axes.plot(*at, ".", color=HYBRID, markersize=4)
            axes.annotate(str(k), at, xytext=(0.36 * ring, 0.36 * ring), textcoords="offset points", color=INK)
        axes.set_xlim(*bounds[x])
        axes.set_xlabel(_name(model, x), parse_math=False)  # names may hold dollar signs
        if y is None:
            axes.set_ylim(-1, 1)
            axes.set_yticks([])
        else:
            axes.set_ylim(*bounds[y])
            axes.set_ylabel(_name(model, y), parse_math=False)
        seeded = "" if model.private_release_ else " (a simulation)"
        number = f"{len(centers)} center{'s' if len(centers) > 1 else ''}"
        title = f"{model.study_.name}: {number}, ε = {model.privacy_.epsilon}{seeded}"
        axes.set_title(title, parse_math=False)
        note = "shaded: where the center is, 95 % by noise and sampling; larger rings: more users"
        axes.text(0.0, -0.13, note, transform=axes.transAxes, color=MUTED, fontsize=8.5)
        if model.doubtful_:
            why = f"{DOUBTFUL}:\n{doubt_words(model)}"
            axes.text(0.0, -0.155, why, transform=axes.transAxes, color=INK, fontsize=8.5, va="top")
        return save(figure, path)


def _name(model: "HybridKMeans", dimension: int) -> str:
    names = getattr(model, "feature_names_in_", None)
    return f"dimension {dimension}" if names is None else str(names[dimension])


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
