"""What the server's own pages share: the way between them, forms, and scripts that may not run."""

import re
from collections.abc import Sequence
from html import escape

from hybriddp.reporting.html import Section, render_page
from hybriddp.service.static_files import static_files

__all__ = ["hidden", "kept", "not_ready", "people_page", "script_tag", "server_page", "style_tag"]

_WIDTH = 60
_LINKS = (("/", "Curator"), ("/plan", "Planner"), ("/operator", "Operator"))
_STYLE = """\
header nav { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; border-bottom: 1px solid var(--line);
  padding-bottom: .6rem; }
header nav a[aria-current] { color: var(--ink); font-weight: 600; text-decoration: none; }
small, .hint { color: var(--muted); }
.list td, .list th, .facts td, .facts th { text-align: left; }
.list td:nth-child(n+3), .list th:nth-child(n+3) { text-align: right; }
.list small { white-space: nowrap; }
.refused td:nth-child(2), .refused th:nth-child(2) { text-align: left; }
.facts th { color: var(--muted); font-weight: normal; white-space: nowrap; width: 11rem; }
.facts td { overflow-wrap: anywhere; }
.state { border-radius: 1rem; padding: .1rem .7rem; background: var(--raised); border: 1px solid var(--line); }
.open, .asking { border-color: var(--both); } .closed { border-color: var(--local); }
button, input, select, textarea { font: inherit; padding: .25rem .8rem; border: 1px solid var(--edge);
  border-radius: .3rem; background: var(--paper); color: var(--ink); box-sizing: border-box; max-width: 100%; }
input[type=checkbox], input[type=radio] { width: 1.1rem; height: 1.1rem; vertical-align: -.15rem;
  accent-color: var(--both); }
button, a.button { cursor: pointer; display: inline-block; padding: .4rem 1rem; border-radius: .3rem; }
button.next, a.button { background: var(--both); border: 1px solid var(--both); color: var(--on);
  text-decoration: none; }
button:disabled { background: var(--raised); border-color: var(--edge); color: var(--muted); cursor: default; }
button.danger { color: var(--danger); border-color: var(--danger); }
form.next { margin-top: 1.2rem; } .list form.next { margin: 0; }
textarea { width: 100%; } textarea[readonly] { font: .85rem/1.4 ui-monospace, monospace; }
[role=alert] { background: var(--warn); border-left: .25rem solid var(--local); padding: .5rem .8rem; }
.wrong { color: var(--danger); display: block; font-size: .95rem; }
.not-ready { animation: load 3s; } @keyframes load { from, to { visibility: hidden; position: absolute; } }
@media (scripting: none) { .not-ready { animation: none; } }
@media (max-width: 40rem) { .facts th { width: auto; min-width: 7rem; white-space: normal; } }
"""


def server_page(
    title: str,
    sections: Sequence[Section],
    *,
    footer: str = "hybriddp curator.",
    here: str = "",
    style: str = "",
    head: str = "",
) -> str:
    """Return a page for planners and operators, with links between their pages.

    ``here`` is the address of the link that the page belongs to.
    """
    links = "".join(f'<a href="{path}"{_current(path, here)}>{words}</a>' for path, words in _LINKS)
    before = f'<header><nav aria-label="Pages">{links}</nav></header>\n'
    return render_page(title, sections, footer=footer, width=_WIDTH, style=_STYLE + style, head=head, before=before)


def people_page(title: str, sections: Sequence[Section], *, footer: str, style: str = "", head: str = "") -> str:
    """Return a page for participants, which only links to pages for participants."""
    return render_page(title, sections, footer=footer, width=_WIDTH, style=_STYLE + style, head=head)


def _current(path: str, here: str) -> str:
    return ' aria-current="page"' if path == here else ""


def script_tag(name: str) -> str:
    """Return the element that loads a script of this server."""
    return f'<script type="module" src="{escape(static_files().address(name))}"></script>\n'


def style_tag(name: str) -> str:
    """Return the element that loads a style of this server."""
    return f'<link rel="stylesheet" href="{escape(static_files().address(name))}">\n'


def not_ready(words: str, *, style: str = "") -> str:
    """Return a paragraph that stays until the page's script removes it, for whatever reason the script does not run.

    Where scripts can run it is shown after three seconds, so that nobody sees it flash.
    """
    role = "" if style else ' role="alert"'
    return f'<p class="{f"not-ready {style}".strip()}"{role}>{escape(words)}</p>'


def hidden(name: str, value: str) -> str:
    """Return a hidden form field."""
    return f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'


def kept(text: str) -> str:
    """Keep the percent signs of a text with their numbers at the end of a line."""
    return re.sub("([0-9]) %", "\\1\N{NO-BREAK SPACE}%", text)
