"""CSV as it comes: every way to write the same numbers gives the same integers, or is refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from hybriddp.errors import DataError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.tables import CsvFormat, Summaries, summarize
from tests.refusals import refused

STUDY = MeanStudy("x", bounds=(0, 5000), epsilon=1)
VALUES = [1.5, 1234.25, 0.125, None, 4321.0]
CODES = [None, None, None, 17, None]
EXPECTED = summarize(
    pl.DataFrame({"x": VALUES, "code": pl.Series(CODES, dtype=pl.Int64)}), STUDY, value="x", report="code"
)
TWO_WAYS = "read in two ways.*--decimal"


def read_both(path: Path, csv: CsvFormat | None = None, engine: str = "polars") -> Summaries:
    return summarize(path, STUDY, value="x", report="code", csv=csv, engine=engine)


def read_values(path: Path | list[Path], csv: CsvFormat | None = None) -> Any:
    return summarize(path, STUDY, value="x", csv=csv).trusted


def write(folder: Path, content: str | bytes, name: str = "users.csv") -> Path:
    """A file, compressed if its name says so."""
    raw = content.encode() if isinstance(content, str) else content
    if name.endswith((".gz", ".zst")):
        raw = gzip.compress(raw) if name.endswith(".gz") else pa.compress(raw, codec="zstd", asbytes=True)
    (folder / name).write_bytes(raw)
    return folder / name


def written(
    separator: str = ",", decimal: str = ".", thousands: str = "", missing: str = "", padding: str = "", quote: str = ""
) -> str:
    """`VALUES` and `CODES` as a text."""

    def cell(value: float | None) -> str:
        if value is None:
            return f"{padding}{missing}{padding}"
        text = f"{value:,}" if thousands else str(value)
        text = text.translate(str.maketrans({",": thousands, ".": decimal}))
        return f"{quote}{padding}{text}{padding}{quote}"

    rows = [["x", "who", "code"]]
    rows += [[cell(x), "Zoë", cell(code)] for x, code in zip(VALUES, CODES, strict=True)]
    return "\n".join(separator.join(row) for row in rows) + "\n"


# Told from the file


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_detected(tmp_path: Path, separator: str, engine: str) -> None:
    assert read_both(write(tmp_path, written(separator)), engine=engine) == EXPECTED


@pytest.mark.parametrize(("separator", "quote"), [(";", ""), ("\t", ""), (",", '"')])
@pytest.mark.parametrize(("decimal", "thousands"), [(",", ""), (",", "."), (".", ",")])
def test_decimal_commas_and_thousands_are_detected(
    tmp_path: Path, separator: str, quote: str, decimal: str, thousands: str
) -> None:
    assert read_both(write(tmp_path, written(separator, decimal, thousands, quote=quote))) == EXPECTED


@pytest.mark.parametrize("thousands", [" ", "'", "_"])
def test_other_marks_between_thousands_are_an_option(tmp_path: Path, thousands: str) -> None:
    path = write(tmp_path, written(";", ",", thousands))
    refused(DataError, "no number in column 'x', row 2 .*--thousands", read_both, path)
    assert read_both(path, CsvFormat(thousands=thousands)) == EXPECTED
    assert read_both(path, CsvFormat(decimal=",", thousands=thousands)) == EXPECTED


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_encodings_with_a_mark_are_detected(tmp_path: Path, encoding: str) -> None:
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    assert read_both(write(tmp_path, mark + written().encode(encoding))) == EXPECTED
    assert read_both(write(tmp_path, mark + written(";", ",").encode(encoding), "users.csv.gz")) == EXPECTED


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le"])
def test_encodings_without_a_mark_are_an_option(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path, written().encode(encoding))
    refused(DataError, "is not UTF-8.*--encoding", read_both, path)
    assert read_both(path, CsvFormat(encoding=encoding)) == EXPECTED
    with pytest.raises(DataError, match="--encoding"):
        read_both(path, CsvFormat(encoding="utf-16" if encoding != "utf-16-le" else "utf-8"))


def test_a_letter_of_another_encoding_after_the_prefix_is_found(tmp_path: Path) -> None:
    path = write(tmp_path, b"who,x\n" + b"Zoe,1\n" * 20_000 + "Zoë,1\n".encode("latin-1"))
    refused(DataError, "users.csv cannot be read: its text is not UTF-8 throughout; --encoding", read_values, path)
    groups = summarize(path, STUDY, value="x", group="who", keys=["Zoe", "Zoë"], csv=CsvFormat(encoding="latin-1"))
    assert [part.trusted.count for part in groups.values() if part.trusted] == [20_000, 1]


def test_line_ends_of_old_macs_are_named_and_no_cell_is_shown(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="users.csv ends its lines as old Macs did") as caught:
        read_values(write(tmp_path, "x\r41.7\r93\r"))
    assert "41.7" not in str(caught.value)
    assert read_values(write(tmp_path, "x\r\n41.7\r\n93\r\n")) == STUDY.summarize_trusted([41.7, 93])


def test_one_column_has_no_separator(tmp_path: Path) -> None:
    assert read_values(write(tmp_path, "x\n1,5\n2,25\n")) == STUDY.summarize_trusted([1.5, 2.25])
    refused(DataError, "several separators. Name one with --separator", read_values, write(tmp_path, "x\n1,5;2|3\t4\n"))


def test_files_of_different_dialects_are_one_table(tmp_path: Path) -> None:
    texts = {"a.csv": "x;y\n1,5;1\n", "b.csv": "y,x\n1,2.5\n", "c.tsv": "x\tz\n3.5\t1\n"}
    names = [write(tmp_path, text, name) for name, text in texts.items()]
    assert read_values(names) == STUDY.summarize_trusted([1.5, 2.5, 3.5])


# What can be read in two ways is refused


@pytest.mark.parametrize(
    ("cells", "separator", "meaning"),
    [
        (["1,234"], ";", None),
        (["1,234", "2"], "\t", None),
        (["1.234", "2"], ";", None),  # people who separate by ; may separate thousands by .
        (["1.5", "1,5"], ";", None),
        (["1,234,567", "1.234.567"], ";", None),
        (["1.234", "950"], ",", None),  # computers would have written 950.000, or a shorter fraction somewhere
        (["1.234", "950"], "\t", None),
        (["1.234", "2.345"], "\t", None),
        (["1.234", "2.345"], "|", None),
        (["1.234", "2.345"], ",", [1.234, 2.345]),
        (["1.234", "2", "0.5"], ",", [1.234, 2, 0.5]),
        (["1.234", "950", "1234.567"], "\t", [1.234, 950, 1234.567]),
        (["0,125", "1,234"], ";", [0.125, 1.234]),
        (["1,234", "1,5"], ";", [1.234, 1.5]),
        (["1,234", "12.5"], ";", [1234, 12.5]),
        (["1.234", "12,5"], ";", [1234, 12.5]),
        (["1,234.5", "1,234"], "|", [1234.5, 1234]),
        (["1.234.567", "1.234"], ";", [1234567, 1234]),
        (["-1,5e3", "+2"], ";", [-1500, 2]),
        (["1234,567"], ";", [1234.567]),
        (["7", "8"], ";", [7, 8]),
    ],
)
def test_marks_mean_what_they_must_or_nothing(
    tmp_path: Path, cells: list[str], separator: str, meaning: list[float] | None
) -> None:
    path = write(tmp_path, "\n".join([f"x{separator}y", *(f"{cell}{separator}a" for cell in cells)]))
    if meaning is None:
        refused(DataError, TWO_WAYS, read_values, path)
        said = read_values(path, CsvFormat(decimal=".", thousands=",", missing=("1.234.567", "1,5")))
        assert said.count + said.missing == len(cells)
    else:
        assert read_values(path) == STUDY.summarize_trusted(meaning)


@pytest.mark.repeated
@pytest.mark.parametrize(
    ("cells", "meaning"),
    [
        (["950"] * 30_000 + ["1.234"], None),
        (["1.234"] * 30_000 + ["950"], None),
        ([""] * 70_000 + ["950", "1.234"], None),
        ([""] * 70_000 + ["950", "1.234", "0.5"], [950, 1.234, 0.5]),
    ],
)
@pytest.mark.parametrize("name", ["users.csv", "users.tsv", "users.csv.gz"])
def test_thousands_after_the_prefix_are_not_taken_for_fractions(
    tmp_path: Path, name: str, cells: list[str], meaning: list[float] | None
) -> None:
    mark = "\t" if name.endswith("tsv") else ","
    rows = [f"x{mark}code", *(f"{cell}{mark}{'' if cell else 17}" for cell in cells)]
    path = write(tmp_path, "\n".join(rows), name)
    if meaning is None:
        refused(DataError, TWO_WAYS, read_both, path)
        thousands = [float(cell.replace(".", "")) for cell in cells if cell]
        assert read_both(path, CsvFormat(thousands=".")).trusted == STUDY.summarize_trusted(thousands)
    else:
        trusted = read_both(path).trusted
        assert trusted.sums == STUDY.summarize_trusted(meaning).sums


def test_a_column_of_codes_says_nothing_about_the_dots_of_another(tmp_path: Path) -> None:
    path = write(tmp_path, "x,code\n1.234,\n2.345,\n,17\n")
    assert read_both(path).trusted == STUDY.summarize_trusted([1.234, 2.345])
    with pytest.raises(DataError, match=TWO_WAYS):  # one column: no separator tells where it is from
        read_values(write(tmp_path, "x\n1.234\n2.345\n"))


def test_an_unicode_text_of_excel_is_not_read_a_thousand_times_too_small(tmp_path: Path) -> None:
    path = write(tmp_path, "x\tort\n950\tKöln\n1.234\tBonn\n".encode("utf-16"), "users.tsv")
    refused(DataError, TWO_WAYS, read_values, path)
    assert read_values(path, CsvFormat(decimal=",", thousands=".")) == STUDY.summarize_trusted([950, 1234])


@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_texts_in_json_mean_what_they_are_said_to_mean(tmp_path: Path, kind: str) -> None:
    def file(cells: list[Any]) -> Path:
        rows = [{"x": cell} for cell in cells]
        return write(tmp_path, json.dumps(rows) if kind == "json" else "\n".join(map(json.dumps, rows)), f"x.{kind}")

    for cells in (["950", "1.234"], ["1.234"]):
        refused(DataError, TWO_WAYS, read_values, file(cells))
        thousands = [float(cell.replace(".", "")) for cell in cells]
        assert read_values(file(cells), CsvFormat(thousands=".")) == STUDY.summarize_trusted(thousands)
    refused(DataError, "no number in column 'x', row 1 .*--decimal", read_values, file(["1,5", "2"]))
    assert read_values(file(["1,5", "2"]), CsvFormat(decimal=",")) == STUDY.summarize_trusted([1.5, 2])
    for options in (None, CsvFormat(decimal=",")):  # numbers are no texts: they mean what they are
        assert read_values(file([950, 1.234]), options) == STUDY.summarize_trusted([950, 1.234])
    refused(DataError, "texts and numbers are mixed|read in two ways", read_values, file([950] * 10_001 + ["1.234"]))


# Options


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"separator": ",,"}, "separator"),
        ({"separator": '"'}, "separator"),
        ({"decimal": ";"}, "decimal"),
        ({"decimal": ",", "thousands": ","}, "thousands"),
        ({"thousands": "x"}, "thousands"),
        ({"encoding": "klingon"}, "encoding"),
        ({"missing": "NA"}, "missing"),
    ],
)
def test_wrong_options_are_named(options: dict[str, str], name: str) -> None:
    refused(ParameterError, f"^{name} must be", CsvFormat, **options)


def test_words_name_characters() -> None:
    csv = CsvFormat(separator="tab", decimal="comma", thousands="space")
    assert (csv.separator, csv.decimal, csv.thousands) == ("\t", ",", " ")
