"""What goes to the terminal and to files: wrapped words, options instead of parameters, progress bars, pictures.

The package speaks of the parameters of its functions (``single_group=True``). Here their names become the options of
the command that was called (``--single-group``).
"""

import re
import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hybriddp.errors import DataError, raise_unchained
from hybriddp.figures.canvas import import_matplotlib

MOST_COLUMNS = 100
"""Longer lines are hard to read, however wide the window is."""

_WIDEST = 1000

PATIENCE = 2.0
"""Seconds after which somebody who waits would like to see something."""

PICTURES = (".png", ".svg", ".pdf")

RENAMED = {
    "n_users": "users",
    "trusted_fraction": "trusted",
    "colluding_local": "colluding",
    "random_state": "seed",
    "for_": "solve_for",
    "domain": "domain_file",
    "n_items": "items",
}
"""Parameters in Python whose option is called differently."""

_IN_RESULTS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        "sd_at_most",
        "single_group",
        "mean_gap",
        "target_rmse",
        "trusted_if",
        "simulate_local",
        "other",
        "scale",
    )
} | {"domain": "--domain-file"}
"""Parameters that results, written for Python too, may speak of, and their options."""

_PYTHON_ONLY = re.compile(r" \((?:groups_may_differ|population)=True\)|: distribution\(\) gives those that do(?=\.)")
"""What results say to those who have them in Python, and for which there is no option."""

_TOGETHER = re.compile(r"(?<=\d) (?=%)|(?<=[\d)]) (?=±)|(?<=±) (?=\d)|(?<=[εδ]) (?==)|(?<=[εδ] =) (?=\d)")
_HARD = "\N{NO-BREAK SPACE}"


def columns() -> int:
    """Return the number of columns to write in, 80 without a terminal."""
    return max(20, min(shutil.get_terminal_size((80, 24)).columns, MOST_COLUMNS))


def wrap(text: str, width: int | None = None) -> str:
    """Every line of a text wrapped between words, never inside of a number with its unit; indented lines stay."""
    lines = []
    for line in text.splitlines():
        if not line.strip() or line.startswith(" "):
            lines.append(line)
            continue
        bound = _TOGETHER.sub(lambda found: _HARD * len(found[0]), line)
        lines += textwrap.wrap(bound, width or columns(), break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace(_HARD, " ")


def say(text: str, *, bold: bool = False, err: bool = False) -> None:
    """Print words, wrapped, with options for the parameters that they speak of, and without those that have none."""
    typer.secho(wrap(in_options(_PYTHON_ONLY.sub("", text))), bold=bold, err=err)


def say_written(*paths: Path | None) -> None:
    """Name the files that were written."""
    for path in paths:
        if path is not None:
            say(f"Written: {path}")


def print_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    caption: str = "",
    bold: Sequence[bool] = (),
) -> None:
    """Print a table as wide as the words are; rows that are ``bold`` stand out. No cell is cut or broken."""
    table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.caption, table.caption_justify = caption or None, "left"
    for i, heading in enumerate(headings):
        texts = [
            heading,
            *(row[i] for row in rows),
        ]  # those of the first column stay on a line, numbers with their unit
        texts = [_TOGETHER.sub(_HARD, text) if i else text.replace(" ", _HARD) for text in texts]
        widest = max(len(part) for text in texts for part in text.split(" "))
        table.add_column(heading, justify="right" if i else "left", no_wrap=i == 0, min_width=widest)
    for i, row in enumerate(rows):
        table.add_row(*row, style="bold green" if bold and bold[i] else None)
    print_wide(table)


def print_wide(table: Table | str) -> None:
    """Print what has its own layout, wider than the window if numbers need that."""
    console = Console(highlight=False, width=columns())
    if isinstance(table, Table):
        wide = console.options.update(width=_WIDEST)
        console.width = max(console.width, Measurement.get(console, wide, table).minimum)
    console.print(table)


# Options for parameters


def options_of(app: typer.Typer, *words: str | None) -> dict[str, str]:
    """Map the parameters in Python to the options of the command these words call.

    If the words call no command, the options of all commands are returned.
    """
    called: Any = typer.main.get_command(app)
    for word in words:
        if word not in getattr(called, "commands", {}):
            break
        called = called.commands[word]
    options = {
        parameter.name: _as_typed(parameter)
        for command in _commands(called)
        for parameter in getattr(command, "params", ())
        if parameter.name
    }
    for name, flag in RENAMED.items():
        if flag in options and name not in options:
            options[name] = options[flag]
    return options


