"""Any table as lazy frames of narwhals, and what every query does to its columns first.

A dataframe has its own engine. Of files, Polars, DuckDB or Spark read Parquet when, and as far as, it is needed. Text
files are always read by Polars (`hybriddp.tables.text`), so that a cell means the same whatever the engine is. Polars
reads large files in chunks, a few files or some row groups of one, so that somebody who waits can see how far it is:
their summaries add up.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hybriddp import _check
from hybriddp.errors import DataError, MissingExtraError, ParameterError, raise_unchained
from hybriddp.grid import as_floats
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.paths import File, expand, file_names, reading, table_title
from hybriddp.tables.text import Wanted, bad_cell, require_column, scan_text

if TYPE_CHECKING:
    import polars as pl

ENGINES = ("polars", "duckdb", "spark")

CHUNK_BYTES = 1 << 27
"""How much a chunk reads at least, if there is so much: some tenths of a second, beside which its own cost is small."""


def require_library(name: str, *, purpose: str, extra: str = "tables") -> Any:  # noqa: ANN401
    """Import a library, or raise an error that says how to get it."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(name.partition(".")[0], extra=extra, purpose=purpose) from None


def require_polars() -> Any:  # noqa: ANN401
    """Import the library that reads and writes files."""
    return require_library("polars", purpose="Reading and writing tables")


