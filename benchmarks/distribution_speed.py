"""How long distributions take: devices, a trusted table of 10^7 rows on every engine, and one estimate.

    python -m benchmarks.distribution_speed

"Own" is the engine's own count of equal bins: clip, divide, floor, group. Ours gives bins by integer cuts, and counts
what is missing and what was clamped. Processor time of all threads, the least of some rounds in which both run in turn:
others may use the machine.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow.compute as pc

from benchmarks.timing import least_cpu
from hybriddp import DistributionStudy, summarize

N = 10**7
WIDTH = 10_000 / 254


def main() -> None:
    """Time all of it, ours and the engine's own in turn."""
    values = np.random.default_rng(0).lognormal(6, 0.8, N)
    frame = pl.DataFrame({"x": values})
    arrow, pandas, connection = frame.to_arrow(), frame.to_pandas(), duckdb.connect()
    connection.register("t", arrow)

    def group(table: pl.LazyFrame) -> Any:  # noqa: ANN401
        binned = table.select(b=(pl.col("x").clip(0, 10_000) / WIDTH).floor().cast(pl.Int64))
        return binned.group_by("b").agg(pl.len()).collect(engine="streaming")

    def arrow_own() -> Any:  # noqa: ANN401
        clipped = pc.min_element_wise(pc.max_element_wise(arrow["x"], 0.0), 10_000.0)
        return pc.value_counts(pc.cast(pc.floor(pc.divide(clipped, WIDTH)), "int64"))

    sql = f"select floor(least(greatest(x, 0), 10000) / {WIDTH})::bigint b, count(*) from t group by b"  # noqa: S608
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        frame.write_parquet(path)
        engines: dict[str, tuple[Any, Callable[[], Any]]] = {
            "polars": (frame, lambda: group(frame.lazy())),
            "polars, Parquet": (path, lambda: group(pl.scan_parquet(path))),
            "duckdb": (connection.table("t"), lambda: connection.sql(sql).fetchall()),
            "pyarrow": (arrow, arrow_own),
            "pandas": (pandas, lambda: (pandas["x"].clip(0, 10_000) / WIDTH).astype("int64").value_counts()),
        }
        for scale in ("equal", "log"):
            study = DistributionStudy("x", bounds=(0, 10_000), epsilon=1, scale=scale)
            for name, (table, own) in engines.items():
                taken = least_cpu({"ours": _counting(table, study), "own": own}, rounds=3)
                mine, theirs = taken["ours"], taken["own"]
                told = f"{1000 * mine:.0f} ms, the engine's own {1000 * theirs:.0f} ms, ratio {mine / theirs:.2f}"
                print(f"{scale} bins of 10^7 values, {name}: {told}", flush=True)
    for epsilon in (1, 4):
        study = DistributionStudy("x", bounds=(0, 10_000), epsilon=epsilon, scale="log")
        seconds = least_cpu({"": _randomizing(study, values)}, rounds=2)[""]
        print(f"10^7 reports at ε = {epsilon}: {1e9 * seconds / N:.0f} ns of processor time each")


def _counting(table: Any, study: DistributionStudy) -> Callable[[], object]:  # noqa: ANN401
    return lambda: summarize(table, study, value="x")


def _randomizing(study: DistributionStudy, values: Any) -> Callable[[], object]:  # noqa: ANN401
    return lambda: study.randomize(values)


if __name__ == "__main__":
    main()
