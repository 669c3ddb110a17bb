import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from hybriddp._check import IntArray
from hybriddp.channels import ChoiceResponse, RandomizedResponse, UnaryEncoding
from hybriddp.channels.response import SymbolChannel
from hybriddp.channels.unary import BITS, binomials, symbol_channel, symbol_variance
from hybriddp.randomness import ByteSource, SeededBytes, SystemBytes
from tests.levels import z_limit

CHANNELS: list[SymbolChannel] = [
    RandomizedResponse(epsilon=1, n_categories=2),
    RandomizedResponse(epsilon="0.1", n_categories=3),
    RandomizedResponse(epsilon=12, n_categories=5),
    UnaryEncoding(epsilon=1, n_categories=2),
    UnaryEncoding(epsilon="0.3", n_categories=3),
    UnaryEncoding(epsilon=6, n_categories=9),
]
every_channel = pytest.mark.parametrize("channel", CHANNELS, ids=lambda c: f"{c.kind} {c.epsilon} {c.n_symbols}")


class Scripted(ByteSource):
    """Words of 64 bits that a test has written down: those of each call, one call after the other."""

    seeded = True

    def __init__(self, words: Callable[[int], np.ndarray]) -> None:
        self.words, self.calls = words, 0

    def fill(self, buffer: np.ndarray) -> None:
        buffer[:] = self.words(self.calls)[: len(buffer) // 8].astype("<u8").view(np.uint8)
        self.calls += 1


# Binomials: exact, by running through all random bits


@pytest.mark.parametrize(("n", "bits"), [(1, 8), (2, 5), (3, 4), (4, 3), (6, 2), (12, 1)])
def test_binomials_have_exactly_their_law(n: int, bits: int) -> None:
    """All outcomes of the first bits of n words, each once; the bits of the weight that follow are 0."""
    rows = np.arange(1 << (n * bits))

    def words(call: int) -> np.ndarray:
        if call >= bits:
            return np.full(len(rows), 0xFFFFFFFFFFFFFFFF, np.uint64)
        return (rows >> (n * call) & ((1 << n) - 1)).astype(np.uint64)

    for top in range(1, 1 << bits):
        found = binomials(np.full(len(rows), n), top << (BITS - bits), Scripted(words))
        exact = [math.comb(n, k) * top**k * ((1 << bits) - top) ** (n - k) for k in range(n + 1)]
        assert np.bincount(found, minlength=n + 1).tolist() == exact


@pytest.mark.parametrize("weight", [1, 2, 3, 1 << 31, (1 << 31) - 1, 0xDEADBEEF, (1 << 32) - 2, (1 << 32) - 1])
def test_a_word_counts_if_it_is_below_the_weight(weight: int) -> None:
    trials = np.array([[0, 1, 63], [64, 65, 128]])
    n_words = int(np.maximum((trials + 63) // 64, 1).sum())
    for word in {0, 1, weight - 1, weight, min(weight + 1, 2**32 - 1), 2**32 - 1}:

        def words(call: int, word: int = word) -> np.ndarray:
            ones = 0xFFFFFFFFFFFFFFFF if word >> (BITS - 1 - call) & 1 else 0
            return np.full(n_words, ones, np.uint64)

        expected = trials if word < weight else np.zeros_like(trials)
        assert np.array_equal(binomials(trials, weight, Scripted(words)), expected)


@pytest.mark.parametrize("trials", [0, 1, 63, 64, 65, 127, 128, 129])
def test_every_toss_is_one_bit_and_every_bit_at_most_one_toss(trials: int) -> None:
    """With only bit i set and the weight 2^31, a word with 0 in front is below: all tosses but that one."""
    around = 70  # rows before and after must neither give nor take
    n_words = max(-(-trials // 64), 1)
    total = 2 + n_words + 2
    for bit in range(64 * n_words):
        words = np.zeros(total, np.uint64)
        words[2 + bit // 64] = np.uint64(1) << np.uint64(bit % 64)
        script = [words, np.full(4096, 0xFFFFFFFFFFFFFFFF, np.uint64)]

        source = Scripted(lambda call, script=script: script[min(call, 1)])  # type: ignore[misc]
        found = binomials(np.array([around, trials, around]), 1 << 31, source)
        assert found.tolist() == [around, trials - (bit < trials), around]


@pytest.mark.statistical
@pytest.mark.parametrize("trials", [63, 64, 65, 128])
@pytest.mark.parametrize("weight", [1 << 31, 1_155_000_000, 0xC0000001])
@pytest.mark.parametrize("source", [SystemBytes(), SeededBytes(1)], ids=["real", "seeded"])
def test_binomials_of_real_bytes_have_their_law(trials: int, weight: int, source: ByteSource) -> None:
    # Chi-square with a false-alarm probability of 1e-10; a probability that is a fifth off does not pass.
    found = binomials(np.full(5000, trials), weight, source)

    def pvalue(p: float) -> float:
        law = stats.binom(trials, p)
        inner = np.arange(int(law.ppf(0.01)), int(law.ppf(0.99)) + 1)
        low, high = inner[0] - 1, inner[-1] + 1
        expected = np.array([law.cdf(low), *law.pmf(inner), law.sf(inner[-1])])
        counts = np.bincount(np.clip(found, low, high) - low, minlength=len(expected))
        return float(stats.chisquare(counts, len(found) * expected / expected.sum()).pvalue)

    assert pvalue(weight / 2**32) > 1e-10
    assert pvalue(0.8 * weight / 2**32) < 1e-10


def test_edges_of_binomials() -> None:
    source = SystemBytes()
    assert binomials(np.zeros((2, 3), np.int64), 1 << 31, source).tolist() == [[0] * 3] * 2
    # One of 900 words may be below 1, or equal to the largest one, with a chance of 2e-7; two of them, 2e-14.
    assert binomials(np.array([900]), 1, source)[0] <= 1
    assert binomials(np.array([900]), (1 << 32) - 1, source)[0] >= 899


# A crowd: the law of one report per user


def _supporting(channel: SymbolChannel, symbol: int) -> dict[tuple[int, ...], Fraction]:
    """How likely a user with this symbol is to support each set of symbols, from the integers of the channel."""
    m = channel.n_symbols
    if isinstance(channel, RandomizedResponse):
        weights = channel.weights(symbol)
        return {
            tuple(int(v == code) for v in range(m)): Fraction(weights[code], 1 << channel.bits) for code in range(m)
        }
    assert isinstance(channel, UnaryEncoding)
    law = {}
    for bits in product((0, 1), repeat=m):
        chance = Fraction(1)
        for v, bit in enumerate(bits):
            one = Fraction(channel.one if v == symbol else channel.zero, 1 << BITS)
            chance *= one if bit else 1 - one
        law[bits] = chance
    return law


def _law(channel: SymbolChannel, symbols: list[int]) -> dict[tuple[int, ...], Fraction]:
    """The law of the counts of a crowd: one report per user, added up."""
    law = {(0,) * channel.n_symbols: Fraction(1)}
    for symbol in symbols:
        longer: dict[tuple[int, ...], Fraction] = {}
        for counts, chance in law.items():
            for bits, more in _supporting(channel, symbol).items():
                key = tuple(a + b for a, b in zip(counts, bits, strict=True))
                longer[key] = longer.get(key, Fraction(0)) + chance * more
        law = longer
    return law


def _crowd(channel: SymbolChannel, symbols: list[int], times: int) -> IntArray:
    which = np.repeat(np.arange(times), len(symbols))
    return channel.simulate_supports(np.tile(symbols, times), which, times, SystemBytes())


def _devices(channel: SymbolChannel, symbols: list[int], times: int) -> IntArray:
    reports = channel.sample(np.tile(symbols, times)).reshape(times, len(symbols), -1)
    if isinstance(channel, UnaryEncoding):
        bits = np.unpackbits(reports, axis=2, count=channel.n_categories, bitorder="little")
        return np.asarray(bits.sum(axis=1, dtype=np.int64))
    return np.asarray((reports == np.arange(channel.n_codes)).sum(axis=1))


@pytest.mark.statistical
@pytest.mark.parametrize("reported", [_crowd, _devices])
@pytest.mark.parametrize("symbols", [[0], [1, 1], [0, 1, 1]])
@pytest.mark.parametrize("channel", [c for c in CHANNELS if c.n_symbols < 4 and c.epsilon != "12"], ids=repr)
def test_tiny_crowds_have_exactly_the_law_of_single_reports(
    reported: Callable[[SymbolChannel, list[int], int], IntArray], symbols: list[int], channel: SymbolChannel
) -> None:
    # Chi-square against the law computed in fractions; a false alarm has probability 1e-10.
    law = _law(channel, symbols)
    assert sum(law.values()) == 1
    keys = list(law)
    times = 120_000  # so that the wrong law fails by five standard deviations
    found, counts = np.unique(reported(channel, symbols, times), axis=0, return_counts=True)
    seen = dict(zip(map(tuple, found.tolist()), counts.tolist(), strict=True))
    assert set(seen) <= set(keys)
    observed = np.array([seen.get(key, 0) for key in keys])
    expected = np.array([float(law[key]) for key in keys])
    assert stats.chisquare(observed, times * expected).pvalue > 1e-10
    wrong = expected.copy()
    wrong[np.argmax(wrong)] *= 0.8
    assert stats.chisquare(observed, times * wrong / wrong.sum()).pvalue < 1e-10


@pytest.mark.statistical
@every_channel
def test_crowds_have_the_moments_of_single_reports(channel: SymbolChannel) -> None:
    """All means and variances together; a p that is a fifth off does not pass."""
    m, times = channel.n_symbols, 3000
    symbols = [0] * 150 + [1] * 40
    supports = _crowd(channel, symbols, times)
    true = np.bincount(symbols, minlength=m)
    p, q = channel.hit_probability, channel.miss_probability
    mean = true * p + (190 - true) * q
    variance = true * p * (1 - p) + (190 - true) * q * (1 - q)
    error, limit = np.sqrt(variance / times), z_limit(2 * m)
    assert np.all(np.abs(supports.mean(axis=0) - mean) < limit * error + 1e-12)
    assert abs(supports.mean(axis=0)[0] - 0.8 * mean[0]) > limit * error[0]
    likely = variance > 1  # else the counts are nearly Poisson, and hardly any
    ratio = supports.var(axis=0)[likely] / variance[likely]
    assert np.all(np.abs(ratio - 1) < limit * math.sqrt(2 / times))
    assert np.all(np.abs(ratio / 0.64 - 1) > limit * math.sqrt(2 / times))


# Counts: unbiased, with the variance that is claimed


@every_channel
def test_counts_are_unbiased(channel: SymbolChannel) -> None:
    """Expected supports from the channel's integers, times the number of draws, so that they are whole."""
    m = channel.n_symbols
    bits = channel.bits if isinstance(channel, RandomizedResponse) else BITS
    true = [7, 0, 3, 2, 1, 5, 0, 1, 9][:m]
    expected = [Fraction(0)] * m
    for symbol, users in enumerate(true):
        for counts, chance in _supporting(channel, symbol).items():
            expected = [e + users * chance * c for e, c in zip(expected, counts, strict=True)]
    scaled = [e * (1 << bits) for e in expected]
    assert all(e.denominator == 1 for e in scaled)
    supports = np.array([[int(e) for e in scaled]])
    found = channel.unbiased_counts(supports, np.array([sum(true) << bits])) / (1 << bits)
    assert found[0] == pytest.approx(true, abs=1e-11)


EPSILONS = ["0.01", "0.1", "0.5", "1", "2", "3.3", "5", "7"]


def _exact_variance(channel: SymbolChannel) -> Fraction:
    """V = q(1-q)/(p-q)² in fractions."""
    if isinstance(channel, UnaryEncoding):
        p, q = Fraction(channel.one, 1 << BITS), Fraction(channel.zero, 1 << BITS)
    else:
        assert isinstance(channel, RandomizedResponse)
        weights = channel.weights(0)
        p, q = Fraction(weights[0], 1 << channel.bits), Fraction(weights[1], 1 << channel.bits)
    assert (channel.hit_probability, channel.miss_probability) == (float(p), float(q))
    assert channel.gap == pytest.approx(float(p - q), rel=1e-12)
    assert channel.count_variance == pytest.approx(float(q * (1 - q) / (p - q) ** 2), rel=1e-9)
    return q * (1 - q) / (p - q) ** 2


@pytest.mark.parametrize("epsilon", [*EPSILONS, "12", "20"])
def test_the_variance_is_that_of_the_channel_which_is_the_better_one(epsilon: str) -> None:
    sizes = (2, 3, 8, 64, 1000, 4096)
    exact = {m: float(_exact_variance(symbol_channel(epsilon, m))) for m in sizes}
    assert {m: symbol_variance(float(epsilon), m) for m in sizes} == pytest.approx(exact, rel=1e-4)
    for kind in (RandomizedResponse, UnaryEncoding):
        others = {m: float(_exact_variance(kind(epsilon=epsilon, n_categories=m))) for m in sizes}
        assert {m: v for m, v in exact.items() if v > others[m] * (1 + 1e-6)} == {}


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_channel_changes_where_the_variances_meet(epsilon: str) -> None:
    first = math.ceil(3 * math.exp(float(epsilon)) + 2)
    assert isinstance(symbol_channel(epsilon, first - 1), RandomizedResponse)
    assert isinstance(symbol_channel(epsilon, first), UnaryEncoding)
    assert symbol_channel(epsilon, first - 1).n_symbols == first - 1
    assert symbol_channel(epsilon, first).n_symbols == first


@every_channel
def test_supports_of_reports_are_what_a_device_supports(channel: SymbolChannel) -> None:
    symbols = [0, 1, 1, 0, 1]
    rows = channel.sample(symbols, random_state=4)
    groups = np.array([0, 1, 1, 2, 0])
    supports, users = channel.tally(rows, groups, 4)
    assert users.tolist() == [2, 2, 1, 0]
    for group in range(4):
        alone = [
            channel.tally(rows[i : i + 1], np.zeros(1, np.int64), 1)[0][0] for i in np.flatnonzero(groups == group)
        ]
        assert supports[group].tolist() == np.sum([np.zeros(channel.n_symbols), *alone], axis=0).tolist()
    assert sum(supports.sum(axis=1)) == (_bits(rows) if channel.sends_bits else 5)


def _bits(reports: IntArray) -> int:
    return int(np.bitwise_count(reports).sum())


def test_reports_that_no_device_sends_and_groups_that_are_not_are_left_out() -> None:
    response = RandomizedResponse(epsilon=1, n_categories=5)
    codes, groups = np.array([4, 5, -1, 2, 3, 0]), np.array([0, 0, 0, 2, -1, 1])
    supports, users = response.tally(codes, groups, 2)
    assert supports.tolist() == [[0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]
    assert users.tolist() == [1, 1]
    unary = UnaryEncoding(epsilon=1, n_categories=9)  # seven bits of the second byte stand for nothing
    rows = np.array([[255, 1], [1, 2], [0, 0], [4, 0]], np.uint8)
    supports, users = unary.tally(rows, np.array([0, 0, 1, 7]), 2)
    assert supports.tolist() == [[1] * 9, [0] * 9]
    assert users.tolist() == [1, 1]


@pytest.mark.parametrize("fraction", [0.0, 0.25, 1.0])
@pytest.mark.parametrize(
    "channel",
    [*CHANNELS[:-1], ChoiceResponse(epsilon=2, n_codes=4, n_chosen=1)],
    ids=lambda c: f"{c.kind} {c.epsilon} {c.n_symbols}",
)
def test_the_variance_of_signed_sums_is_the_mean_square_of_a_report(channel: SymbolChannel, fraction: float) -> None:
    """Over all sets of symbols that a report can support, in fractions; + and - on the first two symbols."""
    gap = channel.gap
    single = RandomizedResponse(epsilon=2, n_categories=4) if channel.kind == "choice" else channel
    signs = [1, -1, *[0] * (channel.n_symbols - 2)]

    def square(symbol: int) -> float:
        law = _supporting(single, symbol)
        return float(sum(p * sum(s * b for s, b in zip(signs, bits, strict=True)) ** 2 for bits, p in law.items()))

    others = square(2) if channel.n_symbols > 2 else None
    held = (square(0) + square(1)) / 2
    if others is None and fraction < 1:
        return  # nobody can hold another symbol
    expected = (fraction * held + (1 - fraction) * (others or 0.0)) / gap**2
    assert channel.signed_variance(2, fraction) == pytest.approx(expected, rel=1e-4)
