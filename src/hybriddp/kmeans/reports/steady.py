"""The same work for every point: what a device computes by.

Whoever sends a question sees how long its answer takes. If a point took a longer path than another one, its time would
tell a bit of it without noise, past the channel. So nothing here branches on a point, no array has a length that
depends on it, and rows are selected by arithmetic over all of them rather than looked up. `Question.symbols` does it
this way unless told otherwise; devices simulated in one process, whose answers come all at once, may be faster.
"""

import numpy as np
from numpy.typing import NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.kmeans.clustering import blocks, products

_ENTRIES = 1 << 16  # of a table of distances or comparisons, at a time


def nearest_steadily(points: NDArray[np.floating], centers: FloatArray) -> NDArray[np.intp]:
    """The label that `clustering.nearest` gives, to the last tie, by sums that are done term by term for every point.

    Examples
    --------
    >>> nearest_steadily(np.array([[0.2], [0.9]]), np.array([[0.0], [1.0], [1.0]])).tolist()
    [0, 1]
    """
    labels = np.empty(len(points), np.intp)
    half = 0.5 * np.sum(centers * centers, axis=1)
    for part in blocks(len(points), max(1, _ENTRIES // len(centers))):
        labels[part] = np.argmax(products(points[part], centers) - half, axis=1)
    return labels


def rows_steadily(table: FloatArray, label: NDArray[np.integer]) -> FloatArray:
    """``table[label]``, by a sum over all rows of which one counts: exact, and it touches the same memory each time."""
    found = np.empty((len(label), *table.shape[1:]))
    for part in blocks(len(label), max(1, _ENTRIES // len(table))):
        found[part] = np.equal.outer(label[part], np.arange(len(table))).astype(np.float64) @ table
    return found


def largest_steadily(values: FloatArray, count: int) -> IntArray:
    """Which ``count`` entries of each row are the largest, as the bits of an integer; of equal ones, the first.

    An entry is one of them if fewer than so many come before it: all pairs are compared, in whatever order they are.

    Examples
    --------
    >>> [bin(found) for found in largest_steadily(np.array([[0.1, 0.3, 0.2], [0.5, 0.5, 0.5]]), 2)]
    ['0b110', '0b11']
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
