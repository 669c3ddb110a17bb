import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.channels import ChoiceResponse, RandomizedResponse, UnaryEncoding, WindowChannel
from hybriddp.channels.hashing import LocalHashing
from hybriddp.channels.unary import BITS
from hybriddp.errors import ParameterError
from hybriddp.privacy import SHIFT, odds
from hybriddp.shares.designs import code_sets
from hybriddp.shares.oracle import MOST_BITS, FrequencyOracle, candidates, frequency_channel, oracle_of
from tests.levels import z_limit

# Privacy: the ratio of two probabilities of the same report, all of them, as exact fractions


def _report_law(oracle: FrequencyOracle, category: int) -> dict[int, Fraction]:
    """How likely a user with this category is to send each report, from the integers of the channel."""
    channel = oracle.channel
    if isinstance(channel, RandomizedResponse):
        return {code: Fraction(w, 1 << channel.bits) for code, w in enumerate(channel.weights(category))}
    if isinstance(channel, ChoiceResponse):
        chosen = int(code_sets(channel.n_codes, channel.n_chosen)[category])
        return {code: Fraction(w, 1 << channel.bits) for code, w in enumerate(channel.weights(chosen))}
    if isinstance(channel, UnaryEncoding):
        law = {}
        for bits in product((0, 1), repeat=channel.n_categories):
            chance = Fraction(1)
            for v, bit in enumerate(bits):
                one = Fraction(channel.one if v == category else channel.zero, 1 << BITS)
                chance *= one if bit else 1 - one
            law[sum(bit << v for v, bit in enumerate(bits))] = chance
        return law
    values = channel.family.table(np.array([category], np.uint64))[:, 0]
    whole = channel.n_functions << channel.bits
    return {
        f * channel.n_values + v: Fraction(w, whole)
        for f in range(channel.n_functions)
        for v, w in enumerate(channel.weights(int(values[f])))
    }


SMALL = [
    oracle_of(RandomizedResponse(epsilon="0.7", n_categories=5), 5),
    oracle_of(RandomizedResponse(epsilon="3", n_categories=2), 2),
    *(oracle_of(ChoiceResponse(epsilon="0.7", n_codes=n, n_chosen=k), 3) for n, k in ((4, 2), (8, 4), (32, 16))),
    oracle_of(ChoiceResponse(epsilon="1", n_codes=16, n_chosen=6), 16),
    oracle_of(UnaryEncoding(epsilon="0.7", n_categories=6), 6),
    oracle_of(LocalHashing(epsilon="0.7", n_functions=64), 3),
    oracle_of(LocalHashing(epsilon="2", n_functions=16, n_values=9), 20),
]
every_oracle = pytest.mark.parametrize("oracle", SMALL, ids=lambda o: f"{o.channel.kind} {o.channel.epsilon}")
# The last one has more categories than its few functions can tell apart.
exact_oracles = pytest.mark.parametrize("oracle", SMALL[:-1], ids=lambda o: f"{o.channel.kind} {o.channel.epsilon}")


@every_oracle
def test_no_report_tells_two_categories_apart_by_more_than_epsilon(oracle: FrequencyOracle) -> None:
    laws = [_report_law(oracle, category) for category in range(oracle.n_categories)]
    assert all(sum(law.values()) == 1 for law in laws)
    assert set(laws[0]) == set(range(oracle.channel.n_codes))
    allowed = Fraction(odds(oracle.channel.epsilon), 1 << SHIFT)
    most = max(max(chances) / min(chances) for chances in zip(*(law.values() for law in laws), strict=True))
    assert 1 < most <= allowed
    assert float(most - 1) >= 0.999 * float(allowed - 1)  # and nearly all of ε is used


