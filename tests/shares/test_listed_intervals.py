"""Intervals of listed items near the threshold.

Every category of a blend here is one listing of the same item, so that one vector call makes thousands of trials.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from hybriddp.privacy import Privacy
from hybriddp.release.threshold import ThresholdRule
from hybriddp.shares.blend import Blend, blend
from hybriddp.shares.law import GroupShares, ShareIntervals
from hybriddp.shares.listing import Listing
from hybriddp.shares.oracle import frequency_channel, oracle_of
from tests.levels import LEVEL

# ε, trusted users, local users, expected count over the threshold: between 1 and 40 % of the trials are listed.
SETTINGS = ((4.0, 2000, 20_000, 0.4), (1.0, 5000, 100_000, 0.75), (2.0, 2000, 2000, 0.6), (4.0, 2000, 0, 0.6))
Setting = tuple[float, int, int, float]


class Trials(NamedTuple):
    """Listings of one item, side by side, and the true share among the users of each."""

    blend: Blend
    truth: np.ndarray

    def misses(self, found: ShareIntervals, *, scale: float = 1.0) -> int:
        shares = np.clip(self.blend.shares, 0, 1)
        lower, upper = shares + scale * (found.lower - shares), shares + scale * (found.upper - shares)
        return int(np.count_nonzero((self.truth < lower[:-1]) | (self.truth > upper[:-1])))


def _play(setting: Setting, trials: int, *, held: int | None = None, local_share: float | None = None) -> Trials:
    """Draw users until so many listings; with ``held`` so many trusted users have the item, whatever others have."""
    epsilon, n_t, n_l, fraction = setting
    rule = ThresholdRule.of(Privacy(epsilon=epsilon, delta=1e-6))
    share = fraction * rule.threshold / n_t
    rng = np.random.default_rng([int(epsilon), n_t, n_l])
    draws = 200 * trials if held is None else trials
    mine = rng.binomial(n_t, share, draws) if held is None else np.full(draws, held)
    stop = -np.expm1(-1 / rule.scale)
    if held is None:
        noisy = mine + rng.geometric(stop, draws) - rng.geometric(stop, draws)
        listed = np.flatnonzero((noisy >= rule.threshold) & (mine > 0))[:trials]
    else:  # Laplace noise has no memory
        noisy, listed = rule.threshold + rng.geometric(stop, draws) - 1, np.arange(draws)
    mine, noisy = mine[listed], np.append(noisy[listed], 0)
    assert len(mine) == trials
    mask = np.append(np.ones(trials, np.bool_), False)
    noise = rule.variance / n_t**2
    trusted = GroupShares(n_t, noisy / n_t, noise, laplace=True, listing=Listing(rule.threshold, rule.scale, mask))
    if not n_l:
        return Trials(blend(trusted, None), mine / n_t)
    oracle = oracle_of(frequency_channel(f"{epsilon:g}", 40), 40)
    theirs = rng.binomial(n_l, share if local_share is None else local_share, trials)
    supports = rng.binomial(theirs, oracle.hit) + rng.binomial(n_l - theirs, oracle.miss)
    shares = np.append((supports / n_l - oracle.miss) / (oracle.hit - oracle.miss), 0)
    local = GroupShares.of_reports(shares, n_l, hit=oracle.hit, miss=oracle.miss)
    return Trials(blend(trusted, local, yields=False), (mine + theirs) / (n_t + n_l))


@pytest.mark.statistical
@pytest.mark.parametrize("setting", SETTINGS)
def test_they_hold_shares_of_items_that_are_rarely_listed(setting: Setting) -> None:
    """At least 93 % of the time, of these users and of their population; without the condition they do not."""
    trials = 2000
    played = _play(setting, trials)
    most = stats.binom.isf(LEVEL / 2, trials, 0.07)
    assert played.misses(played.blend.intervals(0.95)) <= most
    population = played._replace(truth=np.full(trials, setting[3] * _threshold(setting) / setting[1]))
    assert population.misses(population.blend.intervals(0.95, population=True)) <= most
    if setting[2]:
        assert played.misses(played.blend.law().intervals(0.95)) > most


@pytest.mark.statistical
def test_intervals_that_are_too_narrow_are_noticed() -> None:
    """Half of an error of 50 % lies below; a fifth narrower there is more."""
    trials = 8000
    played = _play(SETTINGS[0], trials)
    found, most = played.blend.intervals(0.5), stats.binom.isf(LEVEL, trials, 0.25)
    found = ShareIntervals(found.lower, np.ones(trials + 1), 0.5)
    assert played.misses(found) <= most
    assert played.misses(found, scale=0.8) > most


def _threshold(setting: Setting) -> int:
    return ThresholdRule.of(Privacy(epsilon=setting[0], delta=1e-6)).threshold


@pytest.mark.statistical
@pytest.mark.parametrize("setting", [*SETTINGS[:3], (8.0, 2000, 2000, 0.5)])
def test_they_hold_shares_whatever_the_groups_have(setting: Setting) -> None:
    """One trusted user has the item, which is the worst case, and local users have none or many of it."""
    trials = 2000
    most = stats.binom.isf(LEVEL / 2, trials, 0.07)
    for share in (0.0, 0.05):
        played = _play(setting, trials, held=1, local_share=share)
        assert played.misses(played.blend.intervals(0.95, groups_may_differ=True)) <= most, share
        if setting[0] == 8:  # with less noise in the reports the condition is what matters
            assert played.misses(played.blend.law_if_groups_differ().intervals(0.95)) > most


def test_the_lower_end_is_the_share_that_explains_the_listing() -> None:
    """By sums over all counts, noise and reports: a listed item has a share of at least x with half of the error."""
    n_t, n_l, threshold, scale = 300, 700, 12, 1.5
    noise, sd = 2 * scale**2 / n_t**2, 0.006
    for y in (12, 14, 19):
        listing = Listing(threshold, scale, np.array([True, False]))
        trusted = GroupShares(n_t, np.array([y / n_t, 0.5]), noise, laplace=True, listing=listing)
        local = GroupShares(n_l, np.array([0.03, 0.5]), sd**2)
        both = blend(trusted, local, yields=False)
        level = 0.9
        lower = both.intervals(level).lower[0]
        assert 0 < lower < both.law().intervals(level).lower[0]
        w, x = float(both.weight[0]), float(both.shares[0])
        tails = []
        for users in (np.floor(1000 * lower + 0.5), np.ceil(1000 * lower + 0.5)):  # half a user further in
            k = np.arange(1, 200)[:, None]
            z = np.arange(-300, 300)
            joint = stats.hypergeom.pmf(k, 1000, users, n_t) * stats.dlaplace.pmf(z, 1 / scale) * (k + z >= threshold)
            mean = w * (k + z + 0.5) / n_t + (1 - w) * (users - k) / n_l
            tails.append(float(np.sum(joint * stats.norm.sf((x - mean) / ((1 - w) * sd))) / joint.sum()))
        assert tails[0] - 0.002 < (1 - level) / 2 < tails[1] + 0.002, (y, tails)


def test_items_that_are_surely_listed_and_public_ones_keep_their_ends() -> None:
    rule = ThresholdRule.of(Privacy(epsilon=1, delta=1e-6))
    counts = np.array([30.0, 30.0, 400.0, 4540.0])
    listing = Listing(rule.threshold, rule.scale, np.array([True, False, True, False]))
    trusted = GroupShares(5000, counts / 5000, rule.variance / 5000**2, laplace=True, listing=listing)
    local = GroupShares(50_000, counts / 5000, 1e-7)
    for one in (blend(trusted, local), blend(trusted, None)):
        for population in (False, True):
            plain, found = one.law(population=population).intervals(0.95), one.intervals(0.95, population=population)
            assert found.lower[0] < plain.lower[0]
            np.testing.assert_array_equal(found.lower[1:], plain.lower[1:])
            np.testing.assert_array_equal(found.upper, plain.upper)
    both = blend(trusted, local)
    plain, found = both.law_if_groups_differ().intervals(0.95), both.intervals(0.95, groups_may_differ=True)
    assert found.lower[0] < plain.lower[0]
    np.testing.assert_array_equal(found.lower[1:], plain.lower[1:])


def test_intervals_are_nested_by_level() -> None:
    played = _play(SETTINGS[1], 200)
    ends = [played.blend.intervals(level).lower for level in (0.5, 0.9, 0.99, 0.9999)]
    assert all(np.all(wide <= narrow + 1e-9) for narrow, wide in pairwise(ends))
    assert np.all(ends[-1] >= 0)
