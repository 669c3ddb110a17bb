"""The released shares of categories as pages: one for everybody, and the curator's own."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from hybriddp.reporting.html import Section, alerts, color, paragraphs, render_page, table, wide
from hybriddp.reporting.wording import counted, percent
from hybriddp.service.pages.result import downloads
from hybriddp.shares.explain import share_words
from hybriddp.shares.published import MOST_LARGEST
from hybriddp.shares.selection import selection_lines
from hybriddp.study.published import Row

if TYPE_CHECKING:
    from hybriddp.shares.estimate import Frequencies
    from hybriddp.shares.result import ShareResult

__all__ = ["DRAWN", "LISTED", "bars", "curator_shares_page", "left_out", "share_cells", "shares_page"]

DRAWN = MOST_LARGEST  # categories in the figure
LISTED = 500  # rows of a table
_LABEL = 26  # characters
_LEFT, _RIGHT, _STEP = 190, 590, 24
_BAR, _AXIS, _INK = color("both"), color("axis"), color("ink")


def shares_page(found: "Frequencies", *, warnings: Iterable[str]) -> str:
    """Return the page for everybody, which contains only what may be published."""
    people = f"{counted(found.n_trusted, 'trusted participant')} and {counted(found.n_local, 'local participant')}"
    rows = found.first(LISTED)
    blocks = [
        *alerts(warnings),
        *paragraphs([found.answer], style="answer"),
        bars(found.first(DRAWN)),
        *left_out(found, DRAWN, "in the figure"),
        wide(table(("", "share", "95 % interval"), [share_cells(row) for row in rows]), "Shares"),
        *left_out(found, LISTED, "in the table; the JSON result has all"),
        *paragraphs([f"Computed from the contributions of {people}.", str(found.privacy)]),
        downloads(),
    ]
    return render_page(found.study.title, [Section("", blocks)])


def curator_shares_page(found: "Frequencies", *, warnings: Iterable[str]) -> str:
    """Return the curator's page, with each group's own shares and the weights.

    The page also contains an explanation of the shares.
    """
    blocks = [
        *alerts(warnings),
        *paragraphs([found.answer], style="answer"),
        bars(found.first(DRAWN)),
        *left_out(found, DRAWN, "in the figure"),
    ]
    groups = [found.trusted, found.local]
    headings = ["", "share", "95 % interval", "trusted alone", "local alone", "weight on trusted"]
    place = {item: i for i, item in enumerate(found.items)}
    rows = []
    for row in found.first(LISTED):
        i = place[row.name]
        alone = ["" if group is None else percent(float(group.shares[i]), 3) for group in groups]
        rows.append([*share_cells(row), *alone, percent(float(found.weight[i]), 3)])
    blocks += [
        wide(table(headings, rows), "Shares"),
        *left_out(found, LISTED, "in the table"),
        *paragraphs(found.sentences()),
    ]
    return render_page(found.study.title, [Section("", blocks)])


def bars(rows: Sequence[Row]) -> str:
    """Shares as bars, with their intervals as lines, in SVG that needs nothing from elsewhere."""
    longest = max((row.interval.upper for row in rows), default=0.0) or 1.0

    def x(share: float) -> str:
        return f"{_LEFT + (_RIGHT - _LEFT) * min(max(share, 0.0), longest) / longest:.1f}"

    marks = []
    for i, row in enumerate(rows):
        y, name = 14 + _STEP * i, str(row.name)
        name = name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…"
        low, high = x(row.interval.lower), x(row.interval.upper)
        marks.append(
            f'<text x="{_LEFT - 10}" y="{y + 5}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{_LEFT}" y="{y - 7}" width="{float(x(row.value)) - _LEFT:.1f}" height="14" fill="{_BAR}" '
            f'fill-opacity="0.55"/>'
            f'<line x1="{low}" x2="{high}" y1="{y}" y2="{y}" stroke="{_INK}" stroke-width="1.5"/>'
            + "".join(f'<line x1="{end}" x2="{end}" y1="{y - 4}" y2="{y + 4}" stroke="{_INK}"/>' for end in (low, high))
        )
    base = 14 + _STEP * len(rows)
    axis = f'<line x1="{_LEFT}" x2="{_RIGHT}" y1="{base}" y2="{base}" stroke="{_AXIS}"/>' + "".join(
        f'<text x="{x(share)}" y="{base + 18}" text-anchor="middle">{percent(share, 2)}</text>'
        for share in (0.0, longest / 2, longest)
    )
    return (
        f'<svg viewBox="0 0 620 {base + 26}" role="img" aria-label="Shares with 95 % intervals" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="{_INK}">{"".join(marks)}{axis}</svg>'
    )


def left_out(found: "ShareResult", most: int, where: str) -> list[str]:
    """Say that only the largest shares are shown, and what their intervals are; nothing if all are."""
    if len(found) <= most:
        return []
    return paragraphs([f"The {most} largest of {len(found):,} shares are {where}.", *selection_lines(most, len(found))])


def share_cells(row: Row) -> list[str]:
    """Write a row of a table: the item, its share and its interval."""
    name, share, _, interval = share_words(row)
    return [name, share, interval]
