"""Signs of life on the terminal: on standard error, gone when the work is done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def trials_bar(what: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar of so many steps; gives the function that is called with the number of those done."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=quiet) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)
