from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybriddp.channels import WindowChannel
from hybriddp.channels.window import Window
from hybriddp.channels.window_channel import CELLS, SHARE_BITS, VALUE_BITS
from hybriddp.errors import ParameterError, ProtocolError
from hybriddp.grid import UNITS, Grid
from hybriddp.privacy import SHIFT, canonical_epsilon, odds
from hybriddp.theory.local_mechanisms import LOWER_BOUNDS, hybrid, laplace, one_bit, piecewise
from tests.levels import z_limit

# ε: worst variance on the unit range of 256 codes, from an independent prototype.
VARIANCE = {
    0.05: 400.0, 0.1: 100.0, 0.25: 16.0, 0.5: 4.0007, 0.75: 1.7794, 1: 0.99782, 1.5: 0.42297, 2: 0.21641, 3: 0.07602,
    4: 0.03179, 6: 0.006820, 8: 0.001632, 10: 0.000414,
}  # fmt: skip
CLOSED = [0.05, 0.5, 6, 8, 15]  # built in milliseconds
epsilons = st.decimals("0.01", "20", places=3).map(canonical_epsilon)


@pytest.fixture(scope="module")
def channel() -> WindowChannel:
    return WindowChannel(epsilon=1)


# Definition: variance


@pytest.mark.parametrize("epsilon", list(VARIANCE))
def test_the_variance_is_the_least_possible(epsilon: float) -> None:
    worst = WindowChannel(epsilon=epsilon).worst_variance
    assert worst == pytest.approx(VARIANCE[epsilon], rel=1e-3)
    assert worst <= 1.025 * WindowChannel(epsilon=epsilon).mean_variance  # nearly the same for every input
    ratio = worst / LOWER_BOUNDS[str(epsilon)]
    assert ratio >= 1
    assert worst < min(laplace(epsilon) / 1.99, one_bit(epsilon), piecewise(epsilon), hybrid(epsilon))
    if epsilon <= 8:
        assert ratio <= (1.001 if epsilon <= 3 else 1.01 if epsilon <= 6 else 1.02)


# Definition: exactness


shapes = st.integers(1, 12).flatmap(lambda log_n: st.tuples(st.just(1 << log_n), st.integers(1, (1 << log_n) - 1)))


@given(epsilons, shapes | st.tuples(st.integers(2, 65536), st.just(1)))
def test_the_odds_are_within_epsilon_and_use_nearly_all_of_it(epsilon: str, shape: tuple[int, int]) -> None:
    n, k = shape
    w = Window.for_epsilon(epsilon, n_codes=n, width=k)
    assert w.n_codes * w.low + w.width * w.extra == 1 << w.bits
    assert (w.low + w.extra) << SHIFT <= w.low * odds(epsilon)
    # The low weight moves up by less than k to make the extra weight whole: with k less the odds would be too large.
    low = w.low - k
    assert low < 1 or (low * k + (1 << w.bits) - n * low) << SHIFT > low * k * odds(epsilon)


def test_a_window_needs_a_power_of_two() -> None:
    with pytest.raises(ParameterError, match="^n_codes must be a power of two"):
        Window.for_epsilon("1", n_codes=6, width=3)
    assert Window.for_epsilon("1", n_codes=6, width=1).n_codes == 6


