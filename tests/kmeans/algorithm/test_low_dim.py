"""Up to three dimensions: the grid, the first centers, and how sure they are."""

from itertools import product
from unittest.mock import Mock

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.density import Density, GridFrequencies
from hybriddp.kmeans.algorithm.low_dim import box_grid, box_start, local_grid_users, low_dim_algorithm, start_doubt
from hybriddp.kmeans.algorithm.problem import ClusterEstimate, Problem
from hybriddp.kmeans.algorithm.tuning import LEAST_SD
from hybriddp.kmeans.clustering import nearest
from hybriddp.kmeans.reports.base import GridQuestion


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


GRID = GridQuestion(None, np.zeros(2), np.full(2, 0.05), (21, 21))
CENTERS = np.array([[0.25, 0.3], [0.75, 0.7]])


def _seen(points: FloatArray, noise_sd: float, rng: np.random.Generator) -> GridFrequencies:
    n = len(points)
    symbols = GRID.symbols(np.clip(points, 0, 1), np.zeros(n, np.int64), rng)
    frequencies = np.bincount(symbols, minlength=GRID.n_symbols) / n + noise_sd * rng.standard_normal(GRID.n_symbols)
    return GridFrequencies(frequencies, noise_sd**2, n, 0.25)


def _frequencies(seed: int, n: int, noise_sd: float) -> tuple[GridFrequencies, FloatArray]:
    rng = np.random.default_rng(seed)
    points = CENTERS[rng.integers(2, size=n)] + 0.06 * rng.standard_normal((n, 2))
    return _seen(points, noise_sd, rng), points


def _ordered(found: ClusterEstimate) -> FloatArray:
    return found.centers[nearest(CENTERS, found.centers)]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("n", "noise_sd", "seeds", "least", "most"),
    [(2000, 1e-9, 500, 0.79, 1.21), (5000, 1e-4, 250, 0.6, 1.4), (5000, 1e-3, 500, 0.4, 1.4)],
)
def test_first_centers_have_about_the_variance_that_they_claim(
    n: int, noise_sd: float, seeds: int, least: float, most: float
) -> None:
    """The mean square of the deviations, known up to .032, .048 and .042.

    Without noise, a scale that is a fifth wrong is noticed; where there is noise, denoising has made it smaller
    than its variance on the vertices that are left.
    """
    squares, claimed = [], []
    for seed in range(seeds):
        frequencies, _ = _frequencies(seed, n, noise_sd)
        found, _ = box_start(GRID, frequencies, 2, np.random.default_rng(0))
        squares.append((_ordered(found) - CENTERS) ** 2)
        claimed.append(found.variance)
    ratio = float(np.mean(squares) / np.mean(claimed))
    assert least < ratio < most
    assert ratio / 0.8**2 > most
    assert ratio / 1.2**2 < least or noise_sd > 1e-9


def test_first_centers_know_sizes() -> None:
    frequencies, points = _frequencies(0, 100_000, 1e-5)
    found, _ = box_start(GRID, frequencies, 2, np.random.default_rng(0))
    label = nearest(points, found.centers)
    np.testing.assert_allclose(found.sizes, np.bincount(label) / len(points), atol=0.005)
    assert found.sizes.sum() == pytest.approx(1)
    assert (found.trusted_weight == 0.25).all()


def test_a_cluster_is_never_taken_for_a_point() -> None:
    frequencies = np.zeros(GRID.n_symbols)
    frequencies[[50, 300]] = 0.5
    found, density = box_start(GRID, GridFrequencies(frequencies, 1e-12, 10, 0.0), 2, np.random.default_rng(0))
    spread = density.clusters(found.centers).spread
    assert (spread >= LEAST_SD**2).all()
    np.testing.assert_allclose(spread, np.mean(GRID.step**2) / 60)  # a tenth of what rounding adds
    np.testing.assert_allclose(np.sort(found.centers, axis=0), np.sort(GRID.vertices()[[50, 300]], axis=0), atol=1e-6)


@pytest.mark.repeated
@pytest.mark.parametrize("k", [1, 2, 50, 441, 600])
@pytest.mark.parametrize("kind", ["nothing", "hardly anything", "negative"])
def test_there_are_always_centers_inside_the_box(k: int, kind: str) -> None:
    rng = np.random.default_rng(k)
    frequencies = {
        "nothing": np.zeros(GRID.n_symbols),
        "hardly anything": 1e-4 * rng.standard_normal(GRID.n_symbols),
        "negative": -rng.random(GRID.n_symbols),
    }[kind]
    found, density = box_start(GRID, GridFrequencies(frequencies, 1.0, 5, 0.0), k, rng)
    assert found.centers.shape == found.variance.shape == (k, 2)
    spread = density.clusters(found.centers).spread
    for values in (found.centers, found.variance, found.sizes, found.size_variance, spread):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    assert (found.centers <= 1).all()


