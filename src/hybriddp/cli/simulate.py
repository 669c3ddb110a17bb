"""``hybriddp simulate``: the real pipeline many times, on a file of values or on a named distribution."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from hybriddp import _check
from hybriddp.cli.numbers import Share, amount, decimal, share
from hybriddp.cli.numbers import users as parse_users
from hybriddp.cli.progress import trials_bar
from hybriddp.cli.screen import console, say
from hybriddp.errors import DataError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.simulation import Simulation, simulate
from hybriddp.simulation.trial import ESTIMATORS
from hybriddp.wording import percent, significant


def run_simulation(
    data: Annotated[
        str, typer.Argument(help="A file with a column of values, or a distribution: 'normal(40,20)', in their units.")
    ],
    bounds: Annotated[tuple[float, float], typer.Option(help="The public range of a value.", parser=amount)],
    epsilon: Annotated[str, typer.Option(help="Privacy promised to everybody, from 0.01 to 20.", parser=decimal)],
    trusted: Annotated[Share, typer.Option(help="Who would trust the curator: 1%, 0.01 or 2,500 users.", parser=share)],
    value: Annotated[str | None, typer.Option(help="The column of values, if data is a file.")] = None,
    users: Annotated[
        int | None, typer.Option(help="Draw so many people anew in every trial: 100,000.", parser=parse_users)
    ] = None,
    trials: Annotated[int, typer.Option(help="How often.")] = 1000,
    channel: Annotated[str, typer.Option(help="window, or laplace for the paper's setting.")] = "window",
    estimators: Annotated[str, typer.Option(help="Names or fixed weights, with commas between.")] = ",".join(
        ESTIMATORS
    ),
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    processes: Annotated[int | None, typer.Option(help="How many share the work; one per core if not given.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Keep the sums here, to go on after a stop.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run the real pipeline many times and compare what happens with what the formulas predict.

    Devices, summaries, release and estimate are the real ones, but seeded: a simulation, not a private release.

    Distributions by the mean and sd of the values: normal(mean,sd), lognormal(mean,sd), gamma(mean,sd),
    exponential(mean), uniform(low,high). On the bounds: beta(α,β), uniform, and bernoulli(p), which has a share p at
    the upper bound. What lies outside of the bounds is clamped.
    """
    study = MeanStudy("simulation", bounds=bounds, epsilon=epsilon, channel=channel)
    _check.integer("trials", trials, at_least=2)
    values = _values(data, value)
    if isinstance(values, str) and users is None:
        raise ParameterError("users", "given with a distribution: how many people are drawn", users)
    with trials_bar("simulating", trials, quiet=as_json) as update:
        result = simulate(
            values,
            study=study,
            trusted_fraction=trusted.of(len(values) if users is None else users, "trusted"),
            trials=trials,
            estimators=[_estimator(name.strip()) for name in estimators.split(",")],
            n_users=users,
            random_state=seed,
            processes=processes,
            checkpoint=checkpoint,
            progress=update,
        )
    if as_json:
        typer.echo(result.to_json())
        return
    console().print(_table(result))
    if (words := clamped(result)) is not None:
        say(words)
    say(
        f"{result.n_trusted:,} trusted and {result.n_local:,} local users, ε = {study.privacy.epsilon}, "
        f"{result.trials:,} trials, seed {seed}: a simulation, not a private release."
    )


def clamped(result: Simulation) -> str | None:
    """What the bounds cut off, or None."""
    if result.outside < 1e-6:
        return None
    low, high = (significant(bound, 6) for bound in result.study.bounds)
    moved = float(result.setting.mixture_mean()) + result.study.bounds[0]
    return (
        f"{percent(result.outside, 2)} of the values lie outside of {low} to {high} and are clamped: their mean moves "
        f"from {significant(result.mean, 4)} to {significant(moved, 4)}, and errors are measured against the latter."
    )


def _values(data: str, value: str | None) -> Any:  # noqa: ANN401
    """A column of a file, or the name of a distribution as it is."""
    if "(" in data or data.strip().lower() == "uniform":
        if value is not None:
            raise ParameterError("value", "left out with a distribution: it is for files", value)
        return data
    if value is None:
        raise ParameterError("value", "the name of a column, since data is a file", value)
    from hybriddp.tables.chunks import read_columns

    column = read_columns(Path(data), [value]).get_column(value)
    if not column.dtype.is_numeric():
        raise DataError(f"Column {value!r} must hold numbers, but holds {column.dtype}.")
    return column.drop_nulls().drop_nans().to_numpy() if column.dtype.is_float() else column.drop_nulls().to_numpy()


def _estimator(name: str) -> str | float:
    try:
        return float(name)
    except ValueError:
        return name


def _table(result: Simulation) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        caption="theory, observed: typical (root mean squared) errors. z: how far apart they\nare, in standard errors; "
        "none where theory is approximate (≈).\n"
        "R, r: squared error of the better, the worse of trusted-only and full-local\n(in theory, with this channel) "
        "over the observed one.\n"
        "cover: how often the 95 % interval held the mean of the users' values.",
        caption_justify="left",
        padding=(0, 1),
    )
    table.add_column("estimator", no_wrap=True)
    for heading in ("weight", "theory", "observed", "z", "R", "r", "cover"):
        table.add_column(heading, justify="right", no_wrap=True)
    for o in result.outcomes:
        theory = significant(o.predicted_mse**0.5)
        table.add_row(
            o.name,
            f"{100 * o.weight:.1f} %",
            theory if o.is_exact else f"≈ {theory}",
            significant(o.observed_mse**0.5),
            f"{o.z:+.1f}" if o.is_exact else "",
            significant(o.gain_over_best),
            significant(o.gain_over_worst),
            f"{100 * o.coverage:.0f} %",
            style="bold green" if o.name == "adaptive" else None,
        )
    return table
