"""``hybriddp mean``: one answer from the two groups of a file, or of several, or one per part of the users."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hybriddp.cli.ledger import ledger_for_study, tell_of_new
from hybriddp.cli.numbers import amount
from hybriddp.cli.numbers import decimal as written
from hybriddp.cli.screen import console, say
from hybriddp.cli.sources import Sources
from hybriddp.cli.targets import check_targets, write_page
from hybriddp.cli.text_options import Decimal, Encoding, Missing, Separator, Thousands, csv_format
from hybriddp.cli.waiting import waiting
from hybriddp.errors import ParameterError
from hybriddp.mean import Estimate, MeanStudy
from hybriddp.mean.diagnostics import words
from hybriddp.mean.page import page
from hybriddp.mean.story import parts_table
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.tables import GroupedSummaries, Summaries
from hybriddp.tables.chunks import ENGINES
from hybriddp.tables.mean.counting import REPEATED

SIMULATION = (
    "SIMULATION, NOT a private release: the reports of those who do not trust were made here, from their raw values."
)


def mean(
    bounds: Annotated[
        tuple[float, float], typer.Option(help="The public range of a value, chosen without looking.", parser=amount)
    ],
    epsilon: Annotated[str, typer.Option(help="Privacy promised to every user, from 0.01 to 20.", parser=written)],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Parquet, .csv, .tsv or .jsonl files with one row per user; * for many, or a folder of Parquet.",
        ),
    ] = None,
    value: Annotated[str | None, typer.Option(help="The column of raw values, of users who trust.")] = None,
    report: Annotated[str | None, typer.Option(help="The column of codes, of local users.")] = None,
    trusted_file: Annotated[
        list[str] | None, typer.Option(help="A file of trusted users, with --value; may be repeated.")
    ] = None,
    local_file: Annotated[
        list[str] | None, typer.Option(help="A file of local users, with --report; may be repeated.")
    ] = None,
    trusted_if: Annotated[
        str | None, typer.Option(help="The column that says who trusts: consent, or consent=yes.")
    ] = None,
    simulate_local: Annotated[
        bool, typer.Option("--simulate-local", help="Make the others' reports from their raw values, to try it out.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Make a simulation repeatable.")] = None,
    user: Annotated[
        str | None, typer.Option(help="The column that names users, if some may have several rows.")
    ] = None,
    repeated: Annotated[
        str, typer.Option(help=f"If a user has several rows: {' or '.join(REPEATED)} (keep that row).")
    ] = "refuse",
    ledger: Annotated[
        Path | None, typer.Option(help="Ledger file with its own budget; created for this study if missing.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the values are; the column's name if not given.")] = None,
    delta: Annotated[str, typer.Option(help="0, or a small number for Gaussian noise.", parser=written)] = "0",
    sd_at_most: Annotated[
        float | None,
        typer.Option(help="Public knowledge that values vary by no more: a narrower interval.", parser=amount),
    ] = None,
    group: Annotated[str | None, typer.Option(help="A column for one mean per group, with --keys.")] = None,
    keys: Annotated[str | None, typer.Option(help="The public keys of the groups: DE,FR,IT.")] = None,
    single_group: Annotated[
        bool, typer.Option("--single-group", help="Allow an estimate from one group if the other is empty.")
    ] = False,
    engine: Annotated[str, typer.Option(help=f"What reads Parquet: {', '.join(ENGINES)}.")] = "polars",
    separator: Separator = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    encoding: Encoding = None,
    missing: Missing = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture here (.png, .svg, .pdf).")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with table, picture and story here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="With --json: also what the curator has beside it, not rounded.")
    ] = False,
    diagnostics: Annotated[
        bool, typer.Option("--diagnostics", help="Tell the curator what was clamped and left out: not for publication.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count, check and show --diagnostics; spend and release nothing.")
    ] = False,
) -> None:
    """Estimate a mean from trusted users' values and local users' reports, once.

    Every release is written into the ledger before it is made. A second one about the same users is refused (exit
    code 3).
    """
    study = MeanStudy(_title(name, value), bounds=bounds, epsilon=epsilon, delta=delta, sd_at_most=sd_at_most)
    sources = Sources(
        files or [],
        trusted_file or [],
        local_file or [],
        value,
        report,
        trusted_if,
        simulate_local,
        seed,
        user,
        repeated,
        engine,
        csv_format(separator, decimal, thousands, encoding, missing),
        single_group,
    )
    _check_ledger(ledger, sources, dry_run=dry_run)
    public = _keys(group, keys)
    check_targets(plot, html)
    with waiting("counting") as progress:
        summaries = sources.summarize(study, group, public, progress)
    if diagnostics or dry_run:
        _diagnose(summaries)
    options: dict[str, Any] = {"single_group": single_group}
    new = ledger is not None and not ledger.exists()
    if simulate_local:
        options["random_state"] = np.random.default_rng(seed)
    elif dry_run:
        options["ledger"] = _copy(ledger, study.privacy)
    elif ledger is not None:
        options["ledger"] = ledger_for_study(ledger, study.privacy)
    if isinstance(summaries, Summaries):
        estimate = study.estimate(trusted=summaries.trusted, local=summaries.local, **options)
        estimates, published = [estimate], estimate.to_dict(full=full)
    else:
        parts = study.estimate_parts(summaries.by, summaries, **options)
        estimates = list(parts.values())
        published = {
            "by": group,
            "parts": [{"key": key, "estimate": part.to_dict(full=full)} for key, part in parts.items()],
        }
    if dry_run:  # what was computed is thrown away: it was there to be checked on its way
        typer.echo("Dry run: everything was checked. Nothing was spent, released or written.", err=True)
        return
    # The answer has been paid for: it is shown before anything else can fail.
    if as_json:
        typer.echo(json.dumps({"simulation": SIMULATION, **published} if simulate_local else published, indent=2))
    else:
        if simulate_local:
            say(SIMULATION, bold=True)
        _show(estimates)
    if ledger is not None and new:
        tell_of_new(ledger, study.privacy)
    _write(estimates, plot, html)
    if not as_json:
        _name_written(ledger, plot, html)


def _name_written(*targets: Path | None) -> None:
    for target in targets:
        if target is not None:
            say(f"Written: {target}")


def _title(name: str | None, value: str | None) -> str:
    if name is None and value is None:
        raise ParameterError("name", "given, since no --value names the study", None)
    return str(name or value)


def _check_ledger(ledger: Path | None, sources: Sources, *, dry_run: bool) -> None:
    """Raise `ParameterError` if there is a ledger and nothing to pay for, or the other way round."""
    if sources.simulated and ledger is not None:
        raise ParameterError("ledger", "left out: a simulation spends nothing", str(ledger))
    if ledger is None and sources.has_trusted and not sources.simulated and not dry_run:
        raise ParameterError("ledger", "given: what is released must be paid for", None)


def _copy(path: Path | None, privacy: Privacy) -> Ledger:
    """A ledger in memory with what the file says, in which nothing is spent for good."""
    return Ledger(privacy) if path is None or not path.exists() else Ledger.from_json(Ledger.open(path).to_json())


def _keys(group: str | None, keys: str | None) -> list[str]:
    """The keys between the commas."""
    if (group is None) != (keys is None):
        raise ParameterError("keys", "given exactly if --group is: they are public, never read from the data", keys)
    texts = [key.strip() for key in (keys or "").split(",")]
    if keys is not None and not all(texts):
        raise ParameterError("keys", "the keys of the groups, with commas between them", keys)
    return texts


def _diagnose(summaries: Summaries | GroupedSummaries) -> None:
    """Exact counts, for the curator's eyes: on standard error, so that they get into no file by mistake."""
    pairs = [summaries] if isinstance(summaries, Summaries) else list(summaries.values())
    say(words([pair.trusted for pair in pairs], [pair.local for pair in pairs]), err=True)
    if isinstance(summaries, GroupedSummaries):
        say(f"Rows that have none of the keys: {summaries.other:,}.", err=True)


def _write(estimates: Sequence[Estimate], plot: Path | None, html: Path | None) -> None:
    if plot is not None:
        from hybriddp.figures.estimate import draw

        draw(estimates, path=plot)
    if html is not None:
        write_page(html, page(estimates))


def _show(estimates: Sequence[Estimate]) -> None:
    if len(estimates) == 1:
        say(estimates[0].explain())
        return
    console().print(parts_table(estimates))
    say(str(estimates[0].privacy))
    users = estimates[0].study.users
    say(f"Who has which {users.by if users else 'key'} is public; nobody is in two parts.")
