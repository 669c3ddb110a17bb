"""More than three dimensions: what is asked and spent, by which plan, and when the trusted group takes part."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hybriddp.channels.unary import symbol_variance
from hybriddp.errors import ParameterError
from hybriddp.kmeans.algorithm.axes import MainAxes
from hybriddp.kmeans.algorithm.high_dim import (
    DOMINANT,
    LARGE,
    LEAST_EPSILON_FRACTION,
    SMALL,
    BudgetPlan,
    _merged,
    high_dim_algorithm,
    merge_starts,
    plan_for,
    root_precision,
    trusted_takes_part,
    within_cluster_sd,
)
from hybriddp.kmeans.algorithm.problem import (
    Algorithm,
    ClusterEstimate,
    Effort,
    Problem,
    PublishedVector,
    Step,
    StepResult,
)
from hybriddp.kmeans.algorithm.tuning import BETWEEN, LEAST_WITHIN, MERGED_VARIANCE, OVER_SEED
from hybriddp.kmeans.protocol.budget import choose_algorithm, require_users, trusted_pays
from hybriddp.kmeans.reports.base import ReportTally
from hybriddp.kmeans.study import KMeansStudy


def _problem(n_trusted: int, n_local: int, k: int = 4, d: int = 5, epsilon: str = "1") -> Problem:
    return Problem(k, np.ones(d), epsilon, n_trusted, n_local)


def _silence(algorithm: Algorithm) -> tuple[list[Step], ClusterEstimate]:
    """All steps, and what is known at the end, if nobody ever answers and releases are empty."""
    steps: list[Step] = []
    result: StepResult | None = None
    while True:
        try:
            step = next(algorithm) if result is None else algorithm.send(result)
        except StopIteration as end:
            return steps, end.value
        steps.append(step)
        shapes = [(ask.question.n_variants, ask.channel.n_symbols) for ask in step.asks]
        nobody = tuple(ReportTally(np.zeros(shape, np.int64), np.zeros(shape[0], np.int64)) for shape in shapes)
        published = None
        if step.release is not None:
            published = PublishedVector(np.zeros(step.release.statistic.size, np.int64), 1.0)
        result = StepResult(nobody, published)


def _users(steps: list[Step]) -> Fraction:
    return sum((ask.user_fraction for step in steps for ask in step.asks), Fraction(0))


def _cost(steps: list[Step]) -> Fraction:
    return sum((step.release.epsilon_fraction for step in steps if step.release is not None), Fraction(0))


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
    steps, known = _silence(high_dim_algorithm(problem))
    assert np.isfinite(known.centers).all()
    assert known.centers.shape == (k, d)
    assert _users(steps) == (1 if n_local else 0)
    assert _cost(steps) == (1 if n_trusted else 0)
    rounds = plan_for(problem).rounds
    asked = 5 + len(rounds) if n_local else 3 + sum(effort.epsilon_fraction > 0 for effort in rounds)
    assert len(steps) == asked + bool(n_trusted)


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


@pytest.mark.parametrize("plan", [SMALL, LARGE, DOMINANT])
def test_fractions_of_users_and_of_epsilon_add_up_to_one(plan: BudgetPlan) -> None:
    assert sum(effort.user_fraction for effort in plan.efforts) == 1
    assert sum(effort.epsilon_fraction for effort in plan.efforts) == 1
    assert min(effort.epsilon_fraction for effort in plan.efforts if effort.epsilon_fraction) >= LEAST_EPSILON_FRACTION


def test_a_plan_that_is_not_all_of_it_is_refused() -> None:
    good = {"users": (100, *(0,) * 8), "epsilon": (100, *(0,) * 8)}
    for name in good:
        for percentages in ((20,) * 6, (10,) * 9, (110, -10, *(0,) * 7)):
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


def _study(d: int, **change: Any) -> KMeansStudy:
    return KMeansStudy("x", **{"n_clusters": 3, "bounds": [(0, 1)] * d, "epsilon": 1, **change})


def _steps(study: KMeansStudy, n_trusted: int, n_local: int) -> list[Step]:
    return _silence(choose_algorithm(study, n_trusted=n_trusted, n_local=n_local))[0]


@pytest.mark.repeated
@pytest.mark.parametrize("d", [1, 2, 3, 4, 9])
@pytest.mark.parametrize(("n_trusted", "n_local"), [(0, 1000), (1000, 0), (1000, 1000), (3, 100_000), (100_000, 3)])
def test_nobody_is_asked_twice_and_no_more_than_epsilon_is_spent(d: int, n_trusted: int, n_local: int) -> None:
    steps = _steps(_study(d), n_trusted, n_local)
    assert _users(steps) == (1 if n_local else 0)
    assert _cost(steps) <= 1
    if n_trusted == 1000:
        assert _cost(steps) == 1


def test_a_small_group_is_not_used_in_many_dimensions() -> None:
    assert not trusted_pays(_study(5), 10, 100_000)
    assert trusted_pays(_study(3), 10, 100_000)
    assert trusted_pays(_study(5), 10_000, 100_000)
    assert trusted_pays(_study(5), 10, 0)
    assert not trusted_pays(_study(5, epsilon=0.06), 10**6, 100)  # a release of a tenth of it would be below 0.01
    assert trusted_pays(_study(5, epsilon=0.1), 10**6, 100)
    assert trusted_pays(_study(5, epsilon=0.1), 10**6, 0)
    for d in (2, 5):
        assert not trusted_pays(_study(d), 0, 100_000)


def test_a_group_that_is_not_used_pays_nothing_and_changes_nothing() -> None:
    steps = _steps(_study(5), 10, 100_000)
    assert _cost(steps) == 0
    assert _users(steps) == 1
    for step, alone in zip(steps, _steps(_study(5), 0, 100_000), strict=True):
        assert [ask.channel for ask in step.asks] == [ask.channel for ask in alone.asks]
        for asked, other in zip(step.asks, alone.asks, strict=True):
            np.testing.assert_equal(asked.question.fields(), other.question.fields())


def test_too_small_an_epsilon_for_a_trusted_group_alone_is_refused_and_no_other() -> None:
    for d, epsilon, n_local in ((5, "0.1", 0), (3, "0.01", 0), (5, "0.01", 3), (5, "0.2", 0)):
        require_users(_study(d, epsilon=epsilon), 1000, n_local)
        assert _steps(_study(d, epsilon=epsilon), 1000, n_local)
    for check in (require_users, _steps):
        with pytest.raises(ParameterError, match=r"epsilon must be at least 0\.1 .* Nothing has been spent\."):
            check(_study(4, epsilon="0.099"), 1000, 0)
