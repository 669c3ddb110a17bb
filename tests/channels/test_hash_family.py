import numpy as np
import pytest
from scipy import stats

from hybriddp.channels.hash_family import HashFamily
from tests.levels import LEVEL

MASK = 0xFFFFFFFF


def _mix(x: int) -> int:
    x ^= x >> 16
    x = x * 0x7FEB352D & MASK
    x ^= x >> 15
    x = x * 0x846CA68B & MASK
    return x ^ x >> 16


def _value(family: HashFamily, key: int, function: int) -> int:
    """One value, from the definition, in Python's integers."""
    first, second = (_mix((family.seed + (i + 1) * 0x9E3779B9) & MASK) for i in (function & ~1, function | 1))
    h = _mix(((_mix(key & MASK ^ first) ^ key >> 32) + second) & MASK)
    return ((h >> 16 if function & 1 else h & 0xFFFF) * family.n_values) >> 16


KEYS = np.array([0, 1, 7, 1 << 32, (1 << 64) - 1, 0x0123456789ABCDEF, *range(1000, 1030)], np.uint64)
FAMILIES = [HashFamily(64, 4, 0), HashFamily(64, 56, MASK), HashFamily(2, 1024, 12345)]


@pytest.mark.parametrize("family", FAMILIES)
def test_all_ways_to_compute_a_value_agree_with_the_definition(family: HashFamily) -> None:
    table = family.table(KEYS)
    expected = [[_value(family, int(key), f) for key in KEYS] for f in range(family.n_functions)]
    assert table.tolist() == expected
    for f in range(family.n_functions):
        assert family.values(KEYS, np.full(len(KEYS), f)).tolist() == expected[f]
    entries = np.random.default_rng(0).integers(-1000, 1000, (family.n_functions, family.n_values))
    sums = [sum(int(entries[f, v]) for f, v in enumerate(column)) for column in zip(*expected, strict=True)]
    assert family.sums(entries, KEYS).tolist() == sums


def test_blocks_of_keys_do_not_show() -> None:
    family = HashFamily(2, 8, 3)
    keys = np.arange(70_000, dtype=np.uint64)
    entries = np.arange(16).reshape(2, 8)
    whole = family.sums(entries, keys)
    parts = np.concatenate([family.sums(entries, keys[:33_000]), family.sums(entries, keys[33_000:])])
    np.testing.assert_array_equal(whole, parts)
    assert family.sums(entries, keys[:0]).shape == (0,)


@pytest.mark.parametrize("g", [2, 3, 4, 56, 1000, 1024])
def test_the_probability_of_a_collision_counts_all_bits(g: int) -> None:
    counts = np.bincount(np.arange(1 << 16) * g >> 16, minlength=g)
    exact = int(np.sum(counts**2)) / 2**32
    assert HashFamily(2, g, 0).collision_probability == pytest.approx(exact, rel=1e-15)
    assert 1 / g <= exact < 1.0001 / g


@pytest.mark.statistical
@pytest.mark.parametrize("g", [2, 4, 56])
@pytest.mark.parametrize("kind", ["counting", "high half", "two bits"])
def test_keys_that_are_alike_collide_as_often_as_chance(g: int, kind: str) -> None:
    """Numbers of collisions of 2,000 pairs are binomial, in their mean and in their spread; with 20 % more, neither."""
    family = HashFamily(4096, g, 7)
    n = 2000
    keys = {
        "counting": np.arange(2 * n, dtype=np.uint64),
        "high half": np.arange(2 * n, dtype=np.uint64) << np.uint64(32),
        "two bits": np.repeat(np.arange(n, dtype=np.uint64) << np.uint64(7), 2)
        ^ np.tile([0, 1 << 31 | 1 << 63], n).astype(np.uint64),
    }[kind]
    table = family.table(keys)
    collisions = np.count_nonzero(table[:, 0::2] == table[:, 1::2], axis=0)
    p = family.collision_probability
    total = collisions.sum()
    assert stats.binomtest(int(total), n * 4096, p).pvalue > LEVEL / 2
    assert stats.binomtest(int(total), n * 4096, p / 1.2).pvalue < LEVEL
    spread = float(np.sum((collisions - 4096 * p) ** 2)) / (4096 * p * (1 - p))
    assert LEVEL / 4 < stats.chi2(n).cdf(spread) < 1 - LEVEL / 4
    assert stats.chi2(n).sf(spread / 0.64) < LEVEL


@pytest.mark.statistical
def test_values_of_one_key_are_uniform_and_pairs_of_functions_independent() -> None:
    """Chi-square over 16 cells; one that is a fifth off does not pass."""
    family = HashFamily(65536, 4, 1)
    table = family.table(np.array([42], np.uint64))[:, 0].astype(int)
    for other in (table[1::2], np.roll(table, 1)[0::2], np.roll(table, 2)[0::2]):
        counts = np.bincount(4 * table[0::2] + other, minlength=16)
        assert stats.chisquare(counts).pvalue > LEVEL / 3
        wrong = np.full(16, 1.0)
        wrong[5] = 0.8
        assert stats.chisquare(counts, wrong / wrong.sum() * counts.sum()).pvalue < LEVEL
