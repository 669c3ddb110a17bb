from fractions import Fraction

import numpy as np
import pytest

from hybriddp.channels.unary import symbol_variance
from hybriddp.errors import ParameterError
from hybriddp.kmeans.algorithm.high_dim import (
    DOMINANT,
    LARGE,
    LEAST_EPSILON_FRACTION,
    SMALL,
    BudgetPlan,
    plan_for,
    root_precision,
    trusted_takes_part,
)
from hybriddp.kmeans.algorithm.problem import Effort, Problem


def _problem(n_trusted: int, n_local: int, epsilon: str = "1") -> Problem:
    return Problem(4, np.ones(5), epsilon, n_trusted, n_local)


@pytest.mark.parametrize("plan", [SMALL, LARGE, DOMINANT])
def test_fractions_of_users_and_of_epsilon_add_up_to_one(plan: BudgetPlan) -> None:
    assert sum(effort.user_fraction for effort in plan.efforts) == 1
    assert sum(effort.epsilon_fraction for effort in plan.efforts) == 1
    assert min(effort.epsilon_fraction for effort in plan.efforts if effort.epsilon_fraction) >= LEAST_EPSILON_FRACTION


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
