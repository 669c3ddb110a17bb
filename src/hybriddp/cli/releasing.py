"""What every command that releases something does: count, check, pay, show, and write files last."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hybriddp.channels.plausible import implausible_words
from hybriddp.cli.keeping import Account, printing
from hybriddp.cli.options import option
from hybriddp.cli.sources import Sources
from hybriddp.cli.terminal import check_targets, say, say_written, waiting, write_text
from hybriddp.errors import DataError, ParameterError
from hybriddp.items import HeavyHitterStudy
from hybriddp.tables import GroupedSummaries, Summaries

SIMULATION = (
    "SIMULATION, NOT a private release: the reports of those who do not trust were made here, from their raw values."
)

LedgerFile = Annotated[Path | None, option("Ledger file, from `hybriddp ledger create`.")]
Count = Annotated[
    str, option("Whom the ledger charges: everybody, or trusted, if users never change groups.", "--count")
]
Again = Annotated[
    bool, option("If a release was charged, and stopped before its result was saved: charge and draw again.", "--again")
]
Full = Annotated[bool, option("With --json: unrounded numbers, too. Not for publication.", "--full")]
FullShares = Annotated[
    bool, option("With --json: what each group says alone, unclipped shares and weights, too.", "--full")
]
Diagnostics = Annotated[bool, option("Show what was left out. Not for publication.", "--diagnostics")]
WriteStudy = Annotated[
    Path | None, option("Write the study's text, which devices get, to this file, and do nothing else: name no tables.")
]
DryRun = Annotated[bool, option("Count, check and show --diagnostics; spend and release nothing.", "--dry-run")]


@dataclass(frozen=True, slots=True)
class Targets:
    """Where an answer goes."""

    plot: Path | None
    html: Path | None
    as_json: bool
    full: bool
    diagnostics: bool
    dry_run: bool


@dataclass(frozen=True, slots=True)
class View:
    """How the answers of a kind of study are shown, all parts of the users together."""

    show: Callable[[Sequence[Any]], None]
    draw: Callable[[Sequence[Any], Path], object]
    diagnostics: Callable[[Sequence[Any], Sequence[Any]], str]
    page: Callable[[Sequence[Any]], str] | None = None
    prepare: Callable[[Any], Any] = lambda answer: answer


def write_study(text: str, path: Path, *, ledger: Path | None, named: bool) -> None:
    """Write what devices get: exactly the text, since clients accept nothing else. Nothing is read or released."""
    if named:
        raise ParameterError("write_study", "given without tables: devices are asked first", str(path))
    if ledger is not None:
        raise ParameterError("ledger", "left out with --write-study: nothing is released", str(ledger))
    if path.exists() and not _has_text(path, text):
        raise DataError(
            f"{path} is there already, and is not this study: devices that have it would report for another one. Name "
            "another file for the study, or remove it."
        )
    write_text(path, text)
    say(f"The study's text, which devices get, is in {path}. Its digest is {sha256(text.encode()).hexdigest()[:12]}….")


def _has_text(path: Path, text: str) -> bool:
    """Whether a file holds exactly this text."""
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False


def release(
    study: Any,  # noqa: ANN401  (a study of any kind)
    sources: Sources,
    view: View,
    targets: Targets,
    *,
    account: Account,
    group: str | None,
    keys: list[str],
    how: Mapping[str, Any] | None = None,
) -> None:
    """Estimate from the sources, pay, and show the answer, or that of each key; ``how`` is what estimates take."""
    dry_run = targets.dry_run
    check_ledger(account.path, sources, dry_run=dry_run)
    ledger = account.open(study.privacy, dry_run=dry_run)
    check_targets(targets.plot, targets.html)
    with waiting("counting") as progress:
        summaries = sources.summarize(study, group, keys, progress)
    if targets.diagnostics or dry_run:
        _diagnose(summaries, view)
    if isinstance(summaries, GroupedSummaries) and summaries.other:
        say("Some rows have none of the --keys: they are in no answer. --diagnostics says how many.", err=True)
    options = {"single_group": sources.single_group, **(how or {})}
    if sources.simulated:
        options["random_state"] = np.random.default_rng(sources.seed)
    else:
        options["ledger"] = ledger

    kept = account.keep(
        None if dry_run else ledger,
        study.name,
        ledger_digest(study),
        lambda: [view.prepare(answer) for answer in _estimate(study, summaries, **options)],
        lambda answers: json.dumps(_stated(answers, summaries, full=True), indent=2),
    )
    answers = kept.value
    if dry_run:  # what was computed is thrown away: it was there to be checked on its way
        for answer in answers:  # told from the local reports alone, which are private
            for words in implausible_words(answer.implausible_reports, answer.n_local):
                say(words, err=True)
        typer.echo("Dry run: everything was checked. Nothing was spent, released or written.", err=True)
        return
    with printing(kept):  # before anything else can fail
        if targets.as_json:
            stated = _stated(answers, summaries, full=targets.full)
            typer.echo(json.dumps({"simulation": SIMULATION, **stated} if sources.simulated else stated, indent=2))
        else:
            if sources.simulated:
                say(SIMULATION, bold=True)
            view.show(answers)
            account.say_kept(kept)
    write_files(answers, view, targets)


def _estimate(
    study: Any,  # noqa: ANN401
    summaries: Summaries | GroupedSummaries,
    **how: Any,  # noqa: ANN401
) -> list[Any]:
    """Make the estimate, or that of each key."""
    if isinstance(summaries, Summaries):
        return [study.estimate(trusted=summaries.trusted, local=summaries.local, **how)]
    return list(study.estimate_parts(summaries.by, summaries, **how).values())


def _stated(
    answers: Sequence[Any],
    summaries: Summaries | GroupedSummaries,
    *,
    full: bool,
) -> dict[str, Any]:
    """List what is published of the estimate, or of that of each key."""
    published: list[dict[str, Any]] = [answer.to_dict(full=full) for answer in answers]
    return published[0] if isinstance(summaries, Summaries) else {"by": summaries.by, "parts": published}


def ledger_digest(study: Any) -> str:  # noqa: ANN401
    """Find the digest by which a ledger knows a study."""
    if isinstance(study, HeavyHitterStudy):
        return study.digest if study.domain is None else study.dictionary.whole_digest
    return str(study.whole_digest)


def _diagnose(summaries: Summaries | GroupedSummaries, view: View) -> None:
    """Exact counts, for the curator's eyes: on standard error, so that they get into no file by mistake."""
    pairs = [summaries] if isinstance(summaries, Summaries) else list(summaries.values())
    say(view.diagnostics([pair.trusted for pair in pairs], [pair.local for pair in pairs]), err=True)
    if isinstance(summaries, GroupedSummaries):
        say(f"Rows that have none of the keys: {summaries.other:,}.", err=True)


