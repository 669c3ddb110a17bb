"""How a text file is written, where it cannot be told from the file itself."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

from hybriddp.errors import ParameterError

MISSING_WORDS = ("na", "n/a", "#n/a", "#na", "nan", "null", "none")
"""Words, in small letters, that stand for a missing number wherever one is expected; so does an empty cell."""

_SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|"}
_THOUSANDS = {"space": " ", "comma": ",", "dot": ".", "point": ".", "apostrophe": "'"}
_DECIMALS = {"comma": ",", "dot": ".", "point": "."}


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
        for name, words in (("separator", _SEPARATORS), ("decimal", _DECIMALS), ("thousands", _THOUSANDS)):
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
