from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hybriddp.mean import MeanStudy
from hybriddp.tables import chunks, summarize
from hybriddp.tables.mean.report_files import write_table
from hybriddp.tables.paths import expand
from hybriddp.tables.text import Wanted

STUDY = MeanStudy("x", bounds=(-60, 1440), epsilon=0.5)
X = np.random.default_rng(0).normal(100, 400, 10_000)


def _chunks(names: list[str], columns: list[str]) -> list[chunks.Chunk]:
    return chunks.open_chunks(expand(names), "polars", Wanted(numbers=columns))


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in ten row groups, which is large because chunks are small."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 16_000)  # two row groups of 8,000 bytes
    path = tmp_path / "large.parquet"
    users = pl.DataFrame({"x": X, "unused": X})
    users.write_parquet(path, row_group_size=1000, compression="uncompressed", use_pyarrow=True)
    return path


def test_a_large_parquet_file_is_counted_in_chunks_of_row_groups(large: Path) -> None:
    heard: list[float | None] = []
    result = summarize(large, STUDY, value="x", progress=heard.append)
    assert result.trusted == STUDY.summarize_trusted(X)
    assert heard[0] == 0.0
    assert heard[-1] == 1.0
    assert heard == sorted(share for share in heard if share is not None)
    assert len(heard) == len(_chunks([str(large)], ["x"])) + 1 > 3
    rows = [int(chunk.table.select(pl.len()).collect().item()) for chunk in _chunks([str(large)], ["x"])]
    assert sum(rows) == 10_000
    assert all(count % 1000 == 0 for count in rows)


def test_only_the_columns_that_are_read_make_a_chunk(large: Path) -> None:
    one, two = (len(_chunks([str(large)], columns)) for columns in (["x"], ["x", "unused"]))
    assert two > one


def test_small_files_are_counted_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(20):
        write_table(pl.DataFrame({"x": X[500 * i : 500 * (i + 1)]}), tmp_path / f"{i}.{'csv' if i < 10 else 'jsonl'}")
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    monkeypatch.setattr(chunks, "CHUNK_BYTES", size // 5)
    names = [str(tmp_path / "*.csv"), str(tmp_path / "*.jsonl")]
    assert 4 <= len(_chunks(names, ["x"])) <= 10
    heard: list[float | None] = []
    assert summarize(names, STUDY, value="x", progress=heard.append).trusted == STUDY.summarize_trusted(X)
    assert heard[-1] == 1.0


@pytest.mark.parametrize("engine", chunks.ENGINES)
def test_where_nothing_is_known_nothing_is_said(request: pytest.FixtureRequest, tmp_path: Path, engine: str) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    write_table(pl.DataFrame({"x": X}), tmp_path / "x.csv")
    heard: list[float | None] = []
    result = summarize(tmp_path / "x.csv", STUDY, value="x", engine=engine, progress=heard.append)
    assert result.trusted == STUDY.summarize_trusted(X)
    assert heard == [None, 1.0]


def test_a_dataframe_is_counted_at_once() -> None:
    heard: list[float | None] = []
    summarize(pl.DataFrame({"x": X}), STUDY, value="x", progress=heard.append)
    assert heard == [None, 1.0]
