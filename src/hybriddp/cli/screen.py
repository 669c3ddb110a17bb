"""Words on a terminal: wrapped at its width between words, never inside of a number with its unit."""

import re
import shutil
import textwrap

import typer
from rich.console import Console

from hybriddp.cli.flags import in_options

MOST_COLUMNS = 100
"""Longer lines are hard to read, however wide the window is."""

_TOGETHER = re.compile(r"(?<=\d) (?=%)|(?<=[\d)]) (?=±)|(?<=±) (?=\d)|(?<=[εδ]) (?==)|(?<=[εδ] =) (?=\d)")
_HARD = "\N{NO-BREAK SPACE}"


def columns() -> int:
    """How many columns there are to write in; 80 where there is no terminal to ask."""
    return max(20, min(shutil.get_terminal_size((80, 24)).columns, MOST_COLUMNS))


def wrap(text: str, width: int | None = None) -> str:
    """Every line of a text wrapped; a line that starts with spaces is left as it is.

    Examples
    --------
    >>> print(wrap("The mean is off by 0.61, and its interval is ± 1.2 (95 %).", 40))
    The mean is off by 0.61, and its
    interval is ± 1.2 (95 %).
    """
    lines = []
    for line in text.splitlines():
        if not line.strip() or line.startswith(" "):
            lines.append(line)
            continue
        bound = _TOGETHER.sub(lambda found: _HARD * len(found[0]), line)
        lines += textwrap.wrap(bound, width or columns(), break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace(_HARD, " ")


def say(text: str, *, bold: bool = False, err: bool = False) -> None:
    """Print words, wrapped, with options for the parameters that they speak of."""
    typer.secho(wrap(in_options(text)), bold=bold, err=err)


def console() -> Console:
    """What prints tables, as wide as the words are."""
    return Console(highlight=False, width=columns())
