"""Estimates as HTML: a view for notebooks and a page of their own, with a small figure."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from hybriddp.mean import explain
from hybriddp.reporting.html import Section, alerts, color, paragraphs, render_page, table
from hybriddp.reporting.wording import significant

if TYPE_CHECKING:
    from hybriddp.mean.estimate import Estimate

_COLORS = {"trusted": color("trusted"), "local": color("local"), "hybrid": color("both")}


def fragment(estimate: "Estimate") -> str:
    """One estimate for notebooks: warnings, table, figure and what is promised."""
    title = f"<p><b>{escape(estimate.study.title)}</b></p>"
    told = paragraphs([*explain.notes(estimate), str(estimate.privacy)])
    return "\n".join(
        [
            *alerts(explain.warnings(estimate)),
            title,
            table(explain.CELL_HEADINGS, explain.cells(estimate)),
            figure(estimate),
            *told,
        ]
    )


def page(estimates: Sequence["Estimate"]) -> str:
    """A page with a section per estimate: warnings, answer, table, figure and explanation."""
    return render_page(estimates[0].study.name, map(section, estimates))


def section(estimate: "Estimate") -> Section:
    """One estimate as a part of a page: warnings, answer, table, figure and explanation."""
    users, doubts = estimate.study.users, explain.warnings(estimate)
    answer, *rest = (line for line in explain.explanation(estimate).split("\n") if line not in doubts)
    said = answer.removeprefix(f"{estimate.study.title}: ")  # by the headings
    lead = paragraphs([said], style="answer")  # what may be published comes first
    blocks = [
        *alerts(doubts),
        *lead,
        table(explain.CELL_HEADINGS, explain.cells(estimate)),
        figure(estimate),
        *paragraphs(rest),
    ]
    return Section("" if users is None else str(users), blocks)


def figure(estimate: "Estimate") -> str:
    """The intervals as a small drawing, on an axis that the combined answer does not vanish on."""
    rows = explain.rows(estimate)
    low = min(row.interval.lower for row in rows)
    high = max(row.interval.upper for row in rows)
    width = (high - low) or 1.0

    def x(value: float) -> str:
        return f"{120 + 460 * (value - low) / width:.1f}"

    marks = []
    for i, row in enumerate(rows):
        y, ink = 22 + 26 * i, _COLORS[row.name.split()[0]]
        marks.append(
            f'<text x="0" y="{y + 4}">{row.name}</text>'
            f'<line x1="{x(row.interval.lower)}" x2="{x(row.interval.upper)}" y1="{y}" y2="{y}" stroke="{ink}" '
            f'stroke-width="4" stroke-linecap="round"/>'
            f'<circle cx="{x(row.value)}" cy="{y}" r="6" fill="{ink}"/>'
        )
    base = 22 + 26 * len(rows)
    axis = f'<line x1="120" x2="580" y1="{base}" y2="{base}" stroke="{color("axis")}"/>' + "".join(
        f'<text x="{x(value)}" y="{base + 18}" text-anchor="middle">{significant(value)}</text>'
        for value in (low, low + width / 2, high)
    )
    return (
        f'<svg viewBox="0 0 620 {base + 26}" role="img" aria-label="The groups\' and the combined answer with 95 % '
        f'intervals" font-family="system-ui, sans-serif" font-size="13" fill="{color("ink")}">'
        f"{''.join(marks)}{axis}</svg>"
    )
