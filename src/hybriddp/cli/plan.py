"""``hybriddp plan``: what a study would give, and what a wanted error takes, before anything is collected."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from hybriddp.cli.numbers import number
from hybriddp.cli.targets import check_targets, write_page
from hybriddp.cli.waiting import waiting
from hybriddp.errors import ParameterError
from hybriddp.planning import Plan, differences, plan, solve
from hybriddp.planning.page import HEADINGS, cells, page
from hybriddp.planning.plan import readable
from hybriddp.planning.words import differing, percent

_UNKNOWNS = {"epsilon": "epsilon", "users": "n_users", "trusted": "trusted_fraction"}


def make_plan(
    bounds: Annotated[tuple[float, float], typer.Option(help="The public range of a value.")],
    users: Annotated[float | None, typer.Option(help="How many users: 252,540.", parser=number)] = None,
    trusted: Annotated[
        float | None, typer.Option(help="The share who would trust the curator: 1% or 0.01.", parser=number)
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="Privacy promised to everybody, from 0.01 to 20.")] = None,
    sd: Annotated[
        float | None,
        typer.Option(help="How much values vary. Not known? Best and worst case are shown.", parser=number),
    ] = None,
    mean: Annotated[
        float | None, typer.Option(help="A rough guess of the mean; matters where noise is large.", parser=number)
    ] = None,
    mean_gap: Annotated[
        float, typer.Option(help="By how much the mean of those who trust would be higher.", parser=number)
    ] = 0.0,
    delta: Annotated[str, typer.Option(help="0, or a small number for Gaussian noise.")] = "0",
    solve_for: Annotated[str | None, typer.Option(help="Find this: epsilon, users or trusted.")] = None,
    target_rmse: Annotated[
        float | None, typer.Option(help="The typical error that would be fine, with --solve-for.", parser=number)
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture here (.png, .svg, .pdf).")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with everything here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Say what a study would give, before a single value is collected.

    With --solve-for and --target-rmse: the smallest ε, number of users or share of opt-ins that gives an error as small
    as wanted.
    """
    check_targets(plot, html)
    others: dict[str, Any] = {"bounds": bounds, "sd": sd, "mean": mean, "mean_gap": mean_gap, "delta": delta}
    known = {"n_users": _whole(users), "trusted_fraction": trusted, "epsilon": epsilon}
    with waiting("planning"):
        made, found = _make(known, others, solve_for, target_rmse)
        story, rows = made.explain(), differences(made)
        if plot is not None:
            made.plot(plot)
        if html is not None:
            write_page(html, page(made))
    if as_json:
        typer.echo(json.dumps({"solved": found, **made.to_dict()}, indent=2))
        return
    console = Console(highlight=False)
    if found is not None:
        console.print(_answer(made, found, target_rmse), style="bold", soft_wrap=True)
    console.print(story, soft_wrap=True)
    console.print(_options(made))
    console.print(_differences(rows))
    console.print(differing(), soft_wrap=True)
    for written in (plot, html):
        if written is not None:
            typer.echo(f"Written: {written}")


def _make(
    known: dict[str, Any], others: dict[str, Any], solve_for: str | None, target: float | None
) -> tuple[Plan, str | None]:
    """The plan, and the name of what was solved for."""
    if solve_for is None:
        if target is not None:
            raise ParameterError("target_rmse", "given together with --solve-for epsilon, users or trusted", target)
        for option, name in (("users", "n_users"), ("trusted", "trusted_fraction"), ("epsilon", "epsilon")):
            if known[name] is None:
                raise ParameterError(option, f"given, or found with --solve-for {option}", None)
        return plan(**known, **others), None
    if solve_for not in _UNKNOWNS:
        raise ParameterError("solve_for", f"one of {', '.join(_UNKNOWNS)}", solve_for)
    unknown = _UNKNOWNS[solve_for]
    return solve(for_=unknown, target_rmse=target, **known, **others).plan, unknown


def _whole(users: float | None) -> int | None:
    if users is None:
        return None
    if users != int(users):
        raise ParameterError("users", "a whole number", users)
    return int(users)


def _answer(made: Plan, found: str, target: float | None) -> str:
    value = {
        "epsilon": f"ε = {made.privacy.epsilon}",
        "n_users": f"{made.n_users:,} users",
        "trusted_fraction": f"{made.n_trusted:,} opt-ins ({percent(made.trusted_fraction)})",
    }[found]
    return f"{value} gives a typical error within {readable(target or 0.0)}.\n"


def _options(made: Plan) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        title="Every estimator: the paper's with Laplace noise, ours with its own channel",
        title_justify="left",
        caption="error: typical (root mean squared). noise: its share of the squared error.\n"
        "R, r: squared error of the better, the worse single world over this one's.",
        caption_justify="left",
        padding=(0, 1),
    )
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading else "left", no_wrap=not heading)
    for option in made.options:
        table.add_row(*cells(option), style="bold green" if option.name == made.options[-1].name else None)
    return table


def _differences(rows: Any) -> Table:  # noqa: ANN401
    table = Table(
        title="Typical errors if those who trust are different",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 0),
    )
    for heading in ("mean gap", "variances", "trusted only", "everybody local", "known variance", "ours"):
        table.add_column(heading, justify="right")
    for row in rows:
        errors = (row.trusted_only, row.full_local, row.known_variance, row.adaptive)
        table.add_row(readable(row.mean_gap), f"× {row.variance_ratio:g}", *(readable(error) for error in errors))
    return table
