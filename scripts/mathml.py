"""A hook of the documentation: formulas between dollar signs become MathML, which browsers show without a script."""

import re
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.util import AtomicString

_FORMULA = r"(\${1,2})(.+?)\1"  # $inline$ or $$display$$
_BEFORE_ESCAPES = 185  # after code between backticks (190), before backslash escapes (180)


class _Formula(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[ElementTree.Element, int, int]:  # noqa: ARG002, N802
        display = "block" if m.group(1) == "$$" else "inline"
        mathml = convert(m.group(2).strip(), display=display).replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
        element = ElementTree.fromstring(mathml)  # noqa: S314  (made one line above)
        for part in element.iter():
            part.text = AtomicString(part.text) if part.text else None
        return element, m.start(0), m.end(0)


class Formulas(Extension):
    """The Markdown extension."""

    def extendMarkdown(self, md: Any) -> None:  # noqa: N802
        """Register the pattern."""
        md.inlinePatterns.register(_Formula(_FORMULA, md), "formula", _BEFORE_ESCAPES)


def on_config(config: Any) -> Any:
    """Called by mkdocs."""
    config.markdown_extensions.append(Formulas())
    return config
