"""``hybriddp amplify``: the two tiers of protection of a study, in a table and in words."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hybriddp.amplification import amplify
from hybriddp.amplification.guarantee import Guarantee
from hybriddp.cli import options
from hybriddp.cli.options import option
from hybriddp.cli.terminal import check_targets, print_table, say, say_written
from hybriddp.errors import ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.privacy import Privacy, outright

_FIXED_ONLY = (
    "This is for a weight that was fixed beforehand: study.estimate(…, weight=…) in Python. hybriddp mean takes the "
    "adaptive weight, which depends on the reports: for its answer only the first tier holds."
)


def run_amplify(
    bounds: options.Bounds,
    users: Annotated[int, option("Number of users: 252,540.", parser=options.users)],
    trusted: options.Trusted,
    epsilon: options.Epsilon,
    weight: Annotated[str, option("A fixed number, known-variance, privacy or naive.")],
    delta: Annotated[str, option("The δ to allow for.", parser=options.decimal)] = "0",
    sd: Annotated[float | None, option("Public standard deviation, for known-variance.", parser=options.amount)] = None,
    colluding: Annotated[
        options.UserShare,
        option("How many local users collude: 50% or 1,000.", metavar="<share>", parser=options.user_share),
    ] = "0",  # type: ignore[assignment]  # read by the parser
    step: Annotated[
        str | None,
        option("Step that the estimate is rounded to; as in `mean` if not given.", parser=options.step),
    ] = None,
    also_published: Annotated[
        list[str] | None, option("What else is published, such as 'group means'; may be repeated.")
    ] = None,
    plot: Annotated[
        Path | None, option("Write a map over trusted fractions and collusion to this file (.png, …).")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Show how little somebody learns who sees only the published estimate, and what that rests on.

    The first tier is the ε that everybody is promised, whoever looks. The second tier is smaller, and holds only
    against somebody who sees the published estimate and nothing else.
    """
    check_targets(plot)
    study = MeanStudy("study", bounds=bounds, epsilon=epsilon)
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
    print_table(
        ("", "who sees everything", "who sees the estimate only", "times less"),
        [
            _row("trusted users", found.unamplified, found.trusted),
            _row("local users", found.unamplified, found.local),
        ],
        title="How much a value can show",
    )
    say(str(found))
    say(_FIXED_ONLY)
    say_written(plot)


def _colluding(part: options.UserShare, n_local: int) -> int:
    """Return the number of colluding local users, rounded up."""
    return math.ceil(part.fraction * n_local) if part.fraction is not None else part.count or 0


def _weight(text: str) -> float | str:
    try:
        return options.number(text)
    except typer.BadParameter:
        return text


def _row(name: str, promised: Guarantee, group: Guarantee) -> tuple[str, ...]:
    times = promised.epsilon / group.epsilon if group.epsilon else float("inf")
    return name, f"ε = {promised.epsilon:g}", str(group), f"{times:,.3g}"
