import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from hybriddp.errors import DataError, MissingExtraError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.tables import frames, summarize, summarize_both
from hybriddp.tables.paths import expand
from hybriddp.tables.report_files import write_table
from hybriddp.tables.text import Wanted
from tests.refusals import refused
from tests.tables.test_kinds import FLOATS

STUDY = MeanStudy("x", bounds=(-60, 1440), epsilon=0.5)
FORMATS = ["parquet", "csv", "jsonl"]


X = np.random.default_rng(0).normal(100, 400, 10_000)


@pytest.fixture(params=["polars", "duckdb"])
def reader(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _users() -> pl.DataFrame:
    codes = STUDY.randomize(np.linspace(0, 1000, 500), random_state=1).tolist()
    n = len(FLOATS)
    return pl.DataFrame(
        {
            "x": pl.Series(FLOATS + [None] * 500, dtype=pl.Float64),
            "code": pl.Series([None] * n + codes, dtype=pl.Int32),
            "country": ["DE", "FR"] * ((n + 500) // 2) + ["XX"] * ((n + 500) % 2),
        }
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_every_engine_reads_the_same_integers_from_files(tmp_path: Path, reader: str, kind: str) -> None:
    users, path = _users(), tmp_path / f"users.{kind}"
    write_table(users, path)
    trusted, local = summarize(path, STUDY, value="x", report="code", engine=reader)
    assert (trusted, local) == summarize(users, STUDY, value="x", report="code")
    groups = summarize(str(path), STUDY, value="x", report="code", group="country", keys=["DE"], engine=reader)
    assert groups == summarize(users, STUDY, value="x", report="code", group="country", keys=["DE"])


def test_several_files_and_patterns_of_several_formats_are_one_table(tmp_path: Path, reader: str) -> None:
    users = _users()
    cuts = [(0, 5, "a.parquet"), (5, 15, "b1.csv"), (15, 18, "b2.csv"), (18, 999, "c.parquet")]
    for start, stop, name in cuts:
        write_table(users[start:stop], tmp_path / name)
    names = [tmp_path / "a.parquet", str(tmp_path / "b*.csv"), tmp_path / "c.parquet"]
    assert summarize(names, STUDY, value="x", engine=reader) == summarize(users, STUDY, value="x")


@pytest.mark.repeated
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("in_steps", [False, True])
def test_a_file_per_group_is_fine(tmp_path: Path, reader: str, kind: str, in_steps: bool) -> None:
    users, names = _users(), [tmp_path / f"trusted.{kind}", tmp_path / f"local.{kind}"]
    trusted, local = users.filter(pl.col("code").is_null()), users.filter(pl.col("code").is_not_null())
    for name, part in zip(names, (trusted, local), strict=True):
        write_table(part, name)
    progress = (lambda _: None) if in_steps else None
    whole = summarize(users, STUDY, value="x", report="code")
    for order in (names, names[::-1]):
        assert summarize(order, STUDY, value="x", report="code", engine=reader, progress=progress) == whole
    alone = summarize(names[0], STUDY, value="x", report="code", engine=reader)
    assert alone == summarize(trusted, STUDY, value="x", report="code")


def test_decimals_may_come_late(tmp_path: Path, reader: str) -> None:
    path = tmp_path / "late.csv"
    path.write_text("x\n" + "1\n" * 30_000 + "2.5\n")
    expected = STUDY.summarize_trusted(np.array([1.0] * 30_000 + [2.5]))
    assert summarize(path, STUDY, value="x", engine=reader).trusted == expected


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_texts_are_no_numbers(tmp_path: Path, reader: str, kind: str) -> None:
    path = tmp_path / f"words.{kind}"
    write_table(pl.DataFrame({"x": ["a", "b"], "y": [1.0, 2.0]}), path)
    refused(DataError, "words.* has no number in column 'x', row 1 ", summarize, path, STUDY, value="x", engine=reader)


def test_polars_reads_files_unless_told_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "users.parquet"
    write_table(_users(), path)
    expected = summarize(path, STUDY, value="x", engine="polars")
    monkeypatch.setattr(duckdb, "connect", None)
    assert summarize(path, STUDY, value="x") == expected


def test_names_with_brackets_are_names(tmp_path: Path) -> None:
    path = tmp_path / "users[1].csv"
    pl.DataFrame({"x": [1.0]}).write_csv(path)
    assert summarize(path, STUDY, value="x").trusted == STUDY.summarize_trusted([1.0])


# Mistakes


def test_what_cannot_be_read_is_named(tmp_path: Path, reader: str) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_text("this is no Parquet file")
    refused(DataError, "broken.parquet cannot be read: ", summarize, broken, STUDY, value="x", engine=reader)
    refused(DataError, "There is no file .*none.csv", summarize, tmp_path / "none.csv", STUDY, value="x", engine=reader)
    with pytest.raises(DataError, match="There is no file .*none"):
        summarize(str(tmp_path / "none*.csv"), STUDY, value="x", engine=reader)
    refused(DataError, "x.txt must end in one of", summarize, "x.txt", STUDY, value="x", engine=reader)


def test_a_word_far_down_in_a_column_of_numbers_is_found_and_not_repeated(tmp_path: Path, reader: str) -> None:
    path = tmp_path / "long.csv"
    path.write_text("x\n" + "1.5\n" * 50_000 + "oops\n")
    with pytest.raises(DataError, match="long.csv has no number in column 'x', row 50,001 ") as caught:
        summarize(path, STUDY, value="x", engine=reader)
    assert "oops" not in str(caught.value)  # it may be somebody's secret


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    pl.DataFrame({"x": [1.0]}).write_csv(path)
    refused(DataError, "The same file is named twice", summarize, [path, str(tmp_path / "*.csv")], STUDY, value="x")


def test_the_same_file_in_both_groups_is_refused(tmp_path: Path) -> None:
    path, link, hard = tmp_path / "a.csv", tmp_path / "link.csv", tmp_path / "hard.csv"
    table = pl.DataFrame({"x": [1.0], "code": [7]})
    table.write_csv(path)
    link.symlink_to(path)
    hard.hardlink_to(path)
    for other in (path, [link], hard, str(tmp_path / "a*.csv")):
        refused(DataError, "The same file is named twice", summarize_both, path, other, STUDY, value="x", report="code")
    with pytest.raises(DataError, match="The same table is given for both groups"):
        summarize_both(table, table, STUDY, value="x", report="code")


def test_an_engine_is_for_files(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="^engine must be given for file names only"):
        summarize(pl.DataFrame({"x": [1.0]}), STUDY, value="x", engine="polars")
    with pytest.raises(ParameterError, match="^engine must be one of 'polars', 'duckdb', 'spark'"):
        summarize(tmp_path / "a.csv", STUDY, value="x", engine="dask")


@pytest.mark.parametrize(("missing", "extra"), [("polars", "tables"), ("duckdb", "tables"), ("pyspark", "spark")])
def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, missing: str, extra: str) -> None:
    for module in (missing, f"{missing}.sql"):  # what is imported already is found by its whole name
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'needs {missing}, .*pip install "hybriddp\[{extra}\]"'):
        summarize("a.csv", STUDY, value="x", engine=missing.removeprefix("py"))


# Chunks


def _chunks(names: list[str], columns: list[str]) -> list[frames.Chunk]:
    return frames.open_chunks(expand(names), "polars", Wanted(numbers=columns))


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in ten row groups, which is large because chunks are small."""
    monkeypatch.setattr(frames, "CHUNK_BYTES", 16_000)  # two row groups of 8,000 bytes
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
    monkeypatch.setattr(frames, "CHUNK_BYTES", size // 5)
    names = [str(tmp_path / "*.csv"), str(tmp_path / "*.jsonl")]
    assert 4 <= len(_chunks(names, ["x"])) <= 10
    heard: list[float | None] = []
    assert summarize(names, STUDY, value="x", progress=heard.append).trusted == STUDY.summarize_trusted(X)
    assert heard[-1] == 1.0


def test_where_nothing_is_known_nothing_is_said(tmp_path: Path, reader: str) -> None:
    write_table(pl.DataFrame({"x": X}), tmp_path / "x.csv")
    heard: list[float | None] = []
    result = summarize(tmp_path / "x.csv", STUDY, value="x", engine=reader, progress=heard.append)
    assert result.trusted == STUDY.summarize_trusted(X)
    assert heard == [None, 1.0]


def test_a_dataframe_is_counted_at_once() -> None:
    heard: list[float | None] = []
    summarize(pl.DataFrame({"x": X}), STUDY, value="x", progress=heard.append)
    assert heard == [None, 1.0]
