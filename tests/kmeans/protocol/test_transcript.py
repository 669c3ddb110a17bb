"""A server's state as text."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hybriddp.errors import DataError, ProtocolError
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.protocol.transcript import State, decimal
from hybriddp.kmeans.study import KMeansStudy

RNG = np.random.default_rng(2)
STUDY = KMeansStudy("visits", n_clusters=2, bounds=[(0, 10), (0, 10)], epsilon=1)
POINTS = RNG.choice([[2.0, 3.0], [7.0, 8.0]], 4040) + 0.3 * RNG.standard_normal((4040, 2))


def _server(study: KMeansStudy = STUDY, *, rounds: int = 1) -> HybridKMeansServer:
    """A server that has absorbed so many rounds."""
    server = HybridKMeansServer(study, n_local=4000, trusted=POINTS[:40], random_state=1)
    for turn in range(rounds):
        assert server.round is not None
        server.absorb(server.round.count(server.round.answer(POINTS[40 + turn :: 4], random_state=turn)))
    return server


SERVER = _server()
FIELDS: dict[str, Any] = json.loads(SERVER.to_json())


def test_text_and_state_are_inverses() -> None:
    assert State.from_json(SERVER.to_json()).to_json() == SERVER.to_json()
    for rounds in range(4):
        text = _server(rounds=rounds).to_json()
        again = HybridKMeansServer.from_json(text, trusted=POINTS[:40], random_state=1)
        assert again.to_json() == text
        assert (again.round is None) == (rounds == 3)


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize(
    "value", [..., [], {}, "", -1, 0.5, "x", [[0]], [None], [5], 10**40, float("nan"), float("inf")]
)
def test_a_text_with_one_field_broken_is_refused(name: str, value: object) -> None:
    fields = {**FIELDS, name: value}
    if value is ...:
        del fields[name]
    with pytest.raises(ProtocolError, match="refused"):
        HybridKMeansServer.from_json(json.dumps(fields), trusted=POINTS[:40], random_state=1)


def _with_heard(**change: object) -> str:
    (heard,) = FIELDS["heard"]
    return json.dumps({**FIELDS, "heard": [{**heard, **change}]})


SUPPORTS = FIELDS["heard"][0]["answers"][0]["supports"]
USERS = FIELDS["heard"][0]["answers"][0]["users"]
VALUES = FIELDS["heard"][0]["published"]["values"]


@pytest.mark.parametrize(
    "text",
    [
        _with_heard(answers=[]),
        _with_heard(answers=None),
        _with_heard(answers=[{"supports": SUPPORTS}]),
        _with_heard(answers=[{"supports": SUPPORTS, "users": USERS}] * 2),
        _with_heard(answers=[{"supports": [SUPPORTS[0][:-1]], "users": USERS}]),
        _with_heard(answers=[{"supports": SUPPORTS, "users": [0]}]),
        _with_heard(answers=[{"supports": SUPPORTS, "users": [10**40]}]),
        _with_heard(answers=[{"supports": SUPPORTS, "users": [float("nan")]}]),
        _with_heard(answers=[{"supports": [[-1, *SUPPORTS[0][1:]]], "users": USERS}]),
        _with_heard(answers=[{"supports": [[0.5, *SUPPORTS[0][1:]]], "users": USERS}]),
        _with_heard(published=None),
        _with_heard(published={"values": VALUES}),
        _with_heard(published={"values": VALUES[:-1], "variance": 1.0}),
        _with_heard(published={"values": [VALUES], "variance": 1.0}),
        _with_heard(published={"values": VALUES, "variance": 0.0}),
        _with_heard(published={"values": VALUES, "variance": -1.0}),
        _with_heard(published={"values": VALUES, "variance": float("nan")}),
        _with_heard(published={"values": VALUES, "variance": float("inf")}),
        _with_heard(published={"values": [0.5] * len(VALUES), "variance": 1.0}),
        json.dumps({**FIELDS, "heard": FIELDS["heard"] * 2}),
        json.dumps({**FIELDS, "heard": FIELDS["heard"] * 9}),
        json.dumps({**FIELDS, "heard": []}),
        json.dumps({**FIELDS, "pending": {"values": [1, 2], "variance": 1.0}}),
        json.dumps({**FIELDS, "n_local": 400_000}),
        json.dumps({**FIELDS, "waiting_for": "0" * 64}),
        json.dumps({**FIELDS, "study": {**FIELDS["study"], "epsilon": "2"}}),
        json.dumps({**FIELDS, "study": {**FIELDS["study"], "n_clusters": 3}}),
        "",
        "[]",
        "[" * 100_000,
    ],
)
def test_a_state_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError):
        HybridKMeansServer.from_json(text, trusted=POINTS[:40], random_state=1)


def test_a_state_of_a_simulation_goes_on_as_one() -> None:
    with pytest.raises(ProtocolError, match="a simulation: it goes on with a random_state"):
        HybridKMeansServer.from_json(SERVER.to_json(), trusted=POINTS[:40])
    private = HybridKMeansServer(STUDY, n_local=4000, trusted=POINTS[:40])
    with pytest.raises(ProtocolError, match="a private study: it goes on without"):
        HybridKMeansServer.from_json(private.to_json(), trusted=POINTS[:40], random_state=1)


def test_another_trusted_group_is_noticed() -> None:
    with pytest.raises(DataError, match="had 40 users, now 41"):
        HybridKMeansServer.from_json(SERVER.to_json(), trusted=POINTS[:41], random_state=1)


def test_the_text_holds_no_point_and_no_exact_number_of_the_trusted_group() -> None:
    """Only what went through a channel or through noise, and public numbers."""
    assert set(FIELDS) == {
        "type",
        "version",
        "study",
        "n_local",
        "n_trusted",
        "seeded",
        "counted",
        "rejected",
        "heard",
        "pending",
        "waiting_for",
    }
    text = SERVER.to_json()
    assert not any(repr(float(x)) in text for x in POINTS.ravel())
    assert not any(repr(float(x)) in text for x in STUDY.box.place(POINTS).points.ravel())
    assert all(type(x) is int for x in VALUES)


def test_a_private_size_is_not_in_the_text() -> None:
    """The same text but for the noise, whatever the size is."""
    study = KMeansStudy("visits", n_clusters=2, bounds=[(0, 10), (0, 10)], epsilon=1, neighbors="add-remove")
    for n in (1, 777):
        fields = json.loads(HybridKMeansServer(study, n_local=4000, trusted=POINTS[:n], random_state=1).to_json())
        assert fields["n_trusted"] == 1
        assert fields["heard"][0]["published"]["values"] != [n]
        again = HybridKMeansServer.from_json(json.dumps(fields), trusted=POINTS[:n], random_state=1)
        assert again.n_trusted == max(fields["heard"][0]["published"]["values"][0], 1)
    public = json.loads(HybridKMeansServer(STUDY, n_local=4000, trusted=POINTS[:777], random_state=1).to_json())
    assert public["n_trusted"] == 777


@pytest.mark.parametrize(
    ("exact", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1), "1"),
        (Fraction(1, 20), "0.05"),
        (Fraction(25, 2), "12.5"),
        (Fraction(20), "20"),
    ],
)
def test_decimals_are_exact(exact: Fraction, text: str) -> None:
    assert decimal(exact) == text
    assert Fraction(text) == exact


def test_a_third_is_no_decimal() -> None:
    with pytest.raises(ValueError, match="not a finite decimal"):
        decimal(Fraction(1, 3))