# Ledgers


def check_ledger(ledger: Path | None, sources: Sources, *, dry_run: bool) -> None:
    """Raise an error if there is a ledger and nothing to charge, or the other way round."""
    if sources.simulated and ledger is not None:
        raise ParameterError("ledger", "left out: a simulation spends nothing", str(ledger))
    if ledger is None and sources.has_trusted and not sources.simulated and not dry_run:
        raise ParameterError("ledger", "given: what is released must be paid for", None)


# Files


def write_files(answers: Sequence[Any], view: View, targets: Targets) -> None:
    """Write the page and the picture, each even if the other one fails; then say what went wrong."""
    problems: dict[Path | None, str] = {}
    draw, page = view.draw, view.page
    writers: list[tuple[Path | None, Callable[[Path], object]]] = [(targets.plot, lambda to: draw(answers, to))]
    if page is not None:
        writers.insert(0, (targets.html, lambda to: write_text(to, page(answers))))
    for path, write in writers:
        try:
            if path is not None:
                write(path)
        except DataError as problem:
            problems[path] = str(problem)
    if not targets.as_json:
        say_written(*(path for path in (targets.plot, targets.html) if path not in problems))
    if problems:
        raise DataError(f"The answer above has been released, but a file is missing. {' '.join(problems.values())}")
