import json
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybriddp.channels import RandomizedResponse, channel_from_json
from hybriddp.channels.response import ChoiceResponse
from hybriddp.channels.window import Window
from hybriddp.errors import DataError, ParameterError, ProtocolError
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


@given(epsilons, shapes)
def test_the_odds_are_within_epsilon_and_use_nearly_all_of_it(epsilon: str, shape: tuple[int, int]) -> None:
    n, k = shape
    w = ChoiceResponse(epsilon=epsilon, n_codes=n, n_chosen=k).window
    assert w.n_codes * w.low + w.width * w.extra == 1 << w.bits
    assert (w.low + w.extra) << SHIFT <= w.low * odds(epsilon)
    # The low weight moves up by less than k to make the extra weight whole: with k less the odds would be too large.
    low = w.low - k
    assert low < 1 or (low * k + (1 << w.bits) - n * low) << SHIFT > low * k * odds(epsilon)


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


@pytest.mark.statistical
@pytest.mark.representative
@pytest.mark.parametrize(
    ("epsilon", "n", "chosen", "users"),
    [
        (1, 4, 0b0110, 200_000),
        (2, 16, 0b1010_0000_1110_0001, 400_000),
        (0.5, 32, 0x8F01_0203, 1_000_000),
        (10.5, 4, 0b1001, 1_000_000),
    ],
)
def test_reports_have_the_distribution_of_their_set(epsilon: float, n: int, chosen: int, users: int) -> None:
    # Chi-square with a false-alarm probability of 1e-10; a weight that is a fifth off does not pass.
    channel = ChoiceResponse(epsilon=epsilon, n_codes=n, n_chosen=chosen.bit_count())
    codes = channel.sample(np.full(users, chosen))
    counts = np.bincount(codes, minlength=n)
    p = np.array(channel.weights(chosen)) / (1 << channel.bits)
    assert users * p.min() > 5
    assert stats.chisquare(counts, users * p).pvalue > 1e-10
    wrong = p.copy()
    wrong[chosen.bit_length() - 1] *= 0.8
    assert stats.chisquare(counts, users * wrong / wrong.sum()).pvalue < 1e-10


