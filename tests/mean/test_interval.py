import math

import numpy as np
import pytest
from scipy import integrate, stats

from hybriddp.mean import MeanStudy
from hybriddp.mean.interval import WORST_CASE, ErrorLaw, VarianceEvidence
from hybriddp.mean.weights import LocalStatistics
from hybriddp.study.intervals import Interval, NoiseLaw
from tests.levels import z_limit


@pytest.mark.parametrize(
    ("normal", "laplace"), [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.05), (1.0, 5e-4), (0.01, 1.0), (1e-30, 1.0)]
)
@pytest.mark.parametrize("y", [-3.0, -0.5, 0.0, 0.7, 4.0])
def test_the_distribution_is_the_convolution(normal: float, laplace: float, y: float) -> None:
    if laplace == 0:
        expected = stats.norm.cdf(y, scale=normal**0.5)
    elif normal < 1e-20:
        expected = stats.laplace.cdf(y, scale=laplace)
    else:
        s = normal**0.5
        expected = integrate.quad(
            lambda u: stats.laplace.cdf(y - u, scale=laplace) * stats.norm.pdf(u, scale=s),
            -10 * s,
            10 * s,
            points=[y] if abs(y) < 10 * s else None,
        )[0]
    both_tails = 2 * min(expected, 1 - expected)
    assert float(NoiseLaw(normal, laplace).exceeds(y)) == pytest.approx(both_tails, abs=4e-7)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_the_half_width_is_the_quantile(level: float) -> None:
    noise = NoiseLaw(0.3, 0.7)
    half = noise.half_width(level)
    assert float(noise.exceeds(half)) == pytest.approx(1 - level, abs=1e-9)
    rng = np.random.default_rng(0)
    drawn = 0.3**0.5 * rng.standard_normal(1_000_000) + rng.laplace(0, 0.7, 1_000_000)
    inside = np.mean(np.abs(drawn) <= half)
    limit = z_limit() * math.sqrt(level * (1 - level) / 1e6)
    assert abs(inside - level) < limit
    assert abs(np.mean(np.abs(1.2 * drawn) <= half) - level) > limit


def test_no_noise_has_no_width() -> None:
    assert NoiseLaw(0.0, 0.0).half_width(0.95) < 1e-9
    assert NoiseLaw(2.0, 1.0).variance == 4.0


def _law(answer: float, sampling: float = 0.01, normal: float = 1e-4, laplace: float = 0.0) -> ErrorLaw:
    return ErrorLaw(answer, sampling, NoiseLaw(normal, laplace), VarianceEvidence(1000, known=0.25))


@pytest.mark.parametrize("laplace", [0.0, 0.02])
@pytest.mark.parametrize("answer", [0.0, 0.013, 0.4, 0.97])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_ends_are_the_means_that_just_explain_the_answer(answer: float, laplace: float, level: float) -> None:
    law = _law(answer, laplace=laplace)
    for end in law.interval(level):
        if 0 < end < 1:
            assert law.explains(end) == pytest.approx(1 - level, rel=1e-6)
        else:
            assert law.explains(end) >= 1 - level


