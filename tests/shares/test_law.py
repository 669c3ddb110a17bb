import math
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from hybriddp.errors import ParameterError
from hybriddp.release.mechanisms import laplace_variance
from hybriddp.shares.blend import Blend, blend
from hybriddp.shares.law import GroupShares, ShareIntervals, ShareLaw, quantile
from hybriddp.shares.oracle import frequency_channel, oracle_of
from hybriddp.shares.study import sensitivity
from tests.levels import LEVEL

SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
SIZES = ((20, 50), (50, 500), (1000, 50), (1000, 10_000), (100, 0), (1000, 0), (0, 50), (0, 1000))
FEW = [(1.0, 2, (50, 500)), (0.5, 5, (20, 50)), (4.0, 50, (1000, 50)), (4.0, 2, (20, 50)), (1.0, 5, (100, 0))]
FEW += [(4.0, 2, (100, 0)), (0.5, 50, (0, 1000))]
GRID = list(product((0.5, 1.0, 4.0), (2, 5, 50), SIZES))
Setting = tuple[float, int, tuple[int, int]]


class Trials(NamedTuple):
    """Many independent studies of one category, side by side, and the true share among the users of each."""

    blend: Blend
    among_users: np.ndarray


def _play(setting: Setting, share: float, trials: int) -> Trials:
    """By the law of one category's counts exactly: users are drawn, then noise and the supports of their reports."""
    epsilon, k, (n_t, n_l) = setting
    oracle = oracle_of(frequency_channel(f"{epsilon:g}", k), k)
    rng = np.random.default_rng([int(10 * epsilon), k, n_t, n_l, int(1000 * share)])
    mine_t, mine_l = rng.binomial(n_t, share, trials), rng.binomial(n_l, share, trials)
    trusted = local = None
    if n_t:
        scale = sensitivity(k) / epsilon
        stop = -math.expm1(-1 / scale)
        noise = rng.geometric(stop, trials) - rng.geometric(stop, trials)
        trusted = GroupShares.of_counts(mine_t + noise, n_t, laplace_variance(scale))
    if n_l:
        supports = rng.binomial(mine_l, oracle.hit) + rng.binomial(n_l - mine_l, oracle.miss)
        shares = (supports / n_l - oracle.miss) / (oracle.hit - oracle.miss)
        local = GroupShares.of_reports(shares, n_l, hit=oracle.hit, miss=oracle.miss)
    return Trials(blend(trusted, local), (mine_t + mine_l) / (n_t + n_l))


def _hits(found: ShareIntervals, truth: np.ndarray | float, estimate: np.ndarray, scale: float = 1.0) -> int:
    lower, upper = estimate + scale * (found.lower - estimate), estimate + scale * (found.upper - estimate)
    return int(np.count_nonzero((lower <= truth) & (truth <= upper)))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("settings", "trials"),
    [(FEW, 4000), *(pytest.param([setting], 20_000, marks=pytest.mark.long) for setting in GRID)],
)
def test_intervals_cover_at_every_share(settings: list[Setting], trials: int) -> None:
    """At least 93 % each, but for a chance of 1e-9 in all; those that are 20 % too narrow do not, all together."""
    least = stats.binom.ppf(LEVEL / (14 * len(settings)), trials, 0.93)
    narrow = []
    for setting, share in product(settings, SHARES):
        played = _play(setting, share, trials)
        for population, truth in ((False, played.among_users), (True, share)):
            found = played.blend.law(population=population).intervals(0.95)
            estimate = np.clip(played.blend.shares, 0, 1)
            assert _hits(found, truth, estimate) >= least, (setting, share, population)
            if share >= 0.1 and population:
                narrow.append(_hits(found, truth, estimate, 0.8))
    if len(settings) > 1:  # in some, where noise covers nearly all of the range, nothing is narrow enough
        assert sum(narrow) < stats.binom.ppf(LEVEL, trials * len(narrow), 0.93)


