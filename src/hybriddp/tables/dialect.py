"""How a CSV file is written: detected from its header and a prefix of fixed size, where that is safe.

The prefix tells separators, marks and encodings only, never bounds or anything else that goes into an answer. What can
be read in two ways, such as ``1,234``, is refused with the name of the option that says which is meant.
"""

import codecs
import gzip
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hybriddp.errors import DataError, raise_unchained
from hybriddp.tables.csv_format import MISSING_WORDS, CsvFormat
from hybriddp.tables.marks import two_ways
from hybriddp.tables.names import File

PREFIX = 1 << 16
"""Bytes that are looked at, after decompression."""

SEPARATORS = (",", ";", "\t", "|")
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
_EXPONENT = re.compile(r"[eE][+-]?\d+$")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one file is written.

    Attributes
    ----------
    separator, encoding : str
        Between cells, and of the text.
    decimal : str or None
        The decimal mark; None if none was seen and it could be either one: then numbers with a mark are refused.
    thousands : str or None
        What stands between thousands.
    certain : bool
        Whether somebody said what a dot means, or a number showed it; if not, all numbers have to be looked at.
    """

    separator: str
    encoding: str
    decimal: str | None
    thousands: str | None
    certain: bool = True


def detect(file: File, csv: CsvFormat, wanted: Sequence[str], numbers: Sequence[str]) -> Dialect:
    """How a file is written that must have the ``wanted`` columns, some of which hold ``numbers``."""
    raw = read_bytes(file, PREFIX)
    encoding = csv.encoding or _encoding(file, raw)
    text = _decoded(file, raw, encoding)
    if "\r" in text.rstrip() and "\n" not in text:
        raise DataError(
            f"{file.name} ends its lines as old Macs did, with a carriage return alone, so all of it is one line here. "
            "Save it with the line ends of Unix or Windows."
        )
    separator = csv.separator or ("\t" if file.kind == ".tsv" else _separator(file, text, wanted))
    if csv.decimal is not None:
        return Dialect(separator, encoding, csv.decimal, csv.thousands)
    cells = _cells(text, separator, numbers)
    return _marked(file, cells, Dialect(separator, encoding, None, csv.thousands), csv)


def read_bytes(file: File, size: int = -1) -> bytes:
    """The first bytes of a file, or all, decompressed."""
    if file.compression == "gzip":
        with gzip.open(file.name) as stream:
            return stream.read(size)
    if file.compression == "zstd":
        import pyarrow as pa

        with pa.input_stream(file.name, compression="zstd") as stream:
            content: bytes = stream.read(None if size < 0 else size)
            return content
    with open(file.name, "rb") as stream:
        return stream.read(size)


def header(text: str, separator: str) -> list[str]:
    """The names of the columns, by the reader that will read the rest."""
    import polars as pl

    try:
        names = pl.read_csv(
            text.encode(), separator=separator, n_rows=0, infer_schema=False, truncate_ragged_lines=True
        )
    except pl.exceptions.PolarsError:
        return []
    return [name.strip() for name in names.columns]


def _encoding(file: File, raw: bytes) -> str:
    for mark, name in _BOMS:
        if raw.startswith(mark):
            return name
    option = "Name it with --encoding (in Python: CsvFormat)"
    if b"\0" in raw:
        raise DataError(f"{file.name} is not UTF-8; UTF-16 without a byte-order mark looks like this. {option}.")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(raw, final=False)
    except UnicodeDecodeError:
        raise_unchained(DataError(f"{file.name} is not UTF-8. {option}: latin-1 or cp1252 are usual."))
    return "utf-8"


def _decoded(file: File, raw: bytes, encoding: str) -> str:
    """The prefix as text, without a last line that it cuts."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(raw, final=len(raw) < PREFIX)
    except (UnicodeError, LookupError):
        raise_unchained(
            DataError(f"{file.name} is not in the encoding {encoding}. Name the right one with --encoding.")
        )
    whole = len(raw) < PREFIX or "\n" not in text
    return text if whole else text[: text.rindex("\n") + 1]


