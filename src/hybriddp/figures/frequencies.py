"""A picture of shares: a bar and its interval for each item, and thin beside it what each group says alone."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.figures.canvas import HYBRID, INK, LOCAL, MUTED, TRUSTED, canvas, panels, save
from hybriddp.shares.blend import Blend
from hybriddp.shares.law import GroupShares, quantile
from hybriddp.shares.result import ShareResult
from hybriddp.shares.selection import largest, level_words, selected_level

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_BARS = 50
_MOST_PARTS = 12
_LONGEST = 32  # characters of a label
_FEW = 15  # items up to which there is room for wide bars
_TITLE, _PANEL_TITLE = 80, 34  # characters of a line


@dataclass(frozen=True, slots=True, eq=False)
class GroupMarks:
    """What one group says alone, and the ends of its intervals, in percent of the users."""

    name: str
    color: str
    shares: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Shares of items in the order of the picture, in percent of the users."""

    labels: list[str]
    shares: FloatArray
    lower: FloatArray
    upper: FloatArray
    groups: list[GroupMarks]
    title: str
    level: float  # of each interval
    more: int = 0  # items that are not shown
    seeded: bool = False


def draw(results: Sequence[ShareResult], *, path: Path | None = None) -> "Figure":
    """Draw the shares of some parts of the users side by side, and write them to ``path`` if it is given."""
    return _draw_bars([bars_of(result) for result in results[:_MOST_PARTS]], path)


def bars_of(result: ShareResult) -> Bars:
    """Choose the bars of a picture: all rows in their order, or the largest ones if there are many."""
    rows, f = result.first(_MOST_BARS), np.clip(result.blend.shares, 0.0, 1.0)
    order = np.arange(len(rows)) if len(rows) == len(result) else largest(result.unbiased, _MOST_BARS)
    level = selected_level(len(rows), len(result))
    shares, lower, upper = (100 * np.array([getattr(row, end) for row in rows]) for end in ("value", "lower", "upper"))
    delta = "" if result.privacy.delta == "0" else f", δ = {result.privacy.delta}"
    return Bars(
        [short(str(row.name)) for row in rows],
        shares,
        lower,
        upper,
        _both_groups(result.blend, f, order, level),
        f"{result.title}, ε = {result.privacy.epsilon}{delta}",
        level,
        len(result) - len(rows),
        result.privacy.seeded,
    )


def _both_groups(blend: Blend, f: FloatArray, order: IntArray, level: float) -> list[GroupMarks]:
    """Both groups, or none: a single one is the answer already."""
    if blend.trusted is None or blend.local is None:
        return []
    named = (("trusted group", TRUSTED, blend.trusted), ("local group", LOCAL, blend.local))
    return [_group_marks(name, color, group, f, order, level) for name, color, group in named]


def _group_marks(name: str, color: str, group: GroupShares, f: FloatArray, order: IntArray, level: float) -> GroupMarks:
    """Return the shares of one group alone, and how far they may be off.

    The shares may be negative. Their errors are computed as if ``f`` were the shares.
    """
    variance = group.variance(f)
    laplace = np.full_like(f, 1.0) * group.noise / variance if group.laplace else np.zeros_like(f)
    half = quantile(level, np.clip(laplace, 0.0, 1.0)) * np.sqrt(variance)
    x, h = 100 * group.shares[order], 100 * half[order]
    return GroupMarks(name, color, x, x - h, x + h)


def short(name: str) -> str:
    """Shorten a label to leave room for the bars.

    Long names may differ at their ends, so the ends stay.
    """
    if len(name) <= _LONGEST:
        return name
    tail = _LONGEST // 3
    return f"{name[: _LONGEST - tail - 1].rstrip()}…{name[-tail:].lstrip()}"


def _draw_bars(bars: Sequence[Bars], path: Path | None) -> "Figure":
    rows = max(len(part.labels) for part in bars)
    step = 0.42 if rows <= _FEW else 0.25
    columns = min(len(bars), 3)
    height = -(-len(bars) // columns) * (1.35 + step * max(rows, 2))
    with canvas(7.2 if columns == 1 else 3.6 * columns + 1.4, height) as figure:
        grid = panels(figure, len(bars), columns, sharex=True)
        for axes, part in zip(grid, bars, strict=True):
            _panel(axes, part, alone=len(bars) == 1)
        if len(bars) == 1:  # over the labels, too, where there is more room
            figure.suptitle(
                _title(bars[0], _TITLE), x=0.01, ha="left", fontsize=11, weight="bold", color=INK, parse_math=False
            )
        handles, labels = grid[0].get_legend_handles_labels()
        if bars[0].groups:
            both = [*handles[-1:], *handles[:-1]], [*labels[-1:], *labels[:-1]]  # what is stated comes first
            figure.legend(*both, loc="outside lower center", ncols=3, fontsize=9, labelcolor=INK)
        return save(figure, path)


def _panel(axes: "Axes", bars: Bars, *, alone: bool) -> None:
    places = np.arange(len(bars.labels))
    few = len(places) <= _FEW
    together = bool(bars.groups)
    axes.barh(places, bars.shares, height=0.5 if together else 0.62, color=HYBRID, alpha=0.55, linewidth=0)
    whiskers = np.vstack([np.maximum(bars.shares - bars.lower, 0), np.maximum(bars.upper - bars.shares, 0)])
    axes.errorbar(
        bars.shares,
        places,
        xerr=whiskers,
        fmt="none",
        ecolor=INK,
        elinewidth=1.6 if few else 1.2,
        capsize=3.5 if few else 2,
        label=f"both groups, {level_words(bars.level)} intervals",
    )
    offsets = (-0.36, 0.36) if few else (-0.33, 0.33)
    for group, offset in zip(bars.groups, offsets, strict=False):
        axes.hlines(places + offset, group.lower, group.upper, color=group.color, linewidth=0.9, alpha=0.8)
        size = 3 if few else 2
        axes.plot(group.shares, places + offset, "o", color=group.color, markersize=size, label=f"{group.name} alone")
    labels = bars.labels or ["(none)"]
    axes.set_yticks(np.arange(len(labels)), labels, parse_math=False, fontsize=10 if few else 8)
    axes.set_ylim(max(len(places), 1) - 0.35, -0.65)
    axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.set_xlim(_least(bars), None)
    rest = f" ({bars.more:,} more items are not shown)" if bars.more else ""
    axes.set_xlabel(f"share of users, %{rest}")
    if not alone:
        axes.set_title(_title(bars, _PANEL_TITLE), parse_math=False)
    axes.grid(axis="y", visible=False)


def _title(bars: Bars, width: int) -> str:
    return textwrap.fill(f"{bars.title}{' (a simulation)' if bars.seeded else ''}", width)


def _least(bars: Bars) -> float:
    """Return the lower limit of the picture.

    It is 0, or a little below if a group alone goes there. The whiskers of a group may be cut off.
    """
    widest = max(float(bars.upper.max(initial=0.0)), 1e-6)
    lowest = min((float(group.lower.min(initial=0.0)) for group in bars.groups), default=0.0)
    return max(lowest, -0.15 * widest)
