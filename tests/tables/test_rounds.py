from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hybriddp.channels.response import ChoiceResponse, SymbolChannel
from hybriddp.channels.unary import symbol_channel
from hybriddp.errors import DataError, ParameterError
from hybriddp.kmeans.protocol.round import Round, RoundReports, RoundTally
from hybriddp.kmeans.reports.base import Ask, GridQuestion, Labels
from hybriddp.kmeans.reports.codebook import Directions
from hybriddp.kmeans.reports.means import DirectionQuestion, LabelSignsQuestion
from hybriddp.kmeans.reports.moments import LengthQuestion
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.tables import batches
from hybriddp.tables.report_files import write_table
from hybriddp.tables.rounds import count_reports, report_table
from tests.refusals import refused

Engine = Callable[[pl.DataFrame], Any]

STUDY = KMeansStudy("x", n_clusters=2, bounds=[(0, 1), (0, 1)], epsilon=1)
CENTERS, RADII = np.array([[0.2, 0.3], [0.8, 0.7]]), np.array([0.2, 0.3])
GRID = GridQuestion(None, np.zeros(2), np.full(2, 0.25), (5, 5))  # 25 symbols: 7 bits of 4 bytes stand for nothing
SIGNS = LabelSignsQuestion(Labels(CENTERS), RADII, np.array([[0, 1, 0], [1, 0, 1]]))  # 16 symbols, 2 variants
LENGTH = LengthQuestion(CENTERS[0], 0.5)  # 2 symbols
DIRECTION = DirectionQuestion(Labels(CENTERS), RADII, Directions.of(2), 2)  # 4 codes, 8 variants


def _round(*questions: Any) -> Round:
    share = Fraction(1, len(questions))
    return Round(STUDY, 1, "a test", tuple(Ask(q, _channel(q), share) for q in questions))


def _channel(question: Any) -> SymbolChannel:
    if question.n_chosen is None:
        return symbol_channel("1", question.n_symbols)
    return ChoiceResponse(epsilon="1", n_codes=question.n_symbols, n_chosen=question.n_chosen)


MIXED = _round(DIRECTION, GRID, SIGNS)
POINTS = np.random.default_rng(0).random((3000, 2))
REPORTS = MIXED.answer(POINTS, random_state=1)
COUNTED = MIXED.count(REPORTS)


def _assert_equal(got: RoundTally, expected: RoundTally) -> None:
    assert got.rejected == expected.rejected
    for mine, other in zip(got.answers, expected.answers, strict=True):
        np.testing.assert_array_equal(mine.supports, other.supports)
        np.testing.assert_array_equal(mine.users, other.users)


