import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from hybriddp.amplification.amplify import _weight
from hybriddp.channels import WindowChannel
from hybriddp.mean import MeanStudy, published, weights
from hybriddp.mean.weights import LocalStatistics, TrustedStatistics
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


@pytest.mark.parametrize("epsilon", [0.5, 1.5, 8])
def test_the_reports_estimate_the_variance_without_bias(epsilon: float) -> None:
    """The mean over all codes of each row is exact; z-test over 200 groups, a false alarm has probability 1e-7."""
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
    for seed in range(200):
        x = rng.beta(0.5, 2.0, 20_000)
        counts = np.bincount(channel.randomize(x, bounds=(0, 1), random_state=seed), minlength=256)
        found.append(LocalStatistics.of(counts / counts.sum(), int(counts.sum()), channel))
    variance, se = np.array([g.variance for g in found]), np.array([g.variance_se for g in found])
    z = (variance.mean() - population.variance) / (variance.std() / 200**0.5)
    assert abs(z) < 5.4
    assert se.mean() == pytest.approx(variance.std(), rel=0.25)
    assert np.mean([g.noise for g in found]) == pytest.approx(channel.variance(x).mean(), rel=0.02)


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
