"""Reading and writing columns of Parquet, CSV and JSON-lines files."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hybriddp.errors import raise_unchained
from hybriddp.tables.columns import require_column
from hybriddp.tables.csv_format import CsvFormat
from hybriddp.tables.digests import DIGEST_COLUMN, METADATA_KEY, SEEDED_KEY, SEEDED_WORD
from hybriddp.tables.engines import open_files, require_polars
from hybriddp.tables.names import ending, expand
from hybriddp.tables.reading import reading, writing_error
from hybriddp.tables.text import Wanted, bad_cell

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_columns", "require_column", "write_table"]


def read_columns(
    path: Path, columns: Sequence[str], *, others: Sequence[str] = (), csv: CsvFormat | None = None
) -> "pl.DataFrame":
    """Columns of numbers, and others, of a file, or of several named with ``*``.

    Other columns are not even read where the format allows.
    """
    polars = require_polars()
    files, wanted = expand([str(path)]), Wanted(numbers=columns, others=others, csv=csv or CsvFormat())
    with reading([str(path)], partial(bad_cell, files, wanted)):
        parts = open_files(files, "polars", wanted)
        for frame in parts:
            for column in wanted.required:
                require_column(column, frame.collect_schema().names(), path.name)
        frame = polars.concat([frame.select(wanted.required) for frame in parts], how="vertical_relaxed")
        read: pl.DataFrame = frame.collect()
        return read


def write_table(frame: "pl.DataFrame", path: Path, *, study: str | None = None, seeded: bool = False) -> None:
    """Write a table in the format that the name's ending says.

    The digest of a ``study`` ties its reports to it: it goes into the metadata of a Parquet file, and becomes a column
    of text files, which every reader survives. That reports are ``seeded`` stands beside it.
    """
    polars, kind = require_polars(), ending(path)
    if study is not None and kind != ".parquet":
        mark = f"{study} {SEEDED_WORD}" if seeded else study
        frame = frame.with_columns(polars.lit(mark).alias(DIGEST_COLUMN))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == ".parquet":
            metadata = {} if study is None else {METADATA_KEY: study}
            metadata |= {SEEDED_KEY: "true"} if seeded else {}
            frame.write_parquet(path, metadata=metadata or None)
        elif kind == ".jsonl":
            frame.write_ndjson(path)
        else:
            frame.write_csv(path, separator="\t" if kind == ".tsv" else ",")
    except (polars.exceptions.PolarsError, OSError) as reason:
        raise_unchained(writing_error(path, reason))
