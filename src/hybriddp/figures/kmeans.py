"""Centers and how uncertain they are, in two dimensions of the box."""

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.channels.plausible import short_doubt
from hybriddp.errors import ParameterError
from hybriddp.figures.canvas import HYBRID, INK, MUTED, canvas, note, save
from hybriddp.kmeans.explain import DOUBTFUL, doubt_words
from hybriddp.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hybriddp.kmeans.estimator import HybridKMeans

# Radius that holds 95 % of a normal variable: of the ellipse in two dimensions, sqrt(-2 log 0.05), and in one.
_HOLDS_95_PERCENT, _HALF_OF_95_PERCENT = 2.448, 1.960
_MOST_PANELS = 4
_READING = "shaded: where the center is, 95 % by noise and sampling; larger rings: more users"


@dataclass(frozen=True, eq=False)
class DrawnCenters:
    """What is drawn of centers, whether they come from a model or from what was published of one."""

    centers: FloatArray
    errors: FloatArray  # infinite where nothing is known
    sizes: FloatArray
    bounds: tuple[tuple[float, float], ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, model: "HybridKMeans") -> "DrawnCenters":
        """Those of a fitted model."""
        names = getattr(model, "feature_names_in_", [f"dimension {j}" for j in range(model.n_features_in_)])
        bounds = model.study_.box.bounds
        return cls(model.cluster_centers_, model.standard_errors_, model.sizes_, bounds, tuple(map(str, names)))

    @classmethod
    def published(cls, found: Mapping[str, Any]) -> "DrawnCenters":
        """Those that `HybridKMeans.to_dict` tells."""
        errors = [[math.inf if error is None else error for error in row] for row in found["standard_errors"]]
        names = found["columns"] or [f"dimension {j}" for j in range(len(found["bounds"]))]
        bounds = tuple((lower, upper) for lower, upper in found["bounds"])
        return cls(np.array(found["centers"]), np.array(errors), np.array(found["sizes"]), bounds, tuple(names))

    def draw(self, axes: "Axes", x: int, y: int | None) -> None:
        """Two dimensions, or one."""
        from matplotlib.patches import Ellipse

        for k, (center, error) in enumerate(zip(self.centers, self.errors, strict=True)):
            at = (center[x], 0.0 if y is None else center[y])
            widths = [2 * (upper - lower) for lower, upper in self.bounds]  # beyond what can be seen
            if y is None:  # uncertain in one direction only
                half = min(_HALF_OF_95_PERCENT * error[x], widths[x])
                axes.plot([at[0] - half, at[0] + half], [0.0, 0.0], "-", color=HYBRID, alpha=0.4, linewidth=5)
            else:
                sides = [min(2 * _HOLDS_95_PERCENT * error[j], 2 * widths[j]) for j in (x, y)]
                axes.add_patch(Ellipse(at, *sides, facecolor=HYBRID, alpha=0.25, edgecolor=HYBRID))
            ring = 8 + 40 * np.sqrt(self.sizes[k])
            axes.plot(*at, "o", markerfacecolor="none", markeredgecolor=MUTED, markersize=ring, markeredgewidth=0.8)
            axes.plot(*at, ".", color=HYBRID, markersize=4)
            axes.annotate(str(k), at, xytext=(0.36 * ring, 0.36 * ring), textcoords="offset points", color=INK)
        axes.set_xlim(*self.bounds[x])
        axes.set_xlabel(self.names[x], parse_math=False)  # names may hold dollar signs
        if y is None:
            axes.set_ylim(-1, 1)
            axes.set_yticks([])
        else:
            axes.set_ylim(*self.bounds[y])
            axes.set_ylabel(self.names[y], parse_math=False)


def draw_centers(model: "HybridKMeans", path: Path | None, dimensions: tuple[int, int]) -> "Figure":
    """The centers with ellipses that hold the best ones with 95 % confidence, and rings for their users."""
    drawn = DrawnCenters.of(model)
    x, y = _checked(dimensions, len(drawn.bounds))
    with canvas(6.4, 5.6) as figure:
        axes = figure.subplots()
        drawn.draw(axes, x, y)
        seeded = "" if model.private_release_ else " (a simulation)"
        forged = short_doubt(model.implausible_reports_)
        title = f"{model.study_.name}: {_counted(drawn)}, ε = {model.privacy_.epsilon}{forged}{seeded}"
        axes.set_title(title, parse_math=False)
        axes.text(0.0, -0.13, _READING, transform=axes.transAxes, color=MUTED, fontsize=8.5)
        if model.doubtful_:
            why = f"{DOUBTFUL}:\n{doubt_words(model)}"
            axes.text(0.0, -0.155, why, transform=axes.transAxes, color=INK, fontsize=8.5, va="top")
        return save(figure, path)


def draw_published(found: Mapping[str, Any], path: Path | None = None) -> "Figure":
    """All centers that were published, two dimensions in each of up to four panels."""
    drawn = DrawnCenters.published(found)
    d = len(drawn.bounds)
    pairs = [(x, x + 1 if x + 1 < d else None) for x in range(0, d, 2)][:_MOST_PANELS]
    rows, columns = -(-len(pairs) // 2), min(len(pairs), 2)
    with canvas(5.6 * columns, 4.6 * rows + 0.8) as figure:
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, (x, y) in zip(panels, pairs, strict=False):
            drawn.draw(axes, x, y)
        for unused in panels[len(pairs) :]:
            unused.set_visible(False)
        title = f"{found['name']}: {_counted(drawn)}, ε = {found['epsilon']}"
        figure.suptitle(textwrap.fill(title, 50 * columns), parse_math=False)
        told = _READING if 2 * len(pairs) >= d else f"{2 * len(pairs)} of {d} dimensions; {_READING}"
        note(figure, "\n".join([*found["warnings"], told]))
        return save(figure, path)


def _counted(drawn: DrawnCenters) -> str:
    return counted(len(drawn.centers), "center")


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
