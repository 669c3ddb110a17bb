"""``hybriddp plan-quantiles``, ``simulate-quantiles``: how wrong quantiles would be, before anything is collected."""

import json
import math
from typing import Annotated, Any

import typer

from hybriddp.cli import options
from hybriddp.cli.options import option
from hybriddp.cli.plan import fraction_of
from hybriddp.cli.quantiles import EdgesFile, Kappa, Scale, asked_quantiles, public_scale
from hybriddp.cli.simulate import data_values
from hybriddp.cli.terminal import print_table, say, trials_bar, waiting
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import ParameterError
from hybriddp.planning import QuantilePlan, plan_quantiles, solve_quantiles
from hybriddp.planning.quantile_words import HEADINGS, cells
from hybriddp.reporting.wording import percent, significant
from hybriddp.simulation import simulate_quantiles

_UNKNOWNS = {"epsilon": "epsilon", "users": "n_users", "trusted": "trusted_fraction"}
At = Annotated[str, option("Quantiles, with commas between them: 0.5,95%,p99.")]
Shape = Annotated[
    str | None, option("Rough distribution of the values, by mean and sd: lognormal(550,520); or a file, with --value.")
]


def make_quantile_plan(
    bounds: options.Bounds,
    more: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,  # --at 0.5 0.95 gives --at the first only
    users: Annotated[int | None, option("Number of users: 252,540.", parser=options.users)] = None,
    trusted: Annotated[
        options.UserShare | None,
        option(
            "How many users trust the curator: 1%, 0.01 or 2,500 users.", metavar="<share>", parser=options.user_share
        ),
    ] = None,
    epsilon: Annotated[
        str | None, option("Privacy parameter ε of every user, from 0.01 to 20.", parser=options.decimal)
    ] = None,
    shape: Shape = None,
    value: Annotated[str | None, option("Column of a file of public values, with --shape.")] = None,
    scale: Scale = None,
    kappa: Kappa = None,
    edges_file: EdgesFile = None,
    at: At = "0.5,0.9,0.95,0.99",
    solve_for: Annotated[str | None, option("Find the smallest epsilon, users or trusted, for one --at.")] = None,
    target_error: Annotated[
        float | None, option("Typical error to reach, in the units of the values.", parser=options.amount)
    ] = None,
    target_rank_error: Annotated[
        float | None, option("Typical error of the rank to reach: 1%.", parser=options.number)
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Predict how wrong quantiles would be, before a single value is collected.

    Without --shape only errors of ranks can be told: 1 % means that what is called p95 may be p94 or p96. With
    --solve-for and a target: how many users, or opt-ins, or which ε it takes until p95 is typically off by
    50 ms (root mean square).
    """
    asked, unknown = asked_quantiles([at], more or [])
    if unknown:
        raise ParameterError("at", "quantiles such as 0.95, 95% or p95", unknown[0])
    others: dict[str, Any] = {"bounds": bounds, "scale": public_scale(scale, edges_file), "kappa": kappa}
    others["shape"] = None if shape is None else data_values(shape, value)
    known = {"n_users": users, "trusted_fraction": fraction_of(trusted, users), "epsilon": epsilon}
    with waiting("planning"):
        made = _make(known, others, asked, solve_for, target_error, target_rank_error)
        rows = made.rows
    if as_json:
        typer.echo(json.dumps({"solved": solve_for, **made.to_dict()}, indent=2))
        return
    if solve_for is not None:
        found = {
            "epsilon": f"ε = {made.privacy.epsilon}",
            "users": f"{made.n_users:,} users",
            "trusted": f"{made.n_trusted:,} opt-ins ({percent(made.n_trusted / made.n_users)})",
        }[solve_for]
        say(f"It takes {found}.\n", bold=True)
    say(made.explain())
    print_table(
        HEADINGS,
        [cells(row) for row in rows],
        caption="error: typical (root mean squared). rank error: of the fraction of users below;\nbeside it those of "
        "either group alone.",
    )


def _make(
    known: dict[str, Any],
    others: dict[str, Any],
    asked: tuple[float, ...],
    solve_for: str | None,
    target_error: float | None,
    target_rank_error: float | None,
) -> QuantilePlan:
    if solve_for is None:
        for name, target in (("target_error", target_error), ("target_rank_error", target_rank_error)):
            if target is not None:
                raise ParameterError(name, "given together with --solve-for epsilon, users or trusted", target)
        for flag, name in (("users", "n_users"), ("trusted", "trusted_fraction"), ("epsilon", "epsilon")):
            if known[name] is None:
                raise ParameterError(flag, f"given, or found with --solve-for {flag}", None)
        return plan_quantiles(**known, **others, at=asked)
    if solve_for not in _UNKNOWNS:
        raise ParameterError("solve_for", f"one of {', '.join(_UNKNOWNS)}", solve_for)
    if len(asked) != 1:
        raise ParameterError("at", "one quantile if --solve-for is given", ",".join(f"{q:g}" for q in asked))
    targets: dict[str, Any] = {"target_error": target_error, "target_rank_error": target_rank_error}
    return solve_quantiles(for_=_UNKNOWNS[solve_for], q=asked[0], **targets, **known, **others).plan


def run_quantile_simulation(
    data: Annotated[str, typer.Argument(help="A distribution such as lognormal(550,520), or a file.")],
    users: Annotated[int, option("Number of users drawn per trial: 100,000.", parser=options.users)],
    trusted: options.Trusted,
    epsilon: options.Epsilon,
    bounds: options.Bounds,
    value: Annotated[str | None, option("Column of a file.")] = None,
    scale: Scale = None,
    kappa: Kappa = None,
    edges_file: EdgesFile = None,
    at: At = "0.5,0.9,0.95,0.99",
    trials: options.Trials = 40,
    seed: Annotated[int, option("Seed of the simulation.")] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Estimate quantiles of simulated users many times, and compare with the errors that were expected.

    Devices' reports, summaries, release and estimate are the real ones, but seeded: a simulation, not a private
    release.
    """
    edges = public_scale(scale, edges_file)
    study = DistributionStudy("simulation", bounds=bounds, epsilon=epsilon, scale=edges, kappa=kappa)
    asked, _ = asked_quantiles([at], [])
    with trials_bar("simulating", trials, quiet=as_json) as update:
        result = simulate_quantiles(
            data_values(data, value),
            study=study,
            trusted_fraction=trusted.of(users, "trusted"),
            trials=trials,
            n_users=users,
            at=asked,
            random_state=seed,
            progress=update,
        )
    if as_json:
        typer.echo(result.to_json())
        return
    rows = []
    for o in result.outcomes:
        alone = (percent(x, 2) if math.isfinite(x) else "" for x in (o.trusted_rank_error, o.local_rank_error))
        ranks = (percent(o.predicted_rank_error, 2), percent(o.rank_error, 2), *alone)
        told = (significant(o.truth, 4), significant(o.value_error, 2))
        rows.append((f"p{100 * o.q:.10g}", *told, *ranks, f"{100 * o.coverage:.0f} %"))
    print_table(
        ("", "truth", "error", "theory", "rank error", "trusted", "local", "cover"),
        rows,
        caption="errors: typical (root mean squared). theory: the rank error that was expected.\n"
        "trusted, local: the rank error of either group alone.\n"
        "cover: how often the 95 % interval held the quantile.",
    )
    say(
        f"{result.n_trusted:,} trusted and {result.n_local:,} local users, ε = {study.privacy.epsilon}, "
        f"{result.trials:,} trials, seed {seed}: a simulation, not a private release."
    )
