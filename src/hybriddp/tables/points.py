"""A table as the trusted group of a K-means study: its points stay where they are.

The vertices of a histogram are counted by the engine that holds the table, in one query. Box, grid and hash are the
functions that arrays go through too (`place_coordinates`, `grid_position`, `VERTEX_FORMULAS`), so the counts are the
same to the last bit. For other statistics the points are read in batches.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import chain
from operator import and_, or_
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError
from hybriddp.kmeans.reports.base import GridQuestion
from hybriddp.kmeans.statistics import BLOCK, STEP_PARTS, VERTEX_FORMULAS, Histogram, PointStatistic
from hybriddp.kmeans.study import Box, KMeansStudy, grid_position, place_coordinates
from hybriddp.tables import frames
from hybriddp.tables.batches import computed
from hybriddp.tables.dialect import CsvFormat
from hybriddp.tables.frames import Cells, Frame, Table, TableSource, nw
from hybriddp.tables.text import Wanted
from hybriddp.tables.trust import Trust, refuse_unclear

if TYPE_CHECKING:
    import pyarrow as pa

NOWHERE = -1
"""What stands in the place of a vertex where a coordinate is missing."""


def trusted_points(
    table: Table,
    study: KMeansStudy,
    *,
    columns: Sequence[str],
    trusted_if: str | None = None,
    engine: str | None = None,
    csv: CsvFormat | None = None,
) -> "TrustedTable":
    """Open the trusted users of a table, for `HybridKMeansServer`.

    Parameters
    ----------
    table : dataframe, relation, path, str, or list of paths
        Anything that narwhals understands, or the name of a .parquet, .csv or .jsonl file (``*`` for many), or
        several names. One row per user.
    study : KMeansStudy
        The study that the rows belong to.
    columns : sequence of str
        The column of each coordinate, in the order of the study's bounds. Rows where one of them is missing, NaN or
        infinite are no trusted users: they are left out and counted.
    trusted_if : str, optional
        Who trusts, if not all do: ``column`` or ``column=word``, as for `summarize`. Others are not looked at.
    engine : {"polars", "duckdb", "spark"}, optional
        What reads files, and only files: Polars if not given.
    csv : CsvFormat, optional
        How text files are written, where that cannot be seen.

    Examples
    --------
    >>> import polars as pl
    >>> study = KMeansStudy("visits", n_clusters=2, bounds=[(0, 10), (0, 10)], epsilon=1)
    >>> table = pl.DataFrame({"x": [1.0, 9.0, 30.0, None], "y": [2, 8, 8, 5]})
    >>> points = trusted_points(table, study, columns=["x", "y"])
    >>> points.count, points.clamped, points.rejected
    (3, 1, 1)
    """
    if not isinstance(study, KMeansStudy):
        raise ParameterError("study", "a KMeansStudy", type(study).__name__, shown_as="type")
    d = study.box.n_dimensions
    names = [] if isinstance(columns, str) else list(columns)
    if len(names) != d or not all(isinstance(name, str) for name in names) or len(set(names)) < d:
        raise ParameterError("columns", f"the names of {d} columns, one for each pair of bounds", columns)
    trust = None if trusted_if is None else Trust.of(trusted_if)
    others = [] if trust is None or trust.column in names else [trust.column]
    source = TableSource.of(table, engine, Wanted(numbers=names, others=others, csv=csv or CsvFormat()))
    return TrustedTable(source, study.box, trust)


def _of_trust(frame: Frame, trust: Trust | None, *, trusting: bool = True) -> Frame:
    """Select the rows of those who trust, or of those who do not; `DataError` if a row says neither."""
    if trust is None:
        return frame
    trusts, unclear = trust.expressions(frame.collect_schema()[trust.column])
    (row,) = frames.collect(frame.select(n=frames.indicator(unclear)).select(nw.col("n").sum()))
    refuse_unclear(trust.column, int(row["n"] or 0))
    return frame.filter(trusts if trusting else ~trusts)


def _floats(frame: Frame, columns: Sequence[str]) -> Frame:
    """Select the coordinates as floats, in columns that are called x0, x1, …; `DataError` if the table has none."""
    schema = frame.collect_schema()
    frames.require_columns(schema, columns, columns)
    return frame.select(**{f"x{j}": frames.as_float(schema[column], column) for j, column in enumerate(columns)})


class TrustedTable:
    """The points of a table: a `TrustedPoints`. Made by `trusted_points`.

    In Spark the workers compute what takes batches, and need hybriddp for that.

    Attributes
    ----------
    box : Box
        The bounds of the study that it was made for.
    count : int
        How many users there are.
    clamped : int
        How many points lie outside of the bounds. Not private: for the curator's eyes.
    rejected : int
        How many rows are no points, since a coordinate is missing, NaN or infinite. Not private either.
    """

    def __init__(self, source: TableSource, box: Box, trust: Trust | None = None) -> None:
        self._source, self._trust, self.box = source, trust, box
        frames = source.frames()
        with source.reading():
            self._frames = tuple(_of_trust(frame, trust) for frame in frames)
            counts = sum((self._rows(frame) for frame in self._frames), np.zeros(3, np.int64))
        self.count, self.clamped, self.rejected = (int(n) for n in counts)

    def points(self, *, trusting: bool = True) -> FloatArray:
        """Read the points, or those of users who do not trust, for a simulation: real ones never leave their devices.

        Examples
        --------
        >>> import polars as pl
        >>> study = KMeansStudy("visits", n_clusters=2, bounds=[(0, 10)], epsilon=1)
        >>> table = pl.DataFrame({"x": [1.0, 9.0, None], "consent": ["yes", "no", "no"]})
        >>> trusted_points(table, study, columns=["x"], trusted_if="consent").points(trusting=False)
        array([[9.]])
        """
        points = [np.empty(0)]
        for frame in self._source.frames():
            with self._source.reading():
                rows = self._floats(_of_trust(frame, self._trust, trusting=trusting))
                points += list(computed(rows, _finite_rows, np.float64))
        return np.concatenate(points).reshape(-1, self.box.n_dimensions)

    def exact(self, statistic: PointStatistic) -> NDArray[np.int64]:
        """Compute the statistic without noise."""
        with self._source.reading():
            if isinstance(statistic, Histogram) and statistic.grid.projection is None:
                histograms = [self._histogram(frame, statistic.grid) for frame in self._frames]
                counts = sum(histograms, np.zeros(statistic.size, np.int64))
                self._require_same(int(counts.sum()))
                return counts
            work = partial(_sums, box=self.box, statistic=statistic)
            parts = [part for frame in self._frames for part in computed(self._floats(frame), work, np.int64)]
            total = sum(parts, np.zeros(1 + statistic.size, np.int64))
        self._require_same(int(total[0]))
        return total[1:]

    def _require_same(self, count: int) -> None:
        if count != self.count:
            raise DataError(
                f"The table had {self.count:,} points, now it has {count:,}. Nobody may be added meanwhile."
            )

    def _floats(self, frame: Frame) -> Frame:
        return _floats(frame, self._source.wanted.numbers)

    def _rows(self, frame: Frame) -> NDArray[np.int64]:
        """Count points, those of them outside of the bounds, and rows that are none, in one query."""
        axes = [(nw.col(f"x{j}"), lower, upper) for j, (lower, upper) in enumerate(self.box.bounds)]
        finite = reduce(and_, (frames.is_finite(x) for x, _, _ in axes))
        outside = reduce(or_, ((x < lower) | (x > upper) for x, lower, upper in axes))
        cells = self._floats(frame).select(count=frames.indicator(finite), clamped=frames.indicator(finite & outside))
        (row,) = frames.collect(cells.select(nw.col("count", "clamped").sum(), rows=nw.len()))
        rows, count, clamped = (int(row[name] or 0) for name in ("rows", "count", "clamped"))
        return np.array([count, clamped, rows - count], np.int64)

    def _histogram(self, frame: Frame, grid: GridQuestion) -> NDArray[np.int64]:
        """Count the points at each vertex of a grid of the box, in one query."""
        axes = range(self.box.n_dimensions)
        # What is used more than once is a column of its own: Spark writes it out as often as it is used otherwise.
        cells = self._floats(frame).select(
            finite=reduce(and_, (frames.is_finite(nw.col(f"x{j}")) for j in axes)),
            **{f"fine{j}": self._fine(j, grid) for j in axes},
        )
        at = [{name: nw.col(f"{name}{j}") for name in ("fine", *VERTEX_FORMULAS)} for j in axes]
        for name, formula in VERTEX_FORMULAS.items():
            cells = cells.with_columns(**{f"{name}{j}": formula(at[j]) for j in axes})
        index = nw.lit(0, nw.Int64)
        for j, size in enumerate(grid.sizes):
            index = index * size + at[j]["vertex"] + frames.indicator(at[j]["hash"] < at[j]["rest"])
        cells = cells.select(at=nw.when(nw.col("finite")).then(index).otherwise(nw.lit(NOWHERE, nw.Int64)))
        counts = np.zeros(grid.n_symbols, np.int64)
        for row in frames.collect(cells.group_by("at").agg(rows=nw.len())):
            if row["at"] != NOWHERE:
                counts[row["at"]] += row["rows"]
        return counts

    def _fine(self, j: int, grid: GridQuestion) -> Cells:
        """Place coordinate ``j`` on the grid, in parts of a step."""
        box, (lower, upper) = self.box, self.box.bounds[j]
        x = nw.col(f"x{j}")
        safe = nw.when(frames.is_finite(x)).then(x).otherwise(nw.lit(lower))
        placed = place_coordinates(safe, lower, upper, float(box.factors[j]), float(box.widths[j]))
        steps = grid_position(placed, float(grid.low[j]), float(1.0 / grid.step[j]), grid.sizes[j] - 1.0)
        return frames.floor_to_integer(steps * float(STEP_PARTS))


def _finite_rows(batches: Iterable["pa.RecordBatch"]) -> Iterator[FloatArray]:
    """Select the rows of batches that are points."""
    for batch in batches:
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]  # nulls become NaN
        points = np.stack(columns, axis=1).astype(np.float64, copy=False)
        yield points[np.isfinite(points).all(axis=1)]


def _sums(batches: Iterable["pa.RecordBatch"], box: Box, statistic: PointStatistic) -> Iterator[NDArray[np.int64]]:
    """Compute the number of points, and the statistic, in blocks as large as those of points in memory."""
    total, held = np.zeros(1 + statistic.size, np.int64), np.empty((0, box.n_dimensions))
    for rows in chain(_finite_rows(batches), [None]):
        held = held if rows is None else np.concatenate([held, box.place_checked(rows).points])
        while len(held) >= BLOCK or (rows is None and len(held)):
            block, held = held[:BLOCK], held[BLOCK:]
            total += np.array([len(block), *statistic.compute(block)], np.int64)
    yield total
