"""A table as the trusted group of a K-means study: its points stay where they are."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError
from hybriddp.kmeans.box import Box
from hybriddp.kmeans.clustering import blocks
from hybriddp.kmeans.points import BLOCK
from hybriddp.kmeans.statistics import Histogram, Statistic, UserCount
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.tables.batches import computed
from hybriddp.tables.frames import OpenTable, open_table
from hybriddp.tables.vertices import Coordinates, Rows

if TYPE_CHECKING:
    import pyarrow as pa


def trusted_points(
    table: Any,  # noqa: ANN401
    study: KMeansStudy,
    *,
    columns: Sequence[str],
    engine: str | None = None,
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
    engine : {"polars", "duckdb", "spark"}, optional
        What reads files, and only files: Polars if not given.

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
    return TrustedTable(open_table(table, engine, numbers=names), Coordinates(tuple(names), study.box))


class TrustedTable:
    """The points of a table: a `TrustedPoints`. Made by `trusted_points`.

    The size and histograms of the box are one query of the engine that holds the table. For other statistics the
    columns are read in batches; in Spark the workers compute them, and need hybriddp for that.

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

    def __init__(self, table: OpenTable, coordinates: Coordinates) -> None:
        self._table, self._coordinates, self.box = table, coordinates, coordinates.box
        self._order: bytes | None = None
        with table.reading():
            rows = sum((coordinates.rows(frame) for frame in table.frames), Rows(0, 0, 0))
        self.count, self.clamped, self.rejected = rows.count, rows.clamped, rows.rejected

    def exact(self, statistic: Statistic) -> NDArray[np.int64]:
        """The statistic without noise."""
        if isinstance(statistic, UserCount):
            return np.array([self.count], np.int64)
        with self._table.reading():
            if isinstance(statistic, Histogram) and statistic.grid.projection is None:
                counts = np.zeros(statistic.size, np.int64)
                for frame in self._table.frames:
                    counts += self._coordinates.histogram(frame, statistic.grid)
                self._require_same(int(counts.sum()))
                return counts
            total = np.zeros(1 + statistic.size, np.int64)
            for part in self._computed(partial(_sums, box=self._coordinates.box, statistic=statistic), np.int64):
                total += part
        self._require_same(int(total[0]))
        return total[1:]

    def points_of(self, users: NDArray[np.int64]) -> Iterator[FloatArray]:
        """The points of some users in the unit box, block by block: in memory are theirs only.

        A user is the number of a row, so rows must come in the same order every time: whoever answers once must not be
        taken for somebody else. `DataError` if they do not.
        """
        order = np.argsort(users, kind="stable")
        wanted, d = users[order], self._coordinates.box.n_dimensions
        found = np.empty((len(users), d))
        first, seen = 0, hashlib.sha256()
        with self._table.reading():
            for part in self._computed(partial(_placed, box=self._coordinates.box), np.float64):
                points = part.reshape(-1, d)
                seen.update(points.tobytes())
                start, stop = np.searchsorted(wanted, [first, first + len(points)])
                found[order[start:stop]] = points[wanted[start:stop] - first]
                first += len(points)
        self._require_same(first)
        if self._order not in (None, seen.digest()):
            raise DataError("The rows of the table have changed, or come in another order than before. Write it down.")
        self._order = seen.digest()
        for some in blocks(len(users), BLOCK):
            yield found[some]

    def _computed(self, work: Any, dtype: type[np.generic]) -> Iterator[NDArray[Any]]:  # noqa: ANN401
        for frame in self._table.frames:
            yield from computed(self._coordinates.floats(frame), work, dtype)

    def _require_same(self, count: int) -> None:
        if count != self.count:
            raise DataError(
                f"The table had {self.count:,} points, now it has {count:,}. Nobody may be added meanwhile."
            )


def _placed(batches: Iterable["pa.RecordBatch"], box: Box) -> Iterator[FloatArray]:
    """The points of batches in the unit box, in blocks as large as those of points in memory."""
    held: list[FloatArray] = []
    count = 0
    for batch in batches:
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]  # nulls become NaN
        points = np.stack(columns, axis=1).astype(np.float64, copy=False)
        points = box.place_checked(points[np.isfinite(points).all(axis=1)]).points
        held.append(points)
        count += len(points)
        while count >= BLOCK:
            joined = np.concatenate(held)
            yield joined[:BLOCK]
            held, count = [joined[BLOCK:]], count - BLOCK
    if count:
        yield np.concatenate(held)


def _sums(batches: Iterable["pa.RecordBatch"], box: Box, statistic: Statistic) -> Iterator[NDArray[np.int64]]:
    """The number of points, and the statistic."""
    total = np.zeros(1 + statistic.size, np.int64)
    for points in _placed(batches, box):
        total[0] += len(points)
        total[1:] += statistic.compute(points)
    yield total
