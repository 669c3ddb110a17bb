"""Spark: the claims of the other files, one of each kind, and devices that workers simulate."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hybriddp.channels import WindowChannel
from hybriddp.errors import DataError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.tables import simulate_devices, summarize
from tests.levels import z_limit
from tests.refusals import refused
from tests.tables import (
    test_frames,
    test_groups,
    test_kinds,
    test_kmeans_study,
    test_paths,
    test_points,
    test_report_files,
    test_rounds,
    test_simulate,
    test_trust,
    test_users,
)
from tests.tables.conftest import on_spark

Engine = Callable[[pl.DataFrame], Any]


@pytest.fixture
def engine(spark: Any, tmp_path: Path) -> Engine:
    return lambda frame: on_spark(spark, frame, tmp_path / "table.parquet")


BOTH_GROUPS = test_kinds.test_values_and_reports_in_one_table_are_counted_as_apart
FLOATS = test_kinds.test_hostile_floats_give_the_same_bits_on_every_engine
MEAN, BINS, SHARES, ITEMS = test_kinds.KINDS
ORACLES = test_kinds.test_reports_of_every_oracle_are_counted_as_from_an_array
SIMULATED = test_kinds.test_reports_are_simulated_for_those_who_do_not_trust
TRUSTS = test_trust.test_a_column_says_who_trusts_and_others_values_are_not_looked_at
REPRESENTATIVE: list[Callable[[Engine], None]] = [
    partial(FLOATS, case="mean"),
    partial(test_kinds.test_codes_of_something_else_are_refused, kind=MEAN),
    partial(test_groups.test_every_group_has_the_summaries_of_its_own_rows, dtype=pl.String),
    partial(test_kinds.check_integers, other=True),
]
CLAIMS: list[Callable[[Engine], None]] = [
    *(partial(FLOATS, case=case) for case in ("random", "equal", "log")),
    partial(test_kinds.check_texts, other=False),
    test_kinds.test_hostile_items_of_an_open_domain_are_counted_as_from_a_list,
    partial(test_kinds.test_numbers_may_be_of_every_numeric_type, dtype=pl.Decimal(10, 2)),
    test_kinds.test_integers_beyond_exact_floats,
    *(partial(BOTH_GROUPS, kind=kind) for kind in (MEAN, BINS, ITEMS)),
    partial(test_kinds.test_an_empty_table_is_an_empty_summary, kind=MEAN),
    *(partial(ORACLES, k=k) for k in (20, 3000)),
    *(partial(test_kinds.test_groups_users_and_consent, kind=kind) for kind in (BINS, SHARES)),
    *(partial(SIMULATED, kind=kind) for kind in (BINS, SHARES, ITEMS)),
    partial(test_groups.test_groups_can_be_integers, dtype=pl.Int64),
    partial(test_users.test_a_user_with_two_rows_is_refused, ids=None),
    test_users.test_the_first_row_of_a_user_is_kept_where_rows_have_an_order,
    *(partial(TRUSTS, kind=kind) for kind in ("words", "booleans")),
    partial(test_trust.test_a_raw_value_of_somebody_who_does_not_trust_is_refused, kind="integers"),
    test_report_files.test_a_column_ties_the_rows_of_any_table,
    test_simulate.test_reports_are_simulated_for_those_who_do_not_trust,
    test_points.check_bits,
    test_rounds.check_counts,
]


@pytest.mark.parametrize(
    "claim",
    [*(pytest.param(claim, marks=pytest.mark.representative) for claim in REPRESENTATIVE), *CLAIMS],
    ids=lambda claim: getattr(claim, "func", claim).__name__,
)
def test_spark_too(engine: Engine, claim: Callable[[Engine], None]) -> None:
    claim(engine)


@pytest.mark.usefixtures("spark")
def test_files_are_read_by_spark(tmp_path: Path, folder: Path) -> None:
    test_frames.test_every_engine_reads_the_same_integers_from_files(tmp_path, "spark", "parquet")
    test_frames.test_several_files_and_patterns_of_several_formats_are_one_table(tmp_path, "spark")
    test_frames.test_what_cannot_be_read_is_named(tmp_path, "spark")
    test_paths.test_a_folder_of_parquet_is_a_table_with_its_partitions(folder, "spark", None)


@pytest.mark.representative
def test_a_study_over_spark(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "rounds").mkdir()
    sizes = {"n_trusted": 100, "n_local": 3000}
    server = test_kmeans_study.compare(tmp_path / "rounds", engine, d=2, epsilon=2, reader="spark", **sizes)
    assert np.abs(np.sort(server.cluster_centers[:, 0]) - [-40, 60]).max() < 30


@pytest.mark.representative
def test_what_spark_says_about_a_row_is_not_passed_on(spark: Any) -> None:
    frame = spark.sql("SELECT cast(t AS double) x FROM VALUES ('1'), ('HIV-positive') AS rows(t)")
    with pytest.raises(DataError, match="The table cannot be read") as caught:
        summarize(frame, MEAN.study, value="x")
    error: BaseException = caught.value
    assert "HIV" not in str(error)
    assert error.__cause__ is error.__context__ is None


# Devices

DEVICES = MeanStudy("minutes", bounds=(0, 240), epsilon=2)
N = 40_000
MINUTES = np.random.default_rng(0).gamma(2.0, 20.0, N).clip(0, 240)
BAD = [None, float("nan"), float("inf"), float("-inf")]


@pytest.fixture(scope="module")
def users(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table in several partitions, bad values at its end, and columns that have nothing to do with it."""
    table = pl.DataFrame(
        {
            "id": range(N + len(BAD)),
            "minutes": pl.Series([*MINUTES.tolist(), *BAD], dtype=pl.Float64),
            "tags": [["a", None], []] * ((N + len(BAD)) // 2),
        }
    )
    path = tmp_path_factory.mktemp("spark") / "users.parquet"
    table.write_parquet(path)
    return spark.read.parquet(str(path)).repartition(3, "id")


def _collected(frame: Any) -> pl.DataFrame:
    collected = pl.from_arrow(frame.toArrow())
    assert isinstance(collected, pl.DataFrame)
    return collected.sort("id")


@pytest.mark.statistical
@pytest.mark.representative
def test_the_codes_are_those_of_devices(users: Any) -> None:
    frame = simulate_devices(users, DEVICES, value="minutes")
    assert frame.columns == ["id", "minutes", "tags", "code"]
    table = _collected(frame)
    assert table["tags"].to_list()[:2] == [["a", None], []]
    codes = table["code"]
    assert codes.is_null().to_list() == [False] * N + [True] * len(BAD)
    assert 0 <= int(codes.min()) <= int(codes.max()) < DEVICES.channel.n_codes
    assert isinstance(DEVICES.channel, WindowChannel)
    values = 240 * np.asarray(DEVICES.channel.values)[codes.drop_nulls().to_numpy()]
    error = values.std() / N**0.5
    assert abs(values.mean() - MINUTES.mean()) < z_limit() * error
    assert abs(values.mean() - 1.2 * MINUTES.mean()) > z_limit() * error  # a wrong scale is seen


@pytest.mark.representative
def test_codes_differ_from_run_to_run_unless_there_is_a_seed(spark: Any) -> None:
    frame = spark.range(0, 2000, numPartitions=2).selectExpr("id", "30 AS minutes")

    def run(seed: int | None) -> list[int | None]:
        return _collected(simulate_devices(frame, DEVICES, value="minutes", report="answer", seed=seed))[
            "answer"
        ].to_list()

    seeded = run(7)
    assert seeded[:1000] != seeded[1000:]  # partitions with the same values get different codes
    assert seeded == run(7)
    assert seeded != run(8)
    assert run(None) != run(None)


def test_the_simulated_table_can_be_summarized(users: Any, tmp_path: Path) -> None:
    simulate_devices(users, DEVICES, value="minutes", seed=1).write.parquet(str(tmp_path / "reports"))
    reports = users.sparkSession.read.parquet(str(tmp_path / "reports"))
    local = summarize(reports, DEVICES, report="code").local
    assert (local.count, local.rejected) == (N, 0)


def test_mistakes_are_named(users: Any) -> None:
    with pytest.raises(DataError, match="frame must be a PySpark DataFrame, got DataFrame"):
        simulate_devices(pl.DataFrame({"minutes": [1.0]}), DEVICES, value="minutes")
    refused(DataError, "no column 'minuts'. Did you mean 'minutes'", simulate_devices, users, DEVICES, value="minuts")
    with pytest.raises(DataError, match="Column 'tags' must hold numbers, but holds array<string>"):
        simulate_devices(users, DEVICES, value="tags")
    refused(DataError, "a column 'id' already", simulate_devices, users, DEVICES, value="minutes", report="id")
    with pytest.raises(ParameterError, match="^seed must be an integer of at least 0"):
        simulate_devices(users, DEVICES, value="minutes", seed=-1)
