"""``hybriddp randomize``: what the devices of local users would send, for a file of values."""

import json
from pathlib import Path
from typing import Annotated

import typer

from hybriddp.channels import WindowChannel
from hybriddp.errors import DataError, ParameterError
from hybriddp.grid import Grid
from hybriddp.tables.files import read_columns, write_table


def randomize(
    file: Annotated[Path, typer.Argument(help="A .parquet, .csv or .jsonl file with one row per user.")],
    value: Annotated[str, typer.Option(help="The column that holds the values.")],
    bounds: Annotated[tuple[float, float], typer.Option(help="The public range of a value, chosen without looking.")],
    epsilon: Annotated[str, typer.Option(help="Privacy of one report, from 0.01 to 20.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the reports go (.parquet, .csv, .jsonl).")],
    keep: Annotated[list[str] | None, typer.Option(help="A column to copy as it is; may be repeated.")] = None,
    seed: Annotated[int | None, typer.Option(help="Make the run repeatable. Then the reports are not private.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Simulate the devices of local users: read values, write one randomised code per value.

    On real devices a value never leaves. Here all of them are in one file, so this is for tests and for planning.
    Missing, NaN and infinite values get no report and are counted.
    """
    channel, grid, kept = WindowChannel(epsilon=epsilon), Grid.of(bounds), keep or []
    if "code" in kept or value in kept or len(set(kept)) < len(kept):
        raise DataError("The columns to keep must not be the value itself, be called 'code', or be named twice.")
    if seed is not None and seed < 0:
        raise ParameterError("seed", "an integer of at least 0", seed)
    if output.resolve() == file.resolve():
        raise DataError(f"The reports cannot be written over the values in {file}. Name another file.")
    frame = read_columns(file, [value, *kept])
    if frame.is_empty():
        raise DataError(f"{file.name} has no rows.")
    column = frame.get_column(value)
    if not column.dtype.is_numeric():
        raise DataError(f"Column {value!r} must hold numbers, but holds {column.dtype}.")
    placed = grid.place(column.cast(float).to_numpy())
    codes = channel.sample(placed.units, random_state=seed)
    reports = frame.filter(placed.accepted).with_columns(code=codes).select([*kept, "code"])
    write_table(reports, output)
    summary = {
        "simulated": True,
        "seeded": seed is not None,
        "reports": len(codes),
        "rejected": placed.rejected,
        "epsilon": channel.epsilon,
        "bounds": list(bounds),
        "channel": channel.digest,
        "output": str(output),
    }
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
        return
    typer.echo(f"{len(codes):,} reports at ε = {channel.epsilon} in {output}; {placed.rejected:,} values left out.")
    typer.echo("Simulated devices: the raw values were all in one place, so this protects nobody by itself.")
    if seed is not None:
        typer.echo(f"Seeded with {seed}: whoever knows the seed can undo the reports. Not private.")
