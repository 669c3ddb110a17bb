"""Estimates as HTML: a view for notebooks and a page of their own, with a small picture and nothing from elsewhere."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from hybriddp.mean import story
from hybriddp.mean.doubts import warnings
from hybriddp.mean.published import default_step, number
from hybriddp.wording import significant

if TYPE_CHECKING:
    from hybriddp.mean.estimate import Estimate

_COLORS = {"trusted": "#3567b0", "local": "#c96f2e", "hybrid": "#1d8a6b"}
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #22303c; max-width: 46rem; margin: 3rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.5rem; }} h2 {{ font-size: 1.15rem; margin-top: 2.5rem; }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: right; padding: .35rem .6rem; border-bottom: 1px solid #e4e8ec; }}
th:first-child, td:first-child {{ text-align: left; }}
svg {{ width: 100%; height: auto; }}
.answer {{ font-size: 1.2rem; font-weight: 600; }}
footer {{ color: #66727e; font-size: .85rem; margin-top: 3rem; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
<footer>Made with hybriddp.</footer>
</body>
</html>
"""


def fragment(estimate: "Estimate") -> str:
    """One estimate: doubts, title, table, picture and promise."""
    title, promise = escape(estimate.study.title), escape(str(estimate.privacy))
    notes = "".join(f"<p>{escape(note)}</p>\n" for note in story.notes(estimate))
    return f"{_doubts(estimate)}<p><b>{title}</b></p>\n{_table(estimate)}\n{picture(estimate)}\n{notes}<p>{promise}</p>"


def page(estimates: Sequence["Estimate"]) -> str:
    """A page that stands alone: for each estimate the table, the picture and the story."""
    title = estimates[0].study.name
    parts = []
    for estimate in estimates:
        heading = "" if estimate.study.users is None else f"<h2>{escape(str(estimate.study.users))}</h2>\n"
        told = [line for line in story.words(estimate).splitlines() if line not in warnings(estimate)]
        answer, *rest = (f"<p>{escape(line)}</p>" for line in told)
        lead = answer.replace("<p>", '<p class="answer">', 1)  # what may be published comes first
        parts.append(f"{heading}{_doubts(estimate)}{lead}\n{_table(estimate)}\n{picture(estimate)}\n{''.join(rest)}")
    return _PAGE.format(title=escape(title), body="\n".join(parts))


def _doubts(estimate: "Estimate") -> str:
    """What a reader must know before the numbers."""
    return "".join(f'<p role="alert"><b>{escape(warning)}</b></p>\n' for warning in warnings(estimate))


def _table(estimate: "Estimate") -> str:
    step = default_step(estimate)
    cells = "".join(
        f"<tr><td>{row.name}</td><td>{row.users:,}</td><td>{number(row.value, step)}</td>"
        f"<td>{number(row.interval.lower, step)} … {number(row.interval.upper, step)}</td></tr>"
        for row in story.rows(estimate)
    )
    return (
        "<table><thead><tr><th></th><th>users</th><th>mean</th><th>95 % interval</th></tr></thead>"
        f"<tbody>{cells}</tbody></table>"
    )


def picture(estimate: "Estimate") -> str:
    """The intervals as a small drawing, on an axis that the combined answer does not vanish on."""
    rows = story.rows(estimate)
    low = min(row.interval.lower for row in rows)
    high = max(row.interval.upper for row in rows)
    width = (high - low) or 1.0

    def x(value: float) -> str:
        return f"{120 + 460 * (value - low) / width:.1f}"

    marks = []
    for i, row in enumerate(rows):
        y, color = 22 + 26 * i, _COLORS[row.name.split()[0]]
        marks.append(
            f'<text x="0" y="{y + 4}">{row.name}</text>'
            f'<line x1="{x(row.interval.lower)}" x2="{x(row.interval.upper)}" y1="{y}" y2="{y}" stroke="{color}" '
            f'stroke-width="4" stroke-linecap="round"/>'
            f'<circle cx="{x(row.value)}" cy="{y}" r="6" fill="{color}"/>'
        )
    base = 22 + 26 * len(rows)
    axis = f'<line x1="120" x2="580" y1="{base}" y2="{base}" stroke="#8a97a3"/>' + "".join(
        f'<text x="{x(value)}" y="{base + 18}" text-anchor="middle">{significant(value)}</text>'
        for value in (low, low + width / 2, high)
    )
    return (
        f'<svg viewBox="0 0 620 {base + 26}" role="img" aria-label="The groups\' and the combined answer with 95 % '
        f'intervals" font-family="system-ui, sans-serif" font-size="13" fill="#22303c">{"".join(marks)}{axis}</svg>'
    )
