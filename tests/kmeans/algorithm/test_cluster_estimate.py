from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.problem import ClusterEstimate, Doubts, StartDoubt, half_distances
from hybriddp.kmeans.algorithm.tuning import GUARD_LEVEL, LEAST_SIZE
from hybriddp.kmeans.reports.means import ResidualSums

FAR = 1e9


def _known(centers: FloatArray, variance: float, trusted_weight: float = 0.0) -> ClusterEstimate:
    """Clusters of size 1, so that a sum is a shift."""
    k = len(centers)
    ones = np.ones(k)
    return ClusterEstimate(centers, np.full(centers.shape, variance), ones, ones, np.full(k, trusted_weight))


def _sized(centers: FloatArray, variance: float) -> ClusterEstimate:
    """Clusters whose sizes are known."""
    return replace(_known(centers, variance), size_variance=np.full(len(centers), 0.01))


def _sums(shift: FloatArray, variance: float) -> ResidualSums:
    return ResidualSums(np.ones(len(shift)), 1.0, shift, np.full(shift.shape, variance))


def test_a_center_moves_as_far_as_the_measurement_deserves() -> None:
    """By hand: v = .01 and v' = .03 give a gain of a quarter."""
    known, sums = _known(np.array([[0.5, 0.5]]), 0.01, 0.25), _sums(np.array([[0.08, -0.04]]), 0.03)
    for local, trusted, said in ((sums, None, 0.0), (None, sums, 1.0)):
        found = known.update(local, trusted, max_shift=np.array([FAR]), widths=np.ones(2))
        np.testing.assert_allclose(found.centers, [[0.52, 0.49]])
        np.testing.assert_allclose(found.variance, 0.01 * 0.03 / 0.04)
        np.testing.assert_allclose(found.trusted_weight, 0.75 * 0.25 + 0.25 * said)
        np.testing.assert_allclose(found.size_variance, [0.5])


def test_both_groups_are_weighted_by_precision_and_means_are_sums_over_sizes() -> None:
    """By hand, for one cluster in one dimension whose center is not known at all."""
    local = ResidualSums(np.array([0.5]), 0.01, np.array([[0.1]]), np.array([[0.02]]))
    trusted = ResidualSums(np.array([0.7]), 0.04, np.array([[0.2]]), np.array([[0.01]]))
    known = ClusterEstimate(np.array([[0.3]]), np.array([[1e6]]), np.array([0.4]), np.array([0.02]), np.zeros(1))
    found = known.update(local, trusted, max_shift=np.array([FAR]), widths=np.ones(1))
    precision = 1 / 0.02 + 1 / 0.01 + 1 / 0.04
    size = (0.4 / 0.02 + 0.5 / 0.01 + 0.7 / 0.04) / precision
    np.testing.assert_allclose(found.sizes, [size])
    np.testing.assert_allclose(found.size_variance, [1 / precision])
    mean = 0.3 + (0.1 / 0.02 + 0.2 / 0.01) / (1 / 0.02 + 1 / 0.01) / size
    np.testing.assert_allclose(found.centers, [[mean]], rtol=1e-6)
    np.testing.assert_allclose(found.variance, [[1 / (1 / 0.02 + 1 / 0.01) / size**2]], rtol=1e-6)
    np.testing.assert_allclose(found.trusted_weight, [2 / 3])


def test_shifts_are_not_too_long_and_sizes_not_too_small() -> None:
    sums = ResidualSums(np.array([-0.3, 0.3]), 1e-9, np.array([[0.01], [-5.0]]), np.array([[0.02], [0.02]]))
    known = ClusterEstimate(np.full((2, 1), 0.6), np.full((2, 1), 1e12), np.full(2, 0.5), np.ones(2), np.zeros(2))
    found = known.update(sums, None, max_shift=np.array([FAR, 0.5]), widths=np.ones(1))
    np.testing.assert_allclose(found.centers, [[0.6 + 0.01 / (LEAST_SIZE / 2)], [0.1]])
    np.testing.assert_allclose(found.sizes, [0.0, 0.3], atol=1e-6)
    np.testing.assert_array_equal(found.trusted_weight, [0, 0])


@pytest.mark.statistical
@pytest.mark.parametrize("d", [1, 2, 8])
@pytest.mark.parametrize("k", [1, 5])
def test_a_shift_that_is_too_long_for_the_variances_raises_them(d: int, k: int) -> None:
    """Exactly at the quantile: where variances are right, one study in a thousand, all clusters together."""
    v, fresh = 1e-4, 3e-4
    limit = chi2.isf(GUARD_LEVEL / k, d) / d * (v + fresh)
    for factor, raised in ((0.999, False), (1.001, True)):
        shift = np.zeros((k, d))
        shift[0] = np.sqrt(factor * limit)
        known = _known(np.full((k, d), 0.5), v)
        found = known.update(_sums(shift, fresh), None, max_shift=np.full(k, FAR), widths=np.ones(d))
        implied = factor * limit - fresh if raised else v
        gain = implied / (implied + fresh)
        np.testing.assert_allclose(found.centers[0], 0.5 + gain * shift[0])
        np.testing.assert_allclose(found.variance[0], gain * fresh)
        np.testing.assert_allclose(found.centers[1:], 0.5)
        np.testing.assert_allclose(found.variance[1:], v * fresh / (v + fresh))


