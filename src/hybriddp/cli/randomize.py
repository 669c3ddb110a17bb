"""``hybriddp randomize``: what the devices of local users would send, for a file of values or items."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from hybriddp.cli import options
from hybriddp.cli.frequencies import Categories, CategoriesFile, MaxBytes, Other, public_categories
from hybriddp.cli.options import option
from hybriddp.cli.quantiles import EdgesFile, Kappa, public_scale
from hybriddp.cli.terminal import say
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.items.discovery import DiscoveryQuestion
from hybriddp.items.records import items_of
from hybriddp.mean import MeanStudy
from hybriddp.reporting.wording import HEADING
from hybriddp.shares import FrequencyStudy
from hybriddp.shares.categories import MISSING, OUTSIDE
from hybriddp.tables import CsvFormat
from hybriddp.tables.frames import read_columns
from hybriddp.tables.paths import output_format
from hybriddp.tables.report_files import DIGEST_COLUMN, write_table

Study = MeanStudy | DistributionStudy | FrequencyStudy | DiscoveryQuestion


def randomize(
    file: Annotated[Path, typer.Argument(help="Parquet, .csv, .tsv or .jsonl file, one row per user.")],
    value: Annotated[str, option("Column of values, or of items.")],
    output: Annotated[Path, option("File for the reports (.parquet, .csv, .jsonl).", "--output", "-o")],
    epsilon: Annotated[
        str | None, option("Privacy parameter ε of every user, from 0.01 to 20.", parser=options.decimal)
    ] = None,
    bounds: Annotated[
        tuple[float, float] | None,
        option("For numbers: public range of values, chosen without looking at the data.", parser=options.amount),
    ] = None,
    scale: Annotated[
        str | None, option("For quantiles, as for `quantiles`: equal or log. Without it reports are for a mean.")
    ] = None,
    kappa: Kappa = None,
    edges_file: EdgesFile = None,
    categories: Categories = None,
    categories_file: CategoriesFile = None,
    other: Other = None,
    max_bytes: MaxBytes = None,
    study_file: Annotated[
        Path | None, option("File with the text of a study or question, instead of all that describes it.", "--study")
    ] = None,
    name: Annotated[str | None, option("Name of the study; the column's if not given.")] = None,
    delta: Annotated[str, option("The study's δ, as for `mean`.", parser=options.decimal)] = "0",
    keep: Annotated[list[str] | None, option("Column to copy unchanged; may be repeated.")] = None,
    seed: Annotated[int | None, option("Make the run repeatable. Then the reports are not private.")] = None,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    encoding: options.Encoding = None,
    missing: Annotated[
        list[str] | None, option("Word for a missing item, or one more for a missing number; may be repeated.")
    ] = None,
    as_json: options.AsJson = False,
    diagnostics: Annotated[bool, option("Show what was left out. Not for publication.", "--diagnostics")] = False,
) -> None:
    """Simulate the devices of local users: read values or items, write one randomized code for each.

    On real devices a value never leaves. Here all of them are in one file, so this is for tests and for planning.
    What is missing, not finite or none of the categories gets no report. The file names the study that the reports
    were made for.
    """
    if study_file is not None:
        study = read_study(study_file)
    else:
        asked = _asked(categories, categories_file, bounds)
        if epsilon is None:
            raise ParameterError("epsilon", "given, or --study is", None)
        if asked is None and bounds is not None:
            edges = None if scale is None and edges_file is None else public_scale(scale, edges_file)
            study = _number_study(name or value, bounds, epsilon, delta, edges, kappa)
        else:
            study = FrequencyStudy(
                name or value, categories=asked or (), epsilon=epsilon, other=other, max_bytes=max_bytes
            )
    kept = keep or []
    csv = CsvFormat(separator, decimal, thousands, encoding, missing or ())
    if (
        value in kept
        or {"code", DIGEST_COLUMN} & {column.strip().lower() for column in kept}
        or len(set(kept)) < len(kept)
    ):
        raise DataError(
            "The columns to keep must not be the value itself, be called 'code' or 'study', or be named twice."
        )
    if seed is not None and seed < 0:
        raise ParameterError("seed", "an integer of at least 0", seed)
    if output.resolve() == file.resolve():
        raise DataError(f"The reports cannot be written over the values in {file}. Name another file.")
    output_format(output)
    numeric = isinstance(study, MeanStudy | DistributionStudy) or (
        isinstance(study, FrequencyStudy) and not study.domain.are_texts
    )
    frame = read_columns(file, [value] if numeric else [], items=[] if numeric else [value], others=kept, csv=csv)
    if frame.is_empty():
        raise DataError(f"{file.name} has no rows.")
    sent = _reports(study, frame.get_column(value), seed)
    reports = frame.filter(sent.answers).with_columns(code=sent.codes).select([*kept, "code"])
    text = study.device_json() if isinstance(study, MeanStudy) else study.to_json()
    write_table(reports, output, study=study.digest, text=text, seeded=seed is not None)
    summary = {
        "simulated": True,
        "seeded": seed is not None,
        "reports": len(sent.codes),
        "for": _purpose(study),
        "epsilon": study.privacy.epsilon,
        **({"bounds": list(study.bounds)} if isinstance(study, MeanStudy | DistributionStudy) else {}),
        **({"categories": len(study.names)} if isinstance(study, FrequencyStudy) else {}),
        "study": study.digest,
        "channel": study.channel.digest,
        "output": str(output),
    }
    if diagnostics:
        say(f"{HEADING}\nLeft out: {sent.left_out}.", err=True)
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
        return
    made = f"{len(sent.codes):,} reports for {_purpose(study)} at ε = {study.privacy.epsilon} in {output}"
    say(f"{made}, tied to study {study.digest[:12]}….")
    say("Simulated devices: the raw values were all in one place, so this protects nobody by itself.")
    if seed is not None:
        say(f"Seeded with {seed}: whoever knows the seed can undo the reports. Not private.")


def _purpose(study: Study) -> str:
    """Return the purpose of a study's reports.

    Reports for a mean and reports for quantiles look alike, and the command for one does not take the other.
    """
    if isinstance(study, MeanStudy):
        return "a mean"
    if isinstance(study, DistributionStudy):
        return "quantiles"
    return "frequencies" if isinstance(study, FrequencyStudy) else "the discovery of items"


@dataclass(frozen=True, slots=True, eq=False)
class _Sent:
    """What devices sent, by whom, and who sent nothing."""

    codes: NDArray[Any]
    answers: NDArray[np.bool_]
    left_out: str


def _reports(study: Study, column: Any, seed: int | None) -> _Sent:  # noqa: ANN401
    """Draw the reports for a column of a file."""
    if isinstance(study, MeanStudy):
        placed = study.grid.place(column.cast(float).to_numpy())
        codes = study.channel.sample(placed.units, random_state=seed)
        return _Sent(codes, placed.accepted, f"{placed.rejected:,} missing, NaN or infinite values")
    if isinstance(study, DistributionStudy):
        x = column.cast(float).to_numpy()
        finite = np.isfinite(x)
        codes = study.randomize(x[finite], random_state=seed).codes
        return _Sent(codes, finite, f"{len(x) - len(codes):,} missing, NaN or infinite values")
    if isinstance(study, DiscoveryQuestion):
        there = column.is_not_null().to_numpy()
        read = items_of(column.to_list())
        codes = study.randomize(read.items, random_state=seed).codes
        return _Sent(codes, there, f"{read.missing:,} missing items")
    found = study.domain.find(column.to_list())
    missing, outside = (int(np.count_nonzero(found == which)) for which in (MISSING, OUTSIDE))
    if study.other:
        found[found == OUTSIDE], outside = len(study.categories), 0
    answers = found >= 0
    codes = study.oracle.randomize(found[answers], seed)
    return _Sent(codes, answers, f"{missing:,} missing items, {outside:,} that are none of the categories")


def _number_study(
    name: str,
    bounds: tuple[float, float],
    epsilon: str,
    delta: str,
    scale: str | list[float] | None,
    kappa: float | None,
) -> MeanStudy | DistributionStudy:
    """Create a study of quantiles if there is a scale, and of a mean if not."""
    if scale is not None:
        return DistributionStudy(name, bounds=bounds, epsilon=epsilon, scale=scale, kappa=kappa)
    if kappa is not None:
        raise ParameterError("kappa", "given with --scale log only", kappa)
    return MeanStudy(name, bounds=bounds, epsilon=epsilon, delta=delta)


def _asked(
    categories: str | None, categories_file: Path | None, bounds: tuple[float, float] | None
) -> list[str] | list[int] | None:
    """Return the categories, or None for a mean."""
    listed = categories is not None or categories_file is not None
    if listed == (bounds is not None):
        raise ParameterError("bounds", "given, or --categories are, but not both", bounds)
    return public_categories(categories, categories_file) if listed else None


def read_study(path: Path) -> Study:
    """Read a study or question from a file."""
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise DataError(f"{path} cannot be read. It must hold the text of a study.") from None
    readers: tuple[type[Study], ...] = (MeanStudy, DistributionStudy, FrequencyStudy, DiscoveryQuestion)
    for reader in readers:
        try:
            return reader.from_json(text)
        except ProtocolError:
            continue
    raise ProtocolError(f"{path} does not hold the text of a study that devices answer.")