@pytest.mark.statistical
def test_a_thin_cluster_beside_a_large_one_is_found() -> None:
    """A tenth of the users, so thinly spread that hardly a vertex stands out of the noise: found in 20 of 20 cases."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        large = [0.3, 0.3] + 0.05 * rng.standard_normal((9000, 2))
        thin = [0.75, 0.75] + 0.09 * rng.standard_normal((1000, 2))
        frequencies = _seen(np.concatenate([large, thin]), 0.0015, rng)
        found, _ = box_start(GRID, frequencies, 2, np.random.default_rng(0))
        assert np.linalg.norm(found.centers - [0.75, 0.75], axis=1).min() < 0.15


def test_the_doubt_of_a_start_is_its_cost_against_the_best_that_is_another() -> None:
    frequencies, _ = _frequencies(3, 10_000, 1e-4)
    _, density = box_start(GRID, frequencies, 2, np.random.default_rng(0))
    near, worse, worst = CENTERS + 0.01, np.array([[0.2, 0.3], [0.3, 0.3]]), np.array([[0.9, 0.9], [0.95, 0.9]])
    doubt = start_doubt(density, [CENTERS, near, worst, worse])
    assert doubt is not None
    assert doubt.cost == density.cost(CENTERS)
    assert doubt.rival_cost == density.cost(worse)
    assert doubt.difference_sd == density.difference_sd(CENTERS, worse)
    assert start_doubt(density, [CENTERS, near]) is None
    assert start_doubt(density, [CENTERS]) is None


def test_a_start_with_a_rival_says_so_and_one_without_does_not() -> None:
    rng = np.random.default_rng(0)
    even = rng.random((20_000, 2))
    found, _ = box_start(GRID, _seen(even, 1e-4, rng), 5, np.random.default_rng(0))
    assert found.start is not None
    assert found.start.rival_cost > 0
    assert found.start.difference_sd > 0
    frequencies, _ = _frequencies(0, 20_000, 1e-5)
    assert box_start(GRID, frequencies, 1, np.random.default_rng(0))[0].start is None


# Starts that see their clusters


def test_a_cluster_is_seen_if_users_near_its_center_exceed_the_noise() -> None:
    """Four standard deviations of noise, summed up over the vertices that are nearest to the center."""
    vertices, frequencies = GRID.vertices(), np.zeros(GRID.n_symbols)
    noise_sd = 0.01
    around = [int(nearest(np.array([[0.75 + x, 0.7 + y]]), vertices)[0]) for x in (0, 0.05) for y in (0, 0.05)]
    frequencies[nearest(CENTERS[:1], vertices)] = 0.5
    for users, seen in ((0.081, True), (0.079, False)):  # four vertices have noise of .02
        frequencies[around] = users / 4
        density = Density.of(GRID, GridFrequencies(frequencies, noise_sd**2, 1e9, 0.0))
        assert density.sees(np.array([CENTERS[0], [0.775, 0.725]])) == seen


def _crowd(seed: int) -> tuple[GridQuestion, GridFrequencies]:
    """Three clusters that are close and one that is far off, on a grid that is coarse beside the noise on it."""
    rng = np.random.default_rng(seed)
    grid = GridQuestion(None, np.zeros(2), np.full(2, 0.125), (9, 9))
    points = CROWD[rng.integers(4, size=20_000)] + 0.028 * rng.standard_normal((20_000, 2))
    symbols = grid.symbols(np.clip(points, 0, 1), np.zeros(len(points), np.int64), rng)
    noise = 0.0065 * rng.standard_normal(grid.n_symbols)
    found = np.bincount(symbols, minlength=grid.n_symbols) / len(points) + noise
    return grid, GridFrequencies(found, 0.0065**2, 20_000, 0.0)


CROWD = np.array([[0.62, 0.68], [0.80, 0.62], [0.71, 0.88], [0.12, 0.10]])


@pytest.mark.statistical
def test_what_noise_leaves_far_from_everybody_gets_no_center() -> None:
    """In 100 cases, how many have a center of their own for each cluster: if nobody looks whether they are seen, 93."""
    right = 0
    for seed in range(100):
        grid, frequencies = _crowd(seed)
        found, _ = box_start(grid, frequencies, 4, np.random.default_rng(seed))
        right += len(set(nearest(CROWD, found.centers).tolist())) == 4
    assert right >= 97


def test_on_a_fine_grid_the_cheapest_start_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    sees = Mock(return_value=True)
    monkeypatch.setattr(Density, "sees", sees)
    grid, frequencies = _crowd(0)
    box_start(grid, frequencies, 4, np.random.default_rng(0))
    assert sees.call_count == 1
    frequencies, _ = _frequencies(0, 5000, 1e-3)
    box_start(GRID, frequencies, 4, np.random.default_rng(0))
    assert sees.call_count == 1
