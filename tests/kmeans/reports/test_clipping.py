import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from hybriddp._check import FloatArray
from hybriddp.kmeans.reports.moments import (
    clipping_factor_lengths,
    clipping_factor_signs,
    clipping_factor_sums,
    squared_lengths,
    undo_clipping,
    usual_size,
)

DIMENSIONS = [1, 2, 3, 4, 8, 16, 64]
RADII = [0.05, 0.3, 0.7, 1.0, 1.5, 3.0]

# How exactly two hundred lengths stand for all: in one dimension, every one is a step of 1/200.
EXACT = {1: 0.0027, 2: 0.0013, 3: 0.0008, 4: 0.0006, 8: 0.0003, 16: 0.0002, 64: 0.0002}


# By the definition: the derivative of the mean of what was cut, by the shift


@pytest.mark.parametrize("radius", [0.01, 0.3, 1.0, 1.7, 3.0, 6.0])
def test_signs_keep_the_derivative_of_the_mean(radius: float) -> None:
    """By quadrature."""

    def mean(shift: float) -> float:
        points = [-radius, radius, shift]
        return float(quad(lambda x: np.clip(x, -radius, radius) * stats.norm.pdf(x - shift), -12, 12, points=points)[0])

    step = 1e-3
    assert clipping_factor_signs(radius) == pytest.approx((mean(step) - mean(-step)) / (2 * step), abs=1e-6)


def _derivative_of_lengths(radius: float, d: int) -> float:
    """The same of lengths: the coordinate of the shift on a grid, the length of all others on another one."""
    x = np.linspace(-9, 9, 1801)
    if d == 1:
        others, weights = np.zeros(1), np.ones(1)
    else:
        others = np.linspace(0, math.sqrt(d - 1) + 9, 1601)
        weights = stats.chi(d - 1).pdf(others) * others[1]
        weights[0] /= 2
    lengths = np.maximum(np.hypot(x[:, None], others), 1e-300)
    cut = np.minimum(1, radius / lengths) @ weights * x
    step = 0.01
    change = stats.norm.pdf(x - step) - stats.norm.pdf(x + step)
    return float(np.sum(cut * change) * (x[1] - x[0]) / (2 * step))


@pytest.mark.repeated
@pytest.mark.parametrize("d", DIMENSIONS)
def test_lengths_keep_the_derivative_of_the_mean(d: int) -> None:
    for radius in math.sqrt(d) * np.array(RADII):
        assert clipping_factor_lengths(radius, d) == pytest.approx(_derivative_of_lengths(radius, d), abs=EXACT[d])


@pytest.mark.repeated
@pytest.mark.parametrize("d", [4, 5, 8, 16, 64])
def test_sums_keep_the_derivative_of_the_mean(d: int) -> None:
    """By normal vectors with a shift and with the opposite one; 0.001 is three errors of that (the seed is fixed).

    That sums of absolute values are normal is an approximation, which is off by less than 0.055/d.
    """
    n, step = 3_000_000 // d, 0.02
    vectors = np.random.default_rng(d).standard_normal((n, d))

    def mean(shift: float, radius: float) -> float:
        moved = vectors + shift
        return float(np.mean(moved * np.minimum(1, radius / np.abs(moved).sum(axis=1))[:, None]))

    for share in (0.3, 0.7, 0.92, 1.2):
        derivative = (mean(step, share * d) - mean(-step, share * d)) / (2 * step)
        assert clipping_factor_sums(share * d, d) == pytest.approx(derivative, abs=0.055 / d + 0.001)


# One dimension


def test_a_length_in_one_dimension_is_a_coordinate() -> None:
    for radius in np.linspace(0.01, 4, 50):
        assert clipping_factor_lengths(radius, 1) == pytest.approx(clipping_factor_signs(radius), abs=0.0027)


# Limits


def test_far_radii_keep_all() -> None:
    assert clipping_factor_signs(10.0) == pytest.approx(1, abs=1e-15)
    for d in DIMENSIONS:
        assert clipping_factor_lengths(math.sqrt(d) + 5, d) == 1
        assert clipping_factor_sums(d + 5 * math.sqrt(d), d) == 1


def _near(kept: FloatArray, radii: FloatArray) -> float:
    """What is kept of a shift over the radius: a constant, near 0."""
    ratio = kept / radii
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    return float(ratio[0])