def _separator(file: File, text: str, wanted: Sequence[str]) -> str:
    """The separator by which the header has all columns that are wanted."""
    headers = {mark: header(text, mark) for mark in SEPARATORS}
    fitting = [mark for mark, names in headers.items() if set(wanted) <= set(names)]
    if not fitting:  # a column is missing: the reader will say which
        return max(SEPARATORS, key=lambda mark: len(headers[mark]))
    if len(fitting) == 1:
        return fitting[0]
    if max(len(names) for names in headers.values()) == 1:  # one column: what stands in its cells is no separator
        unused = [mark for mark in SEPARATORS if mark not in text]
        if unused:
            return unused[0]
    raise DataError(
        f"{file.name} can be read with several separators. Name one with --separator (in Python: CsvFormat)."
    )


def _cells(text: str, separator: str, numbers: Sequence[str]) -> list[str]:
    """Cells of the prefix that should be numbers."""
    import polars as pl

    try:
        frame = pl.read_csv(text.encode(), separator=separator, infer_schema=False, truncate_ragged_lines=True)
    except pl.exceptions.PolarsError:
        return []  # the reader will say it
    columns = [name for name in frame.columns if name.strip() in numbers]
    return [cell.strip() for name in columns for cell in frame[name].drop_nulls()]


def _marked(file: File, cells: Iterable[str], found: Dialect, csv: CsvFormat) -> Dialect:
    """What was found so far, with the decimal mark and the mark between thousands."""
    if csv.thousands in (",", "."):
        return replace(found, decimal="." if csv.thousands == "," else ",")
    seen = _Seen()
    missing = {*MISSING_WORDS, *(word.lower() for word in csv.missing), ""}
    for cell in cells:
        if cell.lower() not in missing:
            seen.look(cell.replace(csv.thousands, "") if csv.thousands else cell)
    decimals = seen.decimals | {"." if mark == "," else "," for mark in seen.thousands}
    if len(decimals) == 1:
        decimal = decimals.pop()
        other = "," if decimal == "." else "."
        grouped = other in seen.thousands or other in seen.doubtful
        return replace(found, decimal=decimal, thousands=csv.thousands or (other if grouped else None))
    if csv.thousands is not None and seen.doubtful == {"."} and not decimals:
        return replace(found, decimal=".")  # thousands are separated by something else
    # People with decimal commas separate by ; and tables that Excel writes for them, by tabs.
    if decimals or "," in seen.doubtful or (seen.doubtful and found.separator != ","):
        raise two_ways(file.name)
    if found.separator == ";":
        return found
    return replace(found, decimal=".", certain=csv.thousands is not None)


class _Seen:
    """Which marks were seen, and what they must mean."""

    def __init__(self) -> None:
        self.decimals: set[str] = set()
        self.thousands: set[str] = set()
        self.doubtful: set[str] = set()

    def look(self, cell: str) -> None:
        """Take a cell into account; one that is no number is left to the reader."""
        body = _EXPONENT.sub("", cell).lstrip("+-")
        if not body or not re.fullmatch(r"[\d.,]+", body):
            return
        dots, commas = body.count("."), body.count(",")
        if dots and commas:
            last = max(body.rfind("."), body.rfind(","))
            self.decimals.add(body[last])
            self.thousands.add("," if body[last] == "." else ".")
        elif dots > 1 or commas > 1:
            self.thousands.add("." if dots else ",")
        elif dots or commas:
            mark = "." if dots else ","
            whole, fraction = body.split(mark)
            grouped = (
                len(fraction) == 3 and 1 <= len(whole) <= 3 and not whole.startswith("0") and body == cell.lstrip("+-")
            )
            (self.doubtful if grouped else self.decimals).add(mark)
