"""A fitted model for publication: as plain values, in one sentence, and as a page with a picture of the centers."""

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp.kmeans.explain import DOUBTFUL, center_cells, forgery_warning, n_answered, story
from hybriddp.kmeans.study import REPLACE_ONE
from hybriddp.reporting.html import Section, alerts, color, paragraphs, render_page, table, wide
from hybriddp.reporting.wording import percent, significant

if TYPE_CHECKING:
    from hybriddp.kmeans.estimator import HybridKMeans

_CENTER, _INK, _MUTED, _GRID = color("both"), color("ink"), color("axis"), color("line")
_LEFT, _TOP, _WIDTH, _HEIGHT = 64, 14, 500, 300  # of the axes, in pixels of the drawing
_GAP = 52  # below the axes, for numbers and a name
_MOST_PANELS = 4
_HOLDS_95_PERCENT = 2.448  # radius that holds 95 % of a normal variable in two dimensions: sqrt(-2 log 0.05)
STYLE = """\
pre { white-space: pre-wrap; font: .85rem/1.5 ui-monospace, monospace; }
"""
HOW_TO_READ = (
    "Each number stands at a center. The shade around it is where the center is with 95 % confidence, by noise and "
    "sampling; the ring is the larger, the more people are nearest to it."
)

_ERRORS = "Behind ± is a standard error, by noise and sampling. A 95 % interval reaches about twice as far."


def as_dict(model: "HybridKMeans") -> dict[str, Any]:
    """What may be published of a model, as plain values for JSON."""
    return {
        "name": model.study_.name,
        "kind": "kmeans",
        "n_clusters": model.study_.n_clusters,
        "bounds": [list(pair) for pair in model.study_.box.bounds],
        "columns": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "centers": model.cluster_centers_.tolist(),
        "standard_errors": [[_known(error) for error in row] for row in model.standard_errors_.tolist()],
        "sizes": model.sizes_.tolist(),
        "trusted_weight": np.asarray(model.trusted_weight_, np.float64).tolist(),
        "doubt": _known(float(model.doubt_)),
        "doubtful": bool(model.doubtful_),
        "n_trusted": int(model.n_trusted_),
        "n_local": int(model.n_local_),
        "n_answered": n_answered(model),
        "implausible_reports": int(model.implausible_reports_),
        "trusted_used": bool(model.trusted_used_),
        "epsilon": model.privacy_.epsilon,
        "delta": model.privacy_.delta,
        "neighbors": REPLACE_ONE,
        "private_release": bool(model.private_release_),
        "in_ledger": bool(model.in_ledger_),
        "steps": [
            {"purpose": step.purpose, "trusted_epsilon": step.trusted_epsilon, "local_users": step.local_users}
            for step in model.spending_
        ],
        "warnings": warnings(model),
    }


def _known(number: float) -> float | None:
    """A number, or None where nothing is known: JSON has no infinity."""
    return number if math.isfinite(number) else None


def warnings(model: "HybridKMeans") -> list[str]:
    """What a reader must know before the centers."""
    told = [] if model.private_release_ else ["A simulation, not a private release."]
    return [*forgery_warning(model), *told, *([f"{DOUBTFUL}."] if model.doubtful_ else [])]


def sentence(model: "HybridKMeans") -> str:
    """The answer in one sentence."""
    largest = np.argsort(-model.sizes_)[:3]
    told = "; ".join(
        f"{percent(float(model.sizes_[k]), 2)} of the people near ({_coordinates(model, int(k))})" for k in largest
    )
    n = len(model.cluster_centers_)
    return f"{model.study_.name}: {n:,} center{'s' if n > 1 else ''}; {told}{'; and others' if n > 3 else ''}."


def page(model: "HybridKMeans") -> str:
    """A page of its own: warnings, the picture, the centers, and the story."""
    blocks = [*alerts(warnings(model)), *picture_blocks(model), *centers_table(model)]
    sections = [Section("", blocks), Section("How it came about", story_blocks(model))]
    return render_page(model.study_.name, sections, style=STYLE)


def picture_blocks(model: "HybridKMeans") -> list[str]:
    """The answer, the picture, and how to read it."""
    answer = sentence(model).removeprefix(f"{model.study_.name}: ")
    return [*paragraphs([answer], style="answer"), picture(model), *paragraphs([HOW_TO_READ])]


def centers_table(model: "HybridKMeans") -> list[str]:
    """The centers with their standard errors and sizes."""
    names = _names(model)
    rows = [
        [str(k), percent(float(model.sizes_[k]), 2), *center_cells(model, k)]
        for k in range(len(model.cluster_centers_))
    ]
    block = table(["center", "people", *names], rows)
    return [wide(block, "Centers"), *paragraphs([_ERRORS])]


