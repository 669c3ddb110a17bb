import numpy as np
import pytest
from scipy import stats

from hybriddp.channels import DiscreteLaplace, WindowChannel
from hybriddp.errors import DataError
from hybriddp.grid import UNITS
from hybriddp.simulation.crowd import Crowd, code_counts, laplace_total

VALUES = np.repeat([0.0, 0.1, 0.30001, 0.5, 0.77, 1.0], [40, 30, 20, 5, 3, 2])
CROWD = Crowd.of(VALUES, (0, 1))


# The counts have the law of the devices. A score beyond 6.5 in one of 256 codes has probability below 1e-6.


def _worst_score(channel: WindowChannel, other: WindowChannel) -> float:
    """The largest difference of mean counts, in standard errors, between drawing counts and drawing reports."""
    rng, trials = np.random.default_rng(1), 20_000
    fast = np.array([code_counts(channel, CROWD, rng) for _ in range(trials)])
    units = np.repeat(CROWD.units, CROWD.users)
    reports = other.sample(np.tile(units, trials), random_state=rng).reshape(trials, -1).astype(int)
    slow = np.apply_along_axis(np.bincount, 1, reports, minlength=channel.n_codes)
    assert fast.sum(axis=1).tolist() == slow.sum(axis=1).tolist() == [len(VALUES)] * trials
    error = np.sqrt((fast.var(axis=0) + slow.var(axis=0)) / trials)
    return float(np.max(np.abs(fast.mean(axis=0) - slow.mean(axis=0)) / np.maximum(error, 1e-12)))


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_drawing_counts_is_drawing_reports(epsilon: float) -> None:
    channel = WindowChannel(epsilon=epsilon, n_codes=16)
    assert _worst_score(channel, channel) < 6.5
    assert _worst_score(channel, WindowChannel(epsilon=1.2 * epsilon, n_codes=16)) > 6.5


def test_the_variance_of_the_counts_is_that_of_the_reports_too() -> None:
    """The mean value of all reports, whose variance the error formulas are about."""
    channel, rng, trials = WindowChannel(epsilon=1, n_codes=64), np.random.default_rng(2), 40_000
    drawn = np.array([code_counts(channel, CROWD, rng) @ channel.values for _ in range(trials)]) / CROWD.count
    expected = float(channel.variance(CROWD.units / UNITS) @ CROWD.users) / CROWD.count**2
    score = (drawn.var() / expected - 1) / (2 / trials) ** 0.5
    assert abs(score) < 5.2  # of a normal variable: probability below 1e-6
    assert abs((drawn.var() / (1.2 * expected) - 1) / (2 / trials) ** 0.5) > 5.2
    assert abs(drawn.mean() - CROWD.mean) < 5.2 * (expected / trials) ** 0.5


def test_a_sum_of_discrete_laplace_reports_is_drawn_at_once() -> None:
    channel, rng = DiscreteLaplace(epsilon=1), np.random.default_rng(3)
    fast = np.array([laplace_total(channel, CROWD, rng) for _ in range(20_000)], float)
    units = np.tile(np.repeat(CROWD.units, CROWD.users), 20_000)
    slow = channel.sample(units, random_state=rng).reshape(20_000, -1).sum(axis=1).astype(float)
    assert stats.ks_2samp(fast, slow).pvalue > 1e-6
    assert stats.ks_2samp(CROWD.total + 1.2 * (fast - CROWD.total), slow).pvalue < 1e-6


# Identities and edges


def test_a_split_keeps_everybody() -> None:
    trusted, local = CROWD.split(17, np.random.default_rng(0))
    assert (trusted.count, local.count) == (17, 83)
    assert (trusted.users + local.users).tolist() == CROWD.users.tolist()
    assert trusted.total + local.total == CROWD.total


def test_new_people_come_from_the_same_distribution() -> None:
    drawn = CROWD.draw(1_000_000, np.random.default_rng(0))
    assert drawn.count == 1_000_000
    assert abs(drawn.mean - CROWD.mean) < 5 * (CROWD.variance / 1e6) ** 0.5


def test_mean_and_variance_are_those_of_the_values() -> None:
    assert pytest.approx(VALUES.mean(), abs=1e-7) == CROWD.mean
    assert CROWD.variance == pytest.approx(VALUES.var(), abs=1e-7)
    assert CROWD.split_variance == pytest.approx(VALUES.var(ddof=1), abs=1e-7)
    assert CROWD.count == 100


@pytest.mark.parametrize("values", [[], [0.5], [0.1, float("nan")], [0.1, None]])
def test_too_few_or_missing_values_are_refused(values: list[float]) -> None:
    with pytest.raises(DataError, match="at least two finite numbers"):
        Crowd.of(values, (0, 1))
