from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from hybriddp.errors import DataError, ProtocolError
from hybriddp.mean import LocalSummary, MeanStudy
from hybriddp.tables import summarize
from hybriddp.tables.report_files import write_table
from tests.refusals import refused

STUDY = MeanStudy("x", bounds=(0, 100), epsilon=1)
OTHER = MeanStudy("x", bounds=(0, 100), epsilon=8)
CODES = STUDY.randomize(np.linspace(0, 100, 400), random_state=1)
FORMATS = ["parquet", "csv", "tsv", "jsonl"]


def _local(table: Any, study: MeanStudy = STUDY, **options: Any) -> LocalSummary:
    local = summarize(table, study, report="code", **options).local
    assert isinstance(local, LocalSummary)
    return local


def _table(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"code": CODES.codes}).with_columns(**{name: pl.lit(text) for name, text in columns.items()})


@pytest.mark.repeated
@pytest.mark.parametrize("reader", ["polars", "duckdb"])
@pytest.mark.parametrize("kind", FORMATS)
def test_files_that_know_their_study_are_tied_to_it(tmp_path: Path, kind: str, reader: str) -> None:
    path, plain = tmp_path / f"reports.{kind}", tmp_path / f"plain.{kind}"
    write_table(_table(), path, study=STUDY.digest)
    write_table(_table(), plain)
    assert _local(path, engine=reader) == replace(STUDY.summarize_local(CODES), seeded=False)
    assert _local(path).tied
    assert not _local(plain, engine=reader).tied
    assert not _local([path, plain], engine=reader).tied
    assert _local([path, plain], engine=reader).count == 800
    refused(ProtocolError, f"reports.{kind} has .*reports .*study", _local, path, OTHER, engine=reader)


def test_the_wrong_file_among_many_is_named(tmp_path: Path) -> None:
    for i, (name, study) in enumerate((("a", STUDY), ("b", OTHER), ("c", STUDY))):
        write_table(_table()[i:], tmp_path / f"{name}.parquet", study=study.digest)
    refused(ProtocolError, "b.parquet has reports of study", _local, str(tmp_path / "*.parquet"))


