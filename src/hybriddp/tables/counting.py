"""Tables that are counted, chunk by chunk or user by user, into the tallies of a query."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hybriddp.errors import DataError
from hybriddp.reporting.wording import counted
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.frames import (
    Chunk,
    TableSource,
    collect,
    indicator,
    lazy_frame,
    library,
    nw,
    open_chunks,
    require_polars,
)
from hybriddp.tables.query import NO_REPORT, Key, Query, Tally, check
from hybriddp.tables.report_files import DIGEST_COLUMN, Origin, by_digest

Progress = Callable[[float | None], object]
"""Is told which share of a table has been counted, from 0 to 1; None while that is not known."""

REPEATED = ("refuse", "first")
"""What is done about more than one row of a user: the table is refused, or the first row is kept.

The first row is that in the order of the table, among those with a value or a report. Which one it is depends on no
value but on the order alone, and a user's rows decide about no other user's, so one user still changes one row. DuckDB
and Spark keep no order: what is first would differ from run to run, and so might the answer.
"""

_ORDERED = ("polars", "pandas", "pyarrow")


class _Part(NamedTuple):
    """Rows that are counted at once, their size beside the others, and what metadata say about their reports."""

    frame: Any
    size: int
    origin: Origin


class CountedTable:
    """A table, and what to count in it."""

    def __init__(
        self,
        table: Any,  # noqa: ANN401
        query: Query,
        engine: str | None,
        csv: CsvFormat | None,
        *,
        in_chunks: bool,
    ) -> None:
        self.query = query
        self.source = source = TableSource.of(table, engine, query.wanted(csv))
        with source.reading():
            opened = [(Chunk(table, 1), Origin())]
            if source.names is not None:
                tied = query.report is not None
                groups = by_digest(source.files, query.study, query.digests) if tied else [(source.files, Origin())]
                opened = [
                    (chunk, origin)
                    for files, origin in groups
                    for chunk in open_chunks(files, source.engine, source.wanted, small=in_chunks)
                ]
            answers = [query.trust.column] if query.trust else []
            texts = [DIGEST_COLUMN] if query.report is not None else []
            how: dict[str, Any] = {"answers": answers, "texts": texts, "converters": query.converters}
            self.parts = [
                _Part(lazy_frame(chunk.table, query.numbers, **how), chunk.size, origin) for chunk, origin in opened
            ]
        self.source.require([part.frame for part in self.parts])


def count(
    tables: Sequence[CountedTable],
    keys: Sequence[Key],
    progress: Progress | None = None,
    *,
    repeated: str = "refuse",
    simulated: bool = False,
) -> dict[Key | None, Tally[Any, Any]]:
    """The tallies of all keys, and of None for rows that have none of them."""
    tallies: dict[Key | None, Tally[Any, Any]] = {key: tables[0].query.tally() for key in (*keys, None)}
    parts = [(table, part) for table in tables for part in table.parts]
    whole, done = sum(part.size for _, part in parts) or 1, 0
    tell = progress or (lambda _: None)
    tell(0.0 if len(parts) > 1 else None)
    first = tables[0].query
    if any(table.query.user is not None for table in tables):
        _count_users(tables, tallies, repeated)
        tell(1.0)
    else:
        for table, part in parts:
            with table.source.reading():
                table.query.count(table.query.cells(part.frame, part.origin), tallies)
            done += part.size
            tell(done / whole)
    titles = [table.source.title for table in tables if table.query.report is not None]
    title = " or ".join(titles) or tables[0].source.title
    column = first.trust.column if first.trust else None
    check(list(tallies.values()), first.study, title, column, simulated=simulated)
    return tallies


def _count_users(tables: Sequence[CountedTable], tallies: dict[Key | None, Tally[Any, Any]], repeated: str) -> None:
    """Count all parts together, since a user may be in several of them."""
    cells: list[Any] = []
    for table in tables:
        with table.source.reading():
            cells += [table.query.cells(part.frame, part.origin) for part in table.parts]
    query = tables[0].query
    with tables[0].source.reading():
        query.count(_one_row_each(cells, str(query.user), repeated, query.no_item), tallies)


def _one_row_each(frames: Sequence[Any], column: str, repeated: str, no_item: str | int) -> Any:  # noqa: ANN401
    """The cells of a query, from all frames, with at most one row per user that has a value or a report.

    A user with two rows would pay twice, and count twice. One who gave a value and sent a report has paid twice
    already: no choice of a row mends that.
    """
    polars = require_polars()
    if repeated == "first":
        for frame in frames:
            if library(frame) not in _ORDERED:
                raise DataError(
                    f"Rows have no order in {library(frame)}, so that no row of a user is the first. Use the engine "
                    "polars, or --repeated refuse."
                )
    if repeated == "first" or len(frames) > 1:
        parts = [frame.collect(backend="polars").to_native() for frame in frames]
        joined = polars.concat(parts, how="diagonal_relaxed")
        fill: dict[str, Any] = {name: 0 for name in joined.columns if name not in ("user", "key")}
        fill |= {name: x for name, x in {"code": NO_REPORT, "item": no_item}.items() if name in fill}
        cells = nw.from_native(joined.lazy().with_columns(polars.col(name).fill_null(x) for name, x in fill.items()))
    else:
        cells = frames[0]
    known = cells.collect_schema().names()
    present = [nw.col(name) > 0 for name in ("count", "raw") if name in known]
    present += [nw.col("code") != NO_REPORT] if "code" in known else []
    takes_part = nw.any_horizontal(*present, ignore_nulls=True)
    taking = cells.filter(takes_part)
    groups = {"trusted": nw.col("count") > 0} if "count" in known else {}
    groups |= {"local": nw.col("code") != NO_REPORT} if "code" in known else {}
    marked = taking.select("user", **{name: indicator(there) for name, there in groups.items()})
    repeats = (
        marked.group_by("user")
        .agg(rows=nw.len(), **{name: nw.col(name).max() for name in groups})
        .filter(nw.col("user").is_null() | (nw.col("rows") > 1))
        .with_columns(nobody=indicator(nw.col("user").is_null()))
    )
    both = nw.col("trusted") * nw.col("local") * (1 - nw.col("nobody")) if len(groups) == 2 else nw.lit(0)
    repeats = repeats.with_columns(both=both)
    found = collect(repeats.select(nobody=nw.col("nobody").sum(), users=nw.len(), both=nw.col("both").sum()))[0]
    if found["nobody"]:
        raise DataError(f"Some rows with a value or a report have no user in column {column!r}. Leave them out.")
    if found["both"]:
        raise DataError(
            f"{counted(found['both'], 'user', 'is', 'are')} in both groups by column {column!r}, with a value and a "
            "report: whoever does both pays twice. Ask each user for one of the two, and leave out the other rows by "
            "a rule that looks at no value and no report."
        )
    if found["users"] and repeated == "refuse":
        raise DataError(
            f"{counted(found['users'], 'user', 'has', 'have')} more than one row by column {column!r}: each would "
            "count, and pay, more than once. Make it one row per user, or keep the first of each with --repeated first."
        )
    if not found["users"]:
        return cells
    native = cells.to_native()
    kept = nw.to_native(taking).unique("user", keep="first", maintain_order=True)
    rest = nw.to_native(cells.filter(~takes_part))
    return nw.from_native(polars.concat([kept, rest]) if isinstance(native, polars.LazyFrame) else kept)
