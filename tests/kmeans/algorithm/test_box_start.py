"""First centers in a box of up to three dimensions."""

from unittest.mock import Mock

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.density import Density, GridFrequencies
from hybriddp.kmeans.algorithm.low_dim import box_start, start_doubt
from hybriddp.kmeans.algorithm.problem import ClusterEstimate
from hybriddp.kmeans.algorithm.tuning import LEAST_SD
from hybriddp.kmeans.clustering import nearest
from hybriddp.kmeans.reports.base import GridQuestion

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
