"""A picture of shares: bars with their intervals."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hybriddp.figures.canvas import HYBRID, INK, canvas, note, save
from hybriddp.frequency.estimate import Frequencies, ShareRow
from hybriddp.frequency.heavy_estimate import HeavyHitters, ItemRow
from hybriddp.frequency.heavy_explain import name_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_BARS = 30
_LONGEST = 30  # characters of a label


def draw(found: Frequencies, *, path: Path | None = None) -> "Figure":
    """The shares as bars with 95 % intervals: all in the study's order, or the largest ones if there are many."""
    rows = found.rows() if len(found) <= _MOST_BARS else found.top(_MOST_BARS)
    return _bars(rows, found.study.title, seeded=found.privacy.seeded, path=path)


def draw_items(found: HeavyHitters, *, path: Path | None = None) -> "Figure":
    """The shares of the most frequent items, the most frequent one first."""
    return _bars(found.rows()[:_MOST_BARS], found.study.name, seeded=found.privacy.seeded, path=path)


def _bars(rows: Sequence[ShareRow] | Sequence[ItemRow], title: str, *, seeded: bool, path: Path | None) -> "Figure":
    names = [name_of(row.item) for row in rows]
    labels = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in names]
    places = list(range(len(rows)))
    with canvas(7.0, 1.2 + 0.28 * len(rows)) as figure:
        axes = figure.add_subplot()
        axes.barh(places, [100 * row.share for row in rows], color=HYBRID, alpha=0.75)
        below = [100 * max(row.share - row.interval.lower, 0.0) for row in rows]
        above = [100 * max(row.interval.upper - row.share, 0.0) for row in rows]
        shares = [100 * row.share for row in rows]
        axes.errorbar(shares, places, xerr=[below, above], fmt="none", ecolor=INK, elinewidth=1.2, capsize=2.5)
        axes.set_yticks(places, labels, parse_math=False)  # a name is no formula
        axes.invert_yaxis()
        axes.set_xlim(left=0.0)
        axes.set_xlabel("share of users in %, with 95 % intervals")
        axes.set_title(title, parse_math=False)
        axes.grid(axis="y", visible=False)
        if seeded:
            note(figure, "A simulation: not a private release.")
        return save(figure, path)
