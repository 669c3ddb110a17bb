"""Texts, parameters and inputs that no channel takes, each with the reason."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

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
from hybriddp.channels.channel import LONGEST_TEXT
from hybriddp.channels.window import Window
from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.grid import UNITS
from tests.refusals import not_refused

CHOICE = ChoiceResponse(epsilon=1, n_codes=8, n_chosen=3)
HASHING = LocalHashing(epsilon=1)
MASKED = MaskedResponse(epsilon=1)
UNARY = UnaryEncoding(epsilon="0.5", n_categories=3)


def _choice_of(n: int, k: int) -> dict[str, Any]:
    """The integers of a private window of another shape, which all add up."""
    w = Window.for_epsilon("1", n_codes=n, width=k)
    return {"codes": n, "chosen": k, "low": w.low, "extra": w.extra}


Change = Callable[[dict[str, Any]], dict[str, Any]]
TAMPERED: list[tuple[Channel, Change, str]] = [
    (CHOICE, lambda f: {"extra": f["extra"] + 1}, "do not add up"),
    (CHOICE, lambda f: {"low": f["low"] - f["chosen"], "extra": f["extra"] + f["codes"]}, "it is not 1-private"),
    (CHOICE, lambda f: {"chosen": f["chosen"] - 1}, "do not add up"),
    (CHOICE, lambda f: {"chosen": f["chosen"] + 1}, "do not add up"),
    (CHOICE, lambda f: {"chosen": f["codes"]}, "below the number of codes"),
    (CHOICE, lambda _: {"chosen": 0}, "at least 1"),
    (CHOICE, lambda _: {**_choice_of(8, 1), "chosen": True}, "at least 1"),
    (CHOICE, lambda f: {"low": float(f["low"])}, "low weight is not a positive integer"),
    (CHOICE, lambda _: {"epsilon": "0.99"}, "it is not 0.99-private"),
    (CHOICE, lambda _: _choice_of(6, 1), "not a power of two up to 32"),
    (CHOICE, lambda _: _choice_of(64, 5), "not a power of two up to 32"),
    (CHOICE, lambda _: {"bits": 48}, "do not add up"),
    (CHOICE, lambda _: {"n": 1}, "not in the form"),
    (HASHING, lambda f: {"extra": f["extra"] + 1}, "do not add up"),
    (HASHING, lambda f: {"low": f["low"] - 1, "extra": f["extra"] + f["values"]}, "it is not 1-private"),
    (HASHING, lambda _: {"functions": 3}, "not a power of two"),
    (HASHING, lambda _: {"functions": 0}, "not a power of two"),
    (HASHING, lambda _: {"functions": 1 << 17}, "not a power of two"),
    (HASHING, lambda _: {"functions": 4096.0}, "not a power of two"),
    (HASHING, lambda f: {"values": f["values"] + 1}, "do not add up"),
    (HASHING, lambda _: {"epsilon": "0.99"}, "it is not 0.99-private"),
    (HASHING, lambda _: {"seed": -1}, "seed is not"),
    (HASHING, lambda _: {"seed": True}, "seed is not"),
    (HASHING, lambda _: {"n": 1}, "not in the form"),
    (MASKED, lambda _: {"extra": 1290591212, "low": 751094021}, "not 1-private"),
    (MASKED, lambda _: {"extra": 1290591209}, "do not add up"),
    (MASKED, lambda _: {"labels": 3, "low": 910282059, "extra": 1564121119}, "not a power of two"),
    (MASKED, lambda _: {"labels": 512, "low": 8360550, "extra": 14365696}, "not a power of two"),
    (MASKED, lambda _: {"labels": 4.0}, "number of codes is not an integer"),
    (MASKED, lambda _: {"labels": None}, "number of codes is not an integer"),
    (MASKED, lambda _: {"epsilon": 1}, "not a decimal"),
    (MASKED, lambda _: {"more": 1}, "not in the form"),
    (UNARY, lambda f: {"zero": f["zero"] - 1}, "it is not 0.5-private"),
    *(
        (channel, lambda _: {"version": 1}, "its text is not of version 2")
        for channel in (CHOICE, HASHING, MASKED, UNARY)
    ),
]


def test_tampered_texts_are_refused() -> None:
    for channel, change, reason in TAMPERED:
        fields = json.loads(channel.to_json())
        text = json.dumps({**fields, **change(fields)}, separators=(",", ":"))
        assert not_refused([(f"{channel} {text}", text)], channel_from_json, ProtocolError, reason) == []


def test_texts_that_are_no_channel_of_this_promise_are_refused() -> None:
    fields = json.loads(CHOICE.to_json())
    del fields["chosen"]
    cases = [("no field", json.dumps(fields, separators=(",", ":")))]
    assert not_refused(cases, channel_from_json, ProtocolError, "does not describe a channel") == []
    cases = [("too long", " " * (LONGEST_TEXT + 1))]
    assert not_refused(cases, channel_from_json, ProtocolError, "at most 16777216 characters") == []
    parse, words = partial(channel_from_json, epsilon="2"), "is for epsilon 1, but 2 was promised"
    assert not_refused([(c.kind, c.to_json()) for c in (CHOICE, HASHING, MASKED)], parse, ProtocolError, words) == []


PARAMETERS: list[tuple[Callable[..., object], str, list[object]]] = [
    (partial(ChoiceResponse, epsilon=1, n_chosen=1), "n_codes", [0, 1, 3, 6, 64, -4, 4.0, "4", True, None]),
    (partial(ChoiceResponse, epsilon=1, n_codes=4), "n_chosen", [0, 4, 5, -1, 2.0, "2", True, None]),
    (partial(RandomizedResponse, epsilon=1), "n_categories", [1, 65537, 2.5, "3", True]),
    (partial(UnaryEncoding, epsilon=1), "n_categories", [1, 4097, 2.5, "3", True]),
    (partial(LocalHashing, epsilon=1), "n_functions", [1, 100, 1 << 17, True]),
    (partial(LocalHashing, epsilon=1), "n_values", [1, 2000]),
    (partial(LocalHashing, epsilon=1), "seed", [-1, 1 << 32]),
    (LocalHashing, "epsilon", [0]),
    (WindowChannel, "epsilon", ["+1", " 1", "1_0", "１", "0x1"]),
    (partial(MaskedResponse, epsilon=1), "label_bits", [0, 9, 2.0, "2", True]),
]


def test_parameters_are_checked() -> None:
    for make, name, bad in PARAMETERS:
        cases = [(repr(value), partial(make, **{name: value})) for value in bad]
        assert not_refused(cases, lambda take: take(), ParameterError, f"^{name} must be") == []


SETS: list[tuple[object, str]] = [
    ([0], "must have 2 bits that are 1, but 1 of 1 do not"),
    ([3, 4, 7], "must have 2 bits that are 1, but 2 of 3 do not"),
    (7, "must have 2 bits that are 1, but 1 of 1 do not"),
    ([-1], "must be integers from 0 to 15, but 1 of 1 are not"),
    ([3, 24], "must be integers from 0 to 15, but 1 of 2 are not"),
    ([(1 << 63) + 1], "must be integers from 0 to 15, but 1 of 1 are not"),
    ([(1 << 70) + 1], "must be integers, one or a one-dimensional array"),
    ([3.0], "must be integers, one or a one-dimensional array"),
    (["a"], "must be integers, one or a one-dimensional array"),
    ([True], "must be integers, one or a one-dimensional array"),
    ([[3]], "must be integers, one or a one-dimensional array"),
    (np.ma.masked_array([3, 3], [False, True]), "must all be there"),
]
INPUTS: list[tuple[Channel, str, list[object]]] = [
    (RandomizedResponse(epsilon=1, n_categories=5), "categories", [[-1], [5], [0.5], ["a"], [[1]]]),
    (MASKED, "bins", [[-1], [256], [0.5], ["a"], [[1]]]),
    (HASHING, "keys", [[-1], [1.5], ["a"], [[1, 2]], [1 << 64]]),
    (WindowChannel(epsilon=1), "units", [[-1], [UNITS + 1], [0.5], [[1]], ["1"]]),
]


def test_what_is_no_input_gets_no_report() -> None:
    sets = ChoiceResponse(epsilon=1, n_codes=4, n_chosen=2)
    for inputs, reason in SETS:
        assert not_refused([(str(inputs), inputs)], sets.sample, DataError, f"^sets of codes {reason}") == []
    for channel, what, bad in INPUTS:
        cases = [(f"{what} {inputs}", inputs) for inputs in bad]
        assert not_refused(cases, channel.sample, DataError, f"^{what} must be integers") == []
    full = np.array([1 << 32], np.uint64)
    with pytest.raises(DataError, match="integers from 0 to 4,294,967,295"):
        ChoiceResponse(epsilon=1, n_codes=32, n_chosen=31).sample(full)


VALUES: list[tuple[object, object, type[Exception], str]] = [
    *(
        (values, (0, 1), DataError, r"1 of \d are missing, NaN or infinite")
        for values in ([0.5, np.nan], [np.inf], [None], np.array([0.1, np.nan], np.float32))
    ),
    *((values, (0, 1), DataError, "^values must be") for values in (["a"], [True], [[0.5]])),
    *(([0.5], bounds, ParameterError, "^bounds") for bounds in ((1, 0), (0, float("inf")), None)),
]


def test_values_and_bounds_that_are_none_get_no_report() -> None:
    channel = WindowChannel(epsilon=1)
    for values, bounds, error, words in VALUES:
        take = partial(channel.randomize, bounds=bounds)
        assert not_refused([(f"{values} {bounds}", values)], take, error, words) == []


def test_reports_and_tallies_of_something_else_are_refused() -> None:
    unary = UnaryEncoding(epsilon=1, n_categories=10)
    rows = [np.zeros((5, 3), np.uint8), np.zeros(2, np.uint8), np.zeros((5, 2), int)]
    words = "reports must be rows of 2 bytes"
    assert not_refused([(str(row.shape), row) for row in rows], unary.ones, DataError, words) == []
    hashing = LocalHashing(epsilon=1, n_functions=8)
    with pytest.raises(DataError, match="^A tally of this channel has the shape"):
        hashing.supports(np.zeros((4, 4), np.int64), [1])
