"""Points as whole numbers of units, as people hand them to a server: each coordinate on the grid of its bounds.

A coordinate is clamped to its bounds and rounded to one of $2^{24}$ steps, as a value of a mean is (`Grid`). For
K-means that is as good as the point itself, and it is the same number on every device.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from hybriddp._check import FloatArray
from hybriddp.errors import DataError
from hybriddp.grid import Grid
from hybriddp.kmeans.box import Box

COORDINATE_BYTES = 4


@lru_cache(maxsize=64)
def _grids(box: Box) -> tuple[Grid, ...]:
    return tuple(Grid.of(bounds) for bounds in box.bounds)


def units_of(box: Box, point: Sequence[float]) -> tuple[int, ...]:
    """A point in units; `DataError`, which does not show it, if it is not one finite number for each dimension.

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
    """Points of these units, in those of the data, shape (n, d)."""
    columns = np.array(units, np.int64).reshape(-1, box.n_dimensions).T
    return np.stack([grid.values(column) for grid, column in zip(_grids(box), columns, strict=True)], axis=1)


def integer_of_units(units: Sequence[int]) -> int:
    """The integer of a point, for a commitment: its bytes are 1 and the units, four bytes each, the largest first.

    Examples
    --------
    >>> hex(integer_of_units([7, 256]))
    '0x10000000700000100'
    """
    return int.from_bytes(b"\1" + b"".join(unit.to_bytes(COORDINATE_BYTES) for unit in units))
