from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybriddp.channels import RandomizedResponse
from hybriddp.errors import DataError, ParameterError
from hybriddp.privacy import SHIFT, canonical_epsilon, odds

epsilons = st.decimals("0.01", "20", places=3).map(canonical_epsilon)


@given(epsilons, st.integers(2, 65536))
def test_the_odds_are_within_epsilon_and_use_nearly_all_of_it(epsilon: str, n: int) -> None:
    w = RandomizedResponse(epsilon=epsilon, n_categories=n).window
    assert (w.low + w.extra) << SHIFT <= w.low * odds(epsilon)
    low = w.low - 1  # one less would be too much
    assert low < 1 or ((1 << w.bits) - (n - 1) * low) << SHIFT > low * odds(epsilon)


def test_every_draw_of_a_row_is_counted() -> None:
    channel = RandomizedResponse(epsilon=1, n_categories=5)
    for row in range(5):
        weights = channel.weights(row)
        assert sum(weights) == 1 << channel.bits
        assert Fraction(weights[row], min(weights)) <= Fraction(odds("1"), 1 << SHIFT)
        assert weights.count(min(weights)) == 4


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "n", "kind"), [(1, 10, np.uint8), (2, 256, np.uint8), (3, 3000, np.uint16)])
def test_reports_have_the_distribution_of_their_row(epsilon: float, n: int, kind: type) -> None:
    # Chi-square with a false-alarm probability of 1e-10, over the true code and all others in ten groups.
    channel = RandomizedResponse(epsilon=epsilon, n_categories=n)
    codes = channel.sample(np.full(1_500_000, 7))
    assert codes.dtype == kind

    def groups(x: np.ndarray) -> np.ndarray:
        rest = np.delete(x, 7)
        return np.append(x[7], [part.sum() for part in np.array_split(rest, min(10, len(rest)))])

    counts = groups(np.bincount(codes, minlength=n))
    p = groups(np.array(channel.weights(7)) / (1 << channel.bits))
    assert stats.chisquare(counts, p / p.sum() * counts.sum()).pvalue > 1e-10
    wrong = p.copy()
    wrong[0] *= 0.8
    assert stats.chisquare(counts, wrong / wrong.sum() * counts.sum()).pvalue < 1e-10


@pytest.mark.parametrize("bad", [1, 65537, 2.5, "3", True])
def test_the_number_of_categories_is_checked(bad: object) -> None:
    with pytest.raises(ParameterError, match="^n_categories must be"):
        RandomizedResponse(epsilon=1, n_categories=bad)


@pytest.mark.parametrize("inputs", [[-1], [5], [0.5], ["a"], [[1]]])
def test_categories_that_do_not_exist_get_no_report(inputs: object) -> None:
    with pytest.raises(DataError, match="^categories must be integers"):
        RandomizedResponse(epsilon=1, n_categories=5).sample(inputs)
