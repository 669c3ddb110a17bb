"""``hybriddp plan``: what a study would give, and what a wanted error takes, before anything is collected."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from hybriddp.cli.flags import in_options
from hybriddp.cli.numbers import Share, amount, decimal, share
from hybriddp.cli.numbers import users as parse_users
from hybriddp.cli.screen import console, say, wrap
from hybriddp.cli.targets import check_targets, write_page
from hybriddp.cli.waiting import waiting
from hybriddp.errors import ParameterError
from hybriddp.planning import Plan, plan, solve
from hybriddp.planning.evaluate import OURS
from hybriddp.planning.page import (
    BOUNDS_HEADINGS,
    DIFFERENCE_HEADINGS,
    EPSILON_HEADINGS,
    HEADINGS,
    SINGLE,
    bounds_cells,
    cells,
    clipping_words,
    difference_cells,
    epsilon_cells,
)
from hybriddp.planning.words import DIFFERING, details, given, headline
from hybriddp.wording import percent

_UNKNOWNS = {"epsilon": "epsilon", "users": "n_users", "trusted": "trusted_fraction"}


def make_plan(
    bounds: Annotated[tuple[float, float], typer.Option(help="The public range of a value: 0 250,000.", parser=amount)],
    users: Annotated[int | None, typer.Option(help="How many users: 252,540.", parser=parse_users)] = None,
    trusted: Annotated[
        Share | None, typer.Option(help="Who would trust the curator: 1%, 0.01 or 2,500 users.", parser=share)
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Privacy promised to everybody, from 0.01 to 20.", parser=decimal)
    ] = None,
    sd: Annotated[
        float | None,
        typer.Option(help="How much values vary. Not known? Best and worst case are shown.", parser=amount),
    ] = None,
    sd_at_most: Annotated[
        float | None,
        typer.Option(help="Public knowledge that values vary by no more; the study will rely on it.", parser=amount),
    ] = None,
    mean: Annotated[
        float | None, typer.Option(help="A rough guess of the mean: with --sd, what bounds clip.", parser=amount)
    ] = None,
    mean_gap: Annotated[
        float, typer.Option(help="By how much the mean of those who trust would be higher.", parser=amount)
    ] = 0.0,
    delta: Annotated[str, typer.Option(help="0, or a small number for Gaussian noise.", parser=decimal)] = "0",
    solve_for: Annotated[str | None, typer.Option(help="Find this: epsilon, users or trusted.")] = None,
    target_rmse: Annotated[
        float | None, typer.Option(help="The typical error that would be fine, with --solve-for.", parser=amount)
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Also the paper's estimators, with its Laplace noise.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Write a picture here (.png, .svg, .pdf).")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with everything here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Say what a study would give, before a single value is collected.

    The answer comes first, in three lines: what you get, whether it is worth it, and what would change it.

    With --solve-for and --target-rmse: the smallest ε, number of users or share of opt-ins that gives an error as small
    as wanted.
    """
    check_targets(plot, html)
    others: dict[str, Any] = {
        "bounds": bounds,
        "sd": sd,
        "sd_at_most": sd_at_most,
        "mean": mean,
        "mean_gap": mean_gap,
        "delta": delta,
    }
    known = {"n_users": users, "trusted_fraction": _fraction(trusted, users), "epsilon": epsilon}
    with waiting("planning"):
        made, found = _make(known, others, solve_for, target_rmse)
        answer, lines = headline(made), [*details(made), DIFFERING]
        tables = [_epsilons(made), _bounds(made), _options(made), _differences(made)]
        if plot is not None:
            made.plot(plot)
        if html is not None:
            write_page(html, made.to_html())
    if as_json:
        typer.echo(json.dumps({"solved": found, **made.to_dict()}, indent=2))
        return
    if found is not None:
        say(_answer(made, found, target_rmse), bold=True)
    for line in map(in_options, answer):
        lead, _, rest = line.partition(": ")
        typer.echo(wrap(line).replace(f"{lead}:", typer.style(f"{lead}:", bold=True), 1) if rest else line)
    screen = console()
    for table in [*tables, *([_papers(made)] if paper else [])]:
        screen.print(table)
    say("\n" + "\n".join(lines))
    for written in (plot, html):
        if written is not None:
            say(f"Written: {written}")


def _fraction(trusted: Share | None, users: int | None) -> float | None:
    if trusted is None:
        return None
    if trusted.fraction is None and users is None:
        raise ParameterError("trusted", "a share such as 0.2% when --users is not given", trusted.count)
    return trusted.of(users or 0, "trusted")


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


def _answer(made: Plan, found: str, target: float | None) -> str:
    value = {
        "epsilon": f"ε = {made.privacy.epsilon}",
        "n_users": f"{made.n_users:,} users",
        "trusted_fraction": f"{made.n_trusted:,} opt-ins ({percent(made.trusted_fraction)})",
    }[found]
    return f"{value} gives a typical error within {given(target or 0.0)}.\n"


def _new(title: str, caption: str, headings: Sequence[str]) -> Table:
    table = Table(
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        caption=caption,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
    )
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="right" if i else "left", no_wrap=i == 0)
    return table


def _epsilons(made: Plan) -> Table:
    table = _new("What ε costs", "guessed right at most: between two candidates, by whoever sees it.", EPSILON_HEADINGS)
    for row in made.epsilon_choices:
        table.add_row(*epsilon_cells(row), style="bold green" if row.epsilon == made.privacy.epsilon else None)
    return table


def _bounds(made: Plan) -> Table:
    table = _new("What bounds cost", clipping_words(made), BOUNDS_HEADINGS)
    for row in made.bounds_choices:
        table.add_row(*bounds_cells(row), style="bold green" if row.bounds == made.bounds else None)
    return table


def _options(made: Plan) -> Table:
    table = _new(
        "Either group alone, and both, with one-byte reports",
        "error: typical (root mean squared). noise: its share of the squared error.\n"
        "R, r: squared error of the better, the worse of trusted only and everybody local over this one's.",
        HEADINGS,
    )
    for name in SINGLE:
        table.add_row(*cells(made[name]), style="bold green" if name == OURS else None)
    return table


def _papers(made: Plan) -> Table:
    words = "R, r: over the paper's own trusted only and everybody local, with Laplace noise too."
    table = _new("The paper's estimators, with Laplace noise for both groups", words, HEADINGS)
    for option in made.papers:
        table.add_row(*cells(option))
    return table


def _differences(made: Plan) -> Table:
    words = "all with one-byte reports; known variance: the paper's weight."
    table = _new("Typical errors if those who trust are different", words, DIFFERENCE_HEADINGS)
    for row in made.differences:
        table.add_row(*difference_cells(row))
    return table
