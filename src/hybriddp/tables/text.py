"""Text files (.csv, .tsv, .jsonl, .json) as lazy frames of Polars, whichever engine reads the others.

Engines disagree about what a cell means: padding, ``NA``, ``1_000``, words that look like numbers. So one library reads
all text files, and what it makes of a cell is said here. Cells that are no numbers are found, and refused by column and
row; what they hold is told to nobody.
"""

import io
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from hybriddp.errors import DataError
from hybriddp.tables.dialect import MISSING_WORDS, CsvFormat, Dialect, declared, detect, read_bytes, refuse_doubtful
from hybriddp.tables.paths import File, table_title

if TYPE_CHECKING:
    import polars as pl

_NAMED = 20  # columns that an error names
_ROWS_FOR_TYPES = 10_000  # rows that Polars looks at to tell the types of columns that are no numbers


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns that are read, and how text files are written."""

    numbers: Sequence[str] = ()
    texts: Sequence[str] = ()  # even if they look like numbers
    others: Sequence[str] = ()  # of a type that is told from their first rows
    optional: Sequence[str] = ()  # texts that need not be there; in small letters, but may be spelled otherwise
    items: Sequence[str] = ()  # those of the texts in which words for what is missing count as such
    categories: Sequence[str] = ()  # those of the numbers that are compared with categories
    csv: CsvFormat = field(default_factory=CsvFormat)

    @property
    def required(self) -> list[str]:
        """The columns that must be there."""
        return list(dict.fromkeys([*self.numbers, *self.texts, *self.others]))


def require_column(column: str, known: Sequence[str], table: str, *, certain: bool = True) -> None:
    """Raise `DataError` with the nearest name unless the table has the column.

    Unless it is ``certain`` that these are names, none of them is shown, not even one that is near: the first row of a
    file without a header is somebody's.
    """
    if column in known:
        return
    near = get_close_matches(column, known, n=1)
    if not certain:
        hint = "Is its first row a header, is the name spelled as it is there, and is --separator right?"
    else:
        more = f" and {len(known) - _NAMED:,} more" if len(known) > _NAMED else ""
        hint = f"Did you mean {near[0]!r}? " if near else ""
        hint += f"It has {', '.join(map(repr, known[:_NAMED]))}{more}."
    raise DataError(f"{table} has no column {column!r}. {hint}")


def scan_text(files: Sequence[File], wanted: Wanted) -> "pl.LazyFrame":
    """Scan the wanted columns of text files, one after the other."""
    import polars as pl

    frames = [_scan(file, wanted) for file in files]
    return frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed")


def bad_cell(files: Sequence[File], wanted: Wanted) -> str | None:
    """Find the first cell that is no number; return a sentence that names its column and row."""
    import polars as pl

    for file in files:
        if not file.is_text:
            continue
        if file.is_csv and not file.compression and (row := _long_row(file, wanted)) is not None:
            return (
                f"{file.name} has more cells in row {row:,} (the header not counted) than columns. If commas stand "
                "before fractions there, numbers must be quoted, or cells separated by something else (--separator)."
            )
        for name in wanted.numbers:
            found = _scan(file, wanted, bad_in=name).filter("bad").select(pl.col("row").first()).collect()
            if found.height and found.item() is not None:
                at = f"in column {name!r}, row {found.item() + 1:,} (the header not counted)"
                if name in wanted.categories:
                    return (
                        f"{file.name} has no number {at}, but all categories are integers. If that is a word for a "
                        "missing item, name it with --missing (in Python: CsvFormat). If words are answers, too, add "
                        "them to the categories: then all of these are texts."
                    )
                return (
                    f"{file.name} has no number {at}. "
                    "If that is a word for a missing value, name it with --missing; --decimal and --thousands say how "
                    "numbers are written (in Python: CsvFormat). Units such as EUR or % must not stand beside numbers."
                )
    lines = [file.name for file in files if file.format in (".json", ".jsonl")]
    if lines:
        return (
            f"{table_title(lines)} cannot be read. If texts and numbers are mixed in a column, write all as numbers: "
            f"texts that come only after row {_ROWS_FOR_TYPES:,} are not read."
        )
    return None


def _long_row(file: File, wanted: Wanted) -> int | None:
    """Find the first row that has more cells than the header, if there is one."""
    from pyarrow import csv

    dialect, long = detect(file, wanted.csv, wanted.required, wanted.numbers), list[int]()

    def look(row: Any) -> str:  # noqa: ANN401
        if row.actual_columns > row.expected_columns and row.number is not None:
            long.append(row.number - 1)
        return "skip"

    parse = csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True, invalid_row_handler=look)
    with suppress(Exception):  # the reader of the file itself knows better what is wrong
        csv.read_csv(file.name, csv.ReadOptions(use_threads=False, encoding=dialect.encoding), parse)
    return min(long, default=None)


def _scan(file: File, wanted: Wanted, *, bad_in: str | None = None) -> "pl.LazyFrame":
    """Scan the wanted columns of a file, or, with ``bad_in``, which rows have no number in that column."""
    import polars as pl

    frame, dialect = _open(file, wanted, as_numbers=bad_in is None)
    schema = frame.collect_schema()
    names = schema.names()
    spelled = {name.strip(): name for name in names}  # names may be padded, too
    # A first row that has another wanted column is a header, and no row of somebody's.
    certain = not file.is_csv or any(name in spelled for name in wanted.required)
    for name in wanted.required:
        require_column(name, list(spelled), file.name, certain=certain)
    for name in (*wanted.required, *wanted.optional):
        if f"{name}_duplicated_0" in spelled or [other.strip() for other in names].count(name) > 1:
            raise DataError(f"{file.name} has two columns of the name {name!r}. Rename one of them.")
    if bad_in is None and not dialect.certain:
        # People with decimal commas do not separate cells by them; one column has no separator that says anything.
        likely = file.format == ".csv" and dialect.separator == "," and len(spelled) > 1
        texts = [spelled[name] for name in wanted.numbers if schema[spelled[name]] == pl.String]
        refuse_doubtful(frame, texts, file.name, wanted.csv, likely=likely)
    if bad_in is not None:
        text = _number_text(pl.col(spelled[bad_in]), dialect, wanted.csv)
        bad = text.is_not_null() & text.cast(pl.Float64, strict=False).is_null()
        return frame.with_row_index("row").select("row", bad=bad)
    columns: dict[str, pl.Expr] = {}
    more = [name for name in spelled if name.lower() in wanted.optional and name not in wanted.required]
    if file.is_csv:
        frame = _checked_rows(frame, [spelled[name] for name in (*wanted.required, *more)])
    for name in (*wanted.required, *more):
        cell = pl.col(spelled[name])
        if name in wanted.numbers and schema[spelled[name]] == pl.Float64:
            columns[name] = cell
        elif name in wanted.numbers:
            columns[name] = _number_text(cell, dialect, wanted.csv).cast(pl.Float64)
        elif schema[spelled[name]] == pl.String:
            stripped = cell.str.strip_chars()
            words = ["", *wanted.csv.missing] if name in wanted.items else [""]
            columns[name] = pl.when(~stripped.is_in(words)).then(stripped)
        else:
            columns[name] = cell
    return frame.select(**columns)


def _open(file: File, wanted: Wanted, *, as_numbers: bool) -> "tuple[pl.LazyFrame, Dialect]":
    """Open the file with numbers and texts as texts, and other columns as Polars likes.

    What are numbers in JSON already may stay numbers: only texts need somebody to say what their marks mean.
    """
    if file.is_csv:
        return _open_csv(file, wanted)
    import polars as pl

    dialect = declared(file, wanted.csv)
    first = b"" if file.remote else read_bytes(file, 1 << 12).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if file.format == ".json" and first == b"[":
        content = io.BytesIO(read_bytes(file).removeprefix(b"\xef\xbb\xbf"))
        found = pl.read_json(content, infer_schema_length=None)
        content.seek(0)
        return pl.read_json(content, schema_overrides=_types(found, wanted, as_numbers=as_numbers)).lazy(), dialect
    lines: Any = io.BytesIO(read_bytes(file)) if file.compression else file.name
    frame = pl.scan_ndjson(lines, infer_schema_length=_ROWS_FOR_TYPES)
    types = _types(frame, wanted, as_numbers=as_numbers)
    return pl.scan_ndjson(lines, infer_schema_length=_ROWS_FOR_TYPES, schema_overrides=types), dialect


def _open_csv(file: File, wanted: Wanted) -> "tuple[pl.LazyFrame, Dialect]":
    import polars as pl

    dialect = declared(file, wanted.csv) if file.remote else detect(file, wanted.csv, wanted.required, wanted.numbers)
    source: Any = file.name
    if dialect.encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig", "ascii"):
        if file.remote:
            raise DataError(f"{file.name} must be UTF-8, since it is read where it is. Copy it first.")
        source = io.BytesIO(read_bytes(file).decode(dialect.encoding).removeprefix("\ufeff").encode())
    options: dict[str, Any] = {"separator": dialect.separator, "infer_schema_length": _ROWS_FOR_TYPES}
    if isinstance(source, str):
        options["glob"] = file.remote
    names = pl.scan_csv(source, **options).collect_schema().names()
    texts = {name: pl.String for name in names if name.strip() not in wanted.others}
    return pl.scan_csv(source, schema_overrides=texts, **options), dialect


def _checked_rows(frame: "pl.LazyFrame", columns: list[str]) -> "pl.LazyFrame":
    """Select columns of a CSV file, all of which is read for that.

    Polars notices that a row has more cells than the header only if it reads all columns. The rows of a file with
    decimal commas that nobody has quoted are such: half of a number would be taken for the whole.
    """
    schema = frame.collect_schema()
    return frame.map_batches(
        methodcaller("select", columns),
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        streamable=True,
        schema={name: schema[name] for name in columns},
    )


def _types(frame: Any, wanted: Wanted, *, as_numbers: bool) -> dict[str, Any]:  # noqa: ANN401
    """Choose the types of a JSON file's columns that are not left to Polars."""
    import polars as pl

    texts = {*wanted.numbers, *wanted.texts}
    types: dict[str, Any] = {}
    for name, dtype in frame.collect_schema().items():
        if name.strip() in texts or name.strip().lower() in wanted.optional:
            numeric = as_numbers and name.strip() in wanted.numbers and dtype.is_numeric()
            types[name] = pl.Float64 if numeric else pl.String
    return types


def _number_text(cell: "pl.Expr", dialect: Dialect, csv: CsvFormat) -> "pl.Expr":
    """Write a cell as Polars casts it to a number; null where a number is missing."""
    import polars as pl

    text = cell.str.strip_chars()
    words = {"", *csv.missing}
    for word in MISSING_WORDS:
        words |= {word, word.upper(), word.capitalize()}
    text = pl.when(~text.is_in(sorted({*words, "NaN"}))).then(text)
    if dialect.thousands is not None:
        mark = "[ \u00a0\u202f]" if dialect.thousands == " " else re.escape(dialect.thousands)
        fraction = rf"({re.escape(dialect.decimal or '.')}\d*)?"
        fine = text.str.contains(rf"^[+-]?\d{{1,3}}({mark}\d{{3}})+{fraction}$") | ~text.str.contains(mark)
        text = pl.when(fine).then(text.str.replace_all(mark, "")).otherwise(text + "?")
    elif dialect.decimal in (None, ","):
        dot = text.str.contains(".", literal=True)
        text = pl.when(dot).then(text + "?").otherwise(text)  # a dot has no meaning here
    if dialect.decimal == ",":
        text = text.str.replace(",", ".", literal=True)
    return text
