"""The heat maps of the salaries, against what the errata page states of them."""

import numpy as np
import pytest

from hybriddp.paper.figures.curves import Weight
from hybriddp.paper.figures.rows import THEORY, GainRow
from hybriddp.paper.figures.salaries import CROSSOVER, STEPS, salary_gains
from hybriddp.theory import UC_SALARIES, laplace_critical_users

KNOWN = salary_gains(Weight.KNOWN_VARIANCE, panel="b")
PRIVATE = salary_gains(Weight.PRIVACY, panel="ab")
STEP = 10 ** (2 / STEPS)


def _grid(rows: list[GainRow]) -> list[GainRow]:
    return [row for row in rows if row.source == THEORY]


def _crossover(rows: list[GainRow]) -> list[GainRow]:
    return [row for row in rows if row.source == CROSSOVER]


def test_the_grid_spans_the_paper_box() -> None:
    for rows in (KNOWN, PRIVATE):
        grid = _grid(rows)
        assert len(grid) == (STEPS + 1) ** 2
        assert {row.n_users for row in rows} == {252_540}
        assert (grid[0].trusted_fraction, grid[-1].trusted_fraction) == pytest.approx((0.001, 0.1))
        assert (grid[0].epsilon, grid[-1].epsilon) == pytest.approx((0.1, 10))


def test_on_the_line_both_single_models_err_alike() -> None:
    for row in _crossover(KNOWN):
        users = laplace_critical_users(
            trusted_fraction=row.trusted_fraction,
            width=UC_SALARIES.width,
            epsilon=row.epsilon,
            variance=UC_SALARIES.variance,
        )
        assert float(users) == pytest.approx(UC_SALARIES.n_users, rel=1e-9)
        assert row.gain_over_best == pytest.approx(row.gain_over_worst, rel=1e-9)


def test_figure_2_peaks_where_erratum_19_says() -> None:
    line = _crossover(KNOWN)
    top = max(line, key=lambda row: row.gain_over_best)
    assert top.epsilon == pytest.approx(10)
    assert top.trusted_fraction == pytest.approx(0.025207, abs=5e-7)
    assert top.gain_over_best == pytest.approx(2.025532551, abs=5e-10)
    private = [row.gain_over_best for row in line if row.epsilon <= 1 + 1e-9]
    assert max(private) == pytest.approx(1.99839, abs=5e-6)
    assert all((row.gain_over_best > 2) == (row.epsilon > 2.3433) for row in line)


def test_figure_2_is_nowhere_higher_than_on_the_line_and_nowhere_below_1() -> None:
    highest = {row.epsilon: row.gain_over_best for row in _crossover(KNOWN)}
    assert all(1 < row.gain_over_best <= highest[row.epsilon] for row in _grid(KNOWN))


def test_figure_8_loses_at_small_fractions_and_large_epsilon() -> None:
    low = [row for row in _grid(PRIVATE) if row.gain_over_best < 0.5]
    fractions, epsilons = [row.trusted_fraction for row in low], [row.epsilon for row in low]
    assert 0.0122 / STEP < max(fractions) < 0.01225
    assert 6.435 < min(epsilons) < 6.44 * STEP
    for column in set(fractions):  # no holes: once below, it stays below as ε grows
        inside = [row.gain_over_best < 0.5 for row in _grid(PRIVATE) if row.trusted_fraction == column]
        assert inside == sorted(inside)


def test_figure_8_gains_most_over_the_worse_model_at_large_fractions_and_small_epsilon() -> None:
    grid = _grid(PRIVATE)
    high = [row for row in grid if row.gain_over_worst > 1500]
    assert 0.0785 < min(row.trusted_fraction for row in high) < 0.079 * STEP
    assert 0.34 / STEP < max(row.epsilon for row in high) < 0.345
    top = max(grid, key=lambda row: row.gain_over_worst)
    assert (top.trusted_fraction, top.epsilon) == pytest.approx((0.1, 0.1))
    assert top.gain_over_worst == pytest.approx(2386.945, abs=5e-4)


def test_figure_8_is_between_10_and_100_in_a_quarter_of_the_box() -> None:
    r = np.array([row.gain_over_worst for row in _grid(PRIVATE)])
    assert np.mean((r >= 10) & (r <= 100)) == pytest.approx(0.26, abs=0.01)
    assert np.median(r) == pytest.approx(7.1, abs=0.1)
    assert r.min() > 1
