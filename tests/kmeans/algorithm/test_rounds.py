from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.cluster_estimate import Known
from hybriddp.kmeans.algorithm.covariance import Shape
from hybriddp.kmeans.algorithm.problem import Effort, Problem
from hybriddp.kmeans.algorithm.rounds import CUTS, L1_RADIUS, ClipRadius, common_sd, next_round, quiet_cut
from hybriddp.kmeans.algorithm.step import StepResult
from hybriddp.kmeans.protocol.round import simulate_devices
from hybriddp.kmeans.reports.direction import DirectionQuestion
from hybriddp.kmeans.reports.label_signs import LabelSignsQuestion
from hybriddp.kmeans.statistics import ClusterSums
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


def test_what_is_within_clusters_is_the_total_without_what_is_between_centers() -> None:
    total = float(np.trace(_shape().covariance))
    np.testing.assert_allclose(common_sd(_known(0.0), _shape(), total), [SD] * K)
    everything = replace(_known(0.0), centers=np.array([[0.0] * D, [1.0] * D]))
    np.testing.assert_allclose(common_sd(everything, _shape(), total), [sqrt(0.08 * total / D)] * K)


def test_the_usual_length_of_a_residual_is_a_bit_below_its_radius() -> None:
    absolute = 2 * quad(lambda x: x * norm.pdf(x), 0, 12)[0]
    assert pytest.approx(1.15 * absolute, abs=0.003) == L1_RADIUS


def test_cuts_are_wide_where_there_is_little_noise() -> None:
    for epsilon in ("0.3", "7"):  # directions, and signs
        assert quiet_cut(Problem(K, np.ones(D), epsilon, 2, 0, 10**8), K, Fraction(1, 10)) == CUTS[0]
    assert quiet_cut(Problem(K, np.ones(D), "7", 2, 0, 10), K, Fraction(1, 10)) == CUTS[-1]
    assert quiet_cut(Problem(K, np.ones(D), "0.1", 2, 0, 1000), K, Fraction(1, 10)) == CUTS[-1]
    assert quiet_cut(Problem(K, np.ones(D), "1", 2, 1000, 0), K, Fraction(1, 10)) == CUTS[0]  # nobody is cut


def _asked(epsilon: str, known: Known, cut: ClipRadius) -> tuple[FloatArray, FloatArray]:
    """Radii of local users and of the trusted group."""
    problem = Problem(K, np.ones(D), epsilon, 2, 10**4, 10**7)
    step = next(next_round(problem, "", known, np.full(K, SD), Effort(Fraction(1, 10), Fraction(1, 10)), cut))
    question, release = step.asks[-1].question, step.release
    assert isinstance(question, LabelSignsQuestion | DirectionQuestion)
    assert release is not None
    assert isinstance(release.statistic, ClusterSums)
    return question.radii, release.statistic.radii


def test_radii_grow_with_doubt_and_signs_end_halfway_to_the_next_center() -> None:
    cut = ClipRadius(signs=2.5, lengths=0.7)
    signs, sums = _asked("7", _known(0.0), cut)
    np.testing.assert_allclose(signs, 2.5 * SD)
    np.testing.assert_allclose(sums, L1_RADIUS * D * SD)
    np.testing.assert_allclose(_asked("7", _known(SD**2), ClipRadius(0.8, 0.7))[0], 0.8 * sqrt(2) * SD)
    lengths, _ = _asked("0.3", _known(0.0), cut)
    np.testing.assert_allclose(lengths, 0.7 * sqrt(D) * SD)
    np.testing.assert_allclose(_asked("0.3", _known(100 * SD**2), cut)[0], 0.7 * sqrt(D) * 2 * SD)
    close = replace(_known(0.0), centers=np.array([[0.3] * D, [0.3 + 0.16 / sqrt(D)] * D]))
    np.testing.assert_allclose(_asked("7", close, cut)[0], 0.08)


@pytest.mark.parametrize("epsilon", ["7", "3", "0.5"])
def test_a_round_moves_centers_to_the_means_though_residuals_are_cut(epsilon: str) -> None:
    """What cutting takes off a small step is put back."""
    n, off = 200_000, 0.02
    points = _points(n, 1)
    problem = Problem(K, np.ones(D), epsilon, 2, 0, n)
    talk = next_round(problem, "round", _known(0.002, off), np.full(K, SD), Effort(Fraction(1), Fraction(0)))
    step = next(talk)
    rng = np.random.default_rng(0)
    order = rng.permutation(n)
    answers, done = [], 0
    for ask in step.asks:
        count = int(ask.user_fraction * n)
        answers.append(
            simulate_devices(ask, iter([points[order[done : done + count]]]), source=byte_source(2), rng=rng)
        )
        done += count
    with pytest.raises(StopIteration) as end:
        talk.send(StepResult(tuple(answers)))
    found = end.value.value
    label = np.argmin(np.sum((points[:, None] - TRUE) ** 2, axis=2), axis=1)
    means = np.array([points[label == k].mean(axis=0) for k in range(K)])
    assert np.abs(found.centers - means).max() < 0.1 * off + 5 * sqrt(float(found.variance.max()))
    assert abs(float(np.mean(found.centers - means))) < 0.1 * off
