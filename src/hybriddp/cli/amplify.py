"""``hybriddp amplify``: the two tiers of protection of a study, in a table and in words."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from hybriddp.amplification import Amplified, amplify
from hybriddp.cli.numbers import Share, amount, decimal, number, share
from hybriddp.cli.numbers import step as parse_step
from hybriddp.cli.numbers import users as parse_users
from hybriddp.cli.screen import console, say
from hybriddp.cli.targets import check_targets
from hybriddp.errors import ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.privacy import Privacy, outright

_FIXED_ONLY = (
    "This is for a weight that was fixed beforehand: study.estimate(…, weight=…) in Python. hybriddp mean takes the "
    "adaptive weight, which depends on the reports: for its answer only what holds against who sees everything holds."
)


def run_amplify(
    bounds: Annotated[tuple[float, float], typer.Option(help="The public range of a value.", parser=amount)],
    users: Annotated[int, typer.Option(help="How many users: 252,540.", parser=parse_users)],
    trusted: Annotated[Share, typer.Option(help="Who trusts the curator: 1%, 0.01 or 2,500 users.", parser=share)],
    epsilon: Annotated[str, typer.Option(help="Privacy promised to everybody, from 0.01 to 20.", parser=decimal)],
    weight: Annotated[str, typer.Option(help="A fixed number, known-variance, privacy or naive.")],
    delta: Annotated[str, typer.Option(help="The δ that may be allowed for.", parser=decimal)] = "0",
    sd: Annotated[float | None, typer.Option(help="Public, for known-variance.", parser=amount)] = None,
    colluding: Annotated[
        Share, typer.Option(help="How many local users pool what they know: 50% or 1,000.", parser=share)
    ] = "0",  # type: ignore[assignment]  # read by the parser
    channel: Annotated[str, typer.Option(help="window (as in hybriddp mean) or laplace (the paper's).")] = "window",
    step: Annotated[
        str | None,
        typer.Option(help="What the estimate is rounded to; that of `mean` if not given.", parser=parse_step),
    ] = None,
    also_published: Annotated[
        list[str] | None, typer.Option(help="What else is published, such as 'group means'; may be repeated.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a map over shares and collusion here (.png, …).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Say what somebody learns who sees only the published estimate, and what it rests on.

    The first tier is what everybody is promised, whoever looks. The second tier is smaller, and holds only against who
    sees the published estimate and nothing else.
    """
    check_targets(plot, None)
    study = MeanStudy("study", bounds=bounds, epsilon=epsilon, channel=channel)
    n, allowed = users, float(Privacy.promised(epsilon=epsilon, delta=delta).exact_delta)
    if allowed * n >= 1:
        raise ParameterError("delta", f"far below 1 over the number of users, {n:,}", delta, remedy=outright(allowed))
    fraction = trusted.of(n, "trusted")
    n_local = n - round(fraction * n)
    found = amplify(
        study,
        n_users=n,
        trusted_fraction=fraction,
        weight=_weight(weight),
        sd=sd,
        colluding_local=_colluding(colluding, n_local),
        delta=allowed,
        step=step,
        also_published=tuple(also_published or ()),
    )
    if plot is not None:
        from hybriddp.figures.amplification import draw

        draw(study, n_users=n, weight=_weight(weight), sd=sd, delta=allowed, path=plot)
    if as_json:
        published = {**asdict(found), "everyone": asdict(found.everyone)}
        published["assumptions"] = list(found.assumptions.sentences())
        published["resolution"] = {"exact": str(found.resolution), "approximate": float(found.resolution)}
        typer.echo(json.dumps(published, indent=2))
        return
    console().print(_table(found))
    say(str(found))
    say(_FIXED_ONLY)
    if plot is not None:
        say(f"Written: {plot}")


def _colluding(part: Share, n_local: int) -> int:
    """A share of the local users, rounded up, if it is a percentage or a fraction; a number of them if not."""
    return math.ceil(part.fraction * n_local) if part.fraction is not None else part.count or 0


def _weight(text: str) -> float | str:
    try:
        return number(text)
    except typer.BadParameter:
        return text


def _table(found: Amplified) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title="How much a value can show", title_justify="left")
    for heading in ("", "who sees everything", "who sees the estimate only", "times less"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, group in (("trusted users", found.trusted), ("local users", found.local)):
        times = found.unamplified.epsilon / group.epsilon if group.epsilon else float("inf")
        table.add_row(name, f"ε = {found.unamplified.epsilon:g}", str(group), f"{times:,.3g}")
    return table
