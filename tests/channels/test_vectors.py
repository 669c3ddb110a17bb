"""The shared conformance vectors, as Python sees them; js/test/conformance.test.js runs the same file."""

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybriddp.channels import channel_from_json
from hybriddp.channels.channel import FiniteChannel
from hybriddp.errors import ProtocolError
from hybriddp.grid import Grid
from tests.refusals import not_refused

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "channels.json").read_text(encoding="utf-8"))


def _stream(seed: str, count: int) -> np.ndarray:
    return np.frombuffer(hashlib.shake_256(seed.encode()).digest(count), np.uint8)


def _inputs(case: dict[str, Any]) -> np.ndarray:
    words = _stream(f"{case['seed']} inputs", 4 * case["count"]).view("<u4")
    if "categories" in case:
        return np.asarray(words % case["categories"]).astype(np.int64)
    lower, upper = case["bounds"]
    return Grid(lower, upper).place(lower + (upper - lower) * (words / 2**32 * 1.5 - 0.25)).units


@pytest.mark.parametrize(
    "case", [case for kind in ("window", "response", "unary") for case in VECTORS[kind]], ids=lambda c: c["seed"]
)
def test_known_bytes_give_the_same_codes_as_everywhere(case: dict[str, Any]) -> None:
    channel = channel_from_json(case["text"], epsilon=case["epsilon"])
    assert isinstance(channel, FiniteChannel)
    assert channel.digest == case["digest"]
    assert channel.bytes_per_report == case["bytes_per_report"]
    codes = channel.codes(_inputs(case), _stream(f"{case['seed']} bytes", case["count"] * channel.bytes_per_report))
    assert codes[: len(case["first"])].tolist() == case["first"]
    assert hashlib.sha256(codes.astype(codes.dtype.newbyteorder("<")).tobytes()).hexdigest() == case["sha256"]


def test_the_vectors_are_many() -> None:
    assert sum(case["count"] for case in VECTORS["window"]) >= 500_000
    assert len({case["epsilon"] for case in VECTORS["window"]}) >= 7
    assert len(VECTORS["refused"]) >= 200


def test_tampered_texts_are_refused() -> None:
    cases = [(case["why"], case["text"]) for case in VECTORS["refused"]]
    parse = partial(channel_from_json, epsilon="1")
    assert not_refused(cases, parse, ProtocolError, "^The channel is refused: ") == []
