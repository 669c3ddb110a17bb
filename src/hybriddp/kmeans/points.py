"""Points in memory, and columns of dataframes by name."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp._check import FloatArray, IntArray
from hybriddp.errors import DataError, ParameterError
from hybriddp.grid import type_words
from hybriddp.kmeans.clustering import blocks
from hybriddp.kmeans.statistics import BLOCK, PointStatistic
from hybriddp.kmeans.study import Box

_NUMBERS = (Real, Decimal)

_MISSING = ("NAType", "NaTType")  # what pandas has in place of a missing value

_MOST_NAMED = 5  # missing columns in a message


@runtime_checkable
class TrustedPoints(Protocol):
    """Raw points of the trusted group. What a server computes from them leaves through a release."""

    @property
    def box(self) -> Box:
        """Bounds that they were made for."""

    @property
    def count(self) -> int:
        """Number of users."""

    def exact(self, statistic: PointStatistic) -> IntArray:
        """Compute the statistic without noise."""


class PointArray:
    """Points in memory, given in the units of the data; an error calls them by their ``name``."""

    def __init__(self, box: Box, points: ArrayLike, name: str) -> None:
        self.box = box
        self._points = box.check(points, name)
        self.clamped = sum(box.place_checked(self._points[part]).clamped for part in blocks(len(self._points), BLOCK))

    @property
    def count(self) -> int:
        """Number of users."""
        return len(self._points)

    def exact(self, statistic: PointStatistic) -> IntArray:
        """Add the statistic up over all users, block by block."""
        total = np.zeros(statistic.size, np.int64)
        for part in blocks(self.count, BLOCK):
            total += statistic.compute(self.box.place_checked(self._points[part]).points)
        return total

    def points_of(self, users: IntArray) -> Iterator[FloatArray]:
        """Yield the points of some users in the unit box, block by block."""
        for part in blocks(len(users), BLOCK):
            yield self.box.place_checked(self._points[users[part]]).points


def group_of(box: Box, trusted: ArrayLike | TrustedPoints | None) -> TrustedPoints | None:
    """Check the points of a trusted group; one without users counts as none."""
    if trusted is None:
        return None
    if isinstance(trusted, TrustedPoints):
        group: TrustedPoints = trusted
    else:  # a copy: what is released must not depend on what becomes of the array
        group = PointArray(box, box.check(trusted, "trusted points").copy(), "trusted points")
    if group.box != box:
        raise ParameterError("trusted", "points that were read with the bounds and the scale of this study", group.box)
    return group if group.count else None


# Columns by name ------------------------------------------------------------------------------------------------------
# Any table that has column names and becomes an array is understood: pandas, Polars, PyArrow, narwhals and their like.


def names_of(table: Any) -> tuple[str, ...] | None:  # noqa: ANN401
    """Return the names of a table's columns; None if it has none, or others than texts (as scikit-learn has it).

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
    """Select the columns with these names in this order, as an array; a table without names stays as it is.

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
    """Convert a column to numbers, some of which may be missing; `DataError` with the type of others, no values."""
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
    """Word the refusal as scikit-learn does, where it has words for it."""
    shown = [*missing[:_MOST_NAMED], *(["..."] if len(missing) > _MOST_NAMED else [])]
    if group != "X":
        return f"{group} must have a column for every dimension, but these are missing: {', '.join(shown)}."
    lines = ["The feature names should match those that were passed during fit."]
    lines += ["Feature names seen at fit time, yet now missing:", *(f"- {name}" for name in shown)]
    return "\n".join(lines)
