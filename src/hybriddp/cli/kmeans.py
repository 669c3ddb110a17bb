"""``hybriddp kmeans``: K-means of the trusted users of a file, alone, with local users in rounds, or simulated."""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hybriddp.cli import options, releasing, sources
from hybriddp.cli.keeping import Account, Kept, printing
from hybriddp.cli.options import option
from hybriddp.cli.releasing import SIMULATION
from hybriddp.cli.terminal import check_targets, say, say_written, waiting, write_text
from hybriddp.errors import DataError, HybridDPError, ParameterError
from hybriddp.kmeans import HybridKMeansServer, KMeansResult, KMeansStudy
from hybriddp.release import Ledger
from hybriddp.tables import CsvFormat, count_reports, trusted_points
from hybriddp.tables.points import TrustedTable

Columns = Annotated[
    list[str],
    option("Column and its public range, once for each: age:0:100", "--column", metavar="NAME:LOWER:UPPER"),
]
StateFile = Annotated[
    Path | None, option("File of what has been published, to ask local users in rounds; created if missing.", "--state")
]
RoundFile = Annotated[Path | None, option("With --state: write the round that devices answer to this file.", "--round")]
ReportsFile = Annotated[
    list[str] | None, option("With --state: answers to the round, with columns ask, variant and code.", "--reports")
]


