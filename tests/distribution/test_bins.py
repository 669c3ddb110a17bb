import json
from decimal import Decimal

import numpy as np
import pytest

from hybriddp.distribution.bins import Bins
from hybriddp.errors import ParameterError
from hybriddp.grid import UNITS, Grid

UNIT = Grid(0, 1)
EVENLY = np.linspace(0, 1, 255)
CLOSE = np.concatenate([[0.0], 0.5 + np.arange(253) / 2**20, [1.0]])  # 16 units apart: several in a cell of the lookup


def test_equal_bins_are_the_formulas() -> None:
    """At every 61st unit, and at all units around the cuts."""
    bins = Bins(UNIT)
    near = (bins.cuts[:, None] + np.arange(-3, 4)).ravel()
    units = np.unique(np.clip(np.concatenate([np.arange(0, UNITS + 1, 61), near]), 0, UNITS))
    found = bins.of_units(units)
    inner = 1 + (units[1:-1] - 1) * 254 // (UNITS - 1)
    assert (found[0], found[-1]) == (0, 255)
    assert np.array_equal(found[1:-1], inner)
    assert np.ptp(np.diff(bins.cuts)) <= 1  # all of one width


@pytest.mark.parametrize("bins", [Bins(UNIT), Bins(UNIT, "log"), Bins(UNIT, "log", 5.0), Bins(UNIT, CLOSE)])
def test_the_bin_of_a_unit_is_the_number_of_cuts_that_are_not_above_it(bins: Bins) -> None:
    near = np.unique(np.clip(bins.cuts[:, None] + np.arange(-2, 3), 0, UNITS))
    for units in (near, near.astype(np.int32)):
        assert np.array_equal(bins.of_units(units), [int(np.sum(bins.cuts <= u)) for u in near])
    assert (bins.cuts[0], bins.cuts[-1]) == (1, UNITS)


@pytest.mark.parametrize("bins", [Bins(UNIT), Bins(UNIT, "log"), Bins(Grid(-5, 1000), "log", 5.0), Bins(UNIT, CLOSE)])
def test_a_value_in_a_bin_is_in_the_bin(bins: Bins) -> None:
    assert [bins.of_value(bins.value_in(number)) for number in range(256)] == list(range(256))
    assert (bins.value_in(0), bins.value_in(255)) == (bins.grid.lower, bins.grid.upper)
    assert (bins.of_value(-1e9), bins.of_value(1e9)) == (0, 255)


def test_log_edges_are_the_formulas_to_the_last_digit() -> None:
    edges = Bins(Grid(0, 10_000), "log").edges
    for i in (1, 100, 200, 253):
        exact = 10_000 * ((Decimal(1001) ** (Decimal(i) / 254)) - 1) / 1000
        assert edges[i] == pytest.approx(float(exact), rel=1e-15)
    assert (edges[0], edges[-1]) == (0.0, 10_000.0)
    assert np.allclose(Bins(UNIT, "log", 1e-6).edges, Bins(UNIT).edges, atol=1e-6)  # less and less curved


def test_a_value_at_a_given_edge_is_below_it() -> None:
    """So that the CDF at an edge is the fraction of values up to it, that value included."""
    ages = Bins(Grid(0, 127), np.linspace(0, 127, 255))
    placed = ages.of_units(ages.grid.place(np.arange(1, 127)).units)
    assert placed.tolist() == list(range(2, 254, 2))
    assert np.array_equal(ages.edges[placed], np.arange(1, 127))


def test_middles_lie_in_their_bins() -> None:
    for bins in (Bins(Grid(-5, 40), "log"), Bins(Grid(-5, 40))):
        assert np.array_equal(bins.of_units(bins.grid.place(bins.middles).units), np.arange(256))
        assert bins.widths.sum() == pytest.approx(45)


def test_text_and_bins_are_inverses() -> None:
    for bins in (Bins(UNIT), Bins(UNIT, "log"), Bins(UNIT, "log", 5), Bins(UNIT, CLOSE)):
        fields = json.loads(json.dumps(bins.text_fields()))
        again = Bins(UNIT, **Bins.read_scale(fields["scale"]))
        assert again == bins
        assert again.text_fields() == fields
        assert hash(again) == hash(bins)


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ("linear", '^scale must be "equal", "log" or 255 edges, got'),
        (EVENLY[:-1], r"got edges of shape=\(254,\)"),
        (np.linspace(0, 1, 256), r"got edges of shape=\(256,\)"),
        (EVENLY[::-1], "increase strictly"),
        (np.sort(np.append(EVENLY[:-1], 0.5)), r"increase strictly, got edges\[127:129\]"),
        (EVENLY / 2, "begin and end with the bounds"),
        (EVENLY + 0.001, "begin and end with the bounds"),
        (np.concatenate([[0], 0.5 + np.arange(253) / 2**40, [1]]), "at least a unit apart"),
        (np.append(EVENLY[:-1], np.nan), "^scale must be a finite number"),
        (None, "^scale must be"),
        (["a"] * 255, "^scale must be"),
    ],
)
def test_edges_are_checked(scale: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Bins(UNIT, scale)


def test_kappa_belongs_to_the_log_scale() -> None:
    with pytest.raises(ParameterError, match='^kappa must be left out unless scale is "log"'):
        Bins(UNIT, "equal", 5)
    for bad in (0, -1, 9.99e-7, 1e-47, float("inf"), "5"):
        with pytest.raises(ParameterError, match="^kappa must be a finite number of at least 1e-06"):
            Bins(UNIT, "log", bad)
    with pytest.raises(ParameterError, match="^kappa must be small enough for edges that are at least a unit apart"):
        Bins(UNIT, "log", 1e9)
