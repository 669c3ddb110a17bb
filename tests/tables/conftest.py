"""Every engine that a table can live in."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from tests.machine import JAVA_HOME


@cache  # connecting takes longer than most tests, and relations of one connection know nothing of each other
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def _duckdb(frame: pl.DataFrame) -> Any:
    return _connection().from_arrow(frame.to_arrow())


ENGINES: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "polars lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "pandas arrow": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": _duckdb,
}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A real session on two cores, for the whole run; its tests are one group, so that one worker has them all."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("hybriddp tests")
    options = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",  # more stages, for tables that are not this small
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # starts soon, and ends soon
    }
    for key, value in options.items():
        builder = builder.config(key, value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)  # workers are otherwise whatever is called python3
        if JAVA_HOME.exists():
            patch.setenv("JAVA_HOME", str(JAVA_HOME))
        elif not Path(os.environ.get("JAVA_HOME", ""), "bin", "java").exists():
            patch.delenv("JAVA_HOME", raising=False)  # the one on the path was found to be good
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def on_spark(session: Any, frame: pl.DataFrame, path: Path) -> Any:
    """Through a file, as Spark's users have it."""
    signed = frame.with_columns(pl.col(pl.UInt16, pl.UInt8).cast(pl.Int32))  # Spark has no unsigned integers
    signed.write_parquet(path)
    return session.read.parquet(str(path))


# These two do what polars and pandas do, and take seconds over all tests.
REPEATED = ("polars lazy", "pandas arrow")


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.repeated) if name in REPEATED else name for name in ENGINES]
)
def engine(request: pytest.FixtureRequest) -> Callable[[pl.DataFrame], Any]:
    """All of them but Spark, which takes seconds for what the others do at once: its turn is in test_spark.py."""
    return ENGINES[request.param]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Hive partitions, and what writers leave beside them."""
    for i, (country, year) in enumerate([("DE", 2025), ("DE", 2026), ("FR", 2026)]):
        part = tmp_path / "users" / f"country={country}" / f"year={year}"
        part.mkdir(parents=True)
        pl.DataFrame({"x": [10.0 * i, 5.0]}).write_parquet(part / "part-0.parquet")
    (tmp_path / "users" / "_SUCCESS").touch()
    (tmp_path / "users" / "_temporary").mkdir()
    pl.DataFrame({"x": [99.0]}).write_parquet(tmp_path / "users" / "_temporary" / "x.parquet")
    pl.DataFrame({"x": [99.0]}).write_parquet(tmp_path / "users" / ".hidden.parquet")
    return tmp_path / "users"
