"""Where users are, as a grid says, and frequencies without most of their noise."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.density import (
    Clipping,
    Density,
    GridFrequencies,
    at_most_all,
    denoised,
    haar_shrunk,
    threshold,
)
from hybriddp.kmeans.clustering import nearest, wcss
from hybriddp.kmeans.reports.base import GridQuestion
from hybriddp.kmeans.reports.moments import clipping_factor_lengths, clipping_factor_signs
from tests.levels import z_limit

GRID = GridQuestion(None, np.zeros(2), np.full(2, 0.01), (101, 101))
COARSE = GridQuestion(None, np.zeros(2), np.full(2, 0.02), (51, 51))
CENTERS = np.array([[0.3, 0.3], [0.75, 0.7]])
WIDE = np.full(2, 10.0)


def _of(points: FloatArray, noise_sd: float = 0.0, seed: int = 0, grid: GridQuestion = GRID) -> Density:
    rng = np.random.default_rng(seed)
    symbols = grid.symbols(points, np.zeros(len(points), np.int64), rng)
    values = np.bincount(symbols, minlength=grid.n_symbols) / len(points)
    values = values + noise_sd * rng.standard_normal(len(values))
    return Density.of(grid, GridFrequencies(values, max(noise_sd, 1e-9) ** 2, len(points), 0.0))


def _round(n: int = 50_000, sd: float = 0.06) -> FloatArray:
    rng = np.random.default_rng(5)
    return np.clip(CENTERS[rng.integers(2, size=n)] + sd * rng.standard_normal((n, 2)), 0, 1)


def _with_village(n: int = 50_000) -> FloatArray:
    """An eighth of the second cluster lives far to one side."""
    points = _round(n)
    label = nearest(points, CENTERS)
    far = np.flatnonzero(label == 1)[: n // 16]
    points[far] = (0.75, 0.96)
    return points


@pytest.mark.statistical
def test_the_cost_is_that_of_the_points_and_knows_its_noise() -> None:
    """1,600 grids with noise: two means, and a standard deviation that 20 % less would not pass."""
    points, others = _round(2000), np.array([[0.25, 0.4], [0.6, 0.7]])
    exact = (wcss(points, CENTERS) - wcss(points, others)) / len(points)
    found = [_of(points, 0.004, seed, COARSE) for seed in range(1600)]
    differences = np.array([density.cost(CENTERS) - density.cost(others) for density in found])
    sd = np.mean([density.difference_sd(CENTERS, others) for density in found])
    assert abs(differences.mean() - exact) < z_limit(3) * sd / np.sqrt(1600)
    assert differences.std() == pytest.approx(sd, rel=z_limit(3) / np.sqrt(3200))
    costs = np.array([density.cost(CENTERS) for density in found])
    assert abs(costs.mean() - wcss(points, CENTERS) / len(points)) < z_limit(3, 1600) * costs.std() / np.sqrt(1600)


def test_what_is_within_clusters_is_what_the_points_cost() -> None:
    points = _round()
    for centers in (CENTERS, np.array([[0.25, 0.4], [0.6, 0.7]]), np.array([[0.5, 0.5]])):
        assert _of(points).within(centers) == pytest.approx(wcss(points, centers) / len(points), rel=0.05)


def test_clusters_know_their_sizes_and_spread() -> None:
    points = _round()
    clusters = _of(points).clusters(CENTERS)
    np.testing.assert_allclose(clusters.mass, np.bincount(nearest(points, CENTERS)) / len(points), atol=0.005)
    np.testing.assert_allclose(clusters.spread, 0.06**2, rtol=0.06)


@pytest.mark.parametrize("by_length", [False, True])
def test_in_round_clusters_clipping_leaves_what_is_derived_for_normal_ones(by_length: bool) -> None:
    """The part of a shift, up to a few hundredths through rounding; and nothing is missing."""
    clusters = _of(_round()).clusters(CENTERS)
    for radius in (1.0, 1.5, 2.0):
        found = clusters.clipping(np.full(2, radius * 0.06), by_length=by_length)
        expected = clipping_factor_lengths(radius, 2) if by_length else clipping_factor_signs(radius)
        np.testing.assert_allclose(found.inside, expected, atol=0.05)
        np.testing.assert_allclose(found.missing, 0.0, atol=0.002)


@pytest.mark.parametrize("by_length", [False, True])
def test_what_is_missing_of_an_uneven_cluster_makes_up_for_clipping(by_length: bool) -> None:
    points = _with_village()
    label = nearest(points, CENTERS)
    found = _of(points).clusters(CENTERS).clipping(np.full(2, 0.1), by_length=by_length)
    residuals = points - CENTERS[label]
    size = np.linalg.norm(residuals, axis=1)[:, None] if by_length else np.abs(residuals)
    clipped = residuals * np.minimum(1, 0.1 / np.maximum(size, 1e-12))
    for k in range(2):
        mean = np.where((label == k)[:, None], residuals, 0.0).mean(axis=0)
        reported = np.where((label == k)[:, None], clipped, 0.0).mean(axis=0)
        np.testing.assert_allclose(reported / found.inside[k] + found.missing[k], mean, atol=0.0015)
    assert found.missing[1, 1] > 0.005


def test_what_does_not_stand_out_of_noise_is_not_added() -> None:
    quiet = _of(_round(), 1e-4).clusters(CENTERS).clipping(np.full(2, 0.1), by_length=False)
    np.testing.assert_array_equal(quiet.missing, 0.0)
    np.testing.assert_array_equal(quiet.variance, 0.0)
    loud = _of(_with_village(), 1e-4).clusters(CENTERS).clipping(np.full(2, 0.1), by_length=False)
    assert loud.missing[1, 1] > 0.005
    assert (loud.variance[1] > 0).all()


def test_a_wide_radius_leaves_everything_and_nobody_is_finite() -> None:
    clipping = _of(_with_village(), 1e-4).clusters(CENTERS).clipping(WIDE, by_length=False)
    np.testing.assert_array_equal(clipping.inside, 1.0)
    np.testing.assert_array_equal(clipping.missing, 0.0)
    centers = np.vstack([CENTERS, [[0.0, 1.0]]])
    clipping = _of(_round(1000)).clusters(centers).clipping(np.full(3, 0.1), by_length=True)
    for values in (clipping.inside, clipping.missing, clipping.variance):
        assert np.isfinite(values).all()


def test_each_cluster_gets_the_clipping_that_was_chosen_for_it() -> None:
    clusters = _of(_with_village(), 1e-4).clusters(CENTERS)
    tried = [clusters.clipping(np.full(2, r), by_length=False) for r in (0.05, 0.1, 0.2)]
    chosen = Clipping.chosen(tried, np.array([2, 1]))
    np.testing.assert_array_equal(chosen.radii, [0.2, 0.1])
    for name in ("inside", "missing", "variance"):
        np.testing.assert_array_equal(getattr(chosen, name)[0], getattr(tried[2], name)[0])
        np.testing.assert_array_equal(getattr(chosen, name)[1], getattr(tried[1], name)[1])


def test_without_noise_nothing_is_removed_and_of_noise_alone_little_is_left() -> None:
    for shape in ((2,), (7,), (2, 2), (5, 8), (16, 16), (3, 4, 6)):
        values = np.random.default_rng(0).standard_normal(shape)
        np.testing.assert_allclose(haar_shrunk(values, 0.0), values, atol=1e-12)
    for shape in ((64,), (20, 20), (9, 9, 9)):
        noise = np.random.default_rng(1).standard_normal(shape)
        assert np.mean(haar_shrunk(noise, 1.0) ** 2) < 0.15
    np.testing.assert_array_equal(denoised(np.zeros(12), (3, 4), 1.0), np.zeros(12))
    np.testing.assert_array_equal(at_most_all(np.full(3, -1.0)), np.zeros(3))


def test_shrinkage_is_the_average_over_all_placements_of_the_blocks() -> None:
    """By definition, for two neighbors: each pair of a value and the one before or after it is kept or averaged."""
    values, sd = np.array([1.0, 0.9, 0.0, 0.0]), 0.25
    found = haar_shrunk(values, sd)
    padded = np.concatenate([np.zeros(4), values, np.zeros(4)])

    def placed(x: FloatArray, shift: int, scale: int) -> FloatArray:
        """Blocks of two halves from one placement on: half differences above the threshold are kept."""
        if scale == 2:
            return x
        level = {0: max(0.9 * np.sqrt(2 * np.log(4)), 2.25), 1: max(0.9 * np.sqrt(2 * np.log(2)), 2.25)}[scale]
        x, width = np.roll(x, -shift), 1 << scale
        blocks = x.reshape(-1, 2, width)
        rough, detail = blocks.mean(axis=(1, 2)), (blocks[:, 0].mean(axis=1) - blocks[:, 1].mean(axis=1)) / 2
        detail = np.where(np.abs(detail) > level * sd / 2 ** ((scale + 1) / 2), detail, 0.0)
        inner = blocks - blocks.mean(axis=2, keepdims=True)
        rebuilt = np.stack([rough + detail, rough - detail], axis=1)[:, :, None] + inner
        return np.asarray(np.roll(rebuilt.ravel(), shift))

    # Coarse blocks of two pairs first see the values, then pairs: details of both scales are independent of each other.
    every = []
    for shift in product(range(4)):
        coarse = padded
        for scale in (1, 0):
            coarse = placed(coarse, shift[0] % (2 << scale), scale)
        every.append(coarse)
    np.testing.assert_allclose(found, np.mean(every, axis=0)[4:8], atol=1e-12)


def test_a_cluster_that_stands_out_at_no_vertex_keeps_most_of_its_mass() -> None:
    """A tenth of all users on 100 of 400 vertices, each with as much noise; a threshold would keep none."""
    rng = np.random.default_rng(2)
    truth = np.zeros((20, 20))
    truth[2, 3], truth[10:, 10:] = 0.9, 0.001
    noisy = truth + 0.001 * rng.standard_normal(truth.shape)
    assert (noisy[10:, 10:] < 0.001 * np.sqrt(2 * np.log(400)) + 0.001).all()
    found = denoised(noisy.ravel(), (20, 20), 0.001).reshape(20, 20)
    assert 0.05 < found[10:, 10:].sum() < 0.12
    assert found[2, 3] == pytest.approx(0.9, abs=0.01)
    assert found[:10, 10:].sum() + found[10:, :10].sum() < 0.03


@pytest.mark.parametrize("total", [0.5, 1.0, 3.0])
def test_the_nearest_values_that_are_frequencies(total: float) -> None:
    """As a general solver finds them."""
    rng = np.random.default_rng(3)
    values = rng.standard_normal(6)
    values *= total / np.maximum(values, 0).sum()
    solved = minimize(
        lambda x: np.sum((x - values) ** 2),
        np.full(6, 1 / 6),
        bounds=[(0, None)] * 6,
        constraints={"type": "ineq", "fun": lambda x: 1 - x.sum()},
        tol=1e-12,
    )
    np.testing.assert_allclose(at_most_all(values), solved.x, atol=1e-5)


def test_the_threshold_falls_where_many_coefficients_stand_out() -> None:
    """By definition: noise alone would make at most a tenth of those that pass, two-sided [BH95]."""
    rng = np.random.default_rng(3)
    sizes = np.abs(np.concatenate([rng.standard_normal(1000), rng.normal(4, 1, 200)]))
    found = threshold(sizes, 3.6, 10)
    tail = 2 * norm.sf(found)
    assert 2.25 < found < 3.6
    assert tail * len(sizes) <= 0.1 * np.count_nonzero(sizes > found) * (1 + 1e-9)
    lower = np.sort(sizes[(sizes > 2.25) & (sizes < found)])
    assert all(2 * norm.sf(one) * len(sizes) > 0.1 * np.count_nonzero(sizes >= one) for one in lower)


def test_the_threshold_is_the_largest_allowed_where_nothing_or_little_stands_out() -> None:
    noise = np.abs(np.random.default_rng(4).standard_normal(300))
    for sizes in (noise, np.zeros(5), np.full(50, 9.0)):
        assert threshold(sizes, 3.0, 1) == pytest.approx(3.0)
    sizes = np.concatenate([np.full(9, 2.9), np.full(11, 0.5)])
    assert threshold(sizes, 3.0, 9) == pytest.approx(2.9)
    assert threshold(sizes, 3.0, 10) == pytest.approx(3.0)
