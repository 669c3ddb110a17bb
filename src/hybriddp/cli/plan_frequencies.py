"""``hybriddp plan-frequencies``: how long a list, and how large errors, before anything is collected."""

from typing import Annotated

import typer

from hybriddp.cli import options
from hybriddp.cli.options import option
from hybriddp.cli.terminal import check_targets, print_table, say, say_written
from hybriddp.planning import plan_frequencies
from hybriddp.planning.frequency_words import HEADINGS, cells

_LIKELY = 0.005  # items that are hardly ever listed are left out of the table


def make_frequency_plan(
    users: Annotated[int, option("Number of users: 252,540.", parser=options.users)],
    trusted: options.Trusted,
    epsilon: options.Epsilon,
    items: Annotated[int, option("Number of different items, about: 10,000.", parser=options.users)],
    slope: Annotated[float, option("Slope of Zipf's law; 0 if all are equally frequent.", parser=options.amount)] = 1.0,
    delta: Annotated[str, option("0 if the items are public; a small number if not.", parser=options.decimal)] = "0",
    plot: options.Plot = None,
    as_json: options.AsJson = False,
) -> None:
    """Predict how many items a study would list, and the errors of their shares, before an item is collected.

    With --delta 0 the items are public categories (`frequencies`); above 0 they are discovered (`heavy-hitters`).
    """
    check_targets(plot)
    made = plan_frequencies(
        n_users=users,
        trusted_fraction=trusted.of(users, "trusted"),
        epsilon=epsilon,
        delta=delta,
        n_items=items,
        slope=slope,
    )
    if plot is not None:
        made.plot(plot)
    if as_json:
        typer.echo(made.to_json())
        return
    say(made.explain())
    print_table(
        HEADINGS,
        [cells(row) for row in made.rows() if row.chance >= _LIKELY],
        caption="listed: how likely. error: typical, if it is listed; beside it\nthat of either group alone, asked the "
        "same.",
    )
    say_written(plot)
