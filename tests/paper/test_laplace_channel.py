from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from hybriddp.channels import channel_from_json
from hybriddp.errors import DataError, ParameterError
from hybriddp.grid import UNITS
from hybriddp.paper.laplace_channel import _PRECISION, DiscreteLaplace, _below
from hybriddp.randomness import ByteSource, SystemBytes


@pytest.mark.parametrize("epsilon", [0.01, 1, 20])
def test_the_digits_have_the_odds_of_a_geometric_variable(epsilon: float) -> None:
    """Digit i is 1 with odds e^(-λ 2^i), so odds are squared from digit to digit; checked as exact fractions."""
    channel = DiscreteLaplace(epsilon=epsilon)
    p = [
        Fraction(sum(w << (_PRECISION - 32 * (i + 1)) for i, w in enumerate(words)), 1 << _PRECISION)
        for words in channel._digit_words
    ]
    odds = [x / (1 - x) for x in p]
    for low, high in pairwise(odds):
        assert abs(high / low**2 - 1) < Fraction(1, 1 << 500)
    # and the first has the right rate
    assert float(-np.log1p(float(odds[0] - 1))) == pytest.approx(epsilon / UNITS, rel=1e-6)
    assert channel.limit * 4 > 1000 * UNITS / epsilon > channel.limit


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 1, 8])
def test_noise_has_the_claimed_distribution(epsilon: float) -> None:
    # Kolmogorov-Smirnov against the continuous law, of which the grid of 2^24 units is a fine rounding; 1e-10.
    channel = DiscreteLaplace(epsilon=epsilon)
    noise = (channel.sample(np.full(200_000, 1000)) - 1000) / UNITS
    assert stats.kstest(noise, stats.laplace(scale=1 / epsilon).cdf).pvalue > 1e-10
    assert stats.kstest(noise, stats.laplace(scale=1.2 / epsilon).cdf).pvalue < 1e-10
    assert channel.noise_variance == pytest.approx(2 / epsilon**2, rel=1e-9)


class Scripted(ByteSource):
    """Hands out given 32-bit words."""

    seeded = True

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def fill(self, buffer: np.ndarray) -> None:
        count = len(buffer) // 4
        buffer[:] = np.array(self.words[:count], "<u4").view(np.uint8)
        del self.words[:count]


def test_ties_are_decided_by_further_words() -> None:
    expansion = [5, 7, 9]
    assert _below(expansion, 3, Scripted(4, 5, 6, 6)).tolist() == [True, True, False]
    assert _below(expansion, 2, Scripted(5, 5, 7, 8, 8)).tolist() == [True, False]
    assert _below(expansion, 1, Scripted(5, 7, 9)).tolist() == [False]  # exactly the probability: not below


def test_minus_zero_is_drawn_again() -> None:
    channel = DiscreteLaplace(epsilon=1)
    none = [0xFFFFFFFF] * channel.n_digits  # every digit 0
    first = [0, *[0xFFFFFFFF] * (channel.n_digits - 1)]  # the last digit 1
    assert channel.noise(1, Scripted(*none, 1, *first, 1)).tolist() == [-1]
    assert channel.noise(1, Scripted(*none, 0)).tolist() == [0]


def test_reports_are_clamped_far_out(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = DiscreteLaplace(epsilon=1)
    largest = (1 << channel.n_digits) - 1
    monkeypatch.setattr(DiscreteLaplace, "noise", lambda *_: np.array([largest, -largest]))
    assert channel.draw_part(np.array([0, 0]), SystemBytes()).tolist() == [UNITS + channel.limit, -channel.limit]
    assert channel.n_codes == UNITS + 2 * channel.limit + 1


def test_text_and_channel_are_inverses() -> None:
    channel = DiscreteLaplace(epsilon=0.25)
    assert channel.to_json() == '{"type":"discrete-laplace","version":2,"epsilon":"0.25"}'
    assert channel_from_json(channel.to_json(), epsilon=0.25) == channel
    assert channel.code_type == np.int64


def test_no_draws_of_noise() -> None:
    assert DiscreteLaplace(epsilon=1).noise(0, SystemBytes()).shape == (0,)


def test_wrong_inputs_are_refused() -> None:
    with pytest.raises(DataError, match="^units must be integers"):
        DiscreteLaplace(epsilon=1).sample([0.5])
    with pytest.raises(ParameterError, match="^epsilon must be"):
        DiscreteLaplace(epsilon=0)
