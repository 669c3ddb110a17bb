"""A figure of the paper, from its numbers to its files: simulate what is to be simulated, draw, write."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
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
_Found_co = TypeVar("_Found_co", bound=Row, covariant=True)


class Simulated(Protocol[_Found_co]):
    """A point that is found by trials; it can be sent to another process."""

    def trials(self, asked: int) -> int:
        """How many trials it runs where so many are asked for: fewer, if each takes long."""

    def run(self, trials: int) -> _Found_co:
        """What it found in so many trials."""


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A figure that can be made: its texts, its numbers and its drawing."""

    number: int  # in the paper
    title: str
    shows: str
    differs: str  # where we differ from the paper, in one line
    theory: Callable[[], Sequence[Row]]  # gives the exact numbers
    size: tuple[float, float]  # width and height in inches
    draw: Callable[["Figure", Any, Sequence[DensityRow]], None]  # all numbers, simulated ones too, and the densities
    densities: Callable[[], list[DensityRow]] = list  # what is drawn beside, if anything
    dots: tuple[Simulated[Row], ...] = ()  # what is simulated beside the theory, each with a seed of its own


@dataclass(frozen=True, slots=True)
class Made:
    """A figure and the files that were written of it."""

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

    For each simulated point the pipeline runs ``trials`` times, at least 2, less often where it takes long; None is for
    no simulation. ``processes`` share it (None: one per core), and the result does not depend on how many they are.
    ``progress`` is called with the number of trials done, over all figures.
    """
    import_matplotlib()  # before anybody waits for a simulation
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise DataError(f"The figures cannot be written to {output}: {reason}.") from None
    if trials is None:
        simulated: Iterator[Row] = iter(())
    else:
        todo = [dot for figure in figures for dot in figure.dots]
        trials = _check.integer("trials", trials, at_least=2)
        simulated = iter(run_all(todo, trials=trials, processes=processes, progress=progress))
    made = []
    for figure in figures:
        dots = [] if trials is None else [next(simulated) for _ in figure.dots]
        made.append(Made(figure, tuple(_write(figure, [*figure.theory(), *dots], output))))
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
