"""A figure of the paper, from its numbers to its files: simulate what is to be simulated, draw, write."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hybriddp import _check
from hybriddp.errors import DataError
from hybriddp.figures.canvas import canvas, import_matplotlib, save
from hybriddp.paper.figures.rows import DensityRow, Row, write_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_Row = TypeVar("_Row", bound=Row)
_Row_co = TypeVar("_Row_co", bound=Row, covariant=True)


class Simulated(Protocol[_Row_co]):
    """A point to be simulated; it can be sent to another process."""

    def trials(self, asked: int) -> int:
        """Choose the number of trials: fewer than asked for, if each takes long."""

    def run(self, trials: int) -> _Row_co:
        """Run the trials."""


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """Texts, numbers and drawing of a figure."""

    number: int  # in the paper
    title: str
    shows: str
    differs: str  # from the paper, in one line
    theory: Callable[[], Sequence[Row]]  # tabulates the exact numbers
    size: tuple[float, float]  # width and height in inches
    draw: Callable[["Figure", Any, Sequence[DensityRow]], None]  # all numbers, simulated ones too, and the densities
    densities: Callable[[], list[DensityRow]] = list  # distributions drawn beside
    dots: tuple[Simulated[Row], ...] = ()  # points simulated beside the theory, each with a seed of its own


@dataclass(frozen=True, slots=True)
class Made:
    """Files of a figure."""

    figure: PaperFigure
    files: tuple[Path, ...]


def make(
    figures: Sequence[PaperFigure],
    *,
    output: Path,
    trials: int | None,
    processes: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Made]:
    """Write every figure as PNG, SVG and CSV into the folder ``output``, which is created if missing.

    Each point is simulated ``trials`` times, at least 2, less often where a trial takes long; with None there is no
    simulation. ``processes`` share the work (None: one per core), and do not change the result. ``progress`` is called
    with the number of trials done, over all figures.
    """
    import_matplotlib()  # before anybody waits for a simulation
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise DataError(f"The figures cannot be written to {output}: {reason}.") from None
    todo = [dot for figure in figures for dot in figure.dots] if trials is not None else []
    count = 2 if trials is None else _check.integer("trials", trials, at_least=2)
    simulated = iter(run_all(todo, trials=count, processes=processes, progress=progress))
    made = []
    for figure in figures:
        rows = [*figure.theory(), *islice(simulated, len(figure.dots))]
        made.append(Made(figure, tuple(_write(figure, rows, output))))
    return made


def _write(figure: PaperFigure, rows: list[Row], output: Path) -> Iterator[Path]:
    stem, densities = output / f"figure{figure.number}", figure.densities()
    with canvas(*figure.size) as picture:
        figure.draw(picture, rows, densities)
        for ending in ("png", "svg"):
            yield _save(picture, stem.with_suffix(f".{ending}"))
    yield write_csv(rows, stem.with_suffix(".csv"))
    if densities:
        yield write_csv(densities, output / f"{stem.name}_densities.csv")


def _save(picture: "Figure", path: Path) -> Path:
    """Write the picture; PNG with a palette, which makes a third of the size and looks the same."""
    from PIL import Image  # matplotlib brings it

    save(picture, path)
    if path.suffix == ".png":
        with Image.open(path) as full:
            small = full.convert("RGB").quantize(
                256, method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE
            )
        small.save(path, optimize=True)
    return path


def run_all(
    todo: Sequence[Simulated[_Row]],
    *,
    trials: int,
    processes: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[_Row]:
    """Simulate all points, shared by processes (None: one per core); ``progress`` gets the number of trials done."""
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
