from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hybriddp.errors import ParameterError
from hybriddp.kmeans.algorithm.problem import ClusterEstimate, PublishedVector, Step, StepResult
from hybriddp.kmeans.protocol.budget import choose_algorithm, require_users, trusted_pays
from hybriddp.kmeans.reports.base import ReportTally
from hybriddp.kmeans.study import KMeansStudy


def _study(d: int, **change: Any) -> KMeansStudy:
    return KMeansStudy("x", **{"n_clusters": 3, "bounds": [(0, 1)] * d, "epsilon": 1, **change})


def _steps(study: KMeansStudy, n_trusted: int, n_local: int) -> list[Step]:
    """All steps, if nobody answers and releases are zero."""
    algorithm = choose_algorithm(study, n_trusted=n_trusted, n_local=n_local)
    steps: list[Step] = []
    heard: StepResult | None = None
    while True:
        try:
            step = next(algorithm) if heard is None else algorithm.send(heard)
        except StopIteration as end:
            assert isinstance(end.value, ClusterEstimate)  # noqa: PT017
            return steps
        steps.append(step)
        shapes = [(ask.question.n_variants, ask.channel.n_symbols) for ask in step.asks]
        answers = tuple(ReportTally(np.zeros(shape, np.int64), np.zeros(shape[0], np.int64)) for shape in shapes)
        published = None
        if step.release is not None:
            values = np.zeros(step.release.statistic.size, np.int64)
            published = PublishedVector(values, 1.0)
        heard = StepResult(answers, published)


def _users(steps: list[Step]) -> Fraction:
    return sum((ask.user_fraction for step in steps for ask in step.asks), Fraction(0))


def _cost(steps: list[Step]) -> Fraction:
    return sum((step.release.epsilon_fraction for step in steps if step.release is not None), Fraction(0))


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


@pytest.mark.parametrize(("d", "epsilon", "n_local"), [(5, "0.1", 0), (3, "0.01", 0), (5, "0.01", 3), (5, "0.2", 0)])
def test_enough_epsilon_is_not_refused(d: int, epsilon: str, n_local: int) -> None:
    require_users(_study(d, epsilon=epsilon), 1000, n_local)
    assert _steps(_study(d, epsilon=epsilon), 1000, n_local)


def test_too_small_an_epsilon_for_a_trusted_group_alone_is_refused() -> None:
    for check in (require_users, _steps):
        with pytest.raises(ParameterError, match=r"epsilon must be at least 0\.1 .* Nothing has been spent\."):
            check(_study(4, epsilon="0.099"), 1000, 0)
