"""``hybriddp plan``: what a study would give, and what a wanted error takes, before anything is collected."""

import json
from typing import Annotated, Any

import typer

from hybriddp.cli import options
from hybriddp.cli.options import option
from hybriddp.cli.quantiles import EdgesFile, Kappa, Scale, asked_quantiles, public_scale
from hybriddp.cli.simulate import data_values
from hybriddp.cli.terminal import (
    check_targets,
    in_options,
    print_table,
    say,
    say_written,
    waiting,
    wrap,
    write_text,
)
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import ParameterError
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.mean import MeanStudy
from hybriddp.planning import Plan, Table, plan, solve
from hybriddp.planning.mean_tables import PAPERS_TITLE
from hybriddp.planning.words import given
from hybriddp.reporting.wording import percent
from hybriddp.shares import FrequencyStudy

_UNKNOWNS = {"epsilon": "epsilon", "users": "n_users", "trusted": "trusted_fraction"}
_USUAL = 1.0  # an ε for studies of which it is to be found


def make_plan(
    more: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,  # --at 0.5 0.95 gives --at the first only
    bounds: Annotated[
        tuple[float, float] | None,
        option("Public range of values, chosen without looking at the data.", parser=options.amount),
    ] = None,
    users: Annotated[int | None, option("Number of users: 252,540.", parser=options.users)] = None,
    trusted: Annotated[
        options.UserShare | None,
        option(
            "How many users trust the curator: 1%, 0.01 or 2,500 users.",
            metavar="<share>",
            parser=options.user_share,
        ),
    ] = None,
    epsilon: Annotated[
        str | None, option("Privacy parameter ε of every user, from 0.01 to 20.", parser=options.decimal)
    ] = None,
    delta: options.Delta = "0",
    sd: Annotated[
        float | None,
        option("Standard deviation of the values. If unknown, best and worst case.", parser=options.amount),
    ] = None,
    sd_at_most: Annotated[
        float | None,
        option("Public bound on the standard deviation, which the study relies on.", parser=options.amount),
    ] = None,
    mean: Annotated[
        float | None,
        option("Rough guess of the mean: with --sd, shows what bounds clip.", parser=options.amount),
    ] = None,
    mean_gap: Annotated[
        float | None, option("Mean of trusted users minus mean of local users.", parser=options.amount)
    ] = None,
    paper: Annotated[bool, option("Show the paper's estimators, too.", "--paper")] = False,
    items: Annotated[int | None, option("For shares: number of items, about.", parser=options.users)] = None,
    slope: Annotated[
        float | None, option("For shares: slope of Zipf's law; 0 if all are equally frequent.", parser=options.amount)
    ] = None,
    at: Annotated[str | None, option("For quantiles: which, with commas between them: 0.5,95%,p99.")] = None,
    shape: Annotated[
        str | None, option("For quantiles: rough distribution, lognormal(550,520), or a file, with --value.")
    ] = None,
    value: Annotated[str | None, option("Column of a file of public values, with --shape.")] = None,
    scale: Scale = None,
    kappa: Kappa = None,
    edges_file: EdgesFile = None,
    solve_for: Annotated[str | None, option("Find the smallest epsilon, users or trusted.")] = None,
    target_rmse: Annotated[
        float | None, option("Root mean squared error to reach, with --solve-for.", parser=options.amount)
    ] = None,
    target_rank_error: Annotated[
        float | None, option("For quantiles: typical error of the rank to reach: 1%.", parser=options.number)
    ] = None,
    plot: options.Plot = None,
    html: options.Html = None,
    as_json: options.AsJson = False,
) -> None:
    """Predict the errors of a study, before a single value is collected.

    Of a mean, with --bounds. With --items of shares: of public categories, or, with --delta above 0, of items that are
    discovered. With --at, --shape or --scale of quantiles: without --shape only errors of ranks can be told, 1 % means
    that what is called p95 may be p94 or p96.

    With --solve-for and --target-rmse: the smallest ε, number of users or fraction of trusted users that reaches an
    error.
    """
    check_targets(plot, html)
    _refuse_unknowns(users, trusted, epsilon, solve_for, target_rmse, target_rank_error)
    of_mean = {"sd": sd, "mean": mean, "mean_gap": mean_gap}
    of_quantiles = {"at": at, "shape": shape, "scale": scale, "kappa": kappa, "edges_file": edges_file}
    promise: dict[str, Any] = {"epsilon": epsilon or _USUAL, "delta": delta}
    study: Any
    if items is not None:
        _refuse("shares", of_mean | of_quantiles | {"bounds": bounds, "sd_at_most": sd_at_most})
        study, assumed = _items(items, slope, promise)
    elif bounds is None:
        raise ParameterError("bounds", "given, or --items for a plan of shares", None)
    elif any(choice is not None for choice in of_quantiles.values()):
        with_delta = None if delta == "0" else delta
        _refuse("quantiles", of_mean | {"slope": slope, "sd_at_most": sd_at_most, "delta": with_delta})
        edges = public_scale(scale, edges_file)
        study = DistributionStudy("plan", bounds=bounds, epsilon=promise["epsilon"], scale=edges, kappa=kappa)
        assumed = {"shape": None if shape is None else data_values(shape, value), "at": _quantiles(at, more)}
    else:
        _refuse("a mean", {"slope": slope, "value": value})
        study, assumed = MeanStudy("plan", bounds=bounds, **promise, sd_at_most=sd_at_most), of_mean
    settings = {name: choice for name, choice in assumed.items() if choice is not None}
    settings |= {"n_users": users, "trusted_fraction": fraction_of(trusted, users)}
    targets = {"target_rmse": target_rmse, "target_rank_error": target_rank_error}
    with waiting("planning"):
        if solve_for is None:
            made: Plan = plan(study, **settings)
        else:
            made = solve(study, for_=_UNKNOWNS[solve_for], **targets, **settings).plan
        stated = made.to_dict()
        tables = [table for table in made.tables() if paper or table.title != PAPERS_TITLE]
        if plot is not None:
            made.plot(plot)
        if html is not None:
            write_text(html, made.to_html())
    if as_json:
        typer.echo(json.dumps({"solved": _UNKNOWNS.get(solve_for or ""), **stated}, indent=2))
        return
    if solve_for is not None:
        say(_found(made, solve_for, target_rmse, target_rank_error), bold=True)
    _print(made.headline(), tables, made.details())
    say_written(plot, html)


