import numpy as np
import pytest

from hybriddp.channels import WindowChannel
from hybriddp.errors import DataError
from hybriddp.grid import UNITS
from hybriddp.simulation.crowd import ValueCounts, code_counts
from tests.levels import z_limit

VALUES = np.repeat([0.0, 0.1, 0.30001, 0.5, 0.77, 1.0], [40, 30, 20, 5, 3, 2])
CROWD = ValueCounts.of(VALUES, (0, 1))


# The counts have the law of the devices.


def _worst_score(channel: WindowChannel, other: WindowChannel) -> float:
    """The largest difference of counts, in standard errors, between drawing counts and drawing two million reports."""
    rng, many = np.random.default_rng(1), ValueCounts(CROWD.units, 20_000 * CROWD.users)
    fast = code_counts(channel, many, rng).reshape(16, 16).sum(axis=1)  # 16 neighboring codes together
    reports = other.sample(np.repeat(many.units, many.users), random_state=rng)
    slow = np.bincount(reports // 16, minlength=16)
    assert fast.sum() == slow.sum() == many.count
    share = (fast + slow) / (2 * many.count)
    return float(np.max(np.abs(fast - slow) / np.sqrt(2 * many.count * share * (1 - share))))


@pytest.mark.statistical
@pytest.mark.representative
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_drawing_counts_is_drawing_reports(epsilon: float) -> None:
    channel = WindowChannel(epsilon=epsilon)
    assert _worst_score(channel, channel) < z_limit(16)
    assert _worst_score(channel, WindowChannel(epsilon=1.2 * epsilon)) > z_limit(16)


@pytest.mark.statistical
def test_the_variance_of_the_counts_is_that_of_the_reports_too() -> None:
    """The mean value of all reports, whose variance the error formulas are about."""
    channel, rng, trials = WindowChannel(epsilon=1), np.random.default_rng(2), 10_000
    drawn = np.array([code_counts(channel, CROWD, rng) @ channel.values for _ in range(trials)]) / CROWD.count
    expected = float(channel.variance(CROWD.units / UNITS) @ CROWD.users) / CROWD.count**2
    scores = [(drawn.var() / (scale**2 * expected) - 1) / (2 / trials) ** 0.5 for scale in (0.8, 1.0, 1.2)]
    assert abs(scores[1]) < z_limit(2)
    assert min(abs(scores[0]), abs(scores[2])) > z_limit(2)
    assert abs(drawn.mean() - CROWD.mean) < z_limit(2) * (expected / trials) ** 0.5


@pytest.mark.statistical
def test_splits_have_the_variance_of_a_sample_without_replacement() -> None:
    rng, trials, n_t = np.random.default_rng(4), 10_000, 20
    drawn = np.array([CROWD.split(n_t, rng)[0].mean for _ in range(trials)])
    expected = CROWD.split_variance * (1 / n_t - 1 / CROWD.count)
    scores = [(drawn.var() / (scale**2 * expected) - 1) / (2 / trials) ** 0.5 for scale in (0.8, 1.0, 1.2)]
    assert abs(scores[1]) < z_limit(2)
    assert min(abs(scores[0]), abs(scores[2])) > z_limit(2)
    assert abs(drawn.mean() - CROWD.mean) < z_limit(2) * (expected / trials) ** 0.5


# Identities and edges


def test_a_split_keeps_everybody() -> None:
    trusted, local = CROWD.split(17, np.random.default_rng(0))
    assert (trusted.count, local.count) == (17, 83)
    assert (trusted.users + local.users).tolist() == CROWD.users.tolist()
    assert trusted.total + local.total == CROWD.total


@pytest.mark.statistical
def test_new_people_come_from_the_same_distribution() -> None:
    drawn = CROWD.draw(1_000_000, np.random.default_rng(0))
    assert drawn.count == 1_000_000
    limit = z_limit() * (CROWD.variance / 1e6) ** 0.5
    assert abs(drawn.mean - CROWD.mean) < limit
    assert abs(1.2 * drawn.mean - CROWD.mean) > limit


def test_mean_and_variance_are_those_of_the_values() -> None:
    assert pytest.approx(VALUES.mean(), abs=1e-7) == CROWD.mean
    assert CROWD.variance == pytest.approx(VALUES.var(), abs=1e-7)
    assert CROWD.split_variance == pytest.approx(VALUES.var(ddof=1), abs=1e-7)
    assert CROWD.count == 100


@pytest.mark.parametrize("values", [[], [0.5], [0.1, float("nan")], [0.1, None]])
def test_too_few_or_missing_values_are_refused(values: list[float]) -> None:
    with pytest.raises(DataError, match="at least two finite numbers"):
        ValueCounts.of(values, (0, 1))
