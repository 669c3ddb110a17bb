"""``hybriddp quantiles``: quantiles of a number from the two groups of a file, of several, or per part of the users."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from hybriddp.cli import options, releasing, sources
from hybriddp.cli.keeping import Account
from hybriddp.cli.options import option
from hybriddp.cli.releasing import Targets, View
from hybriddp.cli.saved_quantiles import answer_again
from hybriddp.cli.sources import Sources, public_keys, study_title
from hybriddp.cli.terminal import print_wide, say
from hybriddp.distribution import DistributionEstimate, DistributionStudy
from hybriddp.distribution.explain import shown
from hybriddp.distribution.quantile import USUAL
from hybriddp.errors import DataError, ParameterError
from hybriddp.mean.explain import diagnostics as value_diagnostics
from hybriddp.study.page import page, parts_table
from hybriddp.tables import CsvFormat

Scale = Annotated[
    str | None, option("Where bins are dense: equal (everywhere alike) or log (towards the lower bound).")
]
Kappa = Annotated[
    float | None,
    option("With --scale log: how much denser at the lower bound; 1,000 by default.", parser=options.amount),
]
EdgesFile = Annotated[Path | None, option("File with 255 public edges of bins, one per line, instead of --scale.")]


def quantiles(
    files: sources.Files = None,
    bounds: Annotated[
        tuple[float, float] | None,
        option("Public range of values, chosen without looking at the data.", parser=options.amount),
    ] = None,
    epsilon: Annotated[
        str | None, option("Privacy parameter ε of every user, from 0.01 to 20.", parser=options.decimal)
    ] = None,
    at: Annotated[
        list[str] | None, option("Quantiles to report: 0.5 0.95, 99.9% or p95. By default 0.5 0.9 0.95 0.99.")
    ] = None,
    saved: Annotated[
        Path | None, option("JSON of released quantiles, to ask for others --at, at no cost; no tables.", "--from")
    ] = None,
    scale: Scale = None,
    kappa: Kappa = None,
    edges_file: EdgesFile = None,
    groups_may_differ: Annotated[
        bool, option("Let each group count for its own users only: wider intervals.", "--groups-may-differ")
    ] = False,
    value: Annotated[str | None, option("Column of raw values, of trusted users.")] = None,
    report: sources.Report = None,
    trusted_file: sources.TrustedFile = None,
    local_file: sources.LocalFile = None,
    trusted_if: sources.TrustedIf = None,
    simulate_local: sources.SimulateLocal = False,
    seed: sources.Seed = None,
    user: sources.User = None,
    repeated: sources.Repeated = "refuse",
    ledger: releasing.LedgerFile = None,
    count: releasing.Count = "everybody",
    again: releasing.Again = False,
    name: Annotated[str | None, option("Name of the study; the column's if not given.")] = None,
    group: Annotated[str | None, option("Column for one answer per group, with --keys.")] = None,
    keys: sources.Keys = None,
    single_group: sources.SingleGroup = False,
    engine: sources.Engine = "polars",
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    plot: options.Plot = None,
    html: options.Html = None,
    as_json: options.AsJson = False,
    full: Annotated[bool, option("With --json: what each group says alone, too.", "--full")] = False,
    diagnostics: Annotated[
        bool, option("Show what was clamped and left out. Not for publication.", "--diagnostics")
    ] = False,
    dry_run: releasing.DryRun = False,
) -> None:
    """Estimate quantiles from trusted users' values and local users' reports, once.

    Every release is written into the ledger before it is made. A second one about the same users is refused (exit
    code 3); --from reads other quantiles out of the JSON of the first.
    """
    asked, tables = asked_quantiles(at, files or [])
    if saved is not None:
        others: dict[str, object] = {
            "files": tables,
            "trusted_file": trusted_file,
            "local_file": local_file,
            "ledger": ledger,
        }
        others |= {"plot": plot, "html": html, "dry_run": dry_run, "bounds": bounds, "epsilon": epsilon}
        answer_again(saved, asked, as_json=as_json, groups_may_differ=groups_may_differ, others=others)
        return
    if bounds is None or epsilon is None:
        missing_one = "bounds" if bounds is None else "epsilon"
        raise ParameterError(missing_one, "given: it is part of the study", None)
    study = DistributionStudy(
        study_title(name, value),
        bounds=bounds,
        epsilon=epsilon,
        scale=public_scale(scale, edges_file),
        kappa=kappa,
    )
    found = Sources(
        tables,
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
        CsvFormat(separator, decimal, thousands, encoding, missing or ()),
        single_group,
    )

    def asked_for(estimate: DistributionEstimate) -> DistributionEstimate:
        return estimate.with_quantiles(asked)

    view = View(_show, DistributionEstimate.plot_parts, value_diagnostics, page, asked_for)
    targets = Targets(plot, html, as_json, full, diagnostics, dry_run)
    how = {"groups_may_differ": groups_may_differ}
    account, public = Account(ledger, count, again), public_keys(group, keys)
    releasing.release(study, found, view, targets, account=account, group=group, keys=public, how=how)


def public_scale(scale: str | None, edges_file: Path | None) -> str | list[float]:
    """Return the scale, or read the edges from a file."""
    if edges_file is None:
        return scale or "equal"
    if scale is not None:
        raise ParameterError("scale", "left out if --edges-file is given", scale)
    try:
        lines = [line for line in edges_file.read_text("utf-8-sig").splitlines() if line.strip()]
        return [options.amount(line) for line in lines]
    except (OSError, UnicodeDecodeError, typer.BadParameter):
        raise DataError(f"{edges_file} cannot be read. It must be a text file with a number per line.") from None


def asked_quantiles(at: list[str] | None, files: list[str]) -> tuple[tuple[float, ...], list[str]]:
    """Separate the quantiles from the files, before anything is spent.

    Each quantile is returned once, in ascending order.

    ``--at 0.5 0.9`` gives the option its first number only, and the others come as if they were files.
    """
    if at is None:
        return USUAL, files
    more = [name for name in files if _is_quantile(name) and not Path(name).exists()]
    texts = [part for text in (*at, *more) for part in text.split(",")]
    asked = tuple(sorted({round(quantile_number(text), 12) for text in texts}))
    for q in asked:
        if not 0 < q < 1:
            raise ParameterError("at", "above 0 and below 1", q)
    return asked, [name for name in files if name not in more]


def quantile_number(text: str) -> float:
    """Parse a quantile, written as 0.95, 95% or p95."""
    bare = text.strip()
    return options.number(f"{bare[1:]}%") if bare[:1] in ("p", "P") else options.number(bare)


def _is_quantile(text: str) -> bool:
    try:
        quantile_number(text)
    except typer.BadParameter:
        return False
    return True


def _show(estimates: Sequence[DistributionEstimate]) -> None:
    if len(estimates) == 1:
        _show_one(estimates[0])
        return
    print_wide(parts_table(estimates))
    others = [honest for honest in (one.if_groups_may_differ for one in estimates) if honest is not None]
    if others:
        say("If the groups may differ, each counts for its own users only:")
        print_wide(parts_table(others, warned=False))
    say(str(estimates[0].privacy))
    users = estimates[0].study.users
    say(f"Who has which {users.by if users else 'key'} is public; nobody is in two parts.")


def _show_one(estimate: DistributionEstimate) -> None:
    """Show all in words, and the answer that assumes less beside it: a second release would be refused."""
    say(estimate.explain())
    honest = estimate.if_groups_may_differ
    if honest is not None:
        say("\nIf the groups may differ (what --groups-may-differ answers with), each counts for its own users only:")
        for one in honest.quantiles():
            say(f"{one.name}: {shown(one)}.")
