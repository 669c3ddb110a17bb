"""``hybriddp plan``: what a study would give, and what a wanted error takes, before anything is collected."""

import json
from typing import Annotated, Any

import typer

from hybriddp.cli import options
from hybriddp.cli.options import option
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
from hybriddp.reporting.wording import percent

_UNKNOWNS = {"epsilon": "epsilon", "users": "n_users", "trusted": "trusted_fraction"}


def make_plan(
    bounds: options.Bounds,
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
    mean_gap: Annotated[float, option("Mean of trusted users minus mean of local users.", parser=options.amount)] = 0.0,
    delta: options.Delta = "0",
    solve_for: Annotated[str | None, option("Find the smallest epsilon, users or trusted.")] = None,
    target_rmse: Annotated[
        float | None, option("Root mean squared error to reach, with --solve-for.", parser=options.amount)
    ] = None,
    paper: Annotated[bool, option("Show the paper's estimators, too.", "--paper")] = False,
    plot: options.Plot = None,
    html: options.Html = None,
    as_json: options.AsJson = False,
) -> None:
    """Predict the error of a study, before a single value is collected.

    The answer comes first, in three lines: what you get, whether it is worth it, and what would change it.

    With --solve-for and --target-rmse: the smallest ε, number of users or fraction of trusted users that reaches an
    error.
    """
    check_targets(plot, html)
    others = {"bounds": bounds, "sd": sd, "sd_at_most": sd_at_most, "mean": mean, "mean_gap": mean_gap, "delta": delta}
    known = {"n_users": users, "trusted_fraction": fraction_of(trusted, users), "epsilon": epsilon}
    with waiting("planning"):
        made, found = _make(known, others, solve_for, target_rmse)
        answer, lines = headline(made), [*details(made), DIFFERING]
        epsilons, choices, rows = made.epsilon_choices, made.bounds_choices, made.differences
        if plot is not None:
            made.plot(plot)
        if html is not None:
            write_text(html, made.to_html())
    if as_json:
        typer.echo(json.dumps({"solved": found, **made.to_dict()}, indent=2))
        return
    if found is not None:
        say(_answer(made, found, target_rmse), bold=True)
    for line in map(in_options, answer):
        lead, _, rest = line.partition(": ")
        typer.echo(wrap(line).replace(f"{lead}:", typer.style(f"{lead}:", bold=True), 1) if rest else line)
    print_table(
        EPSILON_HEADINGS,
        [epsilon_cells(row) for row in epsilons],
        title="\nWhat ε costs",
        caption="guessed right at most: between two candidates, by whoever sees it.",
        bold=[row.epsilon == made.privacy.epsilon for row in epsilons],
    )
    print_table(
        BOUNDS_HEADINGS,
        [bounds_cells(row) for row in choices],
        title="\nWhat bounds cost",
        caption=clipping_words(made),
        bold=[row.bounds == made.bounds for row in choices],
    )
    print_table(
        HEADINGS,
        [cells(made[name]) for name in SINGLE],
        title="\nEither group alone, and both, with one-byte reports",
        caption="error: typical (root mean squared). noise: its fraction of the squared error.\n"
        "R, r: squared error of the better, the worse of trusted only and everybody local over this one's.",
        bold=[name == OURS for name in SINGLE],
    )
    print_table(
        DIFFERENCE_HEADINGS,
        [difference_cells(row) for row in rows],
        title="\nTypical errors if those who trust are different",
        caption="all with one-byte reports; known variance: the paper's weight.",
    )
    if paper:
        print_table(
            HEADINGS,
            [cells(option) for option in made.papers],
            title="\nThe paper's estimators, with Laplace noise for both groups",
            caption="R, r: over the paper's own trusted only and everybody local, with Laplace noise too.",
        )
    say("\n" + "\n".join(lines))
    say_written(plot, html)


def fraction_of(trusted: options.UserShare | None, users: int | None) -> float | None:
    """The fraction of users who trust, as the option says; None if it does not."""
    if trusted is None:
        return None
    if trusted.fraction is None and users is None:
        raise ParameterError("trusted", "a share of the users such as 0.2% when --users is not given", trusted.count)
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
