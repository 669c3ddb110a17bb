import json
import math

import numpy as np
import pytest
from scipy import stats

from hybriddp.channels import TableChannel, WindowChannel, channel_from_json
from hybriddp.errors import ParameterError, ProtocolError
from hybriddp.privacy import SHIFT, odds
from tests.levels import z_limit


def one_bit(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """The one-bit mechanism: two codes, two rows."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    return np.array([[p, 1 - p], [1 - p, p]]), np.array([-1.0, 1.0]) / math.tanh(epsilon / 2)


def noisy_steps(epsilon: float, rows: int = 9, codes: int = 31) -> tuple[np.ndarray, np.ndarray]:
    """A truncated, normalized exponential mechanism, whose odds are at most e^ε."""
    t, y = np.linspace(-1, 1, rows)[:, None], np.linspace(-2, 2, codes)[None, :]
    p = np.exp(-epsilon / 4 * np.abs(t - y))
    return p / p.sum(axis=1, keepdims=True), y[0]


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_the_one_bit_mechanism_is_a_table(epsilon: float) -> None:
    channel = TableChannel.from_probabilities(*one_bit(epsilon), epsilon=epsilon)
    assert channel.worst_variance == pytest.approx(1 / (4 * math.tanh(epsilon / 2) ** 2), rel=1e-5)
    assert channel.n_rows == channel.n_codes == 2
    assert channel.worst_bias < 5e-7  # two rows: the share that goes up is a multiple of 2^-20 of the range


@pytest.mark.parametrize("epsilon", [0.3, 1, 3])
def test_rounding_keeps_the_odds_and_the_sums(epsilon: float) -> None:
    channel = TableChannel.from_probabilities(*noisy_steps(epsilon), epsilon=epsilon)
    for row in range(channel.n_rows):
        assert sum(channel.weights(row)) == 1 << 32
    for column in zip(*channel.rows_of_weights, strict=True):
        assert max(column) << SHIFT <= min(column) * odds(channel.epsilon)


def test_a_table_that_is_slightly_too_sharp_is_cut_down() -> None:
    p, y = one_bit(1.0)
    sharp = p + 1e-4 * np.array([[1, -1], [-1, 1]])
    channel = TableChannel.from_probabilities(sharp, y, epsilon=1)
    assert channel.worst_variance >= WindowChannel(epsilon=1).worst_variance


@pytest.mark.statistical
def test_a_window_channel_as_a_table_gives_the_same_codes() -> None:
    window = WindowChannel(epsilon=6)
    table = TableChannel(epsilon=6, rows=[window.weights(j) for j in range(window.n_rows)], values=window.code_values)
    assert table.worst_variance == pytest.approx(window.worst_variance, rel=1e-12)
    # The codes come in another order of draws, but with the same counts.
    x = np.full(200_000, 0.4)
    a, b = (np.bincount(channel.randomize(x, bounds=(0, 1)), minlength=256) for channel in (window, table))
    seen = a + b > 20
    assert stats.chi2_contingency(np.array([a[seen], b[seen]])).pvalue > 1e-10


@pytest.mark.statistical
def test_reports_average_to_the_values() -> None:
    channel = TableChannel.from_probabilities(*noisy_steps(2.0), epsilon=2)
    x = np.random.default_rng(1).random(400_000)
    error = channel.values[channel.randomize(x, bounds=(0, 1))] - x
    assert abs(error.mean()) / (error.std() / math.sqrt(len(x))) < z_limit()
    assert (error**2).mean() == pytest.approx(channel.variance(x).mean(), rel=0.02)


def test_text_and_channel_are_inverses() -> None:
    channel = TableChannel.from_probabilities(*noisy_steps(1.0), epsilon=1)
    assert channel_from_json(channel.to_json(), epsilon=1) == channel
    wide = TableChannel.from_probabilities(*noisy_steps(1.0, codes=301), epsilon=1)
    assert wide.code_type == np.uint16


@pytest.mark.parametrize(
    "change",
    [
        {"rows": [[1, 2], [3, 4]]},
        {"rows": [[1 << 31, 1 << 31]]},
        {"rows": [[1 << 31, 1 << 31], [1 << 31, 1 << 31]]},
        {"rows": [[(1 << 32) - 1, 1], [1, (1 << 32) - 1]]},
        {"rows": [[1 << 32, 0], [0, 1 << 32]]},
        {"rows": [[True, (1 << 32) - 1], [1, (1 << 32) - 1]]},
        {"rows": [[1 << 31], [1 << 31, 1 << 31]]},
        {"rows": "xx"},
        {"rows": [5, 6]},
        {"values": [1]},
        {"values": [-(1 << 50), 1 << 50]},
        {"values": [1.5, 2.5]},
        {"values": "ab"},
        {"epsilon": "0.5"},
        {"epsilon": "1.0"},
        {"epsilon": 1},
    ],
)
def test_tampered_tables_are_refused(change: dict[str, object]) -> None:
    fields = json.loads(TableChannel.from_probabilities(*one_bit(1.0), epsilon=1).to_json())
    with pytest.raises(ProtocolError, match="^The channel is refused"):
        channel_from_json(json.dumps({**fields, **change}, separators=(",", ":")))


@pytest.mark.parametrize(
    ("p", "y", "name"),
    [
        ([[0.5, 0.5], [0.4, 0.7]], [-1, 1], "probabilities"),
        ([[0.5, 0.5]], [-1, 1], "probabilities"),
        ([[0.5, 0.5], [0.4, 0.6]], [-1, 0, 1], "probabilities"),
        ([[0.5, -0.5], [0.4, 0.6]], [-1, 1], "probabilities"),
        ([[0.5, 0.5], [0.4, 0.6]], [np.nan, 1], "values"),
        ([[0.6, 0.4], [0.4, 0.6]], [1, -1], "values"),
        ([[0.9999, 0.0001], [0.0001, 0.9999]], [-1, 1], "probabilities"),
    ],
)
def test_bad_probabilities_are_named(p: object, y: object, name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        TableChannel.from_probabilities(p, y, epsilon=1)
    assert caught.value.name == name
