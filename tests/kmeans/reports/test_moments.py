r"""Chi-square quantiles, what clipping leaves of normal clusters, and moments from lengths and squares."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import chdtrc, chdtri

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.axes import released_moments
from hybriddp.kmeans.algorithm.problem import PublishedVector
from hybriddp.kmeans.protocol.round import simulate_devices
from hybriddp.kmeans.reports.base import Ask, ReportTally
from hybriddp.kmeans.reports.means import mean_shift, shift_ask
from hybriddp.kmeans.reports.moments import (
    chi_square_above,
    chi_square_limit,
    chi_square_limits,
    clipping_factor_lengths,
    clipping_factor_signs,
    clipping_factor_sums,
    deviatoric,
    erfc,
    length_ask,
    mean_square,
    pair_ask,
    pair_variance,
    second_moments,
    squared_lengths,
    undo_clipping,
    usual_size,
)
from hybriddp.kmeans.statistics import L1_UNIT, SecondMoments
from hybriddp.randomness import byte_source
from tests.levels import z_limit

# Chi-square quantiles


def test_probabilities_and_limits_are_those_of_scipy() -> None:
    levels = np.array([0.9999, 0.9, 0.5, 0.05, 1e-3, 1e-9])
    for degrees in (1, 2, 3, 4, 7, 16, 65, 400):
        x = degrees * np.array([1e-6, 0.1, 0.7, 1.0, 1.5, 4.0, 10.0])
        np.testing.assert_allclose(chi_square_above(x, degrees), chdtrc(degrees, x), rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(chi_square_limits(degrees, levels), chdtri(degrees, levels), rtol=1e-10)
    assert chi_square_limit(5, 0.01) == chi_square_limits(5, np.array([0.3, 0.01]))[1]
    assert chi_square_limit(2, 0.001) == pytest.approx(-2 * math.log(0.001), rel=1e-14)  # exponential
    assert erfc(np.array([])).shape == (0,)
    assert erfc(np.array([-1.0, 0.0, 2.0])).tolist() == [math.erfc(-1.0), 1.0, math.erfc(2.0)]


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", [2, 4])
def test_a_fit_does_not_import_scipy(dimensions: int) -> None:
    # Its import takes longer than a fit.
    program = f"""
