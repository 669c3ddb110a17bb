"""``hybriddp mean``: one answer from the two groups of a file, or of several."""

from pathlib import Path
from typing import Annotated

import typer

from hybriddp.cli.waiting import waiting
from hybriddp.mean import MeanStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.tables import summarize
from hybriddp.tables.engines import ENGINES


def mean(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help=".parquet, .csv or .jsonl files with one row per user; * for many."),
    ],
    value: Annotated[str, typer.Option(help="The column of raw values, filled in for trusted users.")],
    report: Annotated[str, typer.Option(help="The column of codes, filled in for local users.")],
    bounds: Annotated[tuple[float, float], typer.Option(help="The public range of a value, chosen without looking.")],
    epsilon: Annotated[str, typer.Option(help="Privacy promised to every user, from 0.01 to 20.")],
    ledger: Annotated[Path, typer.Option(help="The book of what has been spent; made if it is not there.")],
    name: Annotated[str | None, typer.Option(help="What the values are; the column's name if not given.")] = None,
    delta: Annotated[str, typer.Option(help="0, or a small number for Gaussian noise.")] = "0",
    engine: Annotated[str, typer.Option(help=f"What reads the files: {', '.join(ENGINES)}.")] = "polars",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Estimate a mean from trusted users' values and local users' reports, once.

    Every release is written into the ledger before it is made. A second one about the same users is refused (exit
    code 3).
    """
    study = MeanStudy(name or value, bounds=bounds, epsilon=epsilon, delta=delta)
    with waiting("counting") as progress:
        trusted, local = summarize(files, study, value=value, report=report, engine=engine, progress=progress)
    book = Ledger(Privacy(epsilon=epsilon, delta=delta), path=ledger)
    estimate = study.estimate(trusted=trusted, local=local, ledger=book)
    if as_json:
        typer.echo(estimate.to_json())
        return
    typer.echo(estimate.explain())
    no_value, no_code = trusted.rejected if trusted else 0, local.rejected if local else 0
    typer.echo(f"Left out: {no_value:,} rows without a value or a report, {no_code:,} reports that are no codes.")
    typer.echo(f"Written into {ledger}.")
