"""Any table as lazy frames of narwhals, what every query does to its columns first, and its rows in batches of Arrow.

Batches are for what an engine cannot compute by itself. They are of bounded size wherever the engine can stream. In
Spark the work is done by the workers, partition by partition, and only what comes out of it travels.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybriddp import _check
from hybriddp.errors import DataError, ParameterError, raise_unchained
from hybriddp.grid import as_floats
from hybriddp.tables.chunks import ENGINES, open_files, parquet_scan, require_library
from hybriddp.tables.paths import File, expand, file_names, reading, table_title
from hybriddp.tables.text import Wanted, bad_cell, require_column

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 16
"""Rows that are read at a time."""

Work = Callable[[Iterator["pa.RecordBatch"]], Iterator[NDArray[Any]]]
"""From the batches of a table, or of a part of it, to arrays."""


class _Narwhals:
    """The library that speaks to all engines, imported when it is used first."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(require_library("narwhals", purpose="Summarizing a table"), name)


nw: Any = _Narwhals()


@dataclass(frozen=True, slots=True)
class TableSource:
    """A dataframe, a relation, or files that an engine reads, as often as needed."""

    table: Any
    names: list[str] | None  # None unless files were named
    files: list[File]
    engine: str
    wanted: Wanted

    @classmethod
    def of(cls, table: Any, engine: str | None, wanted: Wanted) -> "TableSource":  # noqa: ANN401
        """What was given, once it is known that the libraries and the files are there."""
        names = file_names(table)
        if names is None and engine is not None:
            raise ParameterError("engine", "given for file names only: a dataframe has its own", engine)
        reader = _check.choice("engine", engine or "polars", ENGINES)
        if names is not None:
            parquet_scan(reader)  # its library is there
        require_library("narwhals", purpose="Summarizing a table")
        return cls(table, names, [] if names is None else expand(names), reader, wanted)

    def reading(self) -> AbstractContextManager[None]:
        """A context in which an engine's errors say nothing about the data, but where the first bad cell is."""
        return reading(self.names, partial(bad_cell, self.files, self.wanted) if self.files else None)

    def frames(self) -> tuple[Any, ...]:
        """Lazy frames of narwhals, whose rows follow one another."""
        with self.reading():
            tables = [self.table] if self.names is None else open_files(self.files, self.engine, self.wanted)
            return tuple(lazy_frame(table, self.wanted.numbers) for table in tables)

    @property
    def title(self) -> str:
        """The table in an error."""
        return table_title(self.names)


def lazy_frame(table: Any, numbers: Sequence[str], *, answers: Sequence[str] = (), texts: Sequence[str] = ()) -> Any:  # noqa: ANN401
    """A table as a lazy frame.

    pandas keeps exact numbers, booleans of which some are missing, bytes, and texts among other things as objects. Of
    these, ``numbers`` and ``answers``, which are yes and no, become floats, and ``texts``, however their names are
    spelled, become texts.
    """
    try:
        frame = nw.from_native(table)
        if isinstance(frame, nw.DataFrame):
            for name in [name for name, dtype in frame.schema.items() if dtype == nw.Object]:
                values: Any
                if name in numbers:
                    values, dtype = as_floats(frame[name].to_numpy()), nw.Float64
                elif name in answers:
                    flags = [float(x) if isinstance(x, (bool, np.bool_)) else x for x in frame[name].to_list()]
                    values, dtype = as_floats(np.array(flags, object)), nw.Float64
                elif name.strip().lower() in texts:
                    values, dtype = [_text(x) for x in frame[name].to_list()], nw.String
                else:
                    continue
                frame = frame.with_columns(nw.new_series(name, values, dtype, backend=frame.implementation))
        return frame.lazy()
    except nw.exceptions.DuplicateError:
        raise_unchained(DataError("The table has two columns of the same name. Rename one of them."))
    except TypeError:
        kind = type(table).__name__
        raise_unchained(DataError(f"table must be a dataframe, a relation or file names, got {kind}."))


def _text(x: object) -> str | None:
    """A text, or bytes that are one; None for anything else."""
    if isinstance(x, bytes):
        return x.decode("ascii", "replace")
    return x if isinstance(x, str) else None


# Columns


def require_columns(schema: Any, columns: Sequence[str], numbers: Sequence[str]) -> None:  # noqa: ANN401
    """Nothing, if a table has these columns, and some of them hold numbers; `DataError` if not."""
    for column in columns:
        require_column(column, schema.names(), "The table")
    for column in numbers:
        if not schema[column].is_numeric() and schema[column] != nw.Unknown:
            raise DataError(f"Column {column!r} must hold numbers, but holds {schema[column]}.")


