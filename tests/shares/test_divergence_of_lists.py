from functools import cache

import numpy as np
import pytest
from scipy import stats

from hybriddp.items.counts import ItemCounts
from hybriddp.items.study import HeavyHitterStudy
from hybriddp.shares.divergence import compare_groups, score_listed
from hybriddp.shares.law import GroupShares
from hybriddp.shares.listing import Listing
from tests.levels import LEVEL

RUNS = 400


def _study(trusted: np.ndarray, local: np.ndarray, study: HeavyHitterStudy, rng: np.random.Generator) -> list[float]:
    """Standard errors between the groups of one study: with its list's condition, and without."""
    held = {str(item): int(trusted[item]) for item in np.flatnonzero(trusted).tolist()}
    released = study.release(ItemCounts(study.digest, int(trusted.sum()), held), random_state=rng)
    listed = np.array(released.items, np.int64)
    people = np.append(local[listed], local.sum() - local[listed].sum())
    question = study.question(released)
    reports = question.randomize(
        [*np.repeat(np.array([*released.items, "no item of the list"]), people).tolist()], random_state=rng
    )
    found = study.estimate(trusted=released, local=reports, random_state=rng)
    blended = found.blend
    assert blended.trusted is not None
    assert blended.local is not None
    assert found.divergence is not None
    shares = np.clip(blended.shares, 0, 1)
    plain = GroupShares(blended.trusted.count, blended.trusted.shares, blended.trusted.noise, laplace=True)
    return [found.divergence.z, compare_groups(plain, blended.local, shares).z]


@cache
def _scores(n_trusted: int, n_local: int, runs: int = RUNS, change: float = 0.0) -> np.ndarray:
    law = 1 / np.arange(1.0, 301)
    law /= law.sum()
    other = law + change * (np.eye(300)[20] - np.eye(300)[0])
    study, rng = HeavyHitterStudy("x", epsilon=4, delta=1e-6), np.random.default_rng([n_trusted, runs])
    return np.array(
        [_study(rng.multinomial(n_trusted, other), rng.multinomial(n_local, law), study, rng) for _ in range(runs)]
    )


@pytest.mark.statistical
@pytest.mark.parametrize(("n_trusted", "n_local"), [(500, 20_000), (500, 50_000)])
def test_groups_that_are_alike_are_rarely_told_apart(n_trusted: int, n_local: int) -> None:
    """Two standard errors in 4.6 % of studies at most. Without the condition they are told apart far more often."""
    z, plain = _scores(n_trusted, n_local).T
    limit = stats.binom.isf(LEVEL / 2, RUNS, 0.0455)
    assert np.count_nonzero(z > 2) <= limit
    assert np.count_nonzero(plain > 2) > limit
    assert np.count_nonzero(z > 4) <= stats.binom.isf(LEVEL / 2, RUNS, 0.001)
    assert np.count_nonzero(z > 0.5) > 50  # it is no constant


@pytest.mark.statistical
def test_groups_that_differ_in_one_item_are_told_apart() -> None:
    z = _scores(500, 20_000, 60, 0.06)[:, 0]
    assert np.median(z) > 4


@pytest.mark.statistical
def test_scores_are_those_of_a_normal_variable() -> None:
    """One item, listed in 12 % of studies, thousands of times: the upper tail is no heavier than a normal one.

    Scores that are a quarter too large, as from a scale a fifth too small, are noticed.
    """
    n_t, n_l, share, threshold, scale, trials = 1000, 20_000, 0.008, 12, 0.5, 4000
    rng = np.random.default_rng(3)
    draws = 60 * trials
    stop = -np.expm1(-1 / scale)
    noisy = rng.binomial(n_t, share, draws) + rng.geometric(stop, draws) - rng.geometric(stop, draws)
    noisy = noisy[noisy >= threshold][:trials]
    assert len(noisy) == trials
    local = GroupShares(n_l, np.append(rng.normal(share, 0.002, trials), 0.5), 0.002**2)
    listing = Listing(threshold, scale, np.append(np.ones(trials, np.bool_), False))
    trusted = GroupShares(n_t, np.append(noisy / n_t, 0.5), 2 * scale**2 / n_t**2, laplace=True, listing=listing)
    f = np.append(np.full(trials, share), 0.5)
    found = score_listed(trusted, local, f, local.variance(f))
    assert found.items.tolist() == list(range(trials))
    assert np.mean(found.scores) == pytest.approx(0, abs=0.15)
    for limit in (1.5, 2.0, 2.5):
        most = stats.binom.isf(LEVEL / 6, trials, stats.norm.sf(limit))
        assert np.count_nonzero(found.scores > limit) <= most
        assert np.count_nonzero(found.scores < -limit) <= most
    assert np.count_nonzero(found.scores / 0.8 > 1.5) > stats.binom.isf(LEVEL / 6, trials, stats.norm.sf(1.5))
    raw = (trusted.shares - local.shares)[:-1] / np.sqrt(trusted.variance(f) + local.variance(f))[:-1]
    assert np.mean(raw) > 1  # which is what being listed does


def test_without_a_list_there_is_nothing_to_score() -> None:
    group = GroupShares(100, np.array([0.2, 0.8]), 0.01)
    found = score_listed(group, group, group.shares, group.variance(group.shares))
    assert (found.items.size, found.excess, found.variance) == (0, 0.0, 0.0)


def test_others_are_expected_to_lose_what_listed_items_gain() -> None:
    listing = Listing(12, 0.5, np.array([True, True, False]))
    local = GroupShares(20_000, np.array([0.008, 0.5, 0.492]), 1e-8)
    trusted = GroupShares(1000, np.array([0.013, 0.5, 0.487]), 1e-6, laplace=True, listing=listing)
    f = np.array([0.008, 0.5, 0.492])
    found = score_listed(trusted, local, f, local.variance(f))
    table = listing.law(1000, None)
    assert found.items.tolist() == [0]  # the second one is surely listed
    assert found.excess == pytest.approx(np.interp(8, table.expected, table.mean) / 1000 - 0.008, rel=0.02)
    plain = compare_groups(GroupShares(1000, trusted.shares, 1e-6, laplace=True), local, f)
    assert abs(compare_groups(trusted, local, f).item_z[2]) < abs(plain.item_z[2])