NEAR = np.array([1e-4, 1e-5, 1e-7])


def test_near_radii_keep_a_part_that_is_proportional_to_them() -> None:
    signs = _near(np.array([clipping_factor_signs(radius) for radius in NEAR]), NEAR)
    assert signs == pytest.approx(math.sqrt(2 / math.pi), rel=1e-6)


@pytest.mark.parametrize(("d", "exact"), [(2, 0.025), (3, 0.007), (4, 0.003), (8, 0.001), (16, 3e-4), (64, 1e-4)])
def test_near_radii_keep_what_is_across_the_vector(d: int, exact: float) -> None:
    """(1 - 1/d) times the mean of 1/|z|, which is Γ((d - 1)/2) / (√2 Γ(d/2))."""
    lengths = _near(np.array([clipping_factor_lengths(radius, d) for radius in NEAR]), NEAR)
    mean = math.exp(math.lgamma((d - 1) / 2) - math.lgamma(d / 2)) / math.sqrt(2)
    assert lengths == pytest.approx((1 - 1 / d) * mean, rel=exact)


@pytest.mark.parametrize(("d", "exact"), [(8, 0.013), (16, 0.004), (64, 0.001)])
def test_near_radii_of_sums_do_so_too(d: int, exact: float) -> None:
    sums = _near(np.array([clipping_factor_sums(radius, d) for radius in NEAR]), NEAR)
    lengths = np.abs(np.random.default_rng(d).standard_normal((100_000, d))).sum(axis=1)
    assert sums == pytest.approx((1 - 1 / d) * float(np.mean(1 / lengths)), rel=exact)


@pytest.mark.parametrize("d", [1, 2, 4, 8, 64])
def test_a_larger_radius_keeps_more(d: int) -> None:
    shares = np.linspace(0.02, 3, 150)
    by_length = np.array([clipping_factor_lengths(share * math.sqrt(d), d) for share in shares])
    by_sum = np.array([clipping_factor_sums(share * d, d) for share in shares])
    by_sign = np.array([clipping_factor_signs(share) for share in shares])
    for kept in (by_length, by_sum, by_sign):
        assert (np.diff(kept) >= 0).all()
        assert 0 < kept[0] < 0.11
        assert 0.99 < kept[-1] <= 1


# Lengths


@pytest.mark.parametrize("d", DIMENSIONS)
def test_squared_lengths_are_equally_likely(d: int) -> None:
    squares = squared_lengths(d)
    np.testing.assert_allclose(stats.chi2(d).cdf(squares), (np.arange(200) + 0.5) / 200, rtol=1e-9)
    assert squares.mean() == pytest.approx(d, rel=0.006 / math.sqrt(d))


# Squares


@pytest.mark.parametrize("d", [4, 8, 30])
@pytest.mark.parametrize("value", [0.2, 0.6, 0.9])
def test_clipping_is_undone(d: int, value: float) -> None:
    """By quadrature over the distribution of the squared length, and the slope by differences."""

    def clipped(mean: float) -> float:
        end = d / mean
        inside = quad(lambda x: mean * x / d * stats.chi2.pdf(x, d), 0, end)[0]
        return float(inside + stats.chi2.sf(end, d))

    found, slope = undo_clipping(clipped(value), d)
    assert found == pytest.approx(value, rel=0.01)
    assert slope == pytest.approx((clipped(1.01 * value) - clipped(0.99 * value)) / (0.02 * value), rel=0.06, abs=0.01)


@pytest.mark.parametrize("mean", [-1.0, 0.0, 1.0, 7.0])
def test_noise_that_no_length_has_is_taken_for_the_nearest_one(mean: float) -> None:
    assert undo_clipping(mean, 5) == undo_clipping(0.02 if mean < 0.5 else 0.95, 5)


@pytest.mark.parametrize("d", [1, 4, 10])
def test_the_usual_size_is_the_mean_of_a_normal_matrix(d: int) -> None:
    r"""$E|z_i z_j|$ by quadrature: of one variable for i = j, of two independent ones else."""
    absolute = 2 * quad(lambda x: x * stats.norm.pdf(x), 0, 20)[0]
    square = 2 * quad(lambda x: x * x * stats.norm.pdf(x), 0, 20)[0]
    mean = d * square + d * (d - 1) / 2 * absolute**2
    assert usual_size(d) == pytest.approx(mean, rel=1e-9)
