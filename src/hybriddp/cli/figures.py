"""``hybriddp figures``: the figures of the paper, as pictures and as tables."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hybriddp import _check
from hybriddp.cli import options
from hybriddp.cli.options import option
from hybriddp.cli.terminal import say, trials_bar
from hybriddp.errors import ParameterError
from hybriddp.paper.figures import FIGURES, Made, make, select
from hybriddp.paper.figures.figure import PaperFigure


def figures(
    numbers: Annotated[
        list[int] | None, typer.Argument(help="Numbers of figures; without any, all are listed.")
    ] = None,
    everything: Annotated[bool, option("Draw all figures of the paper.", "--all")] = False,
    output: Annotated[Path, option("Folder for the files; created if missing.")] = Path("figures"),
    trials: Annotated[
        int, option("Number of repetitions for each simulated dot; a fiftieth of it for K-means.")
    ] = 1000,
    simulation: Annotated[bool, option("Simulate dots beside the theory.", "--simulation/--no-simulation")] = True,
    as_json: options.AsJson = False,
) -> None:
    """Draw the paper's figures: a picture (PNG and SVG) and the numbers behind it (CSV) of each.

    Lines are exact. The dots beside them are the real pipeline with the paper's Laplace noise, run many times with a
    fixed seed: a simulation, not a private release. Of K-means, figure 6, all is simulated.
    """
    if everything and numbers:
        raise ParameterError("the numbers of figures", "left out with --all", numbers, shown_as="numbers")
    chosen = FIGURES if everything else select(numbers or ())
    if not chosen:
        _list(as_json=as_json)
        return
    _check.integer("trials", trials, at_least=2)
    runs = sum(dot.trials(trials) for figure in chosen for dot in figure.dots) if simulation else 0
    with trials_bar("running the pipeline", runs, quiet=as_json or not runs) as update:
        made = make(chosen, output=output, trials=trials if simulation else None, progress=update)
    if as_json:
        typer.echo(json.dumps(_as_dict(chosen, made, trials if simulation else None), indent=2))
        return
    _print(made)


def _list(*, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_as_dict(FIGURES, [], None), indent=2))
        return
    for figure in FIGURES:
        say(f"{figure.number}  {figure.title}")
    say("\nhybriddp figures 1 3      these two\nhybriddp figures --all    all of them")


def _print(made: Sequence[Made]) -> None:
    for result in made:
        figure = result.figure
        say(f"Figure {figure.number}. {figure.title}", bold=True)
        say(f"{figure.shows}\nDiffers: {figure.differs}\nFiles: {' '.join(map(str, result.files))}\n")


def _as_dict(chosen: Sequence[PaperFigure], made: Sequence[Made], trials: int | None) -> dict[str, Any]:
    files = {result.figure.number: [str(path) for path in result.files] for result in made}
    figures = [
        {name: getattr(figure, name) for name in ("number", "title", "shows", "differs")}
        | {"files": files.get(figure.number, [])}
        for figure in chosen
    ]
    return {"private_release": False, "trials": trials, "figures": figures}
