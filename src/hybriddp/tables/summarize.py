"""Any table to two summaries, by one code path: pandas, Polars (eager or lazy), PyArrow, DuckDB, PySpark, files.

The engine that holds the data does the counting; only a handful of integers comes back. A value becomes units by the
same floating-point operations everywhere (clamp, subtract, multiply, add a half, floor: rounding functions differ
between engines, floor does not), so the integers are the same to the last bit.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hybriddp.errors import DataError, MissingExtraError, ParameterError
from hybriddp.grid import UNITS, as_floats
from hybriddp.mean.study import MOST_BAD_CODES
from hybriddp.mean.summary import LocalSummary, TrustedSummary
from hybriddp.tables.files import require_column, scan_file

if TYPE_CHECKING:
    from hybriddp.mean.study import MeanStudy


class Summaries(NamedTuple):
    """What a table says of each group; None for a group whose column was not named."""

    trusted: TrustedSummary | None
    local: LocalSummary | None


def summarize(table: Any, study: "MeanStudy", *, value: str | None = None, report: str | None = None) -> Summaries:  # noqa: ANN401
    """The two groups of a table as summaries.

    Parameters
    ----------
    table : dataframe, relation, path or str
        Anything that narwhals understands, or the name of a .parquet, .csv or .jsonl file (``*`` for many).
    study : MeanStudy
        The study that the rows belong to.
    value : str, optional
        The column of raw values: filled in the rows of trusted users, empty in the others.
    report : str, optional
        The column of codes: filled in the rows of local users, empty in the others.

    Returns
    -------
    Summaries
        ``trusted, local``. Rows that have neither a finite value nor a report are counted as rejected by the trusted
        summary, reports that are no codes by the local one. A row with both is an error: nobody is in both groups.

    Examples
    --------
    >>> import polars as pl
    >>> from hybriddp import MeanStudy
    >>> study = MeanStudy("minutes", bounds=(0, 240), epsilon=0.5)
    >>> table = pl.DataFrame({"minutes": [30.0, None, None], "code": [None, 7, 9]})
    >>> trusted, local = summarize(table, study, value="minutes", report="code")
    >>> trusted.count, local.count
    (1, 2)
    """
    if value is None and report is None:
        raise ParameterError("value", "the name of a column, or report must be", value)
    nw = _narwhals()
    columns = [name for name in (value, report) if name is not None]
    frame = _frame(nw, table, columns)
    _check_columns(nw, frame, columns)
    return Summaries(
        trusted=None if value is None else _trusted(nw, frame, study, value, report),
        local=None if report is None else _local(nw, frame, study, report),
    )


def _trusted(nw: Any, frame: Any, study: "MeanStudy", value: str, report: str | None) -> TrustedSummary:  # noqa: ANN401
    lower, upper = study.bounds
    x = _as_float(nw, frame, value)
    finite = ~x.is_null() & ~x.is_nan() & x.is_finite()
    reported = ~nw.col(report).is_null() if report is not None else nw.lit(value=False)
    safe = nw.when(finite).then(x).otherwise(nw.lit(lower))  # the lower bound is 0 units, so it adds nothing
    units = ((safe.clip(lower, upper) - lower) * (UNITS / study.width) + 0.5).floor().cast(nw.Int64)
    row = _one_row(
        frame.select(
            count=finite.cast(nw.Int64).sum(),
            total=units.sum(),
            rejected=(~finite & ~reported).cast(nw.Int64).sum(),
            both=(finite & reported).cast(nw.Int64).sum(),
        )
    )
    if row["both"]:
        raise DataError(f"{row['both']:,} rows have both a value and a report: nobody is in both groups.")
    return TrustedSummary(study.digest, row["count"], row["total"], row["rejected"])


def _local(nw: Any, frame: Any, study: "MeanStudy", report: str) -> LocalSummary:  # noqa: ANN401
    n = study.channel.n_codes
    given = frame.select(code=nw.col(report).cast(nw.Float64)).filter(~nw.col("code").is_null())
    codes = _rows(given.group_by("code").agg(count=nw.len()))
    counts, rejected = [0] * n, 0
    for row in codes:
        code = float(row["code"])
        if code in range(n):  # false for NaN, fractions and what is out of range
            counts[int(code)] += int(row["count"])
        else:
            rejected += int(row["count"])
    if rejected > MOST_BAD_CODES * (sum(counts) + rejected):
        raise DataError(f"{rejected:,} reports are no codes from 0 to {n - 1}: they are reports of something else.")
    return LocalSummary(study.digest, tuple(counts), rejected)


def _rows(frame: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """The rows of a small result."""
    native = frame.to_native()
    streaming = {"engine": "streaming"} if type(native).__module__.startswith("polars") else {}
    rows: list[dict[str, Any]] = frame.collect(**streaming).rows(named=True)
    return rows


def _one_row(frame: Any) -> dict[str, int]:  # noqa: ANN401
    """The one row of an aggregate; the sum of an empty column is nothing in some engines and 0 in others."""
    return {name: int(total or 0) for name, total in _rows(frame)[0].items()}


def _as_float(nw: Any, frame: Any, column: str) -> Any:  # noqa: ANN401
    """A column as floats: the nearest one, also for integers beyond 2^53, whose conversion some engines refuse."""
    x = nw.col(column)
    if frame.collect_schema()[column] not in (nw.Int64, nw.UInt64):
        return x.cast(nw.Float64)
    word = 1 << 32  # both parts are exact, so that only their sum is rounded
    upper = x // word
    return upper.cast(nw.Float64) * float(word) + (x - upper * word).cast(nw.Float64)


def _frame(nw: Any, table: Any, columns: list[str]) -> Any:  # noqa: ANN401
    if isinstance(table, (str, Path)):
        table = scan_file(Path(table))
    try:
        frame = nw.from_native(table)
        if isinstance(frame, nw.DataFrame):  # pandas keeps decimals and other exact numbers as objects
            for name in columns:
                if name in frame.columns and frame.schema[name] == nw.Object:
                    values = as_floats(frame[name].to_numpy())
                    column = nw.new_series(name, values, nw.Float64, backend=frame.implementation)
                    frame = frame.with_columns(column)
        return frame.lazy()
    except TypeError as reason:
        raise DataError(
            f"table must be a dataframe, a relation or a file name, got {type(table).__name__}."
        ) from reason


def _check_columns(nw: Any, frame: Any, columns: list[str]) -> None:  # noqa: ANN401
    schema = frame.collect_schema()
    for column in columns:
        require_column(column, schema.names(), "The table")
        if not schema[column].is_numeric() and schema[column] != nw.Unknown:
            raise DataError(f"Column {column!r} must hold numbers, but holds {schema[column]}.")


def _narwhals() -> Any:  # noqa: ANN401
    try:
        import narwhals
    except ImportError:
        raise MissingExtraError("narwhals", extra="tables", purpose="Summarising a table") from None
    return narwhals
