"""``hybriddp ledger``: create a budget, see what is left of it, check its file."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hybriddp.cli import options
from hybriddp.cli.options import option
from hybriddp.cli.terminal import say
from hybriddp.errors import ParameterError
from hybriddp.privacy import LARGEST_DELTA, Privacy, outright
from hybriddp.release import Ledger, check_ledger, repair_ledger
from hybriddp.release.accountant import ACCOUNTANTS

app = typer.Typer(
    name="ledger",
    rich_markup_mode="markdown",
    help=(
        "Create a privacy budget, show what is left of it, check its file.\n\n"
        "Other commands spend from it with --ledger PATH: what a user has spent adds up over all of them."
    ),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_Path = Annotated[Path, typer.Argument(metavar="PATH", help="Ledger file.")]


@app.command()
def create(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="New ledger file.")],
    epsilon: Annotated[str, option("Budget of every user in total, from 0.01 to 1000.", parser=options.decimal)],
    delta: options.Delta = "0",
    accountant: Annotated[str, option(f"How costs add up: {', '.join(ACCOUNTANTS)}.")] = "basic",
) -> None:
    """Create a ledger with a budget, which cannot be changed later. An existing file is left alone (exit code 4)."""
    budget = Privacy.total(epsilon=epsilon, delta=delta)
    if budget.exact_delta > LARGEST_DELTA:
        words = f"at most {float(LARGEST_DELTA):g}, and far below 1 over the number of users"
        raise ParameterError("delta", words, delta, remedy=outright(float(budget.exact_delta)))
    ledger = Ledger.create(path, budget, accountant=accountant)
    say(f"Created: {path}")
    say(ledger.explain())


@app.command()
def show(
    path: _Path,
    latest: Annotated[int, option("Number of the latest events to list.", min=0)] = 20,
    as_json: Annotated[bool, option("Print the result as JSON, with all events.", "--json")] = False,
) -> None:
    """Show the budget, the latest events and what is left."""
    ledger = Ledger.open(path)
    if as_json:
        typer.echo(json.dumps(_as_dict(ledger), indent=2))
    else:
        say(ledger.explain(latest=latest))


@app.command()
def verify(
    path: _Path,
    contains: Annotated[str | None, option("An earlier checksum of this ledger.")] = None,
    repair: Annotated[bool, option("Drop an incomplete last line.", "--repair")] = False,
) -> None:
    """Check that no line is missing or changed and that the events are within the budget (exit codes 4 and 3 if not).

    An incomplete last line belongs to a release that was never drawn, if a program stopped while writing it: --repair
    drops it and notes that it did. If the file was cut by something else, restore it from a copy instead.
    """
    if repair:
        repaired = repair_ledger(path)
        if repaired.dropped:
            say(f"Dropped, and noted: {repaired.dropped}")
        elif repaired.ended:
            say("The last line was complete but for its line break, which it has again: its event counts.")
        else:
            say("The last line is complete: nothing to do.")
    found = check_ledger(path, contains=contains)
    Ledger.open(path)  # refuses events that cost more than the budget
    say(f"{path}: {found.events:,} event{'s' * (found.events != 1)}, every line in its place, within the budget.")
    say(f"Checksum: {found.checksum}")
    say("Kept elsewhere, it shows later whether lines were cut off: --contains CHECKSUM.")


def _as_dict(ledger: Ledger) -> dict[str, Any]:
    """Budget, events, and for each group what is spent and left: as numbers, for reading, not for accounting."""
    groups = {}
    for who in ("trusted", "local"):
        spent, left = ledger.spent(who), ledger.remaining(who)
        groups[who] = {
            "spent": {"epsilon": float(spent.epsilon), "delta": float(spent.delta)},
            "left": {"epsilon": float(left.epsilon), "delta": float(left.delta)},
        }
    return {**ledger.to_dict(), "groups": groups}
