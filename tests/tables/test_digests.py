from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from hybriddp.errors import DataError, ProtocolError
from hybriddp.mean import LaplaceSummary, LocalSummary, MeanStudy
from hybriddp.tables import summarize
from hybriddp.tables.engines import ENGINES
from hybriddp.tables.files import write_table

STUDY = MeanStudy("x", bounds=(0, 100), epsilon=1)
OTHER = MeanStudy("x", bounds=(0, 100), epsilon=8)
CODES = STUDY.randomize(np.linspace(0, 100, 400), random_state=1)
FORMATS = ["parquet", "csv", "tsv", "jsonl"]


def _local(table: Any, study: MeanStudy = STUDY, **options: Any) -> LocalSummary | LaplaceSummary:  # noqa: ANN401
    local = summarize(table, study, report="code", **options).local
    assert isinstance(local, LocalSummary | LaplaceSummary)
    return local


def _table(**columns: Any) -> pl.DataFrame:  # noqa: ANN401
    return pl.DataFrame({"code": CODES.codes}).with_columns(**{name: pl.lit(text) for name, text in columns.items()})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", FORMATS)
def test_files_that_know_their_study_are_tied_to_it(tmp_path: Path, kind: str, engine: str, spark: Any) -> None:  # noqa: ANN401
    path, plain = tmp_path / f"reports.{kind}", tmp_path / f"plain.{kind}"
    write_table(_table(), path, study=STUDY.digest)
    write_table(_table(), plain)
    assert _local(path, engine=engine) == STUDY.summarize_local(CODES)
    assert _local(path).tied
    assert not _local(plain, engine=engine).tied
    assert not _local([path, plain], engine=engine).tied
    assert _local([path, plain], engine=engine).count == 800
    assert spark is not None
    with pytest.raises(ProtocolError, match=f"reports.{kind} has .*reports .*study"):
        _local(path, OTHER, engine=engine)


def test_the_wrong_file_among_many_is_named(tmp_path: Path) -> None:
    for name, study in (("a", STUDY), ("b", OTHER), ("c", STUDY)):
        write_table(_table(), tmp_path / f"{name}.parquet", study=study.digest)
    with pytest.raises(ProtocolError, match="b.parquet has reports of study"):
        _local(str(tmp_path / "*.parquet"))


def test_the_digest_of_a_parquet_file_is_metadata_and_no_column(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    write_table(_table(), path, study=STUDY.digest)
    assert pl.read_parquet(path).columns == ["code"]
    assert pq.read_metadata(path).metadata[b"hybriddp.study"].decode() == STUDY.digest
    pl.DataFrame({"code": [1]}).write_parquet(path, metadata={"hybriddp.study": "nonsense"})
    with pytest.raises(DataError, match="no digest of a study"):
        _local(path)


def test_a_column_ties_the_rows_of_any_table(engine: Callable[[pl.DataFrame], Any]) -> None:
    assert _local(engine(_table(study=STUDY.digest))).tied
    assert not _local(engine(_table(study="the name of a study of somebody else"))).tied
    some = _table(study=STUDY.digest).with_columns(study=pl.when(pl.col("code") != 3).then(pl.col("study")))
    assert not _local(engine(some)).tied
    mixed = pl.concat([_table(study=STUDY.digest), _table(study=OTHER.digest)[:7]])
    with pytest.raises(ProtocolError, match="The table has 7 reports that carry the digest of another study"):
        _local(engine(mixed))


def test_rows_without_a_report_need_no_digest(engine: Callable[[pl.DataFrame], Any]) -> None:
    trusted = pl.DataFrame(
        {"code": pl.Series([None] * 3, dtype=pl.UInt8), "study": pl.Series([None, OTHER.digest, "x"])}
    )
    table = pl.concat([_table(study=STUDY.digest), trusted])
    assert _local(engine(table)).tied


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
            assert local is not None
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


def test_laplace_reports_are_tied_too() -> None:
    study = MeanStudy("x", bounds=(0, 100), epsilon=1, channel="laplace")
    reports = study.randomize([1.0, 2.0, 3.0], random_state=1)
    table = pl.DataFrame({"code": reports.codes, "study": [study.digest] * 3})
    assert _local(table, study) == study.summarize_local(reports)
