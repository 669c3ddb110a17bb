"""``hybriddp randomize``: what the devices of local users would send, for a file of values."""

import json
from pathlib import Path
from typing import Annotated

import typer

from hybriddp.cli import options
from hybriddp.cli.options import option
from hybriddp.cli.terminal import say
from hybriddp.errors import DataError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.mean.explain import HEADING
from hybriddp.tables import CsvFormat
from hybriddp.tables.frames import read_columns
from hybriddp.tables.paths import output_format
from hybriddp.tables.report_files import DIGEST_COLUMN, write_table


def randomize(
    file: Annotated[Path, typer.Argument(help="Parquet, .csv, .tsv or .jsonl file, one row per user.")],
    value: Annotated[str, option("Column of values.")],
    bounds: options.Bounds,
    epsilon: options.Epsilon,
    output: Annotated[Path, option("File for the reports (.parquet, .csv, .jsonl).", "--output", "-o")],
    name: Annotated[str | None, option("Name of the study; the column's if not given.")] = None,
    delta: Annotated[str, option("The study's δ, as for `mean`.", parser=options.decimal)] = "0",
    keep: Annotated[list[str] | None, option("Column to copy unchanged; may be repeated.")] = None,
    seed: Annotated[int | None, option("Make the run repeatable. Then the reports are not private.")] = None,
    separator: options.Separator = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    as_json: options.AsJson = False,
    diagnostics: Annotated[bool, option("Show what was left out. Not for publication.", "--diagnostics")] = False,
) -> None:
    """Simulate the devices of local users: read values, write one randomized code per value.

    On real devices a value never leaves. Here all of them are in one file, so this is for tests and for planning.
    Missing, NaN and infinite values get no report. The file names the study that the reports were made for.
    """
    study = MeanStudy(name or value, bounds=bounds, epsilon=epsilon, delta=delta)
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
    frame = read_columns(file, [value], others=kept, csv=csv)
    if frame.is_empty():
        raise DataError(f"{file.name} has no rows.")
    placed = study.grid.place(frame.get_column(value).cast(float).to_numpy())
    codes = study.channel.sample(placed.units, random_state=seed)
    reports = frame.filter(placed.accepted).with_columns(code=codes).select([*kept, "code"])
    write_table(reports, output, study=study.digest, seeded=seed is not None)
    summary = {
        "simulated": True,
        "seeded": seed is not None,
        "reports": len(codes),
        "epsilon": study.privacy.epsilon,
        "bounds": list(study.bounds),
        "study": study.digest,
        "channel": study.channel.digest,
        "output": str(output),
    }
    if diagnostics:
        say(f"{HEADING}\nLeft out: {placed.rejected:,} missing, NaN or infinite values.", err=True)
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
        return
    say(f"{len(codes):,} reports at ε = {study.privacy.epsilon} in {output}, tied to study {study.digest[:12]}….")
    say("Simulated devices: the raw values were all in one place, so this protects nobody by itself.")
    if seed is not None:
        say(f"Seeded with {seed}: whoever knows the seed can undo the reports. Not private.")