def _items(items: int, slope: float | None, promise: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the study of shares, and what is assumed of it."""
    if promise["delta"] == "0":
        return FrequencyStudy("plan", categories=range(items), other=False, epsilon=promise["epsilon"]), {
            "slope": slope
        }
    return HeavyHitterStudy("plan", **promise), {"slope": slope, "n_items": items}


def _print(answer: tuple[str, ...], tables: list[Table], lines: list[str]) -> None:
    for line in map(in_options, answer):
        lead, _, rest = line.partition(": ")
        typer.echo(wrap(line).replace(f"{lead}:", typer.style(f"{lead}:", bold=True), 1) if rest else wrap(line))
    for table in tables:
        ours = [number == table.ours for number in range(len(table.rows))]
        print_table(table.headings, table.rows, title=f"\n{table.title}", caption=table.caption, bold=ours)
    say("\n" + "\n".join(lines))


def fraction_of(trusted: options.UserShare | None, users: int | None) -> float | None:
    """Return the fraction of users who trust, as the option says; None if it does not."""
    if trusted is None:
        return None
    if trusted.fraction is None and users is None:
        raise ParameterError("trusted", "a share of the users such as 0.2% when --users is not given", trusted.count)
    return trusted.of(users or 0, "trusted")


def _refuse_unknowns(
    users: int | None,
    trusted: options.UserShare | None,
    epsilon: str | None,
    solve_for: str | None,
    target_rmse: float | None,
    target_rank_error: float | None,
) -> None:
    """Refuse a plan with something left out, and a target without anything to solve for."""
    if solve_for is not None:
        if solve_for not in _UNKNOWNS:
            raise ParameterError("solve_for", f"one of {', '.join(_UNKNOWNS)}", solve_for)
        if (solve_for == "epsilon") != (epsilon is None):
            verb = "left out" if solve_for == "epsilon" else "given"
            raise ParameterError("epsilon", f"{verb} when solving for {solve_for}", epsilon)
        if target_rmse is None and target_rank_error is None:
            raise ParameterError("target_rmse", f"given when solving for {solve_for}", None)
        return
    for name, target in (("target_rmse", target_rmse), ("target_rank_error", target_rank_error)):
        if target is not None:
            raise ParameterError(name, "given together with --solve-for epsilon, users or trusted", target)
    for name, choice in (("users", users), ("trusted", trusted), ("epsilon", epsilon)):
        if choice is None:
            raise ParameterError(name, f"given, or found with --solve-for {name}", None)


def _refuse(kind: str, foreign: dict[str, Any]) -> None:
    """Refuse options that are about another kind of study."""
    for name, choice in foreign.items():
        if choice is not None:
            raise ParameterError(name, f"left out of a plan of {kind}", choice)


def _quantiles(at: str | None, more: list[str] | None) -> tuple[float, ...]:
    asked, unknown = asked_quantiles(None if at is None else [at], more or [])
    if unknown:
        raise ParameterError("at", "quantiles such as 0.95, 95% or p95", unknown[0])
    return asked


def _found(made: Plan, solve_for: str, target_rmse: float | None, target_rank_error: float | None) -> str:
    value = {
        "epsilon": f"ε = {made.privacy.epsilon}",
        "users": f"{made.n_users:,} users",
        "trusted": f"{made.n_trusted:,} opt-ins ({percent(made.trusted_fraction)})",
    }[solve_for]
    target = given(target_rmse or 0.0) if target_rank_error is None else f"{percent(target_rank_error)} of rank"
    return f"{value} gives a typical error within {target}.\n"
