import json
from typing import Any

import numpy as np
import pytest

from hybriddp.channels.masked import N_BINS, MaskedResponse
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import ParameterError
from hybriddp.simulation import simulate
from hybriddp.simulation.crowd import ValueCounts
from hybriddp.simulation.quantiles import BinnedCounts, report_counts
from tests.channels.counts import tally_of
from tests.levels import z_limit

STUDY = DistributionStudy("x", bounds=(0, 1), epsilon=1)


@pytest.mark.statistical
@pytest.mark.representative
def test_the_counts_of_reports_have_the_law_of_devices() -> None:
    """Differences of two counts over their standard deviation: about 2,000 of them, with a spread of 1."""
    bins = np.zeros(N_BINS, np.int64)
    bins[[0, 3, 200, 255]] = [30_000, 40_000, 80_000, 20_000]
    channel = MaskedResponse(epsilon=1)
    drawn = report_counts(channel, bins, np.random.default_rng(0))
    sent = tally_of(channel, channel.sample(np.repeat(np.arange(N_BINS), bins), random_state=1))
    assert drawn.sum() == sent.sum() == bins.sum()
    z = (drawn - sent) / np.sqrt(drawn + sent + 1)
    limit, error = z_limit(z.size + 1), (0.5 / z.size) ** 0.5
    assert np.abs(z).max() < limit
    assert abs(z.std() - 1) < limit * error
    assert min(abs(1.2 * z.std() - 1), abs(0.8 * z.std() - 1)) > limit * error


@pytest.mark.slow
def test_a_seed_repeats_and_results_are_plain_values() -> None:
    how: dict[str, Any] = {"trusted_fraction": 0.05, "trials": 3, "n_users": 20_000, "at": (0.5, 0.9)}
    one, again = (simulate(STUDY, "beta(2, 5)", **how, random_state=4) for _ in range(2))
    assert one.to_json() == again.to_json()
    stored = json.loads(one.to_json())
    assert stored["private_release"] is False
    assert [row["q"] for row in stored["quantiles"]] == [0.5, 0.9]
    assert (one.n_trusted, one.n_local, one.trials) == (1000, 19_000, 3)
    assert one[0.9].truth == pytest.approx(0.5103, abs=0.002)
    with pytest.raises(KeyError):
        one[0.7]


@pytest.mark.statistical
def test_observed_errors_are_those_expected() -> None:
    """Of 60 trials: an rms has a relative standard error of 9 %. The isotonic CDF may be better than was expected."""
    result = simulate(STUDY, "beta(2, 5)", trusted_fraction=0.05, trials=60, n_users=100_000, at=(0.3, 0.5, 0.7, 0.9))
    observed = np.sqrt(np.mean([o.rank_error**2 for o in result.outcomes]))
    predicted = np.sqrt(np.mean([o.predicted_rank_error**2 for o in result.outcomes]))
    assert 0.65 < observed / predicted < 1.35
    assert observed < np.sqrt(np.mean([o.local_rank_error**2 for o in result.outcomes]))
    assert np.mean([o.coverage for o in result.outcomes]) > 0.9


@pytest.mark.repeated
def test_groups_that_differ_have_the_truth_of_everybody() -> None:
    low, high = np.linspace(0, 0.5, 1001), np.linspace(0.5, 1, 1001)
    how: dict[str, Any] = {"trials": 2, "n_users": 10_000, "at": (0.5,)}
    result = simulate(STUDY, low, local_data=high, trusted_fraction=0.25, **how)
    assert result[0.5].truth == pytest.approx(0.5 + 0.5 * (0.25 / 0.75), abs=0.002)
    single = simulate(STUDY, low, trusted_fraction=0, **how)
    assert np.isnan(single[0.5].trusted_rank_error)


def test_ranks_of_equal_values_are_an_interval() -> None:
    crowd = BinnedCounts.of(ValueCounts.of([0.0, 0.25, 0.25, 1.0], (0, 1)), STUDY.bins)
    assert crowd.masses[[0, 255]].tolist() == [0.25, 0.25]
    assert [crowd.quantile(q) for q in (0.2, 0.5, 0.75, 0.9)] == [0, 0.25, 0.25, 1]
    assert crowd.rank_error(0.25, 0.5) == 0
    assert crowd.rank_error(0.25, 0.9) == pytest.approx(-0.15)
    assert crowd.rank_error(0.5, 0.5) == pytest.approx(0.25)
    assert crowd.between(0.5) == 0.25


def test_what_cannot_be_simulated_is_refused() -> None:
    how: dict[str, Any] = {"trusted_fraction": 0.1, "trials": 2, "n_users": 100}
    with pytest.raises(ParameterError, match="trials must be"):
        simulate(STUDY, "uniform", trusted_fraction=0.1, trials=1, n_users=100)
    with pytest.raises(ParameterError, match="at must be"):
        simulate(STUDY, "uniform", **how, at=(1.0,))
