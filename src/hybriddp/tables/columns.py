"""Columns by their names."""

from collections.abc import Sequence
from difflib import get_close_matches

from hybriddp.errors import DataError


def require_column(column: str, known: Sequence[str], table: str, *, certain: bool = True) -> None:
    """Nothing, if the table has the column; `DataError` with the nearest name if not.

    Unless it is ``certain`` that these are names, none of them is shown, not even one that is near: the first row of a
    file without a header is somebody's.
    """
    if column not in known:
        near = get_close_matches(column, known, n=1)
        if not certain:
            hint = "Is its first row a header, is the name spelled as it is there, and is --separator right?"
        elif near:
            hint = f"Did you mean {near[0]!r}?"
        else:
            hint = f"It has {', '.join(map(repr, known[:20]))}."
        raise DataError(f"{table} has no column {column!r}. {hint}")
