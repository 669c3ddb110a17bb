"""``hybriddp mean``: one answer from the two groups of a file, or of several, or one per part of the users."""

from collections.abc import Sequence
from typing import Annotated

from hybriddp.cli import options, releasing, sources
from hybriddp.cli.keeping import Account
from hybriddp.cli.options import option
from hybriddp.cli.releasing import Targets, View
from hybriddp.cli.sources import Sources, public_keys, study_title
from hybriddp.cli.terminal import print_wide, say
from hybriddp.mean import Estimate, MeanStudy
from hybriddp.mean.explain import diagnostics as mean_diagnostics
from hybriddp.study.page import page, parts_table
from hybriddp.tables import CsvFormat


def mean(
    bounds: options.Bounds,
    epsilon: options.Epsilon,
    files: sources.Files = None,
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
    delta: options.Delta = "0",
    sd_at_most: Annotated[
        float | None,
        option("Public bound on the standard deviation: a narrower interval.", parser=options.amount),
    ] = None,
    group: Annotated[str | None, option("Column for one mean per group, with --keys.")] = None,
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
    full: releasing.Full = False,
    diagnostics: Annotated[
        bool, option("Show what was clamped and left out. Not for publication.", "--diagnostics")
    ] = False,
    dry_run: releasing.DryRun = False,
    write_study: releasing.WriteStudy = None,
) -> None:
    """Estimate a mean from trusted users' values and local users' reports, once.

    Every release is written into the ledger before it is made. A second one about the same users is refused (exit
    code 3).
    """
    study = MeanStudy(study_title(name, value), bounds=bounds, epsilon=epsilon, delta=delta, sd_at_most=sd_at_most)
    if write_study is not None:
        named = bool(files or trusted_file or local_file)
        releasing.write_study(study.device_json(), write_study, ledger=ledger, named=named)
        return
    found = Sources(
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
        CsvFormat(separator, decimal, thousands, encoding, missing or ()),
        single_group,
    )
    targets = Targets(plot, html, as_json, full, diagnostics, dry_run)
    view = View(_show, Estimate.plot_parts, mean_diagnostics, page)
    account = Account(ledger, count, again)
    releasing.release(study, found, view, targets, account=account, group=group, keys=public_keys(group, keys))


def _show(estimates: Sequence[Estimate]) -> None:
    if len(estimates) == 1:
        say(estimates[0].explain())
        return
    print_wide(parts_table(estimates))
    say(str(estimates[0].privacy))
    users = estimates[0].study.users
    say(f"Who has which {users.by if users else 'key'} is public; nobody is in two parts.")
