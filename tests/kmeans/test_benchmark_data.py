from functools import cache

import numpy as np
import pytest

from benchmarks.kmeans_data import (
    APART,
    DIGITS_LOWER,
    DIGITS_UPPER,
    LAYOUTS,
    PAPER_SD,
    PLANE,
    SETS,
    SPACE,
    DataSet,
    doubling_ends,
    stretch,
)
from hybriddp.kmeans.clustering import nearest

# name: points, dimensions, clusters; digits are left out, as they come with a package that tests do without
SHAPES = {
    "paper": (160_000, 2, 4),
    "paper-pair": (160_000, 2, 4),
    "paper-crowd": (160_000, 2, 4),
    "s1": (105_000, 2, 15),
    "blobs4": (100_000, 4, 6),
    "blobs8": (100_000, 8, 8),
    "blobs16": (100_000, 16, 10),
    "aniso8": (100_000, 8, 6),
}


@cache
def _drawn(name: str, seed: int) -> DataSet:
    return SETS[name](seed)


def test_every_set_is_tested_here_but_digits() -> None:
    assert set(SETS) == {*SHAPES, "digits"} == {*PLANE, *SPACE}


@pytest.mark.repeated
@pytest.mark.parametrize("name", SHAPES)
def test_a_set_has_its_shape_and_lies_in_its_box(name: str) -> None:
    n, d, k = SHAPES[name]
    data = _drawn(name, 0)
    assert data.name == name
    assert data.points.shape == (n, d)
    assert data.points.dtype == np.float64
    assert data.n_clusters == k
    assert data.bounds == ((0.0, 1.0),) * d
    assert 0 <= data.points.min() < data.points.max() <= 1


@pytest.mark.repeated
@pytest.mark.parametrize("name", SHAPES)
def test_a_seed_gives_the_same_points_and_another_seed_others(name: str) -> None:
    first, again, other = _drawn(name, 0), SETS[name](0), SETS[name](1)
    np.testing.assert_array_equal(first.points, again.points)
    assert not np.any(np.all(first.points[:100] == other.points[:100], axis=1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_are_separated(layout: str) -> None:
    centers = np.array(LAYOUTS[layout])
    distances = np.linalg.norm(centers[:, None] - centers[None], axis=2)
    assert np.min(distances[np.triu_indices(4, 1)]) >= APART * PAPER_SD


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_papers_clusters_are_equal_and_round(layout: str) -> None:
    data = _drawn(layout, 0)
    labels = nearest(data.points, np.array(LAYOUTS[layout]))
    # At least six standard deviations apart, at most .3 % of a cluster is nearer to each of two others.
    np.testing.assert_allclose(np.bincount(labels), 40_000, rtol=0.006)
    for k, center in enumerate(LAYOUTS[layout]):
        np.testing.assert_allclose(data.points[labels == k].mean(axis=0), center, atol=0.002)
        np.testing.assert_allclose(data.points[labels == k].std(axis=0), PAPER_SD, rtol=0.03)


def test_points_come_in_random_order() -> None:
    data = _drawn("paper", 0)
    first = np.bincount(nearest(data.points[:1600], np.array(LAYOUTS["paper"])))
    # Four counts of 1,600 draws with standard deviation 17.3: beyond 6 of them about once in 10^8.
    assert np.max(np.abs(first - 400)) < 104


def test_sizes_of_the_stretched_clusters_double() -> None:
    assert np.diff([0, *doubling_ends(63, 6)]).tolist() == [1, 2, 4, 8, 16, 32]
    assert doubling_ends(100_000, 6)[-1] == 100_000


def test_a_stretch_has_its_condition_number_and_size() -> None:
    widths = np.linalg.svd(stretch(np.random.default_rng(0), 8, 0.06), compute_uv=False)
    assert widths[0] / widths[-1] == pytest.approx(5)
    assert np.sqrt(np.mean(widths**2)) == pytest.approx(0.06)


def test_bounds_of_digits_are_round_numbers() -> None:
    assert len(DIGITS_LOWER) == len(DIGITS_UPPER) == 8
    assert all(x % 4 == 0 for x in (*DIGITS_LOWER, *DIGITS_UPPER))
