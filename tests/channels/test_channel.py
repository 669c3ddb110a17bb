"""What holds for every kind of channel."""

import copy
import pickle
from functools import cached_property

import numpy as np
import pytest

from hybriddp.channels import (
    Channel,
    ChoiceResponse,
    LocalHashing,
    MaskedResponse,
    RandomizedResponse,
    UnaryEncoding,
    WindowChannel,
    channel_from_json,
)
from hybriddp.channels.channel import CHUNK
from hybriddp.channels.window import Window
from hybriddp.errors import DataError

HALF = 1 << 31
CHANNELS: list[Channel] = [
    WindowChannel(epsilon=0.5),
    WindowChannel(epsilon=15),
    RandomizedResponse(epsilon=1, n_categories=200),
    RandomizedResponse(epsilon=12, n_categories=200),
    UnaryEncoding(epsilon=1, n_categories=200),
    LocalHashing(epsilon=1),
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


TEXTS: list[Channel] = [
    *CHANNELS,
    *(
        ChoiceResponse(epsilon=e, n_codes=n, n_chosen=k)
        for e, n, k in ((0.01, 2, 1), (1, 32, 6), (2.5, 16, 15), (14, 8, 3))
    ),
    *(
        LocalHashing(epsilon=e, n_functions=f, seed=s)
        for e, f, s in (("0.01", 2, 0), (1, 4096, 7), (20, 65536, 2**32 - 1))
    ),
    MaskedResponse(epsilon=1, label_bits=3),
]


def test_text_and_channel_are_inverses() -> None:
    for channel in TEXTS:
        read = channel_from_json(channel.to_json(), epsilon=channel.epsilon)
        assert (read, hash(read), type(read)) == (channel, hash(channel), type(channel))
        assert read.digest == channel.digest
    assert len({channel.digest for channel in TEXTS}) == len(TEXTS)
    assert len(WindowChannel(epsilon=1).to_json()) < 1500
    assert repr(WindowChannel(epsilon=1)) == "WindowChannel(epsilon='1', n_codes=256)"
    assert MaskedResponse(epsilon=1).to_json() == (
        '{"type":"masked","version":2,"epsilon":"1","labels":4,"bits":32,"low":751094022,"extra":1290591208}'
    )


def test_one_input_gives_one_report() -> None:
    for channel in CHANNELS:
        assert channel.sample(5).shape == channel.sample([1, 2]).shape[1:]
    assert ChoiceResponse(epsilon=1, n_codes=8, n_chosen=4).sample(0b1111).shape == ()
    assert LocalHashing(epsilon=1).sample(np.array([0, (1 << 64) - 1], np.uint64)).shape == (2,)
    assert np.ndim(WindowChannel(epsilon=1).randomize(0.5, bounds=(0, 1))) == 0
    assert WindowChannel(epsilon=1).randomize([], bounds=(0, 1)).shape == (0,)


def test_reports_are_drawn_in_chunks_of_bounded_size() -> None:
    assert WindowChannel(epsilon=0.5).chunk == CHUNK
    large = UnaryEncoding(epsilon=1, n_categories=4096)
    assert large.chunk * large.bytes_per_report <= 8 * CHUNK
    assert large.sample(np.zeros(40, int)).shape == (40, 512)


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
