import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hybriddp.amplification.window import _cosine_table
from hybriddp.channels import WindowChannel
from hybriddp.errors import DataError, ParameterError
from hybriddp.grid import UNITS, Grid
from hybriddp.kmeans.reports.codebook import hadamard
from hybriddp.kmeans.reports.means import direction_gains
from hybriddp.kmeans.reports.moments import squared_lengths
from hybriddp.mean.weights import _densities
from hybriddp.paper.amplification.laplace import _parameters
from hybriddp.paper.figures.clustering import points
from hybriddp.theory.adaptive import normal_quantiles
from tests.refusals import refused

finite = st.floats(-1e300, 1e300)
bound = st.floats(-1e130, 1e130)


# Definition


@given(finite, bound, bound)
def test_units_are_the_nearest_of_the_exact_ones(x: float, lower: float, width: float) -> None:
    upper = lower + abs(width)
    assume(lower < upper and math.isfinite(upper - lower) and upper - lower > 1e-139)
    exact = (Fraction(min(max(x, lower), upper)) - Fraction(lower)) * UNITS / Fraction(upper - lower)
    unit = int(Grid(lower, upper).place(x).units[0])
    assert 0 <= unit <= UNITS
    assert abs(unit - exact) <= Fraction(1, 2) + Fraction(1, 10**6)  # and what rounding x - lower costs


def test_the_formula_is_the_documented_one() -> None:
    values = np.random.default_rng(0).normal(0, 5, 10_000)
    expected = [math.floor((min(max(x, -3.0), 7.0) + 3.0) * (UNITS / 10.0) + 0.5) for x in values.tolist()]
    assert Grid(-3, 7).place(values).units.tolist() == expected


# Identities


@pytest.mark.parametrize("bounds", [(0, 1), (-60, 1440), (1e-9, 3e-9), (-1e12, 1e12)])
def test_values_and_units_are_inverses(bounds: tuple[float, float]) -> None:
    grid = Grid.of(bounds)
    units = np.unique(np.concatenate([np.arange(0, UNITS + 1, 977), [1, UNITS - 1, UNITS]]))
    values = grid.values(units)
    assert np.array_equal(grid.place(values).units, units)
    assert (values[0], values[-1]) == bounds


def test_values_outside_are_moved_to_the_nearer_bound() -> None:
    assert Grid(0, 1).place([-1e308, -0.0, 0.5, 1.0, 1e308]).units.tolist() == [0, 0, UNITS // 2, UNITS, UNITS]


@pytest.mark.parametrize(
    "dtype", [np.int8, np.int16, np.int64, np.uint8, np.uint64, np.float16, np.float32, np.longdouble]
)
def test_every_numeric_type_gives_the_same_units(dtype: type) -> None:
    assert (
        Grid(0, 240).place(np.array([0, 7, 100], dtype)).units.tolist()
        == Grid(0, 240).place([0.0, 7.0, 100.0]).units.tolist()
    )


def test_exact_numbers_and_huge_integers_are_accepted() -> None:
    placed = Grid(0, 4).place([Decimal("1.5"), Fraction(3, 2), 10**400, -(10**400), 2])
    assert placed.units.tolist() == [UNITS * 3 // 8, UNITS * 3 // 8, UNITS, 0, UNITS // 2]


def test_scalars_are_accepted() -> None:
    assert Grid(0, 1).place(0.5).units.tolist() == [UNITS // 2]


# What is missing is left out and counted


def test_missing_values_are_rejected_with_a_count() -> None:
    placed = Grid(0, 1).place([0.5, float("nan"), float("inf"), -float("inf"), 1.0])
    assert placed.units.tolist() == [UNITS // 2, UNITS]
    assert placed.accepted.tolist() == [True, False, False, False, True]
    assert placed.rejected == 3


def test_none_and_masked_values_are_missing() -> None:
    assert Grid(0, 1).place([None, 0.5, Decimal("NaN"), Decimal("sNaN")]).rejected == 3
    assert Grid(0, 1).place(np.ma.masked_array([0.1, 0.2], mask=[True, False])).rejected == 1
    assert Grid(0, 1).place(np.array([np.longdouble(10) ** 4000])).rejected == 1


class NAType:
    """Stands for the missing value of pandas, which need not be installed."""


def test_the_missing_value_of_pandas_is_missing() -> None:
    assert Grid(0, 1).place(np.array([NAType(), 0.5], object)).rejected == 1


def test_refusing_missing_values_says_how_many() -> None:
    values = np.array([0.5, np.nan] * 50)
    refused(DataError, "50 of 100 are missing", Grid(0, 1).refuse_missing, values, chunk=7)
    Grid(0, 1).refuse_missing(values[::2], chunk=7)


# Edges


@pytest.mark.parametrize(
    "values",
    [
        ["a"],
        [True],
        [1 + 1j],
        [[1.0]],
        [object()],
        [np.datetime64("2020-01-01")],
        [None, "x"],
        [None, True],
        np.array([np.timedelta64(5), 5.0], object),
    ],
)
def test_what_is_no_number_is_refused(values: list[object]) -> None:
    refused(DataError, "^values must be", Grid(0, 1).place, values)


def test_masked_integers_are_refused() -> None:
    refused(DataError, "masked values must be floats", Grid(0, 1).place, np.ma.masked_array([1, 2], mask=[True, False]))


@pytest.mark.parametrize(
    ("bounds", "name"),
    [
        ((1, 0), "bounds"),
        ((1, 1), "bounds"),
        (5, "bounds"),
        ((1, 2, 3), "bounds"),
        (None, "bounds"),
        ((-1e308, 1e308), "bounds"),
        ((0, 5e-324), "bounds"),
        ((float("nan"), 1), "bounds[0]"),
        ((0, float("inf")), "bounds[1]"),
        (("0", 1), "bounds[0]"),
        ((0, True), "bounds[1]"),
    ],
)
def test_bad_bounds_are_named(bounds: object, name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Grid.of(bounds)
    assert caught.value.name == name


@pytest.mark.parametrize("units", [[-1], [UNITS + 1], [0.5], np.ma.masked_array([1, 2], mask=[True, False])])
def test_units_lie_on_the_grid(units: list[float]) -> None:
    refused(ParameterError, "^units must be integers from 0 to 16777216", Grid(0, 1).values, units)


@pytest.mark.parametrize(
    ("computed", "arguments"),
    [
        (_cosine_table, (WindowChannel(epsilon=1),)),
        (_densities, ()),
        (normal_quantiles, ()),
        (_parameters, (5,)),
        (direction_gains, (2,)),
        (hadamard, (4,)),
        (points, ()),
        (squared_lengths, (2,)),
    ],
)
def test_nobody_can_write_into_what_functions_remember(
    computed: Callable[..., object], arguments: tuple[object, ...]
) -> None:
    found = computed(*arguments)
    assert computed(*arguments) is found
    for array in found if isinstance(found, tuple) else (found,):
        assert isinstance(array, np.ndarray)
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