def as_float(dtype: Any, column: str) -> Any:  # noqa: ANN401
    """A column as floats: the nearest one, also for integers beyond 2^53, whose conversion some engines refuse."""
    x = nw.col(column)
    if dtype == nw.Float64:
        return x
    if dtype not in (nw.Int64, nw.UInt64):
        return x.cast(nw.Float64)
    word = 1 << 32  # both parts are exact, so that only their sum is rounded
    upper = x // word
    return upper.cast(nw.Float64) * float(word) + (x - upper * word).cast(nw.Float64)


def is_text(dtype: Any) -> bool:  # noqa: ANN401
    """Whether a column holds texts, whichever way."""
    return dtype in (nw.String, nw.Categorical, nw.Enum)


def is_finite(x: Any) -> Any:  # noqa: ANN401
    """Whether each float is finite: NaN is either above all numbers or compares false, whatever the engine."""
    return x.is_between(-sys.float_info.max, sys.float_info.max)


def whole_number(dtype: Any, column: str, least: int, most: int) -> tuple[Any, Any, type[int] | type[float]]:  # noqa: ANN401
    """A column, whether each cell is a whole number within these limits, and the type that it is compared in."""
    x = nw.col(column)
    if dtype.is_integer() and dtype not in (nw.UInt64, nw.Int128, nw.UInt128):
        x = x.cast(nw.Int64)
        return x, x.is_between(least, most), int
    x = x.cast(nw.Float64)
    return x, x.is_between(float(least), float(most)) & (x.floor() == x), float


def indicator(condition: Any) -> Any:  # noqa: ANN401
    """1 where a condition holds, 0 where it does not or is null."""
    return nw.when(condition).then(nw.lit(1, nw.Int64)).otherwise(nw.lit(0, nw.Int64))


def floor_to_integer(x: Any) -> Any:  # noqa: ANN401
    """Floats rounded down, as integers: casting alone rounds in some engines."""
    return x.floor().cast(nw.Int64)


# Rows


def collect(frame: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """The rows of a small result."""
    streaming = {"engine": "streaming"} if library(frame) == "polars" else {}
    rows: list[dict[str, Any]] = frame.collect(**streaming).rows(named=True)
    return rows


def library(frame: Any) -> str:  # noqa: ANN401
    """What a frame of narwhals is made of: polars, pandas, pyarrow, duckdb or pyspark."""
    return type(frame.to_native()).__module__.split(".")[0].lstrip("_")


def computed(frame: Any, work: Work, dtype: type[np.generic]) -> Iterator[NDArray[Any]]:  # noqa: ANN401
    """What comes out of some work on a lazy frame of narwhals, as flat arrays of one type, in the order of the rows.

    All of it has to be taken: some engines cannot do anything else in the meantime.
    """
    native = frame.to_native()
    if hasattr(native, "mapInArrow"):
        for row in native.mapInArrow(_Packed(work, dtype), "cell binary").toLocalIterator():
            yield np.frombuffer(row[0], dtype)
    else:
        for array in work(_batches(native, library(frame))):
            yield array.astype(dtype, copy=False).ravel()


class _Packed:
    """Some work whose arrays come as bytes, one cell each: for a worker of Spark."""

    def __init__(self, work: Work, dtype: type[np.generic]) -> None:
        self.work, self.dtype = work, dtype

    def __call__(self, batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        import pyarrow as pa

        for array in self.work(batches):
            cell = pa.array([array.astype(self.dtype, copy=False).tobytes()], pa.binary())
            yield pa.RecordBatch.from_arrays([cell], ["cell"])


def _batches(native: Any, kind: str) -> Iterator["pa.RecordBatch"]:  # noqa: ANN401
    """The rows of a table that is in this process."""
    pa = require_library("pyarrow", purpose="Reading a table in batches")
    if kind == "polars":
        if hasattr(native, "collect_batches"):
            parts = native.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming")
        else:  # before 1.34
            parts = native.collect(engine="streaming").iter_slices(BATCH)
        for part in parts:
            yield from part.to_arrow().to_batches(BATCH)
    elif kind == "duckdb":
        # Older versions have another name for it.
        reader = (native.to_arrow_reader if hasattr(native, "to_arrow_reader") else native.fetch_arrow_reader)(BATCH)
        try:
            yield from reader
        finally:
            reader.close()
    elif kind == "pandas":
        for first in range(0, len(native), BATCH):
            yield pa.RecordBatch.from_pandas(native.iloc[first : first + BATCH], preserve_index=False)
    else:
        yield from native.to_batches(BATCH)
