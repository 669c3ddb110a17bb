"""Points of figures that are found by simulation, shared by processes."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Protocol, TypeVar

from hybriddp.figures.paper.rows import Row

_Row = TypeVar("_Row", bound=Row)
_Found_co = TypeVar("_Found_co", bound=Row, covariant=True)


class Simulated(Protocol[_Found_co]):
    """A point that finds itself by trials; it can be sent to another process."""

    def trials(self, asked: int) -> int:
        """How many trials it runs where so many are asked for: fewer, if each takes long."""

    def run(self, trials: int) -> _Found_co:
        """What it found in so many trials."""


def run_all(
    todo: Sequence[Simulated[_Row]],
    *,
    trials: int,
    processes: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[_Row]:
    """All points, shared by processes (None: one per core); ``progress`` hears of the trials done."""
    rows: list[_Row] = []
    done = 0
    for point, row in zip(todo, _results(todo, trials, processes), strict=True):
        rows.append(row)
        done += point.trials(trials)
        if progress is not None:
            progress(done)
    return rows


def _results(todo: Sequence[Simulated[_Row]], trials: int, processes: int | None) -> Iterator[_Row]:
    workers = min(processes or os.cpu_count() or 1, len(todo))
    if workers <= 1:
        yield from (_run(point, trials) for point in todo)
        return
    # A progress bar is a thread, and a process that is copied while threads run can hang: new ones are started instead.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_run, todo, [trials] * len(todo))


def _run(point: Simulated[_Row], trials: int) -> _Row:
    return point.run(point.trials(trials))
