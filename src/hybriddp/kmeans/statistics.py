r"""Statistics of the trusted group, before noise, and their sensitivity.

A statistic is a vector of integers: the sum over all users of one vector each. No user's vector is longer than
`max_contribution` in $L_1$ (the sum of absolute values), whatever the point is. Two neighboring groups differ in
`CHANGED_USERS` of these vectors: if a point is replaced, one leaves and another one comes. So by the triangle
inequality the $L_1$ sensitivity of every K-means release is

$$
\text{sensitivity} = 2 \times \text{max\_contribution},
$$

| statistic       | one user's vector                                     | max_contribution      |
| --------------- | ----------------------------------------------------- | --------------------- |
| `Histogram`     | 1 at one vertex                                       | 1                     |
| `ClusterSizes`  | 1 at one center                                       | 1                     |
| `ClusterSums`   | count_weight at one center, and a clipped residual    | count_weight + `L1_UNIT` |
| `SecondMoments` | a clipped matrix                                      | `L1_UNIT`                |

and noise for that sensitivity is what the server adds. Clipping to `L1_UNIT` is done on integers, user by user
(`clip_l1`): the bounds hold whatever the floating-point steps before have done.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.kmeans.clustering import blocks
from hybriddp.kmeans.reports.base import GridQuestion, Labels

BLOCK = 1 << 16  # points of a group looked at at a time
CHANGED_USERS = 2
"""Neighbors differ in the point of one user: its vector leaves, and another one comes."""

L1_UNIT = 1 << 20
"""The $L_1$ length, in integers, of a residual as long as its radius, or of a matrix as large as its bound."""

STEP_PARTS = 1 << 20  # parts of a step of the grid

# STEP_PARTS over the golden ratio, and times √2 - 1: multiples of them, modulo STEP_PARTS, are spread evenly. All
# products stay far below 2^53, where integers are exact in every engine.
REST_HASH, VERTEX_HASH = 648055, 434333
VERTEX_FORMULAS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "vertex": lambda at: at["fine"] // STEP_PARTS,
    "rest": lambda at: at["fine"] - at["vertex"] * STEP_PARTS,  # not every engine has remainders
    "mixed": lambda at: at["rest"] * REST_HASH + at["vertex"] * VERTEX_HASH,
    "hash": lambda at: at["mixed"] - at["mixed"] // STEP_PARTS * STEP_PARTS,
}
"""From a position in parts of a step, ``fine``, to a vertex, which is one higher where ``hash`` is below ``rest``.

One after the other, for arrays and for the columns of a table alike.
"""


class PointStatistic(ABC):
    """A vector of integers, one vector per user, added up."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of integers."""

    @property
    @abstractmethod
    def max_contribution(self) -> int:
        """Largest $L_1$ length of one user's vector; times `CHANGED_USERS` it is the sensitivity."""

    @abstractmethod
    def compute(self, points: FloatArray) -> IntArray:
        """Compute the exact numbers of some users from their points in the unit box."""


@dataclass(frozen=True, slots=True)
class Histogram(PointStatistic):
    """How many users are at each vertex of a grid.

    Rounding to a vertex is not drawn but computed: a hash of the position decides between up and down. For values that
    spread over many positions this is as good as chance, it is the same in every engine, and a user is at one vertex.
    """

    grid: GridQuestion
    max_contribution: ClassVar[int] = 1  # a user is at exactly one vertex: `compute` gives each one index

    @property
    def size(self) -> int:
        return self.grid.n_symbols

    def compute(self, points: FloatArray) -> IntArray:
        counts = np.zeros(self.size, np.int64)
        last = np.array(self.grid.sizes) - 1
        for part in blocks(len(points)):
            cells = {"fine": np.floor(self.grid.position(points[part]) * STEP_PARTS).astype(np.int64)}
            for name, formula in VERTEX_FORMULAS.items():
                cells[name] = formula(cells)
            vertex = cells["vertex"] + (cells["hash"] < cells["rest"])
            counts += np.bincount(self.grid.index(np.minimum(vertex, last)), minlength=self.size)
        return counts


@dataclass(frozen=True, slots=True)
class ClusterSizes(PointStatistic):
    """How many users are nearest to each center."""

    labels: Labels
    max_contribution: ClassVar[int] = 1  # a user has exactly one label

    @property
    def size(self) -> int:
        return len(self.labels.centers)

    def compute(self, points: FloatArray) -> IntArray:
        return np.bincount(self.labels.nearest(points), minlength=self.size).astype(np.int64)


@dataclass(frozen=True, slots=True)
class ClusterSums(PointStatistic):
    """How many users are nearest to each center, and the sum of their residuals, each clipped to a radius in $L_1$.

    Residuals are measured in parts of the radius of their cluster: a residual of that length adds `L1_UNIT`, and a user
    adds ``count_weight`` to the count of their cluster. All numbers get the same noise.
    """

    labels: Labels
    radii: FloatArray
    count_weight: int

    @property
    def size(self) -> int:
        return int(len(self.radii) * (1 + self.labels.centers.shape[1]))

    @property
    def max_contribution(self) -> int:
        return self.count_weight + L1_UNIT  # in one cluster: its count, and a residual that `clip_l1` clips to L1_UNIT

    def compute(self, points: FloatArray) -> IntArray:
        """Weighted counts, then sums cluster by cluster."""
        centers = self.labels.centers
        k, d = centers.shape
        counts, sums = np.zeros(k, np.int64), np.zeros((k, d), np.int64)
        for part in blocks(len(points)):
            seen = self.labels.seen(points[part])
            label = self.labels.nearest_seen(seen, constant_time=False)
            residuals = (seen - centers[label]) / self.radii[label, None]
            counts += np.bincount(label, minlength=k)
            np.add.at(sums, label, clip_l1(residuals))
        return np.concatenate([self.count_weight * counts, sums.ravel()])


@dataclass(frozen=True, slots=True)
class SecondMoments(PointStatistic):
    r"""The sum of $zz^T$, $z = x - \mu$: the upper triangle, each user's clipped to ``bound`` in $L_1$."""

    center: FloatArray
    bound: float
    max_contribution: ClassVar[int] = L1_UNIT  # all entries of a user together, by `clip_l1`

    @property
    def size(self) -> int:
        d = len(self.center)
        return d * (d + 1) // 2

    def compute(self, points: FloatArray) -> IntArray:
        """Compute the entries of the upper triangle, row by row."""
        rows, columns = np.triu_indices(len(self.center))
        total = np.zeros(self.size, np.int64)
        for part in blocks(len(points), max(1, (1 << 20) // self.size)):
            z = points[part] - self.center
            total += clip_l1(z[:, rows] * z[:, columns] / self.bound).sum(axis=0)
        return total


def clip_l1(vectors: FloatArray) -> IntArray:
    r"""Convert vectors to integers, `L1_UNIT` for 1, and clip those longer than 1 in $L_1$ to `L1_UNIT`.

    Examples
    --------
    >>> clip_l1(np.array([[0.25, -0.25], [3.0, 1.0]])).tolist()
    [[262144, -262144], [786432, 262144]]
    """
    # What is not a number would become the smallest integer, whose absolute value is negative: no bound would hold.
    whole = np.rint(np.clip(np.nan_to_num(vectors), -1e6, 1e6) * L1_UNIT).astype(np.int64)
    length = np.abs(whole).sum(axis=1, keepdims=True)
    # Towards zero, so that the sum of the absolute values is never above L1_UNIT.
    clipped = np.sign(whole) * (np.abs(whole) * L1_UNIT // np.maximum(length, L1_UNIT))
    return np.where(length > L1_UNIT, clipped, whole)
