"""Files through an engine: Polars, DuckDB or Spark read them when, and as far as, they are needed."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hybriddp.errors import MissingExtraError
from hybriddp.tables.names import ending, expand
from hybriddp.tables.reading import reading

if TYPE_CHECKING:
    import polars as pl

ENGINES = ("polars", "duckdb", "spark")
_Scan = Callable[[list[str], str, Sequence[str]], Any]  # files, their format, and the columns that hold numbers
_ROWS_FOR_TYPES = 10_000  # rows of a .csv or .jsonl file that Polars looks at to tell the types of its columns


def open_files(names: Sequence[str], engine: str, *, numbers: Sequence[str] = ()) -> list[Any]:
    """One relation for all files of a format.

    Text files do not say what type a column has, and the first rows of one that is empty for a whole group of users
    say nothing. So those columns that are known to hold numbers are read as such.
    """
    scan = _SCANS[engine]()
    formats: dict[str, list[str]] = {}
    for name in expand(names):
        formats.setdefault(ending(name), []).append(name)
    with reading(names):
        return [scan(files, kind, numbers) for kind, files in formats.items()]


def scan_polars(names: Sequence[str], kind: str, numbers: Sequence[str]) -> "pl.LazyFrame":
    """Files of one format as a lazy frame."""
    polars = require_polars()
    options: dict[str, Any] = {}
    if kind != ".parquet":
        options["infer_schema_length"] = _ROWS_FOR_TYPES
    if kind in (".parquet", ".csv"):
        options["glob"] = any("://" in name for name in names)
    scan = {".parquet": polars.scan_parquet, ".csv": polars.scan_csv}.get(kind, polars.scan_ndjson)
    frame: pl.LazyFrame = scan(names, **options)
    schema = frame.collect_schema()  # what cannot be read is found now
    unsure = (polars.Int64, polars.String if kind == ".csv" else polars.Null)
    floats = {name: polars.Float64 for name in numbers if schema.get(name) in unsure}
    return scan(names, schema_overrides=floats, **options) if floats and kind != ".parquet" else frame


def require_polars() -> Any:  # noqa: ANN401
    """The library, or an error that says how to get it."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", extra="tables", purpose="Reading and writing tables") from None
    return polars


def _polars_scan() -> _Scan:
    require_polars()
    return scan_polars


def _duckdb_scan() -> _Scan:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("duckdb", extra="tables", purpose="Reading files with DuckDB") from None
    connection = duckdb.connect()

    def scan(names: list[str], kind: str, numbers: Sequence[str]) -> Any:  # noqa: ANN401
        if kind == ".parquet":
            return connection.read_parquet(names)
        files: Any = names  # lists work, whatever the types say
        if kind != ".csv":
            return connection.read_json(files, format="newline_delimited")
        found = connection.read_csv(files, header=True)
        unsure = {name for name, kind in zip(found.columns, found.types, strict=True) if kind in ("VARCHAR", "BIGINT")}
        return connection.read_csv(files, header=True, dtype={name: "DOUBLE" for name in numbers if name in unsure})

    return scan


def _spark_scan() -> _Scan:
    try:
        from pyspark.sql import SparkSession
        from pyspark.sql.types import DoubleType, StructField, StructType
    except ImportError:
        raise MissingExtraError("pyspark", extra="spark", purpose="Reading files with Spark") from None
    read = SparkSession.builder.getOrCreate().read

    def scan(names: list[str], kind: str, numbers: Sequence[str]) -> Any:  # noqa: ANN401
        if kind == ".parquet":
            return read.parquet(*names)
        # Infinities as the other engines write them.
        csv: dict[str, Any] = {"header": True, "positiveInf": "inf", "negativeInf": "-inf"}
        found = read.csv(names, inferSchema=True, **csv) if kind == ".csv" else read.json(names)
        unsure = [name for name, kind in found.dtypes if kind == "string" and name in numbers]
        if not unsure:
            return found
        fields = [StructField(f.name, DoubleType() if f.name in unsure else f.dataType) for f in found.schema]
        # A text is an error, not a missing number.
        again: dict[str, Any] = {"schema": StructType(fields), "mode": "FAILFAST"}
        return read.csv(names, **again, **csv) if kind == ".csv" else read.json(names, **again)

    return scan


_SCANS = {"polars": _polars_scan, "duckdb": _duckdb_scan, "spark": _spark_scan}
