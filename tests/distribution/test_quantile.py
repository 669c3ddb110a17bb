import math

import numpy as np
import pytest

from hybriddp.distribution.bins import Bins
from hybriddp.distribution.fit import DistributionFit
from hybriddp.distribution.quantile import band, cdf_value, histogram, mean_of, normal_quantile, quantile
from hybriddp.errors import ParameterError
from hybriddp.grid import Grid

BINS = Bins(Grid(0, 254))  # edges at 0, 1, …, 254


def _fit(masses: np.ndarray, variance: float = 0.0) -> DistributionFit:
    """A fit whose masses vary like those of 1/variance users."""
    return DistributionFit(masses, variance * (np.diag(masses) - np.outer(masses, masses)))


UNIFORM = np.concatenate([[0.0], np.full(254, 1 / 254), [0.0]])
ATOMS = np.zeros(256)
ATOMS[[0, 101, 255]] = 0.3, 0.5, 0.2


@pytest.mark.parametrize("q", [0.001, 0.25, 0.5, 0.77, 0.999])
def test_quantile_and_cdf_are_inverses(q: float) -> None:
    answer = quantile(_fit(UNIFORM), BINS, q, 0.95)
    assert answer.value == pytest.approx(254 * q)
    assert cdf_value(_fit(UNIFORM), BINS, answer.value, 0.95).value == pytest.approx(q)
    assert answer.interval.lower <= answer.value <= answer.interval.upper
    assert answer.interval.upper - answer.interval.lower <= 2  # without noise, a bin or two


def test_the_interval_is_the_hull_of_all_edges_whose_band_holds_q() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        fit = _fit(rng.dirichlet(np.full(256, 0.3)), 1e-3)
        found = band(fit, BINS, 0.9)
        for q in (0.05, 0.5, 0.9, 0.99):
            low, high = quantile(fit, BINS, q, 0.9).interval
            reaches = np.flatnonzero(found.upper >= q)
            stays = [i for i in range(255) if np.all(found.lower[i:] > q)]
            first = reaches[0] if len(reaches) else 255
            expected_low = 0.0 if first == 0 else float(min(first - 1, 254)) if first < 255 else 254.0
            assert low == expected_low
            assert high == (float(stays[0]) if stays else 254.0)


def test_quantiles_at_the_bounds_are_atoms() -> None:
    fit = _fit(ATOMS, 1e-6)
    low, middle, high = (quantile(fit, BINS, q, 0.95) for q in (0.1, 0.5, 0.9))
    assert (low.value, *low.interval) == (0, 0, 0)
    assert 100 <= middle.value <= 101
    assert tuple(middle.interval) == (100, 101)
    assert (high.value, *high.interval) == (254, 254, 254)
    assert low.determined  # many zeros are an answer
    assert middle.determined
    assert not high.determined  # all larger values count there
    assert (high.touches_lower, high.touches_upper) == (False, True)
    assert [one.is_lower_bound for one in (low, middle, high)] == [True, False, False]
    assert [one.is_upper_bound for one in (low, middle, high)] == [False, False, True]
    assert middle.bin_mass == pytest.approx(0.5)


def test_an_interval_that_touches_a_bound_says_so() -> None:
    fit = _fit(UNIFORM, 1e-3)
    first, middle, last = (quantile(fit, BINS, q, 0.95) for q in (0.005, 0.5, 0.995))
    assert (first.touches_lower, first.touches_upper, first.determined) == (True, False, False)
    assert (last.touches_lower, last.touches_upper, last.determined) == (False, True, False)
    assert middle.determined
    assert (first.interval.lower, last.interval.upper) == (0, 254)
    exact = [quantile(_fit(UNIFORM), BINS, q, 0.95) for q in (0.002, 0.998)]  # in the first and the last bin
    assert [tuple(one.interval) for one in exact] == [(0, 1), (253, 254)]
    assert all(one.determined for one in exact)
    near = quantile(_fit(ATOMS, 1e-2), BINS, 0.31, 0.95)
    assert (near.touches_lower, near.interval.lower) == (True, 0)
    assert (last.name, middle.name) == ("p99.5", "p50")


def test_what_may_be_a_bound_is_not_determined_beyond_it() -> None:
    shifted = Bins(Grid(10, 264))
    low, high = (quantile(_fit(ATOMS, 1e-6), shifted, q, 0.95) for q in (0.1, 0.9))
    assert (low.touches_lower, low.determined, low.is_lower_bound) == (True, False, True)  # 10 is no natural bound
    masses = np.zeros(256)
    masses[[254, 255]] = 0.5
    either = quantile(_fit(masses, 1e-4), BINS, 0.5, 0.95)
    assert (tuple(either.interval), either.touches_upper, either.is_upper_bound) == ((253, 254), True, False)
    masses[[1, 0]], masses[[254, 255]] = 0.5, 0.0
    assert quantile(_fit(masses, 1e-4), shifted, 0.5, 0.95).touches_lower
    assert not quantile(_fit(masses, 1e-4), BINS, 0.5, 0.95).touches_lower
    assert not high.touches_lower