class _Narwhals:
    """The library that speaks to all engines, imported when it is used first."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(require_library("narwhals", purpose="Summarizing a table"), name)


nw: Any = _Narwhals()

Table = Any
"""A dataframe, a relation, or the names of files."""
Frame = Any
"""A lazy frame of narwhals."""
Cells = Any
"""An expression of narwhals."""
DataType = Any
"""The type of a column."""
Schema = Any
"""The types of all columns."""

Converter = Callable[[list[Any]], tuple[list[Any], Any]]
"""From the objects of a column to plain values, and the type of narwhals that they have."""


@dataclass(frozen=True, slots=True)
class TableSource:
    """A dataframe, a relation, or files that an engine reads, as often as needed."""

    table: Table
    names: list[str] | None  # None unless files were named
    files: list[File]
    engine: str
    wanted: Wanted

    @classmethod
    def of(cls, table: Table, engine: str | None, wanted: Wanted) -> "TableSource":
        """Open a source, once it is known that the libraries and the files are there."""
        names = file_names(table)
        if names is None and engine is not None:
            raise ParameterError("engine", "given for file names only: a dataframe has its own", engine)
        reader = _check.choice("engine", engine or "polars", ENGINES)
        if names is not None:
            parquet_scan(reader)  # its library is there
        require_library("narwhals", purpose="Summarizing a table")
        return cls(table, names, [] if names is None else expand(names), reader, wanted)

    def reading(self) -> AbstractContextManager[None]:
        """Make errors of an engine say nothing about the data, but where the first bad cell is."""
        return reading(self.names, partial(bad_cell, self.files, self.wanted) if self.files else None)

    def frames(self) -> tuple[Any, ...]:
        """Lazy frames of narwhals, whose rows follow one another."""
        with self.reading():
            tables = [self.table] if self.names is None else open_files(self.files, self.engine, self.wanted)
            converters = dict.fromkeys(self.wanted.numbers, floats)
            found = tuple(lazy_frame(table, converters) for table in tables)
        self.require(found)
        return found

    def require(self, frames: Sequence[Any]) -> None:
        """`DataError` that names the files, if they have not all columns that are wanted."""
        for frame in frames if self.files else ():
            with self.reading():
                names = frame.collect_schema().names()
            for column in self.wanted.required:
                require_column(column, names, self.title)

    @property
    def title(self) -> str:
        """The table in an error."""
        return table_title(self.names)


def lazy_frame(table: Table, converters: Mapping[str, Converter], texts: Sequence[str] = ()) -> Any:  # noqa: ANN401
    """Open a table as a lazy frame.

    pandas keeps exact numbers, booleans of which some are missing, bytes, and texts among other things as objects. Of
    these, columns that have ``converters`` become what these make of them, and ``texts``, however their names are
    spelled, become texts.
    """
    try:
        frame = nw.from_native(table)
        if isinstance(frame, nw.DataFrame):
            for name in [name for name, dtype in frame.schema.items() if dtype == nw.Object]:
                convert = converters.get(name, _texts if name.strip().lower() in texts else None)
                if convert is not None:
                    values, dtype = convert(frame[name].to_list())
                    frame = frame.with_columns(nw.new_series(name, values, dtype, backend=frame.implementation))
        return frame.lazy()
    except nw.exceptions.DuplicateError:
        raise_unchained(DataError("The table has two columns of the same name. Rename one of them."))
    except TypeError:
        kind = type(table).__name__
        raise_unchained(DataError(f"table must be a dataframe, a relation or file names, got {kind}."))


def floats(objects: list[Any]) -> tuple[Any, Any]:
    """Convert objects to floats; `DataError` if they are no numbers."""
    return as_floats(np.fromiter(objects, object, len(objects))), nw.Float64


def flags(objects: list[Any]) -> tuple[Any, Any]:
    """Convert booleans, of which some are missing, to floats."""
    return floats([float(x) if isinstance(x, (bool, np.bool_)) else x for x in objects])


def _texts(objects: list[Any]) -> tuple[Any, Any]:
    """Keep texts, and bytes that are one; None for anything else."""
    decoded = [x.decode("ascii", "replace") if isinstance(x, bytes) else x for x in objects]
    return [x if isinstance(x, str) else None for x in decoded], nw.String


# Files through an engine


class Chunk(NamedTuple):
    """A part of a table that is read at once, and how large it is."""

    table: Table
    size: int


def open_files(files: Sequence[File], engine: str, wanted: Wanted) -> list[Any]:
    """Open one relation for all text files, and one for all Parquet files of a folder or of none."""
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
    """Open files in chunks, by the size of the columns that are read; few large ones if not ``small``, or not Polars.

    Neighboring small files of a format are one chunk, and large Parquet files several.
    """
    if not small or engine != "polars" or any(file.remote for file in files):
        return [Chunk(table, 1) for table in open_files(files, engine, wanted)]
    chunks: list[Chunk] = []
    sizes = [Path(file.name).stat().st_size for file in files]
    read = list(accumulate(sizes, initial=0))

    def neighbors(i: int) -> tuple[bool, str | None, int, int]:
        large = sizes[i] > CHUNK_BYTES and not files[i].is_text
        return files[i].is_text, files[i].root, i if large else -1, read[i] // CHUNK_BYTES

    for (is_text, root, large, _), places in groupby(range(len(files)), neighbors):
        bundle = [files[i] for i in places]
        if large >= 0:
            chunks += _row_groups(bundle[0], wanted.required)
            continue
        table = scan_text(bundle, wanted) if is_text else _scan_with_polars([file.name for file in bundle], root)
        chunks.append(Chunk(table, sum(Path(file.name).stat().st_size for file in bundle)))
    return chunks


def read_columns(
    path: Path,
    columns: Sequence[str],
    *,
    items: Sequence[str] = (),
    others: Sequence[str] = (),
    csv: CsvFormat | None = None,
) -> "pl.DataFrame":
    """Read columns of numbers, of items that are texts, and others, of files named with ``*``."""
    wanted = Wanted(numbers=columns, texts=items, others=others, items=items, csv=csv or CsvFormat())
    source = TableSource.of(path, None, wanted)
    parts = [frame.to_native().select(wanted.required) for frame in source.frames()]
    with source.reading():
        read: pl.DataFrame = require_polars().concat(parts, how="vertical_relaxed").collect()
    for column in columns:
        if not read.schema[column].is_numeric():
            raise DataError(f"Column {column!r} must hold numbers, but holds {read.schema[column]}.")
    return read


def parquet_scan(engine: str) -> Callable[[list[str], str | None], Any]:
    """Return what opens Parquet files, given the folder that they were found in."""
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
    """Scan Parquet files; folders between the files and their root may name partitions."""
    remote = any("://" in name for name in names)
    frame: pl.LazyFrame = require_polars().scan_parquet(names, glob=remote, hive_partitioning=root is not None)
    frame.collect_schema()  # what cannot be read is found now
    return frame


def _row_groups(file: File, columns: Sequence[str]) -> Iterator[Chunk]:
    """Split a Parquet file between row groups."""
    from pyarrow.parquet import read_metadata

    metadata, table = read_metadata(file.name), _scan_with_polars([file.name], file.root)
    first = rows = size = 0
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        rows += group.num_rows
        read = [group.column(j) for j in range(group.num_columns)]
        size += sum(c.total_compressed_size for c in read if c.path_in_schema.split(".")[0] in columns)
        if size >= CHUNK_BYTES or (rows and i == metadata.num_row_groups - 1):
            yield Chunk(table.slice(first, rows), size)
            first, rows, size = first + rows, 0, 0


# Columns


def require_columns(schema: Schema, columns: Sequence[str], numbers: Sequence[str]) -> None:
    """Raise `DataError` unless a table has these columns, some of which hold numbers."""
    for column in columns:
        require_column(column, schema.names(), "The table")
    for column in numbers:
        if not schema[column].is_numeric() and schema[column] != nw.Unknown:
            raise DataError(f"Column {column!r} must hold numbers, but holds {schema[column]}.")


def as_float(dtype: DataType, column: str) -> Cells:
    """Convert a column to the nearest floats, also integers beyond 2^53, which some engines refuse."""
    x = nw.col(column)
    if dtype == nw.Float64:
        return x
    if dtype not in (nw.Int64, nw.UInt64):
        return x.cast(nw.Float64)
    word = 1 << 32  # both parts are exact, so that only their sum is rounded
    upper = x // word
    return upper.cast(nw.Float64) * float(word) + (x - upper * word).cast(nw.Float64)


def is_text(dtype: DataType) -> bool:
    """Whether a column holds texts, whichever way."""
    return dtype in (nw.String, nw.Categorical, nw.Enum)


def is_finite(x: Cells) -> Cells:
    """Whether each float is finite: NaN is either above all numbers or compares false, whatever the engine."""
    return x.is_between(-sys.float_info.max, sys.float_info.max)


def whole_number(dtype: DataType, column: str, least: int, most: int) -> tuple[Cells, Cells, type[int] | type[float]]:
    """Return a column, whether each cell is a whole number within these limits, and the type to compare it in."""
    x = nw.col(column)
    if dtype.is_integer() and dtype not in (nw.UInt64, nw.Int128, nw.UInt128):
        x = x.cast(nw.Int64)
        return x, x.is_between(least, most), int
    x = x.cast(nw.Float64)
    return x, x.is_between(float(least), float(most)) & (x.floor() == x), float


def indicator(condition: Cells) -> Cells:
    """1 where a condition holds, 0 where it does not or is null."""
    return nw.when(condition).then(nw.lit(1, nw.Int64)).otherwise(nw.lit(0, nw.Int64))


def floor_to_integer(x: Cells) -> Cells:
    """Floats rounded down, as integers: casting alone rounds in some engines."""
    return x.floor().cast(nw.Int64)


def collect(frame: Frame) -> list[dict[str, Any]]:
    """Collect the rows of a small result."""
    streaming = {"engine": "streaming"} if library(frame) == "polars" else {}
    rows: list[dict[str, Any]] = frame.collect(**streaming).rows(named=True)
    return rows


def library(frame: Frame) -> str:
    """Name the library of a frame: polars, pandas, pyarrow, duckdb or pyspark."""
    return type(frame.to_native()).__module__.split(".")[0].lstrip("_")