def story_blocks(model: "HybridKMeans") -> list[str]:
    """Everything that `HybridKMeans.explain` tells."""
    return [f"<pre>{escape(story(model))}</pre>"]


def picture(model: "HybridKMeans") -> str:
    """The centers with their uncertainty, two dimensions in each panel, as SVG that needs nothing from elsewhere."""
    d = model.n_features_in_
    pairs = [(x, x + 1 if x + 1 < d else None) for x in range(0, d, 2)][:_MOST_PANELS]
    step = _TOP + _HEIGHT + _GAP
    panels = [_panel(model, x, y, at * step) for at, (x, y) in enumerate(pairs)]
    more = f", {2 * len(pairs)} of {d} dimensions" if 2 * len(pairs) < d else ""
    return (
        f'<svg viewBox="0 0 600 {step * len(pairs)}" role="img" aria-label="Centers with 95 % regions{more}" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="{_INK}">{"".join(panels)}</svg>'
    )


def _panel(model: "HybridKMeans", x: int, y: int | None, top: int) -> str:
    bounds, names = model.study_.box.bounds, _names(model)
    base = top + _TOP + _HEIGHT

    def across(value: float) -> float:
        lower, upper = bounds[x]
        return _LEFT + _WIDTH * (value - lower) / (upper - lower)

    def down(value: float) -> float:
        lower, upper = bounds[x] if y is None else bounds[y]
        return base - _HEIGHT * (value - lower) / (upper - lower)

    marks = [
        f'<rect x="{_LEFT}" y="{top + _TOP}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="{_GRID}"/>',
        f'<text x="{_LEFT + _WIDTH / 2}" y="{base + 36}" text-anchor="middle">{escape(_short(names[x]))}</text>',
    ]
    for at in (0.0, 0.5, 1.0):
        lower, upper = bounds[x]
        value = lower + at * (upper - lower)
        marks.append(f'<text x="{across(value):.1f}" y="{base + 18}" text-anchor="middle">{significant(value)}</text>')
        if y is not None:
            lower, upper = bounds[y]
            value = lower + at * (upper - lower)
            marks.append(
                f'<text x="{_LEFT - 6}" y="{down(value) + 4:.1f}" text-anchor="end">{significant(value)}</text>'
            )
    if y is not None:
        middle = top + _TOP + _HEIGHT / 2
        marks.append(
            f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">'
            f"{escape(_short(names[y]))}</text>"
        )
    clip = f"panel{x}"
    marks.append(
        f'<clipPath id="{clip}"><rect x="{_LEFT}" y="{top + _TOP}" width="{_WIDTH}" height="{_HEIGHT}"/></clipPath>'
    )
    for k, (center, error) in enumerate(zip(model.cluster_centers_, model.standard_errors_, strict=True)):
        wide = _WIDTH * _HOLDS_95_PERCENT * error[x] / (bounds[x][1] - bounds[x][0])
        high = 12.0 if y is None else _HEIGHT * _HOLDS_95_PERCENT * error[y] / (bounds[y][1] - bounds[y][0])
        cx, cy = across(center[x]), top + _TOP + _HEIGHT / 2 if y is None else down(center[y])
        ring = 5 + 30 * float(np.sqrt(model.sizes_[k]))
        marks.append(
            f'<g clip-path="url(#{clip})"><ellipse cx="{cx:.1f}" cy="{cy:.1f}" rx="{_radius(wide):.1f}" '
            f'ry="{_radius(high):.1f}" fill="{_CENTER}" fill-opacity="0.25"/></g>'
            f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="{ring:.1f}" fill="none" stroke="{_MUTED}"/>'
            f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="2.5" fill="{_CENTER}"/>'
            f'<text x="{cx + 6:.1f}" y="{cy - 6:.1f}">{k}</text>'
        )
    return "".join(marks)


def _radius(pixels: float) -> float:
    """The radius of a region that can be seen; one that may be anywhere fills the panel."""
    return max(min(pixels, 2.0 * _WIDTH), 1.0) if math.isfinite(pixels) else 2.0 * _WIDTH


def _names(model: "HybridKMeans") -> Sequence[str]:
    given = getattr(model, "feature_names_in_", None)
    return [f"dimension {j}" for j in range(model.n_features_in_)] if given is None else [str(name) for name in given]


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:39]}…"


def _coordinates(model: "HybridKMeans", k: int) -> str:
    center = [significant(float(x)) for x in model.cluster_centers_[k][:4]]
    return ", ".join(center) + (", …" if model.n_features_in_ > 4 else "")
