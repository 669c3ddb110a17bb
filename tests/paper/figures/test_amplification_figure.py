import numpy as np
import pytest

from hybriddp.paper.figures.amplification import COLLUDING, FRACTIONS, UNAMPLIFIED, theory
from hybriddp.paper.figures.rows import AmplificationRow
from hybriddp.theory import gaussian_epsilon

ROWS = theory()


def _at(c: float, f: float) -> AmplificationRow:
    return min(ROWS, key=lambda row: abs(np.log(row.trusted_fraction / c)) + abs(row.colluding - f))


def test_the_corners_are_those_of_the_corrected_theorem() -> None:
    """Printed 1.780e-3, exact 0.3454 and 9.49e-4 at c = 0.1 %; 5.530e-5 and 0.8079 at 10 %."""
    few = _at(0.001, 0.0)
    assert few.printed == pytest.approx(1.780e-3, rel=1e-3)
    assert few.exact_trusted == pytest.approx(0.34541683, rel=1e-7)
    assert few.exact_local == pytest.approx(9.494e-4, rel=1e-3)
    many = _at(0.1, 0.0)
    assert many.printed == pytest.approx(5.530e-5, rel=1e-3)
    assert many.exact_trusted == pytest.approx(0.8079, rel=1e-3)


def test_the_print_is_the_local_users_and_far_below_the_trusted_ones() -> None:
    assert all(row.weight > row.trusted_fraction for row in ROWS)
    assert all(row.printed == row.classic_local for row in ROWS)
    assert min(row.exact_trusted / row.printed for row in ROWS) > 100


def test_nobody_gets_less_than_without_amplification_and_collusion_never_helps() -> None:
    sigma = (2 * np.log(1.25 / 1e-7)) ** 0.5
    assert float(gaussian_epsilon(delta=1e-7, sensitivity=1.0, sigma=sigma)) == pytest.approx(UNAMPLIFIED, abs=1e-5)
    trusted = np.array([row.exact_trusted for row in ROWS]).reshape(len(FRACTIONS), len(COLLUDING))
    local = np.array([row.exact_local for row in ROWS]).reshape(len(FRACTIONS), len(COLLUDING))
    assert trusted.max() < UNAMPLIFIED + 1e-5
    for grid in (trusted, local):
        assert np.all(np.diff(grid, axis=1) >= 0)
