"""Files through an engine: Polars, DuckDB or Spark read Parquet when, and as far as, it is needed.

Text files are always read by Polars (`hybriddp.tables.text`), so that a cell means the same whatever the engine is.
Polars reads large files in chunks, a few files or some row groups of one, so that somebody who waits can see how far it
is: their summaries add up.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hybriddp.errors import DataError, MissingExtraError
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.paths import File, expand, reading
from hybriddp.tables.text import Wanted, bad_cell, require_column, scan_text

if TYPE_CHECKING:
    import polars as pl

ENGINES = ("polars", "duckdb", "spark")

CHUNK_BYTES = 1 << 27
"""How much a chunk reads at least, if there is so much: some tenths of a second, beside which its own cost is small."""


class Chunk(NamedTuple):
    """A part of a table that is read at once, and how large it is."""

    table: Any
    size: int


class _Piece(NamedTuple):
    """Rows of a file that are read together."""

    file: File
    size: int
    first_row: int = 0
    rows: int | None = None  # None is all


def open_files(files: Sequence[File], engine: str, wanted: Wanted) -> list[Any]:
    """One relation for all text files, and one for all Parquet files of a folder or of none."""
    scan = parquet_scan(engine)
    texts = [file for file in files if file.is_text]
    if any(file.remote for file in texts) and engine != "polars":
        raise DataError(
            f"The engine {engine} reads text files from disks only. Take polars, or a dataframe of {engine}."
        )
    folders: dict[str | None, list[str]] = {}
    for file in files:
        if not file.is_text:
            folders.setdefault(file.root, []).append(file.name)
    parquet = [scan(names, root) for root, names in folders.items()]
    if texts:
        require_polars()
    return [*parquet, *([scan_text(texts, wanted)] if texts else [])]


def open_chunks(files: Sequence[File], engine: str, wanted: Wanted, *, small: bool = True) -> list[Chunk]:
    """The files in chunks, by the size of the columns that are read; few large ones if not ``small``, or not Polars."""
    if not small or engine != "polars" or any(file.remote for file in files):
        return [Chunk(table, 1) for table in open_files(files, engine, wanted)]
    pieces = [piece for file in files for piece in _pieces(file, wanted.required)]
    return [_chunk(bundle, wanted) for bundle in _bundles(pieces)]


def read_columns(
    path: Path, columns: Sequence[str], *, others: Sequence[str] = (), csv: CsvFormat | None = None
) -> "pl.DataFrame":
    """Columns of numbers, and others, of a file, or of several named with ``*``."""
    polars = require_polars()
    files, wanted = expand([str(path)]), Wanted(numbers=columns, others=others, csv=csv or CsvFormat())
    with reading([str(path)], partial(bad_cell, files, wanted)):
        parts = open_files(files, "polars", wanted)
        for frame in parts:
            for column in wanted.required:
                require_column(column, frame.collect_schema().names(), path.name)
        frame = polars.concat([frame.select(wanted.required) for frame in parts], how="vertical_relaxed")
        read: pl.DataFrame = frame.collect()
    for column in columns:
        if not read.schema[column].is_numeric():
            raise DataError(f"Column {column!r} must hold numbers, but holds {read.schema[column]}.")
    return read


def require_library(name: str, *, purpose: str, extra: str = "tables") -> Any:  # noqa: ANN401
    """A library, or an error that says how to get it."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(name.partition(".")[0], extra=extra, purpose=purpose) from None


def require_polars() -> Any:  # noqa: ANN401
    """The library that reads and writes files."""
    return require_library("polars", purpose="Reading and writing tables")


def parquet_scan(engine: str) -> Callable[[list[str], str | None], Any]:
    """What opens Parquet files, given the folder that they were found in; an error if its library is not there."""
    if engine == "polars":
        require_polars()
        return _scan_with_polars
    if engine == "duckdb":
        duckdb = require_library("duckdb", purpose="Reading files with DuckDB")
        return lambda names, root: duckdb.connect().read_parquet(names, hive_partitioning=root is not None)
    sql = require_library("pyspark.sql", extra="spark", purpose="Reading files with Spark")

    def scan(names: list[str], root: str | None) -> Any:  # noqa: ANN401
        read = sql.SparkSession.builder.getOrCreate().read
        return (read if root is None else read.option("basePath", root)).parquet(*names)

    return scan


def _scan_with_polars(names: list[str], root: str | None) -> "pl.LazyFrame":
    """Parquet files as a lazy frame; folders between the files and their root may name partitions."""
    remote = any("://" in name for name in names)
    frame: pl.LazyFrame = require_polars().scan_parquet(names, glob=remote, hive_partitioning=root is not None)
    frame.collect_schema()  # what cannot be read is found now
    return frame


def _pieces(file: File, columns: Sequence[str]) -> Iterator[_Piece]:
    """A Parquet file by row groups, as far as it is large; any other file as a whole."""
    size = Path(file.name).stat().st_size
    if size <= CHUNK_BYTES or file.is_text:
        yield _Piece(file, size)
        return
    from pyarrow.parquet import read_metadata

    metadata = read_metadata(file.name)
    first = rows = size = 0
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        rows += group.num_rows
        read = [group.column(j) for j in range(group.num_columns)]
        size += sum(c.total_compressed_size for c in read if c.path_in_schema.split(".")[0] in columns)
        if size >= CHUNK_BYTES:
            yield _Piece(file, size, first, rows)
            first, rows, size = first + rows, 0, 0
    if rows:
        yield _Piece(file, size, first, rows)


def _bundles(pieces: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    """Neighboring whole files of a format together, until there is enough for a chunk."""
    bundle: list[_Piece] = []
    for piece in pieces:
        joins = (
            bundle
            and piece.rows is None
            and bundle[-1].rows is None
            and piece.file.is_text == bundle[-1].file.is_text
            and piece.file.root == bundle[-1].file.root
            and sum(p.size for p in bundle) < CHUNK_BYTES
        )
        if bundle and not joins:
            yield bundle
            bundle = []
        bundle.append(piece)
    if bundle:
        yield bundle


def _chunk(bundle: list[_Piece], wanted: Wanted) -> Chunk:
    first, files = bundle[0], [piece.file for piece in bundle]
    if first.file.is_text:
        table = scan_text(files, wanted)
    else:
        table = _scan_with_polars([file.name for file in files], first.file.root)
    if first.rows is not None:
        table = table.slice(first.first_row, first.rows)
    return Chunk(table, sum(piece.size for piece in bundle))
