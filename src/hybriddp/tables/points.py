"""A table as the trusted group of a K-means study: its points stay where they are.

The vertices of a histogram are counted by the engine that holds the table, in one query. Box, grid and hash are the
functions that arrays go through too (`place_coordinates`, `grid_position`, `VERTEX_FORMULAS`), so the counts are the
same to the last bit. For other statistics the points are read in batches.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

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
from hybriddp.tables.frames import TableSource, nw
from hybriddp.tables.text import Wanted
from hybriddp.tables.trust import Trust, refuse_unclear

if TYPE_CHECKING:
    import pyarrow as pa

NOWHERE = -1
"""What stands in the place of a vertex where a coordinate is missing."""


def trusted_points(
    table: Any,  # noqa: ANN401
    study: KMeansStudy,
    *,
    columns: Sequence[str],
    trusted_if: str | None = None,
    engine: str | None = None,
    csv: CsvFormat | None = None,
) -> "TrustedTable":
    """The trusted users of a table, for `HybridKMeansServer`.

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
    names = _names(study, columns)
    trust = None if trusted_if is None else Trust.of(trusted_if)
    return TrustedTable(_source(table, names, trust, engine, csv), names, study.box, trust)


def untrusted_points(
    table: Any,  # noqa: ANN401
    study: KMeansStudy,
    *,
    columns: Sequence[str],
    trusted_if: str | None = None,
    engine: str | None = None,
    csv: CsvFormat | None = None,
) -> FloatArray:
    """The points of those who do not trust, for a simulation: real ones never leave their devices.

    Parameters are those of `trusted_points`; without ``trusted_if`` nobody trusts. Rows that are no points are left
    out.

    Examples
    --------
    >>> import polars as pl
    >>> study = KMeansStudy("visits", n_clusters=2, bounds=[(0, 10)], epsilon=1)
    >>> table = pl.DataFrame({"x": [1.0, 9.0, None], "consent": ["yes", "no", "no"]})
    >>> untrusted_points(table, study, columns=["x"], trusted_if="consent")
    array([[9.]])
    """
    names, trust = _names(study, columns), None if trusted_if is None else Trust.of(trusted_if)
    source = _source(table, names, trust, engine, csv)
    found = []
    for frame in source.frames():
        with source.reading():
            rest = _floats(_of_trust(frame, trust, trusting=False), names)
            found += list(computed(rest, _finite_rows, np.float64))
    return np.concatenate([np.empty(0), *found]).reshape(-1, len(names))


def _names(study: KMeansStudy, columns: Sequence[str]) -> list[str]:
    if not isinstance(study, KMeansStudy):
        raise ParameterError("study", "a KMeansStudy", type(study).__name__, shown_as="type")
    d = study.box.n_dimensions
    names = [] if isinstance(columns, str) else list(columns)
    if len(names) != d or not all(isinstance(name, str) for name in names) or len(set(names)) < d:
        raise ParameterError("columns", f"the names of {d} columns, one for each pair of bounds", columns)
    return names


def _source(
    table: Any,  # noqa: ANN401
    names: Sequence[str],
    trust: Trust | None,
    engine: str | None,
    csv: CsvFormat | None,
) -> TableSource:
    others = [] if trust is None or trust.column in names else [trust.column]
    return TableSource.of(table, engine, Wanted(numbers=names, others=others, csv=csv or CsvFormat()))


def _of_trust(frame: Any, trust: Trust | None, *, trusting: bool = True) -> Any:  # noqa: ANN401
    """The rows of those who trust, or of those who do not; `DataError` if a row says neither."""
    if trust is None:
        return frame
    trusts, unclear = trust.expressions(frame.collect_schema()[trust.column])
    (row,) = frames.collect(frame.select(n=frames.indicator(unclear)).select(nw.col("n").sum()))
    refuse_unclear(trust.column, int(row["n"] or 0))
    return frame.filter(trusts if trusting else ~trusts)


