from dataclasses import replace
from fractions import Fraction
from math import erf, sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from hybriddp._check import FloatArray
from hybriddp.kmeans.requests import Heard
from hybriddp.kmeans.round import crowd
from hybriddp.kmeans.steps.covariance import Shape
from hybriddp.kmeans.steps.problem import Effort, Problem
from hybriddp.kmeans.steps.refine import Known
from hybriddp.kmeans.steps.rounds import L1_RADIUS, _radii, common_sd, next_round, quiet_multiple
from hybriddp.randomness import byte_source

D, K, SD = 5, 2, 0.06
TRUE = np.array([[0.3] * D, [0.7] * D])


def _points(n: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    return np.clip(TRUE[rng.integers(K, size=n)] + SD * rng.standard_normal((n, D)), 0, 1)


def _known(variance: float, off: float = 0.0) -> Known:
    return Known(TRUE + off, np.full((K, D), variance), np.full(K, 0.5), np.full(K, 1e-4), np.zeros(K))


def _shape() -> Shape:
    between = TRUE - TRUE.mean(axis=0)
    return Shape(TRUE.mean(axis=0), SD**2 * np.eye(D) + between.T @ between / K)


def test_what_is_within_clusters_is_the_total_without_what_is_between_centres() -> None:
    total = float(np.trace(_shape().covariance))
    np.testing.assert_allclose(common_sd(_known(0.0), _shape(), total), [SD] * K)
    everything = replace(_known(0.0), centres=np.array([[0.0] * D, [1.0] * D]))
    np.testing.assert_allclose(common_sd(everything, _shape(), total), [sqrt(0.08 * total / D)] * K)


def test_the_usual_length_of_a_residual_is_a_bit_below_its_radius() -> None:
    absolute = 2 * quad(lambda x: x * norm.pdf(x), 0, 12)[0]
    assert pytest.approx(1.15 * absolute, abs=0.003) == L1_RADIUS


def test_radii_are_wide_where_there_is_little_noise_and_end_halfway_to_the_next_centre() -> None:
    problem, share, sd = Problem(K, np.ones(D), "7", 2, 0, 10**7), Fraction(1, 10), np.full(K, SD)
    assert quiet_multiple(problem, K, share) == 2.5
    assert quiet_multiple(Problem(K, np.ones(D), "0.1", 2, 0, 1000), K, share) == 0.8
    radii = _radii(problem, _known(0.0), sd, 2.5)
    np.testing.assert_allclose(radii.signs, 2.5 * SD)
    np.testing.assert_allclose(radii.sums, L1_RADIUS * D * SD)
    doubtful = _radii(problem, _known(SD**2), sd, 0.8)
    np.testing.assert_allclose(doubtful.signs, 0.8 * sqrt(2) * SD)
    close = replace(_known(0.0), centres=np.array([[0.3] * D, [0.3 + 0.16 / sqrt(D)] * D]))
    np.testing.assert_allclose(_radii(problem, close, sd, 2.5).signs, 0.08)


@pytest.mark.parametrize("epsilon", ["7", "3"])
def test_a_round_moves_centres_to_the_means_though_residuals_are_cut(epsilon: str) -> None:
    """What cutting takes off a small step is put back."""
    n, off = 200_000, 0.02
    points = _points(n, 1)
    problem = Problem(K, np.ones(D), epsilon, 2, 0, n)
    talk = next_round(problem, "round", _known(0.002, off), np.full(K, SD), Effort(Fraction(1), Fraction(0)))
    step = next(talk)
    dice = np.random.default_rng(0)
    order = dice.permutation(n)
    answers, done = [], 0
    for ask in step.asks:
        count = int(ask.share * n)
        answers.append(crowd(ask, iter([points[order[done : done + count]]]), source=byte_source(2), dice=dice))
        done += count
    with pytest.raises(StopIteration) as end:
        talk.send(Heard(tuple(answers)))
    found = end.value.value
    label = np.argmin(np.sum((points[:, None] - TRUE) ** 2, axis=2), axis=1)
    means = np.array([points[label == k].mean(axis=0) for k in range(K)])
    assert np.abs(found.centres - means).max() < 0.1 * off + 5 * sqrt(float(found.variance.max()))
    assert abs(float(np.mean(found.centres - means))) < 0.1 * off


@pytest.mark.parametrize("r", [0.8, 1.2, 2.5])
def test_of_a_small_step_cutting_leaves_the_chance_to_be_inside(r: float) -> None:
    """The derivative of the mean of a shifted and cut normal variable, by quadrature."""

    def mean(shift: float) -> float:
        ends = [-r - shift, r - shift]
        return float(quad(lambda x: np.clip(x + shift, -r, r) * norm.pdf(x), -12, 12, points=ends)[0])

    assert (mean(0.01) - mean(-0.01)) / 0.02 == pytest.approx(erf(r / sqrt(2)), rel=1e-3)
