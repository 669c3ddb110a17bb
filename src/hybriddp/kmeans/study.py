r"""A K-means study and the box that its points lie in: public, frozen, the same on devices and at the curator.

K-means compares distances, so somebody has to say what a year of age is worth in dollars of income. By default the
bounds do: each dimension is measured by its own range, $z_j = (x_j - l_j)/(u_j - l_j)$. With weights $w$, dimension
$j$ counts $w_j$ times as much, $z_j w_j / \max w$. With ``"none"`` all share the scale of the widest one, and distances
keep the proportions that they have in the units of the data.
"""

import math
import re
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.grid import Grid, clamp_and_scale, type_words
from hybriddp.kmeans.clustering import blocks
from hybriddp.privacy import Privacy
from hybriddp.study.document import Document

SMALLEST = 1e-100  # of a coordinate, and of a number in a question, that is not 0

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
        """Make the box between these bounds, one pair per dimension, and what distances in it are measured by."""
        if isinstance(bounds, Mapping):
            expected = (
                "one pair (lower, upper) for each dimension, in order; names of columns are for HybridKMeans only"
            )
            raise ParameterError("bounds", expected, bounds)
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
        """Number of pairs of bounds, $d$."""
        return len(self.bounds)

    @property
    def lower(self) -> FloatArray:
        """Lower bound of each dimension."""
        return np.array([lower for lower, _ in self.bounds])

    @property
    def upper(self) -> FloatArray:
        """Upper bound of each dimension."""
        return np.array([upper for _, upper in self.bounds])

    @property
    def widths(self) -> FloatArray:
        """Width of each dimension where distances are measured; the widest has 1."""
        if self.scale == "bounds":
            return np.ones(self.n_dimensions)
        widths = self.upper - self.lower if self.scale == "none" else np.array(self.scale)
        return widths / float(widths.max())

    @property
    def units(self) -> FloatArray:
        """Distance of 1 in each dimension, in the units of the data."""
        if self.scale == "none":  # to the last bit the same for all
            return np.full(self.n_dimensions, float(np.max(self.upper - self.lower)))
        return (self.upper - self.lower) / self.widths

    @property
    def factors(self) -> FloatArray:
        """One over the units: what a table's engine multiplies by too."""
        return 1.0 / self.units

    def scaled(self, points: FloatArray) -> FloatArray:
        """Convert points to where distances are measured, wherever they lie: not moved into the box."""
        return (points - self.lower) * self.factors

    def place(self, points: ArrayLike, what: str = "points") -> PlacedPoints:
        """Place points in the unit box; `DataError` if one is missing, not a number, or of another dimension."""
        return self.place_checked(self.check(points, what))

    def place_checked(self, points: NDArray[Any]) -> PlacedPoints:
        """Place points that `check` has let pass in the unit box."""
        x = np.asarray(points, np.float64)
        clamped = int(np.count_nonzero(((x < self.lower) | (x > self.upper)).any(axis=1)))
        placed = place_coordinates(x, self.lower, self.upper, self.factors, self.widths)
        # A processor takes longer over numbers of next to nothing, and that would tell whose point made them.
        return PlacedPoints(np.where(placed < SMALLEST, 0.0, placed), clamped)

    def check(self, points: ArrayLike, what: str = "points") -> NDArray[Any]:
        """Return the points as a two-dimensional array of finite numbers, or raise `DataError`."""
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
                f"got {f'{type_words(array)} of shape {array.shape}' if array.shape else type(points).__name__}."
            )
        bad = sum(int(np.count_nonzero(~np.isfinite(array[part]).all(axis=1))) for part in blocks(len(array)))
        if bad:
            raise DataError(
                f"{what} must be finite, but {bad:,} of {len(array):,} hold NaN or infinity. Leave these users out."
            )
        return array

    def values(self, centers: FloatArray) -> FloatArray:
        """Convert points of the unit box to the units of the data; rounding does not take them out of the bounds."""
        lower, upper = np.array(self.bounds).T
        inside: FloatArray = np.clip(lower + self.units * centers, lower, upper)
        return inside


def place_coordinates(x: Any, lower: Any, upper: Any, factor: Any, width: Any) -> Any:  # noqa: ANN401
    """Place coordinates in the unit box: an array of all dimensions, or one dimension's expression of an engine."""
    return clamp_and_scale(x, lower, upper, factor).clip(None, width)  # a product may be beyond by its rounding


def grid_position(x: Any, low: Any, per_step: Any, last: Any) -> Any:  # noqa: ANN401
    """Locate coordinates on a grid, in steps, moved into it if they lie outside; arrays or expressions, too."""
    return ((x - low) * per_step).clip(0.0, last)


def _scale_of(scale: object, d: int) -> Scale:
    """Validate the scaling."""
    if isinstance(scale, str) and scale in ("bounds", "none"):
        return str(scale)
    expected = f'"bounds", "none", or {d} positive weights, one for each dimension'
    if isinstance(scale, str) or not isinstance(scale, (Sequence, np.ndarray)) or len(scale) != d:
        raise ParameterError("scale", expected, scale)
    try:
        return tuple(_check.number("scale", weight, _check.POSITIVE) for weight in scale)
    except ParameterError:
        raise ParameterError("scale", expected, scale) from None


MOST_CLUSTERS = 1024
MOST_DIMENSIONS = 256
MOST_CHARACTERS = 1000
_THINNEST = 1e-50  # devices refuse grids with steps that floating point can hardly divide by
_FRACTION = re.compile(r"[0-9]{1,18}(/[0-9]{1,18})?")

REPLACE_ONE = "replace-one"
"""Which data sets are neighbors, as every text and every result states it: `hybriddp.privacy.NEIGHBORS`."""


