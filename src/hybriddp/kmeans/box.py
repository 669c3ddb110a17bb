r"""The box that all points lie in, and where each point is in it.

K-means compares distances, so somebody has to say what a year of age is worth in dollars of income. By default the
bounds do: each dimension is measured by its own range, $z_j = (x_j - l_j)/(u_j - l_j)$. With weights $w$, dimension
$j$ counts $w_j$ times as much, $z_j w_j / \max w$. With ``"none"`` all share the scale of the widest one, and distances
keep the proportions that they have in the units of the data. Bounds and scaling are public and chosen without looking
at the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError
from hybriddp.grid import Grid, clamp_and_scale, type_words
from hybriddp.kmeans.clustering import blocks

Scale = str | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class PlacedPoints:
    """Points in the unit box."""

    points: FloatArray = field(repr=False)  # shape (n, d); raw values are not for logs
    clamped: int  # how many lay outside of the bounds, and were moved to the nearest point inside


@dataclass(frozen=True, slots=True)
class Box:
    """The public range of every dimension.

    Examples
    --------
    >>> box = Box.of([(0, 10), (0, 5)])
    >>> placed = box.place([[10, 5], [20, 0]])
    >>> placed.points.tolist(), placed.clamped
    ([[1.0, 1.0], [1.0, 0.0]], 1)
    >>> Box.of([(0, 10), (0, 5)], "none").place([[10, 5]]).points
    array([[1. , 0.5]])
    """

    bounds: tuple[tuple[float, float], ...]  # lower and upper, of each dimension
    scale: Scale = "bounds"  # what distances are measured by: "bounds", "none" or weights

    @classmethod
    def of(cls, bounds: Sequence[tuple[float, float]], scale: str | Sequence[float] = "bounds") -> "Box":
        """The box between these bounds, one pair per dimension, and what distances in it are measured by."""
        try:
            pairs = [tuple(pair) for pair in bounds]
        except TypeError:
            pairs = []
        if not pairs or any(len(pair) != 2 for pair in pairs):
            raise ParameterError("bounds", "one pair (lower, upper) for each dimension", bounds)
        grids = [Grid.of((lower, upper)) for lower, upper in pairs]
        return cls(tuple((grid.lower, grid.upper) for grid in grids), _scale_of(scale, len(grids)))

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
    def widths(self) -> FloatArray:
        """The width of each dimension where distances are measured; the widest has 1."""
        if self.scale == "bounds":
            return np.ones(self.n_dimensions)
        widths = self.upper - self.lower if self.scale == "none" else np.array(self.scale)
        relative: FloatArray = widths / widths.max()
        return relative

    @property
    def units(self) -> FloatArray:
        """What a distance of 1 is in each dimension, in the units of the data."""
        if self.scale == "none":  # to the last bit the same for all
            return np.full(self.n_dimensions, float(np.max(self.upper - self.lower)))
        return (self.upper - self.lower) / self.widths

    @property
    def factors(self) -> FloatArray:
        """One over the units: what a table's engine multiplies by too."""
        return 1.0 / self.units

    def scaled(self, points: FloatArray) -> FloatArray:
        """Points where distances are measured, wherever they lie: not moved into the box."""
        return (points - self.lower) * self.factors

    def place(self, points: ArrayLike, what: str = "points") -> PlacedPoints:
        """Points in the unit box; `DataError` if one is missing, not a number, or of another dimension."""
        return self.place_checked(self.check(points, what))

    def place_checked(self, points: NDArray[Any]) -> PlacedPoints:
        """Points that `check` has let pass, in the unit box."""
        x = np.asarray(points, np.float64)
        clamped = int(np.count_nonzero(((x < self.lower) | (x > self.upper)).any(axis=1)))
        return PlacedPoints(place_coordinates(x, self.lower, self.upper, self.factors, self.widths), clamped)

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

    def values(self, centers: FloatArray) -> FloatArray:
        """Points of the unit box in the units of the data; rounding does not take them out of the bounds."""
        lower, upper = np.array(self.bounds).T
        inside: FloatArray = np.clip(lower + self.units * centers, lower, upper)
        return inside


def place_coordinates(x: Any, lower: Any, upper: Any, factor: Any, width: Any) -> Any:  # noqa: ANN401
    """Coordinates in the unit box: of all dimensions as an array, or of one as an expression of a table's engine."""
    return clamp_and_scale(x, lower, upper, factor).clip(None, width)  # a product may be beyond by its rounding


def grid_position(x: Any, low: Any, per_step: Any, last: Any) -> Any:  # noqa: ANN401
    """Where coordinates are on a grid, in steps, moved into it if they lie outside; arrays or expressions, too."""
    return ((x - low) * per_step).clip(0.0, last)


def _scale_of(scale: object, d: int) -> Scale:
    """The scaling in its one form."""
    if isinstance(scale, str) and scale in ("bounds", "none"):
        return str(scale)
    expected = f'"bounds", "none", or {d} positive weights, one for each dimension'
    if isinstance(scale, str) or not isinstance(scale, (Sequence, np.ndarray)) or len(scale) != d:
        raise ParameterError("scale", expected, scale)
    try:
        return tuple(_check.number("scale", weight, _check.POSITIVE) for weight in scale)
    except ParameterError:
        raise ParameterError("scale", expected, scale) from None
