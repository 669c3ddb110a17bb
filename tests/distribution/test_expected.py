import numpy as np
import pytest

from hybriddp.channels.masked import N_BINS, MaskedResponse
from hybriddp.distribution.expected import expected_fits, pattern_chances
from hybriddp.distribution.explain import LARGE_RANK_ERROR
from hybriddp.distribution.study import DistributionStudy

UNIFORM = np.full(N_BINS, 1 / N_BINS)


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1, 2, 4, 6])
def test_for_local_users_alone_it_is_the_closed_form(epsilon: float) -> None:
    channel = MaskedResponse(epsilon=epsilon)
    fits = expected_fits(channel, UNIFORM, n_trusted=0, n_local=10**9)
    assert fits.trusted is None
    assert fits.local is not None
    for fit in (fits.local, fits.both):
        variance = float(np.mean(fit.standard_errors**2)) * 10**9
        assert variance == pytest.approx(channel.rank_variance, rel=1e-5)


@pytest.mark.parametrize(("epsilon", "users"), [(0.5, 45_000), (1, 9_600)])
def test_it_is_mostly_noise_up_to_so_many_local_users(epsilon: float, users: int) -> None:
    """The design's numbers, from which on a warning is not given any more."""
    fits = expected_fits(MaskedResponse(epsilon=epsilon), UNIFORM, n_trusted=0, n_local=users)
    assert float(np.sqrt(np.mean(fits.both.standard_errors**2))) == pytest.approx(LARGE_RANK_ERROR, rel=0.01)


def test_for_trusted_users_alone_it_is_noise_and_sampling() -> None:
    """The design's number: a cumulative count has a standard error of 12.7/ε from noise alone."""
    fits = expected_fits(MaskedResponse(epsilon=1), UNIFORM, n_trusted=10**6, n_local=0)
    assert fits.trusted is not None
    edges = np.arange(1, N_BINS) / N_BINS
    noise = fits.trusted.standard_errors**2 - edges * (1 - edges) / 10**6
    assert float(np.sqrt(np.mean(noise))) * 10**6 == pytest.approx(12.7, abs=0.1)


def test_both_are_better_than_either_and_errors_fall_with_users() -> None:
    masses = np.random.default_rng(0).dirichlet(np.full(N_BINS, 0.3))
    fits = expected_fits(MaskedResponse(epsilon=1), masses, n_trusted=10_000, n_local=10**6)
    assert fits.trusted is not None
    assert fits.local is not None
    for alone in (fits.trusted, fits.local):
        assert np.all(fits.both.standard_errors <= alone.standard_errors * (1 + 1e-9))
    more = expected_fits(MaskedResponse(epsilon=1), masses, n_trusted=40_000, n_local=4 * 10**6, alone=False)
    assert more.trusted is more.local is None
    assert np.all(more.both.standard_errors < fits.both.standard_errors)
    np.testing.assert_array_equal(more.both.linear, masses)


def test_patterns_are_as_likely_as_devices_draw_them() -> None:
    channel = MaskedResponse(epsilon=1)
    chances = pattern_chances(channel)
    assert chances.sum() == pytest.approx(1)
    words = np.linspace(0, 2**32 - 1, 400_001).astype(np.uint32)
    drawn = np.bincount(channel.draw_patterns(words), minlength=channel.n_patterns) / len(words)
    assert np.abs(drawn - chances).max() < 1e-5


def test_it_is_what_estimates_say_of_themselves() -> None:
    study = DistributionStudy("x", bounds=(0, 1), epsilon=1)
    values = np.random.default_rng(0).beta(2, 5, 200_000)
    reports = study.randomize(values[5000:], random_state=1)
    estimate = study.estimate(trusted=values[:5000], local=reports, random_state=2)
    masses = np.bincount(study.bins.of_units(study.grid.units(values)), minlength=N_BINS) / len(values)
    expected = expected_fits(MaskedResponse(epsilon=1), masses, n_trusted=5000, n_local=195_000).both
    assert float(np.mean(expected.standard_errors)) == pytest.approx(
        float(np.mean(estimate.fit.standard_errors)), rel=0.03
    )
