r"""Random centers that keep apart, to begin K-means without looking at data [SCLBJ16].

A packing of radius $r$ is a set of centers in the unit box that are at least $2r$ from each other and at least $r$
from every wall. Centers drawn uniformly from $[r, 1-r]^d$ are $r + (1-2r)u$ with $u$ uniform in the unit box, so for
one fixed list of such $u$ they are a packing exactly if

$$
|u_i - u_j| \ge t, \qquad t = \frac{2r}{1 - 2r}, \qquad r = \frac{t}{2(1 + t)}.
$$

A radius therefore costs no new points: of the list, each point is taken that keeps $t$ from those taken before it, and
the largest $t$ that leaves enough of them is found by bisection. Several lists are tried side by side.
"""

import numpy as np
from numpy.typing import NDArray

from hybriddp import _check
from hybriddp._check import FloatArray

_DISTANCES = 1 << 20  # at most, unless one list has more
_STEPS = 12  # of the bisection: the distance is within a few thousandths of the largest that it finds


def sphere_packing(n_clusters: int, n_dimensions: int, *, generator: np.random.Generator) -> FloatArray:
    """Draw centers in the unit box that keep apart from each other and, half as far, from the walls.

    The ``generator`` that draws them need not be secret: nothing here depends on data. diffprivlib begins likewise.
    """
    k = _check.integer("n_clusters", n_clusters, at_least=1)
    d = _check.integer("n_dimensions", n_dimensions, at_least=1)
    if k == 1:
        return np.full((1, d), 0.5)  # the largest ball that the box holds
    length = 64 + 4 * k
    lists = generator.random((max(1, min(64, _DISTANCES // length**2)), length, d))
    distances = _squared_distances(lists.astype(np.float32))
    low, high = 0.0, float(np.sqrt(d))
    which, taken = 0, np.arange(k)  # apart by more than nothing
    for _ in range(_STEPS):
        t = 0.5 * (low + high)
        found = _first_that_keep_apart(distances, t * t, k)
        if found is None:
            high = t
        else:
            low, (which, taken) = t, found
    r = low / (2 * (1 + low))
    centers: FloatArray = r + (1 - 2 * r) * lists[which, taken]
    return centers


def _squared_distances(lists: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute squared distances between all points of each list."""
    square = np.sum(lists * lists, axis=2)
    result: NDArray[np.float32] = lists @ np.swapaxes(lists, 1, 2)
    result *= -2
    result += square[:, :, None]
    result += square[:, None, :]
    itself = np.arange(lists.shape[1])
    result[:, itself, itself] = 0
    return result


def _first_that_keep_apart(
    distances: NDArray[np.float32], least: float, count: int
) -> tuple[int, NDArray[np.intp]] | None:
    """Find the first list with ``count`` points that keep apart, and these points, taken greedily."""
    rows = np.arange(len(distances))
    free = np.ones(distances.shape[:2], np.bool_)
    taken = np.empty((len(distances), count), np.intp)
    for i in range(count):
        first = np.argmax(free[rows], axis=1)
        alive = free[rows, first]
        rows, first = rows[alive], first[alive]
        if not len(rows):
            return None
        taken[rows, i] = first
        free[rows] &= distances[rows, first] >= least
    return int(rows[0]), taken[rows[0]]
