"""95 % intervals of the adaptive estimate, through the real pipeline, at the paper's 36 Beta points and on flights."""

from functools import cache
from itertools import product

import numpy as np
import pytest

from hybriddp.data import flight_delays
from hybriddp.mean import MeanStudy
from hybriddp.simulation.crowd import Crowd
from hybriddp.simulation.distributions import named
from hybriddp.simulation.trial import Scene, play

TRIALS = 1000
BETAS = [*product(("beta(10,10)", "uniform", "beta(0.1,0.1)"), (1_000, 10_000, 100_000), (0.005, 0.05), (0.1, 1.0))]
WEAK = [*product(("uniform", "beta(2,8)"), (2_000,), (0.005,), (8.0, 16.0, 20.0))]  # where rounding to rows matters
FLIGHTS = [*product(("flights",), (327_346,), (0.001, 0.01, 0.1), (0.1, 1.0, 3.0))]


@cache
def _scaled_errors(data: str, n: int, fraction: float, epsilon: float) -> tuple[float, ...]:
    """Each trial's error as a multiple of the half width of its interval: covered if at most 1."""
    bounds = (-60.0, 1440.0) if data == "flights" else (0.0, 1.0)
    crowd = Crowd.of(flight_delays(), bounds) if data == "flights" else named(data)
    n_trusted = max(2, round(fraction * n))
    scene = Scene(
        study=MeanStudy("x", bounds=bounds, epsilon=epsilon),
        trusted=crowd,
        local=crowd,
        n_trusted=n_trusted,
        n_local=n - n_trusted,
        fixed=False,
        sd=0.0,
        estimators=("adaptive",),
    )
    rng = np.random.default_rng([n, n_trusted, int(10 * epsilon)])
    result = []
    for _ in range(TRIALS):
        trial = play(scene, rng)
        estimate = trial.estimates[0]
        result.append(abs(estimate.unbiased - trial.truth) / estimate.sample_noise.half_width(0.95))
        interval = estimate.interval(0.95)
        assert (result[-1] <= 1) <= (interval.lower <= trial.truth <= interval.upper)  # cutting loses nothing
    return tuple(result)


def _coverage(point: tuple[str, int, float, float], scale: float = 1.0) -> float:
    return float(np.mean(np.array(_scaled_errors(*point)) <= scale))


@pytest.mark.parametrize("point", [*BETAS, *FLIGHTS, *WEAK])
def test_intervals_cover_at_every_point(point: tuple[str, int, float, float]) -> None:
    assert _coverage(point) >= 0.93


def test_intervals_are_neither_too_short_nor_too_long_on_the_whole() -> None:
    assert 0.94 <= np.median([_coverage(point) for point in BETAS]) <= 0.97


def test_the_same_test_rejects_intervals_that_are_20_percent_off() -> None:
    assert np.median([_coverage(point, 0.8) for point in BETAS]) < 0.93
    assert np.median([_coverage(point, 1.2) for point in BETAS]) > 0.97
