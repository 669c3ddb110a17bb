"""Reports of a vertex of a grid: a histogram of where the points are."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hybriddp._check import FloatArray, IntArray
from hybriddp.kmeans.box import SMALLEST, grid_position
from hybriddp.kmeans.reports.base import Projection, Question, Rng, read_array, require

MOST_VERTICES = 4096  # of a grid in one direction


@dataclass(frozen=True, slots=True)
class GridQuestion(Question):
    """Near which vertex of a grid? Each coordinate is rounded up or down at random, so that its mean stays.

    The unbiased counts of its tally are a histogram of the vertices; `symbol_variance` is their variance.
    """

    kind: ClassVar[str] = "grid"

    projection: Projection | None  # onto the directions of the grid; None for those of the box
    low: FloatArray  # the first vertex, shape (q,)
    step: FloatArray  # the distance between vertices, in each direction
    sizes: tuple[int, ...]  # how many vertices there are in each direction, at least 2

    @property
    def n_symbols(self) -> int:
        return math.prod(self.sizes)  # not in 64 bits, where a grid that is too large may pass for a small one

    def position(self, points: FloatArray) -> FloatArray:
        """Where points are on the grid, in steps, moved into it if they lie outside."""
        seen = points if self.projection is None else self.projection.project(points)
        position: FloatArray = grid_position(seen, self.low, 1.0 / self.step, np.array(self.sizes) - 1.0)
        return position

    def symbols(self, points: FloatArray, variants: IntArray, rng: Rng, *, constant_time: bool = True) -> IntArray:
        position = self.position(points)
        vertex = np.floor(position)
        vertex += rng.random(position.shape, np.float32) < position - vertex
        return self.index(vertex.astype(np.int64))

    def index(self, vertices: IntArray) -> IntArray:
        """The number of a vertex, the last direction running fastest."""
        number = vertices[:, 0]
        for axis, size in enumerate(self.sizes[1:], start=1):
            number = number * size + vertices[:, axis]
        return number

    def vertices(self) -> FloatArray:
        """The coordinates of all vertices, in the order of their symbols."""
        axes = [low + step * np.arange(size) for low, step, size in zip(self.low, self.step, self.sizes, strict=True)]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)

    def fields(self) -> dict[str, Any]:
        seen = {} if self.projection is None else self.projection.fields()
        return {**seen, "low": self.low, "step": self.step, "sizes": list(self.sizes)}

    @classmethod
    def from_fields(cls, d: int, fields: dict[str, Any]) -> "GridQuestion":
        projection = Projection.from_fields(d, fields)
        q = d if projection is None else len(projection.axes)
        sizes, low, step = tuple(fields["sizes"]), read_array(fields, "low", (q,)), read_array(fields, "step", (q,))
        whole = len(sizes) == q and all(type(size) is int and 2 <= size <= MOST_VERTICES for size in sizes)
        require(whole and bool((step >= SMALLEST).all()), "its grid is malformed")
        return cls(projection, low, step, sizes)