def test_what_differs_is_named_with_both_values(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    others = {
        MeanStudy("x", bounds=STUDY.bounds, epsilon="1.25"): 'epsilon is "1.25" in the file and ',
        MeanStudy(STUDY.name, bounds=(0, 77), epsilon=STUDY.privacy.epsilon): "bounds is ",
    }
    for other, words in others.items():
        write_table(_table(), path, study=other.digest, text=other.device_json())
        caught = refused(ProtocolError, "has reports of study", _local, path)
        assert words in caught
        assert "channel is" not in caught
        assert "must all be the same" not in caught
    write_table(_table(), path, study=OTHER.digest, text=STUDY.device_json())  # another text says nothing
    refused(ProtocolError, "must all be the same", _local, path)
    write_table(_table(), path, study=STUDY.digest, text=STUDY.device_json())
    assert _local(path).tied


def test_the_digest_of_a_parquet_file_is_metadata_and_no_column(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    write_table(_table(), path, study=STUDY.digest)
    assert pl.read_parquet(path).columns == ["code"]
    assert pq.read_metadata(path).metadata[b"hybriddp.study"].decode() == STUDY.digest
    pl.DataFrame({"code": [1]}).write_parquet(path, metadata={"hybriddp.study": "nonsense"})
    refused(DataError, "no digest of a study", _local, path)


def test_a_column_ties_the_rows_of_any_table(engine: Callable[[pl.DataFrame], Any]) -> None:
    assert _local(engine(_table(study=STUDY.digest))).tied
    assert not _local(engine(_table(study="the name of a study of somebody else"))).tied
    some = _table(study=STUDY.digest).with_columns(study=pl.when(pl.col("code") != 3).then(pl.col("study")))
    assert not _local(engine(some)).tied
    mixed = pl.concat([_table(study=STUDY.digest), _table(study=OTHER.digest)[:7]])
    refused(ProtocolError, "The table has 7 reports that carry the digest of another study", _local, engine(mixed))


_HELD: dict[str, Callable[[pl.DataFrame], Any]] = {
    "category": lambda frame: frame.to_pandas().astype({"study": "category"}),
    "categorical": lambda frame: frame.with_columns(pl.col("study").cast(pl.Categorical)),
    "lazy": lambda frame: frame.lazy().with_columns(pl.col("study").cast(pl.Categorical)),
    "enum": lambda frame: frame.with_columns(pl.col("study").cast(pl.Enum(frame["study"].unique()))),
    "dictionary": lambda frame: frame.with_columns(pl.col("study").cast(pl.Categorical)).to_arrow(),
    "bytes": lambda frame: frame.with_columns(pl.col("study").cast(pl.Binary)),
    "arrow bytes": lambda frame: frame.with_columns(pl.col("study").cast(pl.Binary)).to_arrow(),
    "pandas bytes": lambda frame: frame.with_columns(pl.col("study").cast(pl.Binary)).to_pandas(),
    "upper case": lambda frame: frame.with_columns(pl.col("study").str.to_uppercase()),
    "padded": lambda frame: frame.with_columns(study=" " + pl.col("study") + "\n"),
    "Study": lambda frame: frame.rename({"study": "Study"}),
    " STUDY ": lambda frame: frame.rename({"study": " STUDY "}).to_pandas(),
}


@pytest.mark.parametrize("held", _HELD)
def test_a_digest_is_one_however_it_is_held(held: str) -> None:
    assert _local(_HELD[held](_table(study=STUDY.digest))) == replace(STUDY.summarize_local(CODES), seeded=False)
    with pytest.raises(ProtocolError, match="400 reports that carry the digest of another study .*min_group_size"):
        _local(_HELD[held](_table(study=OTHER.digest)))
    seeded = _HELD[held](_table(study=f"{STUDY.digest} seeded"))
    assert _local(seeded) == STUDY.summarize_local(CODES)


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("reader", ["polars", "duckdb"])
def test_a_digest_in_a_file_is_one_however_it_is_spelled(tmp_path: Path, kind: str, reader: str) -> None:
    path = tmp_path / f"reports.{kind}"
    for study in (STUDY, OTHER):
        table = _table(Study=study.digest.upper())
        if kind == "parquet":
            table = table.with_columns(pl.col("Study").cast(pl.Categorical))
        write_table(table, path)
        if study is STUDY:
            assert _local(path, engine=reader).tied
        else:
            refused(ProtocolError, "another study", _local, path, engine=reader)


def test_a_column_of_another_study_is_seen_beside_the_metadata(tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"
    write_table(_table(study=OTHER.digest), path, study=STUDY.digest)
    refused(ProtocolError, "another study", _local, path)


def test_two_columns_of_digests_are_refused() -> None:
    refused(DataError, "several columns called 'study'", _local, _table(study=STUDY.digest, Study=OTHER.digest))


@pytest.mark.parametrize("kind", FORMATS)
def test_files_know_that_their_reports_were_seeded(tmp_path: Path, kind: str) -> None:
    path, plain = tmp_path / f"reports.{kind}", tmp_path / f"plain.{kind}"
    write_table(_table(), path, study=STUDY.digest, seeded=True)
    write_table(_table(), plain, study=STUDY.digest)
    assert _local(path) == STUDY.summarize_local(CODES)
    assert _local(path).seeded
    assert not _local(plain).seeded
    both = _local([plain, path])
    assert (both.seeded, both.tied, both.count) == (True, True, 800)
    assert _local(path, user=None).seeded
    refused(ProtocolError, "study", _local, path, OTHER)


def test_rows_without_a_report_need_no_digest(engine: Callable[[pl.DataFrame], Any]) -> None:
    trusted = pl.DataFrame(
        {"code": pl.Series([None] * 3, dtype=pl.UInt8), "study": pl.Series([None, OTHER.digest, "x"])}
    )
    table = pl.concat([_table(study=STUDY.digest), trusted])
    assert _local(engine(table)).tied


@pytest.mark.repeated
def test_parts_take_reports_of_their_own_and_of_the_whole(engine: Callable[[pl.DataFrame], Any]) -> None:
    for column, keys in (
        (pl.lit("DE"), ["DE", "FR"]),
        (pl.lit(7, pl.Int64), ["7", "8"]),
        (pl.lit(7, pl.Int64), [7, 8]),
    ):
        for study in (STUDY, STUDY.part("where", keys[0])):
            table = engine(_table(study=study.digest).with_columns(where=column))
            parts = summarize(table, STUDY, report="code", group="where", keys=keys)
            local = parts[keys[0]].local
            assert local.tied
            assert local.count == 400
        with pytest.raises(ProtocolError, match="another study"):
            summarize(
                engine(_table(study=STUDY.part("where", keys[1]).digest).with_columns(where=column)),
                STUDY,
                report="code",
                group="where",
                keys=keys,
            )


def test_a_part_alone_takes_both_digests() -> None:
    part = STUDY.part("where", "DE")
    for digest in (part.digest, STUDY.digest):
        assert _local(_table(study=digest), part).tied
