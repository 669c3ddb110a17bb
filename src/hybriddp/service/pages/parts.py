"""Released means of parts of the users as pages: one for everybody, and the curator's own."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from hybriddp.reporting.html import Section, alerts, color, paragraphs, render_page, table, wide
from hybriddp.reporting.wording import counted, percent, significant
from hybriddp.service.pages.intervals import PAD, WIDTH, axis
from hybriddp.service.pages.result import downloads
from hybriddp.study.page import section
from hybriddp.study.rounding import number

if TYPE_CHECKING:
    from hybriddp.mean.estimate import Estimate

__all__ = ["curator_parts_page", "live_parts", "part_means", "part_rows", "parts_page"]

_HEADINGS = ("mean", "95 % interval", "trusted", "local")
_DRAWN = 40  # parts in the figure
_EXPLAINED = 20  # parts, at most, each of which has a section in the curator's report: it takes a while to write
_LABEL = 40  # characters
_STEP = 42
_STYLE = ".parts { max-width: 36rem; display: block; margin: 1rem 0; }\ntd:nth-child(3) { white-space: nowrap; }\n"
_NO_ANSWER = "no answer: too few"
_ALIKE = "An interval with a star assumes that those who trust, in this part, are like those who do not."
_LIVE_HEADINGS = ("Trusted", "Local", "Typical error", "At the release")
_PUBLIC = "Which part somebody is in, and how many people each part has, is public and not covered by this."


def parts_page(told: Mapping[str, Any], *, promise: str) -> str:
    """Return the page for everybody, with a row for each part and a figure.

    The page is made from published numbers only.

    Parameters
    ----------
    told : mapping
        The estimate of a result document.
    promise : str
        What everybody was promised, in words.
    """
    people = f"{counted(told['n_trusted'], 'trusted participant')} and {counted(told['n_local'], 'local participant')}"
    parts = counted(len(told["parts"]), "part")
    drawn = f"The {_DRAWN} first of {parts} are in the figure." if len(told["parts"]) > _DRAWN else ""
    blocks = [
        *alerts(told["warnings"]),
        *paragraphs([f"The mean of each part of the participants, by {told['by']}."], style="answer"),
        _figure(told["parts"][:_DRAWN]),
        *paragraphs([drawn] if drawn else []),
        wide(table((told["by"], *_HEADINGS), part_rows(told)), "Means of the parts"),
        *paragraphs([_ALIKE] if any(map(_assumes_alike, told["parts"])) else [], style="hint"),
        *paragraphs([f"Computed from the contributions of {people}.", promise, _PUBLIC]),
        downloads(),
    ]
    return render_page(str(told["study"]), [Section("", blocks)], style=_STYLE)


def curator_parts_page(
    told: Mapping[str, Any], estimates: Sequence["Estimate"], *, title: str, warnings: Sequence[str]
) -> str:
    """Return the curator's page, with each group's own estimate and the weights.

    If there are few parts, the page also contains an explanation of each estimate.
    """
    rows = []
    for row, estimate in zip(part_rows(told), estimates, strict=False):  # those without an answer come last
        alone = ["" if mean is None else significant(mean) for mean in (estimate.trusted_mean, estimate.local_mean)]
        rows.append([*row, *alone, percent(estimate.weight, 3)])
    headings = (told["by"], *_HEADINGS, "trusted alone", "local alone", "weight on trusted")
    lead = [*alerts(warnings), wide(table(headings, rows), "Means of the parts, and of their groups")]
    return render_page(title, [Section("", lead), *(map(section, estimates) if len(rows) <= _EXPLAINED else [])])


def part_rows(told: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each part, with its name, mean, interval and sizes.

    Parts without an answer come last.
    """
    rows = []
    for part in told["parts"]:
        value, low, high = _numbers(part)
        sizes = [f"{part['n_trusted']:,}", f"{part['n_local']:,}"]
        star = " *" if _assumes_alike(part) else ""
        rows.append([str(part["users"]["key"]), value, f"{low} … {high}{star}", *sizes])
    without = [
        [part["name"], "", _NO_ANSWER, f"{part['n_trusted']:,}", f"{part['n_local']:,}"] for part in told["left_out"]
    ]
    return rows + without


def part_means(told: Mapping[str, Any]) -> list[str]:
    """Describe the mean of each part that has one, with its interval."""
    means = []
    for part in told["parts"]:
        value, low, high = _numbers(part)
        means.append(f"{part['users']['key']} {value} ({low} to {high})")
    return means


def live_parts(by: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """Show the parts of a running study to its operator.

    The table contains the sizes, the expected errors and the parts that are too small.
    """
    words = (
        "Minima hold in each part. When the study is released, parts below them are left out, by their sizes alone; "
        "nothing is spent on them."
    )
    shown = wide(table((by, *_LIVE_HEADINGS), rows), "Parts of the participants")
    return [f'<div id="parts">{shown}</div>', *paragraphs([words], style="hint")]


def _assumes_alike(part: Mapping[str, Any]) -> bool:
    return bool(part["assumes_groups_alike"])


def _numbers(part: Mapping[str, Any]) -> list[str]:
    """Format the mean and the ends of its interval.

    The numbers are rounded already. They have as many digits as the rounding step.
    """
    (row,) = part["rows"]
    step = Fraction(repr(float(row["step"])))
    return [number(float(row[name]), step) for name in ("value", "lower", "upper")]


def _figure(parts: Sequence[Mapping[str, Any]]) -> str:
    """Means as dots with their intervals, each below its name, in SVG that needs nothing from elsewhere."""
    low = min(float(part["rows"][0]["lower"]) for part in parts)
    high = max(float(part["rows"][0]["upper"]) for part in parts)
    width, ink = (high - low) or 1.0, color("both")

    def x(value: float) -> float:
        return PAD + (WIDTH - 2 * PAD) * (value - low) / width

    marks = []
    for i, part in enumerate(parts):
        y, name = 30 + _STEP * i, str(part["users"]["key"])
        name = name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…"
        lower, value, upper = (x(part["rows"][0][end]) for end in ("lower", "value", "upper"))
        marks.append(
            f'<text x="0" y="{y - 14}">{escape(name)}</text>'
            f'<text x="{WIDTH}" y="{y - 14}" text-anchor="end">{_numbers(part)[0]}</text>'
            f'<line x1="{lower:.1f}" x2="{upper:.1f}" y1="{y}" y2="{y}" stroke="{ink}" stroke-width="4" '
            f'stroke-linecap="round"/><circle cx="{value:.1f}" cy="{y}" r="5.5" fill="{ink}"/>'
        )
    base = 4 + _STEP * len(parts)
    return (
        f'<svg class="parts" viewBox="0 0 {WIDTH} {base + 28}" role="img" '
        'aria-label="The mean of each part with its 95 % interval" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="{color("ink")}">'
        f"{''.join(marks)}{axis(low, low + width, base, x)}</svg>"
    )
