"""Mean and covariance of all points, and the main directions that they give."""

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.axes import (
    InitialMoments,
    MainAxes,
    _shrinkage,
    estimate_moments,
    first_axes,
    initial_moments,
    with_first_axes,
)
from hybriddp.kmeans.algorithm.problem import ClusterEstimate, Effort, Problem, PublishedVector, Step, StepResult
from hybriddp.kmeans.algorithm.steps import shift_noise
from hybriddp.kmeans.algorithm.tuning import (
    BETWEEN,
    LEAST_REST,
    LEAST_SHAPE,
    LEAST_TOTAL,
    LEAST_VARIANCE,
    MATRIX_RADII,
    MOST_TOTAL,
    MOST_VARIANCE,
    SQUARE_RADII,
    USUAL_VARIANCE,
)
from hybriddp.kmeans.clustering import nearest
from hybriddp.kmeans.protocol.round import simulate_devices
from hybriddp.kmeans.reports.base import Labels
from hybriddp.kmeans.reports.moments import SecondMomentQuestion, usual_size
from hybriddp.kmeans.statistics import SecondMoments
from hybriddp.randomness import byte_source

N, D = 60_000, 5
EVERYBODY = Effort(Fraction(1), Fraction(0))


def _problem(n_trusted: int, n_local: int, d: int = D, epsilon: str = "4") -> Problem:
    return Problem(4, np.ones(d), epsilon, n_trusted, n_local)


def _answered(algorithm: Any, points: FloatArray, trusted: FloatArray) -> Any:
    """What a step returns if all local users answer and the trusted group's numbers have no noise."""
    step: Step = next(algorithm)
    answers = tuple(
        simulate_devices(ask, iter([points]), source=byte_source(1), rng=np.random.default_rng(1)) for ask in step.asks
    )
    published = None if step.release is None else PublishedVector(step.release.statistic.compute(trusted), 1e4)
    with pytest.raises(StopIteration) as end:
        algorithm.send(StepResult(answers, published))
    return end.value.value


def test_radii_are_wide_where_there_is_little_noise() -> None:
    points, _ = _normal_points(3)
    initial = InitialMoments(points.mean(axis=0), np.full(D, 1e-4), 0.02)
    for n, radius, bound in (
        (10**8, max(SQUARE_RADII), max(MATRIX_RADII)),
        (1000, min(SQUARE_RADII), min(MATRIX_RADII)),
    ):
        step = next(estimate_moments(_problem(n, n), initial, Effort(Fraction(1, 10), Fraction(1, 10))))
        assert step.release is not None
        assert isinstance(step.asks[2].question, SecondMomentQuestion)
        assert isinstance(step.release.statistic, SecondMoments)
        assert step.asks[2].question.radius == pytest.approx(sqrt(radius * D * 0.02))
        assert step.release.statistic.bound == pytest.approx(bound * usual_size(D) * 0.02)


def _normal_points(seed: int, n: int = N) -> tuple[FloatArray, FloatArray]:
    """Points and their covariance: one direction wider than the others."""
    rng = np.random.default_rng(seed)
    direction = np.array([1.0, 1, 0, -1, 0]) / sqrt(3)
    spread = 0.11**2 * np.eye(D) + (0.16**2 - 0.11**2) * np.outer(direction, direction)
    return 0.45 + rng.standard_normal((n, D)) @ np.linalg.cholesky(spread).T, spread


def test_initial_moments_are_about_right() -> None:
    points, spread = _normal_points(1)
    initial = _answered(initial_moments(_problem(0, N), EVERYBODY), points, points)
    np.testing.assert_allclose(initial.mean, points.mean(axis=0), atol=0.02)
    assert initial.coordinate_variance == pytest.approx(np.trace(spread) / D, rel=0.1)


@pytest.mark.parametrize("epsilon", ["7", "2"])
def test_a_mean_far_from_the_middle_is_found(epsilon: str) -> None:
    """All points on one side of it agree most with the same direction of a codebook, so that many are needed.

    With four of them, the mean would be off by three quarters of its distance from the middle.
    """
    d = 18
    center = np.where(np.arange(d) < 9, 0.05, 0.3)
    points = np.clip(center + 0.1 * np.random.default_rng(0).standard_normal((N, d)), 0, 1)
    initial = _answered(initial_moments(_problem(0, N, d, epsilon), EVERYBODY), points, points)
    assert float(np.linalg.norm(initial.mean - points.mean(axis=0))) < 0.3 * float(np.linalg.norm(center - 0.5))


