"""The numbers that the paper prints, or that its figures show, as far as they can be checked."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from hybriddp.theory import UC_SALARIES, Beta, Setting, laplace_gain_supremum, laplace_noise

from .exact import Exact


def homogeneous(n: object, c: object, width: float, epsilon: object, variance: object) -> Setting:
    noise = laplace_noise(n_users=n, trusted_fraction=c, width=width, epsilon=epsilon)
    return Setting(
        n_users=n,
        trusted_fraction=c,
        trusted_variance=variance,
        local_variance=variance,
        trusted_noise=noise.trusted,
        local_noise=noise.local,
    )


def salaries(c: object, epsilon: object) -> Setting:
    return homogeneous(UC_SALARIES.n_users, c, UC_SALARIES.width, epsilon, UC_SALARIES.variance)


def best_gain(setting: Setting) -> np.ndarray:
    return np.asarray(setting.gain_over_best(setting.error_known_variance()))


def test_a_constant_weight_loses_to_both_from_10057_users_on() -> None:
    n = np.arange(9_000, 12_000)
    setting = homogeneous(n, 0.01, 1.0, 0.1, 1 / 36)
    gain = setting.gain_over_worst(setting.error_hybrid(0.001))
    assert np.array_equal(gain < 1, n >= 10_057)
    # The same in rational arithmetic, where nothing rounds.
    for users, below in ((10_056, False), (10_057, True)):
        exact = Exact(
            n=Fraction(users),
            c=Fraction(1, 100),
            vt=Fraction(1, 36),
            vl=Fraction(1, 36),
            st=2 / (Fraction(users) / 100 / 10) ** 2,
            sl=Fraction(200),
            mt=Fraction(0),
            ml=Fraction(0),
        )
        worst = max(exact.hybrid(Fraction(1)), exact.full_local())
        assert (worst < exact.hybrid(Fraction(1, 1000))) == below


def crossover(epsilon: float) -> float:
    """The trusted fraction at which both single models are equally good for the salaries."""

    def lead(c: float) -> float:
        return float(salaries(c, epsilon).error_trusted_only() / salaries(c, epsilon).error_full_local() - 1)

    return float(brentq(lead, 1e-4, 0.5, xtol=1e-15))


@pytest.mark.slow
def test_salaries_the_largest_gain_of_the_figure() -> None:
    c, epsilon = np.geomspace(0.001, 0.1, 800)[:, None], np.geomspace(0.1, 10, 150)[None, :]
    gain = best_gain(salaries(c, epsilon))
    # The gain has its ridge, a kink, on the crossover; it rises along the ridge up to the edge of the box.
    ridge = np.array([best_gain(salaries(crossover(e), e)) for e in epsilon[0]])
    assert np.all(np.diff(ridge[epsilon[0] > 1]) > 0)
    assert np.all(gain <= ridge + 1e-12)
    assert ridge.max() == ridge[-1] == pytest.approx(2.025532551, abs=5e-10)
    assert crossover(10.0) == pytest.approx(0.025207, abs=5e-7)


def test_salaries_the_peak_stays_below_two_where_epsilon_is_at_most_one() -> None:
    peak = max(float(best_gain(salaries(crossover(e), e))) for e in np.linspace(0.1, 1, 46))
    assert peak == pytest.approx(1.99839, abs=5e-6)


def test_gains_approach_17_eighths_and_never_pass_it() -> None:
    n = np.geomspace(1e3, 1e13, 41)
    c = (1 + np.sqrt((288 + n) / n)) / 18  # the instance in the proof of the Corollary
    gain = best_gain(homogeneous(n, c, 1.0, 1.0, 0.25))
    assert np.all(np.diff(gain) > 0)
    assert gain[-1] == pytest.approx(17 / 8, abs=1e-6)
    assert np.all(gain < 17 / 8)
    assert laplace_gain_supremum(epsilon=1.0) == 17 / 8


@pytest.mark.slow
def test_a_search_for_more_than_17_eighths_fails() -> None:
    def negative(point: np.ndarray) -> float:
        n, c = 10 ** max(point[0], 1.0), 1 / (1 + math.exp(-point[1]))
        epsilon, variance = 1 / (1 + math.exp(-point[2])), 0.25 / (1 + math.exp(-point[3]))
        return -float(best_gain(homogeneous(n, c, 1.0, epsilon, variance)))

    rng = np.random.default_rng(0)
    found = [
        -minimize(
            negative, rng.uniform((2, -4, 0, 0), (9, 0, 8, 8)), method="Nelder-Mead", options={"maxiter": 2000}
        ).fun
        for _ in range(6)
    ]
    assert max(found) < 17 / 8
    assert max(found) > 2.12


def test_beta_figure_range_of_gains() -> None:
    n = np.union1d(np.geomspace(1e3, 1e5, 4001), [1920.0])  # 1920 is where the highest curve peaks
    gains = [
        best_gain(homogeneous(n, c, 1.0, epsilon, Beta(a, a).variance))
        for a in (10, 1, 0.1)
        for c in (0.005, 0.05)
        for epsilon in (0.1, 1)
    ]
    assert np.min(gains) == pytest.approx(1.005, abs=5e-4)
    assert np.max(gains) == pytest.approx(2.0304, abs=5e-5)


def test_variance_skew_changes_the_gain_by_less_than_a_tenth() -> None:
    n = np.geomspace(1e3, 1e5, 2001)
    low, high = Beta(10, 10).variance, Beta(0.1, 0.1).variance
    largest = 0.0
    for trusted, local in ((low, high), (high, low)):
        changes = []
        for c in (0.005, 0.05):
            for epsilon in (0.1, 1.0):
                noise = laplace_noise(n_users=n, trusted_fraction=c, width=1.0, epsilon=epsilon)
                skewed = Setting(
                    n_users=n,
                    trusted_fraction=c,
                    trusted_variance=trusted,
                    local_variance=local,
                    trusted_noise=noise.trusted,
                    local_noise=noise.local,
                )
                changes.append(best_gain(skewed) - best_gain(homogeneous(n, c, 1.0, epsilon, trusted)))
        largest = max(largest, float(np.max(np.abs(changes))))
        assert 0.6 < np.mean(np.abs(changes) < 0.01) < 0.8  # "typically", in the paper's words
    assert largest == pytest.approx(0.0982, abs=5e-5)


def test_mean_skew_usually_hurts_and_can_help_at_few_users() -> None:
    def gain(n: float, shift: float) -> float:
        noise = laplace_noise(n_users=n, trusted_fraction=0.05, width=2.0, epsilon=0.1)
        shifted = Setting(
            n_users=n,
            trusted_fraction=0.05,
            trusted_variance=1 / 12,
            local_variance=1 / 12,
            trusted_noise=noise.trusted,
            local_noise=noise.local,
            trusted_mean=1 - shift,
            local_mean=1 + shift,
        )
        weight = shifted.without_mean_gap().weight_known_variance()
        return float(shifted.gain_over_best(shifted.error_hybrid(weight)))

    assert gain(1e5, 0.25) < 0.1 * gain(1e5, 0.0)
    assert gain(1e3, 0.0) == pytest.approx(1.382, abs=5e-4)
    assert gain(1e3, 0.25) == pytest.approx(1.581, abs=5e-4)