@exact_oracles
def test_shares_are_unbiased_and_vary_as_they_say(oracle: FrequencyOracle) -> None:
    """Exactly, for one report of each kind: what it adds to the shares, averaged over all reports."""
    k = oracle.n_categories
    f = np.arange(1.0, k + 1) / (k * (k + 1) / 2)
    laws = [_report_law(oracle, category) for category in range(k)]
    one_each = np.stack([oracle.shares(oracle.tally(np.array([code])), 1) for code in range(oracle.channel.n_codes)])
    table = np.array([[float(law[code]) for code in range(oracle.channel.n_codes)] for law in laws])
    mean, square = f @ table @ one_each, f @ table @ one_each**2
    hashed = isinstance(oracle.channel, LocalHashing)
    np.testing.assert_allclose(mean, f, atol=1e-9)
    np.testing.assert_allclose(mean.sum(), 1)
    expected = [oracle.variance(share) for share in f]
    # Solving for collisions costs degrees of freedom: 3 of 128 on average, more or less for each category.
    np.testing.assert_allclose(square - mean**2, expected, rtol=0.12 if hashed else 1e-9)


@every_oracle
def test_the_probabilities_of_all_counts_are_within_their_bounds(oracle: FrequencyOracle) -> None:
    tallies = np.stack([oracle.tally(np.array([code])) for code in range(oracle.channel.n_codes)])
    laws = np.array([list(map(float, _report_law(oracle, c).values())) for c in range(oracle.n_categories)])
    channel, chances = oracle.channel, laws @ tallies
    least, most = (
        channel.code_bounds
        if isinstance(channel, LocalHashing)
        else (channel.miss_probability, channel.hit_probability)
    )
    assert chances.min() == pytest.approx(least, rel=1e-9)
    assert chances.max() == pytest.approx(most, rel=1e-9)


@pytest.mark.statistical
@exact_oracles
def test_the_shares_of_real_reports_have_this_mean_and_variance(oracle: FrequencyOracle) -> None:
    """Of 3,000 groups of 60 users. A variance a fifth too small is off by 0.25 * sqrt(1,500) = 9.7 standard errors."""
    k, groups, users = oracle.n_categories, 3000, 60
    f = np.arange(1.0, k + 1) / (k * (k + 1) / 2)
    categories = np.random.default_rng(5).choice(k, groups * users, p=f)
    codes = oracle.randomize(categories, 6).reshape(groups, users)
    errors = np.stack([oracle.shares(oracle.tally(row), users) for row in codes]) - f
    variance = np.array([oracle.variance(share) for share in f]) / users
    limit = z_limit(2 * k)

    def scores(expected: np.ndarray) -> np.ndarray:
        return np.asarray(((errors**2).mean(axis=0) / expected - 1) * math.sqrt(groups / 2))

    assert np.abs(errors.mean(axis=0) / np.sqrt(variance / groups)).max() < limit
    assert np.abs(scores(variance)).max() < limit
    assert np.abs(scores(0.8 * variance)).max() > limit


@pytest.mark.statistical
@pytest.mark.parametrize("n_categories", [100, 2000])
def test_shares_of_hashed_reports_are_as_sure_as_they_say(n_categories: int) -> None:
    """Collisions included: corrected for all categories, or for the frequent ones. A fifth is 0.25 * sqrt(k/2) off."""
    oracle = oracle_of(LocalHashing(epsilon="1"), n_categories)
    n, total = 200_000, 0.0
    f = 1 / np.arange(1.0, n_categories + 1)
    rng = np.random.default_rng(3)
    repeats = 4000 // max(n_categories, 200)
    for seed in range(repeats):
        categories = rng.choice(n_categories, n, p=f / f.sum())
        found = oracle.group_shares(oracle.tally(oracle.randomize(categories, seed)), n)
        truth = np.bincount(categories, minlength=n_categories) / n
        noise = np.asarray(found.noise + found.slope * truth)
        total += float(np.sum((found.shares - truth) ** 2 / noise))
    numbers = repeats * n_categories
    z = (total / numbers - 1) * math.sqrt(numbers / 2)
    assert abs(z) < z_limit()
    assert abs((total / numbers / 0.8 - 1) * math.sqrt(numbers / 2)) > z_limit()


def test_unary_reports_are_the_bits_of_one_integer() -> None:
    channel = UnaryEncoding(epsilon=1, n_categories=MOST_BITS)
    oracle, categories = oracle_of(channel, MOST_BITS), np.arange(MOST_BITS)
    codes = oracle.randomize(categories, 4)
    rows = channel.sample(categories, random_state=4)
    assert codes.tolist() == [int.from_bytes(bytes(row), "little") for row in rows.tolist()]
    assert max(codes.tolist()) < oracle.channel.n_codes == 1 << 53
    assert np.array_equal(oracle.tally(codes), channel.ones(rows))
    assert oracle.tally(np.empty(0, np.int64)).tolist() == [0] * MOST_BITS


