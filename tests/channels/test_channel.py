"""What holds for every kind of channel."""

import copy
import pickle
from functools import cached_property

import numpy as np
import pytest

from hybriddp.channels import (
    Channel,
    DiscreteLaplace,
    MaskedResponse,
    NumericChannel,
    RandomizedResponse,
    TableChannel,
    UnaryEncoding,
    WindowChannel,
    channel_from_json,
)
from hybriddp.channels.channel import CHUNK, LONGEST_TEXT
from hybriddp.channels.window import Window
from hybriddp.errors import DataError, ParameterError, ProtocolError

HALF = 1 << 31
CHANNELS: list[Channel] = [
    WindowChannel(epsilon=0.5),
    WindowChannel(epsilon=15),
    RandomizedResponse(epsilon=1, n_categories=200),
    RandomizedResponse(epsilon=12, n_categories=200),
    UnaryEncoding(epsilon=1, n_categories=200),
    TableChannel.from_probabilities([[0.6, 0.4], [0.4, 0.6]], [-1, 1], epsilon=1),
    DiscreteLaplace(epsilon=1),
    MaskedResponse(epsilon=1),
    MaskedResponse(epsilon=11),
]


@pytest.fixture(params=CHANNELS, ids=lambda c: f"{c.kind} {c.epsilon}")
def channel(request: pytest.FixtureRequest) -> Channel:
    found: Channel = request.param
    return found


def test_nobody_can_write_into_what_a_channel_has_computed(channel: Channel) -> None:
    """Studies with the same ε share a channel: an edit in place would change all of them."""
    names = {name for kind in type(channel).__mro__ for name, of in vars(kind).items() if type(of) is cached_property}
    found = [getattr(channel, name) for name in names]
    arrays = [one for of in found for one in (of if isinstance(of, tuple) else (of,)) if isinstance(one, np.ndarray)]
    if isinstance(channel, NumericChannel):
        assert {"square_values", "probabilities", "lookup", "_row_gaps", "_moments"} <= names
        assert len(arrays) == 6 + isinstance(channel, TableChannel)
    assert not any(array.flags.writeable for array in arrays)


def test_without_a_seed_nothing_repeats(channel: Channel) -> None:
    # 5,000 reports agree by chance with probability below 1e-300, except where a report hardly varies at all.
    inputs = np.arange(5000) % 200
    draws = [channel.sample(inputs) for _ in range(2)]
    if channel.epsilon != "12":
        assert not np.array_equal(*draws)
    seeded = [channel.sample(inputs, random_state=3) for _ in range(2)]
    assert np.array_equal(*seeded)