def test_noise_shrinks_the_entries_of_a_covariance() -> None:
    rng = np.random.default_rng(0)
    true, sd = rng.standard_normal((40, 40)), 1.5
    noisy = true + sd * rng.standard_normal((40, 40))
    left = _shrinkage(noisy, np.full((40, 40), sd**2))
    best = float(np.sum(true * noisy) / np.sum(noisy**2))  # by least squares, from the truth
    assert left == pytest.approx(best, abs=0.1)
    assert _shrinkage(noisy, np.zeros((40, 40))) == _shrinkage(np.zeros((2, 2)), np.ones((2, 2))) == 1
    assert _shrinkage(noisy, np.full((40, 40), 100.0)) == LEAST_SHAPE


def test_without_local_users_initial_moments_are_a_guess() -> None:
    with pytest.raises(StopIteration) as end:
        next(initial_moments(_problem(100, 0), EVERYBODY))
    assert end.value.value.coordinate_variance == USUAL_VARIANCE
    np.testing.assert_array_equal(end.value.value.mean, np.full(D, 0.5))


@pytest.mark.parametrize("points", [np.full((N, D), 0.5), np.random.default_rng(0).choice([0.0, 1.0], (N, D))])
def test_the_initial_spread_stays_within_what_is_assumed(points: FloatArray) -> None:
    initial = _answered(initial_moments(_problem(0, N), EVERYBODY), points, points)
    assert LEAST_VARIANCE <= initial.coordinate_variance <= MOST_VARIANCE


@pytest.mark.slow
def test_squares_that_nobody_is_asked_for_do_not_count_as_zero() -> None:
    """In very many dimensions; else the spread would come out far too small."""
    d, n = 256, 10_000
    points = np.clip(0.5 + 0.18 * np.random.default_rng(0).standard_normal((n, d)), 0, 1)
    initial = _answered(initial_moments(_problem(0, n, d, "10"), EVERYBODY), points, points)
    assert initial.coordinate_variance == pytest.approx(0.18**2, rel=0.35)


@pytest.mark.parametrize(("n_trusted", "n_local"), [(0, N), (N, 0), (N, N)])
def test_the_estimate_is_the_covariance(n_trusted: int, n_local: int) -> None:
    """Near the middle of a guess that is slightly off; with the trusted group, clipping shrinks it a little."""
    points, spread = _normal_points(2)
    initial = InitialMoments(points.mean(axis=0) + 0.02, np.full(D, 0.02**2), float(np.trace(spread)) / D)
    algorithm = estimate_moments(_problem(n_trusted, n_local), initial, Effort(Fraction(1), Fraction(1, 5)))
    mean, covariance = _answered(algorithm, points, points)
    if n_local:
        np.testing.assert_allclose(mean, points.mean(axis=0), atol=0.012)
    correlation = np.corrcoef(covariance.ravel(), spread.ravel())[0, 1]
    assert correlation > 0.95
    assert np.trace(covariance) == pytest.approx(np.trace(spread), rel=0.25)
    widest = np.linalg.eigh(covariance)[1][:, -1]
    assert abs(widest @ np.array([1.0, 1, 0, -1, 0])) / sqrt(3) > 0.95


M, MEAN = 6, np.linspace(0.4, 0.6, 6)
EIGENVALUES = np.array([0.08, 0.04, 0.03, 0.02, 0.015, 0.015])
ROWS = np.linalg.qr(np.random.default_rng(0).standard_normal((M, M)))[0]
COVARIANCE = ROWS.T @ np.diag(EIGENVALUES) @ ROWS
AXES = MainAxes.of(MEAN, COVARIANCE, 1.0)


def _known(centers: FloatArray) -> ClusterEstimate:
    k = len(centers)
    return ClusterEstimate(centers, np.full(centers.shape, 0.01), np.full(k, 1 / k), np.ones(k), np.zeros(k))


