"""Results as HTML and as tables for the terminal: one form for all kinds."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from hybriddp.reporting.html import Section, alerts, paragraphs, render_page, table
from hybriddp.reporting.rich import empty_table

if TYPE_CHECKING:
    from rich.table import Table

    from hybriddp.study.result import Result


def fragment(result: "Result") -> str:
    """Show one result in a notebook: warnings, table, drawing and what is promised."""
    blocks = [
        *alerts(result.warnings),
        f"<p><b>{escape(result.title)}</b></p>",
        table(result.headings, result.cells()),
        result.drawing(),
        *paragraphs([*result.notes(), str(result.privacy)]),
    ]
    return "\n".join(blocks)


def page(results: Sequence["Result"]) -> str:
    """Make a page with a section for each result."""
    return render_page(results[0].study.name, map(section, results))


def section(result: "Result") -> Section:
    """Show one result in a part of a page: warnings, answer, table, drawing and explanation."""
    blocks = [
        *alerts(result.warnings),
        *paragraphs([result.answer], style="answer"),
        table(result.headings, result.cells()),
        result.drawing(),
        *paragraphs(result.sentences()),
        *result.more_blocks(),
    ]
    return Section("" if result.users is None else str(result.users), blocks)


def rich_table(result: "Result") -> "Table":
    """Show one result in a terminal."""
    from rich.text import Text  # names are no markup

    view = empty_table([*result.warnings, result.title], result.headings, [*result.notes(), str(result.privacy)])
    for row in result.cells():
        view.add_row(*map(Text, row), style="bold green" if row[0] == "hybrid" else None)
    return view


def parts_table(results: Sequence["Result"], *, warned: bool = True) -> "Table":
    """Show results of parts of the users in a terminal, with their warnings, and whether the two groups agree."""
    from rich.text import Text

    doubtful = [f"{result.title}: {warning}" for result in results for warning in result.warnings if warned]
    headings = ("", "trusted", "local", *results[0].part_cells()[0], "groups")
    view = empty_table(
        [*doubtful, results[0].study.name],
        headings,
        list(dict.fromkeys(note for result in results for note in result.notes())),
    )
    for result in results:
        key = str(result.users.key) if result.users else result.study.name
        agree = "one only" if result.divergence is None else result.divergence.agreement
        first = (key, f"{result.n_trusted:,}", f"{result.n_local:,}")
        for at, row in enumerate(result.part_cells()[1]):
            texts = (*first, *row, agree) if at == 0 else ("", "", "", *row, "")
            view.add_row(*map(Text, texts))
    return view
