import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hybriddp.channels import MaskedResponse
from hybriddp.channels.masked import BIN_BITS, N_BINS, label_bits_for, patterns
from hybriddp.privacy import SHIFT, odds
from tests.channels.counts import tally_of
from tests.levels import LEVEL

ALL_BITS = range(1, BIN_BITS + 1)


def _label(masks: tuple[int, ...], number: int) -> int:
    """Bit by bit, from the definition."""
    return sum((bin(mask & number).count("1") % 2) << i for i, mask in enumerate(masks))


# Patterns


@pytest.mark.parametrize("r", ALL_BITS)
def test_every_walsh_function_of_a_level_is_asked_equally_often(r: int) -> None:
    """In exactly 2^r - 1 patterns of the level, or in its only one; masks are independent."""
    for level in range(r, BIN_BITS + 1):
        asked: Counter[int] = Counter()
        of_level = [pattern.masks for pattern in patterns(r) if pattern.level == level]
        for masks in of_level:
            combinations = [0]
            for mask in masks:
                combinations += [one ^ mask for one in combinations]
            assert len(set(combinations)) == 1 << r
            asked.update(combinations[1:])
        possible = {w << (BIN_BITS - level) for w in range(1, 1 << level)}
        assert set(asked) == possible
        assert set(asked.values()) == {(1 << r) - 1 if level > r else 1}
        assert len(of_level) == ((1 << level) - 1 if level > r else 1)


def test_the_numbers_of_patterns_are_these_and_reports_have_two_bytes() -> None:
    assert [len(patterns(r)) for r in ALL_BITS] == [502, 499, 492, 477, 446, 383, 256, 1]
    for r in ALL_BITS:
        channel = MaskedResponse(epsilon=1, label_bits=r)
        assert channel.n_codes == len(patterns(r)) << r <= 1 << 16
        assert channel.sample([0, 255]).dtype == np.uint16


def test_the_label_bits_are_the_most_accurate_or_within_three_percent() -> None:
    for epsilon in ("0.1", "0.5", "0.51", "1", "1.8", "1.9", "3", "3.5", "4.2", "5", "5.1", "5.8", "6.5", "7", "20"):
        best = min(MaskedResponse(epsilon=epsilon, label_bits=r).rank_variance for r in ALL_BITS)
        assert MaskedResponse(epsilon=epsilon).rank_variance <= 1.03 * best
    steps = {"0.5": 1, "0.51": 2, "1.8": 2, "3": 3, "4.2": 4, "5.1": 5, "5.8": 6, "6.5": 7, "6.6": 8}
    assert {epsilon: label_bits_for(epsilon) for epsilon in steps} == steps


def test_the_expected_accuracy_is_the_designs() -> None:
    found = [MaskedResponse(epsilon=epsilon).rank_variance for epsilon in (0.25, 0.5, 1, 2, 4)]
    assert found == pytest.approx([436, 112, 24.0, 5.16, 1.01], rel=0.005)


# Privacy


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_the_odds_are_exact_for_every_pattern(epsilon: str) -> None:
    channel = MaskedResponse(epsilon=epsilon)
    limit = Fraction(odds(epsilon), 1 << SHIFT)
    rows = {label: channel.response.weights(label) for label in range(channel.n_labels)}
    for k, pattern in enumerate(channel.patterns):
        labels = [_label(pattern.masks, number) for number in range(N_BINS)]
        assert Counter(labels) == dict.fromkeys(rows, N_BINS >> channel.label_bits)
        assert all(channel.weights(k, number) == rows[labels[number]] for number in (0, 1, 77, 255))
    for one, other in itertools.product(rows.values(), repeat=2):  # all that any two bins can give, under any pattern
        assert sum(one) == 1 << channel.response.bits
        assert all(Fraction(a, b) <= limit for a, b in zip(one, other, strict=True))
    assert max(Fraction(a, b) for a, b in zip(rows[0], rows[1], strict=True)) > limit * (1 - Fraction(1, 10**8))


@pytest.mark.parametrize("epsilon", [0.5, 1, 4, 5.5, 6, 7, 12])
def test_the_pattern_never_depends_on_the_bin_and_the_code_only_on_its_label(epsilon: float) -> None:
    channel = MaskedResponse(epsilon=epsilon)
    raw = np.random.default_rng(1).integers(0, 256, 3000 * channel.bytes_per_report).astype(np.uint8)
    reports = {number: channel.codes(np.full(3000, number), raw) for number in (0, 1, 130, 255)}
    patterns_drawn = {number: found >> channel.label_bits for number, found in reports.items()}
    assert all(np.array_equal(found, patterns_drawn[0]) for found in patterns_drawn.values())
    words = raw.reshape(3000, 2, -1)
    for number, found in reports.items():
        labels = np.array([_label(channel.patterns[k].masks, number) for k in patterns_drawn[number]])
        codes = channel.response.codes(labels, words[:, 0].copy().ravel())
        assert np.array_equal(found & np.uint16(channel.n_labels - 1), codes)


def test_words_choose_patterns_evenly() -> None:
    channel = MaskedResponse(epsilon=1)
    words = (np.arange(1 << 21, dtype=np.uint64) << np.uint64(11)).astype(np.uint32)  # evenly over all words
    drawn = np.bincount(channel.draw_patterns(words), minlength=channel.n_patterns) / len(words)
    level = np.array([pattern.level for pattern in channel.patterns])
    expected = 1 / 7 / np.bincount(level)[level]
    assert np.abs(drawn / expected - 1).max() < 0.002
    assert channel.draw_patterns(np.array([0, 2**32 - 1], np.uint32)).tolist() == [0, 498]


@pytest.mark.statistical
@pytest.mark.representative
def test_reports_have_the_law_of_their_patterns() -> None:
    """Chi-square over all patterns and codes, and against an extra weight that is 20 % off."""
    channel = MaskedResponse(epsilon=1)
    counts = tally_of(channel, channel.sample(np.full(1_000_000, 77)))
    level = np.array([pattern.level for pattern in channel.patterns])
    share = 1 / 7 / np.bincount(level)[level]
    law = np.array([channel.weights(k, 77) for k in range(channel.n_patterns)]) / (1 << channel.response.bits)
    wrong = 0.25 + 0.8 * (law - 0.25)
    expected, off = (counts.sum() * share[:, None] * p for p in (law, wrong))
    assert stats.chisquare(counts.ravel(), expected.ravel()).pvalue > LEVEL
    assert stats.chisquare(counts.ravel(), off.ravel()).pvalue < LEVEL
