"""Grids: what becomes of a point, exactly."""

import numpy as np
import pytest

from hybriddp.kmeans.reports.base import GridQuestion, Projection
from tests.kmeans.codebooks import symbol_shares

GRID = GridQuestion(None, np.array([0.0, -0.5]), np.array([0.25, 0.5]), (5, 3))


def test_vertices_are_in_the_order_of_their_symbols() -> None:
    vertices = GRID.vertices()
    assert vertices.shape == (GRID.n_symbols, 2) == (15, 2)
    steps = np.rint((vertices - GRID.low) / GRID.step).astype(int)
    np.testing.assert_array_equal(GRID.index(steps), np.arange(15))


@pytest.mark.parametrize("x", [0.0, 0.1, 0.25, 0.6, 0.99, 1.0])
def test_rounding_to_the_grid_keeps_the_mean(x: float) -> None:
    grid = GridQuestion(None, np.array([0.0]), np.array([0.25]), (5,))
    shares = symbol_shares(grid, np.array([x]), 0)
    assert shares @ grid.vertices()[:, 0] == pytest.approx(x, abs=0.25 / 4096)
    assert np.count_nonzero(shares) <= 2


def test_points_beyond_the_grid_are_at_its_border() -> None:
    symbols = GRID.symbols(np.array([[-9.0, -9], [9, 9]]), np.zeros(2, int), np.random.default_rng(0))
    np.testing.assert_array_equal(symbols, [0, 14])


def test_a_view_looks_in_its_own_directions() -> None:
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    view = Projection(np.array([0.5, 0.5]), turn)
    seen = GridQuestion(view, np.array([-1.0, -1.0]), np.array([0.5, 0.5]), (5, 5))
    points = np.random.default_rng(11).random((50, 2))
    expected = np.array([turn @ (x - [0.5, 0.5]) for x in points])
    np.testing.assert_allclose(seen.position(points), (expected + 1) / 0.5)


def test_the_number_of_vertices_does_not_wrap_around() -> None:
    assert GridQuestion(None, np.zeros(6), np.ones(6), (4096,) * 6).n_symbols == 2**72
