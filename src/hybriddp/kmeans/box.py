r"""The box that all points lie in, and where each point is in it.

K-means compares distances, so somebody has to say what a year of age is worth in dollars of income. By default the
bounds do: each dimension is measured by its own range, $z_j = (x_j - l_j)/(u_j - l_j)$. With weights $w$, dimension
$j$ counts $w_j$ times as much, $z_j w_j / \max w$. With ``"none"`` all share the scale of the widest one, and distances
keep the proportions that they have in the units of the data. Bounds and scaling are public and chosen without looking
at the data.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp import _check
from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError
from hybriddp.grid import Grid, clamp_and_scale, type_words
from hybriddp.kmeans.clustering import blocks

SMALLEST = 1e-100  # of a coordinate, and of a number in a question, that is not 0
_NUMBERS = (Real, Decimal)
_MISSING = ("NAType", "NaTType")  # what pandas has in place of a missing value
_MOST_NAMED = 5  # missing columns in a message

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
        """How many pairs of bounds there are, $d$."""
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
        return widths / float(widths.max())

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
        placed = place_coordinates(x, self.lower, self.upper, self.factors, self.widths)
        # A processor takes longer over numbers of next to nothing, and that would tell whose point made them.
        return PlacedPoints(np.where(placed < SMALLEST, 0.0, placed), clamped)

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
                f"got {f'{type_words(array)} of shape {array.shape}' if array.shape else type(points).__name__}."
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


# Columns by name ------------------------------------------------------------------------------------------------------
# Any table that has column names and becomes an array is understood: pandas, Polars, PyArrow, narwhals and their like.


def names_of(table: Any) -> tuple[str, ...] | None:  # noqa: ANN401
    """The names of a table's columns; None if it has none, or others than texts (as scikit-learn has it).

    `DataError` if only some are texts.
    """
    if isinstance(table, np.ndarray) or not hasattr(table, "__array__"):
        return None
    names = getattr(table, "column_names", None)  # PyArrow, whose `columns` are what they hold
    names = getattr(table, "columns", None) if names is None else names
    if names is None or callable(names):
        return None
    names = tuple(names)
    texts = sum(isinstance(name, str) for name in names)
    if 0 < texts < len(names):  # as scikit-learn does: which of them are names, and which are numbers of columns?
        raise DataError(
            f"The names of columns must all be texts, or none of them, but only {texts:,} of {len(names):,} are. "
            "Rename the columns, for example with table.columns = table.columns.astype(str)."
        )
    return tuple(str(name) for name in names) if texts else None


def columns_by_name(table: Any, names: Sequence[str] | None, group: str) -> Any:  # noqa: ANN401
    """The columns with these names in this order, as an array; a table without names as it is.

    Columns of other names are left out. `DataError` if one is missing or there twice.
    """
    own = names_of(table)
    if own is None:
        return table
    if len(set(own)) < len(own):
        raise DataError(f"The columns of {group} must have different names, but some are there twice.")
    if names is not None and tuple(names) != own:
        missing = [name for name in names if name not in own]
        if missing:
            raise DataError(_refusal(missing, group))
        # Polars, PyArrow and narwhals select; in pandas a list of names does.
        table = table.select(list(names)) if hasattr(table, "select") else table[list(names)]
    # One by one: Polars and PyArrow make numbers of dates and booleans that stand beside numbers.
    columns = {name: np.asarray(table[name]) for name in (own if names is None else names)}
    if any(column.dtype.kind not in "iuf" for column in columns.values()):
        return np.column_stack([_numbers(column, name, group) for name, column in columns.items()])
    array = np.asarray(table)
    if array.dtype == object:  # columns of pandas that may hold missing values
        return table.to_numpy(np.float64, na_value=np.nan)
    return array


def _numbers(column: NDArray[Any], name: str, group: str) -> FloatArray:
    """A column of numbers, some of which may be missing; `DataError` that says what it holds instead, never which."""
    holds = type_words(column) if column.dtype.kind not in "iufO" else ""
    if not holds and column.dtype.kind != "O":
        return column.astype(np.float64)
    if not holds:
        missing = np.array([value is None or type(value).__name__ in _MISSING for value in column], bool)
        there = column[~missing]
        other = (type(value).__name__ for value in there if isinstance(value, bool) or not isinstance(value, _NUMBERS))
        holds = next(other, "")
    if holds:
        raise DataError(f"Column {name!r} of {group} must hold numbers, but holds {holds}.")
    numbers = np.full(len(column), np.nan)
    numbers[~missing] = [float(value) for value in there]
    return numbers


def require_alike(groups: Mapping[str, Any], *, bounds_have_names: bool = False) -> None:
    """Raise `DataError` if only one of the groups has column names: nothing says that the orders agree.

    If neither has names, but the bounds do, the columns may be in the order of the bounds: that is a warning.
    """
    named = {group: names_of(table) is not None for group, table in groups.items() if table is not None}
    with_names, without = ([group for group, has in named.items() if has is which] for which in (True, False))
    if with_names and without:
        raise DataError(
            f"{with_names[0]} has column names and {without[0]} has none, so nothing says that their columns are in "
            "the same order. Give both as dataframes, or both as arrays. Nothing has been spent."
        )
    if bounds_have_names and without:
        have_none = f"{' and '.join(without)} {'has' if len(without) == 1 else 'have'} none"
        sentence = f"The bounds have column names, but {have_none}: columns are taken in the order of the bounds."
        warnings.warn(sentence, UserWarning, stacklevel=3)


def warn_of_names(table: Any, fitted: Sequence[str] | None) -> None:  # noqa: ANN401
    """Warn, as scikit-learn does, if only one of table and model has column names: then their order must do."""
    if (names_of(table) is None) == (fitted is None):
        return
    sentence = "X has feature names, but HybridKMeans was fitted without feature names"
    if fitted is not None:
        sentence = "X does not have valid feature names, but HybridKMeans was fitted with feature names"
    warnings.warn(sentence, UserWarning, stacklevel=4)


def _refusal(missing: Sequence[str], group: str) -> str:
    """In the words of scikit-learn, where it has any."""
    shown = [*missing[:_MOST_NAMED], *(["..."] if len(missing) > _MOST_NAMED else [])]
    if group != "X":
        return f"{group} must have a column for every dimension, but these are missing: {', '.join(shown)}."
    lines = ["The feature names should match those that were passed during fit."]
    lines += ["Feature names seen at fit time, yet now missing:", *(f"- {name}" for name in shown)]
    return "\n".join(lines)