def _floats(frame: Any, columns: Sequence[str]) -> Any:  # noqa: ANN401
    """The coordinates as floats, in columns that are called x0, x1, …; `DataError` if the table has none."""
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

    def __init__(self, source: TableSource, columns: Sequence[str], box: Box, trust: Trust | None = None) -> None:
        self._source, self._columns, self.box = source, columns, box
        found = source.frames()
        with source.reading():
            self._frames = tuple(_of_trust(frame, trust) for frame in found)
            counts = sum((self._rows(frame) for frame in self._frames), np.zeros(3, np.int64))
        self.count, self.clamped, self.rejected = (int(n) for n in counts)

    def exact(self, statistic: PointStatistic) -> NDArray[np.int64]:
        """The statistic without noise."""
        with self._source.reading():
            if isinstance(statistic, Histogram) and statistic.grid.projection is None:
                counts = np.zeros(statistic.size, np.int64)
                for frame in self._frames:
                    counts += self._histogram(frame, statistic.grid)
                self._require_same(int(counts.sum()))
                return counts
            total = np.zeros(1 + statistic.size, np.int64)
            work = partial(_sums, box=self.box, statistic=statistic)
            for frame in self._frames:
                for part in computed(self._floats(frame), work, np.int64):
                    total += part
        self._require_same(int(total[0]))
        return total[1:]

    def _require_same(self, count: int) -> None:
        if count != self.count:
            raise DataError(
                f"The table had {self.count:,} points, now it has {count:,}. Nobody may be added meanwhile."
            )

    def _floats(self, frame: Any) -> Any:  # noqa: ANN401
        return _floats(frame, self._columns)

    def _rows(self, frame: Any) -> NDArray[np.int64]:  # noqa: ANN401
        """How many rows are points, how many of these lie outside of the bounds, and how many are none: one query."""
        axes = [(nw.col(f"x{j}"), lower, upper) for j, (lower, upper) in enumerate(self.box.bounds)]
        finite = reduce(and_, (frames.is_finite(x) for x, _, _ in axes))
        outside = reduce(or_, ((x < lower) | (x > upper) for x, lower, upper in axes))
        cells = self._floats(frame).select(count=frames.indicator(finite), clamped=frames.indicator(finite & outside))
        (row,) = frames.collect(cells.select(nw.col("count", "clamped").sum(), rows=nw.len()))
        rows, count, clamped = (int(row[name] or 0) for name in ("rows", "count", "clamped"))
        return np.array([count, clamped, rows - count], np.int64)

    def _histogram(self, frame: Any, grid: GridQuestion) -> NDArray[np.int64]:  # noqa: ANN401
        """How many points are at each vertex of a grid of the box: one query."""
        axes = range(len(self._columns))
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

    def _fine(self, j: int, grid: GridQuestion) -> Any:  # noqa: ANN401
        """Where coordinate ``j`` is on the grid, in parts of a step."""
        box, (lower, upper) = self.box, self.box.bounds[j]
        x = nw.col(f"x{j}")
        safe = nw.when(frames.is_finite(x)).then(x).otherwise(nw.lit(lower))
        placed = place_coordinates(safe, lower, upper, float(box.factors[j]), float(box.widths[j]))
        steps = grid_position(placed, float(grid.low[j]), float(1.0 / grid.step[j]), grid.sizes[j] - 1.0)
        return frames.floor_to_integer(steps * float(STEP_PARTS))


def _placed(batches: Iterable["pa.RecordBatch"], box: Box) -> Iterator[FloatArray]:
    """The points of batches in the unit box, in blocks as large as those of points in memory."""
    held: list[FloatArray] = []
    count = 0
    for rows in _finite_rows(batches):
        points = box.place_checked(rows).points
        held.append(points)
        count += len(points)
        while count >= BLOCK:
            joined = np.concatenate(held)
            yield joined[:BLOCK]
            held, count = [joined[BLOCK:]], count - BLOCK
    if count:
        yield np.concatenate(held)


def _finite_rows(batches: Iterable["pa.RecordBatch"]) -> Iterator[FloatArray]:
    """The rows of batches that are points."""
    for batch in batches:
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]  # nulls become NaN
        points = np.stack(columns, axis=1).astype(np.float64, copy=False)
        yield points[np.isfinite(points).all(axis=1)]


def _sums(batches: Iterable["pa.RecordBatch"], box: Box, statistic: PointStatistic) -> Iterator[NDArray[np.int64]]:
    """The number of points, and the statistic."""
    total = np.zeros(1 + statistic.size, np.int64)
    for points in _placed(batches, box):
        total[0] += len(points)
        total[1:] += statistic.compute(points)
    yield total
