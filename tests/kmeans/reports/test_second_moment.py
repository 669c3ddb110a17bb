r"""Moments from lengths, directions and squares: against the truth, and with the variance that they claim."""

from fractions import Fraction

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.axes import released_moments
from hybriddp.kmeans.algorithm.problem import PublishedVector
from hybriddp.kmeans.protocol.round import simulate_devices
from hybriddp.kmeans.reports.base import Ask, ReportTally
from hybriddp.kmeans.reports.means import mean_shift, shift_ask
from hybriddp.kmeans.reports.moments import deviatoric, length_ask, mean_square, pair_ask, pair_variance, second_moments
from hybriddp.kmeans.statistics import L1_UNIT, SecondMoments
from hybriddp.randomness import byte_source
from tests.levels import z_limit

D, SD, N = 6, 0.1, 4000
MEAN = np.full(D, 0.5)
TURN = np.linalg.qr(np.random.default_rng(1).standard_normal((D, D)))[0]
SPREADS = SD**2 * np.array([1.6, 1.3, 1.1, 0.8, 0.7, 0.5])
COVARIANCE = TURN @ np.diag(SPREADS) @ TURN.T
RUNS = 220


def _sample(seed: int, n: int = N, shift: float = 0.0) -> FloatArray:
    rng = np.random.default_rng([seed, 7])
    points: FloatArray = MEAN + shift + rng.standard_normal((n, D)) * np.sqrt(SPREADS) @ TURN.T
    return points


def _answers(ask: Ask, seed: int, n: int = N, shift: float = 0.0) -> ReportTally:
    rng = np.random.default_rng([seed, 8])
    return simulate_devices(ask, iter([_sample(seed, n, shift)]), source=byte_source(seed), rng=rng)


def _nobody(ask: Ask) -> ReportTally:
    n = ask.question.n_variants
    return ReportTally(np.zeros((n, ask.channel.n_symbols), np.int64), np.zeros(n, np.int64))


def _scale(squares: FloatArray) -> tuple[float, float]:
    """The mean of squared deviations over claimed variances, and its standard error."""
    return float(squares.mean()), float(squares.std(ddof=1) / np.sqrt(len(squares)))


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_squares_of_lengths_are_right_and_have_the_variance_that_they_claim(epsilon: str) -> None:
    ask = length_ask(MEAN, np.sqrt(1.7 * D) * SD, epsilon=epsilon, user_fraction=Fraction(1))
    found = [mean_square(ask, _answers(ask, seed, 1000)) for seed in range(1500)]
    truth = float(np.trace(COVARIANCE))
    mean = float(np.mean([f.value for f in found]))
    assert mean == pytest.approx(truth, rel=0.03)  # lengths are a little less even than those of a round cluster
    ratio, error = _scale(np.array([(f.value - mean) ** 2 / f.variance for f in found]))
    assert z_limit(1, len(found)) * error < 0.28
    assert abs(ratio - 1) < 0.28
    assert abs(1.44 * ratio - 1) > 0.28  # a scale that is a fifth off
    assert abs(ratio / 1.44 - 1) > 0.28


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "radius"), [("1", 0.7), ("4", 1.2)])
def test_shifts_are_right_and_have_the_variance_that_they_claim(epsilon: str, radius: float) -> None:
    r, off = radius * np.sqrt(D) * SD, 0.02
    ask = shift_ask(MEAN, r, epsilon=epsilon, user_fraction=Fraction(1))
    found = [mean_shift(ask, _answers(ask, seed, shift=off), r, SD) for seed in range(450)]
    mean = np.mean([f[0] for f in found], axis=0)
    error = np.std([f[0] for f in found], axis=0).max() / np.sqrt(450)
    limit = z_limit(D + 2, 450)
    # The directions of one basis or another hold a little more of some coordinates than of others.
    np.testing.assert_allclose(mean, off, atol=0.15 * off + limit * error)
    assert float(mean.mean()) == pytest.approx(off, rel=0.06, abs=limit * error / np.sqrt(D))
    squares = np.array([np.mean((f[0] - mean) ** 2) / f[1] for f in found])
    ratio, doubt = _scale(squares)
    assert limit * doubt < 0.2
    assert abs(ratio - 1) < 0.2
    assert abs(ratio / 1.44 - 1) > 0.2
    assert abs(ratio / 0.64 - 1) > 0.2


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "radius"), [("1", 3.0), ("4", 1.2)])
def test_second_moments_are_right_and_have_the_variance_that_they_claim(epsilon: str, radius: float) -> None:
    ask = pair_ask(MEAN, np.sqrt(radius * D) * SD, epsilon=epsilon, user_fraction=Fraction(1))
    found = [second_moments(ask, _answers(ask, seed), SD**2) for seed in range(RUNS)]
    mean = np.mean([f.value for f in found], axis=0)
    error = np.std([f.value for f in found], axis=0).max() / np.sqrt(RUNS)
    truth, limit = deviatoric(COVARIANCE), z_limit(D * D + 2, RUNS)
    np.testing.assert_allclose(mean, truth, atol=0.3 * np.abs(truth).max() + limit * error)
    assert np.sum(mean * truth) / np.sum(truth**2) == pytest.approx(1, abs=0.1 + limit * error / np.linalg.norm(truth))
    assert np.trace(mean) == pytest.approx(0, abs=1e-12)
    upper = np.triu_indices(D, 1)  # on the diagonal the trace is taken away, and some of the noise with it
    squares = np.array([np.mean(((f.value - mean) ** 2 / f.variance)[upper]) for f in found])
    ratio, doubt = _scale(squares)
    assert limit * doubt < 0.2
    assert abs(ratio - 1) < 0.2
    assert abs(ratio / 1.44 - 1) > 0.2
    assert abs(ratio / 0.64 - 1) > 0.2


