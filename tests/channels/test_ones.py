"""Totals of ones in unary reports: their law, and a lower bound that nobody can push above what they replaced."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from hybriddp.channels import ChoiceResponse, RandomizedResponse, UnaryEncoding
from hybriddp.channels.ones import OnesLaw, wrong_in_ones
from hybriddp.channels.plausible import FALSE_ALARM, wrong_in_supports
from tests.levels import z_limit

LAW = OnesLaw(20, hit=0.5, miss=0.2689)


def _exact_law(law: OnesLaw, n_rows: int) -> np.ndarray:
    """Probabilities of all totals: a sum of two binomial numbers."""
    true = binom.pmf(np.arange(n_rows + 1), n_rows, law.hit)
    others = n_rows * (law.n_bits - 1)
    return np.convolve(true, binom.pmf(np.arange(others + 1), others, law.miss))


# Definition


@pytest.mark.parametrize("n_rows", [1, 3, 40, 90])
@pytest.mark.parametrize("false_alarm", [1e-2, FALSE_ALARM])
def test_real_rows_raise_an_alarm_with_the_stated_probability_at_most(n_rows: int, false_alarm: float) -> None:
    """Exactly, of both tails together; and by no more than a factor that Chernoff's inequality costs."""
    chances = _exact_law(LAW, n_rows)
    alarms = [wrong_in_ones(ones, n_rows, LAW, false_alarm=false_alarm) > 0 for ones in range(len(chances))]
    chance = float(chances[alarms].sum())
    assert chance <= false_alarm
    assert n_rows < 90 or chance > false_alarm / 100


def test_the_bound_is_chernoffs() -> None:
    """At the best tilt, by the exact rate of a binomial law: all bits alike."""
    from scipy.optimize import brentq

    from hybriddp.channels.plausible import bernoulli_divergence

    law = OnesLaw(10, hit=0.3, miss=0.3)
    for n_rows, exponent in ((5, 2.0), (300, 14.0), (10_000, 40.0)):
        n = 10 * n_rows
        best = brentq(lambda x, n=n, e=exponent: n * float(bernoulli_divergence(x, 0.3)) - e, 0.3, 1 - 1e-12)
        assert law.most(n_rows, exponent) == pytest.approx(n * best, rel=1e-3, abs=1.01)


def test_zeros_are_ones_of_the_other_kind() -> None:
    assert LAW.mean + LAW.of_zeros.mean == pytest.approx(20)
    assert LAW.of_zeros.of_zeros.cumulants == pytest.approx(LAW.cumulants)


@pytest.mark.statistical
def test_the_total_does_not_depend_on_values() -> None:
    """Mean and variance of the ones in a row; 20 % of the scale are 30 standard errors of the variance."""
    n, channel = 40_000, UnaryEncoding(epsilon=1, n_categories=20)
    p, q = channel.hit_probability, channel.miss_probability
    law, variance = OnesLaw(20, hit=p, miss=q), p * (1 - p) + 19 * q * (1 - q)
    for values in (np.zeros(n, int), np.arange(n) % 20):
        ones = np.unpackbits(channel.sample(values, random_state=5), axis=1).sum(axis=1, dtype=np.int64)
        off = ones - law.mean
        z_mean = float(off.mean()) / math.sqrt(variance / n)
        z_variance = (float(np.mean(off**2)) / variance - 1) / math.sqrt(2 / n)
        assert max(abs(z_mean), abs(z_variance)) < z_limit(4)
        assert abs(float(np.mean(off**2)) / (0.64 * variance) - 1) / math.sqrt(2 / n) > z_limit(4)


# Identities


def _forgeries(rows: np.ndarray, forged: int) -> list[np.ndarray]:
    """Rows of ones or of none in the place of some, of those chosen by their ones, or of one bit for another."""
    n, order = len(rows), np.argsort(rows.sum(axis=1), kind="stable")
    found = []
    for where in (np.arange(forged), order[:forged], order[n - forged :]):
        for bit in (0, 1):
            sent = rows.copy()
            sent[where] = bit
            found.append(sent)
    sent = rows.copy()
    sent[:forged, 0] = 1
    return [*found, sent]


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 3000])
@pytest.mark.parametrize("n_bits", [5, 50])
def test_the_bound_never_exceeds_what_was_replaced(n: int, n_bits: int) -> None:
    channel = UnaryEncoding(epsilon=1, n_categories=n_bits)
    rng, told = np.random.default_rng(n), 0.0
    for _ in range(4):
        sent = channel.sample(rng.integers(0, n_bits, n), random_state=rng)
        real = np.unpackbits(sent, axis=1, count=n_bits, bitorder="little")
        for forged in (0, 1, n // 50, n // 10, n // 2, n):
            for rows in _forgeries(real, forged):
                supports = rows.sum(axis=0, dtype=np.int64)[np.newaxis]
                bound = wrong_in_supports(channel, supports, np.array([n]))
                assert bound <= forged
                told = max(told, bound / n)
    assert told > 0.4


def test_more_forged_rows_never_lower_the_bound() -> None:
    bounds = [wrong_in_ones(ones, 200, LAW, false_alarm=1e-6) for ones in range(0, 4001, 10)]
    middle = round(LAW.mean * 20)
    assert bounds[middle] == 0
    assert bounds[:middle] == sorted(bounds[:middle], reverse=True)
    assert bounds[middle:] == sorted(bounds[middle:])
    assert 80 < min(bounds[0], bounds[-1]) <= 200


def test_bounds_of_variants_add_up() -> None:
    for channel in (RandomizedResponse(epsilon=1, n_categories=4), ChoiceResponse(epsilon=1, n_codes=4, n_chosen=2)):
        forged, real = np.array([900, 30, 30, 40]), np.array([250, 250, 250, 250])
        users = np.array([1000, 1000])
        both = wrong_in_supports(channel, np.stack([forged, forged[::-1]]), users)
        one = wrong_in_supports(channel, np.stack([forged, real]), users)
        assert 300 < one < both == 2 * one


# Edges


def test_few_rows_and_very_many() -> None:
    assert wrong_in_ones(0, 0, LAW, false_alarm=1e-6) == 0
    assert wrong_in_ones(20, 1, LAW, false_alarm=1e-6) == 1  # which happens once in 10^11 times
    assert wrong_in_ones(19, 1, LAW, false_alarm=1e-6) == 1
    assert wrong_in_ones(5, 1, LAW, false_alarm=1e-6) == 0
    n = 1 << 50
    assert wrong_in_ones(round(LAW.mean * n), n, LAW, false_alarm=1e-6) == 0
    assert n // 2 < wrong_in_ones(20 * n, n, LAW, false_alarm=1e-6) <= n
    nobody = np.zeros((2, 20), np.int64)
    assert wrong_in_supports(UnaryEncoding(epsilon=1, n_categories=20), nobody, np.zeros(2, np.int64)) == 0
