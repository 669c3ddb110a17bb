r"""The lasso $\min_{w \ge 0} |Bw - y|^2/2 + \lambda \sum w$ against its optimality conditions and another solver."""

import numpy as np
import pytest
from scipy.optimize import nnls

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.bumps import bump_weights
from hybriddp.kmeans.reports.grid import GridQuestion


def _matrix(grid: GridQuestion, bump_sd: float) -> FloatArray:
    """Bumps at all vertices, as seen at all vertices, by the definition; columns add up to 1."""
    vertices = grid.vertices()
    width = np.sqrt(bump_sd**2 + grid.step**2 / 6)
    bumps: FloatArray = np.exp(-0.5 * np.sum(((vertices[:, None] - vertices) / width) ** 2, axis=2))
    bumps /= bumps.sum(axis=0)
    return bumps


def _penalty(grid: GridQuestion, bump_sd: float, noise_sd: float) -> float:
    """1.5 times the noise on the product of the target with an average bump."""
    norms = []
    for size, step in zip(grid.sizes, grid.step, strict=True):
        line = GridQuestion(None, np.zeros(1), np.array([step]), (size,))
        norms.append(np.linalg.norm(_matrix(line, bump_sd), axis=0).mean())
    return 1.5 * noise_sd * float(np.prod(norms))


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
