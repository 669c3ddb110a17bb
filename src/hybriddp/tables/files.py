"""Reading and writing columns of Parquet, CSV and JSON-lines files."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybriddp.errors import DataError, raise_unchained
from hybriddp.tables.engines import open_files, require_polars
from hybriddp.tables.names import ending
from hybriddp.tables.reading import reading, writing_error

if TYPE_CHECKING:
    import polars as pl


def read_columns(path: Path, columns: Sequence[str]) -> "pl.DataFrame":
    """These columns of a file, or of several named with ``*``; others are not even read where the format allows."""
    frame: pl.LazyFrame = open_files([str(path)], "polars")[0]
    known = frame.collect_schema().names()
    for column in columns:
        require_column(column, known, path.name)
    with reading([str(path)]):
        return frame.select(columns).collect()


def require_column(column: str, known: Sequence[str], table: str) -> None:
    """Nothing, if the table has the column; `DataError` with the nearest name if not."""
    if column not in known:
        near = get_close_matches(column, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"It has {', '.join(map(repr, known[:20]))}."
        raise DataError(f"{table} has no column {column!r}. {hint}")


def write_table(frame: "pl.DataFrame", path: Path) -> None:
    """Write a table in the format that the name's ending says."""
    kind = ending(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        writers: dict[str, Any] = {".parquet": frame.write_parquet, ".csv": frame.write_csv}
        writers.get(kind, frame.write_ndjson)(path)
    except (require_polars().exceptions.PolarsError, OSError) as reason:
        raise_unchained(writing_error(path, reason))
