from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.axes import MainAxes, first_axes, with_first_axes
from hybriddp.kmeans.algorithm.problem import ClusterEstimate, Effort, Problem
from hybriddp.kmeans.algorithm.steps import shift_noise
from hybriddp.kmeans.algorithm.tuning import BETWEEN, LEAST_REST, LEAST_TOTAL, MOST_TOTAL
from hybriddp.kmeans.clustering import nearest
from hybriddp.kmeans.reports.base import Labels

D, MEAN = 6, np.linspace(0.4, 0.6, 6)
EIGENVALUES = np.array([0.08, 0.04, 0.03, 0.02, 0.015, 0.015])
ROWS = np.linalg.qr(np.random.default_rng(0).standard_normal((D, D)))[0]
COVARIANCE = ROWS.T @ np.diag(EIGENVALUES) @ ROWS
AXES = MainAxes.of(MEAN, COVARIANCE, 1.0)


def _known(centers: FloatArray) -> ClusterEstimate:
    k = len(centers)
    return ClusterEstimate(centers, np.full(centers.shape, 0.01), np.full(k, 1 / k), np.ones(k), np.zeros(k))


def test_axes_are_the_eigenvectors_by_falling_variance() -> None:
    np.testing.assert_allclose(AXES.variances, EIGENVALUES)
    axes = AXES.projection.axes
    np.testing.assert_allclose(axes @ axes.T, np.eye(D), atol=1e-12)
    np.testing.assert_allclose(axes @ COVARIANCE, EIGENVALUES[:, None] * axes, atol=1e-12)
    assert (axes[np.arange(D), np.argmax(np.abs(axes), axis=1)] > 0).all()


@pytest.mark.parametrize(("scale", "average"), [(1e-9, LEAST_TOTAL), (1e9, MOST_TOTAL)])
def test_variances_stay_within_what_is_assumed(scale: float, average: float) -> None:
    variances = MainAxes.of(MEAN, scale * (COVARIANCE - 0.03 * np.eye(D)), 4.0).variances  # indefinite
    assert variances.min() >= LEAST_REST * average * 4
    assert variances.max() <= D * average * 4


def test_the_nearest_center_is_the_same_along_few_axes_as_along_all() -> None:
    rng = np.random.default_rng(1)
    points, m = rng.random((1000, D)), 3
    centers = np.hstack([0.3 * rng.standard_normal((7, m)), np.zeros((7, D - m))])
    seen = Labels(centers[:, :m], AXES.projection.first(m)).nearest(points)
    np.testing.assert_array_equal(seen, Labels(centers, AXES.projection).nearest(points))
    everywhere = AXES.in_box(_known(centers), np.full(D, np.inf)).centers
    inside = (everywhere > 0).all(axis=1)
    np.testing.assert_array_equal(
        nearest(points, everywhere[inside]), Labels(centers[inside], AXES.projection).nearest(points)
    )


def test_in_the_box_nothing_turns_but_the_coordinates() -> None:
    known = replace(_known(np.zeros((2, D))), variance=np.tile(EIGENVALUES, (2, 1)))
    box = AXES.in_box(known, np.ones(D))
    np.testing.assert_allclose(box.centers, [MEAN] * 2)
    np.testing.assert_allclose(box.variance, [np.diag(COVARIANCE)] * 2)
    outside = 50.0 * np.array([[1, -1, 1, 1, -1, -1]])  # in the box; two axes have one variance, and may be any two
    far = AXES.in_box(_known(outside @ AXES.projection.axes.T), np.ones(D)).centers
    np.testing.assert_array_equal(far, outside > 0)


def test_parts_add_up() -> None:
    known = _known(np.random.default_rng(2).random((4, D)))
    again = with_first_axes(known, first_axes(known, 2))
    np.testing.assert_array_equal(again.centers, known.centers)
    np.testing.assert_array_equal(again.variance, known.variance)
    np.testing.assert_allclose(AXES.prior(3, 2, 0.5)[1], [0.5, 0.5, *BETWEEN * EIGENVALUES[2:]])


EFFORTS = (Effort(Fraction(1, 5), Fraction(0)), Effort(Fraction(1, 10), Fraction(0)))


@pytest.mark.parametrize(("epsilon", "n", "expected"), [("7", 10**7, D), ("0.1", 1000, 3), ("1", 0, D)])
def test_few_axes_are_asked_for_where_there_is_much_noise(epsilon: str, n: int, expected: int) -> None:
    problem = Problem(5, np.ones(D), epsilon, 0, n) if n else Problem(5, np.ones(D), epsilon, 10**7, 0)
    efforts = EFFORTS if n else (Effort(Fraction(0), Fraction(1)),)
    assert AXES.worthwhile(problem, 5, efforts, 3) == expected


@pytest.mark.parametrize("n", [10_000, 50_000, 300_000])
def test_the_axes_asked_for_explain_most(n: int) -> None:
    problem, k = Problem(20, np.ones(D), "1", 0, n), 20

    def explained(m: int) -> float:
        noise = shift_noise(problem, k, m, Effort(Fraction(3, 10), Fraction(0)))
        between, within = BETWEEN * EIGENVALUES[:m], (1 - BETWEEN) * EIGENVALUES[:m].mean()
        return float(sum(b * b / (b + noise * within) for b in between))

    best = AXES.worthwhile(problem, k, EFFORTS, 1)
    assert explained(best) == pytest.approx(max(explained(m) for m in range(1, D + 1)))
