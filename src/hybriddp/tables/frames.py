"""Any table as lazy frames of narwhals, and what every query does to its columns first."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hybriddp import _check
from hybriddp.errors import DataError, MissingExtraError, ParameterError, raise_unchained
from hybriddp.grid import as_floats
from hybriddp.tables.engines import ENGINES, open_files, require_engine
from hybriddp.tables.names import File, expand
from hybriddp.tables.reading import reading
from hybriddp.tables.text import Wanted, bad_cell


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table that can be read several times.

    Attributes
    ----------
    frames : tuple
        Lazy frames of narwhals, whose rows follow one another.
    names : list of str or None
        The files, if it is files.
    files : list of File
        What the names stand for.
    wanted : Wanted
        The columns that are read.
    """

    frames: tuple[Any, ...]
    names: list[str] | None
    files: list[File]
    wanted: Wanted

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn what an engine raises into a `DataError` that names the files and quotes no row."""
        with reading(self.names, partial(bad_cell, self.files, self.wanted) if self.files else None):
            yield


def open_table(
    table: Any,  # noqa: ANN401
    engine: str | None,
    *,
    numbers: Sequence[str],
    others: Sequence[str] = (),
) -> OpenTable:
    """A dataframe, a relation or files as frames; see `hybriddp.tables.summarize`."""
    names = file_names(table)
    reader = chosen_engine(names, engine)
    require_narwhals()  # before anything is opened
    files, wanted = ([] if names is None else expand(names)), Wanted(numbers=numbers, others=others)
    with reading(names, partial(bad_cell, files, wanted) if files else None):
        tables = [table] if names is None else open_files(files, reader, wanted)
        return OpenTable(tuple(lazy_frame(part, list(numbers)) for part in tables), names, files, wanted)


def chosen_engine(names: list[str] | None, engine: str | None) -> str:
    """What reads files: Polars if nothing else is said."""
    if names is None and engine is not None:
        raise ParameterError("engine", "given for file names only: a dataframe has its own", engine)
    chosen = _check.choice("engine", engine or "polars", ENGINES)
    if names is not None:
        require_engine(chosen)
    return chosen


def require_narwhals() -> Any:  # noqa: ANN401
    """The library, or an error that says how to get it."""
    try:
        import narwhals
    except ImportError:
        raise MissingExtraError("narwhals", extra="tables", purpose="Summarizing a table") from None
    return narwhals


def file_names(table: Any) -> list[str] | None:  # noqa: ANN401
    """The files that are meant, if files are meant."""
    if isinstance(table, (str, Path)):
        return [str(table)]
    if isinstance(table, (list, tuple)) and table and all(isinstance(name, (str, Path)) for name in table):
        return [str(name) for name in table]
    return None


def lazy_frame(
    table: Any,  # noqa: ANN401
    numbers: list[str],
    *,
    answers: Sequence[str] = (),
    texts: Sequence[str] = (),
) -> Any:  # noqa: ANN401
    """A table as a lazy frame; columns of numbers, or of yes and no, that are held as objects become floats.

    So do ``texts``, however their names are spelled, become texts: pandas keeps bytes, and texts among other things, as
    objects.
    """
    nw = require_narwhals()
    try:
        frame = nw.from_native(table)
        if isinstance(frame, nw.DataFrame):  # pandas keeps decimals and other exact numbers as objects
            for name in numbers:
                if name in frame.columns and frame.schema[name] == nw.Object:
                    values = as_floats(frame[name].to_numpy())
                    column = nw.new_series(name, values, nw.Float64, backend=frame.implementation)
                    frame = frame.with_columns(column)
            for name in answers:  # booleans of which some are missing are objects in pandas
                if name in frame.columns and frame.schema[name] == nw.Object:
                    flags = [float(x) if isinstance(x, (bool, np.bool_)) else x for x in frame[name].to_list()]
                    column = nw.new_series(
                        name, as_floats(np.array(flags, object)), nw.Float64, backend=frame.implementation
                    )
                    frame = frame.with_columns(column)
            for name in frame.columns:
                if name.strip().lower() in texts and frame.schema[name] == nw.Object:
                    cells = [_text(x) for x in frame[name].to_list()]
                    frame = frame.with_columns(nw.new_series(name, cells, nw.String, backend=frame.implementation))
        return frame.lazy()
    except nw.exceptions.DuplicateError:
        raise_unchained(DataError("The table has two columns of the same name. Rename one of them."))
    except TypeError:
        kind = type(table).__name__
        raise_unchained(DataError(f"table must be a dataframe, a relation or file names, got {kind}."))


def _text(x: object) -> str | None:
    """A text, or bytes that are one; None for anything else."""
    if isinstance(x, bytes):
        return x.decode("ascii", "replace")
    return x if isinstance(x, str) else None


def require_numbers(nw: Any, schema: Any, columns: Sequence[str]) -> None:  # noqa: ANN401
    """Nothing, if these columns hold numbers; `DataError` if not."""
    for column in columns:
        if not schema[column].is_numeric() and schema[column] != nw.Unknown:
            raise DataError(f"Column {column!r} must hold numbers, but holds {schema[column]}.")


def as_float(nw: Any, dtype: Any, column: str) -> Any:  # noqa: ANN401
    """A column as floats: the nearest one, also for integers beyond 2^53, whose conversion some engines refuse."""
    x = nw.col(column)
    if dtype == nw.Float64:
        return x
    if dtype not in (nw.Int64, nw.UInt64):
        return x.cast(nw.Float64)
    word = 1 << 32  # both parts are exact, so that only their sum is rounded
    upper = x // word
    return upper.cast(nw.Float64) * float(word) + (x - upper * word).cast(nw.Float64)


def collect(frame: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """The rows of a small result."""
    streaming = {"engine": "streaming"} if type(frame.to_native()).__module__.startswith("polars") else {}
    rows: list[dict[str, Any]] = frame.collect(**streaming).rows(named=True)
    return rows
