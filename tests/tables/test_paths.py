from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hybriddp.errors import DataError
from hybriddp.mean import MeanStudy
from hybriddp.tables import summarize
from hybriddp.tables.paths import expand, file_of
from tests.refusals import refused

STUDY = MeanStudy("x", bounds=(0, 100), epsilon=1)


@pytest.mark.parametrize("reader", ["polars", "duckdb"])
@pytest.mark.parametrize("progress", [None, lambda _: None])
def test_a_folder_of_parquet_is_a_table_with_its_partitions(
    folder: Path, reader: str, progress: Callable[[float | None], object] | None
) -> None:
    everybody = summarize(folder, STUDY, value="x", engine=reader, progress=progress).trusted
    assert everybody == STUDY.summarize_trusted([0, 5, 10, 5, 20, 5])
    keys: Any
    for group, keys, counts in (("country", ["DE", "FR"], [4, 2]), ("year", [2026, 2025], [4, 2])):
        parts = summarize(folder, STUDY, value="x", group=group, keys=keys, engine=reader, progress=progress)
        assert [part.trusted.count for part in parts.values() if part.trusted] == counts
        assert parts.other == 0


def test_files_and_folders_may_be_mixed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_text("x\n1\n")
    mixed = summarize([folder, tmp_path / "more.csv"], STUDY, value="x").trusted
    assert mixed == STUDY.summarize_trusted([0, 5, 10, 5, 20, 5, 1])
    assert len(expand([str(folder / "country=*")])) == 3


def test_a_file_that_is_named_by_its_folder_too_is_refused(folder: Path) -> None:
    with pytest.raises(DataError, match="The same file is named twice"):
        expand([str(folder), str(folder / "country=DE" / "year=2025" / "part-0.parquet")])


def test_copies_under_other_names_are_refused(tmp_path: Path) -> None:
    table = pl.DataFrame({"x": [1.0, 2.0]})
    for write, ending in ((table.write_csv, "csv"), (table.write_parquet, "parquet")):
        names = [tmp_path / f"{name}.{ending}" for name in ("a", "b")]
        for name in names:
            write(name)
        with pytest.raises(DataError, match=rf"a\.{ending} and .*b\.{ending} are the same to the byte"):
            expand([str(name) for name in names])
    for letter in ("c", "d"):
        (tmp_path / f"{letter}.csv").write_text("x\n")
        table[:0].write_parquet(tmp_path / f"{letter}.parquet")
    assert len(expand([str(tmp_path / "[cd].*")])) == 4  # empty shards are alike
    for key in ("DE", "FR"):
        (tmp_path / f"land={key}").mkdir()
        table.write_parquet(tmp_path / f"land={key}" / "part.parquet")
    assert len(expand([str(tmp_path / "land=*")])) == 2  # other users


def test_a_folder_without_parquet_is_named(tmp_path: Path) -> None:
    refused(DataError, "has no .parquet files", expand, [str(tmp_path)])


@pytest.mark.parametrize(
    ("name", "kind", "compression"),
    [
        ("A.CSV", ".csv", None),
        ("a.b.csv.gz", ".csv", "gzip"),
        ("a.ndjson.zst", ".jsonl", "zstd"),
        ("a.2026.parquet", ".parquet", None),
        ("s3://bucket/a.tsv", ".tsv", None),
    ],
)
def test_endings_are_formats(name: str, kind: str, compression: str | None) -> None:
    file = file_of(name)
    assert (file.format, file.compression, file.remote) == (kind, compression, "://" in name)


@pytest.mark.parametrize("name", ["a", "a.gz", ".gz", "a.xls", "a.parquet.gz", "a.csv.bz2"])
def test_other_endings_are_refused(name: str) -> None:
    refused(DataError, "must end in one of|must not be compressed", file_of, name)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_text_from_elsewhere_is_for_polars(engine: str) -> None:
    with pytest.raises(DataError, match=f"The engine {engine} reads text files from disks only. Take polars"):
        summarize("s3://bucket/a.csv", STUDY, value="x", engine=engine)
