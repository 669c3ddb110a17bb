"""Large files in steps, so that somebody who waits can see how far it is: their summaries add up.

A step is a few files, or some row groups of a Parquet file: Polars skips the others without reading them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hybriddp.tables.engines import open_files, scan_parquet
from hybriddp.tables.names import File
from hybriddp.tables.text import Wanted, scan_text

STEP_BYTES = 1 << 27
"""How much a step reads at least, if there is so much: some tenths of a second, beside which its own cost is small."""


class Step(NamedTuple):
    """A part of a table, and how large it is."""

    table: Any
    size: int


class _Piece(NamedTuple):
    """Rows of a file that are read together."""

    file: File
    size: int
    first_row: int
    rows: int | None  # None is all


def steps(files: Sequence[File], engine: str, wanted: Wanted) -> list[Step]:
    """The files in steps, by the size of the columns that are read; few large ones for other engines."""
    if engine != "polars" or any(file.remote for file in files):
        return [Step(table, 1) for table in open_files(files, engine, wanted)]
    pieces = [piece for file in files for piece in _pieces(file, wanted.required)]
    return [_step(bundle, wanted) for bundle in _bundles(pieces)]


def _pieces(file: File, columns: Sequence[str]) -> Iterator[_Piece]:
    """A Parquet file by row groups, as far as it is large; any other file as a whole."""
    size = Path(file.name).stat().st_size
    if size <= STEP_BYTES or file.is_text:
        yield _Piece(file, size, 0, None)
        return
    from pyarrow.parquet import read_metadata

    metadata = read_metadata(file.name)
    first = rows = size = 0
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        rows += group.num_rows
        read = [group.column(j) for j in range(group.num_columns)]
        size += sum(c.total_compressed_size for c in read if c.path_in_schema.split(".")[0] in columns)
        if size >= STEP_BYTES:
            yield _Piece(file, size, first, rows)
            first, rows, size = first + rows, 0, 0
    if rows:
        yield _Piece(file, size, first, rows)


def _bundles(pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    """Neighboring whole files of a format together, until there is enough for a step."""
    bundle: list[_Piece] = []
    for piece in pieces:
        joins = (
            bundle
            and piece.rows is None
            and bundle[-1].rows is None
            and piece.file.is_text == bundle[-1].file.is_text
            and piece.file.root == bundle[-1].file.root
            and sum(p.size for p in bundle) < STEP_BYTES
        )
        if bundle and not joins:
            yield bundle
            bundle = []
        bundle.append(piece)
    if bundle:
        yield bundle


def _step(bundle: list[_Piece], wanted: Wanted) -> Step:
    first, files = bundle[0], [piece.file for piece in bundle]
    if first.file.is_text:
        table = scan_text(files, wanted)
    else:
        table = scan_parquet([file.name for file in files], first.file.root)
    if first.rows is not None:
        table = table.slice(first.first_row, first.rows)
    return Step(table, sum(piece.size for piece in bundle))
