"""``hybriddp simulate``: the real pipeline many times, on a file of values or on a named distribution."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from hybriddp import _check
from hybriddp.cli import options
from hybriddp.cli.options import option
from hybriddp.cli.quantiles import EdgesFile, Kappa, Scale, asked_quantiles, public_scale
from hybriddp.cli.terminal import print_table, say, trials_bar
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.reporting.wording import percent, significant
from hybriddp.simulation import MeanOutcome, MeanSimulation, QuantileSimulation, Simulation, simulate
from hybriddp.simulation.mean import ESTIMATORS
from hybriddp.tables.frames import read_columns


def run_simulation(
    data: Annotated[str, typer.Argument(help="File with a column of values, or a distribution: 'normal(40,20)'.")],
    bounds: options.Bounds,
    epsilon: options.Epsilon,
    trusted: options.Trusted,
    value: Annotated[str | None, option("Column of values, if DATA is a file.")] = None,
    users: Annotated[
        int | None, option("Draw this many users anew in every trial: 100,000.", parser=options.users)
    ] = None,
    trials: Annotated[int | None, option("Number of trials; 1,000 of a mean, 40 of quantiles.")] = None,
    estimators: Annotated[str, option("Names or fixed weights, separated by commas.")] = ",".join(ESTIMATORS),
    at: Annotated[str | None, option("Simulate these quantiles instead of a mean: 0.5,95%,p99.")] = None,
    scale: Scale = None,
    kappa: Kappa = None,
    edges_file: EdgesFile = None,
    seed: Annotated[int, option("Seed of the simulation.")] = 0,
    processes: Annotated[int | None, option("Number of processes; one per core if not given.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Run the real pipeline many times and compare what happens with what the formulas predict.

    Devices, summaries, release and estimate are the real ones, but seeded: a simulation, not a private release.

    Distributions by the mean and sd of the values: normal(mean,sd), lognormal(mean,sd), gamma(mean,sd),
    exponential(mean), uniform(low,high). On the bounds: beta(α,β), uniform, and bernoulli(p), which is the upper bound
    with probability p. Values outside of the bounds are clamped.
    """
    quantiles = at is not None or scale is not None or edges_file is not None
    study: MeanStudy | DistributionStudy
    if quantiles:
        edges = public_scale(scale, edges_file)
        study = DistributionStudy("simulation", bounds=bounds, epsilon=epsilon, scale=edges, kappa=kappa)
        choices: dict[str, Any] = {"at": asked_quantiles(None if at is None else [at], [])[0]}
    else:
        study = MeanStudy("simulation", bounds=bounds, epsilon=epsilon)
        choices = {"estimators": [_estimator(name.strip()) for name in estimators.split(",")]}
    trials = _check.integer("trials", (40 if quantiles else 1000) if trials is None else trials, at_least=2)
    values = data_values(data, value)
    if isinstance(values, str) and users is None:
        raise ParameterError("users", "given with a distribution: how many people are drawn", users)
    with trials_bar("simulating", trials, quiet=as_json) as update:
        result: Simulation = simulate(
            study,
            values,
            trusted_fraction=trusted.of(len(values) if users is None else users, "trusted"),
            trials=trials,
            n_users=users,
            random_state=seed,
            processes=processes,
            progress=update,
            **choices,
        )
    if as_json:
        typer.echo(result.to_json())
        return
    if isinstance(result, MeanSimulation):
        _print_mean(result)
    elif isinstance(result, QuantileSimulation):
        _print_quantiles(result)
    say(
        f"{result.n_trusted:,} trusted and {result.n_local:,} local users, ε = {study.privacy.epsilon}, "
        f"{result.trials:,} trials, seed {seed}: a simulation, not a private release."
    )


def _print_mean(result: MeanSimulation) -> None:
    print_table(
        ("estimator", "weight", "theory", "observed", "z", "R", "r", "cover"),
        [_cells(outcome) for outcome in result.outcomes],
        caption="theory, observed: typical (root mean squared) errors. z: how far apart they\nare, in standard errors; "
        "none where theory is approximate (≈).\n"
        "R, r: squared error of the better, the worse of trusted-only and full-local\n(in theory, with this channel) "
        "over the observed one.\n"
        "cover: how often the 95 % interval held the mean of the users' values.",
        bold=[outcome.name == "adaptive" for outcome in result.outcomes],
    )
    if (words := clamped(result)) is not None:
        say(words)


def _print_quantiles(result: QuantileSimulation) -> None:
    rows = []
    for o in result.outcomes:
        alone = (percent(x, 2) if math.isfinite(x) else "" for x in (o.trusted_rank_error, o.local_rank_error))
        ranks = (percent(o.predicted_rank_error, 2), percent(o.rank_error, 2), *alone)
        values = (significant(o.truth, 4), significant(o.value_error, 2))
        rows.append((f"p{100 * o.q:.10g}", *values, *ranks, f"{100 * o.coverage:.0f} %"))
    print_table(
        ("", "truth", "error", "theory", "rank error", "trusted", "local", "cover"),
        rows,
        caption="errors: typical (root mean squared). theory: the rank error that was expected.\n"
        "trusted, local: the rank error of either group alone.\n"
        "cover: how often the 95 % interval held the quantile.",
    )


def clamped(result: MeanSimulation) -> str | None:
    """Describe what the bounds clip, or return None."""
    if result.outside < 1e-6:
        return None
    low, high = (significant(bound, 6) for bound in result.study.bounds)
    moved = float(result.setting.mixture_mean()) + result.study.bounds[0]
    return (
        f"{percent(result.outside, 2)} of the values lie outside of {low} to {high} and are clamped: their mean moves "
        f"from {significant(result.mean, 4)} to {significant(moved, 4)}, and errors are measured against the latter."
    )


def data_values(data: str, value: str | None) -> Any:  # noqa: ANN401
    """Return a column of a file, or the name of a distribution as it is."""
    if "(" in data or data.strip().lower() == "uniform":
        if value is not None:
            raise ParameterError("value", "left out with a distribution: it is for files", value)
        return data
    if value is None:
        raise ParameterError("value", "the name of a column, since data is a file", value)
    column = read_columns(Path(data), [value]).get_column(value).drop_nulls()
    return (column.drop_nans() if column.dtype.is_float() else column).to_numpy()


def _estimator(name: str) -> str | float:
    try:
        return float(name)
    except ValueError:
        return name


def _cells(o: MeanOutcome) -> tuple[str, ...]:
    theory = significant(o.predicted_mse**0.5)
    return (
        o.name,
        f"{100 * o.weight:.1f} %",
        theory if o.is_exact else f"≈ {theory}",
        significant(o.observed_mse**0.5),
        f"{o.z:+.1f}" if o.is_exact else "",
        significant(o.gain_over_best),
        significant(o.gain_over_worst),
        f"{100 * o.coverage:.0f} %",
    )
