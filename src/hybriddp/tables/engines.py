"""Files through an engine: Polars, DuckDB or Spark read Parquet when, and as far as, it is needed.

Text files are always read by Polars (`hybriddp.tables.text`), so that a cell means the same whatever the engine is.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hybriddp.errors import DataError, MissingExtraError
from hybriddp.tables.names import File
from hybriddp.tables.text import Wanted, scan_text

if TYPE_CHECKING:
    import polars as pl

ENGINES = ("polars", "duckdb", "spark")
_Scan = Callable[[list[str], str | None], Any]  # Parquet files, and the folder that they were found in


def open_files(files: Sequence[File], engine: str, wanted: Wanted) -> list[Any]:
    """One relation for all text files, and one for all Parquet files of a folder or of none."""
    scan = _SCANS[engine]()
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


def scan_parquet(names: list[str], root: str | None) -> "pl.LazyFrame":
    """Parquet files as a lazy frame of Polars; folders between the files and their root may name partitions."""
    polars = require_polars()
    remote = any("://" in name for name in names)
    frame: pl.LazyFrame = polars.scan_parquet(names, glob=remote, hive_partitioning=root is not None)
    frame.collect_schema()  # what cannot be read is found now
    return frame


def require_engine(engine: str) -> None:
    """Nothing, if the library of an engine is there; an error that says how to get it if not."""
    _SCANS[engine]()


def require_polars() -> Any:  # noqa: ANN401
    """The library, or an error that says how to get it."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", extra="tables", purpose="Reading and writing tables") from None
    return polars


def _polars_scan() -> _Scan:
    require_polars()
    return scan_parquet


def _duckdb_scan() -> _Scan:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("duckdb", extra="tables", purpose="Reading files with DuckDB") from None
    return lambda names, root: duckdb.connect().read_parquet(names, hive_partitioning=root is not None)


def _spark_scan() -> _Scan:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("pyspark", extra="spark", purpose="Reading files with Spark") from None

    def scan(names: list[str], root: str | None) -> Any:  # noqa: ANN401
        read = SparkSession.builder.getOrCreate().read
        return (read if root is None else read.option("basePath", root)).parquet(*names)

    return scan


_SCANS = {"polars": _polars_scan, "duckdb": _duckdb_scan, "spark": _spark_scan}
