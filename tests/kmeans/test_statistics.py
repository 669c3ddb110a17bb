"""Statistics of the trusted group, and what one user changes of them."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.tuning import COUNT_WEIGHT
from hybriddp.kmeans.clustering import BLOCK, nearest, products
from hybriddp.kmeans.points import PointArray
from hybriddp.kmeans.reports.base import GridQuestion, Labels, Projection
from hybriddp.kmeans.statistics import (
    L1_UNIT,
    ClusterSizes,
    ClusterSums,
    Histogram,
    PointStatistic,
    SecondMoments,
    clip_l1,
)
from hybriddp.kmeans.study import KMeansStudy
from tests.examples import fewer_examples
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
def test_users_add_up_and_some_user_adds_all_of_the_bound(statistic: PointStatistic) -> None:
    """The bound is not larger than it must be, but for rounding."""
    points = RNG.random((300, 2))
    total = statistic.compute(points)
    assert total.shape == (statistic.size,)
    assert total.dtype == np.int64
    np.testing.assert_array_equal(sum(statistic.compute(points[i : i + 1]) for i in range(300)), total)
    np.testing.assert_array_equal(statistic.compute(points[:0]), np.zeros(statistic.size))
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    most = max(int(np.abs(statistic.compute(corner[None])).sum()) for corner in corners)
    assert statistic.max_contribution - 8 <= most <= statistic.max_contribution


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


TINY = 5e-324
EXTREMES = (0.0, TINY, 1e-300, 2.0**-52, 0.25, 1 / 3, 0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1), 0.75, 1.0)


def _statistics(d: int) -> list[PointStatistic]:
    corners = np.array([[0.25] * d, [0.75] * d, [0.25] * (d - 1) + [0.75]])
    axes = np.linalg.qr(np.random.default_rng(d).standard_normal((d, d)))[0][: min(d, 2)]
    view = Projection(np.full(d, 0.5), axes)
    q = len(axes)
    return [
        Histogram(GridQuestion(None, np.zeros(d), np.full(d, 1 / 4), (5,) * d)),
        Histogram(GridQuestion(view, np.full(q, -0.3), np.full(q, 0.1), (7,) * q)),
        ClusterSizes(Labels(corners)),
        ClusterSums(Labels(corners), np.array([0.01, 0.5, 2.0]), COUNT_WEIGHT),
        ClusterSums(Labels(view.project(corners), view), np.full(3, 0.1), COUNT_WEIGHT),
        ClusterSums(Labels(corners[:1]), np.array([1e-12]), 1),
        SecondMoments(np.full(d, 0.5), 0.05 * d),
        SecondMoments(np.full(d, 0.5), 1e-9),
    ]


CASES = [(d, i) for d in (1, 2, 4) for i in range(len(_statistics(d)))]
every_statistic = pytest.mark.parametrize(("d", "index"), CASES)


def _change(statistic: PointStatistic, before: FloatArray, after: FloatArray) -> int:
    return int(np.abs(statistic.compute(before) - statistic.compute(after)).sum())


def _adversarial(d: int) -> FloatArray:
    """Corners, borders of cells, points between centers, denormals, and points far outside of every radius."""
    some = [np.full(d, x) for x in EXTREMES]
    some += [np.array(corner) for corner in product((0.0, 1.0), repeat=d)]
    some += [np.eye(d)[0] * x for x in EXTREMES]
    some += list(0.5 + 0.5 * np.eye(d))  # off the middle in one coordinate only: products with others vanish
    some += list(np.random.default_rng(d).random((5, d)))
    return np.array(some)


@every_statistic
def test_one_user_changes_no_more_than_is_claimed_and_some_change_nearly_that(d: int, index: int) -> None:
    statistic = _statistics(d)[index]
    points = _adversarial(d)
    others = np.random.default_rng(1).random((7, d))
    rest = statistic.compute(others)
    adds = np.array([statistic.compute(np.vstack([others, point])) - rest for point in points])
    joins = np.abs(adds).sum(axis=1)
    replaces = np.abs(adds[:, None] - adds).sum(axis=2)
    assert joins.max() <= statistic.max_contribution
    assert replaces.max() <= 2 * statistic.max_contribution
    assert joins.max() >= 0.9 * statistic.max_contribution
    if d == 1 and isinstance(statistic, SecondMoments):
        assert replaces.max() >= 0.9 * statistic.max_contribution  # squares do not change their sign
    elif isinstance(statistic, ClusterSums) and len(statistic.radii) == 1:
        assert replaces.max() >= 0.9 * 2 * L1_UNIT  # one cluster: the count stays
    else:
        assert replaces.max() >= 0.9 * 2 * statistic.max_contribution


coordinates = st.one_of(st.sampled_from(EXTREMES), st.floats(0, 1))


@pytest.mark.repeated
@fewer_examples(2)
@every_statistic
@given(st.data())
def test_neighbors_differ_by_no_more_than_is_claimed(d: int, index: int, data: st.DataObject) -> None:
    statistic = _statistics(d)[index]
    points = data.draw(arrays(np.float64, st.tuples(st.integers(1, 6), st.just(d)), elements=coordinates))
    who = data.draw(st.integers(0, len(points) - 1))
    replaced = points.copy()
    replaced[who] = data.draw(arrays(np.float64, d, elements=coordinates))
    assert _change(statistic, points, replaced) <= 2 * statistic.max_contribution
    assert _change(statistic, points, np.delete(points, who, axis=0)) <= statistic.max_contribution


# Nobody's number depends on who else is there


@pytest.mark.repeated
@pytest.mark.parametrize("d", [2, 4, 8])
@pytest.mark.parametrize("k", [2, 5])
def test_who_leaves_does_not_change_the_labels_of_those_who_stay(d: int, k: int) -> None:
    """On points exactly between two centers, where rounding decides: BLAS rounds one row alone unlike one of two."""
    rng = np.random.default_rng([d, k])
    for _ in range(12):
        centers = rng.random((k, d))
        between = (centers[0] + centers[1]) / 2
        view = Projection(rng.random(d), np.linalg.qr(rng.standard_normal((d, d)))[0][:2])
        statistics = [
            ClusterSums(Labels(centers), np.ones(k), COUNT_WEIGHT),
            ClusterSums(Labels(view.project(centers), view), np.ones(k), COUNT_WEIGHT),
            Histogram(GridQuestion(view, view.project(between[None])[0], np.full(2, 0.1), (4, 4))),
        ]
        crowds = [np.tile(between, (n, 1)) for n in (0, 1, 2, 3, 4, 5, 8, 9, 16, 17)]
        for statistic, (fewer, more) in product(statistics, pairwise(crowds)):
            assert _change(statistic, fewer, more) <= (len(more) - len(fewer)) * statistic.max_contribution
            alone = statistic.compute(more[:1]) if len(more) else 0
            assert np.array_equal(statistic.compute(more), len(more) * alone)


def test_labels_are_those_of_sums_term_by_term_wherever_a_point_stands() -> None:
    rng = np.random.default_rng(0)
    centers = rng.random((6, 5))
    centers[3] = centers[1]
    points = np.concatenate([rng.random((200, 5)), (centers[:, None] + centers).reshape(-1, 5) / 2, centers])
    expected = np.argmax(products(points, centers) - 0.5 * np.sum(centers**2, axis=1), axis=1)
    for size in (1, 2, 3, 7, 64, len(points)):
        parts = [nearest(points[i : i + size], centers) for i in range(0, len(points), size)]
        assert np.array_equal(np.concatenate(parts), expected)


def test_a_group_is_the_sum_of_its_users_across_blocks() -> None:
    study = KMeansStudy("points", n_clusters=2, bounds=[(0, 1)] * 2, epsilon=1)
    centers = np.array([[0.2, 0.3], [0.9, 0.4]])
    between = centers.mean(axis=0)
    statistic = ClusterSums(Labels(centers), np.ones(2), COUNT_WEIGHT)
    for n in (BLOCK, BLOCK + 1, BLOCK + 2):
        whole = PointArray(study.box, np.tile(between, (n, 1)), "points").exact(statistic)
        assert np.array_equal(whole, n * statistic.compute(between[None]))


# The cut to a length, in integers


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 40)),
        elements=st.one_of(
            st.floats(allow_nan=True, allow_infinity=True),
            st.floats(-2, 2),
            st.sampled_from([TINY, -TINY, 1.7e308, -1.7e308, 0.5 / L1_UNIT, -0.5 / L1_UNIT, 1.5 / L1_UNIT]),
        ),
    )
)
def test_what_is_clipped_is_never_longer_than_the_unit(vectors: FloatArray) -> None:
    whole = clip_l1(vectors)
    assert whole.dtype == np.int64
    for row, vector in zip(whole.tolist(), vectors, strict=True):
        assert sum(map(abs, row)) <= L1_UNIT
        assert all(x == 0 or np.sign(x) == np.sign(v) for x, v in zip(row, vector, strict=True))


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 32_896])
def test_long_vectors_keep_their_length_but_for_rounding(n: int) -> None:
    signs = (-1.0) ** np.arange(n)
    for size in (1.0, 1e3, 1e6, 1e300, np.inf):
        length = int(np.abs(clip_l1(size * signs[None])).sum())
        assert L1_UNIT - n < length <= L1_UNIT
    # Entries of half a part each would round up together to more than the unit.
    ones = np.full((1, 2 * L1_UNIT), 0.5 / L1_UNIT)
    assert np.abs(clip_l1(np.nextafter(ones, 1))).sum() <= L1_UNIT


def test_short_vectors_are_only_rounded_and_what_is_not_a_number_counts_nothing() -> None:
    assert clip_l1(np.array([[1.0, 0.0], [-0.5, 0.5]])).tolist() == [[L1_UNIT, 0], [-L1_UNIT // 2, L1_UNIT // 2]]
    assert clip_l1(np.array([[np.nan, 0.5]])).tolist() == [[0, L1_UNIT // 2]]
    assert clip_l1(np.array([[np.inf, -np.inf]])).tolist() == [[L1_UNIT // 2, -L1_UNIT // 2]]
