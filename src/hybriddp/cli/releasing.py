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
from hybriddp.cli.options import option
from hybriddp.cli.sources import Sources
from hybriddp.cli.terminal import check_targets, say, say_written, waiting, write_text
from hybriddp.errors import DataError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.tables import GroupedSummaries, Summaries

SIMULATION = (
    "SIMULATION, NOT a private release: the reports of those who do not trust were made here, from their raw values."
)

LedgerFile = Annotated[Path | None, option("Ledger file; created if missing.")]
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
    publish: Callable[[Any, bool], dict[str, Any]] = lambda answer, full: answer.to_dict(full=full)


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
    ledger: Path | None,
    group: str | None,
    keys: list[str],
    how: Mapping[str, Any] | None = None,
) -> None:
    """Estimate from the sources, pay, and show the answer, or that of each key; ``how`` is what estimates take."""
    dry_run = targets.dry_run
    check_ledger(ledger, sources, dry_run=dry_run)
    check_targets(targets.plot, targets.html)
    with waiting("counting") as progress:
        summaries = sources.summarize(study, group, keys, progress)
    if targets.diagnostics or dry_run:
        _diagnose(summaries, view)
    if isinstance(summaries, GroupedSummaries) and summaries.other:
        say("Some rows have none of the --keys: they are in no answer. --diagnostics says how many.", err=True)
    new = ledger is not None and not ledger.exists()
    options = {"single_group": sources.single_group, **(how or {})}
    if sources.simulated:
        options["random_state"] = np.random.default_rng(sources.seed)
    else:
        options["ledger"] = open_ledger(ledger, study.privacy, dry_run=dry_run)
    answers, published = _estimate(study, summaries, lambda answer: view.publish(answer, targets.full), **options)
    if dry_run:  # what was computed is thrown away: it was there to be checked on its way
        for answer in answers:  # told from the local reports alone, which are private
            for words in implausible_words(answer.implausible_reports, answer.n_local):
                say(words, err=True)
        typer.echo("Dry run: everything was checked. Nothing was spent, released or written.", err=True)
        return
    # The answer has been paid for: it is shown before anything else can fail.
    if targets.as_json:
        stated = {"simulation": SIMULATION, **published} if sources.simulated else published
        typer.echo(json.dumps(stated, indent=2))
    else:
        if sources.simulated:
            say(SIMULATION, bold=True)
        view.show(answers)
    if new:
        say_new_ledger(ledger, study.privacy)
    write_files(answers, view, targets, ledger)


def _estimate(
    study: Any,  # noqa: ANN401
    summaries: Summaries[Any, Any] | GroupedSummaries[Any, Any],
    publish: Callable[[Any], dict[str, Any]],
    **how: Any,  # noqa: ANN401
) -> tuple[list[Any], dict[str, Any]]:
    """The estimate, or that of each key, and what is published of it."""
    if isinstance(summaries, Summaries):
        estimate = study.estimate(trusted=summaries.trusted, local=summaries.local, **how)
        return [estimate], publish(estimate)
    parts = study.estimate_parts(summaries.by, summaries, **how)
    published = [{"key": key, "estimate": publish(part)} for key, part in parts.items()]
    return list(parts.values()), {"by": summaries.by, "parts": published}


def _diagnose(summaries: Summaries[Any, Any] | GroupedSummaries[Any, Any], view: View) -> None:
    """Exact counts, for the curator's eyes: on standard error, so that they get into no file by mistake."""
    pairs = [summaries] if isinstance(summaries, Summaries) else list(summaries.values())
    say(view.diagnostics([pair.trusted for pair in pairs], [pair.local for pair in pairs]), err=True)
    if isinstance(summaries, GroupedSummaries):
        say(f"Rows that have none of the keys: {summaries.other:,}.", err=True)


# Ledgers


def check_ledger(ledger: Path | None, sources: Sources, *, dry_run: bool) -> None:
    """Raise an error if there is a ledger and nothing to pay for, or the other way round; or no folder for it."""
    if sources.simulated and ledger is not None:
        raise ParameterError("ledger", "left out: a simulation spends nothing", str(ledger))
    if ledger is None and sources.has_trusted and not sources.simulated and not dry_run:
        raise ParameterError("ledger", "given: what is released must be paid for", None)
    if ledger is not None and not ledger.parent.is_dir():  # a new ledger in a mistyped folder would be a new budget
        raise DataError(f"There is no folder {ledger.parent} for the ledger. Correct its path, or create the folder.")


def open_ledger(path: Path | None, privacy: Privacy, *, dry_run: bool) -> Ledger | None:
    """The ledger with its own budget, or a new one with the study's; in a dry run a copy, in which nothing is spent."""
    if dry_run:
        return Ledger(privacy) if path is None or not path.exists() else Ledger.from_json(Ledger.open(path).to_json())
    if path is None:
        return None
    return Ledger.open(path) if path.exists() else Ledger(privacy, path=path)


def say_new_ledger(path: Path | None, privacy: Privacy) -> None:
    """Tell that there was no ledger, and what the new one allows."""
    say(
        f"{path} was not there: it was created with the study's own ε = {privacy.epsilon}, "
        f"δ = {privacy.delta} as the budget, which is enough for this study alone. For more: hybriddp ledger create.",
        err=True,
    )


# Files


def write_files(answers: Sequence[Any], view: View, targets: Targets, ledger: Path | None) -> None:
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
        say_written(ledger, *(path for path in (targets.plot, targets.html) if path not in problems))
    if problems:
        raise DataError(f"The answer above has been released, but a file is missing. {' '.join(problems.values())}")