def _commands(called: Any) -> Iterator[Any]:  # noqa: ANN401  (click's classes are not part of typer's interface)
    """Yield the command itself, or all commands below it."""
    if not hasattr(called, "commands"):
        yield called
        return
    for below in called.commands.values():
        yield from _commands(below)


def _as_typed(parameter: Any) -> str:  # noqa: ANN401
    """Return the option, or the name of an argument in the help."""
    flags = [text for text in parameter.opts if text.startswith("--")]
    return flags[0] if flags else str(parameter.metavar or parameter.name).upper().removesuffix("...")


def in_options(text: str, options: Mapping[str, str] = _IN_RESULTS) -> str:
    """Replace the names of parameters in a text by the options.

    Names that are ordinary words too (``value``, ``users``) are touched only where they cannot be meant as such: before
    "must be", before "=" or between backquotes.

    Examples
    --------
    >>> in_options("It is public knowledge that sd_at_most = 9. More of it (sd_at_most) helps.")
    'It is public knowledge that --sd-at-most 9. More of it (--sd-at-most) helps.'
    >>> in_options("trusted_fraction must be below 1, got trusted_fraction=1.5.", {"trusted_fraction": "--trusted"})
    '--trusted must be below 1, got 1.5.'
    """
    for name in sorted(options, key=len, reverse=True):
        flag, bare = options[name], re.escape(name)
        word = rf"(?<![\w./-]){bare}(?!\w|\.\w)"
        text = re.sub(rf"\bgot {bare}(?:\[[\d, ]*\])?=", "got ", text)
        text = re.sub(rf"`{bare}`|{word}=True\b", flag, text)
        text = re.sub(rf"{word}=(?=\S)", f"{flag} ", text)
        text = re.sub(rf"(?:(?<=^)|(?<=\. )){bare}(?:\[[\d, ]*\])?(?= must be)", flag, text)
        if "_" in name:
            text = re.sub(word, flag, re.sub(rf"{word} = (?=\S)", f"{flag} ", text))
    return text.replace(", got None.", ".")


# Progress: on standard error, so that it never gets into a result, and gone when the work is done


@contextmanager
def waiting(words: str, *, console: Console | None = None) -> Iterator[Callable[[float | None], None]]:
    """Show a bar that appears after a while, and only on a terminal.

    Yields a function to call with the fraction that is done, or with None while the fraction is unknown: the bar then
    pulses.
    """
    console = console or Console(stderr=True)
    bar = Progress(console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task(words, total=None)

    def tell(fraction: float | None) -> None:
        bar.update(task, total=None if fraction is None else 1.0, completed=fraction or 0.0)

    clock = Timer(PATIENCE, bar.start)
    clock.daemon = True  # an error elsewhere need not wait for it
    clock.start()
    try:
        yield tell
    finally:
        clock.cancel()
        clock.join()  # if it is just starting the bar, the bar is there to be stopped
        bar.stop()


@contextmanager
def trials_bar(what: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a bar of ``total`` steps.

    Yields a function to call with the number of finished steps.
    """
    shown = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"), TimeRemainingColumn())
    with Progress(*shown, console=Console(stderr=True), transient=True, disable=quiet) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)


# Files to be written


def check_targets(plot: Path | None, html: Path | None = None) -> None:
    """Raise `DataError` if the picture or the page could not be written, before anything is done or spent."""
    if plot is not None:
        import_matplotlib()
        if plot.suffix not in PICTURES:
            raise DataError(f"The picture {plot} must end in one of {', '.join(PICTURES)}.")
    if html is not None and html.suffix not in (".html", ".htm"):
        raise DataError(f"The page {html} must end in .html.")
    for target in (plot, html):
        if target is not None and not target.parent.is_dir():
            raise DataError(f"{target} cannot be written: there is no folder {target.parent}.")
        if target is not None and target.is_dir():
            raise DataError(f"{target} cannot be written: it is a folder.")


def write_text(path: Path, text: str) -> None:
    """Write a text file, or raise `DataError`."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as reason:
        raise_unchained(DataError(f"{path} cannot be written: {reason.strerror}."))
