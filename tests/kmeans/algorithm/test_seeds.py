from fractions import Fraction

import numpy as np
import pytest

from hybriddp.channels.unary import symbol_variance
from hybriddp.kmeans.algorithm.problem import Effort, Problem
from hybriddp.kmeans.algorithm.seeds import FEWEST, MOST, REACH, Sharpness, main_grid, seeds, sharpness
from hybriddp.kmeans.algorithm.step import Published, StepResult
from hybriddp.kmeans.reports.base import Projection
from hybriddp.kmeans.reports.grid import GridQuestion

VIEW = Projection(np.full(5, 0.5), np.eye(5)[:3])
VARIANCES = np.array([0.04, 0.03, 0.02])
EFFORT = Effort(Fraction(15, 100), Fraction(15, 100))


def _problem(n_trusted: int, n_local: int, epsilon: str = "1") -> Problem:
    return Problem(3, np.ones(5), epsilon, 2, n_trusted, n_local)


def test_sharpness_is_one_over_the_standard_error() -> None:
    """Of discrete Laplace noise of the scale 2/.15, and of .15 of the local users."""
    sharp = sharpness(_problem(500, 10_000), EFFORT)
    assert sharp.local == pytest.approx(np.sqrt(1500 / symbol_variance(1.0, 1000)))
    assert sharp.trusted == pytest.approx(500 / (np.sqrt(2) * 2 / 0.15))
    assert sharpness(_problem(0, 0), EFFORT) == Sharpness(0, 0)


@pytest.mark.parametrize(("n_trusted", "n_local"), [(1, 0), (0, 1), (1000, 10_000), (10**9, 10**9)])
def test_the_grid_covers_the_view_and_has_not_too_many_vertices(n_trusted: int, n_local: int) -> None:
    grid = main_grid(_problem(n_trusted, n_local), VIEW, VARIANCES, EFFORT)
    assert len(set(grid.sizes)) == 1
    assert FEWEST <= grid.sizes[0] <= MOST
    vertices = grid.vertices()
    np.testing.assert_allclose(vertices.max(axis=0), REACH * np.sqrt(VARIANCES))
    np.testing.assert_allclose(vertices.min(axis=0), -REACH * np.sqrt(VARIANCES))


@pytest.mark.parametrize("counts", ["three", "nothing", "negative"])
def test_seeds_are_where_the_counts_are(counts: str) -> None:
    grid = GridQuestion(VIEW, np.full(3, -0.4), np.full(3, 0.2), (5, 5, 5))
    full = np.zeros(125, np.int64)
    where = [0, 62, 124]
    if counts == "three":
        full[where] = (2000, 3000, 5000)
    if counts == "negative":
        full -= 100
    talk = seeds(_problem(10_000, 0), grid, 3, 0.02, EFFORT)
    assert next(talk).release is not None
    with pytest.raises(StopIteration) as end:
        talk.send(StepResult((), Published(full, 100.0)))
    found = end.value.value
    assert found.centers.shape == (3, 3)
    assert np.isfinite(found.centers).all()
    assert found.sizes.sum() == pytest.approx(1)
    assert (found.size_variance > 0).all()
    if counts == "three":
        order = np.argsort(found.centers[:, 0])
        np.testing.assert_allclose(found.centers[order], grid.vertices()[where], atol=0.08)
        np.testing.assert_allclose(found.sizes[order], [0.2, 0.3, 0.5], atol=0.05)
