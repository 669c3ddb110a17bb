from itertools import product

import numpy as np
import pytest

from hybriddp.kmeans.algorithm.low_dim import box_grid, local_grid_users, low_dim_algorithm
from hybriddp.kmeans.algorithm.problem import Problem


def _problem(widths: list[float], n_trusted: int, n_local: int, k: int = 4, epsilon: str = "1") -> Problem:
    return Problem(k, np.array(widths), epsilon, n_trusted, n_local)


@pytest.mark.parametrize("widths", [[1.0], [1.0, 1.0], [1.0, 0.4], [1.0, 1.0, 1.0], [0.3, 1.0, 0.7], [1.0, 0.01, 1e-9]])
def test_a_grid_covers_the_box_and_has_not_too_many_vertices(widths: list[float]) -> None:
    groups = [(0, 1), (1, 0), (1000, 0), (10**6, 0), (0, 10**7), (10**9, 10**9)]
    wrong = {}
    for k, (n_trusted, n_grid) in product([1, 30, 1024], groups):
        grid = box_grid(_problem(widths, n_trusted, 2 * n_grid, k), n_grid)
        lower, upper = grid.vertices().min(axis=0), grid.vertices().max(axis=0)
        fits = max(2 ** len(widths), min(2 * k, 4096)) <= grid.n_symbols <= 4096
        if not (fits and np.allclose(lower, 0, atol=0) and np.allclose(upper, widths, rtol=1e-7, atol=0)):
            wrong[k, n_trusted, n_grid] = grid
    assert wrong == {}


def test_a_square_grid_has_the_vertices_that_balance_noise_and_rounding() -> None:
    r"""$(n\epsilon/5.6)^{2d/(2 + d)}$: 7,000 users with ε = 1 give 1,250 in the plane; 4096 are the most."""
    assert box_grid(_problem([1.0, 1.0], 7_000, 0), 0).n_symbols == pytest.approx(1250, rel=0.1)
    assert box_grid(_problem([1.0], 7_000, 0), 0).n_symbols == pytest.approx(1250 ** (2 / 3), rel=0.1)
    assert box_grid(_problem([1.0] * 3, 1_400, 0), 0).n_symbols == pytest.approx(250 ** (6 / 5), rel=0.35)


@pytest.mark.parametrize("thin", [1e-3, 1e-6, 1e-12, 1e-100])
def test_a_thin_box_has_a_grid_as_of_its_wide_directions(thin: float) -> None:
    """With two vertices in the thin one, and about as many in all as in a square box."""
    grid = box_grid(_problem([1.0, thin], 7_000, 0), 0)
    assert grid.sizes[1] == 2
    assert grid.n_symbols == pytest.approx(1250, rel=0.1)
    np.testing.assert_allclose(grid.step, [1 / (grid.sizes[0] - 1), thin])


def test_local_users_are_asked_for_the_grid_where_theirs_is_sharper() -> None:
    assert local_grid_users(_problem([1.0, 1.0], 100_000, 100_000)) == 0
    assert local_grid_users(_problem([1.0, 1.0], 10, 100_000)) == 50_000
    assert local_grid_users(_problem([1.0, 1.0], 0, 100_000)) == 50_000
    assert local_grid_users(_problem([1.0, 1.0], 0, 1)) == 1  # there is nobody else to ask
    assert local_grid_users(_problem([1.0, 1.0], 5, 0)) == 0


@pytest.mark.parametrize(("n_trusted", "n_local"), [(0, 1), (0, 10_000), (10, 10_000), (10_000, 10_000), (100, 0)])
def test_the_first_step_asks_whoever_is_there(n_trusted: int, n_local: int) -> None:
    step = next(low_dim_algorithm(_problem([1.0, 1.0], n_trusted, n_local)))
    assert bool(step.asks) == (local_grid_users(_problem([1.0, 1.0], n_trusted, n_local)) > 0)
    assert (step.release is not None) == (n_trusted > 0)
    assert step.asks or step.release
