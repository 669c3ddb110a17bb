"""The errors against the estimators themselves: draw values and noise, form the estimate, square the error.

A test compares the standardized means of T squared errors of six estimators. At T = 60,000 the skewness of squared
Laplace errors, 6.6 at most, makes a score below the limit ten times as likely as a normal one.
"""

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.theory import Setting, laplace_noise
from tests.levels import z_limit

TRIALS = 60_000
LIMIT = z_limit(10 * 6)

# (users, trusted users, ε, spread of the trusted values, spread of the local values, mean gap)
CASES = [
    (40, 8, 2.0, 1.0, 1.0, 0.0),
    (40, 8, 8.0, 0.2, 1.0, 0.0),
    (60, 3, 4.0, 1.0, 0.3, 0.25),
    (12, 6, 1.0, 0.5, 0.5, -0.4),
]


def _setting(case: tuple[int, int, float, float, float, float]) -> Setting:
    n, n_trusted, epsilon, spread_t, spread_l, gap = case
    noise = laplace_noise(n_users=n, trusted_fraction=n_trusted / n, width=1.0, epsilon=epsilon)
    return Setting(
        n_users=n,
        trusted_fraction=n_trusted / n,
        trusted_variance=spread_t**2 / 12,  # uniform values
        local_variance=spread_l**2 / 12,
        trusted_noise=noise.trusted,
        local_noise=noise.local,
        trusted_mean=gap,
    )


def _squared_errors(case: tuple[int, int, float, float, float, float], noise_scale: float) -> dict[str, FloatArray]:
    n, n_trusted, epsilon, spread_t, spread_l, gap = case
    rng = np.random.default_rng(20200713)
    trusted = gap + spread_t * (rng.random((TRIALS, n_trusted)) - 0.5)
    local = spread_l * (rng.random((TRIALS, n - n_trusted)) - 0.5)
    benchmark = (trusted.sum(axis=1) + local.sum(axis=1)) / n
    b = noise_scale / epsilon
    private_trusted = trusted.mean(axis=1) + rng.laplace(0, b / n_trusted, TRIALS)
    reports = local + rng.laplace(0, b, local.shape)
    trusted_reports = trusted + rng.laplace(0, b, trusted.shape)
    answers = {
        "trusted_only": private_trusted,
        "full_local": (reports.sum(axis=1) + trusted_reports.sum(axis=1)) / n,
        "local_only": reports.mean(axis=1),
    }
    setting = _setting(case)
    for name in ("naive", "privacy", "known_variance"):
        w = float(getattr(setting, f"weight_{name}")())
        answers[name] = w * private_trusted + (1 - w) * reports.mean(axis=1)
    return {name: (answer - benchmark) ** 2 for name, answer in answers.items()}


def _z(setting: Setting, squared: dict[str, FloatArray]) -> dict[str, float]:
    predicted = {name: getattr(setting, f"error_{name}")() for name in ("trusted_only", "full_local", "local_only")}
    for name in ("naive", "privacy", "known_variance"):
        predicted[name] = setting.error_hybrid(getattr(setting, f"weight_{name}")())
    return {
        name: float((values.mean() - predicted[name]) / (values.std() / np.sqrt(TRIALS)))
        for name, values in squared.items()
    }


@pytest.mark.statistical
@pytest.mark.representative
@pytest.mark.parametrize("case", CASES)
def test_observed_errors_are_the_predicted_ones(case: tuple[int, int, float, float, float, float]) -> None:
    z = _z(_setting(case), _squared_errors(case, noise_scale=1.0))
    assert max(map(abs, z.values())) < LIMIT, z


@pytest.mark.statistical
@pytest.mark.representative
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_the_same_test_rejects_a_noise_scale_that_is_20_percent_off(
    case: tuple[int, int, float, float, float, float], factor: float
) -> None:
    z = _z(_setting(case), _squared_errors(case, noise_scale=factor))
    # Every estimator whose error is at least a quarter noise must be found out.
    setting = _setting(case)
    noisy = {"full_local", "local_only"}
    if setting.parts_trusted_only().privacy > 0.25 * setting.error_trusted_only():
        noisy.add("trusted_only")
    assert all(abs(z[name]) > LIMIT for name in noisy), z
