from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hybriddp.errors import DataError, ParameterError
from hybriddp.kmeans.points import PointArray, TrustedPoints
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.reports.base import GridQuestion, Labels, Projection
from hybriddp.kmeans.statistics import STEP_PARTS, ClusterSums, Histogram, PointStatistic, SecondMoments
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.tables import batches
from hybriddp.tables.points import TrustedTable, trusted_points
from hybriddp.tables.report_files import write_table
from tests.refusals import refused

Engine = Callable[[pl.DataFrame], Any]

# Widths whose inverses are not exact, so that a division would give other bits than a product.
STUDY = KMeansStudy("x", n_clusters=2, bounds=[(-60, 1440), (0, 49), (-0.3, 0.1)], epsilon=1)
BOX, COLUMNS = STUDY.box, ["x", "y", "z"]
BAD = [None, float("nan"), float("inf"), float("-inf")]


def _grid(*sizes: int) -> GridQuestion:
    return GridQuestion(None, np.zeros(len(sizes)), BOX.widths[: len(sizes)] / (np.array(sizes) - 1), sizes)


def _points() -> np.ndarray:
    """Random points, some outside; corners and vertices of a grid, with their neighbors among the floats.

    Others lie where a part of a step begins: there the last bit decides what is hashed, and so where a point goes.
    """
    rng = np.random.default_rng(0)
    free = rng.normal([700, 25, -0.1], [500, 15, 0.15], (20_000, 3))
    axes = [np.linspace(lower, upper, 29) for lower, upper in BOX.bounds]
    vertices = np.stack([rng.permutation(np.repeat(axis, 10)) for axis in axes], axis=1)
    ticks = BOX.lower + rng.integers(0, 28 * STEP_PARTS, (3000, 3)) / STEP_PARTS / 28 * (BOX.upper - BOX.lower)
    edges = np.array([np.array(BOX.bounds)[:, i] for i in (0, 1)])
    extreme = [[1e308, -1e308, 5e-324], [-0.0, -0.0, -0.0], [0.1, 1 / 3, 1e-310]]
    return np.concatenate(
        [free, ticks, vertices, np.nextafter(vertices, np.inf), np.nextafter(vertices, -np.inf), edges, extreme]
    )


POINTS = _points()
FRAME = pl.DataFrame(POINTS, schema=COLUMNS)
HOLES = pl.DataFrame(
    [[bad if i == j else 1e9 for i in range(3)] for bad in BAD for j in range(3)],
    schema=dict.fromkeys(COLUMNS, pl.Float64),
    orient="row",
)

VIEW = Projection(np.full(3, 0.2), np.array([[0.6, 0.8, 0.0]]))
CENTERS = np.array([[0.2, 0.01, 0.0001], [0.7, 0.02, 0.0002]])
OTHERS: list[PointStatistic] = [
    Histogram(GridQuestion(VIEW, np.array([-0.5]), np.array([0.07]), (15,))),
    ClusterSums(Labels(CENTERS), np.array([0.3, 0.1]), 1000),
    SecondMoments(np.full(3, 0.1), 0.5),
]


# The same integers everywhere


def _both(table: Any) -> tuple[TrustedTable, PointArray]:
    return trusted_points(table, STUDY, columns=COLUMNS), PointArray(BOX, POINTS, "points")


