"""Columns of a dataframe, by their names: what a model was fitted on, and the same ones of another table.

Any table that has column names and becomes an array is understood: pandas, Polars, PyArrow, narwhals and their like.
None of these libraries is needed here.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hybriddp.errors import DataError

_MOST_NAMED = 5  # in a message


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


def columns_by_name(table: Any, names: Sequence[str] | None, what: str) -> Any:  # noqa: ANN401
    """The columns with these names in this order, as an array; a table without names as it is.

    Columns of other names are left out. `DataError` if one is missing or there twice.
    """
    own = names_of(table)
    if own is None:
        return table
    if len(set(own)) < len(own):
        raise DataError(f"The columns of {what} must have different names, but some are there twice.")
    if names is not None and tuple(names) != own:
        missing = [name for name in names if name not in own]
        if missing:
            raise DataError(_refusal(missing, what))
        # Polars, PyArrow and narwhals select; in pandas a list of names does.
        table = table.select(list(names)) if hasattr(table, "select") else table[list(names)]
    return _array(table)


def require_alike(groups: Mapping[str, Any], *, bounds_have_names: bool = False) -> None:
    """Raise `DataError` if only one of the groups has names of columns: whether the orders agree cannot be seen.

    If neither has names, but the bounds do, the columns may be in the order of the bounds: that is a warning.
    """
    named = {what: names_of(table) is not None for what, table in groups.items() if table is not None}
    with_names, without = ([what for what, has in named.items() if has is which] for which in (True, False))
    if with_names and without:
        raise DataError(
            f"{with_names[0]} has names of columns and {without[0]} has none, so nothing says that their columns are "
            "in the same order. Give both as dataframes, or both as arrays. Nothing has been spent."
        )
    if bounds_have_names and without:
        sentence = (
            f"The bounds have names of columns, but {' and '.join(without)} {'has' if len(without) == 1 else 'have'} "
            "none: columns are taken in the order of the bounds."
        )
        warnings.warn(sentence, UserWarning, stacklevel=3)


def warn_of_names(table: Any, fitted: Sequence[str] | None) -> None:  # noqa: ANN401
    """Warn, as scikit-learn does, if only one of table and model has names of columns: then their order must do."""
    own = names_of(table)
    if own is None and fitted is not None:
        sentence = "X does not have valid feature names, but HybridKMeans was fitted with feature names"
    elif own is not None and fitted is None:
        sentence = "X has feature names, but HybridKMeans was fitted without feature names"
    else:
        return
    warnings.warn(sentence, UserWarning, stacklevel=4)


def _array(table: Any) -> Any:  # noqa: ANN401
    """The table as an array. Columns of pandas that may hold missing values become floats, and those NaN."""
    array = np.asarray(table)
    kinds = getattr(table, "dtypes", ()) if array.dtype == object else ()
    if len(kinds) and all(getattr(kind, "kind", "O") in "iuf" for kind in kinds):
        return table.to_numpy(np.float64, na_value=np.nan)
    return array


def _refusal(missing: Sequence[str], what: str) -> str:
    """In the words of scikit-learn, where it has any."""
    more = ["..."] if len(missing) > _MOST_NAMED else []
    shown = [*missing[:_MOST_NAMED], *more]
    if what != "X":
        return f"{what} must have a column for every dimension, but these are missing: {', '.join(shown)}."
    return "\n".join(
        [
            "The feature names should match those that were passed during fit.",
            "Feature names seen at fit time, yet now missing:",
            *(f"- {name}" for name in shown),
        ]
    )
