"""A bar for those who wait: only after a while, only on a terminal, and gone when it is done."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import Progress

PATIENCE = 2.0
"""Seconds after which somebody who waits would like to see something."""


@contextmanager
def waiting(words: str, *, console: Console | None = None) -> Iterator[Callable[[float | None], None]]:
    """What to call with the share that is done, or with None while nobody can tell: the bar then pulses.

    It is written to standard error, so that it never gets into a result.
    """
    console = console or Console(stderr=True)
    bar = Progress(console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task(words, total=None)

    def tell(share: float | None) -> None:
        bar.update(task, total=None if share is None else 1.0, completed=share or 0.0)

    clock = Timer(PATIENCE, bar.start)
    clock.daemon = True  # an error elsewhere need not wait for it
    clock.start()
    try:
        yield tell
    finally:
        clock.cancel()
        clock.join()  # if it is just starting the bar, the bar is there to be stopped
        bar.stop()
