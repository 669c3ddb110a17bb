"""Whole numbers about the trusted group: what they are, and that no user adds more than their bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.kmeans.reports.base import GridQuestion, Labels
from hybriddp.kmeans.statistics import (
    L1_UNIT,
    ClusterSizes,
    ClusterSums,
    Histogram,
    PointStatistic,
    SecondMoments,
    clip_l1,
)
from tests.levels import z_limit

RNG = np.random.default_rng(6)
CENTERS = np.array([[0.2, 0.3], [0.8, 0.5], [0.4, 0.9]])
RADII = np.array([0.2, 0.3, 0.1])
GRID = GridQuestion(None, np.zeros(2), np.array([0.25, 0.5]), (5, 3))
SUMS = ClusterSums(Labels(CENTERS), RADII, L1_UNIT // 9)
MOMENTS = SecondMoments(np.array([0.5, 0.4]), 0.1)
ALL: list[PointStatistic] = [Histogram(GRID), ClusterSizes(Labels(CENTERS)), SUMS, MOMENTS]
NAMES = [type(statistic).__name__ for statistic in ALL]


@pytest.mark.parametrize("statistic", ALL, ids=NAMES)
def test_users_add_up_and_nobody_adds_nothing(statistic: PointStatistic) -> None:
    points = RNG.random((300, 2))
    total = statistic.compute(points)
    assert total.shape == (statistic.size,)
    assert total.dtype == np.int64
    np.testing.assert_array_equal(sum(statistic.compute(points[i : i + 1]) for i in range(300)), total)
    np.testing.assert_array_equal(statistic.compute(points[:0]), np.zeros(statistic.size))


@pytest.mark.parametrize("statistic", ALL, ids=NAMES)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_no_user_adds_more_than_the_bound(statistic: PointStatistic, point: list[float]) -> None:
    assert int(np.abs(statistic.compute(np.array([point]))).sum()) <= statistic.max_contribution


@pytest.mark.parametrize("statistic", ALL, ids=NAMES)
def test_some_user_adds_all_of_the_bound(statistic: PointStatistic) -> None:
    """The bound is not larger than it must be, but for rounding."""
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    most = max(int(np.abs(statistic.compute(corner[None])).sum()) for corner in corners)
    assert most >= statistic.max_contribution - 8


def test_a_histogram_has_the_means_of_the_coordinates() -> None:
    """Rounding by a hash is as good as rounding at random: two means, within `z_limit(2)` standard errors of that."""
    n = 20_000
    points = RNG.random((n, 2))
    counts = Histogram(GRID).compute(points)
    assert counts.sum() == n
    mean = counts @ GRID.vertices() / n
    # The variance of rounding a value between two vertices is at most a quarter of the squared step.
    limit = z_limit(2) * GRID.step / 2 / np.sqrt(n)
    assert (np.abs(mean - points.mean(axis=0)) < limit).all()
    assert (np.abs(1.2 * mean - points.mean(axis=0)) > limit).all()
    exactly = Histogram(GRID).compute(GRID.vertices())
    np.testing.assert_array_equal(exactly, np.ones(15))


def test_cluster_sums_are_those_of_the_definition() -> None:
    points = RNG.random((200, 2))
    found = SUMS.compute(points)
    counts, sums = np.zeros(3), np.zeros((3, 2))
    for x in points:
        k = int(np.argmin(np.sum((CENTERS - x) ** 2, axis=1)))
        z = (x - CENTERS[k]) / RADII[k]
        counts[k] += 1
        sums[k] += z / max(float(np.abs(z).sum()), 1.0)
    np.testing.assert_array_equal(found[:3], (L1_UNIT // 9) * counts)
    np.testing.assert_allclose(found[3:].reshape(3, 2), L1_UNIT * sums, atol=2 * 200)


def test_second_moments_are_those_of_the_definition() -> None:
    points = RNG.random((200, 2))
    expected = np.zeros(3)
    for x in points:
        z = x - MOMENTS.center
        entries = np.array([z[0] * z[0], z[0] * z[1], z[1] * z[1]]) / MOMENTS.bound
        expected += entries / max(float(np.abs(entries).sum()), 1.0)
    np.testing.assert_allclose(MOMENTS.compute(points), L1_UNIT * expected, atol=2 * 200)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=6))
def test_clipped_vectors_are_short_and_keep_their_direction(vector: list[float]) -> None:
    exact = np.array(vector)
    (whole,) = clip_l1(exact[None])
    length = float(np.abs(exact).sum())
    assert int(np.abs(whole).sum()) <= L1_UNIT
    if max(np.abs(exact)) <= 1e6:
        np.testing.assert_allclose(whole, L1_UNIT * exact / max(length, 1.0), atol=1.5 + len(vector))


def test_clipped_vectors_that_are_short_are_only_rounded() -> None:
    np.testing.assert_array_equal(
        clip_l1(np.array([[1.0, 0.0], [-0.5, 0.5]])), [[L1_UNIT, 0], [-L1_UNIT // 2, L1_UNIT // 2]]
    )
