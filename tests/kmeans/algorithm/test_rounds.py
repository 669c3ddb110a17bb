from dataclasses import replace
from fractions import Fraction
from math import sqrt
from unittest import mock

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm import steps
from hybriddp.kmeans.algorithm.problem import ClusterEstimate, Effort, Problem, StepResult
from hybriddp.kmeans.algorithm.steps import next_round, shift_noise, widest_clip
from hybriddp.kmeans.algorithm.tuning import CLIP_RADII, L1_RADIUS, USUAL_RADIUS, ClipRadius
from hybriddp.kmeans.protocol.round import simulate_devices
from hybriddp.kmeans.reports.means import DirectionQuestion, LabelSignsQuestion
from hybriddp.kmeans.statistics import ClusterSums
from hybriddp.randomness import byte_source
from tests.levels import z_limit

D, K, SD = 5, 2, 0.06
TRUE = np.array([[0.3] * D, [0.7] * D])


def _points(n: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    return np.clip(TRUE[rng.integers(K, size=n)] + SD * rng.standard_normal((n, D)), 0, 1)


def _known(variance: float, off: float = 0.0) -> ClusterEstimate:
    return ClusterEstimate(TRUE + off, np.full((K, D), variance), np.full(K, 0.5), np.full(K, 1e-4), np.zeros(K))


def test_the_usual_length_of_a_residual_is_a_bit_below_its_radius() -> None:
    absolute = 2 * quad(lambda x: x * norm.pdf(x), 0, 12)[0]
    assert pytest.approx(1.15 * absolute, abs=0.003) == L1_RADIUS


def test_radii_are_wide_where_there_is_little_noise() -> None:
    for epsilon in ("0.3", "7"):  # directions, and signs
        assert widest_clip(Problem(K, np.ones(D), epsilon, 0, 10**8), K, D, Fraction(1, 10)) == CLIP_RADII[0]
    assert widest_clip(Problem(K, np.ones(D), "7", 0, 10), K, D, Fraction(1, 10)) == CLIP_RADII[-1]
    assert widest_clip(Problem(K, np.ones(D), "0.1", 0, 1000), K, D, Fraction(1, 10)) == CLIP_RADII[-1]
    assert (
        widest_clip(Problem(K, np.ones(D), "1", 1000, 0), K, D, Fraction(1, 10)) == CLIP_RADII[0]
    )  # nobody is clipped


@pytest.mark.parametrize("epsilon", ["7", "0.5"])
def test_the_noise_of_a_shift_is_that_of_its_update(epsilon: str) -> None:
    """With the usual radius and a cluster of average size; of both groups together, less than of either."""
    n, users, cost = 50_000, Fraction(1, 5), Fraction(1, 4)
    local, both = Problem(K, np.ones(D), epsilon, 0, n), Problem(K, np.ones(D), epsilon, 2000, n)
    alone = shift_noise(local, K, D, Effort(users, cost))
    algorithm = next_round(local, "", _known(1e-12), np.full(K, SD), Effort(users, cost))
    with mock.patch.object(steps, "widest_clip", return_value=USUAL_RADIUS):
        step = next(algorithm)
    points, rng = _points(int(n * users), 3), np.random.default_rng(0)
    parts = [(ask, points[: int(ask.user_fraction * n)]) for ask in step.asks]
    answers = [simulate_devices(ask, iter([some]), source=byte_source(1), rng=rng) for ask, some in parts]
    with pytest.raises(StopIteration) as end:
        algorithm.send(StepResult(tuple(answers)))
    gain = 1 - end.value.value.variance / 1e-12  # tiny: the variance before over that of the shift
    np.testing.assert_allclose(1e-12 / gain, alone * SD**2, rtol=0.15)
    trusted = shift_noise(Problem(K, np.ones(D), epsilon, 2000, 0), K, D, Effort(users, cost))
    assert 1 / shift_noise(both, K, D, Effort(users, cost)) == pytest.approx(1 / alone + 1 / trusted)
    scale = 2 * L1_RADIUS * D * SD / (2000 * float(epsilon) * float(cost) / K)  # of Laplace noise on a mean, but counts
    assert trusted == pytest.approx(2 * scale**2 / SD**2)


def _asked(epsilon: str, known: ClusterEstimate, clip: ClipRadius) -> tuple[FloatArray, FloatArray]:
    """Radii of local users and of the trusted group."""
    problem = Problem(K, np.ones(D), epsilon, 10**4, 10**7)
    with mock.patch.object(steps, "widest_clip", return_value=clip):
        step = next(next_round(problem, "", known, np.full(K, SD), Effort(Fraction(1, 10), Fraction(1, 10))))
    question, release = step.asks[-1].question, step.release
    assert isinstance(question, LabelSignsQuestion | DirectionQuestion)
    assert release is not None
    assert isinstance(release.statistic, ClusterSums)
    return question.radii, release.statistic.radii


def test_radii_grow_with_doubt_and_signs_end_halfway_to_the_next_center() -> None:
    clip = ClipRadius(signs=2.5, lengths=0.7)
    signs, sums = _asked("7", _known(0.0), clip)
    np.testing.assert_allclose(signs, 2.5 * SD)
    np.testing.assert_allclose(sums, L1_RADIUS * D * SD)
    np.testing.assert_allclose(_asked("7", _known(SD**2), ClipRadius(0.8, 0.7))[0], 0.8 * sqrt(2) * SD)
    lengths, _ = _asked("0.3", _known(0.0), clip)
    np.testing.assert_allclose(lengths, 0.7 * sqrt(D) * SD)
    np.testing.assert_allclose(_asked("0.3", _known(100 * SD**2), clip)[0], 0.7 * sqrt(D) * 2 * SD)
    close = replace(_known(0.0), centers=np.array([[0.3] * D, [0.3 + 0.16 / sqrt(D)] * D]))
    np.testing.assert_allclose(_asked("7", close, clip)[0], 0.08)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["7", "3", "0.75"])
def test_a_round_moves_centers_to_the_means_though_residuals_are_clipped(epsilon: str) -> None:
    """Clipping shrinks a small shift; that is undone, up to 5 %, and all deviations are within the limit of that.

    With signs (large ε) a factor that is a fifth wrong is noticed.
    """
    n, off = 200_000, 0.02
    points = _points(n, 1)
    problem = Problem(K, np.ones(D), epsilon, 0, n)
    algorithm = next_round(problem, "round", _known(0.002, off), np.full(K, SD), Effort(Fraction(1), Fraction(0)))
    step = next(algorithm)
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
        algorithm.send(StepResult(tuple(answers)))
    found = end.value.value
    label = np.argmin(np.sum((points[:, None] - TRUE) ** 2, axis=2), axis=1)
    means = np.array([points[label == k].mean(axis=0) for k in range(K)])
    sd = np.sqrt(found.variance)
    limit = z_limit(sd.size + 1)
    assert (np.abs(found.centers - means) < 0.05 * off + limit * sd).all()
    tolerance = 0.05 * off + limit * float(np.sqrt(np.mean(sd**2) / sd.size))
    assert abs(float(np.mean(found.centers - means))) < tolerance < (0.2 if float(epsilon) >= 3 else 0.9) * off
