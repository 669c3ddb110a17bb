import numpy as np
import pytest
from scipy.stats import chi2

from hybriddp.kmeans.algorithm.cluster_estimate import GUARD, Known, half_distances, moved
from hybriddp.kmeans.algorithm.measure import Measured

ONE = np.ones(1)


def _known(center: list[float], variance: float) -> Known:
    shape = (1, len(center))
    return Known(np.array([center]), np.full(shape, variance), ONE, 0.1 * ONE, 0.25 * ONE)


def _news(step: list[float], variance: float) -> Measured:
    return Measured(0.9 * ONE, 0.05 * ONE, np.array([step]), np.full((1, len(step)), variance), 0.75 * ONE)


def test_a_center_moves_as_far_as_the_measurement_deserves() -> None:
    """By hand: v = .01 and v' = .03 give a gain of a quarter."""
    found = moved(_known([0.5, 0.5], 0.01), _news([0.08, -0.04], 0.03), np.ones(2))
    np.testing.assert_allclose(found.centers, [[0.52, 0.49]])
    np.testing.assert_allclose(found.variance, 0.01 * 0.03 / 0.04)
    np.testing.assert_allclose(found.trusted_weight, 0.75 * 0.25 + 0.25 * 0.75)
    np.testing.assert_array_equal(found.sizes, [0.9])
    np.testing.assert_array_equal(found.size_variance, [0.05])


@pytest.mark.parametrize("d", [1, 2, 8])
@pytest.mark.parametrize("k", [1, 5])
def test_a_step_that_is_too_long_for_the_variances_raises_them(d: int, k: int) -> None:
    v, fresh = 1e-4, 3e-4
    limit = chi2.isf(GUARD / k, d) / d * (v + fresh)
    for factor, raised in ((0.999, False), (1.001, True)):
        step = np.sqrt(factor * limit)
        known = Known(np.full((k, d), 0.5), np.full((k, d), v), np.ones(k), np.ones(k), np.zeros(k))
        steps = np.zeros((k, d))
        steps[0] = step
        news = Measured(np.ones(k), np.ones(k), steps, np.full((k, d), fresh), np.zeros(k))
        found = moved(known, news, np.ones(d))
        implied = step**2 - fresh if raised else v
        gain = implied / (implied + fresh)
        np.testing.assert_allclose(found.centers[0], 0.5 + gain * step)
        np.testing.assert_allclose(found.variance[0], gain * fresh)
        np.testing.assert_allclose(found.centers[1:], 0.5)
        np.testing.assert_allclose(found.variance[1:], v * fresh / (v + fresh))


def test_the_guard_is_quiet_where_the_variances_are_right() -> None:
    """One study in a thousand, all clusters together: of 20,000, 20 give or take 4.5."""
    rng = np.random.default_rng(0)
    k, d, runs, v, fresh = 5, 3, 20_000, 2e-4, 1e-4
    limit = chi2.isf(GUARD / k, d) / d
    steps = rng.normal(0, np.sqrt(v + fresh), (runs, k, d))
    loud = int(np.any(np.mean(steps**2, axis=2) > limit * (v + fresh), axis=1).sum())
    known = Known(np.full((k, d), 0.5), np.full((k, d), v), np.ones(k), np.ones(k), np.zeros(k))
    raised = 0
    for step in steps[:2000]:
        news = Measured(np.ones(k), np.ones(k), step, np.full((k, d), fresh), np.zeros(k))
        raised += bool((moved(known, news, np.ones(d)).variance > 1.0001 * v * fresh / (v + fresh)).any())
    assert abs(loud - runs * GUARD) < 5 * np.sqrt(runs * GUARD)
    assert raised == int(np.any(np.mean(steps[:2000] ** 2, axis=2) > limit * (v + fresh), axis=1).sum())


def test_nothing_measured_moves_nothing() -> None:
    known = _known([0.5, 0.5], 0.01)
    found = moved(known, Measured.nothing(ONE, ONE, 2), np.ones(2))
    np.testing.assert_array_equal(found.centers, known.centers)
    np.testing.assert_array_equal(found.variance, known.variance)
    np.testing.assert_array_equal(found.trusted_weight, known.trusted_weight)


def test_centers_stay_in_the_box() -> None:
    found = moved(_known([0.9, 0.1], 1.0), _news([5.0, -5.0], 0.1), np.array([1.0, 0.3]))
    np.testing.assert_array_equal(found.centers, [[1.0, 0.0]])


def test_half_distances_are_those_of_the_definition() -> None:
    centers = np.random.default_rng(0).random((6, 3))
    for i, half in enumerate(half_distances(centers)):
        assert half == pytest.approx(min(np.linalg.norm(centers[i] - centers[j]) for j in range(6) if j != i) / 2)
    np.testing.assert_array_equal(half_distances(centers[:1]), [0.5])
    np.testing.assert_array_equal(half_distances(np.zeros((2, 3))), [0, 0])
