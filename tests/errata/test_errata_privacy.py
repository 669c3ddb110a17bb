"""Rows 1, 2, 3, 21 and 24 of docs/errata.md: where the print promises more privacy than there is, or less."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from hybriddp.theory import UC_SALARIES, gaussian_delta, gaussian_epsilon, gaussian_noise, laplace_noise

DELTA = 1e-7
CLASSIC = math.sqrt(2 * math.log(1.25 / DELTA))  # classic σ for ε = 1 and sensitivity 1


def _published_noise(c: float, honest_share: float) -> tuple[float, float, float]:
    """The weight, its sensitivities are computed from it; the noise's standard deviation an outsider faces."""
    n, m = UC_SALARIES.n_users, UC_SALARIES.width
    noise = gaussian_noise(
        n_users=n, trusted_fraction=c, width=m, epsilon=1.0, delta=DELTA, calibration="classic-unchecked"
    )
    w = float(UC_SALARIES.setting(c, noise).weight_known_variance())
    local_users = (1 - c) * n
    variance = w**2 * noise.trusted + ((1 - w) / local_users) ** 2 * honest_share * local_users * noise.local
    return w, w * m / (c * n), float(variance**0.5)


def test_row_01_the_published_estimate_is_as_private_as_its_least_protected_user() -> None:
    c, n, m = 0.01, UC_SALARIES.n_users, UC_SALARIES.width
    w, trusted_shift, sd = _published_noise(c, honest_share=1.0)
    local_shift = (1 - w) * m / ((1 - c) * n)
    printed = CLASSIC * min(trusted_shift, local_shift) / sd
    assert printed == pytest.approx(4.03e-4, rel=2e-3)
    # Trusted users would need far more than the printed ε′, or a δ of 7 % instead of 1e-7.
    assert CLASSIC * trusted_shift / sd == pytest.approx(0.9795, abs=5e-5)
    assert gaussian_epsilon(delta=DELTA, sensitivity=trusted_shift, sigma=sd) == pytest.approx(0.7906, abs=5e-5)
    assert gaussian_delta(epsilon=printed, sensitivity=trusted_shift, sigma=sd) == pytest.approx(0.068, abs=5e-4)
    assert gaussian_epsilon(delta=DELTA, sensitivity=local_shift, sigma=sd) == pytest.approx(1.841e-4, rel=1e-3)


def test_row_02_replacing_a_point_moves_sums_and_counts_twice_as_far() -> None:
    d, m = 3, 1.0
    budgeted = m * d + 1  # what the printed scale pays for

    def released(point: np.ndarray, centers: np.ndarray) -> np.ndarray:
        """The contribution of one point to the sums and counts of every cluster."""
        nearest = int(np.argmin(((centers - point) ** 2).sum(axis=1)))
        out = np.zeros((len(centers), d + 1))
        out[nearest] = [*point, 1.0]
        return out

    near_corner = np.array([[m] * d, [m - 1e-6] * d])
    worst = np.abs(released(near_corner[0], near_corner) - released(near_corner[1], near_corner)).sum()
    assert worst == pytest.approx(2 * budgeted, rel=1e-5)
    rng = np.random.default_rng(1)
    centers = rng.uniform(0, m, (4, d))
    points = [np.array(corner, float) for corner in np.ndindex(*(2,) * d)]
    ordinary = max(np.abs(released(x, centers) - released(y, centers)).sum() for x in points for y in points)
    assert ordinary > 1.5 * budgeted
    added = max(np.abs(released(x, centers)).sum() for x in points)
    assert added == budgeted  # adding or removing a point is what the scale covers


@pytest.mark.parametrize(("delta", "first_failure"), [(1e-5, 8.42), (1e-7, 9.10), (1e-9, 9.62)])
def test_row_03_classic_gaussian_noise_fails_for_large_epsilon(delta: float, first_failure: float) -> None:
    def overspent(epsilon: float) -> float:
        sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
        return float(gaussian_delta(epsilon=epsilon, sensitivity=1.0, sigma=sigma)) / delta - 1

    assert brentq(overspent, 1.0, 20.0) == pytest.approx(first_failure, abs=0.005)
    assert all(overspent(epsilon) < 0 for epsilon in np.linspace(0.05, first_failure - 0.01, 200))
    assert overspent(first_failure + 0.5) > 0


def test_row_03_where_it_holds_the_analytic_noise_is_smaller() -> None:
    assert gaussian_epsilon(delta=DELTA, sensitivity=1.0, sigma=CLASSIC) == pytest.approx(0.80816, abs=5e-6)
    args = {"n_users": 100, "trusted_fraction": 0.5, "width": 1.0, "epsilon": 1.0, "delta": DELTA}
    classic = gaussian_noise(**args, calibration="classic-unchecked").local ** 0.5
    analytic = gaussian_noise(**args).local ** 0.5
    assert analytic / classic == pytest.approx(1 - 0.182, abs=5e-4)


@pytest.mark.parametrize(("c", "expected"), [(0.001, 4.2157e-3), (0.01, 6.5279e-4), (0.1, 2.9650e-4)])
def test_row_21_local_users_gain_from_laplace_noise_too(c: float, expected: float) -> None:
    n, m = UC_SALARIES.n_users, UC_SALARIES.width
    noise = laplace_noise(n_users=n, trusted_fraction=c, width=m, epsilon=1.0)
    w = float(UC_SALARIES.setting(c, noise).weight_known_variance())
    a_trusted, a_local = w / c, (1 - w) / (1 - c)
    assert a_local / max(a_trusted, a_local) == pytest.approx(expected, rel=2e-4)
    # One honest local user beside the curator: the density of the sum of two Laplace variables in closed form.
    wide, narrow = (max(a_trusted, a_local), min(a_trusted, a_local))  # scales, in units of m/(n ε)
    shift = a_local  # one local user replaced, at ε = 1

    def log_density(x: np.ndarray) -> np.ndarray:
        tail = (narrow / wide) * np.exp(-x / narrow + x / wide)
        return np.asarray(-x / wide + np.log1p(-tail))

    x = np.linspace(0.0, 60 * wide, 200_001)[1:]
    loss = log_density(x) - log_density(x + shift)
    assert np.all(np.diff(loss) > -1e-12)  # log-concave: the loss grows towards its bound
    assert loss.max() == pytest.approx(shift / wide, rel=1e-6)


def test_row_24_with_every_local_user_against_her_a_trusted_user_gains_nothing() -> None:
    c, n, m = 0.01, UC_SALARIES.n_users, UC_SALARIES.width
    _, shift, sd = _published_noise(c, honest_share=0.0)
    unamplified = gaussian_epsilon(delta=DELTA, sensitivity=1.0, sigma=CLASSIC)
    assert gaussian_epsilon(delta=DELTA, sensitivity=shift, sigma=sd) == pytest.approx(unamplified, rel=1e-9)
    # Publishing the trusted group's own mean as well gives that same, un-amplified guarantee.
    assert gaussian_epsilon(delta=DELTA, sensitivity=m / (c * n), sigma=m * CLASSIC / (c * n)) == pytest.approx(
        unamplified, rel=1e-9
    )