def test_a_seed_gives_the_same_reports_and_one_set_gives_one_report() -> None:
    channel = ChoiceResponse(epsilon=1, n_codes=8, n_chosen=4)
    sets = np.resize(_sets(8, 4), 1000)
    first, again, other = (channel.sample(sets, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.count_nonzero(first != other) > 500
    assert channel.sample(0b1111).shape == ()
    assert channel.sample(np.empty(0, int)).shape == (0,)


# Text


@pytest.mark.parametrize(("epsilon", "n", "k"), [("0.01", 2, 1), ("1", 32, 6), ("2.5", 16, 15), ("14", 8, 3)])
def test_text_and_channel_are_inverses(epsilon: str, n: int, k: int) -> None:
    channel = ChoiceResponse(epsilon=epsilon, n_codes=n, n_chosen=k)
    read = channel_from_json(channel.to_json(), epsilon=epsilon)
    assert isinstance(read, ChoiceResponse)
    assert read == channel
    assert (read.n_codes, read.n_chosen, read.epsilon) == (n, k, epsilon)


def _window_of(n: int, k: int) -> dict[str, Any]:
    """The integers of a private window of another shape, which all add up."""
    w = Window.for_epsilon("1", n_codes=n, width=k)
    return {"codes": n, "chosen": k, "low": w.low, "extra": w.extra}


TAMPERED: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "extra raised": (lambda f: {"extra": f["extra"] + 1}, "do not add up"),
    "extra raised at the cost of the rest": (
        lambda f: {"low": f["low"] - f["chosen"], "extra": f["extra"] + f["codes"]},
        "it is not 1-private",
    ),
    "fewer chosen": (lambda f: {"chosen": f["chosen"] - 1}, "do not add up"),
    "more chosen": (lambda f: {"chosen": f["chosen"] + 1}, "do not add up"),
    "all chosen": (lambda f: {"chosen": f["codes"]}, "below the number of codes"),
    "none chosen": (lambda _: {"chosen": 0}, "at least 1"),
    "a truth for a number": (lambda _: {**_window_of(8, 1), "chosen": True}, "at least 1"),
    "a float": (lambda f: {"low": float(f["low"])}, "low weight is not a positive integer"),
    "another epsilon": (lambda _: {"epsilon": "0.99"}, "it is not 0.99-private"),
    "six codes": (lambda _: _window_of(6, 1), "not a power of two up to 32"),
    "sixty-four codes": (lambda _: _window_of(64, 5), "not a power of two up to 32"),
    "another number of bits": (lambda _: {"bits": 48}, "do not add up"),
    "one more field": (lambda _: {"n": 1}, "not in the form"),
}


@pytest.mark.parametrize("how", list(TAMPERED))
def test_tampered_texts_are_refused(how: str) -> None:
    change, reason = TAMPERED[how]
    fields = json.loads(ChoiceResponse(epsilon=1, n_codes=8, n_chosen=3).to_json())
    text = json.dumps({**fields, **change(fields)}, separators=(",", ":"))
    with pytest.raises(ProtocolError, match=reason):
        channel_from_json(text)


def test_a_text_without_a_field_is_refused() -> None:
    fields = json.loads(ChoiceResponse(epsilon=1, n_codes=8, n_chosen=3).to_json())
    del fields["chosen"]
    with pytest.raises(ProtocolError, match="does not describe a channel"):
        channel_from_json(json.dumps(fields, separators=(",", ":")))


# Errors


@pytest.mark.parametrize("bad", [0, 1, 3, 6, 64, -4, 4.0, "4", True, None])
def test_the_number_of_codes_is_checked(bad: object) -> None:
    with pytest.raises(ParameterError, match="^n_codes must be"):
        ChoiceResponse(epsilon=1, n_codes=bad, n_chosen=1)


@pytest.mark.parametrize("bad", [0, 4, 5, -1, 2.0, "2", True, None])
def test_the_number_of_true_codes_is_checked(bad: object) -> None:
    with pytest.raises(ParameterError, match="^n_chosen must be"):
        ChoiceResponse(epsilon=1, n_codes=4, n_chosen=bad)


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ([0], "must have 2 bits that are 1, but 1 of 1 do not"),
        ([3, 4, 7], "must have 2 bits that are 1, but 2 of 3 do not"),
        (7, "must have 2 bits that are 1, but 1 of 1 do not"),
        ([-1], "must be integers from 0 to 15, but 1 of 1 are not"),
        ([3, 24], "must be integers from 0 to 15, but 1 of 2 are not"),
        ([(1 << 63) + 1], "must be integers from 0 to 15, but 1 of 1 are not"),
        ([(1 << 70) + 1], "must be integers, one or a one-dimensional array"),
        ([3.0], "must be integers, one or a one-dimensional array"),
        (["a"], "must be integers, one or a one-dimensional array"),
        ([True], "must be integers, one or a one-dimensional array"),
        ([[3]], "must be integers, one or a one-dimensional array"),
        (np.ma.masked_array([3, 3], [False, True]), "must all be there"),
    ],
)
def test_what_is_no_set_of_so_many_codes_gets_no_report(inputs: object, reason: str) -> None:
    with pytest.raises(DataError, match=f"^sets of codes {reason}"):
        ChoiceResponse(epsilon=1, n_codes=4, n_chosen=2).sample(inputs)


def test_sets_of_thirty_two_codes_fit() -> None:
    channel = ChoiceResponse(epsilon=1, n_codes=32, n_chosen=31)
    full = (1 << 32) - 1
    sets = np.array([full ^ 1, full ^ 1 << 31], np.uint64)
    assert set(channel.sample(sets).tolist()) <= set(range(32))
    with pytest.raises(DataError, match="integers from 0 to 4,294,967,295"):
        channel.sample(np.array([1 << 32], np.uint64))
