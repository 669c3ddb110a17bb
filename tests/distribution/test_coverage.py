"""Errors and intervals against the truth, through the real pipeline.

The CDF at 36 edges, less the truth, in units of its own covariance, is a chi-square variable of 36 degrees of freedom
if the estimate is unbiased and its covariance right. Summed over 50 studies it has a relative standard error of 3.3 %,
so standard errors that are 20 % off are 10 of them away.
"""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from hybriddp.distribution import DistributionFit, DistributionStudy
from tests.levels import LEVEL

pytestmark = pytest.mark.statistical
STUDY = DistributionStudy("x", bounds=(0, 1), epsilon=1)
Draw = Callable[[np.random.Generator, int], np.ndarray]
EDGES = np.arange(2, 254, 7)


def _latency(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.where(rng.random(n) < 0.3, 0.0, np.minimum(0.02 * rng.pareto(1.5, n), 1.0))


def _distance(found: DistributionFit, truth: np.ndarray) -> float:
    below = np.tri(256)[EDGES]
    difference = below @ found.linear - truth[EDGES]
    return float(difference @ np.linalg.solve(below @ found.covariance @ below.T, difference))


def _assert_chi_square(distances: list[float]) -> None:
    freedom = len(distances) * len(EDGES)
    total = sum(distances)
    assert LEVEL / 2 < stats.chi2.sf(total, freedom) < 1 - LEVEL / 2
    assert stats.chi2.sf(total * 1.2**2, freedom) < LEVEL / 2
    assert stats.chi2.cdf(total * 0.8**2, freedom) < LEVEL / 2


@pytest.mark.representative
def test_the_covariance_is_right_if_the_groups_are_alike() -> None:
    rng, distances = np.random.default_rng(5), []
    truth = stats.beta.cdf(STUDY.bins.edges, 2, 5)
    for _ in range(50):
        x = rng.beta(2, 5, 21_000)
        reports = STUDY.randomize(x[1000:], random_state=rng)
        distances.append(_distance(STUDY.estimate(trusted=x[:1000], local=reports, random_state=rng).fits.both, truth))
    _assert_chi_square(distances)


def test_the_honest_covariance_is_right_whatever_the_difference() -> None:
    rng, distances = np.random.default_rng(6), []
    truth = 0.2 * stats.beta.cdf(STUDY.bins.edges, 5, 2) + 0.8 * stats.beta.cdf(STUDY.bins.edges, 2, 5)
    for _ in range(50):
        reports = STUDY.randomize(rng.beta(2, 5, 16_000), random_state=rng)
        trusted = rng.beta(5, 2, 4000)
        found = STUDY.estimate(trusted=trusted, local=reports, groups_may_differ=True, random_state=rng)
        distances.append(_distance(found.fit, truth))
    _assert_chi_square(distances)


SHAPES: dict[str, tuple[Draw, Callable[[float], float]]] = {
    "whole-number ages": (
        lambda rng, n: rng.binomial(100, 0.4, n) / 100,
        lambda q: float(stats.binom.ppf(q, 100, 0.4)) / 100,
    ),
    "latency": (_latency, lambda q: 0.0 if q <= 0.3 else min(0.02 * (((1 - q) / 0.7) ** (-2 / 3) - 1), 1.0)),
    "a gap": (
        lambda rng, n: np.where(rng.random(n) < 0.7, 0.1, 0.9) + 0.02 * rng.random(n),
        lambda q: 0.1 + 0.02 * q / 0.7 if q <= 0.7 else 0.9 + 0.02 * (q - 0.7) / 0.3,
    ),
    "a constant": (lambda _, n: np.full(n, 1 / 3), lambda _: 1 / 3),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_of_quantiles_cover(shape: str) -> None:
    """One quantile per study, so that hits are independent.

    Intervals reach outward to edges and cover more often than they promise, so 20 % less would not be noticed here; the
    tests above do.
    """
    draw, exact = SHAPES[shape]
    rng, hits, trials = np.random.default_rng(7), 0, 40
    for i in range(trials):
        x = draw(rng, 21_000)
        reports = STUDY.randomize(x[1000:], random_state=rng)
        estimate = STUDY.estimate(trusted=x[:1000], local=reports, random_state=rng)
        q = (0.1, 0.5, 0.9, 0.95, 0.99)[i % 5]
        low, high = estimate.quantile(q).interval
        hits += low - 1e-6 <= exact(q) <= high + 1e-6  # a unit of the grid is 6e-8
    assert hits >= stats.binom.ppf(LEVEL, trials, 0.95)
