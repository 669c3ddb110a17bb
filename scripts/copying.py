"""A hook of the documentation: examples are shown with their prompts and answers, and copied without them.

The pages keep ``>>>``, because every example is a test. The button over a block copies what the attribute ``data-copy``
says; the style sheet keeps a selection with the mouse from prompts and answers.
"""

import ast
import re
from doctest import DocTestParser
from html import escape, unescape
from typing import Any

_SESSION = re.compile(r"^( *)```python(?=\n *>>> )", re.MULTILINE)
_BLOCK = re.compile(r"<pre>((?:<span></span>)?<code[^>]*>)(.*?)</code></pre>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


def code_of(session: str) -> str:
    """The code of a session, as it can be pasted into a file or at a prompt, where an empty line ends a block."""
    sources = [example.source for example in DocTestParser().get_examples(session)]
    return "".join(f"{source}\n" if hasattr(ast.parse(source).body[-1], "body") else source for source in sources)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs: a block with prompts is a session, which has colors of its own."""
    return _SESSION.sub(r"\1```pycon", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Called by mkdocs: every session says what is copied of it."""
    return _BLOCK.sub(_with_code, html)


def _with_code(block: re.Match[str]) -> str:
    session = unescape(_TAG.sub("", block[2]))
    if not session.startswith(">>> "):
        return block[0]
    return f'<pre data-copy="{escape(code_of(session))}">{block[1]}{block[2]}</code></pre>'
