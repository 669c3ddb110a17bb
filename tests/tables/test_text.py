"""Cells of text files: what they mean, and which are refused without being shown."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hybriddp.errors import DataError
from hybriddp.tables import CsvFormat, summarize
from tests.refusals import refused
from tests.tables.test_dialect import CODES, EXPECTED, STUDY, VALUES, read_both, read_values, write, written


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "json"])
def test_compressed_files_are_read(tmp_path: Path, ending: str, kind: str) -> None:
    rows = [{"x": x, "code": code} for x, code in zip(VALUES, CODES, strict=True)]
    texts = {
        "csv": written(),
        "tsv": written("\t"),
        "jsonl": "\n".join(map(json.dumps, rows)),
        "json": json.dumps(rows, indent=1),
    }
    assert read_both(write(tmp_path, texts[kind], f"users.{kind}{ending}")) == EXPECTED


@pytest.mark.parametrize(
    "word", ["NA", "N/A", "n/a", "#N/A", "NULL", "null", "Null", "NaN", "nan", "None", " NA ", "NAN"]
)
def test_words_for_missing_numbers_are_known_in_both_columns(tmp_path: Path, word: str) -> None:
    assert read_both(write(tmp_path, written(missing=word))) == EXPECTED


def test_more_words_for_missing_numbers_are_an_option(tmp_path: Path) -> None:
    path = write(tmp_path, written(missing="-"))
    refused(DataError, "no number in column 'x', row 4 .*--missing", read_both, path)
    assert read_both(path, CsvFormat(missing=("-",))) == EXPECTED


@pytest.mark.parametrize("padding", [" ", "\t ", "\u00a0"])
def test_padding_is_no_part_of_a_number_or_a_name(tmp_path: Path, padding: str) -> None:
    path = write(tmp_path, written("|", padding=padding).replace("who|code", "who | code "))
    assert read_both(path, CsvFormat(separator="|")) == EXPECTED
    path = write(tmp_path, "x,country\n1, DE \n2,DE\n")
    assert summarize(path, STUDY, value="x", group="country", keys=["DE"]).other == 0


def test_a_nan_in_a_column_of_codes_is_a_missing_code() -> None:
    frame = pl.DataFrame({"x": [1.0, None], "code": [float("nan"), 17.0]})
    trusted, local = summarize(frame, STUDY, value="x", report="code")
    assert (trusted.count, local.count, local.rejected) == (1, 1, 0)


def test_every_float_survives_a_text_file(tmp_path: Path) -> None:
    x = np.exp(np.random.default_rng(0).normal(0, 20, 5000))
    for name, text, csv in (
        ("a.csv", "\n".join(["x", *map(repr, x.tolist())]), None),
        ("a.jsonl", "\n".join(json.dumps({"x": value}) for value in x.tolist()), None),
        ("b.csv", "\n".join(["x", *(repr(v).replace(".", ",") for v in x.tolist())]), CsvFormat(decimal=",")),
    ):
        assert read_values(write(tmp_path, text, name), csv) == STUDY.summarize_trusted(x)


@pytest.mark.repeated
@pytest.mark.parametrize(
    ("late", "separator", "first"),
    [
        ("1,5", ",", "1"),
        ("1.5", ";", "1"),  # no mark was seen: which one is it?
        ("1,5", ";", "1"),
        ("1.5", ";", "1,5"),
        ("12,34", "|", "1,234.5"),
        ("1_000", ",", "1"),
        ("0x10", ",", "1"),
        ("1 000", ",", "1"),
        ("$5", ",", "1"),
        ("5%", ",", "1"),
    ],
)
def test_what_the_prefix_did_not_show_is_found_by_row(tmp_path: Path, late: str, separator: str, first: str) -> None:
    rows = [f"x{separator}y", *([f"{first}{separator}"] * 30_000), f'"{late}"{separator}']
    with pytest.raises(DataError, match="users.csv has no number in column 'x', row 30,001 ") as caught:
        read_values(write(tmp_path, "\n".join(rows)))
    assert late not in str(caught.value)


def test_a_unit_beside_a_number_is_refused_and_named_as_a_reason(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 1 .*Units such as EUR or % must not stand beside numbers") as caught:
        read_values(write(tmp_path, "x;y\n61,234.00 EUR;1\n"))
    assert "61,234" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "31337.125,HIV-positive\n1.0,other\n",
        "minutes 41.7,HIV\n1.0,other\n",
        "minutes;41.7\n93;1\n",
        "minutes,Minutes\n",
        "minute\n41.7\n",
        "minute\r41.7\n",
    ],
)
@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_a_first_row_that_is_no_header_is_not_shown(tmp_path: Path, text: str, kind: str) -> None:
    path = write(tmp_path, text, f"users.{kind}")
    with pytest.raises(DataError, match="no column 'minutes_'. Is its first row a header, is the name") as caught:
        summarize(path, STUDY, value="minutes_")
    for word in ("31337", "minutes 41", "41.7", "HIV", "Did you mean"):
        assert word not in str(caught.value)


def test_columns_are_listed_if_the_first_row_is_a_header_for_certain(tmp_path: Path) -> None:
    path = write(tmp_path, "minutes,code,country\n1,7,DE\n")
    caught = refused(DataError, "Did you mean 'code'", summarize, path, STUDY, value="minutes", report="cod")
    assert "It has 'minutes', 'code', 'country'." in caught


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    for header in ("x,x", "x, x", "x ,x", " x,x\t"):
        refused(DataError, "two columns of the name 'x'", read_values, write(tmp_path, f"{header}\n1,2\n"))
    with pytest.raises(DataError, match="two columns of the name 'study'"):
        summarize(write(tmp_path, "code,study, study\n7,a,b\n"), STUDY, report="code")
    refused(DataError, "two columns of the name 'x'", read_values, write(tmp_path, '{"x": 1, " x": 2}', "users.jsonl"))


def test_keys_that_look_like_numbers_stay_words(tmp_path: Path) -> None:
    path = write(tmp_path, "x,region\n" + "1,07\n" * 12_000 + "2,XX\n")  # the first rows say that regions are numbers
    parts = summarize(path, STUDY, value="x", group="region", keys=["07", "XX"])
    assert [part.trusted.count for part in parts.values() if part.trusted] == [12_000, 1]
    path = write(tmp_path, "x,region\n1,7\n2,8\n")
    assert summarize(path, STUDY, value="x", group="region", keys=[7]).other == 1


@pytest.mark.parametrize("progress", [None, lambda _: None])
@pytest.mark.parametrize("name", ["users.csv", "users.csv.gz"])
def test_half_of_a_number_is_not_taken_for_the_whole(tmp_path: Path, name: str, progress: Any) -> None:
    for rows, row in (("1,5,7\n2,5,8\n", "1"), ("1,7\n" * 30_000 + "1,5,7\n", "30,001")):  # nobody has quoted commas
        path = write(tmp_path, "x,y\n" + rows, name)
        words = "a row has more cells than the header" if name.endswith("gz") else f"more cells in row {row} "
        refused(DataError, words, summarize, path, STUDY, value="x", progress=progress)
