import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from hybriddp.amplification.amplify import _weight
from hybriddp.channels import WindowChannel
from hybriddp.grid import UNITS
from hybriddp.mean import MeanStudy, published, weights
from hybriddp.mean.weights import WORST_CASE, LocalStatistics, TrustedStatistics, VarianceEvidence
from hybriddp.simulation.crowd import Crowd, code_frequencies
from hybriddp.theory import Beta, Setting


def groups(
    n_t: int, n_l: int, noise_t: float, noise_l: float, variance: float, se: float, mean: float = 0.5
) -> tuple[TrustedStatistics, LocalStatistics]:
    return TrustedStatistics(n_t, mean, noise_t, laplace=True), LocalStatistics(n_l, mean, variance, se, noise_l)


positive = st.floats(1e-6, 10)


@given(st.integers(2, 10**6), st.integers(2, 10**7), st.floats(1e-12, 1), positive, st.floats(0, 0.25))
def test_the_weight_for_a_known_variance_is_the_papers(
    n_t: int, n_l: int, noise_t: float, noise_l: float, variance: float
) -> None:
    n = n_t + n_l
    setting = Setting(
        n_users=n,
        trusted_fraction=n_t / n,
        trusted_variance=variance,
        local_variance=variance,
        trusted_noise=noise_t,
        local_noise=noise_l,
    )
    v_t, v_l = weights.group_variances(*groups(n_t, n_l, noise_t, noise_l, variance, 0.0), variance)
    assert v_l / (v_t + v_l) == pytest.approx(float(setting.weight_known_variance()), rel=1e-6)


@given(st.integers(2, 10**5), st.integers(2, 10**6), st.floats(0.05, 10), st.floats(0, 0.25), st.floats(0, 0.5))
def test_the_adaptive_weight_has_nearly_the_least_regret(
    n_t: int, n_l: int, epsilon: float, variance: float, se: float
) -> None:
    noise_t, noise_l = 2 / (n_t * epsilon) ** 2, 1 / epsilon**2
    trusted, local = groups(n_t, n_l, noise_t, noise_l, variance, se)
    chosen = weights.adaptive(trusted, local)
    assert 0 <= chosen.range.lower <= chosen.variance <= chosen.range.upper <= 0.25

    def regret(w: float) -> float:
        ratios = []
        for s in np.linspace(chosen.range.lower, chosen.range.upper, 50):
            v_t, v_l = s / n_t + noise_t, (s + noise_l) / n_l
            best = v_t * v_l / (v_t + v_l) - s / (n_t + n_l)
            ratios.append((w**2 * v_t + (1 - w) ** 2 * v_l - s / (n_t + n_l)) / best)
        return float(max(ratios))

    variances = [weights.group_variances(trusted, local, s) for s in (chosen.range.lower, chosen.range.upper)]
    ends = sorted(v_l / (v_t + v_l) for v_t, v_l in variances)
    least = minimize_scalar(regret, bounds=(ends[0], ends[1] + 1e-12), method="bounded").fun
    assert regret(chosen.weight) <= min(1.06 * least, max(regret(ends[0]), regret(ends[1])) + 1e-9)


def test_with_much_noise_only_the_mean_limits_the_variance() -> None:
    possible = weights.variance_range(*groups(100, 1000, 1e-6, 1.0, variance=0.0, se=5.0, mean=0.1))
    assert possible.lower == 0
    assert possible.upper == pytest.approx(0.1 * 0.9, rel=0.02)
    outside = weights.variance_range(*groups(100, 1000, 1e-6, 1.0, variance=0.0, se=5.0, mean=-3.0))
    assert outside.upper == 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 1.5, 8])
def test_the_reports_estimate_the_variance_without_bias(epsilon: float) -> None:
    """The mean over all codes of each row is exact; t-test over 800 groups, |t| > 6.5 has probability below 1e-9.

    The spread of 800 groups is known to 2.5 %: beyond 16.5 % has the same probability, and 20 % off is seen.
    """
    channel = WindowChannel(epsilon=epsilon)
    table = np.array([channel.weights(row) for row in range(channel.n_rows)]) / 2**channel.bits
    inputs = np.array([(float(channel.row_mean(row)) + 1) / 2 for row in range(channel.n_rows)])
    assert table @ channel.square_values == pytest.approx(inputs**2 - channel.rounding_variance, abs=1e-9)
    between = np.linspace(0, 1, 100_001)
    low = np.searchsorted(inputs, between, side="right").clip(1, len(inputs) - 1) - 1
    rounding = (between - inputs[low]) * (inputs[low + 1] - between)
    assert channel.rounding_variance == pytest.approx(rounding.mean(), rel=1e-3)
    rng, population = np.random.default_rng(0), Beta(0.5, 2.0)
    found = []
    for seed in range(800):
        x = rng.beta(0.5, 2.0, 2000)
        counts = np.bincount(channel.randomize(x, bounds=(0, 1), random_state=seed), minlength=256)
        found.append(LocalStatistics.of(counts / counts.sum(), int(counts.sum()), channel))
    variance, se = np.array([g.variance for g in found]), np.array([g.variance_se for g in found])
    z = (variance.mean() - population.variance) / (variance.std() / 800**0.5)
    assert abs(z) < 6.5
    assert se.mean() == pytest.approx(variance.std(), rel=0.165)
    assert np.mean([g.noise for g in found]) == pytest.approx(channel.variance(x).mean(), rel=0.05)


# Weights that are fixed before any data


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize(("rule", "sd"), [("privacy", None), ("known-variance", 0.1), ("naive", None)])
def test_fixed_weights_are_the_same_whatever_was_reported(epsilon: float, rule: str, sd: float | None) -> None:
    """To the last bit, and that of `amplify`: it takes them for public."""
    study = MeanStudy("x", bounds=(0, 1), epsilon=epsilon)
    found = set()
    for x in (0.0, 0.25, 0.5, 1.0):
        reports = study.randomize(np.full(990, x), random_state=1)
        found.add(study.estimate(trusted=[0.5] * 10, local=reports, weight=rule, sd=sd, random_state=3).weight)
    assert found == {published.fixed_weight(study, 10, 990, rule, 0.0 if sd is None else sd**2)}
    assert found == {_weight(study, 10, 990, rule, sd)}


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


# What the reports of a group say about their own noise


@pytest.mark.parametrize("epsilon", [1.0, 8.0, 10.0, 14.0, 18.0, 20.0])
def test_the_noise_of_reports_is_not_reckoned_too_small_wherever_values_lie(epsilon: float) -> None:
    """Between two rows rounding adds more than on average: at ε = 18 intervals held a constant .5 in .89 of studies."""
    channel = WindowChannel(epsilon=epsilon)
    for x in np.append(np.linspace(0.0, 1.0, 257), 0.5):
        everybody = Crowd(np.array([round(x * UNITS)]), np.array([50]))
        found = LocalStatistics.of(code_frequencies(channel, everybody), 50, channel)
        assert found.noise >= (1 - 1e-3) * float(channel.variance(x))


def test_the_worst_rounding_is_halfway_between_the_two_farthest_rows() -> None:
    channel = WindowChannel(epsilon=20.0)
    rows = np.array([float(channel.row_mean(row)) for row in range(channel.n_rows)]) / 2
    gap = np.diff(rows).max()
    assert channel.worst_rounding_variance == pytest.approx((gap / 2) ** 2, rel=1e-3)
    assert channel.worst_rounding_variance == pytest.approx(1.5 * channel.rounding_variance, rel=0.05)
