"""Intervals when those who trust are other people than those who do not."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import stats

from hybriddp.errors import DataError
from hybriddp.grid import UNITS
from hybriddp.mean import MeanStudy
from hybriddp.mean.interval import Laws
from hybriddp.simulation.crowd import ValueCounts
from hybriddp.simulation.mean import MeanSetup

FEW = [(0.05, 1.0, (1000, 1000)), (0.3, 0.3, (50, 1000)), (1.0, 3.0, (50, 1000))]
GRID = [*product((0.0, 0.05, 0.3, 1.0), (0.3, 1.0, 3.0), ((50, 1000),)), FEW[0]]
Point = tuple[float, float, tuple[int, int]]


@cache
def _trials(point: Point, trials: int) -> tuple[tuple[float, Laws], ...]:
    """The trusted users' values are all the same, the others' too, a gap higher: each trial's true mean and laws."""
    gap, epsilon, sizes = point
    study = MeanStudy("x", bounds=(0, 1), epsilon=epsilon)
    low = (1 - gap) / 2
    crowds = [ValueCounts(np.array([round(x * UNITS)]), np.array([1])) for x in (low, low + gap)]
    setup = MeanSetup(study, crowds[0], crowds[1], *sizes, fixed=False, sd=0.0, estimators=("adaptive",))
    rng = np.random.default_rng([int(100 * gap), int(10 * epsilon), *sizes])
    played = [setup.run_trial(rng) for _ in range(trials)]
    return tuple((trial.truth, trial.estimates[0].laws) for trial in played)


def _hits(points: Iterable[Point], trials: int, *, scale: float = 1.0) -> int:
    hits = 0
    for truth, laws in (one for point in points for one in _trials(point, trials)):
        law = laws.users_if_groups_differ
        assert law is not None
        hits += replace(law, answer=truth + (law.answer - truth) / scale).explains(truth) >= 0.05
    return hits


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("points", "trials"), [(FEW, 1500), *(pytest.param([point], 4000, marks=pytest.mark.long) for point in GRID)]
)
def test_the_honest_interval_covers_whatever_the_difference(points: list[Point], trials: int) -> None:
    """False alarms have probability 1e-9 if 95 % of all intervals cover; intervals that are 20 % off are rejected."""
    total = trials * len(points)
    least, most = stats.binom.ppf([1e-9, 1 - 1e-9], total, 0.95)
    assert least <= _hits(points, trials) <= most
    assert _hits(points, trials, scale=0.8) < least
    assert _hits(points, trials, scale=1.2) > most


@pytest.mark.statistical
def test_the_other_one_does_not_cover_a_difference_that_noise_hides() -> None:
    """Which is why its assumption is said wherever it is shown."""
    trials = _trials(FEW[0], 1500)
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