def test_nothing_measured_changes_nothing_and_centers_stay_in_the_box() -> None:
    known = _known(np.array([[0.5, 0.5]]), 0.01)
    assert known.update(None, None, max_shift=np.ones(1), widths=np.ones(2)) is known
    known, sums = _known(np.array([[0.9, 0.1]]), 1.0), _sums(np.array([[5.0, -5.0]]), 0.1)
    moved = known.update(sums, None, max_shift=np.array([FAR]), widths=np.array([1.0, 0.3]))
    np.testing.assert_array_equal(moved.centers, [[1.0, 0.0]])


def test_half_distances_are_those_of_the_definition() -> None:
    centers = np.random.default_rng(0).random((6, 3))
    for i, half in enumerate(half_distances(centers)):
        assert half == pytest.approx(min(np.linalg.norm(centers[i] - centers[j]) for j in range(6) if j != i) / 2)
    np.testing.assert_array_equal(half_distances(centers[:1]), [0.5])
    np.testing.assert_array_equal(half_distances(np.zeros((2, 3))), [0, 0])


def test_doubt_is_the_error_of_the_least_certain_center_over_the_cost() -> None:
    """By hand: variances of .01 in two coordinates of one center and .03 in one of the other; users are .5 away.

    It falls with every measurement that agrees.
    """
    variance = np.array([[0.01, 0.01], [0.03, 0.0]])
    known = replace(_known(np.array([[0.2, 0.2], [0.8, 0.8]]), 0.0), variance=variance, cost=0.25)
    assert known.doubt == pytest.approx(0.03 / 0.25)
    known = replace(_known(np.array([[0.5, 0.5]]), 0.01), cost=0.1)
    agreed = known.update(_sums(np.zeros((1, 2)), 0.03), None, max_shift=np.array([FAR]), widths=np.ones(2))
    assert agreed.doubt == pytest.approx(0.75 * known.doubt)


def test_an_answer_is_doubtful_from_a_limit_on() -> None:
    """Sooner if the start was not the cheapest on a coarse grid."""
    cases = [(_sized(np.full((2, d), 0.5), 0.01), limit) for d, limit in ((1, 0.07), (3, 0.07), (4, 0.15), (16, 0.15))]
    for rival_cost, n_vertices, limit in ((0.019, 100, 0.012), (0.019, 101, 0.07), (0.021, 100, 0.07)):
        start = StartDoubt(0.02, rival_cost, 0.005, n_vertices)
        cases.append((replace(_sized(np.full((2, 2), 0.5), 0.01), start=start), limit))
    for known, limit in cases:
        error = 0.01 * known.centers.shape[1]
        assert replace(known, cost=error / limit * 0.999).is_doubtful
        assert not replace(known, cost=error / limit * 1.001).is_doubtful
    # A rival is a start that noise cannot tell from the chosen one.
    assert [StartDoubt(1.0, cost, 0.2, 64).has_rival for cost in (0.9, 1.19, 1.21)] == [True, True, False]


def test_the_rule_that_fired_is_told_with_its_centers() -> None:
    """By hand: errors of .02 and .0002 over a cost of .1 are .2 and .002."""
    known = replace(_sized(np.full((2, 2), 0.5), 0.01), cost=0.1)
    known = replace(known, variance=np.array([[0.01, 0.01], [1e-4, 1e-4]]))
    assert known.doubts == Doubts(empty=(), close=(), noisy=(0,), contested=False)
    sure = replace(known, variance=np.full((2, 2), 1e-4))
    assert sure.doubts == Doubts((), (), (), contested=False)
    assert not sure.doubts
    contested = replace(sure, start=StartDoubt(0.02, 0.019, 0.005, 64))
    assert not contested.is_doubtful
    assert replace(contested, cost=0.01).doubts == Doubts((), (), (), contested=True)


def test_empty_and_close_centers_make_an_answer_doubtful() -> None:
    """A size has a standard error of .1. With steps of .1 and .2, the first and the last center differ by 0 and
    (y - .1) / .2 of them.
    """
    for size, empty in ((0.29, (1,)), (0.31, ())):
        known = replace(_sized(np.full((2, 5), 0.5), 1e-6), sizes=np.array([0.7, size]), cost=1.0)
        assert known.doubts.empty == empty
        assert known.is_doubtful == bool(empty)
    for y, close in ((0.29, (0, 2)), (0.31, ())):
        known = replace(_sized(np.array([[0.5, 0.1], [0.9, 0.1], [0.5, y]]), 1e-6), cost=1.0)
        assert not known.is_doubtful
        known = replace(known, step=np.array([0.1, 0.2]))
        assert known.doubts.close == close
        assert known.is_doubtful == bool(close)
        moved = known.update(_sums(np.zeros((3, 2)), 1.0), None, max_shift=np.full(3, FAR), widths=np.ones(2))
        assert moved.doubts.close == close
    assert not replace(_sized(np.array([[0.5, 0.5]]), 1e-6), cost=1.0, step=np.array([0.1, 0.1])).is_doubtful
