r"""Ordinary K-means on points that may be seen: Lloyd's algorithm [Llo82] with greedy k-means++ starts [AV07].

Nothing here is private. K-means itself is given released cells of a grid with their released weights, never raw points
of users; `nearest` is also what statistics before noise tell a point's center by. Starts run side by side, as an array.

**The same on every machine.** A study is taken up again from what was published, and what was asked follows from that
once more. On a grid many vertices are as far from one center as from another, and BLAS rounds one way on one processor
and the other way on the next. So products are summed term by term, in one order, and what differs in the last digits
only counts as equal.

What devices compute by (`nearest_constant_time` and its like) is **the same work for every point**. Whoever sends a
question sees how long its answer takes. If a point took a longer path than another one, its time would tell a bit of it
without noise, past the channel. So nothing there branches on a point, no array has a length that depends on it, and
rows are selected by arithmetic over all of them rather than looked up.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray

BLOCK = 1 << 14  # points looked at at a time: their distances stay in the cache
_ENTRIES = 1 << 16  # of a table of distances or comparisons, at a time, where time is constant
_SIDE_BY_SIDE = 1 << 20  # distances of all starts that run at the same time
_DIGITS = 2.0**40  # of a coordinate of a center: machines may differ in those that come after
_SAME_COST = 1e-9  # relative: starts that ended at the same centers, but for rounding


@dataclass(frozen=True, slots=True)
class Clustering:
    """Centers and what they cost."""

    centers: FloatArray  # shape (n_clusters, n_dimensions)
    cost: float  # the weighted sum of squared distances to the nearest center


def blocks(count: int, size: int = BLOCK) -> Iterator[slice]:
    """Yield the indices from 0 to ``count`` in slices."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))


def nearest(points: NDArray[np.floating], centers: FloatArray) -> NDArray[np.intp]:
    """Find the nearest center of each point; the first one, if there are several.

    The label of a point depends on nothing but that point. BLAS may round a row of a product one way or the other by
    where it stands among how many others, so where rounding could decide, the sums are done again, term by term.
    """
    labels = np.empty(len(points), np.intp)
    half = 0.5 * squared_norms(centers)
    largest = np.sum(np.abs(centers), axis=1).max(initial=0.0)
    for part in blocks(len(points)):
        some = points[part]
        scores = some @ centers.T - half
        label = np.argmax(scores, axis=1)
        # A sum of d products is off by less than d + 2 of these, in whatever order it is added up.
        rounding = np.finfo(scores.dtype).eps * (np.abs(some).max(initial=0.0) * largest + half.max(initial=0.0))
        best = scores[np.arange(len(some)), label, None] - 8 * (some.shape[1] + 2) * rounding
        doubtful = np.flatnonzero(np.count_nonzero(~(scores < best), axis=1) > 1)
        if len(doubtful):
            label[doubtful] = np.argmax(products(some[doubtful], centers) - half, axis=1)
        labels[part] = label
    return labels


def products(points: NDArray[np.floating], rows: FloatArray) -> FloatArray:
    """Multiply each point with each row, term by term, so that no point changes the products of another."""
    sums = np.zeros((len(points), len(rows)))
    for coordinate, entries in zip(points.T, rows.T, strict=True):
        sums += coordinate[:, None] * entries
    return sums


def squared_norms(rows: FloatArray) -> FloatArray:
    """Compute the squared length of each row, term by term as `products`: numpy's order of addition is its own."""
    sums = np.zeros(len(rows))
    for entries in rows.T:
        sums += entries * entries
    return sums


def wcss(points: NDArray[np.floating], centers: FloatArray) -> float:
    """Compute the within-cluster sum of squares: what K-means makes small."""
    total = 0.0
    for part in blocks(len(points)):
        rest = points[part] - centers[nearest(points[part], centers)]
        total += float(np.sum(rest * rest, dtype=np.float64))
    return total


