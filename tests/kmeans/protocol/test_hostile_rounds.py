"""A device answers what strangers ask: whatever the question, the symbol that goes into the channel must be one of it.

A symbol that the channel does not have comes out of randomized response as a code that no other point gives, which
would tell the point outright.
"""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.channels import Channel, RandomizedResponse, UnaryEncoding, WindowChannel
from hybriddp.channels.response import ChoiceResponse
from hybriddp.channels.unary import symbol_channel
from hybriddp.errors import ProtocolError
from hybriddp.kmeans.protocol.round import Round, question_of
from hybriddp.kmeans.study import KMeansStudy
from tests.kmeans.servers import as_text


def _study(d: int) -> KMeansStudy:
    return KMeansStudy("points", n_clusters=2, bounds=[(0, 1)] * d, epsilon=1)


def _message(d: int, n_symbols: int, question: dict[str, Any]) -> str:
    channel = json.loads(symbol_channel("1", n_symbols).to_json())
    asks = [{"question": question, "channel": channel, "user_fraction": "1"}]
    fields = {"type": "kmeans-round", "version": 2, "study": _study(d).fields(), "number": 1, "purpose": "a grid"}
    return as_text({**fields, "asks": asks})


def test_a_grid_so_large_that_its_size_wraps_around_is_refused() -> None:
    # 4096^6 = 2^72 is 0 in 64 bits.
    grid = {"kind": "grid", "low": [0] * 6, "step": [1 / 4095] * 6, "sizes": [4096] * 6}
    with pytest.raises(ProtocolError, match="fewer symbols than its question"):
        Round.from_json(_message(6, 2, grid), study=_study(6))


