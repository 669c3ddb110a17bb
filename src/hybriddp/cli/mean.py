"""``hybriddp mean``: one answer from the two groups of a file, or of several, or one per part of the users."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from hybriddp.cli.ledger import ledger_for_study
from hybriddp.cli.targets import check_targets, write_page
from hybriddp.cli.waiting import waiting
from hybriddp.errors import ParameterError
from hybriddp.mean import Estimate, MeanStudy
from hybriddp.mean.page import page
from hybriddp.mean.story import parts_table
from hybriddp.tables import Summaries, summarize
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
    ledger: Annotated[Path, typer.Option(help="Ledger file with its own budget; created for this study if missing.")],
    name: Annotated[str | None, typer.Option(help="What the values are; the column's name if not given.")] = None,
    delta: Annotated[str, typer.Option(help="0, or a small number for Gaussian noise.")] = "0",
    group: Annotated[str | None, typer.Option(help="A column for one mean per group, with --keys.")] = None,
    keys: Annotated[str | None, typer.Option(help="The public keys of the groups: DE,FR,IT.")] = None,
    single_group: Annotated[bool, typer.Option(help="Let one world answer alone where the other is empty.")] = False,
    engine: Annotated[str, typer.Option(help=f"What reads the files: {', '.join(ENGINES)}.")] = "polars",
    plot: Annotated[Path | None, typer.Option(help="Write a picture here (.png, .svg, .pdf).")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with table, picture and story here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Estimate a mean from trusted users' values and local users' reports, once.

    Every release is written into the ledger before it is made. A second one about the same users is refused (exit
    code 3).
    """
    study = MeanStudy(name or value, bounds=bounds, epsilon=epsilon, delta=delta)
    public = _keys(group, keys)
    check_targets(plot, html)
    with waiting("counting") as progress:
        if group is None:
            one = summarize(files, study, value=value, report=report, engine=engine, progress=progress)
        else:
            many = summarize(
                files, study, value=value, report=report, group=group, keys=public, engine=engine, progress=progress
            )
    book = ledger_for_study(ledger, study.privacy)
    options: dict[str, Any] = {"single_group": single_group, "ledger": book}
    if group is None:
        estimate = study.estimate(trusted=one.trusted, local=one.local, **options)
        estimates, published = [estimate], estimate.to_dict()
        left_out = _left_out([one])
    else:
        parts = study.estimate_parts(group, many, **options)
        estimates = list(parts.values())
        published = {"by": group, "parts": [{"key": key, "estimate": part.to_dict()} for key, part in parts.items()]}
        left_out = f"{_left_out(many.values())}; {many.other:,} rows have none of the keys"
    # The answer has been paid for: it is shown before anything else can fail.
    if as_json:
        typer.echo(json.dumps(published, indent=2))
    else:
        _show(estimates)
        typer.echo(f"Left out: {left_out}.")
    _write(estimates, plot, html)
    for written in (ledger, plot, html):
        if written is not None and not as_json:
            typer.echo(f"Written: {written}")


def _keys(group: str | None, keys: str | None) -> list[str]:
    """The keys between the commas."""
    if (group is None) != (keys is None):
        raise ParameterError("keys", "given exactly if --group is: they are public, never read from the data", keys)
    texts = [key.strip() for key in (keys or "").split(",")]
    if keys is not None and not all(texts):
        raise ParameterError("keys", "the keys of the groups, with commas between them", keys)
    return texts


def _left_out(summaries: Iterable[Summaries]) -> str:
    no_value = sum(trusted.rejected for trusted, _ in summaries if trusted)
    no_code = sum(local.rejected for _, local in summaries if local)
    return f"{no_value:,} rows without a value or a report, {no_code:,} reports that are no codes"


def _write(estimates: Sequence[Estimate], plot: Path | None, html: Path | None) -> None:
    if plot is not None:
        from hybriddp.figures.estimate import draw

        draw(estimates, path=plot)
    if html is not None:
        write_page(html, page(estimates))


def _show(estimates: Sequence[Estimate]) -> None:
    if len(estimates) == 1:
        typer.echo(estimates[0].explain())
        return
    Console(highlight=False).print(parts_table(estimates))
    typer.echo(str(estimates[0].privacy))
    users = estimates[0].study.users
    typer.echo(f"Who has which {users.by if users else 'key'} is public; nobody is in two parts.")