def test_a_quantile_in_a_gap_spans_it() -> None:
    masses = np.zeros(256)
    masses[[20, 200]] = 0.5
    answer = quantile(_fit(masses, 1e-4), BINS, 0.5, 0.95)
    assert tuple(answer.interval) == (19, 200)


def test_the_cdf_at_and_between_edges() -> None:
    fit = _fit(UNIFORM, 1e-4)
    at, between = cdf_value(fit, BINS, 100, 0.95), cdf_value(fit, BINS, 100.5, 0.95)
    p = 100 / 254
    assert at.value == pytest.approx(p)
    assert at.standard_error == pytest.approx(math.sqrt(1e-4 * p * (1 - p)))
    assert at.interval.half_width == pytest.approx(1.959964 * at.standard_error, rel=1e-6)
    assert between.value == pytest.approx(100.5 / 254)
    found = band(fit, BINS, 0.95)
    assert tuple(between.interval) == pytest.approx((found.lower[100], found.upper[101]))
    atoms = _fit(ATOMS, 1e-4)
    outside = [cdf_value(atoms, BINS, x, 0.95) for x in (-1, 254, 300)]
    assert [(one.value, one.standard_error) for one in outside] == [(0, 0), (1, 0), (1, 0)]
    assert cdf_value(atoms, BINS, 0, 0.95).value == pytest.approx(0.3)
    assert cdf_value(atoms, BINS, 253.999, 0.95).value == pytest.approx(0.8)


def test_a_histogram_adds_up_and_has_errors() -> None:
    bars = histogram(_fit(ATOMS, 1e-4), BINS, [0, 50, 100.5, 254])
    assert [bar.fraction for bar in bars] == pytest.approx([0.3, 0.25, 0.45])
    assert bars[0].standard_error == pytest.approx(math.sqrt(1e-4 * 0.3 * 0.7))
    assert (bars[1].lower, bars[1].upper) == (50, 100.5)
    inner = histogram(_fit(ATOMS, 1e-4), BINS, [50, 200])
    assert inner[0].fraction == pytest.approx(0.5)


@pytest.mark.parametrize("edges", [[1], [2, 1], [1, 1], [-1, 5], [0, 255], [[1, 2]], ["a", "b"], [1, float("nan")]])
def test_edges_of_a_histogram_are_checked(edges: object) -> None:
    with pytest.raises(ParameterError, match="^edges must be"):
        histogram(_fit(UNIFORM), BINS, edges)


def test_the_mean_and_how_far_it_may_be_off() -> None:
    mean = mean_of(_fit(UNIFORM, 1e-4), BINS)
    assert mean.value == pytest.approx(127)
    assert mean.standard_error == pytest.approx(math.sqrt(1e-4 * (254**2 - 1) / 12))
    assert mean.resolution == pytest.approx(0.5)
    assert mean.interval(0.95).half_width == pytest.approx(1.959964 * mean.standard_error + 0.5)
    assert mean_of(_fit(ATOMS), BINS).value == pytest.approx(0.5 * 100.5 + 0.2 * 254)
    assert float(mean) == mean.value
    shifted = mean_of(_fit(ATOMS), Bins(Grid(-100, 154)))
    assert shifted.value == pytest.approx(mean_of(_fit(ATOMS), BINS).value - 100)


@pytest.mark.parametrize("q", [0, 1, -0.1, 1.5, float("nan"), "0.5", None])
def test_q_lies_between_0_and_1(q: object) -> None:
    with pytest.raises(ParameterError, match="^q must be a number between 0 and 1, both excluded"):
        quantile(_fit(UNIFORM), BINS, q, 0.95)


def test_levels_and_values_are_checked() -> None:
    assert normal_quantile(0.95) == pytest.approx(1.959963984540054)
    for bad in (0, 1, "x"):
        with pytest.raises(ParameterError, match="^level must be"):
            band(_fit(UNIFORM), BINS, bad)
    with pytest.raises(ParameterError, match="^x must be"):
        cdf_value(_fit(UNIFORM), BINS, float("nan"), 0.95)


def test_the_cdf_at_an_edge_holds_equal_values_there_whichever_bin_they_are_in() -> None:
    """Units round: some whole numbers that are edges of equal bins count in the bin above."""
    above = [x for x in range(1, 254) if BINS.of_value(x) == x + 1]
    assert len(above) == 36
    for x in (above[0], 100):
        masses = np.zeros(256)
        masses[BINS.of_value(x)] = masses[5] = 0.5
        low, high = cdf_value(_fit(masses, 1e-6), BINS, x, 0.95).interval
        assert low <= 1 <= high + 1e-9
    low, high = cdf_value(_fit(UNIFORM), BINS, 100, 0.95).interval
    assert high - low < 1e-9