@pytest.mark.parametrize("axes", [[[1e308, -1e308], [1e308, 1e308]], [[1e300] * 2, [-1e300] * 2]])
def test_directions_in_which_a_point_has_no_place_are_refused(axes: list[list[float]]) -> None:
    grid = {"kind": "grid", "origin": [-1e308] * 2, "axes": axes, "low": [0, 0], "step": [1, 1], "sizes": [4, 4]}
    with pytest.raises(ProtocolError, match="must be numbers of shape .*, up to 1e\\+100"):
        Round.from_json(_message(2, 16, grid), study=_study(2))


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        ("grid", {"low": [0.0], "step": [5e-324], "sizes": [2]}, "at least 1e-100"),
        ("label_signs", {"centers": [[0.5]], "radii": [5e-324], "coordinates": [[0]]}, "radii"),
        ("direction", {"centers": [[0.5]], "radii": [0.0]}, "radii"),
        ("direction", {"centers": [[float("inf")]], "radii": [1.0]}, "up to"),
        ("second_moment", {"center": [float("nan")], "radius": 1.0}, "up to"),
        ("length", {"center": [0.5], "radius": 5e-324}, "radius"),
    ],
)
def test_numbers_that_a_device_cannot_divide_by_are_refused(kind: str, fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        question_of(1, {"kind": kind, **fields})


LENGTH = {"kind": "length", "center": [0.5], "radius": 0.5}
DIRECTION = {"kind": "direction", "centers": [[0.5]], "radii": [0.5], "sign_flips": [[1]] * 4, "chosen": 1}
FIVE = {"kind": "direction", "centers": [[0.5] * 5], "radii": [0.5], "sign_flips": [[1, 1, -1, 1, -1]] * 2, "chosen": 3}


@pytest.mark.parametrize(
    ("question", "channel", "reason"),
    [
        (DIRECTION, ChoiceResponse(epsilon=1, n_codes=4, n_chosen=2), "more symbols"),
        (FIVE, ChoiceResponse(epsilon=1, n_codes=16, n_chosen=3), "fewer symbols"),
        (FIVE, ChoiceResponse(epsilon=1, n_codes=32, n_chosen=4), "sets of another size"),
        (FIVE, RandomizedResponse(epsilon=1, n_categories=32), "sets of another size"),
        (FIVE, UnaryEncoding(epsilon=1, n_categories=32), "sets of another size"),
        (LENGTH, ChoiceResponse(epsilon=1, n_codes=2, n_chosen=1), "sets of another size"),
        (LENGTH, WindowChannel(epsilon=1), "not one of symbols"),
    ],
)
def test_a_channel_that_does_not_hide_what_the_question_answers_is_refused(
    question: dict[str, Any], channel: Channel, reason: str
) -> None:
    d = 5 if question is FIVE else 1
    message = json.loads(_message(d, 2, question))
    message["asks"][0]["channel"] = json.loads(channel.to_json())
    with pytest.raises(ProtocolError, match=reason):
        Round.from_json(as_text(message), study=_study(d))


def test_a_set_and_its_channel_are_taken() -> None:
    message = json.loads(_message(5, 2, FIVE))
    message["asks"][0]["channel"] = json.loads(ChoiceResponse(epsilon=1, n_codes=32, n_chosen=3).to_json())
    asked = Round.from_json(as_text(message), study=_study(5))
    (reports,) = asked.answer([[0.2] * 5, [0.9] * 5])
    assert (reports.codes.shape, reports.codes.max() < 32) == ((2,), True)
    assert asked.asks[0].channel == ChoiceResponse(epsilon=1, n_codes=32, n_chosen=3)


numbers = st.one_of(
    st.sampled_from([0.0, 1e100, -1e100, 1e-100, 0.5, 1.0]), st.floats(1e-100, 1e100), st.floats(-1e100, -1e-100)
)
positive = st.one_of(st.sampled_from([1e100, 1e-100, 1.0]), st.floats(1e-100, 1e100))


def _lists(elements: st.SearchStrategy[float], *shape: int) -> st.SearchStrategy[Any]:
    for length in reversed(shape):
        elements = st.lists(elements, min_size=length, max_size=length)  # type: ignore[assignment]
    return elements


@given(
    st.data(),
    st.sampled_from(["grid", "seen grid", "label_signs", "direction", "second_moment", "length"]),
    st.integers(0, 2**32),
)
def test_every_symbol_is_one_of_the_question(data: st.DataObject, kind: str, seed: int) -> None:
    d = 3
    fields: dict[str, Any]
    if kind.endswith("grid"):
        fields = {"low": data.draw(_lists(numbers, d)), "step": data.draw(_lists(positive, d)), "sizes": [2, 3, 4]}
        if kind == "seen grid":
            fields |= {"origin": data.draw(_lists(numbers, d)), "axes": data.draw(_lists(numbers, d, d))}
    elif kind in ("second_moment", "length"):
        fields = {"center": data.draw(_lists(numbers, d)), "radius": data.draw(positive)}
        if kind == "second_moment":
            fields |= {"left_sign_flips": [[1, -1, 1]] * 4, "right_sign_flips": [[1, 1, -1]] * 4, "chosen": 4}
    else:
        fields = {"centers": data.draw(_lists(numbers, 3, d)), "radii": data.draw(_lists(positive, 3))}
        if kind == "label_signs":
            fields["coordinates"] = [[0, 2], [1, 2]]
        else:
            fields |= {"sign_flips": [[1, -1, 1]] * 4, "chosen": 3}
    question = question_of(d, {"kind": kind.removeprefix("seen "), **fields})
    rng = np.random.default_rng(seed)
    points = np.concatenate([rng.random((20, d)), [[0.0] * d, [1.0] * d]])
    symbols = question.symbols(points, rng.integers(question.n_variants, size=len(points)), rng)
    assert symbols.min() >= 0
    if question.n_chosen is None:
        assert symbols.max() < question.n_symbols
    else:  # sets of exactly so many: only these are hidden among each other
        assert symbols.max() < 1 << question.n_symbols
        assert (np.bitwise_count(symbols) == question.n_chosen).all()
