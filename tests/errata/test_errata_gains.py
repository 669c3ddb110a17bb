"""Rows 16 to 20 of docs/errata.md: how large gains are, and where."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from hybriddp._check import FloatArray
from hybriddp.paper.figures.curves import Weight
from hybriddp.paper.figures.rows import THEORY
from hybriddp.paper.figures.salaries import CROSSOVER, STEPS, salary_gains
from hybriddp.theory import Beta, Setting, laplace_critical_users, laplace_gain_at_crossover, laplace_gain_supremum
from tests.errata.settings import laplace_setting
from tests.theory.exact import Exact

STEP = 10 ** (2 / STEPS)  # from one place of the salaries' map to the next


def _gain(setting: Setting) -> FloatArray:
    return setting.gain_over_best(setting.error_known_variance())


def test_row_16_the_largest_gain_is_17_eighths_not_16_sevenths() -> None:
    y = 0.25  # ε = 1, σ = m/2
    c = y / (2 + y) * (1 + 1e-9)  # the crossover at infinitely many users; R falls with c from there
    at_crossover = laplace_gain_at_crossover(trusted_fraction=c, width=1.0, epsilon=1.0, variance=0.25)
    assert at_crossover == pytest.approx(17 / 8, abs=1e-6)
    assert at_crossover < laplace_gain_supremum(epsilon=1.0) == 17 / 8
    assert 2 * (2 - 0) / (2 - y) == pytest.approx(16 / 7)  # the printed bound is the same formula at c = 0
    assert math.isnan(laplace_gain_at_crossover(trusted_fraction=0.01, width=1.0, epsilon=1.0, variance=0.25))
    n = np.geomspace(1e3, 1e13, 41)
    gain = _gain(laplace_setting(n, (1 + np.sqrt((288 + n) / n)) / 18, 1.0, 0.25))  # the instance of the proof
    assert np.all(np.diff(gain) > 0)
    assert gain[-1] == pytest.approx(17 / 8, abs=1e-6)
    assert np.all(gain < 17 / 8)


@pytest.mark.slow
def test_row_16_a_search_for_more_than_17_eighths_fails() -> None:
    def negative(point: np.ndarray) -> float:
        n, c = 10 ** max(point[0], 1.0), 1 / (1 + math.exp(-point[1]))
        epsilon, variance = 1 / (1 + math.exp(-point[2])), 0.25 / (1 + math.exp(-point[3]))
        return -float(_gain(laplace_setting(n, c, epsilon, variance)))

    rng, options = np.random.default_rng(0), {"maxiter": 2000}
    starts = [rng.uniform((2, -4, 0, 0), (9, 0, 8, 8)) for _ in range(6)]
    highest = max(-minimize(negative, start, method="Nelder-Mead", options=options).fun for start in starts)
    assert 2.12 < highest < 17 / 8


def test_row_17_the_constant_weight_loses_one_user_earlier() -> None:
    n = np.arange(9_000, 12_000)
    setting = laplace_setting(n, 0.01, 0.1, 1 / 36)
    r = setting.gain_over_worst(setting.error_hybrid(0.001))
    assert np.array_equal(r < 1, n >= 10_057)
    assert r[n == 10_056] == pytest.approx(1.0000965, abs=5e-8)
    assert r[n == 10_057] == pytest.approx(0.99999837, abs=5e-8)
    for users, below in ((10_056, False), (10_057, True)):  # in rational arithmetic, where nothing rounds
        v, noise = Fraction(1, 36), 2 / (Fraction(users) / 100 / 10) ** 2
        exact = Exact(
            n=Fraction(users), c=Fraction(1, 100), vt=v, vl=v, st=noise, sl=Fraction(200), mt=Fraction(0),
            ml=Fraction(0),
        )  # fmt: skip
        assert (max(exact.hybrid(Fraction(1)), exact.full_local()) < exact.hybrid(Fraction(1, 1000))) == below


def test_row_18_the_critical_number_of_users_is_never_below_one() -> None:
    peaks = {
        (a, epsilon): float(
            laplace_critical_users(trusted_fraction=0.05, width=1.0, epsilon=epsilon, variance=Beta(a, a).variance)
        )
        for a in (10, 1, 0.1)
        for epsilon in (0.1, 1.0)
    }
    assert peaks[1, 1.0] == pytest.approx(1920)
    assert math.isinf(peaks[0.1, 1.0])
    left_of_the_plot = [n for n in peaks.values() if n < 1000]
    assert len(left_of_the_plot) == 4
    assert min(left_of_the_plot) >= 1 / 0.05**2
    assert max(left_of_the_plot) == pytest.approx(451, abs=1)


def test_row_19_the_salaries_gain_exceeds_two_only_for_large_epsilon() -> None:
    rows = salary_gains(Weight.KNOWN_VARIANCE, panel="b")
    line = [row for row in rows if row.source == CROSSOVER]
    gains, epsilons = np.array([row.gain_over_best for row in line]), np.array([row.epsilon for row in line])
    assert np.all(np.diff(gains[epsilons > 1]) > 0)
    assert (line[-1].epsilon, line[-1].trusted_fraction) == pytest.approx((10, 0.025207), abs=5e-7)
    assert gains[-1] == gains.max() == pytest.approx(2.025532551, abs=5e-10)
    assert gains[epsilons <= 1 + 1e-9].max() == pytest.approx(1.99839, abs=5e-6)
    assert np.array_equal(gains > 2, epsilons > 2.3433)
    highest = {row.epsilon: row.gain_over_best for row in line}
    assert all(1 < row.gain_over_best <= highest[row.epsilon] for row in rows if row.source == THEORY)


def test_row_20_the_regions_of_the_salaries_figure_lie_on_the_other_axis() -> None:
    grid = [row for row in salary_gains(Weight.PRIVACY, panel="ab") if row.source == THEORY]
    low, high = ([row for row in grid if row.gain_over_best < 0.5], [row for row in grid if row.gain_over_worst > 1500])
    assert 0.0122 / STEP < max(row.trusted_fraction for row in low) < 0.01225
    assert 6.435 < min(row.epsilon for row in low) < 6.44 * STEP
    for column in {row.trusted_fraction for row in low}:  # no holes: once below, it stays below as ε grows
        inside = [row.gain_over_best < 0.5 for row in grid if row.trusted_fraction == column]
        assert inside == sorted(inside)
    assert 0.0785 < min(row.trusted_fraction for row in high) < 0.079 * STEP
    assert 0.34 / STEP < max(row.epsilon for row in high) < 0.345
    r = np.array([row.gain_over_worst for row in grid])
    top = grid[int(r.argmax())]
    assert (top.trusted_fraction, top.epsilon) == pytest.approx((0.1, 0.1))
    assert r.max() == pytest.approx(2386.945, abs=5e-4)
    assert np.mean((r >= 10) & (r <= 100)) == pytest.approx(0.26, abs=0.01)
    assert np.median(r) == pytest.approx(7.1, abs=0.1)
    assert r.min() > 1
