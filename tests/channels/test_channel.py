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
    RandomizedResponse,
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
    if isinstance(channel, WindowChannel):
        assert {"square_values", "probabilities", "lookup", "_row_gaps", "_moments"} <= names
        assert len(arrays) == 6
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


def test_epsilons_that_are_not_written_as_decimals_are_refused() -> None:
    for text in ("+1", " 1", "1_0", "１", "0x1"):
        with pytest.raises(ParameterError, match="^epsilon must be"):
            WindowChannel(epsilon=text)