@pytest.mark.parametrize("ones", [0, 1, 3, 50])
def test_without_noise_it_is_wilsons_interval(ones: int) -> None:
    """Wilson 1927, in closed form, for a share of 10^6 users that was estimated from a hundred of them."""
    n, z = 100, 1.959964
    law = ErrorLaw(ones / n, 1 / n, NoiseLaw(1e-18, 0.0), VarianceEvidence(10**9, known=1.0))
    center = (ones + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * math.sqrt(ones * (n - ones) / n + z**2 / 4)
    assert tuple(law.interval(0.95)) == pytest.approx((center - half, center + half), abs=2e-6)


@pytest.mark.parametrize("answer", [-9.0, -0.3, -1e-9, 1 + 1e-9, 4.0])
def test_an_answer_outside_of_the_bounds_still_has_an_interval_of_some_width(answer: float) -> None:
    law = _law(answer)
    interval = law.interval(0.95)
    assert interval.half_width >= 0.5 * math.sqrt(law.variance) * (1 - 1e-12)
    assert (0.0 if answer < 0 else 1.0) in interval


def test_an_interval_unpacks_and_knows_what_is_inside() -> None:
    low, high = Interval(1.0, 3.0, 0.95)
    assert (low, high) == (1.0, 3.0)
    assert 2.0 in Interval(1.0, 3.0, 0.95)
    assert 3.5 not in Interval(1.0, 3.0, 0.95)


@pytest.mark.parametrize("level", [1e-17, 1e-9, 1 - 1e-12])
def test_every_level_has_an_end(level: float) -> None:
    low, high = _law(0.4).interval(level)
    assert 0 <= low <= 0.4 <= high <= 1


@pytest.mark.repeated
@pytest.mark.parametrize("epsilon", [3.0, 8.0, 10.0, 14.0])
def test_values_that_hardly_vary_have_an_answer(epsilon: float) -> None:
    """The reports' estimate of the variance is far below 0 in many of these: no answer may be lost for that."""
    study = MeanStudy("degrees", bounds=(0, 100), epsilon=epsilon)
    rng = np.random.default_rng(3)
    for n in (30, 300, 3000):
        for _ in range(15):
            reports = study.randomize(np.full(n, 50.0), random_state=rng)
            estimate = study.estimate(trusted=[50.0] * 100, local=reports, random_state=rng)
            assert 0 < estimate.value < 100
            low, high = estimate.interval()
            assert low < high
            assert math.isfinite(estimate.standard_error)


# What is known of the variance


MEANS = np.array([0.0, 0.001, 0.02, 0.3, 0.5, 0.8, 1.0])


@pytest.mark.parametrize(
    "evidence",
    [
        VarianceEvidence(1000),
        VarianceEvidence(1000, 0.01, 0.5, 900),
        VarianceEvidence(1000, -0.2, 0.5, 900),
        VarianceEvidence(1000, 0.9, 0.5, 900),
        VarianceEvidence(1000, 0.0, 0.0, 900),
        VarianceEvidence(10**9, 0.01, 1e-9, 10**9),
        VarianceEvidence(2),
        VarianceEvidence(400, -9.4e-5, 7.5e-8, 300),  # far below 0, and nothing else to go by at a mean of .5
        VarianceEvidence(400, 0.25, 1e-12, 30),
    ],
)
def test_masses_add_up_and_every_variance_is_possible(evidence: VarianceEvidence) -> None:
    likely = evidence.likely(MEANS)
    assert likely.mass.sum(axis=1) == pytest.approx(1.0)
    assert np.isfinite(likely.mass).all()
    assert (likely.mass >= 0).all()
    assert (likely.variance >= 0).all()
    assert (likely.variance <= evidence.largest(MEANS)[:, None]).all()


def test_no_values_vary_more_than_the_largest_variance() -> None:
    """Everybody at one of the bounds varies most; the sample variance has divisor n - 1."""
    n = 40
    for ones in range(n + 1):
        values = np.array([1.0] * ones + [0.0] * (n - ones))
        assert values.var(ddof=1) <= VarianceEvidence(n).largest(values.mean()) + 1e-12
    inner = VarianceEvidence(10**6).largest(np.array([0.3]))
    assert inner[0] == pytest.approx(0.3 * 0.7, rel=1e-5)


def test_without_reports_the_worst_case_has_most_of_the_mass() -> None:
    likely = VarianceEvidence(1000).likely(np.array([0.5]))
    assert likely.mass[0, -1] == pytest.approx(WORST_CASE, rel=1e-3)
    assert likely.variance[0, -1] == VarianceEvidence(1000).largest(np.array([0.5]))[0]
    assert 0.85 < likely.mean[0] / likely.variance[0, -1] < 0.95


def test_many_reports_say_what_the_variance_is() -> None:
    local = LocalStatistics(count=10**6, mean=0.4, variance=0.03, variance_se=1e-4, noise=1.0)
    assert VarianceEvidence.of(local, n_users=10**6).expected(0.4) == pytest.approx(0.03, rel=0.01)


def test_the_average_is_that_of_the_posterior() -> None:
    """An independent oracle: the integral over all variances, by a fine grid."""
    evidence, theta = VarianceEvidence(500, 0.01, 0.4, 400), 0.1
    top = float(evidence.largest(np.array([theta]))[0])
    s = (np.arange(200_000) + 0.5) / 200_000 * top
    error = np.maximum(0.4, 0.81 * s - s**2) / 400
    density = 0.2 * 1.25 * (s / top) ** 0.25 / top * np.exp(-((0.01 - s) ** 2) / (2 * error)) / np.sqrt(error)
    at_top = max(0.4, 0.81 * top - top**2) / 400
    point = 0.8 * math.exp(-((0.01 - top) ** 2) / (2 * at_top)) / math.sqrt(at_top)
    smooth = density.mean() * top
    expected = ((density * s).mean() * top + point * top) / (smooth + point)
    assert evidence.expected(theta) == pytest.approx(expected, rel=2e-3)


def test_rare_values_may_have_been_missed_by_all_reports() -> None:
    """A hundred reports without noise that all say 0 leave a variance of .02 possible, and not one of .2."""
    evidence = VarianceEvidence(200, estimate=0.0, spread=0.0, n_reports=100)
    likely = evidence.likely(np.array([0.02, 0.5]))
    assert likely.mean[0] > 0.005
    assert likely.mean[1] < 0.05


def test_public_knowledge_limits_the_variance() -> None:
    assert VarianceEvidence(1000, at_most=0.01).expected(0.5) <= 0.01
    assert VarianceEvidence(1000, at_most=0.01).expected(0.001) < 0.002  # a mean near a bound allows less still
    assert VarianceEvidence(1000, known=0.04).expected(0.5) == 0.04


def test_the_largest_variance_to_reckon_with_counts_rare_values_that_nobody_has_seen() -> None:
    assert VarianceEvidence(1000, 0.02, 1.0, 10_000).most(0.5, 0.0) == pytest.approx(0.02 + 2 * 0.01)
    assert VarianceEvidence(1000).most(0.5, 0.0) == pytest.approx(0.25, rel=2e-3)
    assert 0.003 < VarianceEvidence(1000).most(0.0, 0.0) < 0.005  # the rule of three, at two standard errors
    assert VarianceEvidence(1000).most(0.0, 0.01**2) > 0.019


def test_very_many_reports_leave_one_variance() -> None:
    """Their reach is below the resolution of floating point, so the cells between have no width."""
    many = VarianceEvidence(10**15, estimate=0.04, spread=1.0, n_reports=10**33)
    assert many.expected(0.3) == pytest.approx(0.04)
