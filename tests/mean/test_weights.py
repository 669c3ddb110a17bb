import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.amplification.amplify import _weight
from hybriddp.channels import WindowChannel
from hybriddp.grid import UNITS
from hybriddp.mean import MeanStudy, published, weights
from hybriddp.mean.weights import (
    ETA,
    WORSE,
    LocalStatistics,
    TrustedStatistics,
    _smallest_lambda,
    compare,
    garrote,
    null_risk,
    risk,
)
from hybriddp.simulation.crowd import ValueCounts, code_frequencies
from hybriddp.theory import Beta, Setting
from tests.levels import z_limit


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
def test_the_adaptive_weight_has_nearly_the_least_regret_that_is_allowed(
    n_t: int, n_l: int, epsilon: float, variance: float, se: float
) -> None:
    noise_t, noise_l = 2 / (n_t * epsilon) ** 2, 1 / epsilon**2
    trusted, local = groups(n_t, n_l, noise_t, noise_l, variance, se)
    chosen = weights.adaptive(trusted, local)
    assert 0 <= chosen.range.lower <= chosen.range.upper <= 0.25
    assert 0 <= chosen.variance <= chosen.range.upper
    s = np.linspace(chosen.range.lower, chosen.range.upper, 50)
    v_t, v_l = weights.group_variances(trusted, local, s)

    def error(w: np.ndarray) -> np.ndarray:
        return w[:, None] ** 2 * v_t + (1 - w[:, None]) ** 2 * v_l - s / (n_t + n_l)

    def regret(w: np.ndarray) -> np.ndarray:
        return np.asarray((error(w) / (v_t * v_l / (v_t + v_l) - s / (n_t + n_l))).max(axis=1))

    def worse(w: np.ndarray) -> np.ndarray:
        return np.asarray((error(w) / (np.minimum(v_t, v_l) - s / (n_t + n_l))).max(axis=1))

    best = v_l / (v_t + v_l)
    tried, own = np.linspace(best.min(), best.max(), 500), np.array([chosen.weight])
    allowed = WORSE * max(1.0, (n_t + n_l) / (2 * n_t)) ** 2
    assert worse(own)[0] <= 1.1 * max(1 + allowed, worse(tried).min())
    free = tried[np.argmin(regret(tried))]
    limited = weights.allowances(local, chosen.range).variances
    if limited[0] == chosen.range.lower and worse(np.array([free]))[0] <= 1 + 0.5 * allowed:
        assert regret(own)[0] <= 1.06 * regret(tried).min()  # the condition changes nothing


def test_where_nearly_everybody_trusts_the_weight_is_hardly_worse_than_trusted_only() -> None:
    """2,000 trusted and 500 local users, UC-like pay, ε = 4: the weight of least regret erred by 10 % more."""
    mean, variance = 39_531 / 2_349_033, (53_254 / 2_349_033) ** 2
    trusted = TrustedStatistics(2000, mean, 2 / 8000**2, laplace=True)
    local = LocalStatistics(500, mean, variance, 0.01, 0.1)
    chosen = weights.adaptive(trusted, local)

    def error(w: float, s: float) -> float:
        v_t, v_l = weights.group_variances(trusted, local, s)
        return w**2 * v_t + (1 - w) ** 2 * v_l - s / 2500

    for s in np.linspace(chosen.range.lower, chosen.range.upper, 50).tolist():
        assert error(chosen.weight, s) <= (1 + WORSE) * error(1.0, s) * (1 + 1e-9)
    assert chosen.weight < 1


def test_with_much_noise_only_the_mean_limits_the_variance() -> None:
    possible = weights.variance_range(*groups(100, 1000, 1e-6, 1.0, variance=0.0, se=5.0, mean=0.1))
    assert possible.lower == 0
    assert possible.upper == pytest.approx(0.1 * 0.9, rel=0.02)
    outside = weights.variance_range(*groups(100, 1000, 1e-6, 1.0, variance=0.0, se=5.0, mean=-3.0))
    assert outside.upper == 1e-6


def test_an_estimate_above_what_is_possible_leaves_smaller_variances_possible() -> None:
    """The reports' estimate of .2 is far above the ceiling of .019: the truth may be much smaller still."""
    trusted, local = groups(2250, 250, 1e-8, 1.0, variance=0.2, se=0.05, mean=0.019)
    possible = weights.variance_range(trusted, local)
    assert possible.lower == 0
    assert possible.upper == pytest.approx(0.019, rel=0.1)
    assert weights.variance_range(*groups(100, 1000, 1e-6, 1.0, variance=0.4, se=0.01)).lower == pytest.approx(0.23)


