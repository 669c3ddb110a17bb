import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybriddp.channels import LocalHashing
from hybriddp.channels.hashing import best_values
from hybriddp.privacy import SHIFT, canonical_epsilon, odds
from tests.channels.counts import tally_of
from tests.levels import LEVEL, z_limit

epsilons = st.decimals("0.01", "20", places=3).map(canonical_epsilon)


def _probabilities(channel: LocalHashing, key: int) -> list[Fraction]:
    """How likely each code is for a key: the functions are equally likely."""
    values = channel.family.table(np.array([key], np.uint64))[:, 0]
    total = channel.n_functions << channel.bits
    return [Fraction(weight, total) for value in values.tolist() for weight in channel.weights(value)]


# Privacy, in integers


@pytest.mark.parametrize("epsilon", ["0.01", "1", "4", "12"])
def test_no_two_keys_differ_by_more_than_epsilon_at_any_code(epsilon: str) -> None:
    channel = LocalHashing(epsilon=epsilon, n_functions=4)
    table = [_probabilities(channel, key) for key in range(12)]
    assert all(sum(row) == 1 for row in table)
    most = max(max(column) / min(column) for column in zip(*table, strict=True))
    allowed = Fraction(odds(epsilon), 1 << SHIFT)
    assert 1 < most <= allowed
    assert float(most - 1) >= 0.9999 * float(allowed - 1)


@pytest.mark.parametrize("epsilon", ["1", "12"])
def test_draws_give_codes_as_often_as_the_table_says(epsilon: str) -> None:
    """Both ends of every run of draws, for every function, from the definition of the window."""
    channel = LocalHashing(epsilon=epsilon, n_functions=8, n_values=5)
    low, extra, word = channel.window.low, channel.window.extra, "<u4" if channel.bits == 32 else "<u8"
    runs = [(v * low, (v + 1) * low - 1) for v in range(5)] + [(5 * low, (1 << channel.bits) - 1)]
    assert 5 * low + extra == 1 << channel.bits
    for key in (0, 99, (1 << 64) - 1):
        true = channel.family.table(np.array([key], np.uint64))[:, 0]
        for function in range(8):
            for place, run in enumerate(runs):
                value = place if place < 5 else int(true[function])
                for u in run:
                    raw = np.array([u, function | 8 * 1234], word).view(np.uint8)
                    code = channel.codes(np.array([key], np.uint64), raw)
                    assert code.tolist() == [function * 5 + value]


def test_only_the_low_bits_of_wide_words_count() -> None:
    channel = LocalHashing(epsilon=12, n_functions=8)
    words = np.array([12345, 3], "<u8")
    more = words | np.array([0xBEEF << 48, 1 << 63], "<u8")
    key = np.array([7], np.uint64)
    assert channel.codes(key, words.view(np.uint8)) == channel.codes(key, more.view(np.uint8))


# The number of values


@given(epsilons)
def test_no_other_number_of_values_has_less_variance(epsilon: str) -> None:
    e, best = math.exp(float(epsilon)), best_values(epsilon)

    def variance(g: int) -> float:
        return (e + g - 1) ** 2 / (g - 1)

    assert 2 <= best <= 1024
    for other in {max(best - 1, 2), min(best + 1, 1024)}:
        assert variance(best) <= variance(other) * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "values", "limit"), [("1", 4, 1.005), ("2", 8, 1.001), ("4", 56, 1.0001)])
def test_the_variance_is_that_of_unary_encoding(epsilon: str, values: int, limit: float) -> None:
    channel, e = LocalHashing(epsilon=epsilon), math.exp(float(epsilon))
    assert channel.n_values == values
    unary = 4 * e / (e - 1) ** 2
    assert 0.9999 < channel.count_variance / unary < limit
    exact = (e + values - 1) ** 2 / ((e - 1) ** 2 * (values - 1))
    assert channel.count_variance == pytest.approx(exact, rel=1e-3 if values == 56 else 1e-6)


@pytest.mark.parametrize(("epsilon", "size", "kind"), [("1", 2, "uint16"), ("2", 2, "uint16"), ("4", 3, "uint32")])
def test_reports_are_short(epsilon: str, size: int, kind: str) -> None:
    channel = LocalHashing(epsilon=epsilon)
    assert (channel.report_bytes, channel.code_type.name) == (size, kind)
    assert channel.sample(np.arange(10)).dtype == channel.code_type


# Estimates


