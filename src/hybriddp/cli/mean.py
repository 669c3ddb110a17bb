"""``hybriddp mean``: one answer from the two groups of a file, or of several, or one per part of the users."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hybriddp.cli import options
from hybriddp.cli.options import option
from hybriddp.cli.terminal import check_targets, print_wide, say, say_written, waiting, write_text
from hybriddp.errors import DataError, ParameterError
from hybriddp.mean import Estimate, MeanStudy
from hybriddp.mean.explain import diagnostics, parts_table
from hybriddp.mean.page import page
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.tables import CsvFormat, GroupedSummaries, Summaries, simulate_local, summarize, summarize_both
from hybriddp.tables.frames import ENGINES
from hybriddp.tables.summarize import REPEATED, Progress

SIMULATION = (
    "SIMULATION, NOT a private release: the reports of those who do not trust were made here, from their raw values."
)


def mean(
    bounds: options.Bounds,
    epsilon: options.Epsilon,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Parquet, .csv, .tsv or .jsonl files, one row per user; * for many, or a folder of Parquet files.",
        ),
    ] = None,
    value: Annotated[str | None, option("Column of raw values, of trusted users.")] = None,
    report: Annotated[str | None, option("Column of codes, of local users.")] = None,
    trusted_file: Annotated[list[str] | None, option("File of trusted users, with --value; may be repeated.")] = None,
    local_file: Annotated[list[str] | None, option("File of local users, with --report; may be repeated.")] = None,
    trusted_if: Annotated[str | None, option("Column that says who trusts: consent, or consent=yes.")] = None,
    simulate_local: Annotated[bool, option("Simulate the reports of all others.", "--simulate-local")] = False,
    seed: Annotated[int | None, option("Make a simulation repeatable.")] = None,
    user: Annotated[str | None, option("Column of user names, if users may have several rows.")] = None,
    repeated: Annotated[str, option(f"What to do about several rows of a user: {', '.join(REPEATED)}.")] = "refuse",
    ledger: Annotated[Path | None, option("Ledger file; created if missing.")] = None,
    name: Annotated[str | None, option("Name of the study; the column's if not given.")] = None,
    delta: options.Delta = "0",
    sd_at_most: Annotated[
        float | None,
        option("Public bound on the standard deviation: a narrower interval.", parser=options.amount),
    ] = None,
    group: Annotated[str | None, option("Column for one mean per group, with --keys.")] = None,
    keys: Annotated[str | None, option("Public keys of the groups: DE,FR,IT.")] = None,
    single_group: Annotated[
        bool, option("Allow an estimate from one group if the other is empty.", "--single-group")
    ] = False,
    engine: Annotated[str, option(f"Engine that reads Parquet files: {', '.join(ENGINES)}.")] = "polars",
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    plot: options.Plot = None,
    html: options.Html = None,
    as_json: options.AsJson = False,
    full: Annotated[bool, option("With --json: unrounded numbers, too. Not for publication.", "--full")] = False,
    diagnostics: Annotated[
        bool, option("Show what was clamped and left out. Not for publication.", "--diagnostics")
    ] = False,
    dry_run: Annotated[
        bool, option("Count, check and show --diagnostics; spend and release nothing.", "--dry-run")
    ] = False,
) -> None:
    """Estimate a mean from trusted users' values and local users' reports, once.

    Every release is written into the ledger before it is made. A second one about the same users is refused (exit
    code 3).
    """
    study = MeanStudy(_title(name, value), bounds=bounds, epsilon=epsilon, delta=delta, sd_at_most=sd_at_most)
    sources = _Sources(
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
    _check_ledger(ledger, sources, dry_run=dry_run)
    public = _keys(group, keys)
    check_targets(plot, html)
    with waiting("counting") as progress:
        summaries = sources.summarize(study, group, public, progress)
    if diagnostics or dry_run:
        _diagnose(summaries)
    new = ledger is not None and not ledger.exists()
    how: dict[str, Any] = {"single_group": single_group}
    if simulate_local:
        how["random_state"] = np.random.default_rng(seed)
    else:
        how["ledger"] = _open_ledger(ledger, study.privacy, dry_run=dry_run)
    estimates, published = _estimate(study, summaries, full=full, **how)
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
    if new:
        say(
            f"{ledger} was not there: it was created with the study's own ε = {study.privacy.epsilon}, "
            f"δ = {study.privacy.delta} as the budget, which is enough for this study alone. For more: hybriddp ledger "
            "create.",
            err=True,
        )
    problems = _write_files(estimates, plot, html)
    if not as_json:
        say_written(ledger, *(path for path in (plot, html) if path not in problems))
    if problems:
        raise DataError(f"The answer above has been released, but a file is missing. {' '.join(problems.values())}")


@dataclass(frozen=True, slots=True)
class _Sources:
    """The files and columns that were named, and which users are in which file; the options of the command."""

    files: list[str]
    trusted_files: list[str]
    local_files: list[str]
    value: str | None
    report: str | None
    trusted_if: str | None
    simulated: bool
    seed: int | None
    user: str | None
    repeated: str
    engine: str
    csv: CsvFormat
    single_group: bool

    def __post_init__(self) -> None:
        apart = bool(self.trusted_files or self.local_files)
        if apart == bool(self.files):
            raise ParameterError("files", "named, or --trusted-file and --local-file are, but not both", self.files)
        if apart and not self.single_group and not (self.trusted_files and self.local_files):
            given, other = ("trusted_file", "local") if self.trusted_files else ("local_file", "trusted")
            remedy = "With --single-group one of them is enough."
            raise ParameterError(
                given, f"given together with --{other}-file", self.trusted_files or self.local_files, remedy=remedy
            )
        if apart and (self.trusted_if is not None or self.simulated):
            raise ParameterError("trusted_if", "left out: the files say who trusts", self.trusted_if)
        if self.simulated and (self.trusted_if is None or self.report is not None or self.user is not None):
            raise ParameterError("simulate_local", "given with --trusted-if, without --report and --user", None)
        alone = self.single_group and not self.trusted_files and self.trusted_if is None and not self.simulated
        if self.value is None and not (alone and self.report is not None):
            remedy = "With --single-group, --report alone is enough for local users."
            raise ParameterError("value", "the column of raw values", None, remedy=remedy)
        if self.report is None and not self.simulated and not (self.single_group and not self.local_files):
            remedy = (
                "To try out a raw table: --trusted-if and --simulate-local. For trusted users alone: --single-group."
            )
            raise ParameterError("report", "the column of codes", None, remedy=remedy)
        if self.seed is not None and not self.simulated:
            raise ParameterError("seed", "given with --simulate-local only", self.seed)

    @property
    def has_trusted(self) -> bool:
        """Whether there are values, of which something is released."""
        return bool(self.trusted_files) or (self.value is not None and not self.local_files)

    def summarize(
        self, study: MeanStudy, group: str | None, keys: list[str], progress: Progress
    ) -> Summaries | GroupedSummaries:
        """The summaries of all users, or of each key."""
        shared: dict[str, Any] = {"engine": self.engine, "csv": self.csv}
        if group is not None:
            shared |= {"group": group, "keys": keys}
        if self.simulated:
            shared |= {"value": self.value, "trusted_if": self.trusted_if, "random_state": self.seed}
            return simulate_local(self.files, study, **shared)
        shared |= {"user": self.user, "repeated": self.repeated, "progress": progress}
        if self.trusted_files and self.local_files:
            shared |= {"value": self.value, "report": self.report}
            return summarize_both(self.trusted_files, self.local_files, study, **shared)
        shared |= {"value": None if self.local_files else self.value, "trusted_if": self.trusted_if}
        shared |= {"report": None if self.trusted_files else self.report}
        found: Summaries | GroupedSummaries = summarize(
            self.files or self.trusted_files or self.local_files, study, **shared
        )
        return found


def _title(name: str | None, value: str | None) -> str:
    if name is None and value is None:
        raise ParameterError("name", "given, since no --value names the study", None)
    return str(name or value)


def _check_ledger(ledger: Path | None, sources: _Sources, *, dry_run: bool) -> None:
    """Raise an error if there is a ledger and nothing to pay for, or the other way round; or no folder for it."""
    if sources.simulated and ledger is not None:
        raise ParameterError("ledger", "left out: a simulation spends nothing", str(ledger))
    if ledger is None and sources.has_trusted and not sources.simulated and not dry_run:
        raise ParameterError("ledger", "given: what is released must be paid for", None)
    if ledger is not None and not ledger.parent.is_dir():  # a new ledger in a mistyped folder would be a new budget
        raise DataError(f"There is no folder {ledger.parent} for the ledger. Correct its path, or create the folder.")


def _open_ledger(path: Path | None, privacy: Privacy, *, dry_run: bool) -> Ledger | None:
    """The ledger with its own budget, or a new one with the study's; in a dry run a copy, in which nothing is spent."""
    if dry_run:
        return Ledger(privacy) if path is None or not path.exists() else Ledger.from_json(Ledger.open(path).to_json())
    if path is None:
        return None
    return Ledger.open(path) if path.exists() else Ledger(privacy, path=path)


