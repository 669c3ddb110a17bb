"""From figures to files: simulate what is to be simulated, draw, write pictures and numbers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybriddp import _check
from hybriddp.errors import DataError
from hybriddp.figures.canvas import import_matplotlib
from hybriddp.figures.paper.figure import PaperFigure
from hybriddp.figures.paper.rows import DensityRow, Row, write_csv
from hybriddp.figures.paper.running import run_all


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
    """Write every figure as PNG, SVG and CSV into the folder ``output``.

    Parameters
    ----------
    figures : sequence of PaperFigure
        Which.
    output : Path
        The folder; made if it is not there.
    trials : int or None
        How often the pipeline runs for each simulated point, at least 2, less often where it takes long; None for
        no simulation.
    processes : int or None
        How many processes share the simulation; None for one per core. The result does not depend on it.
    progress : callable, optional
        Called with the number of trials done, over all figures.
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


def _write(figure: PaperFigure, gains: list[Row], output: Path) -> Iterator[Path]:
    name = f"figure{figure.number}"
    densities = figure.densities()
    pictures = [output / f"{name}.{ending}" for ending in ("png", "svg")]
    figure.draw(gains, densities, pictures)
    yield from pictures
    yield _table(gains, output / f"{name}.csv")
    if densities:
        yield _table(densities, output / f"{name}_densities.csv")


def _table(rows: list[Row] | list[DensityRow], path: Path) -> Path:
    write_csv(rows, path)
    return path
