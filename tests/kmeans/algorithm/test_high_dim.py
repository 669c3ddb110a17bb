from fractions import Fraction

import numpy as np
import pytest

from hybriddp.kmeans.algorithm.cluster_estimate import Known
from hybriddp.kmeans.algorithm.high_dim import (
    DOMINANT,
    LARGE,
    LEAST_EPSILON_FRACTION,
    OVER_SEED,
    SMALL,
    Plan,
    _merged,
    many_dimensions,
    plan_for,
    trusted_takes_part,
)
from hybriddp.kmeans.algorithm.problem import Problem
from hybriddp.kmeans.algorithm.step import Centers, Published, StepResult
from hybriddp.kmeans.reports.base import ReportTally


def _problem(n_trusted: int, n_local: int, k: int = 4, d: int = 5, epsilon: str = "1") -> Problem:
    return Problem(k, np.ones(d), epsilon, 2, n_trusted, n_local)


@pytest.mark.parametrize("plan", [SMALL, LARGE, DOMINANT])
def test_shares_of_users_and_of_epsilon_add_up_to_one(plan: Plan) -> None:
    assert sum(effort.user_fraction for effort in plan.efforts) == 1
    assert sum(effort.epsilon_fraction for effort in plan.efforts) == 1
    assert min(effort.epsilon_fraction for effort in plan.efforts if effort.epsilon_fraction) >= LEAST_EPSILON_FRACTION


def test_a_group_that_says_more_than_local_users_refines_too() -> None:
    assert plan_for(_problem(1000, 99_000, epsilon="2")) is SMALL
    assert plan_for(_problem(5000, 95_000, epsilon="2")) is LARGE
    assert plan_for(_problem(50_000, 50_000, epsilon="2")) is DOMINANT
    assert plan_for(_problem(10, 0)) is DOMINANT  # there is nobody else
    assert plan_for(_problem(0, 1000)) is SMALL  # which makes no difference


def _silence(problem: Problem) -> tuple[Fraction, Fraction, int]:
    """The shares of users and of ε that are asked for if nobody ever answers and releases are empty; the steps."""
    talk = many_dimensions(problem)
    heard: StepResult | None = None
    share, cost, steps = Fraction(0), Fraction(0), 0
    while True:
        try:
            step = next(talk) if heard is None else talk.send(heard)
        except StopIteration as end:
            result: Centers = end.value
            break
        steps += 1
        share += sum((ask.user_fraction for ask in step.asks), Fraction(0))
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
            published = Published(np.zeros(step.release.statistic.size, np.int64), 1.0)
        heard = StepResult(tuple(nobody), published)
    assert np.isfinite(result.centers).all()
    assert result.centers.shape == (problem.n_clusters, problem.n_dimensions)
    return share, cost, steps


@pytest.mark.parametrize(("n_trusted", "n_local"), [(1000, 1000), (0, 1000), (1000, 0)])
@pytest.mark.parametrize(
    ("k", "d", "epsilon"), [(1, 4, "1"), (4, 5, "0.01"), (30, 8, "20"), (3, 16, "4"), (700, 4, "1")]
)
def test_all_of_the_users_and_of_epsilon_is_asked_for_and_no_more(
    n_trusted: int, n_local: int, k: int, d: int, epsilon: str
) -> None:
    share, cost, steps = _silence(_problem(n_trusted, n_local, k, d, epsilon))
    assert share == (1 if n_local else 0)
    assert cost == (1 if n_trusted else 0)
    assert steps == (8 if n_local else 5) + bool(n_trusted)


def test_the_trusted_group_takes_part_if_it_is_large_enough() -> None:
    assert not trusted_takes_part(_problem(10, 100_000))
    assert trusted_takes_part(_problem(10_000, 100_000))
    sizes = [n for n in range(1, 3000) if trusted_takes_part(_problem(n, 100_000))]
    assert sizes == list(range(sizes[0], 3000))


def test_centers_that_are_close_are_merged() -> None:
    rng = np.random.default_rng(0)
    k, d = 4, 5
    true = rng.random((k, d))
    n = OVER_SEED * k
    centers = np.repeat(true, OVER_SEED, axis=0) + 0.001 * rng.standard_normal((n, d))
    sizes = rng.uniform(0.05, 0.2, n)
    weight = np.repeat([0.0, 0.2, 0.5, 1.0], OVER_SEED)
    known = Known(centers, np.full((n, d), 0.01), sizes, np.full(n, 0.01), weight)
    merged = _merged(_problem(10, 10, k, d), known)
    order = np.argmin(np.sum((true[:, None] - merged.centers) ** 2, axis=2), axis=1)
    np.testing.assert_allclose(merged.centers[order], true, atol=0.005)
    np.testing.assert_allclose(merged.sizes[order], sizes.reshape(k, OVER_SEED).sum(axis=1) / sizes.sum())
    np.testing.assert_allclose(merged.trusted_weight[order], [0.0, 0.2, 0.5, 1.0])
