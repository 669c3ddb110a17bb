"""What engines and dataframes raise, without what they say: their messages quote cells and rows."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from hybriddp.errors import DataError, HybridDPError, raise_unchained
from hybriddp.tables.names import shown

_NO_PARQUET = re.compile(r"PAR1|magic|not a parquet file|too small to be a parquet|file out of specification", re.I)
_NO_UTF8 = re.compile(r"invalid utf-?8|not utf-?8", re.I)
_REASONS = {
    "NoDataError": "it is empty",
    "ColumnNotFoundError": "its files have different columns",
    "SchemaError": "its files have different columns or types",
    "SchemaFieldNotFoundError": "its files have different columns",
    "UnicodeDecodeError": "its text is in another encoding, which --encoding can name",
    "MemoryError": "it does not fit into memory",
}


@contextmanager
def reading(names: Sequence[str] | None, explain: Callable[[], str | None] | None = None) -> Iterator[None]:
    """Turn whatever an engine raises into a `DataError` that names the files, or the table if there are none.

    Which kind of error it was is told. What the engine said about it is not, neither in the message nor in a chained
    exception: it may be somebody's value, quoted or not. ``explain`` may look once more and find a better sentence.
    """
    try:
        yield
    except HybridDPError:
        raise
    except Exception as reason:
        sentence = None
        with suppress(Exception):
            sentence = explain() if explain is not None else None
        what = "The table" if names is None else shown(names)
        raise_unchained(DataError(sentence or f"{what} cannot be read: {_words(reason)}."))


def writing_error(path: object, reason: Exception) -> DataError:
    """The error that a file cannot be written, without what the library said about its content."""
    return DataError(f"{path} cannot be written: {_words(reason)}.")


def _words(reason: Exception) -> str:
    """What kind of error it was, in words that do not depend on the data."""
    if isinstance(reason, OSError) and reason.errno is not None:
        return os.strerror(reason.errno)
    kind = type(reason)
    if _NO_PARQUET.search(str(reason)):
        return "it is not a Parquet file, or a broken one"
    if "found more fields than defined" in str(reason):
        return "a row has more cells than the header"
    if _NO_UTF8.search(str(reason)):
        return "its text is not UTF-8 throughout; --encoding names another encoding"
    library = kind.__module__.split(".")[0]
    raised = kind.__qualname__ if library == "builtins" else f"{library}'s {kind.__qualname__}"
    return f"{_REASONS.get(kind.__name__, 'its content does not fit its format or its columns')} ({raised})"
