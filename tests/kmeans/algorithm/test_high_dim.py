from fractions import Fraction

import numpy as np
import pytest

from hybriddp.kmeans.algorithm.axes import MainAxes
from hybriddp.kmeans.algorithm.high_dim import _merged, high_dim_algorithm, merge_starts, plan_for, within_cluster_sd
from hybriddp.kmeans.algorithm.problem import ClusterEstimate, Problem, PublishedVector, StepResult
from hybriddp.kmeans.algorithm.tuning import BETWEEN, LEAST_WITHIN, MERGED_VARIANCE, OVER_SEED
from hybriddp.kmeans.reports.base import ReportTally


def _problem(n_trusted: int, n_local: int, k: int = 4, d: int = 5, epsilon: str = "1") -> Problem:
    return Problem(k, np.ones(d), epsilon, n_trusted, n_local)


def _silence(problem: Problem) -> tuple[Fraction, Fraction, int]:
    """The fractions of users and of ε that are asked for if nobody ever answers and releases are empty; the steps."""
    algorithm = high_dim_algorithm(problem)
    heard: StepResult | None = None
    users, cost, steps = Fraction(0), Fraction(0), 0
    while True:
        try:
            step = next(algorithm) if heard is None else algorithm.send(heard)
        except StopIteration as end:
            result: ClusterEstimate = end.value
            break
        steps += 1
        users += sum((ask.user_fraction for ask in step.asks), Fraction(0))
        nobody = [
            ReportTally(
                np.zeros((ask.question.n_variants, ask.channel.n_symbols), np.int64),
                np.zeros(ask.question.n_variants, np.int64),
            )
            for ask in step.asks
        ]
        published = None
        if step.release is not None:
            cost += step.release.epsilon_fraction
            published = PublishedVector(np.zeros(step.release.statistic.size, np.int64), 1.0)
        heard = StepResult(tuple(nobody), published)
    assert np.isfinite(result.centers).all()
    assert result.centers.shape == (problem.n_clusters, problem.n_dimensions)
    return users, cost, steps


@pytest.mark.repeated
@pytest.mark.parametrize(("n_trusted", "n_local"), [(1000, 1000), (0, 1000), (1000, 0)])
@pytest.mark.parametrize(
    ("k", "d", "epsilon"),
    [
        (1, 4, "1"),
        (4, 5, "0.01"),
        (30, 8, "20"),
        (3, 16, "4"),
        (100, 4, "1"),
        pytest.param(700, 4, "1", marks=pytest.mark.long),
    ],
)
def test_all_of_the_users_and_of_epsilon_is_asked_for_and_no_more(
    n_trusted: int, n_local: int, k: int, d: int, epsilon: str
) -> None:
    problem = _problem(n_trusted, n_local, k, d, epsilon)
    users, cost, steps = _silence(problem)
    assert users == (1 if n_local else 0)
    assert cost == (1 if n_trusted else 0)
    rounds = plan_for(problem).rounds
    asked = 5 + len(rounds) if n_local else 3 + sum(effort.epsilon_fraction > 0 for effort in rounds)
    assert steps == asked + bool(n_trusted)


def test_centers_that_are_close_are_merged() -> None:
    rng = np.random.default_rng(0)
    k, d = 4, 5
    true = rng.random((k, d))
    n = OVER_SEED * k
    centers = np.repeat(true, OVER_SEED, axis=0) + 0.001 * rng.standard_normal((n, d))
    sizes = rng.uniform(0.05, 0.2, n)
    weight = np.repeat([0.0, 0.2, 0.5, 1.0], OVER_SEED)
    known = ClusterEstimate(centers, np.full((n, d), 0.01), sizes, np.full(n, 0.01), weight)
    axes = MainAxes.of(np.zeros(d), np.diag([0.05, 0.04, 0.03, 0.02, 0.01]), 1.0)
    merged = _merged(_problem(10, 10, k, d), axes, known, 3)
    order = np.argmin(np.sum((true[:, None] - merged.centers) ** 2, axis=2), axis=1)
    np.testing.assert_allclose(merged.centers[order], true, atol=0.005)
    np.testing.assert_allclose(merged.sizes[order], sizes.reshape(k, OVER_SEED).sum(axis=1) / sizes.sum())
    np.testing.assert_allclose(merged.trusted_weight[order], [0.0, 0.2, 0.5, 1.0])
    np.testing.assert_allclose(merged.variance, [[MERGED_VARIANCE * 0.03] * 3 + [BETWEEN * 0.02, BETWEEN * 0.01]] * k)


def test_what_is_within_clusters_is_the_total_without_what_is_between_centers() -> None:
    centers, sizes = np.array([[0.2] * 5, [-0.2] * 5]), np.full(2, 0.5)
    known = ClusterEstimate(centers, np.ones((2, 5)), sizes, np.ones(2), np.zeros(2))
    variances = 0.2**2 + np.array([0.01, 0.005, 0.003, 0.001, 0.001])
    np.testing.assert_allclose(within_cluster_sd(known, variances), [np.sqrt(0.004)] * 2)
    least = np.sqrt(LEAST_WITHIN * 0.005 / 5)
    np.testing.assert_allclose(within_cluster_sd(known, np.full(5, 0.001)), [least] * 2)


@pytest.mark.parametrize(("k", "starts"), [(1, 200), (26, 200), (59, 200), (100, 69), (295, 8), (1024, 8)])
def test_many_clusters_are_merged_from_few_starts(k: int, starts: int) -> None:
    assert merge_starts(k, OVER_SEED * k) == starts
