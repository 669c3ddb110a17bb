"""A server's state as text."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hybriddp.errors import DataError, ProtocolError
from hybriddp.kmeans.protocol.budget import decimal
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.protocol.transcript import ServerState
from hybriddp.kmeans.study import KMeansStudy
from tests.kmeans.servers import as_text, asked_now, started
from tests.refusals import not_refused

RNG = np.random.default_rng(2)


def _study(d: int = 2, epsilon: float = 1) -> KMeansStudy:
    return KMeansStudy("visits", n_clusters=2, bounds=[(0, 10)] * d, epsilon=epsilon)


STUDY, SMALL = _study(), _study(5, epsilon=0.05)
POINTS = RNG.choice([[2.0, 3.0], [7.0, 8.0]], 4040) + 0.3 * RNG.standard_normal((4040, 2))


def _server(study: KMeansStudy = STUDY, *, rounds: int = 1) -> HybridKMeansServer:
    """A server that has absorbed so many rounds."""
    server = started(study, n_local=4000, trusted=POINTS[:40], random_state=1)
    for turn in range(rounds):
        assert server.round is not None
        server.absorb(server.round.count(server.round.answer(POINTS[40 + turn :: 4], random_state=turn)))
    return server


SERVER = _server()
FIELDS: dict[str, Any] = json.loads(SERVER.to_json())


def test_text_and_state_are_inverses() -> None:
    assert ServerState.from_json(SERVER.to_json()).to_json() == SERVER.to_json()
    for rounds in range(4):
        text = _server(rounds=rounds).to_json()
        again = HybridKMeansServer.from_json(text, trusted=POINTS[:40], random_state=1)
        assert again.to_json() == text
        assert (again.round is None) == (rounds == 3)


def _read(text: str) -> HybridKMeansServer:
    return HybridKMeansServer.from_json(text, trusted=POINTS[:40], random_state=1)


@pytest.mark.parametrize("name", FIELDS)
def test_a_text_with_one_field_broken_is_refused(name: str) -> None:
    values: list[object] = [[], {}, "", -1, 0.5, "x", [[0]], [None], [5], 10**40, float("nan"), float("inf")]
    cases = [(repr(value), as_text({**FIELDS, name: value})) for value in values]
    cases.append(("left out", as_text({other: value for other, value in FIELDS.items() if other != name})))
    assert not_refused(cases, _read, ProtocolError, "refused") == []


def _with_result(**change: object) -> str:
    (result,) = FIELDS["results"]
    return as_text({**FIELDS, "results": [{**result, **change}]})


SUPPORTS = FIELDS["results"][0]["tallies"][0]["support_counts"]
USERS = FIELDS["results"][0]["tallies"][0]["users"]
VALUES = FIELDS["results"][0]["release"]["values"]
VARIANCE = FIELDS["results"][0]["release"]["variance"]


def test_a_state_that_cannot_be_is_refused() -> None:
    texts = [
        _with_result(tallies=[]),
        _with_result(tallies=None),
        _with_result(tallies=[{"support_counts": SUPPORTS}]),
        _with_result(tallies=[{"support_counts": SUPPORTS, "users": USERS}] * 2),
        _with_result(tallies=[{"support_counts": [SUPPORTS[0][:-1]], "users": USERS}]),
        _with_result(tallies=[{"support_counts": SUPPORTS, "users": [0]}]),
        _with_result(tallies=[{"support_counts": SUPPORTS, "users": [10**40]}]),
        _with_result(tallies=[{"support_counts": SUPPORTS, "users": [float("nan")]}]),
        _with_result(tallies=[{"support_counts": [[-1, *SUPPORTS[0][1:]]], "users": USERS}]),
        _with_result(tallies=[{"support_counts": [[0.5, *SUPPORTS[0][1:]]], "users": USERS}]),
        _with_result(release=None),
        _with_result(release={"values": VALUES}),
        _with_result(release={"values": VALUES[:-1], "variance": VARIANCE}),
        _with_result(release={"values": [VALUES], "variance": VARIANCE}),
        _with_result(release={"values": [2**63 - 1, *VALUES[1:]], "variance": VARIANCE}),
        _with_result(release={"values": [-(2**63), *VALUES[1:]], "variance": VARIANCE}),
        _with_result(release={"values": [2**64, *VALUES[1:]], "variance": VARIANCE}),
        _with_result(release={"values": VALUES, "variance": 1.01 * VARIANCE}),
        _with_result(release={"values": VALUES, "variance": 0.0}),
        _with_result(release={"values": VALUES, "variance": -1.0}),
        _with_result(release={"values": VALUES, "variance": float("nan")}),
        _with_result(release={"values": VALUES, "variance": float("inf")}),
        _with_result(release={"values": [0.5] * len(VALUES), "variance": VARIANCE}),
        as_text({**FIELDS, "results": FIELDS["results"] * 2}),
        as_text({**FIELDS, "results": FIELDS["results"] * 9}),
        as_text({**FIELDS, "results": []}),
        as_text({**FIELDS, "pending_release": {"values": [1, 2], "variance": VARIANCE}}),
        as_text({**FIELDS, "n_local": 400_000}),
        as_text({**FIELDS, "n_trusted": "private"}),
        as_text({**FIELDS, "study": {**FIELDS["study"], "neighbors": "add-remove"}}),
        as_text({**FIELDS, "open_round": None, "pending_release": FIELDS["results"][0]["release"]}),
        as_text({**FIELDS, "ledger_nonce": "0"}),
        as_text({**FIELDS, "version": 1}),
        as_text({**FIELDS, "open_round": "0" * 64}),
        as_text({**FIELDS, "study": {**FIELDS["study"], "epsilon": "2"}}),
        as_text({**FIELDS, "study": {**FIELDS["study"], "n_clusters": 3}}),
        "",
        "[]",
        "[" * 100_000,
    ]
    assert not_refused([(text[:1000], text) for text in texts], _read, ProtocolError, "") == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"n_local": 0, "n_trusted": 0}, "at least as many users as clusters"),
        (
            {"study": {**_study(5).fields(), "epsilon": "0.05"}, "n_local": 0, "n_trusted": 40},
            "epsilon must be at least",
        ),
    ],
)
def test_a_state_of_a_study_that_could_not_begin_is_refused(change: dict[str, Any], reason: str) -> None:
    fields = {**FIELDS, "results": [], "pending_release": None, "open_round": None, **change}
    with pytest.raises(ProtocolError, match=f"The state is refused: .*{reason}"):
        HybridKMeansServer.from_json(as_text(fields), random_state=1)


def _hostile(value: Any, rng: np.random.Generator) -> Any:
    """The same with other integers here and there, as large as they may be and larger."""
    if isinstance(value, dict):
        return {name: _hostile(inner, rng) for name, inner in value.items()}
    if isinstance(value, list):
        return [_hostile(inner, rng) for inner in value]
    if type(value) is int and rng.random() < 0.3:
        return int(rng.choice([0, -1, 1, 2**39, 2**40, 2**62, -(2**62), 2**62 + 1, 10**6]))
    return value


@pytest.mark.repeated
@pytest.mark.parametrize("d", [2, pytest.param(5, marks=pytest.mark.slow)])
def test_whatever_integers_a_state_holds_it_goes_on_or_is_refused(d: int) -> None:
    """Nothing else is raised: what the algorithm is told has been checked before."""
    study = _study(d)
    points = np.random.default_rng(d).uniform(0, 10, (2400, d))
    server = started(study, n_local=400, trusted=points[:2000], random_state=1)
    states = []
    while server.round is not None:
        reports = server.round.answer(asked_now(server, points[2000:]), random_state=1)
        server.absorb(server.round.count(reports))
        states.append(json.loads(server.to_json()))
    rng = np.random.default_rng(1)
    taken = 0
    for turn in range(60):
        fields = states[turn % len(states)]
        results = []
        for result in fields["results"]:
            if turn % 2 and result["release"]:  # numbers that may have been released, if they are odd
                values = np.clip(_hostile(result["release"]["values"], rng), -(2**62), 2**62)
                results.append({**result, "release": {**result["release"], "values": values.tolist()}})
            else:
                results.append(result if turn % 2 else _hostile(result, rng))
        text = as_text({**fields, "results": results, "pending_release": None, "open_round": None})
        try:
            HybridKMeansServer.from_json(text, random_state=1)
            taken += 1
        except ProtocolError:
            pass
    assert taken > 10


def test_a_state_of_a_simulation_goes_on_as_one() -> None:
    with pytest.raises(ProtocolError, match="a simulation: it goes on with a random_state"):
        HybridKMeansServer.from_json(SERVER.to_json(), trusted=POINTS[:40])
    private = started(STUDY, n_local=4000, trusted=POINTS[:40])
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
        "in_ledger",
        "rejected",
        "results",
        "pending_release",
        "open_round",
    }
    text = SERVER.to_json()
    assert not any(repr(float(x)) in text for x in POINTS.ravel())
    assert not any(repr(float(x)) in text for x in STUDY.box.place(POINTS).points.ravel())
    assert all(type(x) is int for x in VALUES)


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