def test_a_round_of_both_channels_has_the_same_counts_on_every_engine(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BATCH", 100)
    check_counts(engine)


def check_counts(engine: Engine) -> None:
    table = report_table(REPORTS).sample(fraction=1.0, shuffle=True, seed=1)
    assert COUNTED.rejected == 0
    _assert_equal(count_reports(engine(table), MIXED), COUNTED)


def _bad_rows() -> pl.DataFrame:
    """Every way to be no answer, each once."""
    good = "x" + "0" * 8
    rows: Sequence[tuple[Any, Any, Any]] = [
        (None, 0, "r0"), (0, None, "r0"), (0, 0, None), (-1, 0, "r0"), (3, 0, "r0"), (10**12, 0, "r0"),
        (0, -1, "r0"), (0, 8, "r0"), (0, 10**12, "r0"),
        *((0, 0, code) for code in ("", "r", "r4", "r-1", "r00", "0", "1", "R1", "r1 ", "r1\n", "r1.0", good, "rö")),
        (1, 1, good), (1, -1, good), (2, 2, "x0000"), (2, 0, "r0"),
        *((1, 0, code) for code in ("", "x", good[:-1], good + "0", good + "00", good + "\n", "r0", "X" + good[1:])),
        *((1, 0, code) for code in ("x0000000g", "x0000000A", "x000000-1", "x0000 000", "xöööö", "yo", "00000000")),
        *((1, 0, code) for code in ("x00000002", "x00000080", "x000000ff")),  # a bit that stands for nothing
    ]  # fmt: skip
    return pl.DataFrame(list(rows), schema={"ask": pl.Int64, "variant": pl.Int64, "code": pl.String}, orient="row")


def test_rows_that_are_no_answers_are_counted_and_never_raise(engine: Engine) -> None:
    bad = _bad_rows()
    _assert_equal(
        count_reports(engine(pl.concat([bad, report_table(REPORTS)])), MIXED),
        RoundTally(COUNTED.answers, len(bad)),
    )
    assert count_reports(engine(bad), MIXED).rejected == len(bad)


@pytest.mark.repeated
@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt8, pl.Float64])
def test_whole_numbers_are_codes_of_randomized_response(engine: Engine, dtype: Any) -> None:
    bits = _round(LENGTH)
    reports = bits.answer(POINTS, random_state=1)
    table = report_table(reports).with_columns(pl.col("code").str.slice(1).cast(dtype))
    bad = pl.DataFrame({"ask": [0, 0], "variant": [0, 0], "code": [2, None]}, schema_overrides={"code": dtype})
    _assert_equal(count_reports(engine(pl.concat([table, bad])), bits), RoundTally(bits.count(reports).answers, 2))
    assert count_reports(engine(table), _round(GRID)).rejected == len(table)


def test_fractions_are_no_codes(engine: Engine) -> None:
    table = pl.DataFrame({"ask": [0.0, 0.5, 0.0, 0.0], "variant": [0.0, 0, float("nan"), 0], "code": [1.0, 1, 1, 0.5]})
    counted = count_reports(engine(table), _round(LENGTH))
    assert (counted.rejected, int(counted.answers[0].users.sum())) == (3, 1)


def test_an_empty_table_has_no_answers(engine: Engine) -> None:
    for table in (report_table(()), report_table(REPORTS).clear()):
        counted = count_reports(engine(table), MIXED)
        assert counted.rejected == 0
        assert not any(answers.users.any() or answers.supports.any() for answers in counted.answers)


@pytest.mark.parametrize("reader", ["polars", "duckdb"])
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_files_keep_codes_as_they_are(tmp_path: Path, reader: str, ending: str) -> None:
    table = report_table(REPORTS)  # all of one ask, then all of the next, so that the first rows do not tell
    for part, name in ((table[:1000], "a"), (table[1000:], "b")):
        write_table(part, tmp_path / f"{name}.{ending}")
    _assert_equal(count_reports(str(tmp_path / f"*.{ending}"), MIXED, engine=reader), COUNTED)


def test_reports_of_hardly_any_bits_that_look_like_numbers() -> None:
    codes = np.array([[0, 0x10, 0x00, 0], [0x1E, 0x05, 0, 0]], np.uint8)
    nobody = np.zeros(2, np.int64)
    table = report_table([RoundReports(nobody, nobody, codes)])
    assert table["code"].to_list() == ["x00100000", "x1e050000"]
    assert count_reports(table, _round(GRID)).answers[0].supports.sum() == np.bitwise_count(codes).sum()


# Mistakes


def test_wrong_columns_are_named(engine: Engine) -> None:
    table = engine(report_table(REPORTS).with_columns(at=pl.lit(True)))
    refused(DataError, "no column 'codes'. Did you mean 'code'", count_reports, table, MIXED, code="codes")
    refused(DataError, "Column 'code' must hold numbers", count_reports, table, MIXED, ask="code")
    refused(DataError, "Column 'at' must hold codes as texts or whole numbers", count_reports, table, MIXED, code="at")


def test_other_mistakes_are_named() -> None:
    refused(ParameterError, "^current must be a Round", count_reports, report_table(REPORTS), STUDY)
    refused(DataError, "table must be a dataframe", count_reports, 5, MIXED)
