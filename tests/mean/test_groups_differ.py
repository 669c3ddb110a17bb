"""Intervals when those who trust are other people than those who do not."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from hybriddp.errors import DataError
from hybriddp.grid import UNITS
from hybriddp.mean import MeanStudy
from hybriddp.mean.interval import Laws
from hybriddp.simulation.crowd import Crowd
from hybriddp.simulation.trial import Scene, play

TRIALS = 1500
GRID = [*product((0.0, 0.05, 0.3, 1.0), (0.3, 1.0, 3.0), ((50, 1000),)), (0.05, 1.0, (1000, 1000))]


@cache
def _trials(gap: float, epsilon: float, sizes: tuple[int, int]) -> tuple[tuple[float, Laws], ...]:
    """The trusted users' values are all the same, the others' too, ``gap`` higher: each trial's true mean and laws."""
    study = MeanStudy("x", bounds=(0, 1), epsilon=epsilon)
    low = (1 - gap) / 2
    crowds = [Crowd(np.array([round(x * UNITS)]), np.array([1])) for x in (low, low + gap)]
    scene = Scene(study, crowds[0], crowds[1], *sizes, fixed=False, sd=0.0, estimators=("adaptive",))
    rng = np.random.default_rng([int(100 * gap), int(10 * epsilon), *sizes])
    trials = [play(scene, rng) for _ in range(TRIALS)]
    return tuple((trial.truth, trial.estimates[0].laws) for trial in trials)


def _coverage(gap: float, epsilon: float, sizes: tuple[int, int], *, scale: float = 1.0) -> float:
    inside = []
    for truth, laws in _trials(gap, epsilon, sizes):
        law = laws.users_if_groups_differ
        assert law is not None
        inside.append(replace(law, answer=truth + (law.answer - truth) / scale).explains(truth) >= 0.05)
    return float(np.mean(inside))


@pytest.mark.parametrize(("gap", "epsilon", "sizes"), GRID)
def test_the_honest_interval_covers_whatever_the_difference(gap: float, epsilon: float, sizes: tuple[int, int]) -> None:
    assert _coverage(gap, epsilon, sizes) >= 0.93


def test_the_same_test_rejects_intervals_that_are_20_percent_off() -> None:
    assert max(_coverage(*point, scale=0.8) for point in GRID) < 0.93
    assert min(_coverage(*point, scale=1.2) for point in GRID) > 0.96


def test_the_other_one_does_not_cover_a_difference_that_noise_hides() -> None:
    """Which is why its assumption is said wherever it is shown."""
    trials = _trials(0.05, 1.0, (1000, 1000))
    assert np.mean([laws.users.explains(truth) >= 0.05 for truth, laws in trials]) < 0.1


def test_it_is_made_from_the_mean_in_which_every_user_weighs_the_same() -> None:
    study = MeanStudy("x", bounds=(10, 30), epsilon=1)
    reports = study.randomize(np.full(3000, 20.0), random_state=1)
    estimate = study.estimate(trusted=np.full(1000, 12.0), local=reports, random_state=2)
    assert estimate.trusted_mean is not None
    assert estimate.local_mean is not None
    equal = (1000 * estimate.trusted_mean + 3000 * estimate.local_mean) / 4000
    low, high = estimate.interval(0.9, groups_may_differ=True)
    assert (low + high) / 2 == pytest.approx(equal)
    wide = estimate.population_interval(0.9, groups_may_differ=True)
    assert wide.lower < low
    assert wide.upper > high
    assert estimate.groups_differ


def test_one_group_alone_says_nothing_about_the_other() -> None:
    study = MeanStudy("x", bounds=(0, 1), epsilon=1)
    reports = study.randomize(np.full(3000, 0.5), random_state=1)
    alone = study.estimate(trusted=None, local=reports, single_group=True)
    assert alone.interval(groups_may_differ=True) == alone.laws.users.interval(0.95)  # there is nobody else
    partly = study.estimate(trusted=np.full(50, 0.5), local=reports, weight="local-only")
    with pytest.raises(DataError, match="One group gave no mean"):
        partly.interval(groups_may_differ=True)