def weighted_kmeans(
    points: FloatArray,
    weights: FloatArray,
    n_clusters: int,
    *,
    starts: int,
    generator: np.random.Generator,
    iterations: int = 100,
) -> list[Clustering]:
    """Cluster weighted points from several starts, in ``iterations`` at most; the cheapest result comes first.

    Weights are not negative, and not all zero. If there are fewer points than clusters, some centers coincide. The
    generator chooses the starts; it decides nothing that is private.
    """
    centers = _plus_plus(points, weights, n_clusters, starts, generator)
    size = max(1, _SIDE_BY_SIDE // (len(points) * n_clusters))
    results = [_lloyd(points, weights, centers[part], iterations) for part in blocks(starts, size)]
    centers, costs = (np.concatenate(parts) for parts in zip(*results, strict=True))
    return [Clustering(centers[i].copy(), float(costs[i])) for i in _by_cost(costs)]


def _lloyd(
    points: FloatArray, weights: FloatArray, centers: FloatArray, iterations: int
) -> tuple[FloatArray, FloatArray]:
    """Run Lloyd's algorithm from several starts, shape (starts, clusters, d), for centers and their costs."""
    starts, n_clusters, d = centers.shape
    moments = weights[:, None] * points
    offsets = n_clusters * np.arange(starts)[:, None]
    labels: NDArray[np.intp] | None = None
    for _ in range(iterations):
        before, labels = labels, np.argmin(_scores(points, centers), axis=2)
        if before is not None and np.array_equal(before, labels):
            break
        cells = (labels + offsets).ravel()
        mass = np.bincount(cells, np.tile(weights, starts), starts * n_clusters)
        sums = [np.bincount(cells, np.tile(m, starts), starts * n_clusters) for m in moments.T]
        full = mass > 0
        flat = centers.reshape(starts * n_clusters, d).copy()
        flat[full] = np.rint(np.stack(sums, axis=1)[full] / mass[full, None] * _DIGITS) / _DIGITS
        centers = flat.reshape(centers.shape)
    square = np.sum(points * points, axis=1)
    costs = np.sum(np.maximum(np.min(_scores(points, centers), axis=2) + square, 0) * weights, axis=1)
    return centers, costs


def _by_cost(costs: FloatArray) -> NDArray[np.intp]:
    """Order the costs; of those that rounding alone tells apart, the first one comes first."""
    order = np.argsort(costs, kind="stable")
    new = np.diff(costs[order], prepend=costs[order[:1]]) > _SAME_COST * costs[order[0]]
    ordered: NDArray[np.intp] = order[np.lexsort((order, np.cumsum(new)))]
    return ordered


def _scores(points: FloatArray, centers: FloatArray) -> FloatArray:
    """Compute squared distances without the points' own squares; shape (starts, points, clusters)."""
    scores = np.repeat(np.sum(centers * centers, axis=2)[:, None, :], len(points), axis=1)
    twice, term = -2 * points, np.empty_like(scores)
    for j in range(points.shape[1]):
        scores += np.multiply(twice[:, j, None], centers[:, None, :, j], out=term)
    return scores


def _plus_plus(
    points: FloatArray, weights: FloatArray, n_clusters: int, starts: int, generator: np.random.Generator
) -> FloatArray:
    """Draw starts by greedy k-means++: of a few candidates, drawn by cost, the one that lowers the cost most."""
    candidates = 2 + int(np.log(n_clusters))
    square = np.sum(points * points, axis=1)

    def distances(chosen: NDArray[np.intp]) -> FloatArray:
        """Compute squared distances of all points to the chosen ones; one more axis at the end."""
        squared = square + square[chosen][..., None]
        for coordinate in points.T:
            squared -= (2 * coordinate[chosen])[..., None] * coordinate
        apart: FloatArray = np.maximum(squared, 0)
        return apart

    def drawn(mass: FloatArray, shape: tuple[int, int]) -> NDArray[np.intp]:
        total = np.cumsum(mass, axis=1)
        at = generator.random(shape) * total[:, -1:]
        found = [np.searchsorted(row, x, side="right") for row, x in zip(total, at, strict=True)]
        indices: NDArray[np.intp] = np.minimum(np.stack(found), len(points) - 1)
        return indices

    chosen = drawn(np.tile(weights, (starts, 1)), (starts, 1))
    closest = distances(chosen[:, 0])
    for _ in range(n_clusters - 1):
        tried = drawn(closest * weights, (starts, candidates))
        reached = np.minimum(distances(tried), closest[:, None, :])
        best = np.argmin(np.sum(reached * weights, axis=2), axis=1)
        rows = np.arange(starts)
        closest = reached[rows, best]
        chosen = np.column_stack([chosen, tried[rows, best]])
    return points[chosen].copy()


# The same work for every point ----------------------------------------------------------------------------------------


def nearest_constant_time(points: NDArray[np.floating], centers: FloatArray) -> NDArray[np.intp]:
    """Label points as `nearest` does, to the last tie, by sums that are done term by term for every point."""
    labels = np.empty(len(points), np.intp)
    half = 0.5 * squared_norms(centers)
    for part in blocks(len(points), max(1, _ENTRIES // len(centers))):
        labels[part] = np.argmax(products(points[part], centers) - half, axis=1)
    return labels


def rows_constant_time(table: FloatArray, label: NDArray[np.integer]) -> FloatArray:
    """Compute ``table[label]`` by a sum over all rows of which one counts: exact, and memory is read alike."""
    rows = np.empty((len(label), *table.shape[1:]))
    for part in blocks(len(label), max(1, _ENTRIES // len(table))):
        rows[part] = np.equal.outer(label[part], np.arange(len(table))).astype(np.float64) @ table
    return rows


def largest_constant_time(values: FloatArray, count: int) -> IntArray:
    """Choose the ``count`` largest entries of each row, as the bits of an integer; of equal ones, the first.

    An entry is one of them if fewer than so many come before it: all pairs are compared, in whatever order they are.
    """
    width = values.shape[1]
    sets = np.zeros(len(values), np.int64)
    for part in blocks(len(values), max(1, _ENTRIES // width)):
        some = np.ascontiguousarray(values[part].T)  # an entry of all rows at a time
        before = np.zeros(some.shape, np.int16)  # how many entries come before each
        for first in range(width - 1):
            larger = some[first + 1 :] > some[first]
            before[first] += np.count_nonzero(larger, axis=0).astype(np.int16)
            before[first + 1 :] += ~larger
        chosen = before < count
        for place in range(width):
            sets[part] |= chosen[place].astype(np.int64) << place
    return sets