@dataclass(frozen=True, init=False)
class KMeansStudy(Document):
    """What is asked of whom, under which promise.

    Parameters
    ----------
    name : str
        What the points are.
    n_clusters : int
        How many centers are wanted, from 1 to 1,024.
    bounds : sequence of (float, float)
        The public range of each dimension, chosen without looking at the data.
    epsilon : float or str
        What every user is promised in total.
    scale : "bounds", "none" or sequence of float
        What distances are measured by, the same on all devices. By default every dimension by the width of its bounds;
        with positive weights, dimension *j* counts ``scale[j]`` times as much as that; with ``"none"``, by the units of
        the data as they are.

    Examples
    --------
    >>> study = KMeansStudy("visits", n_clusters=3, bounds=[(0, 24), (0, 60)], epsilon=2)
    >>> KMeansStudy.from_json(study.to_json()) == study
    True
    """

    _what: ClassVar[str] = "study"
    _kind: ClassVar[str] = "kmeans"

    name: str
    n_clusters: int
    box: Box
    privacy: Privacy

    def __init__(
        self,
        name: str,
        *,
        n_clusters: int,
        bounds: Sequence[tuple[float, float]],
        epsilon: float | str,
        scale: str | Sequence[float] = "bounds",
    ) -> None:
        _check.text("name", name, "what the points are")
        if len(name) > MOST_CHARACTERS:
            raise ParameterError("name", f"at most {MOST_CHARACTERS:,} characters", len(name), shown_as="their number")
        n_clusters = _check.integer("n_clusters", n_clusters, at_least=1, at_most=MOST_CLUSTERS)
        box = Box.of(bounds, scale)
        if box.widths.min() < _THINNEST:
            what = "bounds" if box.scale == "none" else "scale"
            raise ParameterError(what, "widths or weights that are within a factor of 1e50 of each other", box.scale)
        if box.n_dimensions > MOST_DIMENSIONS:
            expected = f"at most {MOST_DIMENSIONS} pairs"
            raise ParameterError("bounds", expected, box.n_dimensions, shown_as="their number")
        privacy = Privacy(epsilon=epsilon)
        values = {"name": name, "n_clusters": n_clusters, "box": box, "privacy": privacy}
        for name_of_field, value in values.items():
            object.__setattr__(self, name_of_field, value)

    def __repr__(self) -> str:
        fields = {**self.fields(), "bounds": list(self.box.bounds), "scale": self.box.scale}
        shown = {name: fields[name] for name in ("n_clusters", "bounds", "epsilon", "scale")}
        return f"KMeansStudy({_short(self.name, 32)}, {short_parameters(shown)})"

    def _content(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "n_clusters": self.n_clusters,
            "bounds": [list(pair) for pair in self.box.bounds],
            "scale": self.box.scale if isinstance(self.box.scale, str) else list(self.box.scale),
            "epsilon": self.privacy.epsilon,
            "neighbors": REPLACE_ONE,
        }

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Self:
        values = {name: value for name, value in fields.items() if name not in ("type", "version")}
        neighbors = values.pop("neighbors")
        cls.require(neighbors == REPLACE_ONE, f"its neighbors must be {REPLACE_ONE!r}, which is all that is supported")
        return cls(values.pop("name"), **values)


def short_parameters(parameters: Mapping[str, object], longest: int = 32) -> str:
    """Write parameters as a call has them, for a `repr` that fits into a log: long ones are counted, or shortened."""
    return ", ".join(f"{name}={_short(value, longest)}" for name, value in parameters.items())


def _short(value: object, longest: int) -> str:
    if isinstance(value, Sized) and not isinstance(value, str) and len(value) > 2:
        return f"[… {len(value):,} in all]"
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def read_fraction(value: object, what: str) -> Fraction:
    """Read a fraction of users from a text; `ProtocolError` if it is not between 0 and 1."""
    if not isinstance(value, str) or _FRACTION.fullmatch(value) is None:
        raise ProtocolError(f"The {what} is refused: a fraction of users is not a short fraction.")
    fraction = Fraction(value)
    if not 0 < fraction <= 1:
        raise ProtocolError(f"The {what} is refused: a fraction of users is not between 0 and 1.")
    return fraction


COORDINATE_BYTES = 4


@lru_cache(maxsize=64)
def _grids(box: Box) -> tuple[Grid, ...]:
    return tuple(Grid.of(bounds) for bounds in box.bounds)


def units_of(box: Box, point: Sequence[float]) -> tuple[int, ...]:
    """Convert a point to units; `DataError`, which does not show it, unless all dimensions are finite numbers.

    Examples
    --------
    >>> units_of(Box.of([(0, 10), (0, 1)]), [5, 7])
    (8388608, 16777216)
    """
    if len(point) != box.n_dimensions or not all(map(_is_number, point)):
        raise DataError(f"The point must be {box.n_dimensions} finite numbers, one for each dimension.")
    return tuple(int(grid.place([float(x)]).units[0]) for grid, x in zip(_grids(box), point, strict=True))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and type(value) is not bool and math.isfinite(value)


def values_of(box: Box, units: Sequence[Sequence[int]]) -> FloatArray:
    """Convert points to the units of the data, shape (n, d)."""
    columns = np.array(units, np.int64).reshape(-1, box.n_dimensions).T
    return np.stack([grid.values(column) for grid, column in zip(_grids(box), columns, strict=True)], axis=1)


def integer_of_units(units: Sequence[int]) -> int:
    """Encode a point for a commitment: its bytes are 1 and the units, four bytes each, the largest first.

    Examples
    --------
    >>> hex(integer_of_units([7, 256]))
    '0x10000000700000100'
    """
    return int.from_bytes(b"\1" + b"".join(unit.to_bytes(COORDINATE_BYTES) for unit in units))