def test_the_variance_of_a_pair_is_that_of_the_moments_far_inside_of_the_radius() -> None:
    r = 10 * SD * np.sqrt(D)
    ask = pair_ask(MEAN, r, epsilon="2", user_fraction=Fraction(1))
    found = second_moments(ask, _answers(ask, 0), SD**2)
    rough = pair_variance(D, 2.0) * r**4 / N  # as if all entries had the same gain
    assert found.variance[0, 1] == pytest.approx(rough, rel=0.1)
    assert found.variance[0, 0] == pytest.approx(2 * rough, rel=0.3)


def test_nobody_knows_nothing() -> None:
    length = length_ask(MEAN, 1.0, epsilon="1", user_fraction=Fraction(1))
    assert np.isinf(mean_square(length, _nobody(length)).variance)
    pair = pair_ask(MEAN, 1.0, epsilon="1", user_fraction=Fraction(1))
    unknown = second_moments(pair, _nobody(pair), SD**2)
    assert np.isinf(unknown.variance).all()
    assert np.isfinite(unknown.value).all()
    shift = shift_ask(MEAN, 1.0, epsilon="1", user_fraction=Fraction(1))
    assert np.isfinite(mean_shift(shift, _nobody(shift), 1.0, SD)[0]).all()


def test_the_trusted_moments_are_those_released() -> None:
    points = np.clip(MEAN + 0.1 * np.random.default_rng(8).standard_normal((500, D)), 0, 1)
    statistic = SecondMoments(MEAN, 10.0)  # nobody is cut
    shape, total = released_moments(statistic, PublishedVector(statistic.compute(points), 4.0), 500, 0.01, 0.3)
    z = points - MEAN
    np.testing.assert_allclose(shape.value, deviatoric(z.T @ z / 500), atol=1e-4)
    noise = 4.0 * (10.0 / L1_UNIT / 500) ** 2 + 0.01**2 / 500
    np.testing.assert_allclose(shape.variance, noise + 0.003**2)
    assert total.value == pytest.approx(np.trace(z.T @ z / 500), abs=1e-4)
    assert total.variance == pytest.approx(D * noise + (D * 0.003) ** 2)
