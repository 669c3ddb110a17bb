import math

import numpy as np
import pytest

from hybriddp.mean.weights import WORST_CASE, LocalStatistics, VarianceEvidence

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