def kmeans(
    column: Columns,
    clusters: Annotated[int, option("Number of centers.")],
    epsilon: options.Epsilon,
    files: sources.Files = None,
    trusted_if: sources.TrustedIf = None,
    simulate_local: sources.SimulateLocal = False,
    seed: sources.Seed = None,
    single_group: Annotated[bool, option("K-means of the trusted users alone.", "--single-group")] = False,
    state: StateFile = None,
    n_local: Annotated[
        int | None, option("With --state, at first: number of local users in all.", parser=options.users)
    ] = None,
    round_file: RoundFile = None,
    reports: ReportsFile = None,
    ledger: releasing.LedgerFile = None,
    count: releasing.Count = "everybody",
    again: releasing.Again = False,
    name: Annotated[str, option("Name of the study, part of what a ledger tells it apart by.")] = "points",
    scale: Annotated[
        str, option("What distances are measured by: bounds (each by its range) or none (as they are).")
    ] = "bounds",
    engine: sources.Engine = "polars",
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    plot: options.Plot = None,
    html: options.Html = None,
    as_json: options.AsJson = False,
    diagnostics: Annotated[
        bool, option("Show what was clamped and left out. Not for publication.", "--diagnostics")
    ] = False,
) -> None:
    """Find the centers of clusters from trusted users' points and local users' answers.

    Local users are asked in rounds, since each question depends on the answers before: run it with --state, let devices
    answer the file of --round, run it again with their --reports, until it shows the centers.

    Every release is written into the ledger before it is made.
    """
    named = [_column(text) for text in column]
    study = KMeansStudy(
        name, n_clusters=clusters, bounds=[(one.lower, one.upper) for one in named], epsilon=epsilon, scale=scale
    )
    csv = CsvFormat(separator, decimal, thousands, encoding, missing or ())
    table = _Table(files or [], [one.name for one in named], trusted_if, engine, csv)
    if again and not single_group:
        raise ParameterError("again", "given with --single-group only", again)
    _check_options(table, ledger, state, simulate_local=simulate_local, single_group=single_group, seed=seed)
    check_targets(plot, html)
    account = Account(ledger, count, again)
    spent = account.open(study.privacy, dry_run=False)
    kept: Kept[KMeansResult] | None
    if simulate_local:
        kept = Kept(_simulated(study, table, seed, diagnostics=diagnostics))
    elif state is None:
        kept = account.keep(
            spent,
            study.name,
            study.digest,
            lambda: _trusted_alone(study, table, spent, diagnostics=diagnostics),
            KMeansResult.to_json,
        )
    else:
        steps = _Rounds(study, table, account, spent, state, round_file, reports or [], n_local)
        kept = steps.advance(diagnostics=diagnostics, as_json=as_json)
    if kept is not None:
        with printing(kept):
            _show(kept.value, as_json=as_json)
            if not as_json:
                account.say_kept(kept)
        _write(kept.value, plot, html, quiet=as_json)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column with its public range."""

    name: str
    lower: float
    upper: float


def _column(text: str) -> _Column:
    name, *ends = text.rsplit(":", 2)
    if len(ends) != 2 or not name:
        raise ParameterError("column", "a name and its bounds, such as age:0:100", text)
    return _Column(name, options.amount(ends[0]), options.amount(ends[1]))


@dataclass(frozen=True, slots=True)
class _Table:
    """The files of the trusted group, and of everybody in a simulation."""

    files: list[str]
    columns: list[str]
    trusted_if: str | None
    engine: str
    csv: CsvFormat

    def trusted(self, study: KMeansStudy, *, diagnostics: bool) -> TrustedTable:
        with waiting("counting"):
            found = trusted_points(
                self.files,
                study,
                columns=self.columns,
                trusted_if=self.trusted_if,
                engine=self.engine,
                csv=self.csv,
            )
        if diagnostics:
            words = f"Points outside of the bounds: {found.clamped:,}. Rows that are no points: {found.rejected:,}."
            say(f"Not for publication. {words}", err=True)
        return found


def _check_options(
    table: _Table,
    ledger: Path | None,
    state: Path | None,
    *,
    simulate_local: bool,
    single_group: bool,
    seed: int | None,
) -> None:
    """Raise an error if the options do not say one way to go."""
    if sum((simulate_local, single_group, state is not None)) != 1:
        remedy = "Local users answer rounds (--state), are simulated, or there are none (--single-group)."
        raise ParameterError(
            "state", "given, or --simulate-local or --single-group, but not two of them", state, remedy=remedy
        )
    if simulate_local and table.trusted_if is None:
        raise ParameterError("simulate_local", "given with --trusted-if", None)
    if seed is not None and not simulate_local:
        raise ParameterError("seed", "given with --simulate-local only", seed)
    if not table.files and state is None:
        raise ParameterError("files", "named", table.files)
    if simulate_local and ledger is not None:
        raise ParameterError("ledger", "left out: a simulation spends nothing", str(ledger))
    if ledger is None and table.files and not simulate_local:
        raise ParameterError("ledger", "given: what is released must be paid for", None)
    if state is not None and not state.parent.is_dir():
        raise DataError(f"There is no folder {state.parent} for {state.name}. Correct its path, or create the folder.")


def _simulated(study: KMeansStudy, table: _Table, seed: int | None, *, diagnostics: bool) -> KMeansResult:
    trusted = table.trusted(study, diagnostics=diagnostics)
    server = HybridKMeansServer(
        study,
        n_local=len(local := trusted.points(trusting=False)),
        trusted=trusted,
        random_state=np.random.default_rng(seed),
    )
    server.run(local, np.random.default_rng(seed).spawn(1)[0])
    return _result(server, table)


def _trusted_alone(study: KMeansStudy, table: _Table, ledger: Ledger | None, *, diagnostics: bool) -> KMeansResult:
    server = HybridKMeansServer(
        study,
        n_local=0,
        trusted=table.trusted(study, diagnostics=diagnostics),
        ledger=ledger,
    )
    server.start()
    return _result(server, table)


def _result(server: HybridKMeansServer, table: _Table) -> KMeansResult:
    return replace(server.result, columns=tuple(table.columns))


@dataclass(frozen=True, slots=True)
class _Rounds:
    """A study that is asked in rounds, one call of the command after the other."""

    study: KMeansStudy
    table: _Table
    account: Account
    ledger: Ledger | None
    state: Path
    round_file: Path | None
    reports: list[str]
    n_local: int | None

    def advance(self, *, diagnostics: bool, as_json: bool) -> Kept[KMeansResult] | None:
        """Go on as far as the answers let; the result at the end, else None and a round to answer."""
        given: dict[str, Any] = {
            "trusted": self.table.trusted(self.study, diagnostics=diagnostics) if self.table.files else None,
            "ledger": self.ledger,
        }
        kept = self.account.keep(
            self.ledger,
            self.study.name,
            self.study.digest,
            lambda: self._resumed(given) if self.state.exists() else self._begun(given),
            lambda server: server.to_json(),
        )
        server = kept.value
        if server.round is None:
            return replace(kept, value=_result(server, self.table))  # type: ignore[arg-type,return-value]
        asked = server.round
        if self.round_file is not None:
            write_text(self.round_file, asked.to_json())
        if as_json:
            told = {"number": asked.number, "purpose": asked.purpose, "user_fraction": str(asked.user_fraction)}
            typer.echo(json.dumps({"round": {**told, "digest": asked.digest}}, indent=2))
        else:
            say(f"Round {asked.number}, {asked.purpose}: {asked.user_fraction} of the local users are to answer it.")
            say_written(self.state, self.round_file)
            self.account.say_kept(kept)
        return None

    def _begun(self, given: dict[str, Any]) -> HybridKMeansServer:
        if self.n_local is None or self.reports:
            raise ParameterError(
                "n_local", f"given, and --reports is not: {self.state} is still to be created", self.n_local
            )
        server = HybridKMeansServer(self.study, n_local=self.n_local, **given)
        server.start()
        self._keep(server)
        return server

    def _resumed(self, given: dict[str, Any]) -> HybridKMeansServer:
        try:
            text = self.state.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            raise DataError(f"{self.state} cannot be read.") from None
        server = HybridKMeansServer.from_json(text, **given)
        if server.study != self.study:
            raise DataError(f"{self.state} belongs to another study. Give the options that it began with.")
        if server.round is None:
            if self.reports:
                raise ParameterError("reports", "left out: no round is to be answered", self.reports)
            if not server.has_ended:
                server.release_pending()
        elif self.reports:
            tally = count_reports(self.reports, server.round, engine=self.table.engine)
            try:
                server.absorb(tally)
            except HybridDPError:
                self._keep(server)  # the answers; what is due is released with the next call
                raise
        self._keep(server)
        return server

    def _keep(self, server: HybridKMeansServer) -> None:
        """Write the state down, all of it or nothing, before anything is shown."""
        beside = self.state.with_name(f"{self.state.name}.new")
        write_text(beside, server.to_json())
        os.replace(beside, self.state)


def _show(result: KMeansResult, *, as_json: bool) -> None:
    simulation = {"simulation": SIMULATION} if result.privacy.seeded else {}
    if as_json:
        typer.echo(json.dumps({**simulation, **result.to_dict()}, indent=2))
        return
    if simulation:
        say(SIMULATION, bold=True)
    typer.echo(result.explain())


def _write(result: KMeansResult, plot: Path | None, html: Path | None, *, quiet: bool) -> None:
    """Write the page and the picture: the answer has been shown by now."""
    if html is not None:
        write_text(html, result.to_html())
    if plot is not None:
        result.plot(plot)
    if not quiet:
        say_written(plot, html)
