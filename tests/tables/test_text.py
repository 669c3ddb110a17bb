"""CSV as it comes: every way to write the same numbers gives the same integers, or is refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from hybriddp.errors import DataError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.tables import CsvFormat, Summaries, summarize

STUDY = MeanStudy("x", bounds=(0, 5000), epsilon=1)
VALUES = [1.5, 1234.25, 0.125, None, 4321.0]
CODES = [None, None, None, 17, None]
EXPECTED = summarize(
    pl.DataFrame({"x": VALUES, "code": pl.Series(CODES, dtype=pl.Int64)}), STUDY, value="x", report="code"
)

EXPECTED_OF_FRACTIONS = STUDY.summarize_trusted([1.234, 2.345])


def _read(path: Path, csv: CsvFormat | None = None, engine: str = "polars") -> Summaries:
    return summarize(path, STUDY, value="x", report="code", csv=csv, engine=engine)


def _written(
    separator: str = ",", decimal: str = ".", thousands: str = "", missing: str = "", padding: str = "", quote: str = ""
) -> str:
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
    path = tmp_path / "users.csv"
    path.write_text(_written(separator))
    assert _read(path, engine=engine) == EXPECTED


@pytest.mark.parametrize(("separator", "quote"), [(";", ""), ("\t", ""), (",", '"')])
@pytest.mark.parametrize(("decimal", "thousands"), [(",", ""), (",", "."), (".", ",")])
def test_decimal_commas_and_thousands_are_detected(
    tmp_path: Path, separator: str, quote: str, decimal: str, thousands: str
) -> None:
    path = tmp_path / "users.csv"
    path.write_text(_written(separator, decimal, thousands, quote=quote))
    assert _read(path) == EXPECTED


@pytest.mark.parametrize("thousands", [" ", "'", "_"])
def test_other_marks_between_thousands_are_an_option(tmp_path: Path, thousands: str) -> None:
    path = tmp_path / "users.csv"
    path.write_text(_written(";", ",", thousands))
    with pytest.raises(DataError, match="no number in column 'x', row 2 .*--thousands"):
        _read(path)
    assert _read(path, CsvFormat(thousands=thousands)) == EXPECTED
    assert _read(path, CsvFormat(decimal=",", thousands=thousands)) == EXPECTED


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be-bom", "utf-32"])
def test_encodings_with_a_mark_are_detected(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "users.csv"
    text = _written()
    path.write_bytes(b"\xfe\xff" + text.encode("utf-16-be") if encoding == "utf-16-be-bom" else text.encode(encoding))
    assert _read(path) == EXPECTED


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le"])
def test_encodings_without_a_mark_are_an_option(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "users.csv"
    path.write_bytes(_written().encode(encoding))
    with pytest.raises(DataError, match="is not UTF-8.*--encoding"):
        _read(path)
    assert _read(path, CsvFormat(encoding=encoding)) == EXPECTED
    with pytest.raises(DataError, match="--encoding"):
        _read(path, CsvFormat(encoding="utf-16" if encoding != "utf-16-le" else "utf-8"))


def test_a_letter_of_another_encoding_after_the_prefix_is_found(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_bytes(b"who,x\n" + b"Zoe,1\n" * 20_000 + "Zoë,1\n".encode("latin-1"))
    with pytest.raises(DataError, match="users.csv cannot be read: its text is not UTF-8 throughout; --encoding"):
        summarize(path, STUDY, value="x")
    groups = summarize(path, STUDY, value="x", group="who", keys=["Zoe", "Zoë"], csv=CsvFormat(encoding="latin-1"))
    assert [part.trusted.count for part in groups.values() if part.trusted] == [20_000, 1]


@pytest.mark.parametrize("compression", ["gz", "zst"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "json"])
def test_compressed_files_are_read(tmp_path: Path, compression: str, kind: str) -> None:
    rows = [{"x": x, "code": code} for x, code in zip(VALUES, CODES, strict=True)]
    texts = {
        "csv": _written(),
        "tsv": _written("\t"),
        "jsonl": "\n".join(map(json.dumps, rows)),
        "json": json.dumps(rows, indent=1),
    }
    raw, path = texts[kind].encode(), tmp_path / f"users.{kind}.{compression}"
    path.write_bytes(gzip.compress(raw) if compression == "gz" else pa.compress(raw, codec="zstd", asbytes=True))
    assert _read(path) == EXPECTED
    plain = tmp_path / f"plain.{kind}"
    plain.write_bytes(raw)
    assert _read(plain) == EXPECTED


def test_a_compressed_file_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "users.csv.gz"
    path.write_bytes(gzip.compress(_written(";", ",").encode("utf-16")))
    assert _read(path) == EXPECTED


@pytest.mark.parametrize(
    "word", ["NA", "N/A", "n/a", "#N/A", "NULL", "null", "Null", "NaN", "nan", "None", " NA ", "NAN"]
)
def test_words_for_missing_numbers_are_known_in_both_columns(tmp_path: Path, word: str) -> None:
    path = tmp_path / "users.csv"
    path.write_text(_written(missing=word))
    assert _read(path) == EXPECTED


def test_more_words_for_missing_numbers_are_an_option(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text(_written(missing="-"))
    with pytest.raises(DataError, match="no number in column 'x', row 4 .*--missing"):
        _read(path)
    assert _read(path, CsvFormat(missing=("-",))) == EXPECTED


@pytest.mark.parametrize("padding", [" ", "\t ", "\u00a0"])
def test_padding_is_no_part_of_a_number_or_a_name(tmp_path: Path, padding: str) -> None:
    path = tmp_path / "users.csv"
    path.write_text(_written("|", padding=padding).replace("who|code", "who | code "))
    assert _read(path, CsvFormat(separator="|")) == EXPECTED
    path.write_text("x,country\n1, DE \n2,DE\n")
    assert summarize(path, STUDY, value="x", group="country", keys=["DE"]).other == 0


def test_a_nan_in_a_column_of_codes_is_a_missing_code() -> None:
    frame = pl.DataFrame({"x": [1.0, None], "code": [float("nan"), 17.0]})
    trusted, local = summarize(frame, STUDY, value="x", report="code")
    assert trusted is not None
    assert local is not None
    assert (trusted.count, local.count, local.rejected) == (1, 1, 0)


def test_every_float_survives_a_text_file(tmp_path: Path) -> None:
    x = np.exp(np.random.default_rng(0).normal(0, 20, 5000))
    for name, text in (
        ("a.csv", "\n".join(["x", *map(repr, x.tolist())])),
        ("a.jsonl", "\n".join(json.dumps({"x": value}) for value in x.tolist())),
        ("b.csv", "\n".join(["x", *(repr(value).replace(".", ",") for value in x.tolist())])),
    ):
        (tmp_path / name).write_text(text)
        csv = CsvFormat(decimal=",") if name == "b.csv" else None
        assert summarize(tmp_path / name, STUDY, value="x", csv=csv).trusted == STUDY.summarize_trusted(x)


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
    path = tmp_path / "users.csv"
    path.write_text("\n".join([f"x{separator}y", *(f"{cell}{separator}a" for cell in cells)]))
    if meaning is None:
        with pytest.raises(DataError, match="read in two ways.*--decimal"):
            summarize(path, STUDY, value="x")
        summarize(path, STUDY, value="x", csv=CsvFormat(decimal=".", thousands=",", missing=("1.234.567", "1,5")))
    else:
        assert summarize(path, STUDY, value="x").trusted == STUDY.summarize_trusted(meaning)


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
    path, mark = tmp_path / name, "\t" if name.endswith("tsv") else ","
    text = "\n".join([f"x{mark}code", *(f"{cell}{mark}{'' if cell else 17}" for cell in cells)]).encode()
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    if meaning is None:
        with pytest.raises(DataError, match="read in two ways.*--decimal"):
            _read(path)
        thousands = [float(cell.replace(".", "")) for cell in cells if cell]
        assert _read(path, CsvFormat(thousands=".")).trusted == STUDY.summarize_trusted(thousands)
    else:
        trusted = _read(path).trusted
        assert trusted is not None
        assert trusted.total == STUDY.summarize_trusted(meaning).total


def test_a_column_of_codes_says_nothing_about_the_dots_of_another(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("x,code\n1.234,\n2.345,\n,17\n")
    assert _read(path).trusted == EXPECTED_OF_FRACTIONS
    path.write_text("x\n1.234\n2.345\n")  # one column: no separator tells where it is from
    with pytest.raises(DataError, match="read in two ways"):
        summarize(path, STUDY, value="x")


def test_an_unicode_text_of_excel_is_not_read_a_thousand_times_too_small(tmp_path: Path) -> None:
    path = tmp_path / "users.tsv"
    path.write_bytes("x\tort\n950\tKöln\n1.234\tBonn\n".encode("utf-16"))
    with pytest.raises(DataError, match="read in two ways"):
        summarize(path, STUDY, value="x")
    csv = CsvFormat(decimal=",", thousands=".")
    assert summarize(path, STUDY, value="x", csv=csv).trusted == STUDY.summarize_trusted([950, 1234])


@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_texts_in_json_mean_what_they_are_said_to_mean(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"users.{kind}"

    def write(cells: list[Any]) -> None:
        rows = [{"x": cell} for cell in cells]
        path.write_text(json.dumps(rows) if kind == "json" else "\n".join(map(json.dumps, rows)))

    for cells in (["950", "1.234"], ["1.234"]):
        write(cells)
        with pytest.raises(DataError, match="read in two ways.*--decimal"):
            summarize(path, STUDY, value="x")
        thousands = [float(cell.replace(".", "")) for cell in cells]
        csv = CsvFormat(thousands=".")
        assert summarize(path, STUDY, value="x", csv=csv).trusted == STUDY.summarize_trusted(thousands)
    write(["1,5", "2"])
    with pytest.raises(DataError, match="no number in column 'x', row 1 .*--decimal"):
        summarize(path, STUDY, value="x")
    csv = CsvFormat(decimal=",")
    assert summarize(path, STUDY, value="x", csv=csv).trusted == STUDY.summarize_trusted([1.5, 2])
    for options in (None, csv):  # numbers are no texts: they mean what they are, whatever marks texts have
        write([950, 1.234])
        assert summarize(path, STUDY, value="x", csv=options).trusted == STUDY.summarize_trusted([950, 1.234])
    write([950] * 10_001 + ["1.234"])
    with pytest.raises(DataError, match="texts and numbers are mixed|read in two ways"):
        summarize(path, STUDY, value="x")


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
    path = tmp_path / "users.csv"
    rows = [f"x{separator}y", *([f"{first}{separator}"] * 30_000), f'"{late}"{separator}']
    path.write_text("\n".join(rows))
    with pytest.raises(DataError, match="users.csv has no number in column 'x', row 30,001 ") as caught:
        summarize(path, STUDY, value="x")
    assert late not in str(caught.value)


def test_one_column_has_no_separator(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("x\n1,5\n2,25\n")
    assert summarize(path, STUDY, value="x").trusted == STUDY.summarize_trusted([1.5, 2.25])


def test_a_separator_that_could_be_several_is_an_option(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("x\n1,5;2|3\t4\n")
    with pytest.raises(DataError, match="several separators. Name one with --separator"):
        summarize(path, STUDY, value="x")


def test_a_file_without_a_header_does_not_show_its_first_row(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("31337.125,HIV-positive\n1.0,other\n")
    with pytest.raises(DataError, match="no column 'x'. Is its first row a header") as caught:
        summarize(path, STUDY, value="x")
    assert "31337" not in str(caught.value)
    assert "HIV" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["minutes 41.7,HIV\n1.0,other\n", "minutes;41.7\n93;1\n", "minutes,Minutes\n", "minute\n41.7\n", "minute\r41.7\n"],
)
@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_a_first_row_that_is_near_the_name_is_not_shown(tmp_path: Path, text: str, kind: str) -> None:
    path = tmp_path / f"users.{kind}"
    path.write_text(text, newline="")
    with pytest.raises(DataError, match="no column 'minutes_'. Is its first row a header, is the name") as caught:
        summarize(path, STUDY, value="minutes_")
    for word in ("minutes 41", "41.7", "HIV", "Did you mean"):
        assert word not in str(caught.value)


def test_line_ends_of_old_macs_are_named_and_no_cell_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("minutes\r41.7\r93\r", newline="")
    with pytest.raises(DataError, match="users.csv ends its lines as old Macs did") as caught:
        summarize(path, STUDY, value="minutes")
    assert "41.7" not in str(caught.value)
    path.write_text("minutes\r\n41.7\r\n93\r\n", newline="")
    assert summarize(path, STUDY, value="minutes").trusted == STUDY.summarize_trusted([41.7, 93])


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    for header in ("x,x", "x, x", "x ,x", " x,x\t"):
        path.write_text(f"{header}\n1,2\n")
        with pytest.raises(DataError, match="two columns of the name 'x'"):
            summarize(path, STUDY, value="x")
    path.write_text("code,study, study\n7,a,b\n")
    with pytest.raises(DataError, match="two columns of the name 'study'"):
        summarize(path, STUDY, report="code")
    path.with_suffix(".jsonl").write_text('{"x": 1, " x": 2}')
    with pytest.raises(DataError, match="two columns of the name 'x'"):
        summarize(path.with_suffix(".jsonl"), STUDY, value="x")


def test_files_of_different_dialects_are_one_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x;y\n1,5;1\n")
    (tmp_path / "b.csv").write_text("y,x\n1,2.5\n")
    (tmp_path / "c.tsv").write_text("x\tz\n3.5\t1\n")
    names = [tmp_path / name for name in ("a.csv", "b.csv", "c.tsv")]
    assert summarize(names, STUDY, value="x").trusted == STUDY.summarize_trusted([1.5, 2.5, 3.5])


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
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        CsvFormat(**options)


def test_words_name_characters() -> None:
    csv = CsvFormat(separator="tab", decimal="comma", thousands="space")
    assert (csv.separator, csv.decimal, csv.thousands) == ("\t", ",", " ")


def test_keys_that_look_like_numbers_stay_words(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("x,region\n" + "1,07\n" * 12_000 + "2,XX\n")  # the first rows say that regions are numbers
    parts = summarize(path, STUDY, value="x", group="region", keys=["07", "XX"])
    assert [part.trusted.count for part in parts.values() if part.trusted] == [12_000, 1]
    path.write_text("x,region\n1,7\n2,8\n")
    assert summarize(path, STUDY, value="x", group="region", keys=[7]).other == 1


def test_a_unit_beside_a_number_is_refused_and_named_as_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("x;y\n61,234.00 EUR;1\n")
    with pytest.raises(DataError, match="row 1 .*Units such as EUR or % must not stand beside numbers") as caught:
        summarize(path, STUDY, value="x")
    assert "61,234" not in str(caught.value)


@pytest.mark.parametrize("progress", [None, lambda _: None])
@pytest.mark.parametrize("name", ["users.csv", "users.csv.gz"])
def test_half_of_a_number_is_not_taken_for_the_whole(tmp_path: Path, name: str, progress: Any) -> None:  # noqa: ANN401
    path = tmp_path / name
    for rows in ("1,5,7\n2,5,8\n", "1,7\n" * 30_000 + "1,5,7\n"):  # decimal commas that nobody has quoted
        text = ("x,y\n" + rows).encode()
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        row = f"{rows.count(chr(10)):,}" if len(rows) > 20 else "1"
        words = "a row has more cells than the header" if name.endswith("gz") else f"more cells in row {row} "
        with pytest.raises(DataError, match=words):
            summarize(path, STUDY, value="x", progress=progress)
