"""Reading and writing columns of Parquet, CSV and JSON-lines files."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybriddp.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import polars as pl

_ENDINGS = (".parquet", ".csv", ".jsonl", ".ndjson")


def scan_file(path: Path) -> "pl.LazyFrame":
    """A file, or several of a kind named with ``*``, to be read when and as far as it is needed."""
    polars = _polars()
    _check_ending(path)
    if "*" not in str(path) and not path.is_file():
        raise DataError(f"There is no file {path}.")
    scan = {".parquet": polars.scan_parquet, ".csv": polars.scan_csv}.get(path.suffix.lower(), polars.scan_ndjson)
    try:
        frame: pl.LazyFrame = scan(path)
        frame.collect_schema()
    except (polars.exceptions.PolarsError, OSError) as reason:
        raise DataError(f"{path} cannot be read: {str(reason).splitlines()[0]}") from reason
    return frame


def read_columns(path: Path, columns: Sequence[str]) -> "pl.DataFrame":
    """These columns of a file; the others are not even read where the format allows."""
    frame = scan_file(path)
    known = frame.collect_schema().names()
    for column in columns:
        require_column(column, known, path.name)
    try:
        return frame.select(columns).collect()
    except (_polars().exceptions.PolarsError, OSError) as reason:
        raise DataError(f"{path} cannot be read: {str(reason).splitlines()[0]}") from reason


def require_column(column: str, known: Sequence[str], table: str) -> None:
    """Nothing, if the table has the column; `DataError` with the nearest name if not."""
    if column not in known:
        near = get_close_matches(column, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"It has {', '.join(map(repr, known[:20]))}."
        raise DataError(f"{table} has no column {column!r}. {hint}")


def write_table(frame: "pl.DataFrame", path: Path) -> None:
    """Write a table in the format that the name's ending says."""
    _check_ending(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        writers: dict[str, Any] = {".parquet": frame.write_parquet, ".csv": frame.write_csv}
        writers.get(path.suffix.lower(), frame.write_ndjson)(path)
    except (_polars().exceptions.PolarsError, OSError) as reason:
        raise DataError(f"{path} cannot be written: {str(reason).splitlines()[0]}") from reason


def _check_ending(path: Path) -> None:
    if path.suffix.lower() not in _ENDINGS:
        raise DataError(f"{path.name} must end in one of {', '.join(_ENDINGS)}.")


def _polars() -> Any:  # noqa: ANN401
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", extra="tables", purpose="Reading and writing tables") from None
    return polars
