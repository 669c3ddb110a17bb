"""How a text file is written: as `CsvFormat` says, or detected from its header and a prefix where that is safe.

The prefix tells separators, marks and encodings only, never bounds or anything else that goes into an answer. What can
be read in two ways is refused with the name of the option that says which is meant: ``1.234`` is a thousand and some in
half of Europe and one and a bit elsewhere, and read the wrong way an answer is 1,000 times too small and looks right.
"""

import codecs
import gzip
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hybriddp.errors import DataError, ParameterError, raise_unchained
from hybriddp.tables.paths import File

if TYPE_CHECKING:
    import polars as pl

PREFIX = 1 << 16
"""Bytes that are looked at, after decompression."""

MISSING_WORDS = ("na", "n/a", "#n/a", "#na", "nan", "null", "none")
"""Words, in small letters, that stand for a missing number wherever one is expected; so does an empty cell."""

SEPARATORS = (",", ";", "\t", "|")
_WORDS = {
    "separator": {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|"},
    "decimal": {"comma": ",", "dot": ".", "point": "."},
    "thousands": {"space": " ", "comma": ",", "dot": ".", "point": ".", "apostrophe": "'"},
}
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
_OTHER = {".": ",", ",": "."}
_KINDS = ("decimal", "thousands", "doubtful")
# One mark; several, of which the last is M; M several times; and M before three digits: a fraction, or thousands.
_PATTERNS = (
    r"^[+-]?\d*M\d*([eE][+-]?\d+)?$",
    r"^[+-]?[\d.,]*O[\d.,]*M\d*([eE][+-]?\d+)?$",
    r"^[+-]?\d*(M\d*){2,}([eE][+-]?\d+)?$",
    r"^[+-]?[1-9]\d{0,2}M\d{3}$",
)


@dataclass(frozen=True, slots=True)
class CsvFormat:
    r"""How .csv, .tsv and .json files are written; what is None is detected, or refused where that is not safe.

    Parameters
    ----------
    separator : str, optional
        What stands between cells: one character, or ``"tab"``.
    decimal : {".", ","}, optional
        What stands before the fraction of a number. If it is given, thousands are separated as ``thousands`` says and
        not at all if that is None.
    thousands : {",", ".", " ", "'", "_"}, optional
        What stands between the thousands of a number.
    encoding : str, optional
        As Python names it, such as ``"latin-1"`` or ``"cp1252"``. UTF-8 is detected, and UTF-16 with a byte-order mark.
    missing : sequence of str
        More words that stand for a missing number, besides NA, N/A, NaN, NULL and None.

    Examples
    --------
    >>> CsvFormat(separator="tab", decimal=",", missing=("n.a.",)).separator
    '\t'
    """

    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, words in _WORDS.items():
            given = getattr(self, name)
            object.__setattr__(self, name, words.get(given, given) if isinstance(given, str) else given)
        separator, decimal, thousands = self.separator, self.decimal, self.thousands
        if separator is not None and (
            not isinstance(separator, str) or len(separator.encode()) != 1 or separator in '"\r\n'
        ):
            raise ParameterError("separator", "one character such as , ; | or the word tab", separator)
        if decimal not in (None, ".", ","):
            raise ParameterError("decimal", "a dot or a comma", decimal)
        if thousands not in (None, ",", ".", " ", "'", "_") or (decimal is not None and thousands == decimal):
            raise ParameterError("thousands", "one of , . ' _ or space, and not the decimal mark", thousands)
        if isinstance(self.missing, str) or not all(isinstance(word, str) for word in self.missing):
            raise ParameterError("missing", "words", self.missing)
        object.__setattr__(self, "missing", tuple(word.strip() for word in self.missing))
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except (LookupError, TypeError):
                raise ParameterError("encoding", "one that Python knows, such as latin-1", self.encoding) from None


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one file is written; see `CsvFormat`."""

    separator: str
    encoding: str
    decimal: str | None  # None if no mark was seen and it could be either one: numbers with a mark are refused
    thousands: str | None
    certain: bool = True  # whether an option or a number says what a dot means; if not, all numbers are looked at


def declared(file: File, csv: CsvFormat) -> Dialect:
    """Take what the options say alone, for JSON and for remote files, whose prefix is not ours to fetch."""
    separator = csv.separator or ("\t" if file.format == ".tsv" else ",")
    decimal = csv.decimal or ("," if csv.thousands == "." else ".")
    certain = csv.decimal is not None or csv.thousands is not None
    return Dialect(separator, csv.encoding or "utf-8", decimal, csv.thousands, certain)


def detect(file: File, csv: CsvFormat, wanted: Sequence[str], numbers: Sequence[str]) -> Dialect:
    """Detect the dialect of a file with the ``wanted`` columns, some of which hold ``numbers``."""
    raw = read_bytes(file, PREFIX)
    encoding = csv.encoding or _encoding(file, raw)
    text = _decoded(file, raw, encoding)
    if "\r" in text.rstrip() and "\n" not in text:
        raise DataError(
            f"{file.name} ends its lines as old Macs did, with a carriage return alone, so all of it is one line here. "
            "Save it with the line ends of Unix or Windows."
        )
    separator = csv.separator or ("\t" if file.format == ".tsv" else _separator(file, text, wanted))
    if csv.decimal is not None:
        return Dialect(separator, encoding, csv.decimal, csv.thousands)
    frame = _texts(text, separator)
    cells = frame.select(name for name in frame.columns if name.strip() in numbers)
    return _marked(file, cells, Dialect(separator, encoding, None, csv.thousands), csv)


def read_bytes(file: File, size: int = -1) -> bytes:
    """Read the first bytes of a file, or all, decompressed."""
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
    """Decode the prefix, without a last line that it cuts."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(raw, final=len(raw) < PREFIX)
    except (UnicodeError, LookupError):
        raise_unchained(
            DataError(f"{file.name} is not in the encoding {encoding}. Name the right one with --encoding.")
        )
    whole = len(raw) < PREFIX or "\n" not in text
    return text if whole else text[: text.rindex("\n") + 1]


def _separator(file: File, text: str, wanted: Sequence[str]) -> str:
    """Find the separator by which the header has all wanted columns."""
    headers = {mark: _texts(text, mark, n_rows=0).columns for mark in SEPARATORS}
    headers = {mark: [name.strip() for name in names] for mark, names in headers.items()}
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


def _texts(text: str, separator: str, n_rows: int | None = None) -> "pl.DataFrame":
    """Read the prefix as the rest will be read; without columns where that fails, since the reader will say so."""
    import polars as pl

    try:
        return pl.read_csv(
            text.encode(), separator=separator, n_rows=n_rows, infer_schema=False, truncate_ragged_lines=True
        )
    except pl.exceptions.PolarsError:
        return pl.DataFrame()


def _marked(file: File, cells: "pl.DataFrame", dialect: Dialect, csv: CsvFormat) -> Dialect:
    """Add the decimal mark and the mark between thousands to a dialect."""
    if csv.thousands in (",", "."):
        return replace(dialect, decimal=_OTHER[csv.thousands])
    seen = _seen(cells.lazy(), csv) if cells.width else {}
    decimals, thousands, doubtful = ({mark for mark in _OTHER if seen.get(kind + mark)} for kind in _KINDS)
    decimals |= {_OTHER[mark] for mark in thousands}
    if len(decimals) == 1:
        (decimal,) = decimals
        other = _OTHER[decimal]
        return replace(
            dialect, decimal=decimal, thousands=csv.thousands or (other if other in thousands | doubtful else None)
        )
    if csv.thousands is not None and doubtful == {"."} and not decimals:
        return replace(dialect, decimal=".")  # thousands are separated by something else
    # People with decimal commas separate by ; and tables that Excel writes for them, by tabs.
    if decimals or "," in doubtful or (doubtful and dialect.separator != ","):
        raise _two_ways(file.name)
    if dialect.separator == ";":
        return dialect
    return replace(dialect, decimal=".", certain=csv.thousands is not None)


def _seen(frame: "pl.LazyFrame", csv: CsvFormat) -> dict[str, bool]:
    """Find the marks before fractions, between thousands, or either, in columns of texts."""
    import polars as pl

    text = pl.all().str.strip_chars()
    text = pl.when(~text.is_in(list(csv.missing))).then(text)
    text = text if csv.thousands is None else text.str.replace_all(csv.thousands, "", literal=True)
    looks: dict[str, pl.Expr] = {"whole": text.str.contains(r"^[+-]?\d+$")}
    for mark, other in _OTHER.items():
        one, last, two, grouped = (
            text.str.contains(pattern.replace("M", f"[{mark}]").replace("O", f"[{other}]")) for pattern in _PATTERNS
        )
        looks |= {f"decimal{mark}": (one & ~grouped) | last, f"doubtful{mark}": grouped}
        looks[f"thousands{mark}"] = two
        looks[f"last{mark}"] = last
    found = frame.select(pl.any_horizontal(look.any()).alias(name) for name, look in looks.items())
    row: dict[str, bool] = found.collect(engine="streaming").row(0, named=True)
    return {name: bool(some) for name, some in row.items()} | {
        f"thousands{mark}": bool(row[f"thousands{mark}"] or row[f"last{other}"]) for mark, other in _OTHER.items()
    }


def _two_ways(name: str) -> DataError:
    return DataError(
        f"{name} has numbers that can be read in two ways, since . and , may stand before a fraction or "
        "between thousands. Say what they mean with --decimal, and --thousands if they are separated "
        "(in Python: CsvFormat)."
    )


def refuse_doubtful(frame: "pl.LazyFrame", columns: Sequence[str], name: str, csv: CsvFormat, *, likely: bool) -> None:
    """Raise `DataError` if dots may stand between thousands in columns of texts.

    A dot stands before a fraction for certain if any cell of the file can be read in no other way, such as ``0.5``. If
    there is none, a column of nothing but cells like ``1.234`` is refused unless dots before fractions are ``likely``,
    and one that has integers beside them always: computers write all numbers of a column with a fraction, or some with
    a shorter one, while 950 and 1.234 are what people write who separate thousands by dots.
    """
    import polars as pl

    # Most files that come here are of integers, and a search for a dot costs much less than one for numbers.
    dots = [pl.col(column).str.contains(".", literal=True).any() for column in columns]
    if not dots or not any(frame.select(dots).collect(engine="streaming").row(0)):
        return
    seen = [_seen(frame.select(column), csv) for column in columns]
    if not any(column["decimal."] for column in seen) and any(
        column["doubtful."] and (column["whole"] or not likely) for column in seen
    ):
        raise _two_ways(name)