def test_supports_are_counted_from_the_definition() -> None:
    channel = LocalHashing(epsilon=1, n_functions=32)
    keys = np.arange(12)
    reports = channel.sample(np.repeat(keys, 20), random_state=5)
    tally = tally_of(channel, reports)
    table = channel.family.table(keys.astype(np.uint64))
    expected = [sum(int(table[code // 4, key]) == code % 4 for code in reports.tolist()) for key in keys]
    assert channel.supports(tally, keys).tolist() == expected
    counts = (np.array(expected) - 240 * channel.miss_probability) / channel.gap
    np.testing.assert_allclose(channel.unbiased_counts(tally, keys), counts)


def test_without_reports_all_counts_are_zero() -> None:
    channel = LocalHashing(epsilon=2, n_functions=64)
    assert channel.corrected_counts(tally_of(channel, []), [1, 2]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
def test_the_correction_is_exact_without_noise(epsilon: str) -> None:
    """A tally as it is on average: the correction leaves the true counts, whatever collides."""
    channel = LocalHashing(epsilon=epsilon, n_functions=256)
    keys = np.arange(300)
    true = np.where(keys < 8, 1e6 / (1.0 + keys), 0.0)
    table, n = channel.family.table(keys.astype(np.uint64)), true.sum()
    low = channel.window.low / (1 << channel.bits)
    held = np.stack([np.bincount(row[:8], true[:8], channel.n_values) for row in table])
    tally = (n * low + (channel.hit_probability - low) * held) / 256
    assert np.abs(channel._counts(channel.family.sums(tally, keys.astype(np.uint64)), n) - true).max() > 0.01 * n
    whole = np.rint(1000 * tally).astype(np.int64)
    np.testing.assert_allclose(channel.corrected_counts(whole, keys), 1000 * true, atol=1e-4 * 1000 * n)


def _moments(channel: LocalHashing, estimate: Callable[[Any, Any], Any], random_state: int) -> np.ndarray:
    """Estimates of one key with 3,000 of 4,000 users, and of 4,000 keys without any, a few functions times."""
    found = []
    for seed in range(10):
        family = LocalHashing(epsilon=channel.epsilon, n_functions=channel.n_functions, seed=seed + 100 * random_state)
        reports = family.sample(np.repeat([1, 2], [3000, 1000]), random_state=10 * random_state + seed)
        found.append(estimate(family, tally_of(family, reports)))
    return np.array(found)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["0.5", "1", "4"])
def test_counts_are_unbiased_and_have_their_variance(epsilon: str) -> None:
    """Keys that nobody has: mean 0, and the variance of the reports plus that of the collisions.

    Their estimates are independent but for the reports that they share, by a few percent of the standard deviation of
    the mean; 20,000 of them have a relative standard error of 1 % of the variance.
    """
    channel, n = LocalHashing(epsilon=epsilon, n_functions=4096), 4000
    others = np.arange(10, 2010)
    found = _moments(channel, lambda c, tally: c.unbiased_counts(tally, others), 1)
    variance = n * channel.count_variance + n**2 * channel.collision_variance(0.75**2 + 0.25**2)
    means = found.mean(axis=1) / math.sqrt(variance / len(others))
    assert np.abs(means).max() < z_limit(20)
    z = found.ravel() / math.sqrt(variance)
    error = math.sqrt(2 / z.size)
    assert abs(np.mean(z**2) - 1) < z_limit(2) * error
    assert abs(np.mean(z**2) / 0.64 - 1) > z_limit(2) * error


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_the_count_of_a_frequent_key_is_unbiased(epsilon: str) -> None:
    """2,000 studies: the variance of a hit is p(1 - p), of a miss q(1 - q), and there are collisions."""
    channel, n = LocalHashing(epsilon=epsilon, n_functions=64), 400
    p, q = channel.hit_probability, channel.miss_probability
    found = np.array(
        [
            (c := LocalHashing(epsilon=epsilon, n_functions=64, seed=seed)).unbiased_counts(
                tally_of(c, c.sample(np.repeat([1, 2], [300, 100]), random_state=seed)), [1]
            )[0]
            for seed in range(2000)
        ]
    )
    variance = (300 * p * (1 - p) + 100 * q * (1 - q)) / channel.gap**2 + n**2 * channel.collision_variance(0.25**2)
    z = (found - 300) / math.sqrt(variance)
    assert abs(z.mean()) * math.sqrt(len(z)) < z_limit(2)
    assert abs(np.mean(z**2) - 1) < z_limit(2) * math.sqrt(2 / len(z))
    assert abs(np.mean(z**2) / 0.64 - 1) > z_limit(2) * math.sqrt(2 / len(z))


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_corrected_counts_have_the_variance_of_the_reports(epsilon: str) -> None:
    """A thousand frequent and rare keys of 200,000 users: collisions cost next to nothing, where they cost a lot."""
    n, d = 200_000, 5000
    shares = 1 / np.arange(1, d + 1)
    true = np.random.default_rng(0).multinomial(n, shares / shares.sum())
    channel = LocalHashing(epsilon=epsilon, n_functions=1024)
    tally = tally_of(channel, channel.sample(np.repeat(np.arange(d), true), random_state=4))
    variance = n * channel.count_variance
    plain, corrected = channel.unbiased_counts(tally, np.arange(d)), channel.corrected_counts(tally, np.arange(d))
    error = math.sqrt(2 / d)
    raw, rest = (float(np.mean((found - true)[100:] ** 2)) / variance for found in (plain, corrected))
    collisions = n**2 * channel.collision_variance(float(np.sum((true / n) ** 2))) / variance
    assert collisions > 0.25
    assert abs(raw / (1 + collisions) - 1) < z_limit(2) * error
    # What is left is of keys below 4.5 standard deviations, a tenth of the squares at most.
    assert 1 - z_limit(2) * error < rest < 1 + 0.1 * collisions + z_limit(2) * error
    assert abs(rest / 0.64 - 1) > z_limit(2) * error


@pytest.mark.statistical
def test_functions_are_drawn_uniformly() -> None:
    """Chi-square; one function that is drawn a fifth too rarely does not pass."""
    channel = LocalHashing(epsilon=1, n_functions=8)
    counts = tally_of(channel, channel.sample(np.full(100_000, 3))).sum(axis=1)
    assert stats.chisquare(counts).pvalue > LEVEL
    wrong = np.full(8, 1.0)
    wrong[0] = 0.8
    assert stats.chisquare(counts, wrong / wrong.sum() * 100_000).pvalue < LEVEL
