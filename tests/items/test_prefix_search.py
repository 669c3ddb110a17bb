import numpy as np
import pytest

from hybriddp.channels import LocalHashing
from hybriddp.items import DiscoveryQuestion
from hybriddp.items.coding import unscramble
from hybriddp.items.prefix_search import KEPT, _rank_in_root, local_shares, search_prefixes
from tests.channels.counts import tally_of
from tests.levels import z_limit

CHANNEL = LocalHashing(epsilon=4, n_functions=64)
QUESTION = DiscoveryQuestion("words", epsilon=4, channel=CHANNEL)
WORDS = {"apple": 0.3, "pear": 0.2, "fig": 0.1, "plum": 0.05}


def _tallies(n: int, seed: int) -> list[np.ndarray]:
    """Reports of four frequent words and of many that nobody else has."""
    rng = np.random.default_rng(seed)
    others = [f"{i:06x}" for i in rng.integers(0, 1 << 24, n).tolist()]
    kinds = rng.choice(len(WORDS) + 1, n, p=[*WORDS.values(), 1 - sum(WORDS.values())])
    words = list(WORDS)
    items = [words[kind] if kind < len(words) else other for kind, other in zip(kinds.tolist(), others, strict=True)]
    return QUESTION.levels(QUESTION.summarize_local(QUESTION.randomize(items, random_state=seed)))


def test_frequent_words_are_found_with_their_shares() -> None:
    tallies = _tallies(20_000, 1)
    found = search_prefixes(tallies, CHANNEL)
    assert 4 < len(found.codes) == len(found.scores) <= KEPT  # few roots lead to fewer
    assert list(found.scores) == sorted(found.scores, reverse=True)
    words = QUESTION.alphabet.decode(unscramble(found.codes))
    assert words[:4] == list(WORDS)
    for score, share in zip(found.scores, WORDS.values(), strict=False):
        assert score == pytest.approx(share, abs=0.02)
    assert found.scores[4] < 0.02
    again = local_shares(tallies, found.codes[:4], CHANNEL, np.ones(4, bool))
    np.testing.assert_allclose(again.shares, list(WORDS.values()), atol=0.02)
    assert again.count == 20_000


def test_without_reports_nothing_is_found() -> None:
    empty = QUESTION.levels(QUESTION.summarize_local([]))
    assert len(search_prefixes(empty, CHANNEL).codes) == 0
    shares = local_shares(empty, QUESTION.codes(["a"]), CHANNEL, np.ones(1, bool))
    assert np.all(np.asarray(shares.noise) > 1000)


def test_ranks_are_counted_within_roots() -> None:
    roots = np.array([5, 7, 5, 5, 7], np.uint64)
    scores = np.array([0.1, 0.9, 0.3, 0.2, 0.8])
    assert _rank_in_root(roots, scores).tolist() == [2, 0, 0, 1, 1]


def test_a_prefix_that_is_shared_does_not_count() -> None:
    """Two codes with the same first 16 bits are counted at the longer levels only, a third one at all."""
    channel = LocalHashing(epsilon=4, n_functions=64)
    three = np.array([(7 << 32) + 123, (7 << 32) + (1 << 31), 8 << 32], np.uint64)
    codes = np.repeat(three, [30_000, 10_000, 10_000])
    tallies = []
    for seed, bits in enumerate((16, 24, 32, 40, 48)):
        reports = channel.sample(codes[seed::5] >> np.uint64(48 - bits), random_state=seed)
        tallies.append(tally_of(channel, reports))
    found = local_shares(tallies, three, channel, np.ones(3, bool))
    np.testing.assert_allclose(found.shares, [0.6, 0.2, 0.2], atol=0.02)
    np.testing.assert_allclose(channel.count_variance / found.noise, [40_000, 40_000, 50_000])


def test_strings_without_a_code_are_left_to_the_trusted_group() -> None:
    tallies = _tallies(500, 2)
    found = local_shares(tallies, QUESTION.codes(["apple", "a long one"]), CHANNEL, np.array([True, False]))
    assert found.shares[1] == 0
    noise = np.asarray(found.noise)
    assert noise[0] < 1 < noise[1]


@pytest.mark.statistical
def test_shares_are_unbiased_and_have_their_variance() -> None:
    """Shares of 4,000 codes that nobody has: 20 % of the scale would be nine standard errors of the variance."""
    channel = LocalHashing(epsilon=2, n_functions=1024)
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 1 << 48, 4000, dtype=np.uint64)
    held = rng.integers(0, 1 << 48, 20_000, dtype=np.uint64)  # all different: collisions cost next to nothing
    tallies = [
        tally_of(channel, channel.sample(held[level::5] >> np.uint64(48 - bits), random_state=level))
        for level, bits in enumerate((16, 24, 32, 40, 48))
    ]
    found = local_shares(tallies, codes, channel, np.ones(len(codes), bool))
    z = found.shares / np.sqrt(found.noise)
    error = np.sqrt(2 / len(z))
    assert abs(z.mean()) * np.sqrt(len(z)) < z_limit(2)
    assert abs(np.mean(z**2) - 1) < z_limit(2) * error
    assert abs(np.mean(z**2) / 0.64 - 1) > z_limit(2) * error
