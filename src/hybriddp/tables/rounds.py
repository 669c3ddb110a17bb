"""The reports of a round as rows of a table, and back to counts.

A row holds the number of the ask that was answered (from 0), the variant that the device drew, and the code as a text:
``r17`` is code 17 of randomized response, ``x0f3a`` are the two bytes of a unary report in lower-case hexadecimal
digits. The letter keeps readers of text files from taking a code for a number, and its zeros away.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.errors import DataError, ParameterError
from hybriddp.kmeans.protocol.round import Round, RoundReports, RoundTally, count_answers
from hybriddp.kmeans.reports.base import Ask, ReportTally
from hybriddp.tables.batches import computed
from hybriddp.tables.frames import (
    Cells,
    DataType,
    Frame,
    Table,
    TableSource,
    collect,
    is_text,
    nw,
    require_columns,
    require_polars,
    whole_number,
)
from hybriddp.tables.text import Wanted

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

RESPONSE, UNARY = "r", "x"
NONE = -1
"""What stands in the place of an ask or a variant that does not exist."""

_AT_ONCE = 1 << 12  # reports whose bits are spread out at the same time
_DIGITS = np.full(256, 16, np.uint8)  # 16 is no digit
_DIGITS[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)


def report_table(reports: Sequence[RoundReports]) -> "pl.DataFrame":
    """Write the answers to a round as a table: one row per report, ready for `count_reports`.

    Parameters
    ----------
    reports : sequence of RoundReports
        For each ask of the round, as `Round.answer` gives them. Who sent a report is not in the table.

    Examples
    --------
    >>> nobody = np.zeros(2, np.int64)
    >>> bits = np.array([[15, 58], [0, 1]], np.uint8)
    >>> reports = [RoundReports(nobody, nobody, codes) for codes in (np.array([0, 17]), bits)]
    >>> report_table(reports)["code"].to_list()
    ['r0', 'r17', 'x0f3a', 'x0001']
    """
    polars = require_polars()
    codes = [[_text(code) for code in some.codes] for some in reports]
    asks = np.repeat(np.arange(len(codes)), [len(some) for some in codes])
    variants = [np.asarray(some.variants, np.int64) for some in reports]
    table: pl.DataFrame = polars.DataFrame(
        {
            "ask": polars.Series(asks, dtype=polars.Int64),
            "variant": polars.Series(np.concatenate([*variants, np.empty(0, np.int64)])),
            "code": polars.Series([code for some in codes for code in some], dtype=polars.String),
        }
    )
    return table


def count_reports(
    table: Table,
    current: Round,
    *,
    ask: str = "ask",
    variant: str = "variant",
    code: str = "code",
    engine: str | None = None,
) -> RoundTally:
    """Count the reports of a table, for `HybridKMeansServer.absorb`.

    Codes of randomized response are grouped by the engine that holds the table. Unary reports are read in batches, in
    one pass; in Spark the workers count them, and need hybriddp for that.

    Parameters
    ----------
    table : dataframe, relation, path, str, or list of paths
        Anything that narwhals understands, or the name of a .parquet, .csv or .jsonl file (``*`` for many), or
        several names. One row per report.
    current : Round
        The round that the reports answer.
    ask, variant : str
        The columns of whole numbers: which ask of the round, from 0, and which variant of its question.
    code : str
        The column of codes: texts as `report_table` writes them, or whole numbers if all are of randomized response.
    engine : {"polars", "duckdb", "spark"}, optional
        What reads files, and only files: Polars if not given.

    Returns
    -------
    RoundTally
        Rows that are no answers, whatever is wrong with them, are counted as rejected.
    """
    if not isinstance(current, Round):
        raise ParameterError("current", "a Round", type(current).__name__, shown_as="type")
    source = TableSource.of(table, engine, Wanted(numbers=[ask, variant], others=[code]))
    frames = source.frames()
    asks = list(enumerate(current.asks))
    unary = {i: one for i, one in asks if one.channel.sends_bits}
    responses = {i: one for i, one in asks if i not in unary}
    rows, answers = 0, [_no_reports(one) for one in current.asks]
    with source.reading():
        for frame in frames:
            cells = _cells(frame, ask, variant, code, len(current.asks))
            rows += _count_responses(cells, responses, answers)
            if unary:
                _count_unary(cells, unary, answers)
    accepted = sum(int(got.users.sum()) for got in answers)
    return RoundTally(tuple(answers), rows - accepted, current.digest)


def _text(code: Any) -> str:  # noqa: ANN401
    return UNARY + code.tobytes().hex() if isinstance(code, np.ndarray) else f"{RESPONSE}{code}"


def _no_reports(ask: Ask) -> ReportTally:
    n = ask.question.n_variants
    return ReportTally(np.zeros((n, ask.channel.n_symbols), np.int64), np.zeros(n, np.int64))


def _cells(frame: Frame, ask: str, variant: str, code: str, n_asks: int) -> Frame:
    """Select the three columns under their own names; asks and variants that do not exist are `NONE`."""
    schema = frame.collect_schema()
    require_columns(schema, [ask, variant, code], [ask, variant])
    kind, text = schema[code], nw.col(code)
    if kind.is_numeric():
        number = _index(kind, code, 2**31)
        text = nw.when(number >= 0).then(nw.concat_str(nw.lit(RESPONSE), number.cast(nw.String))).otherwise(nw.lit(""))
    elif is_text(kind):
        text = text.cast(nw.String)
    else:
        raise DataError(f"Column {code!r} must hold codes as texts or whole numbers, but holds {kind}.")
    return frame.select(
        ask=_index(schema[ask], ask, n_asks),
        variant=_index(schema[variant], variant, 2**31),
        code=text.fill_null(""),
    )


def _index(dtype: DataType, column: str, count: int) -> Cells:
    """Return whole numbers from 0 to below ``count``, and `NONE` for everything else."""
    x, good, kind = whole_number(dtype, column, 0, count - 1)
    return nw.when(good).then(x).otherwise(nw.lit(kind(NONE))).cast(nw.Int64)


def _count_responses(cells: Frame, asks: Mapping[int, Ask], answers: list[ReportTally]) -> int:
    """Add the responses to the answers; the number of all rows comes back. One query, few groups."""
    good = nw.lit(value=False)
    for i, ask in asks.items():
        texts = [f"{RESPONSE}{code}" for code in range(ask.channel.n_symbols)]
        known = nw.col("variant").is_between(0, ask.question.n_variants - 1) & nw.col("code").is_in(texts)
        good = good | ((nw.col("ask") == i) & known)
    none = nw.lit(NONE, nw.Int64)
    valid = cells.select(
        ask=nw.when(good).then(nw.col("ask")).otherwise(none),
        variant=nw.when(good).then(nw.col("variant")).otherwise(none),
        code=nw.when(good).then(nw.col("code")).otherwise(nw.lit("")),
    )
    rows = 0
    for row in collect(valid.group_by("ask", "variant", "code").agg(rows=nw.len())):
        rows += row["rows"]
        if row["ask"] != NONE:
            got = answers[row["ask"]]
            got.supports[row["variant"], int(row["code"].removeprefix(RESPONSE))] += row["rows"]
            got.users[row["variant"]] += row["rows"]
    return rows


def _count_unary(cells: Frame, asks: Mapping[int, Ask], answers: list[ReportTally]) -> None:
    """Add the unary reports to the answers."""
    reports = cells.filter(nw.col("ask").is_in(list(asks)))
    for counted in computed(reports, partial(_bit_counts, asks=asks), np.int64):
        flat = counted
        for i in asks:
            n, m = answers[i].supports.shape
            supports, users, flat = np.split(flat, [n * m, n * m + n])
            answers[i] = answers[i] + ReportTally(supports.reshape(n, m), users)


def _bit_counts(batches: Iterable["pa.RecordBatch"], asks: Mapping[int, Ask]) -> Iterator[NDArray[np.int64]]:
    """Count the supports and users of each ask, one after the other."""
    totals = {i: _no_reports(ask) for i, ask in asks.items()}
    for batch in batches:
        which, variants = (batch.column(name).to_numpy(zero_copy_only=False) for name in ("ask", "variant"))
        for i, ask in asks.items():
            rows = np.flatnonzero(which == i)
            for first in range(0, len(rows), _AT_ONCE):
                some = rows[first : first + _AT_ONCE]
                totals[i] = totals[i] + _unary_answers(ask, variants[some], batch.column("code").take(some))
    yield np.concatenate([part.ravel() for got in totals.values() for part in (got.supports, got.users)])


def _unary_answers(ask: Ask, variants: NDArray[np.int64], codes: "pa.Array") -> ReportTally:
    """Count the answers among some texts."""
    import pyarrow as pa

    letters = 1 + 2 * ask.channel.report_bytes
    texts = codes.cast(pa.large_binary()).to_pylist()
    fits = np.array([len(text) == letters and text.startswith(UNARY.encode()) for text in texts], bool)
    joined = b"".join(text for text, good in zip(texts, fits, strict=True) if good)
    digits = _DIGITS[np.frombuffer(joined, np.uint8).reshape(-1, letters)[:, 1:]]
    hexadecimal = (digits < 16).all(axis=1)
    digits, variants = digits[hexadecimal], variants[fits][hexadecimal]
    packed = digits[:, ::2] << 4 | digits[:, 1::2]
    return count_answers(ask, RoundReports(np.arange(len(variants)), variants, packed))