import sys
import numpy as np
from hybriddp import HybridKMeans
points = np.random.default_rng(0).random((3000, {dimensions}))
HybridKMeans(3, epsilon=2, bounds=[(0, 1)] * {dimensions}, random_state=0).fit(points[:500], points[500:])
print("scipy" in sys.modules)
"""
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


# Clipping: the derivative of the mean of what was clipped, by the shift

DIMENSIONS = [1, 2, 3, 4, 8, 16, 64]
# How exactly two hundred lengths stand for all: in one dimension, every one is a step of 1/200.
EXACT = {1: 0.0027, 2: 0.0013, 3: 0.0008, 4: 0.0006, 8: 0.0003, 16: 0.0002, 64: 0.0002}


def test_signs_keep_the_derivative_of_the_mean() -> None:
    """By quadrature."""

    def mean(shift: float) -> float:
        points = [-radius, radius, shift]
        return float(quad(lambda x: np.clip(x, -radius, radius) * stats.norm.pdf(x - shift), -12, 12, points=points)[0])

    step = 1e-3
    for radius in (0.01, 0.3, 1.0, 1.7, 3.0, 6.0):
        derivative = (mean(step) - mean(-step)) / (2 * step)
        assert clipping_factor_signs(radius) == pytest.approx(derivative, abs=1e-6)


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
    clipped = np.minimum(1, radius / lengths) @ weights * x
    step = 0.01
    change = stats.norm.pdf(x - step) - stats.norm.pdf(x + step)
    return float(np.sum(clipped * change) * (x[1] - x[0]) / (2 * step))


@pytest.mark.repeated
def test_lengths_keep_the_derivative_of_the_mean() -> None:
    for d in DIMENSIONS:
        for radius in math.sqrt(d) * np.array([0.05, 0.3, 0.7, 1.0, 1.5, 3.0]):
            assert clipping_factor_lengths(radius, d) == pytest.approx(_derivative_of_lengths(radius, d), abs=EXACT[d])


@pytest.mark.repeated
def test_sums_keep_the_derivative_of_the_mean() -> None:
    """By normal vectors with a shift and with the opposite one; 0.001 is three errors of that (the seed is fixed).

    That sums of absolute values are normal is an approximation, which is off by less than 0.055/d.
    """

    def mean(shift: float, radius: float) -> float:
        moved = vectors + shift
        return float(np.mean(moved * np.minimum(1, radius / np.abs(moved).sum(axis=1))[:, None]))

    for d in (4, 5, 8, 16, 64):
        n, step = 3_000_000 // d, 0.02
        vectors = np.random.default_rng(d).standard_normal((n, d))
        for share in (0.3, 0.7, 0.92, 1.2):
            derivative = (mean(step, share * d) - mean(-step, share * d)) / (2 * step)
            assert clipping_factor_sums(share * d, d) == pytest.approx(derivative, abs=0.055 / d + 0.001)


def test_a_larger_radius_keeps_more_and_a_far_one_all() -> None:
    shares = np.linspace(0.02, 3, 150)
    assert clipping_factor_signs(10.0) == pytest.approx(1, abs=1e-15)
    for d in DIMENSIONS:
        by_length = np.array([clipping_factor_lengths(share * math.sqrt(d), d) for share in shares])
        by_sum = np.array([clipping_factor_sums(share * d, d) for share in shares])
        by_sign = np.array([clipping_factor_signs(share) for share in shares])
        for kept in (by_length, by_sum, by_sign):
            assert (np.diff(kept) >= 0).all()
            assert 0 < kept[0] < 0.11
            assert 0.99 < kept[-1] <= 1
        assert clipping_factor_lengths(math.sqrt(d) + 5, d) == 1
        assert clipping_factor_sums(d + 5 * math.sqrt(d), d) == 1
        if d == 1:  # a length is a coordinate
            np.testing.assert_allclose(by_length, by_sign, atol=0.0027)


NEAR = np.array([1e-4, 1e-5, 1e-7])


def _near(kept: list[float]) -> float:
    """What is kept of a shift over the radius: a constant, near 0."""
    ratio = np.array(kept) / NEAR
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    return float(ratio[0])


def test_near_radii_keep_what_is_across_the_vector_in_proportion_to_them() -> None:
    """(1 - 1/d) times the mean of 1/|z|, which is Γ((d - 1)/2) / (√2 Γ(d/2)); the mean of 1/|z| in L1, of sums."""
    signs = _near([clipping_factor_signs(radius) for radius in NEAR])
    assert signs == pytest.approx(math.sqrt(2 / math.pi), rel=1e-6)
    for d, exact in ((2, 0.025), (3, 0.007), (4, 0.003), (8, 0.001), (16, 3e-4), (64, 1e-4)):
        mean = math.exp(math.lgamma((d - 1) / 2) - math.lgamma(d / 2)) / math.sqrt(2)
        lengths = _near([clipping_factor_lengths(radius, d) for radius in NEAR])
        assert lengths == pytest.approx((1 - 1 / d) * mean, rel=exact)
    for d, exact in ((8, 0.013), (16, 0.004), (64, 0.001)):
        sizes = np.abs(np.random.default_rng(d).standard_normal((100_000, d))).sum(axis=1)
        sums = _near([clipping_factor_sums(radius, d) for radius in NEAR])
        assert sums == pytest.approx((1 - 1 / d) * float(np.mean(1 / sizes)), rel=exact)


def test_squared_lengths_are_equally_likely() -> None:
    for d in DIMENSIONS:
        squares = squared_lengths(d)
        np.testing.assert_allclose(stats.chi2(d).cdf(squares), (np.arange(200) + 0.5) / 200, rtol=1e-9)
        assert squares.mean() == pytest.approx(d, rel=0.006 / math.sqrt(d))


@pytest.mark.parametrize("d", [4, 8, 30])
def test_clipping_of_squares_is_undone(d: int) -> None:
    """By quadrature over the distribution of the squared length, and the slope by differences."""

    def clipped(mean: float) -> float:
        end = d / mean
        inside = quad(lambda x: mean * x / d * stats.chi2.pdf(x, d), 0, end)[0]
        return float(inside + stats.chi2.sf(end, d))

    for value in (0.2, 0.6, 0.9):
        mean, slope = undo_clipping(clipped(value), d)
        assert mean == pytest.approx(value, rel=0.01)
        difference = (clipped(1.01 * value) - clipped(0.99 * value)) / (0.02 * value)
        assert slope == pytest.approx(difference, rel=0.06, abs=0.01)
    for noise in (-1.0, 0.0, 1.0, 7.0):  # what no length has is taken for the nearest one
        assert undo_clipping(noise, d) == undo_clipping(0.02 if noise < 0.5 else 0.95, d)


def test_the_usual_size_is_the_mean_of_a_normal_matrix() -> None:
    r"""$E|z_i z_j|$ by quadrature: of one variable for i = j, of two independent ones else."""
    absolute = 2 * quad(lambda x: x * stats.norm.pdf(x), 0, 20)[0]
    square = 2 * quad(lambda x: x * x * stats.norm.pdf(x), 0, 20)[0]
    for d in (1, 4, 10):
        assert usual_size(d) == pytest.approx(d * square + d * (d - 1) / 2 * absolute**2, rel=1e-9)


# Moments from reports: against the truth, and with the variance that they claim

D, SD, N = 6, 0.1, 4000
MEAN = np.full(D, 0.5)
TURN = np.linalg.qr(np.random.default_rng(1).standard_normal((D, D)))[0]
SPREADS = SD**2 * np.array([1.6, 1.3, 1.1, 0.8, 0.7, 0.5])
COVARIANCE = TURN @ np.diag(SPREADS) @ TURN.T
ALL = Fraction(1)


def _answers(ask: Ask, seed: int, n: int = N, shift: float = 0.0) -> ReportTally:
    normal = np.random.default_rng([seed, 7]).standard_normal((n, D))
    points = MEAN + shift + normal * np.sqrt(SPREADS) @ TURN.T
    return simulate_devices(ask, iter([points]), source=byte_source(seed), rng=np.random.default_rng([seed, 8]))


def _check_claimed(ratios: FloatArray, width: float, limit: float, wrong: tuple[float, ...]) -> None:
    """Squared deviations are what is claimed, within a width that a wrong factor would exceed."""
    ratio, error = float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(len(ratios)))
    assert limit * error < width
    assert abs(ratio - 1) < width
    assert all(abs(factor * ratio - 1) > width for factor in wrong)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_squares_of_lengths_are_right_and_have_the_variance_that_they_claim(epsilon: str) -> None:
    ask = length_ask(MEAN, np.sqrt(1.7 * D) * SD, epsilon=epsilon, user_fraction=ALL)
    estimates = [mean_square(ask, _answers(ask, seed, 1000)) for seed in range(1500)]
    mean = float(np.mean([estimate.value for estimate in estimates]))
    truth = float(np.trace(COVARIANCE))
    assert mean == pytest.approx(truth, rel=0.03)  # lengths are a little less even than those of a round cluster
    ratios = np.array([(estimate.value - mean) ** 2 / estimate.variance for estimate in estimates])
    _check_claimed(ratios, 0.28, z_limit(1, len(ratios)), (1.44, 1 / 1.44))  # a scale that is a fifth off


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "radius"), [("1", 0.7), ("4", 1.2)])
def test_shifts_are_right_and_have_the_variance_that_they_claim(epsilon: str, radius: float) -> None:
    r, off = radius * np.sqrt(D) * SD, 0.02
    ask = shift_ask(MEAN, r, epsilon=epsilon, user_fraction=ALL)
    estimates = [mean_shift(ask, _answers(ask, seed, shift=off), r, SD) for seed in range(450)]
    values = np.array([value for value, _ in estimates])
    mean, error, limit = values.mean(axis=0), values.std(axis=0).max() / np.sqrt(450), z_limit(D + 2, 450)
    # The directions of one basis or another hold a little more of some coordinates than of others.
    np.testing.assert_allclose(mean, off, atol=0.15 * off + limit * error)
    assert float(mean.mean()) == pytest.approx(off, rel=0.06, abs=limit * error / np.sqrt(D))
    ratios = np.array([np.mean((value - mean) ** 2) / variance for value, variance in estimates])
    _check_claimed(ratios, 0.2, limit, (1 / 1.44, 1 / 0.64))


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "radius"), [("1", 3.0), ("4", 1.2)])
def test_second_moments_are_right_and_have_the_variance_that_they_claim(epsilon: str, radius: float) -> None:
    runs = 220
    ask = pair_ask(MEAN, np.sqrt(radius * D) * SD, epsilon=epsilon, user_fraction=ALL)
    estimates = [second_moments(ask, _answers(ask, seed), SD**2) for seed in range(runs)]
    values = np.array([estimate.value for estimate in estimates])
    mean, error = values.mean(axis=0), values.std(axis=0).max() / np.sqrt(runs)
    truth, limit = deviatoric(COVARIANCE), z_limit(D * D + 2, runs)
    np.testing.assert_allclose(mean, truth, atol=0.3 * np.abs(truth).max() + limit * error)
    assert np.sum(mean * truth) / np.sum(truth**2) == pytest.approx(1, abs=0.1 + limit * error / np.linalg.norm(truth))
    assert np.trace(mean) == pytest.approx(0, abs=1e-12)
    upper = np.triu_indices(D, 1)  # on the diagonal the trace is taken away, and some of the noise with it
    ratios = np.array([np.mean(((one.value - mean) ** 2 / one.variance)[upper]) for one in estimates])
    _check_claimed(ratios, 0.2, limit, (1 / 1.44, 1 / 0.64))


def test_the_variance_of_a_pair_is_that_of_the_moments_far_inside_of_the_radius() -> None:
    r = 10 * SD * np.sqrt(D)
    ask = pair_ask(MEAN, r, epsilon="2", user_fraction=ALL)
    variance = second_moments(ask, _answers(ask, 0), SD**2).variance
    rough = pair_variance(D, 2.0) * r**4 / N  # as if all entries had the same gain
    assert variance[0, 1] == pytest.approx(rough, rel=0.1)
    assert variance[0, 0] == pytest.approx(2 * rough, rel=0.3)


def test_nobody_knows_nothing() -> None:
    def nobody(ask: Ask) -> ReportTally:
        n = ask.question.n_variants
        return ReportTally(np.zeros((n, ask.channel.n_symbols), np.int64), np.zeros(n, np.int64))

    length, pair, shift = (
        make(MEAN, 1.0, epsilon="1", user_fraction=ALL) for make in (length_ask, pair_ask, shift_ask)
    )
    assert np.isinf(mean_square(length, nobody(length)).variance)
    unknown = second_moments(pair, nobody(pair), SD**2)
    assert np.isinf(unknown.variance).all()
    assert np.isfinite(unknown.value).all()
    assert np.isfinite(mean_shift(shift, nobody(shift), 1.0, SD)[0]).all()


def test_the_trusted_moments_are_those_released() -> None:
    points = np.clip(MEAN + 0.1 * np.random.default_rng(8).standard_normal((500, D)), 0, 1)
    statistic = SecondMoments(MEAN, 10.0)  # nobody is clipped
    shape, total = released_moments(statistic, PublishedVector(statistic.compute(points), 4.0), 500, 0.01, 0.3)
    z = points - MEAN
    np.testing.assert_allclose(shape.value, deviatoric(z.T @ z / 500), atol=1e-4)
    noise = 4.0 * (10.0 / L1_UNIT / 500) ** 2 + 0.01**2 / 500
    np.testing.assert_allclose(shape.variance, noise + 0.003**2)
    assert total.value == pytest.approx(np.trace(z.T @ z / 500), abs=1e-4)
    assert total.variance == pytest.approx(D * noise + (D * 0.003) ** 2)
