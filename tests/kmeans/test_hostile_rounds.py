"""A device answers what strangers ask: whatever the question, the symbol that goes into the channel must be one of it.

A symbol that the channel does not have comes out of randomised response as a code that no other point gives, which
would tell the point outright.
"""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import ProtocolError
from hybriddp.kmeans.question_text import question_of
from hybriddp.kmeans.round import Round
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.kmeans.symbols import symbol_channel


def _message(d: int, n_symbols: int, question: dict[str, Any]) -> str:
    study = KMeansStudy("points", n_clusters=2, bounds=[(0, 1)] * d, epsilon=1)
    channel = json.loads(symbol_channel("1", n_symbols).to_json())
    asks = [{"question": question, "channel": channel, "share": "1"}]
    fields = {"type": "kmeans-round", "version": 1, "study": study.fields(), "number": 1, "what": "a grid"}
    return json.dumps({**fields, "asks": asks})


def test_a_grid_so_large_that_its_size_wraps_around_is_refused() -> None:
    # 4096^6 = 2^72 is 0 in 64 bits.
    grid = {"kind": "grid", "low": [0] * 6, "step": [1 / 4095] * 6, "sizes": [4096] * 6}
    with pytest.raises(ProtocolError, match="fewer symbols than its question"):
        Round.from_json(_message(6, 2, grid))


@pytest.mark.parametrize("axes", [[[1e308, -1e308], [1e308, 1e308]], [[1e300] * 2, [-1e300] * 2]])
def test_directions_in_which_a_point_has_no_place_are_refused(axes: list[list[float]]) -> None:
    grid = {"kind": "grid", "origin": [-1e308] * 2, "axes": axes, "low": [0, 0], "step": [1, 1], "sizes": [4, 4]}
    with pytest.raises(ProtocolError, match="must be numbers up to 1e\\+100"):
        Round.from_json(_message(2, 16, grid))


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        ("grid", {"low": [0.0], "step": [5e-324], "sizes": [2]}, "malformed"),
        ("residual", {"centres": [[0.5]], "radii": [5e-324], "coordinates": [[0]]}, "radii"),
        ("bit", {"centres": [[0.5]], "radii": [0.0]}, "radii"),
        ("bit", {"centres": [[float("inf")]], "radii": [1.0]}, "up to"),
        ("bit", {"centres": [[float("nan")]], "radii": [1.0]}, "up to"),
    ],
)
def test_numbers_that_a_device_cannot_divide_by_are_refused(kind: str, fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        question_of(1, {"kind": kind, **fields})


numbers = st.one_of(st.sampled_from([0.0, 1e100, -1e100, 1e-100, 0.5, 1.0]), st.floats(-1e100, 1e100))
positive = st.one_of(st.sampled_from([1e100, 1e-100, 1.0]), st.floats(1e-100, 1e100))


def _lists(elements: st.SearchStrategy[float], *shape: int) -> st.SearchStrategy[Any]:
    for length in reversed(shape):
        elements = st.lists(elements, min_size=length, max_size=length)  # type: ignore[assignment]
    return elements


@given(st.data(), st.sampled_from(["grid", "seen grid", "residual", "bit"]), st.integers(0, 2**32))
def test_every_symbol_is_one_of_the_question(data: st.DataObject, kind: str, seed: int) -> None:
    d = 3
    fields: dict[str, Any]
    if kind.endswith("grid"):
        fields = {"low": data.draw(_lists(numbers, d)), "step": data.draw(_lists(positive, d)), "sizes": [2, 3, 4]}
        if kind == "seen grid":
            fields |= {"origin": data.draw(_lists(numbers, d)), "axes": data.draw(_lists(numbers, d, d))}
    else:
        fields = {"centres": data.draw(_lists(numbers, 3, d)), "radii": data.draw(_lists(positive, 3))}
        if kind == "residual":
            fields["coordinates"] = [[0, 0], [1, 2]]
    question = question_of(d, {"kind": kind.removeprefix("seen "), **fields})
    dice = np.random.default_rng(seed)
    points = np.concatenate([dice.random((20, d)), [[0.0] * d, [1.0] * d]])
    symbols = question.symbols(points, dice.integers(question.n_variants, size=len(points)), dice)
    assert symbols.min() >= 0
    assert symbols.max() < question.n_symbols
