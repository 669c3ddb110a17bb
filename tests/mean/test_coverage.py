"""95 % intervals of the adaptive estimate, through the real pipeline: Beta values, flights, and rare large values."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from hybriddp.data import flight_delays
from hybriddp.mean import MeanStudy
from hybriddp.mean.interval import ErrorLaw
from hybriddp.simulation.crowd import Crowd
from hybriddp.simulation.distributions import named
from hybriddp.simulation.trial import Scene, play

TRIALS = 1000
Point = tuple[str, int, float, float]
BETAS = [*product(("beta(10,10)", "uniform", "beta(0.1,0.1)"), (1_000, 10_000, 100_000), (0.005, 0.05), (0.1, 1.0))]
WEAK = [*product(("uniform", "beta(2,8)"), (2_000,), (0.005,), (8.0, 16.0, 20.0))]  # where rounding to rows matters
FLIGHTS = [*product(("flights",), (327_346,), (0.001, 0.01, 0.1), (0.1, 1.0, 3.0))]
RARE = [  # Bernoulli(p), n, n_T/n, ε: intervals that trusted a low answer covered .76, .83, .85, .87, .89
    ("bernoulli(0.01)", 1_100, 1000 / 1100, 8.0),
    ("bernoulli(0.002)", 1_100, 1000 / 1100, 8.0),
    ("bernoulli(0.0005)", 2_000, 0.5, 8.0),
    ("bernoulli(0.002)", 11_000, 1000 / 11_000, 5.0),
    ("bernoulli(0.01)", 2_000, 0.5, 3.0),
]


@cache
def _trials(point: Point) -> tuple[tuple[float, ErrorLaw], ...]:
    """Each trial's true mean, on the unit range, and what the estimate says about its own error."""
    data, n, fraction, epsilon = point
    bounds = (-60.0, 1440.0) if data == "flights" else (0.0, 1.0)
    crowd = Crowd.of(flight_delays(), bounds) if data == "flights" else named(data)
    n_trusted = max(2, round(fraction * n))
    study = MeanStudy("x", bounds=bounds, epsilon=epsilon)
    scene = Scene(study, crowd, crowd, n_trusted, n - n_trusted, fixed=False, sd=0.0, estimators=("adaptive",))
    rng = np.random.default_rng([n, n_trusted, int(10 * epsilon)])
    result = []
    for _ in range(TRIALS):
        trial = play(scene, rng)
        result.append(((trial.truth - bounds[0]) / study.width, trial.estimates[0].laws.users))
    return tuple(result)


def _coverage(point: Point, scale: float = 1.0) -> float:
    """How often the truth is inside, if intervals were ``scale`` times as long: errors are divided by it instead."""
    laws = [(truth, replace(law, answer=truth + (law.answer - truth) / scale)) for truth, law in _trials(point)]
    return float(np.mean([law.explains(truth) >= 0.05 for truth, law in laws]))


# Seeds are fixed, so a run does not depend on chance.
@pytest.mark.parametrize("point", [*BETAS, *FLIGHTS, *WEAK, *RARE])
def test_intervals_cover_at_every_point(point: Point) -> None:
    assert _coverage(point) >= 0.93


def test_intervals_are_neither_too_short_nor_too_long_on_the_whole() -> None:
    assert 0.94 <= np.median([_coverage(point) for point in BETAS]) <= 0.97


def test_the_same_test_rejects_intervals_that_are_20_percent_off() -> None:
    assert np.median([_coverage(point, 0.8) for point in BETAS]) < 0.93
    assert np.median([_coverage(point, 1.2) for point in BETAS]) > 0.97
    assert np.median([_coverage(point, 0.8) for point in RARE]) < 0.93
