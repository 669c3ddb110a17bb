from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hybriddp.channels import WindowChannel
from hybriddp.errors import DataError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.tables import simulate_devices, summarize

STUDY = MeanStudy("minutes", bounds=(0, 240), epsilon=2)
N = 40_000
MINUTES = np.random.default_rng(0).gamma(2.0, 20.0, N).clip(0, 240)
BAD = [None, float("nan"), float("inf"), float("-inf")]


@pytest.fixture
def users(spark: Any, tmp_path: Path) -> Any:  # noqa: ANN401
    """A table in several partitions, bad values at its end, and columns that have nothing to do with it."""
    table = pl.DataFrame(
        {
            "id": range(N + len(BAD)),
            "minutes": pl.Series([*MINUTES.tolist(), *BAD], dtype=pl.Float64),
            "tags": [["a", None], []] * ((N + len(BAD)) // 2),
        }
    )
    table.write_parquet(tmp_path / "users.parquet")
    return spark.read.parquet(str(tmp_path / "users.parquet")).repartition(3, "id")


def _codes(frame: Any) -> pl.DataFrame:  # noqa: ANN401
    collected = pl.from_arrow(frame.toArrow())
    assert isinstance(collected, pl.DataFrame)
    return collected.sort("id")


def _standard_errors_off(codes: pl.Series, truth: float) -> float:
    """How many standard errors the mean of the codes' values is from the truth."""
    assert isinstance(STUDY.channel, WindowChannel)
    values = 240 * np.asarray(STUDY.channel.values)[codes.drop_nulls().to_numpy()]
    return float(abs(values.mean() - truth) / (values.std() / len(values) ** 0.5))


def test_the_codes_are_those_of_devices(users: Any) -> None:  # noqa: ANN401
    frame = simulate_devices(users, STUDY, value="minutes")
    assert frame.columns == ["id", "minutes", "tags", "code"]
    table = _codes(frame)
    assert table["tags"].to_list()[:2] == [["a", None], []]
    assert table["code"].null_count() == len(BAD)
    assert table["code"][-len(BAD) :].to_list() == [None] * len(BAD)
    assert 0 <= int(table["code"].min()) <= int(table["code"].max()) < STUDY.channel.n_codes
    assert _standard_errors_off(table["code"], MINUTES.mean()) < 6


def test_the_check_sees_values_that_are_off(users: Any) -> None:  # noqa: ANN401
    from pyspark.sql import functions

    off = users.withColumn("minutes", functions.col("minutes") * 1.5)
    codes = _codes(simulate_devices(off, STUDY, value="minutes"))["code"]
    assert _standard_errors_off(codes, MINUTES.mean()) > 6


def test_codes_differ_from_run_to_run_unless_there_is_a_seed(users: Any) -> None:  # noqa: ANN401
    def run(seed: int | None) -> list[int | None]:
        return _codes(simulate_devices(users, STUDY, value="minutes", seed=seed))["code"].to_list()

    free, again, seeded = run(None), run(None), run(7)
    assert free != again
    assert seeded == run(7)
    assert seeded != run(8)


def test_partitions_with_the_same_values_get_different_codes(spark: Any) -> None:  # noqa: ANN401
    frame = spark.range(0, 2000, numPartitions=2).selectExpr("id", "30 AS minutes")
    codes = _codes(simulate_devices(frame, STUDY, value="minutes", report="answer", seed=1))["answer"].to_list()
    assert codes[:1000] != codes[1000:]


def test_the_simulated_table_can_be_summarized(users: Any, tmp_path: Path) -> None:  # noqa: ANN401
    simulate_devices(users, STUDY, value="minutes", seed=1).write.parquet(str(tmp_path / "reports"))
    reports = users.sparkSession.read.parquet(str(tmp_path / "reports"))
    local = summarize(reports, STUDY, report="code").local
    assert local is not None
    assert (local.count, local.rejected) == (N, 0)


def test_mistakes_are_named(users: Any) -> None:  # noqa: ANN401
    with pytest.raises(DataError, match="frame must be a PySpark DataFrame, got DataFrame"):
        simulate_devices(pl.DataFrame({"minutes": [1.0]}), STUDY, value="minutes")
    with pytest.raises(DataError, match="no column 'minuts'. Did you mean 'minutes'"):
        simulate_devices(users, STUDY, value="minuts")
    with pytest.raises(DataError, match="Column 'tags' must hold numbers, but holds array<string>"):
        simulate_devices(users, STUDY, value="tags")
    with pytest.raises(DataError, match="a column 'id' already"):
        simulate_devices(users, STUDY, value="minutes", report="id")
    with pytest.raises(ParameterError, match="^seed must be an integer of at least 0"):
        simulate_devices(users, STUDY, value="minutes", seed=-1)
