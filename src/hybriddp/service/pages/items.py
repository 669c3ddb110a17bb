"""The released items of an open domain as pages: one for everybody, and the curator's own."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hybriddp.reporting.html import Section, alerts, paragraphs, render_page, table, wide
from hybriddp.reporting.wording import counted, percent
from hybriddp.service.pages.result import downloads
from hybriddp.service.pages.shares import DRAWN, LISTED, bars, left_out, share_cells

if TYPE_CHECKING:
    from hybriddp.items.estimate import HeavyHitters

__all__ = ["curator_items_page", "items_page"]


def items_page(found: "HeavyHitters", *, warnings: Iterable[str]) -> str:
    """Return the page for everybody, which contains only what may be published."""
    people = f"{counted(found.n_trusted, 'trusted participant')} and {counted(found.n_local, 'local participant')}"
    cells = [share_cells(row) for row in found.top(LISTED)]
    blocks = [
        *_head(found, warnings),
        wide(table(("", "share", "95 % interval"), cells), "Shares"),
        *left_out(found, LISTED, "in the table; the JSON result has all"),
        *paragraphs([f"All other items: {percent(found.other_share, 3)}."]),
        *paragraphs([f"Computed from the contributions of {people}.", str(found.privacy)]),
        downloads(drawn=len(found) > 0),
    ]
    return render_page(found.study.name, [Section("", blocks)])


def curator_items_page(found: "HeavyHitters", *, warnings: Iterable[str]) -> str:
    """Return the curator's page, with the weights and an explanation of the list."""
    rows = zip(found.top(LISTED), found.weight.tolist(), strict=False)
    cells = [[*share_cells(row), percent(weight, 3)] for row, weight in rows]
    headings = ("", "share", "95 % interval", "weight on trusted")
    shown = wide(table(headings, cells), "Shares")
    blocks = [*_head(found, warnings), shown, *left_out(found, LISTED, "in the table"), *paragraphs(found.sentences())]
    return render_page(found.study.name, [Section("", blocks)])


def _head(found: "HeavyHitters", warnings: Iterable[str]) -> Sequence[str]:
    drawn = [bars(found.top(DRAWN)), *left_out(found, DRAWN, "in the figure")] if len(found) else []
    return [*alerts(warnings), *paragraphs([found.answer], style="answer"), *drawn]