def test_less_likely_variances_may_lose_more() -> None:
    trusted, local = groups(900, 100, 1e-8, 0.1, variance=0.05, se=0.01)
    s, factors = weights.allowances(local, weights.variance_range(trusted, local))
    assert s[0] == pytest.approx(0.01)
    assert factors[0] == pytest.approx(math.exp(6))
    assert np.all(factors[s >= 0.03] == 1)
    assert np.all(np.diff(factors) <= 0)
    unknown = groups(900, 100, 1e-8, 0.1, variance=0.0, se=math.inf)
    assert set(weights.allowances(unknown[1], weights.variance_range(*unknown)).factors.tolist()) == {1.0}


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 1.5, 8])
def test_the_reports_estimate_the_variance_without_bias(epsilon: float) -> None:
    """The mean over all codes of each row is exact; a t-test over 800 groups, and the spread that they have.

    The spread of 800 groups is known to 2.5 %, so one that is 20 % off is seen.
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
    assert abs(z) < z_limit(2, 800)
    assert se.mean() == pytest.approx(variance.std(), rel=z_limit(2) / (2 * 800) ** 0.5)
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


# What the reports of a group say about their own noise


@pytest.mark.repeated
@pytest.mark.parametrize("epsilon", [1.0, 8.0, 10.0, 14.0, 18.0, 20.0])
def test_the_noise_of_reports_is_not_reckoned_too_small_wherever_values_lie(epsilon: float) -> None:
    """Between two rows rounding adds more than on average: at ε = 18 intervals held a constant .5 in .89 of studies."""
    channel = WindowChannel(epsilon=epsilon)
    for x in np.append(np.linspace(0.0, 1.0, 257), 0.5):
        everybody = ValueCounts(np.array([round(x * UNITS)]), np.array([50]))
        found = LocalStatistics.of(code_frequencies(channel, everybody), 50, channel)
        assert found.noise >= (1 - 1e-3) * float(channel.variance(x))


def test_the_worst_rounding_is_halfway_between_the_two_farthest_rows() -> None:
    channel = WindowChannel(epsilon=20.0)
    rows = np.array([float(channel.row_mean(row)) for row in range(channel.n_rows)]) / 2
    gap = np.diff(rows).max()
    assert channel.worst_rounding_variance == pytest.approx((gap / 2) ** 2, rel=1e-3)
    assert channel.worst_rounding_variance == pytest.approx(1.5 * channel.rounding_variance, rel=0.05)


# Groups that differ


@pytest.mark.statistical
@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0, 1.5, 3.0])
@pytest.mark.parametrize(("share", "draw"), [(0.0, "normal"), (1.0, "laplace")])
def test_the_risk_is_that_of_the_rule(lam: float, share: float, draw: str) -> None:
    """One mean square; a scale that is 20 % off is rejected."""
    rng = np.random.default_rng(1)
    y = rng.standard_normal(1_000_000) if draw == "normal" else rng.laplace(0, 0.5**0.5, 1_000_000)
    with np.errstate(divide="ignore", invalid="ignore"):
        square = (np.where(np.abs(y) > lam, y - lam**2 / y, 0.0) if lam else y) ** 2
    error = square.std() / len(y) ** 0.5
    assert abs(square.mean() - null_risk(lam, share)) < z_limit() * error
    assert abs(square.mean() - 1.2**2 * null_risk(lam, share)) > z_limit() * error


def test_the_smallest_lambda_is_within_its_limit() -> None:
    lam = _smallest_lambda(0.1, 0.5)
    assert lam is not None
    assert null_risk(lam, 0.5) <= 0.1 < null_risk(lam - 1e-6, 0.5)
    assert _smallest_lambda(1e-40, 0.5) is None
    assert _smallest_lambda(1.0, 0.0) == pytest.approx(0.0, abs=1e-6)


def _report(gap: float, n_t: int = 5000, n_l: int = 95_000) -> float:
    trusted = TrustedStatistics(n_t, 0.5 + gap, 2 / n_t**2, laplace=True)
    local = LocalStatistics(n_l, 0.5, 0.08, 1e-4, 1.0)
    return garrote(trusted, local, weights.adaptive(trusted, local), width=10.0).share


def test_a_larger_gap_leaves_less_of_the_extra_weight() -> None:
    shares = [_report(gap) for gap in (0.0, 0.001, 0.05, 0.1, 0.3)]
    assert shares[0] == shares[1] == 1.0
    assert shares[1] > shares[2] > shares[3] > shares[4] > 0
    assert ETA == 0.02


def test_the_price_is_at_most_its_share_of_the_error() -> None:
    trusted, local = TrustedStatistics(5000, 0.5, 8e-8, laplace=True), LocalStatistics(95_000, 0.5, 0.08, 1e-4, 1.0)
    chosen = weights.adaptive(trusted, local)
    found = garrote(trusted, local, chosen, width=10.0)
    v_t, v_l = 0.08 / 5000 + 8e-8, 1.08 / 95_000
    assert 0 < found.price <= ETA * (v_t * v_l / (v_t + v_l) - 0.08 / 100_000)
    assert compare(trusted, local, 0.08, width=10.0).price == 0.0


def test_the_report_is_in_words_and_in_the_units_of_the_values() -> None:
    trusted, local = TrustedStatistics(5000, 0.8, 8e-8, laplace=True), LocalStatistics(95_000, 0.5, 0.08, 1e-4, 1.0)
    found = garrote(trusted, local, weights.adaptive(trusted, local), width=10.0)
    assert found.difference == pytest.approx(3.0)
    assert found.z > 20
    assert "differ clearly" in found.verdict
    same = garrote(
        TrustedStatistics(5000, 0.5, 8e-8, laplace=True), local, weights.adaptive(trusted, local), width=10.0
    )
    assert "agree within what chance explains" in same.verdict


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("lam", [0.0, 0.5, 1.5, 4.0])
def test_the_risk_of_groups_that_differ_meets_that_of_groups_that_are_alike(lam: float, share: float) -> None:
    assert risk(lam, share, 0.0) == pytest.approx(null_risk(lam, share), rel=2e-3, abs=1e-6)
    assert risk(None, share, 3.0) == 9.0
    assert risk(lam, share, 200.0) == pytest.approx(1.0, rel=0.02)


def test_the_risk_is_largest_where_the_difference_can_hardly_be_seen() -> None:
    risks = [risk(1.5, 0.0, theta) for theta in (0, 1, 2, 3, 6)]
    assert risks == pytest.approx([0.12, 0.87, 1.99, 2.11, 1.29], abs=0.01)  # the design's table
