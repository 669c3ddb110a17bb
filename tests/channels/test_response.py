from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy import stats

from hybriddp.channels import RandomizedResponse
from hybriddp.channels.response import ChoiceResponse
from hybriddp.channels.window import Window
from hybriddp.privacy import SHIFT, canonical_epsilon, odds

epsilons = st.decimals("0.01", "20", places=3).map(canonical_epsilon)
shapes = st.sampled_from([2, 4, 8, 16, 32]).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n - 1)))

every_small_shape = pytest.mark.parametrize(("n", "k"), [(n, k) for n in (2, 4, 8) for k in range(1, n)])


def _sets(n: int, k: int) -> list[int]:
    """All sets of k of n codes."""
    return [sum(1 << code for code in chosen) for chosen in combinations(range(n), k)]


def _true_first(chosen: int, n: int) -> list[int]:
    """The codes by their places, from the definition."""
    return [c for c in range(n) if chosen >> c & 1] + [c for c in range(n) if not chosen >> c & 1]


# Privacy, in integers


@every_small_shape
@pytest.mark.parametrize("epsilon", ["0.01", "1", "7.3", "12"])
def test_no_two_sets_differ_by_more_than_epsilon_at_any_code(n: int, k: int, epsilon: str) -> None:
    channel = ChoiceResponse(epsilon=epsilon, n_codes=n, n_chosen=k)
    table = [channel.weights(chosen) for chosen in _sets(n, k)]
    assert all(sum(weights) == 1 << channel.bits for weights in table)
    most = max(Fraction(a, b) for column in zip(*table, strict=True) for a in set(column) for b in set(column))
    allowed = Fraction(odds(epsilon), 1 << SHIFT)
    assert 1 < most <= allowed
    assert float(most - 1) >= 0.9999 * float(allowed - 1)


@pytest.mark.parametrize("epsilon", ["0.01", "1", "5", "10", "10.001", "20"])
@pytest.mark.parametrize("n", [2, 4, 8, 16, 32])
def test_one_true_code_is_randomized_response(epsilon: str, n: int) -> None:
    channel, response = (
        ChoiceResponse(epsilon=epsilon, n_codes=n, n_chosen=1),
        RandomizedResponse(epsilon=epsilon, n_categories=n),
    )
    for code in range(n):
        assert channel.weights(1 << code) == response.weights(code)


def test_every_draw_of_a_row_is_counted() -> None:
    channel = RandomizedResponse(epsilon=1, n_categories=5)
    for row in range(5):
        weights = channel.weights(row)
        assert sum(weights) == 1 << channel.bits
        assert Fraction(weights[row], min(weights)) <= Fraction(odds("1"), 1 << SHIFT)
        assert weights.count(min(weights)) == 4


def test_more_true_codes_are_more_often_reported_and_say_less() -> None:
    channels = [ChoiceResponse(epsilon=2, n_codes=32, n_chosen=k) for k in range(1, 32)]
    true = [c.n_chosen * (c.window.low + c.window.extra) / 2**32 for c in channels]
    contrast = [c.window.extra / 2**32 for c in channels]
    assert true == sorted(true)
    assert contrast == sorted(contrast, reverse=True)


# The code map


def _runs(window: Window) -> list[tuple[int, int, int]]:
    """First and last draw of each run of draws, and the place that they choose; by counting, from the definition."""
    below = window.n_codes * window.low
    plain = [(i * window.low, (i + 1) * window.low - 1, i) for i in range(window.n_codes)]
    extra = [
        (below + i * window.extra, below + (i + 1) * window.extra - 1, i) for i in range(window.width)
    ]  # only true codes
    return plain + extra


def _codes_of(channel: ChoiceResponse, chosen: int, draws: list[int]) -> list[int]:
    raw = np.array(draws, "<u4" if channel.bits == 32 else "<u8").view(np.uint8)
    assert len(raw) == len(draws) * channel.bytes_per_report
    codes = channel.codes(np.full(len(draws), chosen), raw)
    assert codes.dtype == np.uint8
    return [int(code) for code in codes]


@every_small_shape
@pytest.mark.parametrize("epsilon", ["1", "12"])
def test_every_place_is_a_true_code_first_and_then_a_false_one(n: int, k: int, epsilon: str) -> None:
    """Every set, and the ends of every run of draws; the runs count as many draws as the weights say."""
    channel = ChoiceResponse(epsilon=epsilon, n_codes=n, n_chosen=k)
    runs = _runs(channel.window)
    assert runs[-1][1] == (1 << channel.bits) - 1
    for chosen in _sets(n, k):
        order = _true_first(chosen, n)
        expected = [order[place] for _, _, place in runs]
        assert _codes_of(channel, chosen, [first for first, _, _ in runs]) == expected
        assert _codes_of(channel, chosen, [last for _, last, _ in runs]) == expected
        draws = [0] * n
        for (first, last, _), code in zip(runs, expected, strict=True):
            draws[code] += last - first + 1
        assert tuple(draws) == channel.weights(chosen)


