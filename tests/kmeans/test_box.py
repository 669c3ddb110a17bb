from typing import Any

import numpy as np
import pytest

from hybriddp.errors import DataError, ParameterError
from hybriddp.kmeans.study import Box

BOX = Box.of([(-5, 15), (100, 110)], "none")


@pytest.mark.parametrize(
    "bounds",
    [
        None,
        [],
        5,
        "ab",
        [(0, 1, 2)],
        [(0,)],
        [5],
        [(1, 0)],
        [(1, 1)],
        [(0, float("nan"))],
        [(0, float("inf"))],
        [(0, True)],
        [("0", "1")],
        [(0, 1e200)],
        [(0, 1), (None, 1)],
    ],
)
def test_bounds_that_are_none_are_refused(bounds: Any) -> None:
    with pytest.raises(ParameterError, match="^bounds"):
        Box.of(bounds)


def test_the_widest_dimension_is_the_unit() -> None:
    np.testing.assert_array_equal(BOX.widths, [1.0, 0.5])
    np.testing.assert_array_equal(BOX.units, [20, 20])
    np.testing.assert_array_equal(BOX.place([[-5, 100], [15, 110], [5, 105]]).points, [[0, 0], [1, 0.5], [0.5, 0.25]])


def test_coordinates_of_next_to_nothing_are_zero() -> None:
    """Subnormal numbers take a processor longer; points that are not the least bit smaller stay as they are."""
    box = Box.of([(0, 1), (0, 1)])
    np.testing.assert_array_equal(
        box.place([[1e-310, 1.0], [5e-324, 9e-101], [1e-100, 0.3], [0.0, -0.0]]).points,
        [[0.0, 1.0], [0.0, 0.0], [1e-100, 0.3], [0.0, 0.0]],
    )


def test_by_default_every_dimension_is_measured_by_its_bounds() -> None:
    box = Box.of([(-5, 15), (100, 110)])
    assert box == Box.of([(-5, 15), (100, 110)], "bounds") != BOX
    np.testing.assert_array_equal(box.widths, [1, 1])
    np.testing.assert_array_equal(box.units, [20, 10])
    np.testing.assert_array_equal(box.place([[-5, 100], [15, 110], [5, 105]]).points, [[0, 0], [1, 1], [0.5, 0.5]])


def test_weights_are_of_ranges_and_only_their_ratios_count() -> None:
    box = Box.of([(-5, 15), (100, 110)], [1, 4])
    np.testing.assert_array_equal(box.widths, [0.25, 1])
    np.testing.assert_array_equal(box.units, [80, 10])
    again = Box.of([(-5, 15), (100, 110)], (0.5, 2.0))
    np.testing.assert_array_equal(again.place([[3, 107]]).points, box.place([[3, 107]]).points)
    as_it_is = Box.of([(-5, 15), (100, 110)], [20, 10])
    np.testing.assert_allclose(as_it_is.units, BOX.units)


def test_in_a_box_with_equal_sides_there_is_one_scale() -> None:
    points = np.random.default_rng(0).uniform(-4, 9, (500, 3))
    sides = [(-3, 7), (-3, 7), (-3, 7)]
    first, *others = (Box.of(sides, scale).place(points).points for scale in ("none", "bounds", [3, 3, 3]))
    for other in others:
        np.testing.assert_array_equal(first, other)  # to the last bit


@pytest.mark.parametrize(
    "scale",
    [
        "",
        "Bounds",
        None,
        1,
        1.5,
        [],
        [1],
        [1, 2, 3],
        [1, 0],
        [1, -1],
        [1, np.nan],
        [1, np.inf],
        ["1", "2"],
        [True, 1],
        {"a": 1, "b": 2},
        {1, 2},
        "ab",
    ],
)
def test_scales_that_are_none_are_refused(scale: Any) -> None:
    with pytest.raises(ParameterError, match="^scale must be"):
        Box.of([(0, 1), (0, 2)], scale)


@pytest.mark.parametrize("scale", ["bounds", "none", [1, 3]])
def test_points_and_places_are_inverses(scale: Any) -> None:
    box = Box.of([(-5, 15), (100, 110)], scale)
    points = np.random.default_rng(0).uniform([-5, 100], [15, 110], (100, 2))
    np.testing.assert_allclose(box.values(box.place(points).points), points, rtol=1e-12)
    np.testing.assert_allclose(box.scaled(points), box.place(points).points, rtol=1e-12, atol=1e-15)


def test_points_outside_are_moved_to_the_border_and_counted_once() -> None:
    placed = BOX.place([[-6, 99], [16, 105], [0, 111], [0, 105], [1e300, -1e300]])
    np.testing.assert_array_equal(
        placed.points, BOX.place([[-5, 100], [15, 105], [0, 110], [0, 105], [15, 100]]).points
    )
    assert placed.clamped == 4


def test_what_is_so_far_outside_that_it_overflows_is_still_only_outside() -> None:
    placed = Box.of([(0, 1e-100)]).place([[1e300], [-1e300]])
    np.testing.assert_array_equal(placed.points, [[1], [0]])
    assert placed.clamped == 2


def test_rounding_does_not_take_centers_out_of_the_bounds() -> None:
    rng = np.random.default_rng(0)
    for lower, width in rng.uniform(0, 1, (1000, 2)):
        box = Box.of([(lower, lower + width), (0, 3 * width)])
        low, high = np.array(box.bounds).T
        corners = box.values(np.array([box.widths, 0 * box.widths]))
        assert (corners <= high).all()
        assert (corners >= low).all()


@pytest.mark.parametrize(
    "points",
    [
        np.array([[1, 105]], np.int8),
        np.array([[1, 105]], np.uint64),
        np.array([[1, 105]], np.float16),
        np.array([[1, 105]], np.float32),
        np.array([[1, 105]], ">f8"),
        np.array([[1, 105]], np.longdouble),
        np.array([[1, 105]], order="F"),
        np.array([[1, 0, 105, 0]])[:, ::2],
        np.ma.array([[1, 105]], mask=False),
        [[1, 105.0]],
        ((1, 105),),
    ],
)
def test_numbers_of_every_type_are_understood(points: Any) -> None:
    placed = BOX.place(points)
    np.testing.assert_allclose(placed.points, [[0.3, 0.25]], rtol=1e-12)
    assert placed.points.dtype == np.float64
    assert placed.clamped == 0


def test_placing_leaves_the_callers_array_as_it_was() -> None:
    points = np.array([[100.0, 100.0]])
    BOX.place(points)
    np.testing.assert_array_equal(points, [[100, 100]])


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[1, np.nan]], "1 of 1 hold NaN or infinity"),
        ([[1, 2], [np.inf, 0], [0, -np.inf]], "2 of 3 hold NaN or infinity"),
        (np.ma.array([[1.0, 2.0]], mask=[[True, False]]), "masked"),
        ([[1, 2, 3]], "with 2 columns"),
        ([1, 2], "with 2 columns"),
        ([[[1, 2]]], "with 2 columns"),
        ([["1", "2"]], "table of numbers"),
        ([[True, False]], "table of numbers"),
        ([[1, 2], [3]], "table of numbers"),
        ([[1, None]], "table of numbers"),
        ([[1j, 2]], "table of numbers"),
        (None, "table of numbers"),
        ("points", "table of numbers"),
        ({}, "table of numbers"),
    ],
)
def test_what_is_no_table_of_finite_numbers_is_refused(points: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^visits must .*{message}"):
        BOX.place(points, "visits")


def test_no_points_are_points() -> None:
    assert BOX.place(np.empty((0, 2))).points.shape == (0, 2)
