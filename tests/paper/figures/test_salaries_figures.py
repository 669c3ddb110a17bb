"""The heat maps of the salaries; `tests.errata.test_errata_gains` has what the errata page states of them."""

import pytest

from hybriddp.paper.figures.curves import Weight
from hybriddp.paper.figures.rows import THEORY
from hybriddp.paper.figures.salaries import CROSSOVER, STEPS, salary_gains
from hybriddp.theory import UC_SALARIES, laplace_critical_users


def test_the_grid_spans_the_paper_box() -> None:
    for weight in Weight:
        rows = salary_gains(weight, panel="b")
        grid = [row for row in rows if row.source == THEORY]
        assert len(grid) == (STEPS + 1) ** 2
        assert {row.n_users for row in rows} == {252_540}
        assert (grid[0].trusted_fraction, grid[-1].trusted_fraction) == pytest.approx((0.001, 0.1))
        assert (grid[0].epsilon, grid[-1].epsilon) == pytest.approx((0.1, 10))


def test_on_the_line_both_single_models_err_alike() -> None:
    for row in salary_gains(Weight.KNOWN_VARIANCE, panel="b"):
        if row.source == CROSSOVER:
            users = laplace_critical_users(
                trusted_fraction=row.trusted_fraction,
                width=UC_SALARIES.width,
                epsilon=row.epsilon,
                variance=UC_SALARIES.variance,
            )
            assert float(users) == pytest.approx(UC_SALARIES.n_users, rel=1e-9)
            assert row.gain_over_best == pytest.approx(row.gain_over_worst, rel=1e-9)
