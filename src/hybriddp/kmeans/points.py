"""Points of a group: wherever they are held, by the names of their columns, and how many there are.

Any table that has column names and becomes an array is understood: pandas, Polars, PyArrow, narwhals and their like.
None of these libraries is needed here.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybriddp._check import FloatArray
from hybriddp.errors import DataError
from hybriddp.kmeans.box import Box
from hybriddp.kmeans.clustering import blocks
from hybriddp.kmeans.statistics import Statistic

BLOCK = 1 << 16
_MOST_NAMED = 5  # missing columns in a message


# How many there are ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroupSize:
    """The size of a group, as far as the algorithm may know it.

    Where the size is private, it has to be released; that there is such a group is public, even if nobody is in it.
    """

    known: int | None  # exact where it is public, as released where it is private, None before the release
    is_private: bool = False

    @property
    def is_group(self) -> bool:
        """Whether there is such a group."""
        return self.is_private or bool(self.known)


NO_GROUP, PRIVATE_SIZE = GroupSize(0), GroupSize(None, is_private=True)


# Where they are -------------------------------------------------------------------------------------------------------


@runtime_checkable
class TrustedPoints(Protocol):
    """Raw points of the trusted group. What a server computes from them leaves through a release."""

    @property
    def box(self) -> Box:
        """The bounds that they were made for."""

    @property
    def count(self) -> int:
        """Number of users."""

    def exact(self, statistic: Statistic) -> NDArray[np.int64]:
        """The statistic without noise."""


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

    def exact(self, statistic: Statistic) -> NDArray[np.int64]:
        """The statistic without noise."""
        total = np.zeros(statistic.size, np.int64)
        for part in blocks(self.count, BLOCK):
            total += statistic.compute(self.box.place_checked(self._points[part]).points)
        return total

    def points_of(self, users: NDArray[np.int64]) -> Iterator[FloatArray]:
        """The points of some users in the unit box, block by block."""
        for part in blocks(len(users), BLOCK):
            yield self.box.place_checked(self._points[users[part]]).points


# Columns by name ------------------------------------------------------------------------------------------------------


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
    array = np.asarray(table)
    kinds = getattr(table, "dtypes", ()) if array.dtype == object else ()
    if len(kinds) and all(getattr(kind, "kind", "O") in "iuf" for kind in kinds):
        return table.to_numpy(np.float64, na_value=np.nan)  # columns of pandas that may hold missing values
    return array


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
        sentence = (
            f"The bounds have column names, but {' and '.join(without)} {'has' if len(without) == 1 else 'have'} none: "
            "columns are taken in the order of the bounds."
        )
        warnings.warn(sentence, UserWarning, stacklevel=3)


def warn_of_names(table: Any, fitted: Sequence[str] | None) -> None:  # noqa: ANN401
    """Warn, as scikit-learn does, if only one of table and model has column names: then their order must do."""
    own = names_of(table)
    if own is None and fitted is not None:
        sentence = "X does not have valid feature names, but HybridKMeans was fitted with feature names"
    elif own is not None and fitted is None:
        sentence = "X has feature names, but HybridKMeans was fitted without feature names"
    else:
        return
    warnings.warn(sentence, UserWarning, stacklevel=4)


def _refusal(missing: Sequence[str], group: str) -> str:
    """In the words of scikit-learn, where it has any."""
    shown = [*missing[:_MOST_NAMED], *(["..."] if len(missing) > _MOST_NAMED else [])]
    if group != "X":
        return f"{group} must have a column for every dimension, but these are missing: {', '.join(shown)}."
    lines = "".join(f"\n- {name}" for name in shown)
    return (
        "The feature names should match those that were passed during fit.\n"
        f"Feature names seen at fit time, yet now missing:{lines}"
    )
