"""Differential privacy for people who trust you and people who do not, in one answer.

Exit codes: 0 done, 1 an optional library is missing, 2 wrong usage, 3 refused for privacy, 4 the data cannot be used.
"""

import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from hybriddp import __version__
from hybriddp.cli import (
    amplify,
    channel,
    crowd,
    demo,
    figures,
    frequencies,
    heavy_hitters,
    kmeans,
    ledger,
    mean,
    plan,
    quantiles,
    randomize,
    serve,
    show,
    simulate,
    tokens,
)
from hybriddp.cli.terminal import in_options, options_of, wrap
from hybriddp.errors import HybridDPError

__all__ = ["app", "main"]

app = typer.Typer(
    name="hybriddp",
    help=__doc__,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # paragraphs are wrapped anew
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"hybriddp {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the program as a whole."""


app.command(name="demo")(demo.demo)
app.command(name="plan")(plan.make_plan)
app.command(name="simulate")(simulate.run_simulation)
app.command(name="mean")(mean.mean)
app.command(name="quantiles")(quantiles.quantiles)
app.command(name="frequencies")(frequencies.frequencies)
app.command(name="heavy-hitters")(heavy_hitters.heavy_hitters)
app.command(name="kmeans")(kmeans.kmeans)
app.command(name="show")(show.show)
app.add_typer(ledger.app)
app.command(name="amplify")(amplify.run_amplify)
app.command(name="channel")(channel.channel)
app.command(name="randomize")(randomize.randomize)
app.command(name="run-crowd")(crowd.run_crowd)
app.command(name="figures")(figures.figures)
app.command(name="serve")(serve.serve)
app.add_typer(tokens.app)


def main() -> None:
    """Run the command line; an error of hybriddp ends it with the exit code of its class."""
    try:
        app()
    except HybridDPError as error:
        words = in_options(str(error), options_of(app, *sys.argv[1:]))
        typer.secho(wrap(f"Error: {words}"), err=True, fg=typer.colors.RED)
        sys.exit(error.exit_code)
    except Exception as error:
        # What a library says may quote somebody's value, and so may a traceback: where it happened is told, no more.
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = (
            f"{type(error).__module__}.{type(error).__qualname__} in {at.name}, {Path(at.filename).name}:{at.lineno}"
        )
        typer.secho(wrap(f"Error: something unexpected went wrong ({where})."), err=True, fg=typer.colors.RED)
        sys.exit(1)
