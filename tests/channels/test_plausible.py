"""How many reports are wrong, at least: a lower bound that nobody can push above what they replaced."""

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from hybriddp.channels.plausible import (
    FALSE_ALARM,
    Surpluses,
    _heaviest,
    _largest_plausible,
    bernoulli_divergence,
    count_surpluses,
    implausible_words,
    short_doubt,
    wrong_in_codes,
    wrong_in_intervals,
)

RNG = np.random.default_rng(11)
Codes = NDArray[np.int64]


def _largest(n: int, p: float, limit: float) -> int:
    """By trying all counts."""
    fine = [k for k in range(n + 1) if k <= n * p or n * float(bernoulli_divergence(k / n, p)) <= limit]
    return max(fine)


# Definition


@pytest.mark.parametrize("n", [1, 2, 7, 60, 500])
@pytest.mark.parametrize("limit", [0.5, 5.0, 25.0])
def test_the_largest_plausible_count_is_the_largest(n: int, limit: float) -> None:
    probabilities = [0.0, 1e-4, 0.03, 0.5, 0.97, 1.0]
    largest = _largest_plausible(np.full(6, n), np.array(probabilities), limit)
    assert largest.tolist() == [_largest(n, p, limit) for p in probabilities]


@pytest.mark.parametrize("n", [1, 30, 90])
def test_surpluses_are_what_exceeds_it_on_either_side(n: int) -> None:
    least, most = np.array([0.02, 0.3, 0.0]), np.array([0.1, 0.6, 1.0])
    limit = math.log(2 * 3 / FALSE_ALARM)
    upper, lower = ([_largest(n, p, limit) for p in sides.tolist()] for sides in (most, 1 - least))
    for k in range(n + 1):
        found = count_surpluses([k] * 3, n, least, most)
        assert found.above.tolist() == [max(k - largest, 0) for largest in upper]
        assert found.below.tolist() == [max(n - k - largest, 0) for largest in lower]


@pytest.mark.parametrize("n", [1, 10, 300, 10**4, 10**7])
@pytest.mark.parametrize("n_sets", [2, 300, 33_000])
def test_real_reports_look_wrong_with_the_stated_probability_at_most(n: int, n_sets: int) -> None:
    """Exactly, by the tail of the binomial law, whose tails are the heaviest among users who differ."""
    p = np.array([1e-5, 0.004, 0.2, 0.47, 0.9])
    largest = _largest_plausible(np.full(5, n), p, math.log(2 * n_sets / FALSE_ALARM))
    assert float(binom.sf(largest, n, p).max()) * 2 * n_sets <= FALSE_ALARM


def test_the_heaviest_disjoint_intervals_are_the_heaviest() -> None:
    for _ in range(60):
        start = RNG.integers(0, 9, 7)
        end, weight = start + RNG.integers(1, 6, 7), RNG.integers(0, 5, 7)
        best = 0
        for size in range(8):
            for chosen in combinations(range(7), size):
                ordered = sorted(chosen, key=lambda i: start[i])
                if all(end[a] <= start[b] for a, b in pairwise(ordered)):
                    best = max(best, int(weight[list(chosen)].sum()))
        assert _heaviest(weight, start, end) == best


# Identities


def _honest(n: int, n_codes: int) -> Codes:
    shares = RNG.dirichlet(np.full(n_codes, 0.3)) * 0.4 + 0.6 / n_codes
    return RNG.choice(n_codes, n, p=shares / shares.sum())


def _attacks(codes: Codes, m: int, n_codes: int) -> list[Codes]:
    """What people may do who have seen all reports and replace some: by one, by a few, or those of one by another."""
    popular, rare = int(np.bincount(codes).argmax()), int(np.bincount(codes, minlength=n_codes).argmin())
    first, few, moved, anyhow = (codes.copy() for _ in range(4))
    first[:m] = popular
    few[:m] = np.arange(m) % 3
    away = np.flatnonzero(codes == popular)[:m]
    moved[away] = rare
    anyhow[RNG.choice(len(codes), m, replace=False)] = RNG.integers(0, n_codes, m)
    others = np.flatnonzero(codes != popular)[:m]
    chosen = codes.copy()
    chosen[others] = popular  # not one replaced in vain
    return [first, few, moved, anyhow, chosen]


@pytest.mark.parametrize("n", [40, 2000])
def test_the_bound_never_exceeds_what_was_replaced(n: int) -> None:
    """Whoever replaces reports, and however: exactly, as long as the real ones raise no alarm."""
    n_codes, told = 8, 0
    least, most = 0.6 / n_codes, 0.4 + 0.6 / n_codes
    start, end = np.triu_indices(n_codes + 1, 1)
    lows, highs = (end - start) * least, np.minimum((end - start) * least + 0.4, 1.0)
    for _ in range(15):
        real = _honest(n, n_codes)
        for m in (0, 1, n // 20, n // 3, n):
            for codes in _attacks(real, m, n_codes):
                counts = np.bincount(codes, minlength=n_codes)
                total = np.concatenate([[0], counts.cumsum()])
                single = count_surpluses(counts, n, least, most)
                intervals = count_surpluses(total[end] - total[start], n, lows, highs)
                bounds = [wrong_in_codes(single), wrong_in_intervals(intervals, start, end)]
                assert max(bounds) <= m
                told = max(told, *bounds)
    assert told >= n / 10  # and it does say something


def test_bits_are_not_added_up() -> None:
    found = Surpluses(np.array([3, 3, 3]), np.array([0, 2, 0]))
    assert wrong_in_codes(found, disjoint=False) == 3
    assert wrong_in_codes(found) == 9


# Edges


def test_of_no_reports_none_is_wrong() -> None:
    found = count_surpluses([0, 0], [0, 0], 0.0, 1.0)
    assert wrong_in_codes(found) == 0
    assert wrong_in_codes(count_surpluses(np.empty(0, np.int64), 0, 0.1, 0.2), disjoint=False) == 0
    assert wrong_in_intervals(found, np.array([0, 1]), np.array([1, 2])) == 0


def test_very_many_reports_are_no_obstacle() -> None:
    n = 1 << 60
    found = count_surpluses([n // 2, n // 100], n, 0.005, 0.1)
    assert n * 0.39 < wrong_in_codes(found) <= n * 0.4
    assert found.below.tolist() == [0, 0]


def test_the_words() -> None:
    assert implausible_words(0, 10) == []
    assert short_doubt(0) == ""
    (words,) = implausible_words(1_200, 10_000)
    assert words.startswith("WARNING: at least 1,200 of the 10,000 local reports cannot come")
    assert short_doubt(1) == ", at least 1 implausible report"
