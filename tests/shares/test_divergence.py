from functools import cache

import numpy as np
import pytest
from scipy import stats

from hybriddp.shares import FrequencyStudy
from hybriddp.shares.divergence import ShareDivergence, compare_groups
from hybriddp.shares.law import GroupShares
from tests.levels import LEVEL

SETTINGS = {2: (1.0, 100, 1000), 3: (1.0, 100, 2000), 12: (0.5, 500, 2000), 20: (1.0, 500, 5000)}


@cache
def _scores(k: int, gap: float, trials: int = 600) -> np.ndarray:
    """How far apart the test says the groups are; the trusted group's first category is more frequent by a gap."""
    epsilon, n_t, n_l = SETTINGS[k]
    study = FrequencyStudy("x", categories=range(k), other=False, epsilon=epsilon)
    theirs = 1 / np.arange(1.0, k + 1)
    theirs /= theirs.sum()
    ours = theirs + gap * (np.eye(k)[0] - np.eye(k)[1])
    rng = np.random.default_rng([k, int(100 * gap)])
    found = [
        study.estimate(
            trusted=rng.choice(k, n_t, p=ours),
            local=study.randomize(rng.choice(k, n_l, p=theirs), random_state=rng),
            random_state=rng,
        )
        for _ in range(trials)
    ]
    return np.array([one.divergence.z for one in found if one.divergence is not None])


@pytest.mark.statistical
@pytest.mark.parametrize("k", SETTINGS)
def test_groups_that_are_alike_are_rarely_told_apart(k: int) -> None:
    """Two standard errors in 4.6 % of studies at most. With variances a fifth off, z > 1.6 would take its place."""
    z = _scores(k, 0.0)
    assert np.count_nonzero(z > 2) <= stats.binom.isf(LEVEL, len(z), 0.0455)
    assert np.count_nonzero(z > 4) <= stats.binom.isf(LEVEL, len(z), 0.001)
    assert np.count_nonzero(z > 1) > 50


@pytest.mark.statistical
@pytest.mark.parametrize("k", [2, 20])
def test_groups_that_differ_are_told_apart(k: int) -> None:
    assert np.mean(_scores(k, 0.13, 60) > 2) > 0.1
    assert np.mean(_scores(k, 0.13, 60)) > np.mean(_scores(k, 0.0)) + 0.5


def test_two_categories_are_one_number() -> None:
    trusted = GroupShares.of_counts(np.array([300.0, 700.0]), 1000, 2.0)
    local = GroupShares.of_reports(np.array([0.4, 0.6]), 5000, hit=0.73, miss=0.27, single=True)
    found = compare_groups(trusted, local, np.array([0.35, 0.65]))
    assert found.item_z[0] == pytest.approx(-found.item_z[1])
    assert found.z == pytest.approx(abs(found.item_z[0]), rel=1e-3)  # a little less: the tails are a little longer
    np.testing.assert_allclose(found.differences, [-0.1, 0.1])


def test_a_single_different_category_among_many_is_seen() -> None:
    rng = np.random.default_rng(0)
    trusted = GroupShares.of_counts(rng.laplace(0, 2, 5000), 10_000, 8.0)
    local = GroupShares.of_reports(rng.normal(0, 0.005, 5000), 10_000, hit=0.5, miss=0.27)
    local = GroupShares(10_000, local.shares, 0.005**2)
    assert compare_groups(trusted, local, np.zeros(5000)).z < 3
    shares = trusted.shares.copy()
    shares[7] += 0.05
    assert compare_groups(GroupShares.of_counts(10_000 * shares, 10_000, 8.0), local, np.zeros(5000)).z > 6


def test_many_small_differences_are_seen() -> None:
    rng = np.random.default_rng(0)
    trusted = GroupShares(10_000, rng.normal(0, 0.005, 5000), 0.005**2 / 2)
    local = GroupShares(10_000, np.zeros(5000), 0.005**2 / 2)
    assert compare_groups(trusted, local, np.zeros(5000)).z < 3
    wider = GroupShares(10_000, 1.2 * trusted.shares, 0.005**2 / 2)
    assert compare_groups(wider, local, np.zeros(5000)).z > 6


def test_the_words_are_those_of_means() -> None:
    trusted = GroupShares.of_counts(np.array([300.0, 700.0]), 1000, 2.0)

    def verdict(share: float) -> str:
        local = GroupShares.of_reports(np.array([share, 1 - share]), 5000, hit=0.73, miss=0.27, single=True)
        found = compare_groups(trusted, local, np.array([0.3, 0.7]))
        limited = found.limited(np.array([3.0, 3.0]))
        return f"{limited.verdict} {limited.effect}".rstrip()

    assert verdict(0.3) == "The two groups' shares agree within what chance explains."
    assert verdict(0.355).startswith("The two groups' shares differ slightly (2.")
    clearly = verdict(0.5)
    assert "differ clearly" in clearly
    assert "those who trust may be other people than those who do not." in clearly
    assert clearly.endswith("For 2 of 2 shares the trusted group's extra weight was reduced.")
    assert "more than 37 standard errors" in verdict(40.0)


@pytest.mark.parametrize("n_categories", [200, 5000])
def test_single_users_with_rare_categories_are_no_difference(n_categories: int) -> None:
    """With little noise one user is many times the standard error of a category that hardly anybody has."""
    study = FrequencyStudy("x", categories=list(range(n_categories)), other=False, epsilon=20)
    for seed in range(5):
        items = np.random.default_rng(seed).choice(n_categories, 10_050)
        found = study.estimate(
            trusted=items[:50], local=study.randomize(items[50:], random_state=seed), random_state=seed
        )
        assert found.divergence is not None
        assert not found.divergence.clearly_differ


def test_its_repr_is_short_however_many_shares_there_are() -> None:
    many = np.full(100_000, 0.1)
    found = ShareDivergence(3.14159, many, many, many, np.append(many[1:], 1.0))
    assert repr(found) == "ShareDivergence(3.1 standard errors, 99,999 of 100,000 shares clearly differ)"
