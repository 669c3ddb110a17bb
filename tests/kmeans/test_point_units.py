"""Points in units."""

import numpy as np
import pytest

from hybriddp.errors import DataError
from hybriddp.grid import Grid
from hybriddp.kmeans.study import Box, integer_of_units, units_of, values_of

BOX = Box.of([(0, 10), (-5, 5)])


def test_each_coordinate_is_on_its_own_grid() -> None:
    point = [3.7, -1.25]
    grids = [Grid.of(bounds) for bounds in BOX.bounds]
    assert units_of(BOX, point) == tuple(int(grid.place([x]).units[0]) for grid, x in zip(grids, point, strict=True))
    assert units_of(BOX, [-1, 100]) == (0, 1 << 24)


def test_values_are_within_half_a_step_of_the_point() -> None:
    points = np.random.default_rng(0).uniform([0, -5], [10, 5], (50, 2))
    back = values_of(BOX, [units_of(BOX, point) for point in points.tolist()])
    assert np.abs(back - points).max() <= 10 / (1 << 24) / 2 * 1.001
    assert values_of(BOX, []).shape == (0, 2)


def test_an_integer_holds_the_units_in_their_order() -> None:
    assert integer_of_units((1, 2)).to_bytes(9) == b"\1" + b"\0\0\0\1" + b"\0\0\0\2"
    assert integer_of_units((0, 0)) != integer_of_units((0,))


@pytest.mark.parametrize("point", [[1.0], [1.0] * 3, [1.0, float("nan")], [float("inf"), 1.0], [1.0, "x"], [True, 1]])
def test_what_is_no_point(point: list[float]) -> None:
    with pytest.raises(DataError, match="2 finite numbers"):
        units_of(BOX, point)
