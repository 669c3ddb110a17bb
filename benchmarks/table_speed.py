"""Summaries of tables on disk, against one bare SUM of the same clipped column by the same engine.

``python -m benchmarks.table_speed`` takes less than a minute: 10^7 rows through Polars and DuckDB. With ``spark`` also
through Spark on two cores; with ``memory`` 10^8 rows through Polars, and the most memory that a fresh process needs.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.timing import medians
from hybriddp.mean import MeanStudy
from hybriddp.tables import summarize

ROWS = 10_000_000
STUDY = MeanStudy("benchmark", bounds=(0, 240), epsilon=1.0)
LOWER, UPPER = STUDY.bounds
_CHILD = """
import sys, time
from hybriddp.mean import MeanStudy
from hybriddp.tables import summarize
study = MeanStudy("benchmark", bounds=(0, 240), epsilon=1.0)
start = time.perf_counter()
trusted = summarize(sys.argv[1], study, value="x", progress=(lambda share: None) if sys.argv[2] == "steps" else None)
seconds = time.perf_counter() - start
# Not ru_maxrss of getrusage: on Linux a new process inherits the peak of the one that started it.
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
print(f"{trusted.trusted.count:.0e} rows, {sys.argv[2]}: {seconds:.1f} s, peak memory {peak:.0f} MB")
"""
CONNECTED = "bare, connection open already"
Actions = dict[str, Callable[[], object]]


def write(path: Path, rows: int, *, seed: int = 0) -> None:
    """Values of trusted users in ``x``; in ``y`` and ``code`` a tenth of them, and codes of the others."""
    rng = np.random.default_rng(seed)
    x = rng.gamma(2.0, 20.0, rows)
    trusted = rng.random(rows) < 0.1
    codes = STUDY.randomize(x, random_state=rng)
    frame = pl.DataFrame({"x": x, "code": codes.astype(np.int16), "trusted": trusted})
    frame.select(
        "x", y=pl.when("trusted").then("x"), code=pl.when(pl.col("trusted").not_()).then("code")
    ).write_parquet(path, row_group_size=1 << 20)


def through_polars(path: Path) -> Actions:
    """Polars, streaming."""

    def bare(column: str) -> object:
        total = pl.col(column).clip(LOWER, UPPER).sum()
        return pl.scan_parquet(path).select(total).collect(engine="streaming").item()

    return _against(bare, lambda **columns: summarize(path, STUDY, **columns))


def through_duckdb(path: Path) -> Actions:
    """DuckDB."""
    import duckdb

    open_already = duckdb.connect()

    def bare(column: str, connection: duckdb.DuckDBPyConnection | None = None) -> object:
        total = f"sum(greatest(least({column}, {UPPER}::DOUBLE), {LOWER}::DOUBLE))"
        return (connection or duckdb.connect()).read_parquet(str(path)).aggregate(total).fetchall()

    actions = _against(bare, lambda **columns: summarize(path, STUDY, engine="duckdb", **columns))
    return actions | {CONNECTED: lambda: bare("x", open_already)}


def through_spark(path: Path) -> Actions:
    """Spark on two cores."""
    from pyspark.sql import SparkSession, functions

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(str(path))

    def bare(column: str) -> object:
        clipped = functions.greatest(functions.least(functions.col(column), functions.lit(UPPER)), functions.lit(LOWER))
        return frame.select(functions.sum(clipped)).collect()

    return _against(bare, lambda **columns: summarize(frame, STUDY, **columns))


def _against(bare: Callable[[str], object], ours: Callable[..., object]) -> Actions:
    return {
        "bare": lambda: bare("x"),
        "value": lambda: ours(value="x"),
        "bare, tenth": lambda: bare("y"),
        "value and report": lambda: ours(value="y", report="code"),
    }


def measure(engine: str, actions: Actions, *, rounds: int) -> None:
    """Measure and print one engine."""
    seconds = medians(actions, rounds=rounds)
    value, both = seconds["value"] / seconds["bare"], seconds["value and report"] / seconds["bare, tenth"]
    print(f"{engine}: 10^7 rows, summary of a value column {1e3 * seconds['value']:.0f} ms,", end=" ")
    print(f"bare sum {1e3 * seconds['bare']:.0f} ms, ratio {value:.2f};", end=" ")
    print(f"value and report {1e3 * seconds['value and report']:.0f} ms, ratio {both:.2f}")
    if CONNECTED in seconds:  # a summary of a file opens its own, which takes a while whatever the size
        more = seconds["value"] / seconds[CONNECTED]
        print(f"  against a bare sum on a connection that is open already, ratio {more:.2f}")


def memory(folder: Path) -> None:
    """The most memory that a fresh process needs for 10^8 rows in ten files; its imports included."""
    for i in range(10):
        write(folder / f"part{i}.parquet", ROWS, seed=i)
    pattern = str(folder / "part*.parquet")
    for how in ("at once", "steps"):
        command: list[Any] = [sys.executable, "-c", _CHILD, pattern, how]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="")  # noqa: S603


def main(*what: str) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "users.parquet"
        write(path, ROWS)
        measure("Polars", through_polars(path), rounds=9)
        measure("DuckDB", through_duckdb(path), rounds=9)
        if "spark" in what:
            measure("Spark", through_spark(path), rounds=9)
        if "memory" in what:
            memory(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
