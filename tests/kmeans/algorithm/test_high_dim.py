from fractions import Fraction

import numpy as np
import pytest

from hybriddp.channels.unary import symbol_variance
from hybriddp.errors import ParameterError
from hybriddp.kmeans.algorithm.cluster_estimate import ClusterEstimate
from hybriddp.kmeans.algorithm.grid_start import root_precision
from hybriddp.kmeans.algorithm.high_dim import (
    DOMINANT,
    LARGE,
    LEAST_FRACTION_OF_REST,
    SMALL,
    BudgetPlan,
    _merged,
    high_dim_algorithm,
    plan_for,
    trusted_takes_part,
)
from hybriddp.kmeans.algorithm.problem import Effort, Problem, PublishedVector, StepResult
from hybriddp.kmeans.algorithm.tuning import OVER_SEED
from hybriddp.kmeans.reports.base import ReportTally


def _problem(n_trusted: int, n_local: int, k: int = 4, d: int = 5, epsilon: str = "1") -> Problem:
    return Problem(k, np.ones(d), epsilon, 2, n_trusted, n_local)


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


@pytest.mark.slow
@pytest.mark.parametrize(("n_trusted", "n_local"), [(1000, 1000), (0, 1000), (1000, 0)])
@pytest.mark.parametrize(
    ("k", "d", "epsilon"), [(1, 4, "1"), (4, 5, "0.01"), (30, 8, "20"), (3, 16, "4"), (700, 4, "1")]
)
def test_all_of_the_users_and_of_epsilon_is_asked_for_and_no_more(
    n_trusted: int, n_local: int, k: int, d: int, epsilon: str
) -> None:
    users, cost, steps = _silence(_problem(n_trusted, n_local, k, d, epsilon))
    assert users == (1 if n_local else 0)
    assert cost == (1 if n_trusted else 0)
    assert steps == (8 if n_local else 5) + bool(n_trusted)


def test_centers_that_are_close_are_merged() -> None:
    rng = np.random.default_rng(0)
    k, d = 4, 5
    true = rng.random((k, d))
    n = OVER_SEED * k
    centers = np.repeat(true, OVER_SEED, axis=0) + 0.001 * rng.standard_normal((n, d))
    sizes = rng.uniform(0.05, 0.2, n)
    weight = np.repeat([0.0, 0.2, 0.5, 1.0], OVER_SEED)
    known = ClusterEstimate(centers, np.full((n, d), 0.01), sizes, np.full(n, 0.01), weight)
    merged = _merged(_problem(10, 10, k, d), known)
    order = np.argmin(np.sum((true[:, None] - merged.centers) ** 2, axis=2), axis=1)
    np.testing.assert_allclose(merged.centers[order], true, atol=0.005)
    np.testing.assert_allclose(merged.sizes[order], sizes.reshape(k, OVER_SEED).sum(axis=1) / sizes.sum())
    np.testing.assert_allclose(merged.trusted_weight[order], [0.0, 0.2, 0.5, 1.0])


@pytest.mark.parametrize("plan", [SMALL, LARGE, DOMINANT])
def test_fractions_of_users_and_of_epsilon_add_up_to_one(plan: BudgetPlan) -> None:
    assert sum(effort.user_fraction for effort in plan.efforts) == 1
    assert sum(effort.fraction_of_rest for effort in plan.efforts) == 1
    assert min(effort.fraction_of_rest for effort in plan.efforts if effort.fraction_of_rest) >= LEAST_FRACTION_OF_REST


@pytest.mark.parametrize("name", ["users", "epsilon"])
@pytest.mark.parametrize("percentages", [(20,) * 6, (10,) * 9, (110, -10, *(0,) * 7)])
def test_a_plan_that_is_not_all_of_it_is_refused(name: str, percentages: tuple[int, ...]) -> None:
    good = {"users": (100, *(0,) * 8), "epsilon": (100, *(0,) * 8)}
    with pytest.raises(ParameterError, match=f"^{name} must be percentages that add up to 100"):
        BudgetPlan.percent(**{**good, name: percentages})


def test_a_group_that_says_more_than_local_users_refines_too() -> None:
    assert plan_for(_problem(1000, 99_000, epsilon="2")) is SMALL
    assert plan_for(_problem(5000, 95_000, epsilon="2")) is LARGE
    assert plan_for(_problem(50_000, 50_000, epsilon="2")) is DOMINANT
    assert plan_for(_problem(10, 0)) is DOMINANT  # there is nobody else
    assert plan_for(_problem(0, 1000)) is SMALL  # which makes no difference


def test_the_trusted_group_takes_part_if_it_is_large_enough() -> None:
    assert not trusted_takes_part(_problem(10, 100_000))
    assert trusted_takes_part(_problem(10_000, 100_000))
    sizes = [n for n in range(1, 3000) if trusted_takes_part(_problem(n, 100_000))]
    assert sizes == list(range(sizes[0], 3000))


def test_the_root_precision_is_one_over_the_standard_error() -> None:
    """Of discrete Laplace noise of the scale 2/.15, and of .15 of the local users."""
    effort = Effort(Fraction(15, 100), Fraction(15, 100))
    local, trusted = root_precision(_problem(500, 10_000), effort)
    assert local == pytest.approx(np.sqrt(1500 / symbol_variance(1.0, 1000)))
    assert trusted == pytest.approx(500 / (np.sqrt(2) * 2 / 0.15))
    assert root_precision(_problem(0, 0), effort) == (0, 0)