@pytest.mark.repeated
@pytest.mark.parametrize("n", [16, 32])
@pytest.mark.parametrize("epsilon", ["0.5", "15"])
def test_places_of_large_sets(n: int, epsilon: str) -> None:
    """A few hundred sets of every size, those with the lowest and the highest code among them."""
    rng = np.random.default_rng(n)
    for k in range(1, n):
        channel = ChoiceResponse(epsilon=epsilon, n_codes=n, n_chosen=k)
        runs = _runs(channel.window)
        lowest = (1 << k) - 1
        some = [sum(1 << int(code) for code in rng.permutation(n)[:k]) for _ in range(8)]
        for chosen in (lowest, lowest << (n - k), *some):
            order = _true_first(chosen, n)
            for end in (0, 1):
                assert _codes_of(channel, chosen, [run[end] for run in runs]) == [order[place] for _, _, place in runs]


def test_every_report_is_about_its_own_set() -> None:
    """One word for all, of the first true code: the lowest bit of each set."""
    channel = ChoiceResponse(epsilon=1, n_codes=8, n_chosen=3)
    sets = np.array(_sets(8, 3))
    codes = channel.codes(sets, np.zeros(4 * len(sets), np.uint8))
    np.testing.assert_array_equal(1 << codes.astype(int), sets & -sets)
    assert len(np.unique(codes)) == 6


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "bits"), [("10", 32), ("10.001", 48), ("20", 48)])
def test_a_large_epsilon_takes_longer_words(epsilon: str, bits: int) -> None:
    """Of 64 random bits only the lowest 48 count."""
    channel = ChoiceResponse(epsilon=epsilon, n_codes=32, n_chosen=5)
    assert (channel.bits, channel.bytes_per_report) == (bits, 4 if bits == 32 else 8)
    codes = channel.sample(np.full(100_000, 0b11111 << 20))
    false = np.count_nonzero((codes < 20) | (codes > 24))
    assert false <= stats.poisson(100_000 * 27 * channel.window.low / 2**bits).ppf(1 - 1e-10)
    if bits == 48:
        draws = [last for _, last, _ in _runs(channel.window)]
        high = [draw | 0xBEEF << 48 for draw in draws]
        assert _codes_of(channel, 0b11111 << 20, high) == _codes_of(channel, 0b11111 << 20, draws)


# Statistics


LAWS: list[tuple[RandomizedResponse | ChoiceResponse, int, int]] = [
    (ChoiceResponse(epsilon=1, n_codes=4, n_chosen=2), 0b0110, 200_000),
    (ChoiceResponse(epsilon=2, n_codes=16, n_chosen=6), 0b1010_0000_1110_0001, 400_000),
    (ChoiceResponse(epsilon=0.5, n_codes=32, n_chosen=9), 0x8F01_0203, 1_000_000),
    (ChoiceResponse(epsilon=10.5, n_codes=4, n_chosen=2), 0b1001, 1_000_000),
    *((RandomizedResponse(epsilon=e, n_categories=n), 7, 1_500_000) for e, n in ((1, 10), (2, 256), (3, 3000))),
]


@pytest.mark.statistical
@pytest.mark.representative
@pytest.mark.parametrize(("channel", "value", "users"), LAWS, ids=lambda x: f"{x}"[:30])
def test_reports_have_the_law_of_their_input(
    channel: RandomizedResponse | ChoiceResponse, value: int, users: int
) -> None:
    """Chi-square at a level of 1e-10, many false codes in groups; a true weight that is a fifth off does not pass."""
    codes = channel.sample(np.full(users, value))
    assert codes.dtype == (np.uint8 if channel.n_codes <= 256 else np.uint16)
    p = np.array(channel.weights(value)) / (1 << channel.bits)
    true, false = np.flatnonzero(p > p.min()), np.flatnonzero(p == p.min())
    groups = [*true[:, None], *np.array_split(false, min(40, len(false)))]
    counts, p = (np.array([x[g].sum() for g in groups]) for x in (np.bincount(codes, minlength=len(p)), p))
    assert users * p.min() > 5
    assert stats.chisquare(counts, users * p).pvalue > 1e-10
    p[0] *= 0.8
    assert stats.chisquare(counts, users * p / p.sum()).pvalue < 1e-10


def test_sets_of_thirty_two_codes_fit() -> None:
    full = (1 << 32) - 1
    sets = np.array([full ^ 1, full ^ 1 << 31], np.uint64)
    assert set(ChoiceResponse(epsilon=1, n_codes=32, n_chosen=31).sample(sets).tolist()) <= set(range(32))