def test_the_systems_bytes_are_used(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    from hybriddp import randomness

    taken = []
    real = randomness.SystemBytes.fill

    def fill(self: randomness.SystemBytes, buffer: np.ndarray) -> None:
        taken.append(len(buffer))
        real(self, buffer)

    monkeypatch.setattr(randomness.SystemBytes, "fill", fill)
    channel.sample(5)
    assert sum(taken) > 0
    if isinstance(channel, WindowChannel):
        taken.clear()
        channel.randomize(0.5, bounds=(0, 1))
        assert taken == [channel.bytes_per_report]


def test_nothing_in_gives_nothing_out(channel: Channel) -> None:
    empty = channel.sample([])
    assert len(empty) == 0
    assert empty.dtype == channel.code_type
    assert empty.shape[1:] == channel.sample([1, 2]).shape[1:]


def test_masked_inputs_get_no_report(channel: Channel) -> None:
    with pytest.raises(DataError, match="some are masked"):
        channel.sample(np.ma.masked_array([1, 2], mask=[True, False]))
    assert len(channel.sample(np.ma.masked_array([1, 2], mask=[False, False]))) == 2


def test_every_integer_type_is_an_input(channel: Channel) -> None:
    codes = channel.sample([0, 1, 100], random_state=1)
    assert codes.dtype == channel.code_type
    for dtype in ("i1", "u1", "i4", "u8", ">i4"):
        np.testing.assert_array_equal(
            channel.sample(np.array([0, 1, 100], dtype), random_state=1), codes, err_msg=dtype, strict=True
        )


def test_a_channel_cannot_be_changed_after_it_was_verified(channel: Channel) -> None:
    with pytest.raises(AttributeError, match="stays as it was verified"):
        channel.epsilon = "0.01"
    with pytest.raises(AttributeError, match="stays as it was verified"):
        channel.window = Window(n_codes=256, width=1, bits=32, low=1, extra=2**32 - 256)


def test_copies_are_verified_anew(channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    verified = []
    real = type(channel).verify

    def verify(self: Channel) -> None:
        verified.append(1)
        real(self)

    monkeypatch.setattr(type(channel), "verify", verify)
    for twin in (pickle.loads(pickle.dumps(channel)), copy.deepcopy(channel), copy.copy(channel)):  # noqa: S301
        assert twin == channel
        assert twin is not channel
    assert len(verified) == 3


def test_reports_are_drawn_in_chunks_of_bounded_size() -> None:
    assert WindowChannel(epsilon=0.5).chunk == CHUNK
    large = UnaryEncoding(epsilon=1, n_categories=4096)
    assert large.chunk * large.bytes_per_report <= 8 * CHUNK
    assert large.sample(np.zeros(40, int)).shape == (40, 512)


def test_a_text_of_another_version_is_refused_with_a_plain_sentence(channel: Channel) -> None:
    text = channel.to_json().replace('"version":2', '"version":1')
    with pytest.raises(ProtocolError, match="its text is not of version 2"):
        channel_from_json(text)


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(ProtocolError, match="at most 16777216 characters"):
        channel_from_json(" " * (LONGEST_TEXT + 1))


# Draws at the boundaries of their codes


def test_a_unary_bit_is_set_below_its_weight_and_not_at_it() -> None:
    unary = UnaryEncoding(epsilon=1, n_categories=2)
    words = np.array([unary.one - 1, unary.zero - 1, unary.one, unary.zero], "<u4")
    assert unary.codes(np.array([0, 0]), words.view(np.uint8)).tolist() == [[0b11], [0b00]]


def test_a_wide_response_uses_every_bit_of_its_draw() -> None:
    response = RandomizedResponse(epsilon=12, n_categories=200)
    low, n = response.window.low, 200
    draws = np.array([low - 1, low, low * n - 1, low * n, (1 << 48) - 1, (1 << 48) + low], "<u8")
    assert response.codes(np.full(6, 7), draws.view(np.uint8)).tolist() == [0, 1, 199, 7, 7, 1]


def test_a_tables_codes_end_where_their_weights_do() -> None:
    table = TableChannel.from_probabilities([[0.6, 0.4], [0.4, 0.6]], [-1, 1], epsilon=1)
    end = table.weights(0)[0]
    lowest_row = (1 << 20) - 1  # random bits that never go up
    words = np.array([end - 1, lowest_row, end, lowest_row], "<u4")
    assert table.codes(np.array([0, 0]), words.view(np.uint8)).tolist() == [0, 1]


# Tables whose violation is easy to overlook


def test_a_violation_in_a_middle_row_is_seen() -> None:
    tenth = (1 << 32) // 10
    rest = (1 << 32) - 10 * tenth
    first, last = [5 * tenth + rest, 2 * tenth, 3 * tenth], [3 * tenth + rest, 2 * tenth, 5 * tenth]
    middle = [tenth + rest, 8 * tenth, tenth]
    values = [-6 << 24, 0, 6 << 24]
    TableChannel(epsilon=1, rows=[first, last], values=values)
    with pytest.raises(ProtocolError, match="not 1-private"):
        TableChannel(epsilon=1, rows=[first, middle, last], values=values)


def test_one_draw_too_many_is_seen() -> None:
    exact = RandomizedResponse(epsilon=1, n_categories=2)
    most = exact.weights(0)[0]
    values = [-(1 << 26), 1 << 26]
    TableChannel(epsilon=1, rows=[[most, (1 << 32) - most], [(1 << 32) - most, most]], values=values)
    more = most + 1
    with pytest.raises(ProtocolError, match="not 1-private"):
        TableChannel(epsilon=1, rows=[[more, (1 << 32) - more], [(1 << 32) - more, more]], values=values)


def test_other_mistakes_are_named() -> None:
    with pytest.raises(ParameterError, match="^rows must be"):
        TableChannel(epsilon=1, rows=5, values=[1, 2])
    with pytest.raises(ParameterError, match="^values must be small enough"):
        TableChannel.from_probabilities([[0.6, 0.4], [0.4, 0.6]], [-1e308, 1e308], epsilon=1)
    with pytest.raises(ParameterError, match="^prior must be"):
        WindowChannel(epsilon=1, prior=np.array(["uniform", "x"]))
    for text in ("+1", " 1", "1_0", "１", "1.", "0x1"):
        if text != "1.":
            with pytest.raises(ParameterError, match="^epsilon must be"):
                WindowChannel(epsilon=text)
