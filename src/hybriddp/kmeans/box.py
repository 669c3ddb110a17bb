"""The box that all points lie in, and where each point is in it.

K-means compares distances, so all dimensions share one scale: the widest one becomes the unit interval, and distances
keep their proportions. Bounds are public and chosen without looking at the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError
from hybriddp.grid import Grid, type_words
from hybriddp.kmeans.lloyd import blocks


@dataclass(frozen=True, slots=True)
class Placed:
    """Points in the unit box.

    Attributes
    ----------
    points : ndarray, shape (n, d)
        Where they are.
    clamped : int
        How many lay outside of the bounds and were moved to the nearest point inside.
    """

    points: FloatArray = field(repr=False)  # raw values are not for logs
    clamped: int


@dataclass(frozen=True, slots=True)
class Box:
    """The public range of every dimension.

    Attributes
    ----------
    bounds : tuple of (float, float)
        Lower and upper bound of each dimension.

    Examples
    --------
    >>> box = Box.of([(0, 10), (0, 5)])
    >>> placed = box.place([[10, 5], [20, 0]])
    >>> placed.points.tolist(), placed.clamped
    ([[1.0, 0.5], [1.0, 0.0]], 1)
    """

    bounds: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, bounds: Sequence[tuple[float, float]]) -> "Box":
        """The box between these bounds, one pair per dimension."""
        try:
            pairs = [tuple(pair) for pair in bounds]
        except TypeError:
            pairs = []
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise ParameterError("bounds", "one pair (lower, upper) for each dimension", bounds)
        grids = [Grid.of((lower, upper)) for lower, upper in pairs]
        return cls(tuple((grid.lower, grid.upper) for grid in grids))

    @property
    def n_dimensions(self) -> int:
        """How many dimensions a point has."""
        return len(self.bounds)

    @property
    def lower(self) -> FloatArray:
        """The lower bound of each dimension."""
        return np.array([lower for lower, _ in self.bounds])

    @property
    def upper(self) -> FloatArray:
        """The upper bound of each dimension."""
        return np.array([upper for _, upper in self.bounds])

    @property
    def scale(self) -> float:
        """The width of the widest dimension."""
        return max(upper - lower for lower, upper in self.bounds)

    @property
    def widths(self) -> FloatArray:
        """The width of each dimension, relative to the widest."""
        return np.array([upper - lower for lower, upper in self.bounds]) / self.scale

    def place(self, points: ArrayLike, what: str = "points") -> Placed:
        """Points in the unit box; `DataError` if one is missing, not a number, or of another dimension."""
        return self.place_checked(self.check(points, what))

    def place_checked(self, points: NDArray[Any]) -> Placed:
        """Points that `check` has let pass, in the unit box.

        Clamp, subtract, multiply: a table's engine does the same and gets the same bits (`hybriddp.tables.vertices`).
        It does not divide, since some engines multiply by the inverse instead.
        """
        x = np.asarray(points, np.float64)
        placed = np.clip(x, self.lower, self.upper)
        clamped = int(np.count_nonzero((placed != x).any(axis=1)))
        placed -= self.lower
        placed *= 1.0 / self.scale
        np.minimum(placed, self.widths, out=placed)  # the product may be beyond by its rounding
        return Placed(placed, clamped)

    def check(self, points: ArrayLike, what: str = "points") -> NDArray[Any]:
        """The points as a two-dimensional array of finite numbers, or `DataError`."""
        if np.ma.is_masked(points):
            raise DataError(f"{what} must all be there, but some coordinates are masked.")
        try:
            array = np.asarray(points)
        except Exception:  # whatever an object's conversion raises: it may say what it holds
            array = np.empty(0, object)
        d = self.n_dimensions
        if array.dtype.kind not in "iuf" or array.ndim != 2 or array.shape[1] != d:
            raise DataError(
                f"{what} must be a table of numbers with {d} columns, one for each pair of bounds, "
                f"got {type_words(array)} of shape {array.shape}."
            )
        bad = sum(int(np.count_nonzero(~np.isfinite(array[part]).all(axis=1))) for part in blocks(len(array)))
        if bad:
            raise DataError(
                f"{what} must be finite, but {bad:,} of {len(array):,} hold NaN or infinity. Leave these users out."
            )
        return array

    def values(self, centres: FloatArray) -> FloatArray:
        """Points of the unit box in the units of the data; rounding does not take them out of the bounds."""
        lower, upper = np.array(self.bounds).T
        inside: FloatArray = np.clip(lower + self.scale * centres, lower, upper)
        return inside
