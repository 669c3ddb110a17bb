"""First centers from noisy frequencies on a grid."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import nnls

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.density import GridFrequencies, blended
from hybriddp.kmeans.algorithm.high_dim import bump_weights, main_grid, seeds
from hybriddp.kmeans.algorithm.problem import Effort, Problem, PublishedVector, StepResult
from hybriddp.kmeans.algorithm.tuning import BUMP_PENALTY, MAIN_REACH, MAIN_SIZES, MAIN_VERTICES
from hybriddp.kmeans.reports.base import GridQuestion, Projection


def test_blends_are_by_inverse_variance_at_the_average_vertex() -> None:
    """By hand, for two vertices."""
    trusted = GridFrequencies(np.array([0.6, 0.4]), 0.02, 100, 1.0)
    local = GridFrequencies(np.array([0.2, 0.8]), 0.01, 1000, 0.0)
    blend = blended(trusted, local)
    a, b = 0.02 + 1 / 200, 0.01 + 1 / 2000
    weight = (1 / a) / (1 / a + 1 / b)
    assert blend.trusted_weight == pytest.approx(weight)
    np.testing.assert_allclose(blend.values, weight * trusted.values + (1 - weight) * local.values)
    variance = weight**2 * 0.02 + (1 - weight) ** 2 * 0.01
    assert blend.variance == pytest.approx(variance)
    assert blend.n_users == pytest.approx(1 / (weight**2 / 100 + (1 - weight) ** 2 / 1000))
    assert variance + 1 / 2 / blend.n_users < min(a, b)


# On the directions of largest variance --------------------------------------------------------------------------------

VIEW = Projection(np.full(5, 0.5), np.eye(5)[:3])
VARIANCES = np.array([0.04, 0.03, 0.02])
EFFORT = Effort(Fraction(15, 100), Fraction(15, 100))


def _problem(n_trusted: int, n_local: int, epsilon: str = "1") -> Problem:
    return Problem(3, np.ones(5), epsilon, n_trusted, n_local)


@pytest.mark.parametrize(("n_trusted", "n_local"), [(1, 0), (0, 1), (1000, 10_000), (10**9, 10**9)])
def test_the_grid_covers_the_view_and_has_not_too_many_vertices(n_trusted: int, n_local: int) -> None:
    grid = main_grid(_problem(n_trusted, n_local), VIEW, VARIANCES, EFFORT)
    assert len(set(grid.sizes)) == 1
    assert MAIN_SIZES[0] <= grid.sizes[0] <= MAIN_SIZES[1]
    vertices = grid.vertices()
    np.testing.assert_allclose(vertices.max(axis=0), MAIN_REACH * np.sqrt(VARIANCES))
    np.testing.assert_allclose(vertices.min(axis=0), -MAIN_REACH * np.sqrt(VARIANCES))


@pytest.mark.parametrize(
    ("epsilon", "k", "d", "axes"),
    [("7", 26, 16, 5), ("7", 5, 16, 4), ("7", 26, 4, 4), ("1", 26, 16, 3), ("7", 2, 9, 3)],
)
def test_the_grid_has_more_axes_where_there_is_little_noise(epsilon: str, k: int, d: int, axes: int) -> None:
    """But no more than clusters may differ in, or than there are."""
    problem = Problem(k, np.ones(d), epsilon, 0, 100_000)
    grid = main_grid(problem, Projection(np.zeros(d), np.eye(d)), np.full(d, 0.03), EFFORT)
    assert len(grid.sizes) == axes
    assert grid.n_symbols <= MAIN_VERTICES


@pytest.mark.parametrize("counts", ["three", "nothing", "negative"])
def test_seeds_are_where_the_counts_are(counts: str) -> None:
    grid = GridQuestion(VIEW, np.full(3, -0.4), np.full(3, 0.2), (5, 5, 5))
    full = np.zeros(125, np.int64)
    where = [0, 62, 124]
    if counts == "three":
        full[where] = (2000, 3000, 5000)
    if counts == "negative":
        full -= 100
    algorithm = seeds(_problem(10_000, 0), grid, 3, 0.02, EFFORT)
    assert next(algorithm).release is not None
    with pytest.raises(StopIteration) as end:
        algorithm.send(StepResult((), PublishedVector(full, 100.0)))
    found = end.value.value
    assert found.centers.shape == (3, 3)
    assert np.isfinite(found.centers).all()
    assert found.sizes.sum() == pytest.approx(1)
    assert (found.size_variance > 0).all()
    if counts == "three":
        order = np.argsort(found.centers[:, 0])
        np.testing.assert_allclose(found.centers[order], grid.vertices()[where], atol=0.08)
        np.testing.assert_allclose(found.sizes[order], [0.2, 0.3, 0.5], atol=0.05)


# Bumps: the lasso min |Bw - y|^2/2 + penalty * sum(w) over w >= 0, against its optimality conditions and another solver


def _matrix(grid: GridQuestion, bump_sd: float) -> FloatArray:
    """Bumps at all vertices, as seen at all vertices, by the definition; columns add up to 1."""
    vertices = grid.vertices()
    width = np.sqrt(bump_sd**2 + grid.step**2 / 6)
    bumps: FloatArray = np.exp(-0.5 * np.sum(((vertices[:, None] - vertices) / width) ** 2, axis=2))
    bumps /= bumps.sum(axis=0)
    return bumps


def _penalty(grid: GridQuestion, bump_sd: float, noise_sd: float) -> float:
    """A multiple of the noise on the product of the target with an average bump."""
    norms = []
    for size, step in zip(grid.sizes, grid.step, strict=True):
        line = GridQuestion(None, np.zeros(1), np.array([step]), (size,))
        norms.append(np.linalg.norm(_matrix(line, bump_sd), axis=0).mean())
    return BUMP_PENALTY * noise_sd * float(np.prod(norms))


CASES = [
    (GridQuestion(None, np.zeros(1), np.array([0.05]), (21,)), 0.06, 0.01),
    (GridQuestion(None, np.zeros(2), np.array([0.1, 0.15]), (9, 7)), 0.08, 0.005),
    (GridQuestion(None, np.zeros(3), np.full(3, 0.2), (5, 5, 5)), 0.1, 0.003),
]


def _target(grid: GridQuestion, bump_sd: float, noise_sd: float) -> FloatArray:
    rng = np.random.default_rng(grid.n_symbols)
    true = np.zeros(grid.n_symbols)
    true[rng.choice(grid.n_symbols, 3, replace=False)] = (0.5, 0.3, 0.2)
    noisy: FloatArray = _matrix(grid, bump_sd) @ true + noise_sd * rng.standard_normal(grid.n_symbols)
    return noisy


@pytest.mark.parametrize(("grid", "bump_sd", "noise_sd"), CASES)
def test_the_optimality_conditions_hold(grid: GridQuestion, bump_sd: float, noise_sd: float) -> None:
    """The slope is minus the penalty where there is weight, and not below it elsewhere: to a few per cent of it."""
    matrix, target = _matrix(grid, bump_sd), _target(grid, bump_sd, noise_sd)
    penalty = _penalty(grid, bump_sd, noise_sd)
    weights = bump_weights(grid, target, noise_sd, bump_sd)
    slope = matrix.T @ (matrix @ weights - target)
    assert (weights >= 0).all()
    assert 0 < np.count_nonzero(weights) < grid.n_symbols / 2
    assert (slope >= -1.05 * penalty).all()
    assert np.abs(slope + penalty)[weights > 1e-3].max() < 0.05 * penalty


@pytest.mark.parametrize(("grid", "bump_sd", "noise_sd"), CASES)
def test_another_solver_finds_nothing_cheaper(grid: GridQuestion, bump_sd: float, noise_sd: float) -> None:
    r"""With $B^TB = LL^T$ the lasso is $\min_{w \ge 0} |L^Tw - L^{-1}(B^Ty - \lambda)|^2/2$, for `nnls`."""
    matrix, target = _matrix(grid, bump_sd), _target(grid, bump_sd, noise_sd)
    penalty = _penalty(grid, bump_sd, noise_sd)
    weights = bump_weights(grid, target, noise_sd, bump_sd)
    root = np.linalg.cholesky(matrix.T @ matrix + 1e-9 * np.eye(len(matrix)))
    other, _ = nnls(root.T, np.linalg.solve(root, matrix.T @ target - penalty), maxiter=10_000)

    def cost(w: FloatArray) -> float:
        return float(np.sum((matrix @ w - target) ** 2) / 2 + penalty * w.sum())

    assert cost(weights) < cost(other) + 1e-3 * (cost(np.zeros(len(target))) - cost(other))


def test_noise_alone_makes_hardly_any_bumps() -> None:
    grid, bump_sd, noise_sd = CASES[1]
    noise = noise_sd * np.random.default_rng(1).standard_normal(grid.n_symbols)
    assert bump_weights(grid, noise, noise_sd, bump_sd).sum() < 0.1


def test_last_digits_of_the_variances_do_not_change_a_grid() -> None:
    """Machines differ in them."""
    problem = _problem(1000, 100_000)
    here, there = (main_grid(problem, VIEW, VARIANCES * (1 + shift), EFFORT) for shift in (0.0, 4e-16))
    np.testing.assert_array_equal(here.vertices(), there.vertices())
