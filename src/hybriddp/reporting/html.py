"""A result as HTML: one template for pages that stand alone, and load nothing from elsewhere.

A page is a title and sections; a section is a heading and blocks of HTML. `paragraphs`, `alerts` and `table` make
blocks from plain text, which they escape; a figure is a block of SVG.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from hybriddp.reporting.palette import DARK, LIGHT

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{colors}
body {{ font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: {width}rem;
  margin: 3rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.5rem; }} h2 {{ font-size: 1.15rem; margin-top: 2.5rem; }}
h1, h2, p, li {{ overflow-wrap: anywhere; }}
a {{ color: var(--link); }}
[type=datetime-local]:focus-within, :focus-visible {{
  outline: 3px solid var(--link); outline-offset: 2px; border-radius: .15rem; }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: right; padding: .35rem .6rem; border-bottom: 1px solid var(--line); }}
th:first-child, td:first-child {{ text-align: left; overflow-wrap: anywhere; min-width: 5.5rem; }}
tr.ours {{ font-weight: 600; color: var(--both); }}
svg {{ width: 100%; height: auto; }}
.picture {{ background: #fff; border-radius: .3rem; }}
.wide {{ overflow-x: auto; }}
.answer {{ font-size: 1.2rem; font-weight: 600; }}
footer {{ color: var(--muted); font-size: .85rem; margin-top: 3rem; }}
@media (max-width: 40rem) {{ body {{ margin: 1rem auto; }} th, td {{ padding: .35rem .3rem; }} }}
{style}</style>
{head}</head>
<body>
{before}<main>
<h1>{title}</h1>
{body}
</main>
<footer>{footer}</footer>
</body>
</html>
"""


def color(name: str) -> str:
    """Return a color of the page as CSS, for light and for dark mode.

    The light color is used where a drawing stands outside of a page.

    Examples
    --------
    >>> color("ink")
    'var(--ink,#22303c)'
    """
    return f"var(--{name},{LIGHT[name]})"


def _variables(colors: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {value};" for name, value in colors.items())


_COLORS = f""":root {{ color-scheme: light dark; {_variables(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}
@media print {{ :root {{ {_variables(LIGHT)} }} }}"""


class Section(NamedTuple):
    """A part of a page: its heading as plain text, if it has one, and blocks of HTML."""

    heading: str
    blocks: Sequence[str]


def render_page(
    title: str,
    sections: Iterable[Section],
    *,
    footer: str = "Made with hybriddp.",
    width: int = 46,
    style: str = "",
    head: str = "",
    before: str = "",
) -> str:
    """Render a page of its own, ``width`` rem wide.

    ``style`` is CSS that this page needs beside the common one.

    ``head`` is HTML for its head, such as a script, and ``before`` is HTML that stands before its main part.

    Examples
    --------
    >>> html = render_page("Pay & more", [Section("", paragraphs(["3 < 4"])), Section("Why", [table(["", "n"], [])])])
    >>> "<h1>Pay &amp; more</h1>" in html, "<p>3 &lt; 4</p>" in html, "<h2>Why</h2>" in html
    (True, True, True)
    """
    blocks = [
        block
        for section in sections
        for block in ([f"<h2>{escape(section.heading)}</h2>"] if section.heading else []) + list(section.blocks)
    ]
    return _PAGE.format(
        title=escape(title),
        colors=_COLORS,
        width=width,
        style=style,
        head=head,
        before=before,
        body="\n".join(blocks),
        footer=escape(footer),
    )


def paragraphs(lines: Iterable[str], *, style: str = "") -> list[str]:
    """Render a block for each line.

    ``style="answer"`` is large, for what a reader came for.
    """
    opening = f'<p class="{style}">' if style else "<p>"
    return [f"{opening}{escape(line)}</p>" for line in lines]


def alerts(lines: Iterable[str]) -> list[str]:
    """Warnings, a block each: what a reader must know before the numbers."""
    return [f'<p role="alert"><b>{escape(line)}</b></p>' for line in lines]


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, last_is_ours: bool = False) -> str:
    """Render a table of plain text with the first column to the left.

    Its last row stands out if ``last_is_ours``.
    """
    head = "".join(_heading(heading) for heading in headings)
    cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    opening = ["<tr>"] * len(rows)
    if last_is_ours and rows:
        opening[-1] = '<tr class="ours">'
    body = "".join(f"{tag}{row}</tr>" for tag, row in zip(opening, cells, strict=True))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def wide(block: str, label: str) -> str:
    """Wrap a wide block so that it scrolls by itself on a narrow screen.

    An example is a table with many columns.
    """
    return f'<div class="wide" role="region" tabindex="0" aria-label="{escape(label)}">{block}</div>'


def _heading(text: str) -> str:
    """Render the head of a column.

    A column without words gets a plain cell, because an empty heading names nothing.
    """
    return f'<th scope="col">{escape(text)}</th>' if text else "<td></td>"