def test_axes_are_the_eigenvectors_by_falling_variance() -> None:
    np.testing.assert_allclose(AXES.variances, EIGENVALUES)
    axes = AXES.projection.axes
    np.testing.assert_allclose(axes @ axes.T, np.eye(M), atol=1e-12)
    np.testing.assert_allclose(axes @ COVARIANCE, EIGENVALUES[:, None] * axes, atol=1e-12)
    assert (axes[np.arange(M), np.argmax(np.abs(axes), axis=1)] > 0).all()


@pytest.mark.parametrize(("scale", "average"), [(1e-9, LEAST_TOTAL), (1e9, MOST_TOTAL)])
def test_variances_stay_within_what_is_assumed(scale: float, average: float) -> None:
    variances = MainAxes.of(MEAN, scale * (COVARIANCE - 0.03 * np.eye(M)), 4.0).variances  # indefinite
    assert variances.min() >= LEAST_REST * average * 4
    assert variances.max() <= M * average * 4


def test_the_nearest_center_is_the_same_along_few_axes_as_along_all() -> None:
    rng = np.random.default_rng(1)
    points, m = rng.random((1000, M)), 3
    centers = np.hstack([0.3 * rng.standard_normal((7, m)), np.zeros((7, M - m))])
    seen = Labels(centers[:, :m], AXES.projection.first(m)).nearest(points)
    np.testing.assert_array_equal(seen, Labels(centers, AXES.projection).nearest(points))
    everywhere = AXES.in_box(_known(centers), np.full(M, np.inf)).centers
    inside = (everywhere > 0).all(axis=1)
    np.testing.assert_array_equal(
        nearest(points, everywhere[inside]), Labels(centers[inside], AXES.projection).nearest(points)
    )


def test_in_the_box_nothing_turns_but_the_coordinates() -> None:
    known = replace(_known(np.zeros((2, M))), variance=np.tile(EIGENVALUES, (2, 1)))
    box = AXES.in_box(known, np.ones(M))
    np.testing.assert_allclose(box.centers, [MEAN] * 2)
    np.testing.assert_allclose(box.variance, [np.diag(COVARIANCE)] * 2)
    outside = 50.0 * np.array([[1, -1, 1, 1, -1, -1]])  # in the box; two axes have one variance, and may be any two
    far = AXES.in_box(_known(outside @ AXES.projection.axes.T), np.ones(M)).centers
    np.testing.assert_array_equal(far, outside > 0)


def test_parts_add_up() -> None:
    known = _known(np.random.default_rng(2).random((4, M)))
    again = with_first_axes(known, first_axes(known, 2))
    np.testing.assert_array_equal(again.centers, known.centers)
    np.testing.assert_array_equal(again.variance, known.variance)
    np.testing.assert_allclose(AXES.prior(3, 2, 0.5)[1], [0.5, 0.5, *BETWEEN * EIGENVALUES[2:]])


EFFORTS = (Effort(Fraction(1, 5), Fraction(0)), Effort(Fraction(1, 10), Fraction(0)))


@pytest.mark.parametrize(("epsilon", "n", "expected"), [("7", 10**7, M), ("0.1", 1000, 3), ("1", 0, M)])
def test_few_axes_are_asked_for_where_there_is_much_noise(epsilon: str, n: int, expected: int) -> None:
    problem = Problem(5, np.ones(M), epsilon, 0, n) if n else Problem(5, np.ones(M), epsilon, 10**7, 0)
    efforts = EFFORTS if n else (Effort(Fraction(0), Fraction(1)),)
    assert AXES.worthwhile(problem, 5, efforts, 3) == expected


@pytest.mark.parametrize("n", [10_000, 50_000, 300_000])
def test_the_axes_asked_for_explain_most(n: int) -> None:
    problem, k = Problem(20, np.ones(M), "1", 0, n), 20

    def explained(m: int) -> float:
        noise = shift_noise(problem, k, m, Effort(Fraction(3, 10), Fraction(0)))
        between, within = BETWEEN * EIGENVALUES[:m], (1 - BETWEEN) * EIGENVALUES[:m].mean()
        return float(sum(b * b / (b + noise * within) for b in between))

    best = AXES.worthwhile(problem, k, EFFORTS, 1)
    assert explained(best) == pytest.approx(max(explained(m) for m in range(1, M + 1)))