@pytest.mark.statistical
@pytest.mark.parametrize("setting", [setting for setting in FEW if min(setting[2])])
def test_intervals_that_assume_nothing_cover_groups_that_differ(setting: Setting) -> None:
    """Shares of 0.1 and 0.4, or 0.4 and 0.1: what differs between the groups is no error of theirs."""
    (n_t, n_l), trials = setting[2], 4000
    for share_t, share_l in ((0.1, 0.4), (0.4, 0.1)):
        ours, theirs = _play(setting, share_t, trials), _play(setting, share_l, trials)
        both = blend(ours.blend.trusted, theirs.blend.local)
        # Both groups' true shares follow from what was drawn; the population's are public here.
        truth = (n_t * share_t + n_l * share_l) / (n_t + n_l)
        found = both.law_if_groups_differ(population=True).intervals(0.95)
        estimate = np.clip(both.equal_shares, 0, 1)
        assert _hits(found, truth, estimate) >= stats.binom.ppf(LEVEL / 2, trials, 0.93)


def test_it_is_wilsons_interval_without_noise() -> None:
    counts = np.array([0.0, 3.0, 50.0, 100.0])
    law = blend(GroupShares.of_counts(counts, 100, 0.0), None).law(population=True)
    found = replace(law, rounding=np.zeros(4)).intervals(0.95)
    expected = [stats.binomtest(int(c), 100).proportion_ci(0.95, method="wilson") for c in counts]
    np.testing.assert_allclose(found.lower, [e.low for e in expected], atol=1e-9)
    np.testing.assert_allclose(found.upper, [e.high for e in expected], atol=1e-9)


def test_without_noise_the_users_shares_are_known_to_half_a_user() -> None:
    found = blend(GroupShares.of_counts(np.array([0.0, 3.0, 100.0]), 100, 0.0), None).law().intervals(0.99)
    np.testing.assert_allclose(found.lower, [0, 0.025, 0.995])
    np.testing.assert_allclose(found.upper, [0.005, 0.035, 1])


def test_ends_are_the_shares_that_explain_the_estimate() -> None:
    trusted = GroupShares.of_counts(np.array([5.0, 20.0, 300.0]), 1000, 8.0)
    local = GroupShares.of_reports(np.array([0.01, 0.02, 0.31]), 5000, hit=0.5, miss=0.27)
    law = replace(blend(trusted, local).law(population=True), rounding=np.zeros(3))
    found = law.intervals(0.9)
    for end in (found.lower, found.upper):
        variance = law.variance(end)
        t = quantile(0.9, law.laplace / variance)
        inside = (end > 0) & (end < 1)
        np.testing.assert_allclose(np.abs(law.estimate - end)[inside], (t * np.sqrt(variance))[inside], rtol=1e-3)


def test_an_estimate_outside_counts_as_the_nearer_end() -> None:
    local = GroupShares.of_reports(np.array([-0.2, 0.0, 1.0, 1.3]), 500, hit=0.5, miss=0.27)
    found = blend(None, local).law().intervals(0.95)
    assert found.lower[0] == found.lower[1] == 0
    assert found.upper[0] == found.upper[1] > 0
    assert found.lower[2] == found.lower[3] < 1
    assert found.upper[2] == found.upper[3] == 1


def test_quantiles_lie_between_those_of_the_normal_and_the_laplace_law() -> None:
    for level in (0.5, 0.95, 0.999):
        found = quantile(level, np.array([0.0, 1.0]))
        np.testing.assert_allclose(found, [stats.norm.isf((1 - level) / 2), -math.log(1 - level) / math.sqrt(2)])
    draws = np.random.default_rng(0).normal(0, math.sqrt(0.3), 400_000)
    draws += np.random.default_rng(1).laplace(0, math.sqrt(0.35), 400_000)
    assert np.mean(np.abs(draws) > quantile(0.95, np.array([0.7]))) == pytest.approx(0.05, abs=0.0021)  # 6 σ


def test_variances_are_those_of_the_formulas() -> None:
    f, n, p, q = np.array([0.0, 0.2, 1.0]), 700, 0.6, 0.15
    local = GroupShares.of_reports(f, n, hit=p, miss=q)
    r = f * p + (1 - f) * q
    np.testing.assert_allclose(local.variance(f), r * (1 - r) / (n * (p - q) ** 2))
    trusted = GroupShares.of_counts(n * f, n, 8.0)
    np.testing.assert_allclose(trusted.variance(f), f * (1 - f) / n + 8 / n**2)


def test_levels_are_fractions() -> None:
    law = ShareLaw(*(np.array([0.1]) for _ in range(6)))
    with pytest.raises(ParameterError, match="^level must be"):
        law.intervals(95)
