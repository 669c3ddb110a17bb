"""Files through an engine: Polars, DuckDB or Spark read them when, and as far as, they are needed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hybriddp.errors import DataError, MissingExtraError
from hybriddp.tables.names import ending, expand, shown

if TYPE_CHECKING:
    import polars as pl

ENGINES = ("polars", "duckdb", "spark")
_ROWS_FOR_TYPES = 10_000  # rows of a .csv or .jsonl file that Polars looks at to tell the types of its columns


def open_files(names: Sequence[str], engine: str) -> list[Any]:
    """One relation for all files of a format."""
    scan = _SCANS[engine]()
    formats: dict[str, list[str]] = {}
    for name in expand(names):
        formats.setdefault(ending(name), []).append(name)
    with reading(names, engine):
        return [scan(files, kind) for kind, files in formats.items()]


@contextmanager
def reading(names: Sequence[str], engine: str) -> Iterator[None]:
    """Turn what an engine raises about files into a `DataError` that names them."""
    try:
        yield
    except _errors(engine) as reason:
        raise DataError(f"{shown(names)} cannot be read: {_first_line(reason)}") from reason


def scan_polars(names: Sequence[str], kind: str) -> "pl.LazyFrame":
    """Files of one format as a lazy frame."""
    polars = require_polars()
    remote = any("://" in name for name in names)
    frame: pl.LazyFrame
    if kind == ".parquet":
        frame = polars.scan_parquet(names, glob=remote)
    elif kind == ".csv":
        frame = polars.scan_csv(names, glob=remote, infer_schema_length=_ROWS_FOR_TYPES)
    else:
        frame = polars.scan_ndjson(names, infer_schema_length=_ROWS_FOR_TYPES)
    frame.collect_schema()  # what cannot be read is found now
    return frame


def require_polars() -> Any:  # noqa: ANN401
    """The library, or an error that says how to get it."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", extra="tables", purpose="Reading and writing tables") from None
    return polars


def _polars_scan() -> Callable[[list[str], str], Any]:
    require_polars()
    return scan_polars


def _duckdb_scan() -> Callable[[list[str], str], Any]:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("duckdb", extra="tables", purpose="Reading files with DuckDB") from None
    connection = duckdb.connect()

    def scan(names: list[str], kind: str) -> Any:  # noqa: ANN401
        if kind == ".parquet":
            return connection.read_parquet(names)
        if kind == ".csv":
            return connection.read_csv(names, header=True)  # type: ignore[arg-type]  # lists work too
        return connection.read_json(names, format="newline_delimited")  # type: ignore[arg-type]  # lists work too

    return scan


def _spark_scan() -> Callable[[list[str], str], Any]:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("pyspark", extra="spark", purpose="Reading files with Spark") from None
    read = SparkSession.builder.getOrCreate().read

    def scan(names: list[str], kind: str) -> Any:  # noqa: ANN401
        if kind == ".parquet":
            return read.parquet(*names)
        if kind == ".csv":  # the infinities as the other engines write them
            return read.csv(names, header=True, inferSchema=True, positiveInf="inf", negativeInf="-inf")
        return read.json(names)

    return scan


_SCANS = {"polars": _polars_scan, "duckdb": _duckdb_scan, "spark": _spark_scan}


def _errors(engine: str) -> tuple[type[Exception], ...]:
    """What an engine raises itself, and narwhals in its place."""
    raised: list[type[Exception]] = [OSError]
    if engine == "polars":
        raised.append(require_polars().exceptions.PolarsError)
    elif engine == "duckdb":
        import duckdb

        raised.append(duckdb.Error)
    else:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        raised += [PySparkException, Py4JError]
    try:
        from narwhals.exceptions import NarwhalsError
    except ImportError:  # reading columns needs no narwhals
        return tuple(raised)
    return (*raised, NarwhalsError)


def _first_line(reason: Exception) -> str:
    """What an engine says in short; an error of Java says in its first line only that it is one."""
    lines = str(reason).strip().splitlines() or [type(reason).__name__]
    return lines[1].lstrip(": ") if lines[0].startswith("An error occurred while calling") and lines[1:] else lines[0]
