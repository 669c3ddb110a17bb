"""One row per user: a user with two rows would pay twice, and count twice."""

from collections.abc import Mapping, Sequence
from typing import Any

from hybriddp.errors import DataError
from hybriddp.reporting.wording import counted
from hybriddp.tables.frames import collect, indicator, library, nw, require_polars
from hybriddp.tables.tally import NO_REPORT

REPEATED = ("refuse", "first")
"""What is done about more than one row of a user: the table is refused, or the first row is kept.

The first row is that in the order of the table, among those with a value or a report. Which one it is depends on no
value but on the order alone, and a user's rows decide about no other user's, so one user still changes one row. DuckDB
and Spark keep no order: what is first would differ from run to run, and so might the answer.
"""

_ORDERED = ("polars", "pandas", "pyarrow")


def one_row_each(frames: Sequence[Any], column: str, repeated: str, no_item: str | int) -> Any:  # noqa: ANN401
    """Join the cells of a query, from all frames, with at most one row per user that has a value or a report.

    One who gave a value and sent a report has paid twice already: no choice of a row mends that.
    """
    cells = _joined(frames, repeated, no_item) if repeated == "first" or len(frames) > 1 else frames[0]
    known = cells.collect_schema().names()
    groups = {"trusted": nw.col("count") > 0} if "count" in known else {}
    groups |= {"local": nw.col("code") != NO_REPORT} if "code" in known else {}
    present = [*groups.values(), *([nw.col("raw") > 0] if "raw" in known else [])]
    takes_part = nw.any_horizontal(*present, ignore_nulls=True)
    taking = cells.filter(takes_part)
    found = _repeats(taking, groups)
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
    polars = require_polars()
    return nw.from_native(polars.concat([kept, rest]) if isinstance(native, polars.LazyFrame) else kept)


def _joined(frames: Sequence[Any], repeated: str, no_item: str | int) -> Any:  # noqa: ANN401
    """Join the frames in Polars; a cell of a column that a frame does not have counts for nothing."""
    for frame in frames if repeated == "first" else ():
        if library(frame) not in _ORDERED:
            raise DataError(
                f"Rows have no order in {library(frame)}, so that no row of a user is the first. Use the engine "
                "polars, or --repeated refuse."
            )
    polars = require_polars()
    joined = polars.concat([frame.collect(backend="polars").to_native() for frame in frames], how="diagonal_relaxed")
    fill: dict[str, Any] = {name: 0 for name in joined.columns if name not in ("user", "key")}
    fill |= {name: x for name, x in {"code": NO_REPORT, "item": no_item}.items() if name in fill}
    return nw.from_native(joined.lazy().with_columns(polars.col(name).fill_null(x) for name, x in fill.items()))


def _repeats(taking: Any, groups: Mapping[str, Any]) -> dict[str, int]:  # noqa: ANN401
    """Count users with several rows, those in both groups among them, and whether rows name nobody."""
    marked = taking.select("user", **{name: indicator(there) for name, there in groups.items()})
    repeats = (
        marked.group_by("user")
        .agg(rows=nw.len(), **{name: nw.col(name).max() for name in groups})
        .filter(nw.col("user").is_null() | (nw.col("rows") > 1))
        .with_columns(nobody=indicator(nw.col("user").is_null()))
    )
    both = nw.col("trusted") * nw.col("local") * (1 - nw.col("nobody")) if len(groups) == 2 else nw.lit(0)
    repeats = repeats.with_columns(both=both)
    return collect(repeats.select(nobody=nw.col("nobody").sum(), users=nw.len(), both=nw.col("both").sum()))[0]