@pytest.mark.repeated
def test_every_engine_gets_the_bits_of_numpy(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH", 700)
    check_bits(engine)


def check_bits(engine: Engine) -> None:
    group, memory = _both(engine(pl.concat([FRAME[:9000], HOLES, FRAME[9000:]])))
    assert isinstance(group, TrustedPoints)
    assert (group.count, group.clamped, group.rejected) == (memory.count, memory.clamped, len(HOLES))
    assert 0 < group.clamped < group.count
    for statistic in (Histogram(_grid(29, 29, 29)), *OTHERS):
        assert group.exact(statistic).tolist() == memory.exact(statistic).tolist()


@pytest.mark.repeated
@pytest.mark.parametrize("scale", ["none", [1, 3, 0.7]], ids=["none", "weights"])
def test_every_scale_gives_the_bits_of_numpy(engine: Engine, scale: Any) -> None:
    study = KMeansStudy("x", n_clusters=2, bounds=list(BOX.bounds), epsilon=1, scale=scale)
    grid = Histogram(GridQuestion(None, np.zeros(3), study.box.widths / 28, (29, 29, 29)))
    group = trusted_points(engine(FRAME), study, columns=COLUMNS)
    memory = PointArray(study.box, POINTS, "points")
    for statistic in (grid, *OTHERS):
        assert group.exact(statistic).tolist() == memory.exact(statistic).tolist()
    other = memory.exact(grid).tolist() != PointArray(BOX, POINTS, "points").exact(grid).tolist()
    assert other  # the scale makes a difference
    with pytest.raises(ParameterError, match="the bounds and the scale of this study"):
        HybridKMeansServer(STUDY, n_local=1000, trusted=group, random_state=1)


@pytest.mark.repeated
@pytest.mark.parametrize("sizes", [(2, 2, 2), (4, 512, 2), (3, 5, 250)])
def test_grids_of_any_shape(engine: Engine, sizes: tuple[int, ...]) -> None:
    group, memory = _both(engine(FRAME))
    assert group.exact(Histogram(_grid(*sizes))).tolist() == memory.exact(Histogram(_grid(*sizes))).tolist()


def test_the_longest_grid(engine: Engine) -> None:
    line = KMeansStudy("x", n_clusters=2, bounds=[(-60, 1440)], epsilon=1)
    x = np.concatenate([POINTS[:, :1], np.linspace(1300, 1440, 20_000)[:, None]])
    grid = Histogram(_grid(4096))
    group = trusted_points(engine(pl.DataFrame({"x": x[:, 0]})), line, columns=["x"])
    assert group.exact(grid).tolist() == PointArray(line.box, x, "points").exact(grid).tolist()


@pytest.mark.repeated
@pytest.mark.parametrize(
    "dtype",
    [
        pl.Int8,
        pl.Float32,
        pl.Decimal(10, 2),
        pl.Int64,
        pl.UInt16,
    ],
)
def test_every_numeric_type_is_a_coordinate(engine: Engine, dtype: Any) -> None:
    frame = pl.DataFrame({name: pl.Series([1, 2, 100], dtype=dtype) for name in COLUMNS})
    group = trusted_points(engine(frame), STUDY, columns=COLUMNS)
    memory = PointArray(BOX, np.array([[1, 2, 100]] * 3).T, "points")
    for statistic in (Histogram(_grid(5, 5, 5)), OTHERS[1]):
        assert group.exact(statistic).tolist() == memory.exact(statistic).tolist()


def test_an_empty_table_is_an_empty_group(engine: Engine) -> None:
    group = trusted_points(engine(FRAME.clear()), STUDY, columns=COLUMNS)
    assert (group.count, group.clamped, group.rejected) == (0, 0, 0)
    for statistic in (Histogram(_grid(5, 5, 5)), *OTHERS):
        assert not group.exact(statistic).any()


# Files


@pytest.mark.parametrize("reader", ["polars", "duckdb"])
def test_files_of_several_formats_are_one_group(tmp_path: Path, reader: str) -> None:
    for part, name in ((FRAME[:9000], "a.parquet"), (FRAME[9000:9500], "b.csv"), (FRAME[9500:], "c.jsonl")):
        write_table(part, tmp_path / name)
    names = [tmp_path / name for name in ("a.parquet", "b.csv", "c.jsonl")]
    group, memory = trusted_points(names, STUDY, columns=COLUMNS, engine=reader), PointArray(BOX, POINTS, "points")
    for statistic in (Histogram(_grid(9, 9, 9)), OTHERS[1]):
        assert group.exact(statistic).tolist() == memory.exact(statistic).tolist()


# Mistakes


def test_tables_that_change_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    FRAME.write_csv(path)
    group = trusted_points(path, STUDY, columns=COLUMNS)
    FRAME.reverse().write_csv(path)
    assert group.exact(OTHERS[2]).tolist() == PointArray(BOX, POINTS, "points").exact(OTHERS[2]).tolist()
    FRAME[1:].write_csv(path)
    for statistic in (Histogram(_grid(5, 5, 5)), OTHERS[1]):
        refused(DataError, r"had 23,\d+ points, now it has", group.exact, statistic)


def test_wrong_columns_are_named(engine: Engine) -> None:
    table = engine(pl.DataFrame({"x": [1.0], "y": [1.0], "name": ["a"]}))
    refused(DataError, "no column 'nam'. Did you mean 'name'", trusted_points, table, STUDY, columns=["x", "y", "nam"])
    refused(DataError, "Column 'name' must hold numbers", trusted_points, table, STUDY, columns=["x", "y", "name"])


def test_other_mistakes_are_named(tmp_path: Path) -> None:
    for columns in (["x", "y"], ["x", "y", "x"], "xyz", ["x", "y", 3]):
        with pytest.raises(ParameterError, match="^columns must be the names of 3 columns"):
            trusted_points(FRAME, STUDY, columns=columns)
    refused(ParameterError, "^study must be a KMeansStudy", trusted_points, FRAME, "study", columns=COLUMNS)
    refused(DataError, "table must be a dataframe", trusted_points, 5, STUDY, columns=COLUMNS)
    with pytest.raises(ParameterError, match="^engine must be given for file names only"):
        trusted_points(FRAME, STUDY, columns=COLUMNS, engine="polars")
    broken = tmp_path / "broken.parquet"
    broken.write_text("this is no Parquet file")
    refused(DataError, "broken.parquet cannot be read: ", trusted_points, broken, STUDY, columns=COLUMNS)