def test_all_draws_of_a_small_channel_one_by_one() -> None:
    w = Window(n_codes=8, width=3, bits=32, low=1 << 28, extra=((1 << 32) - (8 << 28)) // 3)
    small = Window(n_codes=8, width=3, bits=32, low=100, extra=400)  # sums to 2,000: enumerated whole
    draws = np.arange(2000, dtype=np.uint32)
    for row in range(6):
        counts = np.bincount(small.code(np.full(2000, row, np.uint32), draws), minlength=8)
        assert counts.tolist() == [100 + (400 if row <= code < row + 3 else 0) for code in range(8)]
    with pytest.raises(ProtocolError, match="do not add up"):
        w.verify("1")


@pytest.mark.parametrize("epsilon", [*CLOSED, 1])
def test_the_mean_and_variance_follow_from_the_table(epsilon: float) -> None:
    channel = WindowChannel(epsilon=epsilon)
    values = [Fraction(v, 1 << VALUE_BITS) for v in channel.code_values]
    for row in (0, 1, channel.n_rows // 2, channel.n_rows - 1):
        weights = channel.weights(row)
        assert sum(weights) == 1 << channel.bits
        mean = sum(w * v for w, v in zip(weights, values, strict=True)) / (1 << channel.bits)
        square = sum(w * v * v for w, v in zip(weights, values, strict=True)) / (1 << channel.bits)
        assert channel.row_mean(row) == mean
        assert channel.row_variance(row) == (square - mean**2) / 4


@pytest.mark.parametrize("epsilon", [*CLOSED, 1])
def test_a_report_is_unbiased_to_a_part_in_ten_million(epsilon: float) -> None:
    """Enumerated exactly, over all cells; the grid itself rounds by at most 2^-25 of the range."""
    channel = WindowChannel(epsilon=epsilon)
    assert channel.worst_bias + Fraction(1, 1 << 25) <= Fraction(1, 10**7)
    assert channel.worst_bias < Fraction(1, 10**8)


def test_the_row_of_an_input_has_the_input_as_its_mean(channel: WindowChannel) -> None:
    """All 2^12 roundings to an edge, and the share at each edge, enumerated for a few inputs."""
    means = [float(channel.row_mean(row)) for row in range(channel.n_rows)]
    for units in (0, 1, 4095, 4096, 5_000_001, UNITS - 1, UNITS):
        upper = np.arange(4096, dtype=np.uint32) << np.uint32(SHARE_BITS)
        edge = (units + np.arange(4096)) >> 12
        share = (channel.lookup[edge] & ((1 << SHARE_BITS) - 1)).astype(np.int64)
        low = channel.rows(np.full(4096, units), upper | np.uint32((1 << SHARE_BITS) - 1))  # never goes up
        assert np.array_equal(channel.rows(np.full(4096, units), upper) - low, share > 0)
        mean = np.mean(
            [
                means[r] + s / (1 << SHARE_BITS) * (means[min(r + 1, len(means) - 1)] - means[r])
                for r, s in zip(low, share, strict=True)
            ]
        )
        assert mean == pytest.approx(2 * units / UNITS - 1, abs=2e-8)


def test_the_variance_of_an_input_is_enumerated(channel: WindowChannel) -> None:
    x = np.linspace(0, 1, 4 * CELLS + 1)
    variance = channel.variance(x)
    assert variance.max() == pytest.approx(channel.worst_variance, rel=1e-9)
    assert variance.mean() == pytest.approx(channel.mean_variance, rel=1e-5)
    # At an edge that is exactly a row's mean the variance is the row's.
    row = channel.n_rows // 2
    at = float(channel.row_mean(row) + 1) / 2
    assert float(channel.variance(at)) == pytest.approx(float(channel.row_variance(row)), rel=1e-4)


# Identities


def test_values_mirror_each_other(channel: WindowChannel) -> None:
    assert channel.values + channel.values[::-1] == pytest.approx(np.ones(256))
    assert channel.largest_value == pytest.approx(2.79, abs=0.01)


def test_known_bytes_give_known_codes(channel: WindowChannel) -> None:
    units = np.array([0, UNITS // 2, UNITS])
    raw = np.zeros(24, np.uint8)
    assert channel.codes(units, raw).tolist() == [0, 0, 0]  # draw 0 is code 0 in every row
    raw[:] = 255
    top = [int(channel.rows(units[i : i + 1], np.array([0xFFFFFFFF], np.uint32))[0]) for i in range(3)]
    assert channel.codes(units, raw).tolist() == [row + channel.window.width - 1 for row in top]


def test_a_seed_repeats_chunk_by_chunk(channel: WindowChannel) -> None:
    x = np.linspace(-0.5, 1.5, 100_000)
    codes = channel.randomize(x, bounds=(0, 1), random_state=1)
    assert codes.dtype == np.uint8
    assert np.array_equal(codes, channel.randomize(x, bounds=(0, 1), random_state=1))
    assert not np.array_equal(codes, channel.randomize(x, bounds=(0, 1)))
    assert np.array_equal(codes, channel.sample(Grid(0, 1).place(x).units, random_state=1))
    assert np.array_equal(codes, channel.randomize(x.astype(object), bounds=(0, 1), random_state=1))


@given(epsilons.filter(lambda e: not 0.75 < float(e) < 5.5))
def test_a_channel_can_be_built_for_every_epsilon(epsilon: str) -> None:
    channel = WindowChannel(epsilon=epsilon)
    assert channel.worst_variance < laplace(float(epsilon))


# Statistics: the real random source. Chi-square and z-tests with a false-alarm probability of 1e-10 each.


def _distribution(channel: WindowChannel, x: float) -> np.ndarray:
    """The exact probabilities of the codes for an input on the unit range."""
    units = int(Grid(0, 1).place(x).units[0])
    p = np.zeros(channel.n_codes)
    inside = (units & 4095) / 4096
    for edge, chance in ((units >> 12, 1 - inside), ((units >> 12) + 1, inside)):
        row, share = divmod(int(channel.lookup[edge]), 1 << SHARE_BITS)
        for j, part in ((row, 1 - share / (1 << SHARE_BITS)), (row + 1, share / (1 << SHARE_BITS))):
            p += chance * part * np.array(channel.weights(min(j, channel.n_rows - 1))) / (1 << channel.bits)
    return p


@pytest.mark.statistical
@pytest.mark.representative
@pytest.mark.parametrize("epsilon", [0.5, 1, 8, 15])
def test_reports_have_the_distribution_of_their_row(epsilon: float) -> None:
    channel = WindowChannel(epsilon=epsilon)
    x = 0.3217
    counts = np.bincount(channel.randomize(np.full(400_000, x), bounds=(0, 1)), minlength=channel.n_codes)
    p = _distribution(channel, x)
    assert _chi_square(counts, p) > 1e-10
    wrong = p.min() + np.where(p > 1.5 * p.min(), 0.8, 0.0) * (p - p.min())  # the extra weight is 20 % too small
    if epsilon > 5:  # where next to nothing lies outside of the window: the input is off by 20 % of a row
        wrong = _distribution(channel, x + 0.2 / channel.n_rows)
    assert _chi_square(counts, wrong / wrong.sum()) < 1e-10


def _chi_square(counts: np.ndarray, p: np.ndarray) -> float:
    """The p-value, with codes too rare for the approximation pooled."""
    rare = p * counts.sum() < 10
    pooled = np.append(p[~rare], p[rare].sum()), np.append(counts[~rare], counts[rare].sum())
    if pooled[0][-1] * counts.sum() < 10:
        pooled = pooled[0][:-1] / pooled[0][:-1].sum(), pooled[1][:-1]
    return float(stats.chisquare(pooled[1], pooled[0] * pooled[1].sum()).pvalue)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 1, 8])
def test_reports_average_to_the_values_with_the_claimed_variance(epsilon: float) -> None:
    channel = WindowChannel(epsilon=epsilon)
    x = np.random.default_rng(0).random(1_000_000)
    report = channel.values[channel.randomize(x, bounds=(0, 1))]
    error = report - x
    assert abs(error.mean()) / (error.std() / 1000) < z_limit(2)
    expected = channel.variance(x).mean()
    spread = (error**2).std() / 1000
    assert abs((error**2).mean() - expected) / spread < z_limit(2)
    assert abs((error**2).mean() - 1.2 * expected) / spread > z_limit(2)


@pytest.mark.slow
def test_common_epsilons_come_with_the_shape_that_would_be_optimized() -> None:
    from hybriddp.channels.shapes import best_shape, row_moments
    from hybriddp.channels.window_channel import _common

    assert len(_common()) >= 16
    for epsilon in ("1", "2", "4"):
        stored = WindowChannel(epsilon=epsilon)
        fresh = row_moments(float(epsilon), best_shape(float(epsilon))).worst_variance() / 4
        assert stored.worst_variance == pytest.approx(fresh, rel=1e-4)
    for epsilon in _common():
        assert WindowChannel(epsilon=epsilon).worst_variance < laplace(float(epsilon)) / 1.99
