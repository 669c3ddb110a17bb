import math
from typing import Any

import numpy as np
import pytest

from hybriddp import MeanStudy
from hybriddp.amplification import Amplified, amplify
from hybriddp.amplification.amplify import VOID
from hybriddp.amplification.window import exact
from hybriddp.channels import WindowChannel
from hybriddp.errors import BudgetError, ParameterError
from hybriddp.grid import UNITS
from hybriddp.mean.published import CELL

STUDY = MeanStudy("pay", bounds=(0, 2_349_033), epsilon=1.0)
GOOD = {"n_users": 252_540, "trusted_fraction": 0.01, "weight": "known-variance", "sd": 53_254.0}


def _amplified(study: MeanStudy = STUDY, **changes: object) -> Amplified:
    return amplify(study, **{**GOOD, **changes})


def test_it_has_the_numbers_of_the_bound_and_says_what_it_rests_on() -> None:
    tiers = _amplified(trusted_fraction=0.001, weight=0.05, sd=None, delta=1e-7, colluding_local=100_000, step="finest")
    bound = exact(
        WindowChannel(epsilon=1.0), n_trusted=253, n_local=252_287, weight=0.05, honest_local=152_287, delta=1e-7
    )
    assert (tiers.trusted.epsilon, tiers.local.epsilon) == (bound.trusted, bound.local)
    assert (tiers.trusted.delta, tiers.local.delta) == (1e-7, 0.0)
    assert tiers.everyone.epsilon == tiers.trusted.epsilon < tiers.unamplified.epsilon == 1.0
    for words in (
        "sees only the published estimate",
        "The weight and the noise were fixed before any data was seen",
        "At most 100,000 local users pool",
        "a local user counts their own",
        "one user's value is replaced",
        "This is the only release",
        "ε′ = ",
    ):
        assert words in str(tiers)
    assert len(repr(tiers)) < 200
    assert "trusted users ε′" in repr(tiers)


def test_every_public_weight_has_a_guarantee_within_the_promise() -> None:
    for weight in ("privacy", "naive", 0.5):
        tiers = _amplified(weight=weight, sd=None)
        assert 0 < tiers.local.epsilon <= 1
        assert 0 < tiers.trusted.epsilon <= 1


# Refusals


def test_an_adaptive_weight_is_refused_and_what_still_holds_is_said() -> None:
    with pytest.raises(ParameterError, match="fixed before any data was seen.*only the promised ε holds"):
        _amplified(weight="adaptive", sd=None)


def test_anything_else_that_is_published_voids_it() -> None:
    for release in VOID:
        with pytest.raises(ParameterError, match="Only the promised ε holds"):
            _amplified(also_published=(release,))


def test_two_of_them_are_not_composed() -> None:
    with pytest.raises(BudgetError, match="cannot be composed"):
        _amplified() + _amplified()


def test_bad_parameters_are_named() -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("study", {"study": "pay"}),
        ("study", {"study": MeanStudy("x", bounds=(0, 1), epsilon=1, delta=1e-6)}),
        ("n_users", {"n_users": 1}),
        ("trusted_fraction", {"trusted_fraction": 1e-9}),
        ("colluding_local", {"colluding_local": -1}),
        ("colluding_local", {"colluding_local": 252_540}),
        ("weight", {"weight": 2.0, "sd": None}),
        ("sd", {"sd": None}),
        ("sd", {"weight": "naive"}),
        ("also_published", {"also_published": ("a photograph",)}),
        ("delta", {"delta": 1.0}),
        ("delta", {"delta": -0.1}),
    ]
    for name, change in wrong:
        with pytest.raises(ParameterError) as caught:
            _amplified(**{"study": STUDY, **change})
        assert caught.value.name == name


# Window channels: the bound by brute force over all published values


@pytest.mark.parametrize(("n_trusted", "n_local", "weight"), [(3, 10, 0.5), (5, 60, 0.3), (7, 100, 0.9)])
def test_no_published_value_is_likelier_by_more_than_the_bound(n_trusted: int, n_local: int, weight: float) -> None:
    channel = WindowChannel(epsilon=2.0)
    bound = exact(channel, n_trusted=n_trusted, n_local=n_local, weight=weight)
    rate = 2.0 / UNITS

    def run(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The unnormalized probability of the integers from low to below high, none of them negative: a series."""
        return np.asarray(np.exp(-rate * low) * np.expm1(-rate * np.maximum(high - low, 0)) / math.expm1(-rate))

    def cells(rest: float) -> np.ndarray:
        """The logarithm of each published value's probability, the rest of the sum given, in steps of w/n_T units."""
        first = math.ceil(-rest) + CELL * np.arange(-23_000, 23_000.0)  # the smallest k with k + rest in the cell
        positive = run(np.maximum(first, 0), np.maximum(first + CELL, 0))
        negative = run(np.maximum(1 - first - CELL, 1), np.maximum(1 - first, 1))
        return np.asarray(np.log(positive + negative))

    values = channel.values
    worst = 0.0
    for low, high in ((values[0], values[-1]), (values[48], values[112]), (values[128], values[144])):
        scale = (1 - weight) / n_local * UNITS * n_trusted / weight  # of a code's value, in the same steps
        worst = max(worst, float(np.max(np.abs(cells(0.3 + low * scale) - cells(0.3 + high * scale)))))
    assert worst <= bound.local * (1 + 1e-9)
    assert worst > 0.9 * min(bound.local, 2.0) or bound.local == 2.0


def test_the_window_bound_has_its_limits() -> None:
    channel = WindowChannel(epsilon=1.0)
    assert exact(channel, n_trusted=100, n_local=100, weight=0.0).local == 1.0
    assert exact(channel, n_trusted=100, n_local=100, weight=1.0).local == 0.0
    assert exact(channel, n_trusted=10**6, n_local=10, weight=0.5).local == 1.0
    falling = [exact(channel, n_trusted=100, n_local=n, weight=0.5).local for n in (200, 2000, 20_000)]
    assert falling == sorted(falling, reverse=True)
