"""First centers from noisy frequencies on a grid."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import nnls
from scipy.stats import norm

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.cluster_estimate import ClusterEstimate
from hybriddp.kmeans.algorithm.grid_start import (
    GridFrequencies,
    blended,
    box_start,
    bump_weights,
    main_grid,
    seeds,
    thresholded_variance,
)
from hybriddp.kmeans.algorithm.problem import Effort, Problem, PublishedVector, StepResult
from hybriddp.kmeans.algorithm.tuning import BUMP_PENALTY, LEAST_SD, MAIN_REACH, MAIN_SIZES, MAIN_VERTICES
from hybriddp.kmeans.clustering import nearest
from hybriddp.kmeans.reports.base import Projection
from hybriddp.kmeans.reports.grid import GridQuestion

# On the box -----------------------------------------------------------------------------------------------------------

GRID = GridQuestion(None, np.zeros(2), np.full(2, 0.05), (21, 21))
CENTERS = np.array([[0.25, 0.3], [0.75, 0.7]])


def _frequencies(seed: int, n: int, noise_sd: float) -> tuple[GridFrequencies, FloatArray]:
    rng = np.random.default_rng(seed)
    points = CENTERS[rng.integers(2, size=n)] + 0.06 * rng.standard_normal((n, 2))
    symbols = GRID.symbols(np.clip(points, 0, 1), np.zeros(n, np.int64), rng)
    frequencies = np.bincount(symbols, minlength=GRID.n_symbols) / n + noise_sd * rng.standard_normal(GRID.n_symbols)
    threshold = noise_sd * np.sqrt(2 * np.log(GRID.n_symbols))
    return GridFrequencies(frequencies, noise_sd**2, n, threshold, 0.25), points


def _ordered(found: ClusterEstimate) -> FloatArray:
    return found.centers[nearest(CENTERS, found.centers)]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("n", "noise_sd", "seeds", "least", "most"),
    [(2000, 1e-9, 1500, 0.87, 1.16), (5000, 1e-4, 500, 0.75, 1.33), (5000, 1e-3, 500, 0.4, 1.33)],
)
def test_first_centers_have_about_the_variance_that_they_claim(
    n: int, noise_sd: float, seeds: int, least: float, most: float
) -> None:
    """The mean square of the deviations, known up to .02 and .035: bounds are 7 standard errors away.

    Without noise, a variance that is a fifth wrong is noticed; where there is much noise, rather too much is claimed.
    """
    squares, claimed = [], []
    for seed in range(seeds):
        frequencies, _ = _frequencies(seed, n, noise_sd)
        found, _ = box_start(GRID, frequencies, 2, np.random.default_rng(0))
        squares.append((_ordered(found) - CENTERS) ** 2)
        claimed.append(found.variance)
    assert least < float(np.mean(squares) / np.mean(claimed)) < most


@pytest.mark.parametrize("mean", [-0.3, 0.0, 0.6, 1.0, 1.4, 5.0])
def test_the_variance_of_what_passes_a_threshold_is_that_of_the_definition(mean: float) -> None:
    """By quadrature. Below half of the threshold, the mean is taken to be 0."""
    threshold, sd = 1.0, 0.3
    taken = mean if mean > threshold / 2 else 0.0

    def moment(power: int) -> float:
        return float(
            quad(
                lambda x: x**power * norm.pdf(x, taken, sd),
                threshold,
                max(taken, threshold) + 12 * sd,
                points=[taken + sd],
            )[0]
        )

    found = thresholded_variance(np.array([mean]), threshold, sd)
    np.testing.assert_allclose(found, [moment(2) - moment(1) ** 2], rtol=1e-6, atol=1e-12)


def test_first_centers_know_sizes_and_spread() -> None:
    frequencies, points = _frequencies(0, 100_000, 1e-5)
    found, spread = box_start(GRID, frequencies, 2, np.random.default_rng(0))
    label = nearest(points, found.centers)
    np.testing.assert_allclose(found.sizes, np.bincount(label) / len(points), atol=0.005)
    np.testing.assert_allclose(spread, 0.06**2, rtol=0.06)
    assert found.sizes.sum() == pytest.approx(1)


def test_a_cluster_is_never_taken_for_a_point() -> None:
    frequencies = np.zeros(GRID.n_symbols)
    frequencies[[50, 300]] = 0.5
    found, spread = box_start(GRID, GridFrequencies(frequencies, 1e-12, 10, 1e-6, 0.0), 2, np.random.default_rng(0))
    assert (spread >= LEAST_SD**2).all()
    np.testing.assert_allclose(spread, np.mean(GRID.step**2) / 60)  # a tenth of what rounding adds
    np.testing.assert_allclose(np.sort(found.centers, axis=0), np.sort(GRID.vertices()[[50, 300]], axis=0), atol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 50, 441, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["nothing", "all below the threshold", "negative"])
def test_there_are_always_centers_inside_the_box(k: int, kind: str) -> None:
    rng = np.random.default_rng(k)
    frequencies = {
        "nothing": np.zeros(GRID.n_symbols),
        "all below the threshold": 1e-4 * rng.standard_normal(GRID.n_symbols),
        "negative": -rng.random(GRID.n_symbols),
    }[kind]
    found, spread = box_start(GRID, GridFrequencies(frequencies, 1.0, 5, 4.0, 0.0), k, rng)
    assert found.centers.shape == found.variance.shape == (k, 2)
    for values in (found.centers, found.variance, found.sizes, found.size_variance, spread):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    assert (found.centers <= 1).all()


def test_blends_are_by_inverse_variance_at_the_average_vertex() -> None:
    """By hand, for two vertices."""
    trusted = GridFrequencies(np.array([0.6, 0.4]), 0.02, 100, 1.0, 1.0)
    local = GridFrequencies(np.array([0.2, 0.8]), 0.01, 1000, 1.0, 0.0)
    blend = blended(trusted, local)
    a, b = 0.02 + 1 / 200, 0.01 + 1 / 2000
    weight = (1 / a) / (1 / a + 1 / b)
    assert blend.trusted_weight == pytest.approx(weight)
    np.testing.assert_allclose(blend.values, weight * trusted.values + (1 - weight) * local.values)
    variance = weight**2 * 0.02 + (1 - weight) ** 2 * 0.01
    assert blend.variance == pytest.approx(variance)
    assert blend.n_users == pytest.approx(1 / (weight**2 / 100 + (1 - weight) ** 2 / 1000))
    assert blend.threshold == pytest.approx(np.sqrt(2 * np.log(2) * variance))
    assert variance + 1 / 2 / blend.n_users < min(a, b)


# On the directions of largest variance --------------------------------------------------------------------------------

VIEW = Projection(np.full(5, 0.5), np.eye(5)[:3])
VARIANCES = np.array([0.04, 0.03, 0.02])
EFFORT = Effort(Fraction(15, 100), Fraction(15, 100))


def _problem(n_trusted: int, n_local: int, epsilon: str = "1") -> Problem:
    return Problem(3, np.ones(5), epsilon, 2, n_trusted, n_local)


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
    problem = Problem(k, np.ones(d), epsilon, 2, 0, 100_000)
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
