"""One row per user: a user with two rows would pay twice, and count twice."""

from collections.abc import Sequence
from typing import Any

from hybriddp.errors import DataError
from hybriddp.tables.engines import require_polars
from hybriddp.tables.frames import collect, require_narwhals
from hybriddp.tables.tally import NO_REPORT
from hybriddp.wording import counted

REPEATED = ("refuse", "first")
"""What is done about more than one row of a user: the table is refused, or the first row is kept.

The first row is that in the order of the table, among those with a value or a report. Which one it is depends on no
value but on the order alone, and a user's rows decide about no other user's, so one user still changes one row. DuckDB
and Spark keep no order: what is first would differ from run to run, and so might the answer.
"""

_ORDERED = ("polars", "pandas", "pyarrow")


def one_row_each(frames: Sequence[Any], column: str, repeated: str) -> Any:  # noqa: ANN401
    """The cells of a query, from all frames, with at most one row per user that has a value or a report."""
    nw, polars = require_narwhals(), require_polars()
    if repeated == "first":
        for frame in frames:
            library = type(frame.to_native()).__module__.split(".")[0].lstrip("_")
            if library not in _ORDERED:
                raise DataError(
                    f"Rows have no order in {library}, so that no row of a user is the first. Use the engine polars, "
                    "or --repeated refuse."
                )
    if repeated == "first" or len(frames) > 1:
        parts = [frame.collect(backend="polars").to_native() for frame in frames]
        joined = polars.concat(parts, how="diagonal_relaxed")
        fill = {name: 0 if name != "code" else NO_REPORT for name in joined.columns if name not in ("user", "key")}
        cells = nw.from_native(joined.lazy().with_columns(polars.col(name).fill_null(x) for name, x in fill.items()))
    else:
        cells = frames[0]
    known = cells.collect_schema().names()
    present = [nw.col(name) > 0 for name in ("count", "raw") if name in known]
    present += [nw.col("code") != NO_REPORT] if "code" in known else []
    takes_part = nw.any_horizontal(*present, ignore_nulls=True)
    taking = cells.filter(takes_part)
    repeats = taking.group_by("user").agg(rows=nw.len()).filter(nw.col("user").is_null() | (nw.col("rows") > 1))
    found = collect(repeats.select(nobody=nw.col("user").is_null().cast(nw.Int64).sum(), users=nw.len()))[0]
    if found["nobody"]:
        raise DataError(f"Some rows with a value or a report have no user in column {column!r}. Leave them out.")
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
