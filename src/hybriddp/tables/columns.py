"""Columns by their names."""

from collections.abc import Sequence
from difflib import get_close_matches

from hybriddp.errors import DataError


def require_column(column: str, known: Sequence[str], table: str, *, certain: bool = True) -> None:
    """Nothing, if the table has the column; `DataError` with the nearest name if not.

    Unless it is ``certain`` that these are names, they are not shown: the first row of a file without a header is
    somebody's.
    """
    if column not in known:
        near = get_close_matches(column, known, n=1)
        if near:
            hint = f"Did you mean {near[0]!r}?"
        elif certain:
            hint = f"It has {', '.join(map(repr, known[:20]))}."
        else:
            hint = "Is its first row a header, and is --separator right?"
        raise DataError(f"{table} has no column {column!r}. {hint}")