def _estimate(
    study: MeanStudy,
    summaries: Summaries | GroupedSummaries,
    *,
    full: bool,
    **how: Any,  # noqa: ANN401
) -> tuple[list[Estimate], dict[str, Any]]:
    """The estimate, or that of each key, and what is published of it."""
    if isinstance(summaries, Summaries):
        estimate = study.estimate(trusted=summaries.trusted, local=summaries.local, **how)
        return [estimate], estimate.to_dict(full=full)
    parts = study.estimate_parts(summaries.by, summaries, **how)
    published = [{"key": key, "estimate": part.to_dict(full=full)} for key, part in parts.items()]
    return list(parts.values()), {"by": summaries.by, "parts": published}


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
    say(diagnostics([pair.trusted for pair in pairs], [pair.local for pair in pairs]), err=True)
    if isinstance(summaries, GroupedSummaries):
        say(f"Rows that have none of the keys: {summaries.other:,}.", err=True)


def _write_files(estimates: Sequence[Estimate], plot: Path | None, html: Path | None) -> dict[Path | None, str]:
    """Write the page and the picture, each even if the other one fails; give back what went wrong with which."""
    from hybriddp.figures.estimate import draw

    problems: dict[Path | None, str] = {}
    for path, write in (
        (html, lambda to: write_text(to, page(estimates))),
        (plot, lambda to: draw(estimates, path=to)),
    ):
        try:
            if path is not None:
                write(path)
        except DataError as problem:
            problems[path] = str(problem)
    return problems


def _show(estimates: Sequence[Estimate]) -> None:
    if len(estimates) == 1:
        say(estimates[0].explain())
        return
    print_wide(parts_table(estimates))
    say(str(estimates[0].privacy))
    users = estimates[0].study.users
    say(f"Who has which {users.by if users else 'key'} is public; nobody is in two parts.")
