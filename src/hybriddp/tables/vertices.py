"""Points in the columns of a table: what an engine counts of them by itself.

The vertex of a point is computed by the floating-point operations of `Box.place_checked`, `GridQuestion.position` and
`Histogram.of`, in their order: clamp, subtract, multiply, clamp, floor, then integers. None of them differs between
engines (divisions do), so the counts are the same to the last bit, and only one row per vertex comes back.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.kmeans.box import Box
from hybriddp.kmeans.reports.grid import GridQuestion
from hybriddp.kmeans.statistics import FRACTION, REST_HASH, VERTEX_HASH
from hybriddp.tables.files import require_column
from hybriddp.tables.frames import as_float, collect, require_narwhals, require_numbers

NOWHERE = -1
"""What stands in the place of a vertex where a coordinate is missing."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table.

    Attributes
    ----------
    count : int
        How many are points.
    rejected : int
        How many are not: a coordinate is missing, NaN or infinite.
    clamped : int
        How many points lie outside of the bounds.
    """

    count: int
    rejected: int
    clamped: int

    def __add__(self, other: "Rows") -> "Rows":
        return Rows(self.count + other.count, self.rejected + other.rejected, self.clamped + other.clamped)


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Which columns the coordinates of a point are in, and between which bounds."""

    columns: Sequence[str]
    box: Box

    def floats(self, frame: Any) -> Any:  # noqa: ANN401
        """The coordinates as floats, in columns that are called x0, x1, …; `DataError` if the table has none."""
        nw, schema = require_narwhals(), frame.collect_schema()
        for column in self.columns:
            require_column(column, schema.names(), "The table")
        require_numbers(nw, schema, self.columns)
        return frame.select(**{f"x{j}": as_float(nw, schema[column], column) for j, column in enumerate(self.columns)})

    def rows(self, frame: Any) -> Rows:  # noqa: ANN401
        """How many rows there are, of which kind: one query."""
        nw = require_narwhals()
        axes = [(nw.col(f"x{j}"), lower, upper) for j, (lower, upper) in enumerate(self.box.bounds)]
        finite = reduce(and_, (_finite(x) for x, _, _ in axes))
        outside = reduce(or_, ((x < lower) | (x > upper) for x, lower, upper in axes))
        cells = self.floats(frame).select(count=_one(nw, finite), clamped=_one(nw, finite & outside))
        (row,) = collect(cells.select(nw.col("count", "clamped").sum(), rows=nw.len()))
        rows, count, clamped = (int(row[name] or 0) for name in ("rows", "count", "clamped"))
        return Rows(count, rows - count, clamped)

    def histogram(self, frame: Any, grid: GridQuestion) -> NDArray[np.int64]:  # noqa: ANN401
        """How many points are at each vertex of a grid of the box: one query."""
        nw, axes = require_narwhals(), range(len(self.columns))

        def column(name: str, j: int) -> Any:  # noqa: ANN401
            return nw.col(f"{name}{j}")

        # What is used more than once is a column of its own: Spark writes it out as often as it is used otherwise.
        cells = self.floats(frame).select(
            finite=reduce(and_, (_finite(column("x", j)) for j in axes)),
            **{f"fine{j}": self._fine(nw, j, grid) for j in axes},
        )
        formulas: dict[str, Callable[[int], Any]] = {
            "vertex": lambda j: column("fine", j) // FRACTION,
            # Not every engine has remainders, so they are differences.
            "rest": lambda j: column("fine", j) - column("vertex", j) * FRACTION,
            "mixed": lambda j: column("rest", j) * REST_HASH + column("vertex", j) * VERTEX_HASH,
            "hash": lambda j: column("mixed", j) - column("mixed", j) // FRACTION * FRACTION,
        }
        for name, formula in formulas.items():
            cells = cells.with_columns(**{f"{name}{j}": formula(j) for j in axes})
        index = nw.lit(0, nw.Int64)
        for j, size in enumerate(grid.sizes):
            index = index * size + column("vertex", j) + _one(nw, column("hash", j) < column("rest", j))
        cells = cells.select(at=nw.when(nw.col("finite")).then(index).otherwise(nw.lit(NOWHERE, nw.Int64)))
        counts = np.zeros(grid.n_symbols, np.int64)
        for row in collect(cells.group_by("at").agg(rows=nw.len())):
            if row["at"] != NOWHERE:
                counts[row["at"]] += row["rows"]
        return counts

    def _fine(self, nw: Any, j: int, grid: GridQuestion) -> Any:  # noqa: ANN401
        """Where coordinate ``j`` is on the grid, in parts of a step."""
        (lower, upper), box = self.box.bounds[j], self.box
        x = nw.col(f"x{j}")
        safe = nw.when(_finite(x)).then(x).otherwise(nw.lit(lower))
        placed = ((safe.clip(lower, upper) - lower) * float(box.factors[j])).clip(upper_bound=float(box.widths[j]))
        steps = (placed - float(grid.low[j])) * float(1.0 / grid.step[j])
        return (steps.clip(0.0, grid.sizes[j] - 1.0) * float(FRACTION)).floor().cast(nw.Int64)


def _finite(x: Any) -> Any:  # noqa: ANN401
    # NaN is either above all numbers or compares false, so that between the largest ones there is just what is finite.
    return x.is_between(-sys.float_info.max, sys.float_info.max)


def _one(nw: Any, condition: Any) -> Any:  # noqa: ANN401
    """1 where the condition holds, 0 where it does not or nobody can tell."""
    return nw.when(condition).then(nw.lit(1, nw.Int64)).otherwise(nw.lit(0, nw.Int64))
