"""``hybriddp heavy-hitters``: which items of an open domain are frequent, in one step or in two."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hybriddp import tables
from hybriddp.cli import options, releasing, sources
from hybriddp.cli.keeping import Account, printing
from hybriddp.cli.options import option
from hybriddp.cli.releasing import SIMULATION, Targets, View
from hybriddp.cli.sources import Sources, study_title
from hybriddp.cli.terminal import check_targets, print_wide, say, say_written, waiting, write_text
from hybriddp.errors import DataError, ParameterError
from hybriddp.items import HeavyHitters, HeavyHitterStudy, PrivateItems
from hybriddp.items.counts import ItemCounts
from hybriddp.items.discovery import DISCOVERY
from hybriddp.items.protocol import AskedQuestion, take_steps
from hybriddp.randomness import simulation_generator
from hybriddp.reporting.wording import HEADING, percent
from hybriddp.shares import counts_diagnostics
from hybriddp.study.summary import LocalSummary, TrustedSummary
from hybriddp.tables import CsvFormat

TOLD = 5  # items that an explanation lists


def heavy_hitters(
    epsilon: options.Epsilon,
    files: sources.Files = None,
    delta: Annotated[str, option("Small number; 0 only with --domain-file.", parser=options.decimal)] = "0",
    domain_file: Annotated[
        Path | None, option("Public dictionary, one item per line. Finds more than anything else.")
    ] = None,
    value: Annotated[str | None, option("Column of raw items, of trusted users.")] = None,
    report: sources.Report = None,
    trusted_file: sources.TrustedFile = None,
    local_file: sources.LocalFile = None,
    trusted_if: sources.TrustedIf = None,
    simulate_local: sources.SimulateLocal = False,
    seed: sources.Seed = None,
    write_list: Annotated[
        Path | None, option("First step: release the list of trusted users' items to this file.")
    ] = None,
    write_question: Annotated[
        Path | None,
        option(
            "Write what devices are asked to this file: with --write-list about the list, without any file see above."
        ),
    ] = None,
    released_list: Annotated[
        Path | None, option("Second step: the file of the first step, with --report.", "--list")
    ] = None,
    alphabet: Annotated[
        str,
        option(
            "Characters of items, for local discovery: bytes, letters, digits, 'letters and digits', "
            "'capitals and digits', 'host names', or the characters themselves, such as abc."
        ),
    ] = "bytes",
    user: sources.User = None,
    repeated: sources.Repeated = "refuse",
    ledger: releasing.LedgerFile = None,
    count: releasing.Count = "everybody",
    again: releasing.Again = False,
    name: Annotated[str | None, option("Name of the study; the column's if not given.")] = None,
    single_group: sources.SingleGroup = False,
    engine: sources.Engine = "polars",
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    missing: Annotated[list[str] | None, option("Word for a missing item, such as NA; may be repeated.")] = None,
    plot: options.Plot = None,
    as_json: options.AsJson = False,
    full: releasing.FullShares = False,
    diagnostics: releasing.Diagnostics = False,
    dry_run: releasing.DryRun = False,
) -> None:
    """Find the frequent items of trusted and local users, and how frequent they are.

    With a public dictionary (--domain-file) it is one step, like `frequencies`. Without one there are two: first the
    list of frequent items is released from trusted users' items (--write-list, --write-question), then local users'
    devices answer the question about the list, and their reports give the final shares (--list, --report).

    Where few people trust, devices are asked for local discovery instead; items and reports then give the answer in one
    step. --write-question without any file writes that question, or that about the dictionary.

    Every release is written into the ledger before it is made. A second one about the same users is refused (exit
    code 3).
    """
    study = HeavyHitterStudy(
        study_title(name, value),
        epsilon=epsilon,
        delta=delta,
        domain=None if domain_file is None else _domain(domain_file),
        alphabet=alphabet,
    )
    targets = Targets(plot, None, as_json, full, diagnostics, dry_run)
    first, second = write_list is not None, released_list is not None
    named = bool(files or trusted_file or local_file)
    _check_steps(study, write_list, write_question, released_list, named=named)
    read = [*(files or []), *(trusted_file or []), *(local_file or []), released_list, domain_file]
    _check_apart([write_list, write_question, plot, ledger], read)
    if not named and write_question is not None:
        _write_question(study, write_question)
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
        CsvFormat(separator=separator, encoding=encoding, missing=missing or ()),
        single_group or first or second,
    )
    account = Account(ledger, count, again)
    if first:
        _release_list(study, found, targets, account, _Step(write_list, write_question))
    elif second:
        _finish(study, found, targets, ledger, _read_list(released_list))
    elif simulate_local and study.domain is None:
        _simulate(study, found, targets)
    else:
        releasing.release(study, found, _VIEW, targets, account=account, group=None, keys=[])


@dataclass(frozen=True, slots=True)
class _Step:
    """What the first step writes."""

    write_list: Path | None
    write_question: Path | None


def _check_steps(
    study: HeavyHitterStudy,
    write_list: Path | None,
    write_question: Path | None,
    released_list: Path | None,
    *,
    named: bool,
) -> None:
    """Raise `ParameterError` if the steps do not fit together."""
    if released_list is not None and (write_list is not None or write_question is not None):
        raise ParameterError("released_list", "left out in the first step, which writes it", str(released_list))
    if study.domain is not None and (write_list or released_list):
        raise ParameterError("domain_file", "left out if there is a list: a dictionary needs none", None)
    if named and write_question is not None and write_list is None:
        raise ParameterError("write_question", "given with --write-list, or without any file", str(write_question))
    check_targets(None)
    for path in (write_list, write_question):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise DataError(f"{path} cannot be written: it is a folder, or there is no folder {path.parent}.")
    if write_list is not None and write_list.exists():
        raise DataError(f"{write_list} is there already. A list that has been paid for is not overwritten.")
    if write_question is not None and write_question.exists():
        raise DataError(f"{write_question} is there already. Name another file for the question, or remove it.")


def _check_apart(written: Sequence[Path | None], read: Sequence[Path | str | None]) -> None:
    """Raise `DataError` if a file is written that is named for something else, too: it would be lost."""
    taken = {Path(path).resolve() for path in read if path is not None}
    for path in written:
        if path is not None:
            if path.resolve() in taken:
                raise DataError(f"{path} is named twice. Ledger, list, question and picture are files of their own.")
            taken.add(path.resolve())


# The steps


def _release_list(study: HeavyHitterStudy, found: Sources, targets: Targets, account: Account, step: _Step) -> None:
    """Release the list in the first step, with the question for devices."""
    if found.report is not None or found.local_files or found.simulated:
        raise ParameterError("write_list", "given without reports: devices are asked once there is a list", None)
    releasing.check_ledger(account.path, found, dry_run=targets.dry_run)
    ledger = account.open(study.privacy, dry_run=targets.dry_run)
    check_targets(targets.plot)
    with waiting("counting") as progress:
        counts = found.summarize(study, None, [], progress).trusted
    if targets.diagnostics or targets.dry_run:
        say(_diagnostics([counts], []), err=True)
    kept = account.keep(
        None if targets.dry_run else ledger,
        study.name,
        study.digest,
        lambda: study.release(counts, ledger=ledger),
        lambda released: released.to_json(),
    )
    released = kept.value
    if targets.dry_run:
        least, n = study.rule.threshold, counts.n_users  # public numbers
        say(
            f"An item is listed if {least:,} of the {n:,} trusted users have it, noise included: a share of about "
            f"{percent(least / n, 2)}. Where few people trust, local discovery finds more (hybriddp plan).",
            err=True,
        )
        typer.echo("Dry run: everything was checked. Nothing was spent, released or written.", err=True)
        return
    try:
        write_text(Path(str(step.write_list)), released.to_json())
    except DataError as problem:
        if kept.path is not None:
            raise DataError(f"{problem} The list is saved: hybriddp show {kept.path} --json.") from None
        typer.echo(released.to_json())
        raise DataError(f"The list above has been charged, but is in no file: save it. {problem}") from None
    answer = study.estimate(trusted=released, local=None, single_group=True)
    with printing(replace(kept, problem="")):  # the list is in a file
        _show(answer, targets)
    if step.write_question is not None and released.items:
        write_text(step.write_question, study.question(released).to_json())
    if not targets.as_json:
        say_written(step.write_list, step.write_question if released.items else None)
        if not released.items:
            say("No item is on the list, so there is nothing to ask the local group.")
        account.say_kept(kept)
    releasing.write_files([answer], _VIEW, targets)


def _finish(
    study: HeavyHitterStudy, found: Sources, targets: Targets, ledger: Path | None, released: PrivateItems
) -> None:
    """Combine the list with the reports about it in the second step.

    This step costs nothing more.
    """
    if found.value is not None or found.trusted_files:
        raise ParameterError("value", "left out in the second step: the list is there", found.value)
    if ledger is not None:
        raise ParameterError("ledger", "left out in the second step: the list has been paid for", str(ledger))
    check_targets(targets.plot)
    question = study.question(released)
    with waiting("counting") as progress:
        reports = found.summarize(question, None, [], progress).local
    if targets.diagnostics or targets.dry_run:
        say(counts_diagnostics(None, reports), err=True)
    answer = study.estimate(trusted=released, local=reports)
    if targets.dry_run:
        typer.echo("Dry run: everything was checked. Nothing was spent, released or written.", err=True)
        return
    _show(answer, targets)
    releasing.write_files([answer], _VIEW, targets)


def _simulate(study: HeavyHitterStudy, found: Sources, targets: Targets) -> None:
    """Both steps on a raw table, by the way that suits the sizes of the groups."""
    check_targets(targets.plot)
    seed = found.seed  # one seed must not give both the same noise
    curator, devices = (
        np.random.default_rng() if seed is None else simulation_generator(seed, who) for who in ("curator", "devices")
    )
    how: dict[str, Any] = {"value": found.value, "trusted_if": found.trusted_if}
    how |= {"engine": found.engine, "csv": found.csv, "random_state": devices}
    with waiting("counting"):
        counts, reports = _simulated(found.files, study, **how)
    if targets.diagnostics or targets.dry_run:
        say(_diagnostics([counts], []), err=True)
    method = study.method(n_trusted=counts.n_users, n_local=reports.count)

    def ask(question: AskedQuestion) -> LocalSummary:
        if method == DISCOVERY:
            return reports
        with waiting("asking about the list"):
            return _simulated(found.files, question, **how)[1]

    given: dict[str, Any] = {"single_group": found.single_group, "ledger": None, "random_state": curator}
    answer = take_steps(study, method, counts, ask, n_local=reports.count, **given)
    if targets.dry_run:
        typer.echo("Dry run: everything was checked. Nothing was spent, released or written.", err=True)
        return
    _show(answer, targets, simulated=True)
    releasing.write_files([answer], _VIEW, targets)


def _simulated(files: list[str], study: Any, **how: Any) -> tuple[Any, LocalSummary]:  # noqa: ANN401
    """Simulate the local group and return the summaries of both groups."""
    trusted, local = tables.simulate_local(files, study, **how)
    return trusted, local


# Files


def _domain(path: Path) -> list[str]:
    text = _text(path, "a text file in UTF-8 with an item per line")
    return [line.strip() for line in text.split("\n") if line.strip()]


def _text(path: Path, words: str) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"{path} cannot be read. It must be {words}.") from None


def _read_list(path: Path | None) -> PrivateItems:
    # Items may hold what Python takes for the end of a line, so that the text is not taken apart.
    return PrivateItems.from_json(_text(Path(str(path)), "the list that --write-list wrote").strip())


def _write_question(study: HeavyHitterStudy, path: Path) -> None:
    """Write what devices are asked before anything is released: exactly its text, since clients accept nothing else."""
    if study.domain is None:
        write_text(path, study.discovery.to_json())
        say(f"What devices are asked for local discovery ({study.alphabet.words}) is in {path}.")
    else:
        write_text(path, study.dictionary.to_json())
        say(f"What devices are asked about the dictionary of {len(study.domain):,} items is in {path}.")


# What is shown


def _show(answer: HeavyHitters, targets: Targets, *, simulated: bool = False) -> None:
    if targets.as_json:
        published = answer.to_dict(full=targets.full)
        typer.echo(json.dumps({"simulation": SIMULATION, **published} if simulated else published, indent=2))
        return
    if simulated:
        say(SIMULATION, bold=True)
    _show_all([answer])


def _show_all(answers: Sequence[HeavyHitters]) -> None:
    for answer in answers:
        if len(answer) > TOLD:
            print_wide(answer.__rich__())
        say(answer.explain())


def _diagnostics(trusted: Iterable[Any], local: Iterable[Any]) -> str:
    """Count missing items and rejected reports, for the curator."""
    items, reports = ([s for s in group if s is not None] for group in (trusted, local))
    if all(isinstance(s, TrustedSummary) for s in items) and items:
        return counts_diagnostics(items, reports)
    lines = [HEADING]
    for summary in items:
        if isinstance(summary, ItemCounts):
            different = f"{len(summary.counts):,} different items"
            lines.append(
                f"Trusted users: {summary.n_users:,}, with {different}; {summary.missing:,} items are missing."
            )
    for summary in reports:
        tied = "all tied to the study" if summary.tied or not summary.count else "not tied to the study"
        lines.append(f"Local reports: {summary.count:,} counted, {tied}; {summary.rejected:,} are no codes.")
    return "\n".join(lines)


_VIEW = View(_show_all, HeavyHitters.plot_parts, _diagnostics)
