import json
import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.kmeans import clustering
from hybriddp.kmeans.clustering import BLOCK, _by_cost, blocks, nearest, squared_norms, wcss, weighted_kmeans


def _naive_distances(points: FloatArray, centers: FloatArray) -> FloatArray:
    apart: FloatArray = np.sum((points[:, None, :] - centers) ** 2, axis=2)
    return apart


@pytest.mark.parametrize(("n", "k", "d"), [(1, 1, 1), (200, 7, 3), (BLOCK + 5, 3, 2), (0, 2, 2)])
def test_nearest_and_cost_are_those_of_the_definition(n: int, k: int, d: int) -> None:
    rng = np.random.default_rng([n, k, d])
    points, centers = rng.random((n, d)), rng.random((k, d))
    apart = _naive_distances(points, centers)
    np.testing.assert_array_equal(nearest(points, centers), np.argmin(apart, axis=1))
    assert wcss(points, centers) == pytest.approx(apart.min(axis=1).sum(), rel=1e-12)


def test_ties_go_to_the_first_center_and_far_points_do_not_cancel() -> None:
    np.testing.assert_array_equal(nearest(np.array([[0.2], [0.9]]), np.array([[0.5], [0.5]])), [0, 0])
    points = 1e6 + np.array([[0.0], [1.0], [5.0]])
    assert wcss(points, 1e6 + np.array([[0.5], [5.0]])) == pytest.approx(0.5)


def test_blocks_cover_everything_once() -> None:
    for count in (0, 1, 9, 10, 11, 25):
        assert [i for part in blocks(count, 10) for i in range(count)[part]] == list(range(count))


def _best_of_all_partitions(points: FloatArray, weights: FloatArray, k: int) -> float:
    best = np.inf
    for labels in product(range(k), repeat=len(points)):
        cost = 0.0
        for cluster in range(k):
            mine = np.array(labels) == cluster
            if mine.any():
                mean = np.average(points[mine], axis=0, weights=weights[mine])
                cost += float(weights[mine] @ np.sum((points[mine] - mean) ** 2, axis=1))
        best = min(best, cost)
    return best


@pytest.mark.repeated
@pytest.mark.parametrize(("n", "k", "d"), [(7, 2, 1), (7, 3, 2), (6, 4, 3), (5, 1, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_many_starts_find_the_best_of_all_partitions(n: int, k: int, d: int, seed: int) -> None:
    rng = np.random.default_rng([n, k, d, seed])
    points, weights = rng.random((n, d)), rng.uniform(0.1, 3, n)
    results = weighted_kmeans(points, weights, k, starts=100, generator=rng)
    assert results[0].cost == pytest.approx(_best_of_all_partitions(points, weights, k), rel=1e-9)
    costs = [result.cost for result in results]
    np.testing.assert_allclose(costs, sorted(costs), rtol=1e-8)  # those that are equal but for rounding, in any order
    apart = _naive_distances(points, results[0].centers).min(axis=1)
    assert results[0].cost == pytest.approx(float(weights @ apart), rel=1e-9)


def test_whole_weights_are_copies_of_points_and_points_without_weight_do_not_count() -> None:
    rng = np.random.default_rng(0)
    points, weights = rng.random((6, 2)), rng.integers(1, 4, 6)
    weighted = weighted_kmeans(points, weights.astype(float), 3, starts=50, generator=rng)[0]
    copies = np.repeat(points, weights, axis=0)
    copied = weighted_kmeans(copies, np.ones(len(copies)), 3, starts=50, generator=rng)[0]
    assert weighted.cost == pytest.approx(copied.cost)
    assert wcss(copies, weighted.centers) == pytest.approx(weighted.cost)
    line = np.array([[0.0], [0.1], [0.9], [0.5]])
    found = weighted_kmeans(line, np.array([1.0, 1, 1, 0]), 2, starts=9, generator=rng)[0]
    np.testing.assert_allclose(np.sort(found.centers[:, 0]), [0.05, 0.9])


def test_more_centers_than_places_cost_nothing() -> None:
    for points in (np.full((5, 2), 0.3), np.array([[0.1, 0.2], [0.7, 0.7]]), np.array([[0.4, 0.4]])):
        result = weighted_kmeans(points, np.ones(len(points)), 5, starts=4, generator=np.random.default_rng(0))[0]
        assert result.centers.shape == (5, 2)
        assert result.cost == pytest.approx(0, abs=1e-12)
        assert np.isfinite(result.centers).all()


def test_squared_norms_are_added_up_from_the_first_term_to_the_last() -> None:
    rows = np.random.default_rng(0).standard_normal((50, 30))
    expected = []
    for row in rows.tolist():
        total = 0.0
        for x in row:
            total += x * x
        expected.append(total)
    assert squared_norms(rows).tolist() == expected


_ON_A_GRID = """
import json
import numpy as np
from hybriddp.kmeans.clustering import weighted_kmeans

grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 7)] * 2), axis=-1).reshape(-1, 2)
found = []
for seed in range(8):
    weights = np.maximum(np.random.default_rng(seed).normal(0, 1, len(grid)), 1e-9)
    found += weighted_kmeans(grid, weights, 9, starts=16, generator=np.random.default_rng(seed))
print(json.dumps([clustering.centers.tolist() for clustering in found]))
"""


@pytest.mark.slow
def test_another_processor_finds_the_same_centers() -> None:
    """Many vertices of a grid are halfway between two centers, and BLAS rounds by the kernel that it has chosen."""

    def centers(**settings: str) -> FloatArray:
        command = [sys.executable, "-c", _ON_A_GRID]
        ran = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=True)
        return np.array(json.loads(ran.stdout))

    np.testing.assert_allclose(centers(), centers(OPENBLAS_CORETYPE="Prescott"), rtol=0, atol=1e-9)


def test_of_starts_that_end_at_the_same_centers_the_first_one_is_taken() -> None:
    """Their costs differ by rounding, and so would the order of the centers between machines."""
    costs = np.array([2.0, 1.0 + 1e-12, 3.0, 1.0, 2.0 - 1e-12])
    np.testing.assert_array_equal(_by_cost(costs), [1, 3, 0, 4, 2])


def test_the_same_seed_gives_the_same_centers_one_start_after_the_other_too(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(3).random((60, 3))

    def centers() -> list[FloatArray]:
        results = weighted_kmeans(points, np.ones(60), 5, starts=10, generator=np.random.default_rng(7))
        return [result.centers for result in results]

    together = centers()
    np.testing.assert_array_equal(together, centers())
    monkeypatch.setattr(clustering, "_SIDE_BY_SIDE", 1)
    np.testing.assert_array_equal(together, centers())