# The choice


def test_the_variances_are_those_of_the_literature() -> None:
    e = math.e
    response, subset, unary, hashing = (
        RandomizedResponse(epsilon=1, n_categories=9),
        ChoiceResponse(epsilon=1, n_codes=16, n_chosen=6),
        UnaryEncoding(epsilon=1, n_categories=9),
        LocalHashing(epsilon=1),
    )
    assert oracle_of(response, 9).variance(0.0) == pytest.approx((9 - 2 + e) / (e - 1) ** 2, rel=1e-6)
    assert oracle_of(unary, 9).variance(0.0) == pytest.approx(4 * e / (e - 1) ** 2, rel=1e-6)
    p = 6 * e / (6 * e + 10)
    q = (p * 5 + (1 - p) * 6) / 15  # of the other 15 categories, a set with the true one holds 5, one without it 6
    assert oracle_of(subset, 9).variance(0.0) == pytest.approx(q * (1 - q) / (p - q) ** 2, rel=1e-5)
    assert oracle_of(hashing, 9).variance(0.0) == pytest.approx((e + 3) ** 2 / (3 * (e - 1) ** 2), rel=1e-4)


@given(st.sampled_from(["0.1", "0.5", "1", "2", "4", "8"]), st.integers(2, 300))
def test_the_least_variance_is_chosen(epsilon: str, n_categories: int) -> None:
    chosen = oracle_of(frequency_channel(epsilon, n_categories), n_categories)
    least = min(oracle.variance(1 / n_categories) for oracle in candidates(epsilon, n_categories))
    assert chosen.variance(1 / n_categories) <= 1.01 * least
    assert chosen.channel.n_codes <= 1 << 53


@given(st.sampled_from(["0.5", "1", "4"]), st.integers(2, 70_000), st.integers(1, 8))
def test_reports_are_short_enough(epsilon: str, n_categories: int, max_bytes: int) -> None:
    if max_bytes == 1 and n_categories > 256:
        with pytest.raises(ParameterError, match="^max_bytes must be larger for"):
            frequency_channel(epsilon, n_categories, max_bytes=max_bytes)
    else:
        oracle = oracle_of(frequency_channel(epsilon, n_categories, max_bytes=max_bytes), n_categories)
        assert oracle.channel.report_bytes <= max_bytes
        assert oracle.channel.n_codes <= 1 << (8 * oracle.channel.report_bytes)


@pytest.mark.parametrize(
    ("epsilon", "n_categories", "kind"),
    [
        ("1", 2, RandomizedResponse),
        ("0.5", 5, RandomizedResponse),
        ("0.5", 7, ChoiceResponse),
        ("1", 16, ChoiceResponse),
        ("1", 17, UnaryEncoding),
        ("1", 53, UnaryEncoding),
        ("1", 54, LocalHashing),
        ("4", 100, RandomizedResponse),
        ("4", 100_000, LocalHashing),
    ],
)
def test_which_one_is_chosen(epsilon: str, n_categories: int, kind: type) -> None:
    assert type(frequency_channel(epsilon, n_categories)) is kind


@pytest.mark.parametrize(
    "channel",
    [
        WindowChannel(epsilon=1),
        RandomizedResponse(epsilon=1, n_categories=4),
        ChoiceResponse(epsilon=1, n_codes=4, n_chosen=2),
        ChoiceResponse(epsilon=1, n_codes=16, n_chosen=5),
        UnaryEncoding(epsilon=1, n_categories=6),
        "response",
    ],
)
def test_other_channels_are_refused(channel: object) -> None:
    with pytest.raises(ParameterError, match="^channel must be one that asks for one of 5 categories"):
        oracle_of(channel, 5)


def test_a_report_has_at_least_one_byte() -> None:
    with pytest.raises(ParameterError, match="^max_bytes must be an integer of at least 1"):
        frequency_channel("1", 5, max_bytes=0)
