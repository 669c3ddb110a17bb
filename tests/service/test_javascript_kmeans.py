"""The JavaScript client of K-means in Node and the real server: devices that enroll, are started again, and answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybriddp.client import Client, verify
from hybriddp.client.contribution import answer_commitment
from hybriddp.kmeans import KMeansStudy
from hybriddp.kmeans.study import integer_of_units, units_of
from hybriddp.release.mechanisms import Mechanism
from tests.service.kmeans_people import DEADLINE, People, in_memory
from tests.service.running import Running
from tests.service.test_javascript import Devices, devices_in_node, take_part


def devices_of(server: Running, people: People, acts: dict[str, list[tuple[str, object]]]) -> list[dict[str, Any]]:
    """What these people's devices are told to do."""
    return [{"token": people.token(server, name), "points": True, "acts": [*told]} for name, told in acts.items()]


def started_again(devices: list[dict[str, Any]], seen: list[dict[str, Any]], *acts: tuple[str, object]) -> list[Any]:
    """The same devices with what they kept, told to do something else."""
    return [device | {"kept": one["kept"], "acts": acts} for device, one in zip(devices, seen, strict=True)]


@pytest.fixture
def node(kept_server: Running) -> Iterator[Devices]:
    with devices_in_node(kept_server) as devices:
        yield devices


@pytest.mark.slow
def test_devices_enroll_and_answer_in_their_rounds(
    kept_server: Running, node: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mechanism, "draw", lambda _, shape, *__: np.zeros(shape, np.int64))
    server, study_id = kept_server, "js-points"
    study = KMeansStudy("points of three", n_clusters=2, bounds=[(0, 10)] * 3, epsilon=4)
    people = People.of(study, study_id, n_trusted=12, n_local=40)
    assert people.create(server).is_success
    trusting = devices_of(server, people, {name: [("trust", point)] for name, point in people.trusted.items()})
    local = devices_of(server, people, {name: [("enroll", point)] for name, point in people.local.items()})
    given, joined = node(trusting), node(local)
    assert [one["kept"]["integer"] for one in given] == [
        str(integer_of_units(units_of(study.box, point))) for point in people.trusted.values()
    ]
    assert {frozenset(json.loads(one["kept"]["body"])) for one in joined} == {frozenset({"digest", "nonce"})}
    assert server.move("close", study_id).json()["counts"] == {"trusted": 12, "local": 40}
    nonces = {name: one["kept"]["nonce"] for name, one in zip(people.local, joined, strict=True)}
    said: list[list[dict[str, Any]]] = []
    keys = server.http.get("/.well-known/hybriddp-receipts.json").json()
    document = server.http.post(f"/studies/{study_id}/round", headers=server.admin, json=DEADLINE).json()
    while document["round"] is not None:
        names = people.asked(server, nonces).names
        joined = node(started_again(local, joined, ("resume", None), ("answer", None)))
        messages = []
        for name, one in zip(people.local, joined, strict=True):
            first, second = one["seen"]
            if name not in names:
                assert second.get("reason", "early") == "early" or second["resent"]
                continue
            body = json.loads(one["kept"]["answer"]["body"])
            nonce, opened, message = body.pop("nonce"), body.pop("enrollment_nonce"), body
            assert opened == nonces[name]
            assert first["commitment"] == second["commitment"] == answer_commitment(message, nonce)
            assert (first["round"], second["resent"]) == (document["round"]["number"], True)
            verify(first["document"], keys)
            assert "point" not in one["kept"]
            messages.append(message)
        said.append(messages)
        server.move("close", study_id)
        document = server.http.post(f"/studies/{study_id}/round", headers=server.admin, json=DEADLINE).json()
    estimate = server.move("release", study_id).json()["estimate"]
    assert estimate["centers"] == in_memory(people, said).cluster_centers.tolist()
    assert estimate["n_answered"] == sum(map(len, said)) > 30
    ended = node(started_again(local, joined, ("resume", None)))
    assert [one["kept"] for one in ended] == [{"gone": "closed"}] * 40


@pytest.mark.slow
def test_both_clients_promise_the_same_and_refuse_the_same(kept_server: Running, tmp_path: Path) -> None:
    server, study_id = kept_server, "js-points-told"
    study = KMeansStudy("points, told twice", n_clusters=2, bounds=[(-0.5, 1234567.0)] * 14, epsilon="0.7")
    people = People(study, study_id, {}, {})
    assert people.create(server, dimensions=[f"number {i}" for i in range(14)]).is_success
    point = [3.5] * 14
    acts: list[tuple[str, object]] = [("promise", None), ("trust", point), ("withdraw", None), ("enroll", point)]
    (device,) = take_part(server, devices_of(server, people, {"alice": acts}))
    promise, receipt, withdrawal, refused = device["seen"]
    with Client(server.url, people.token(server, "bob"), journal=tmp_path / "bob") as client:
        assert promise == client.promise()
        assert receipt["words"] == str(client.trust(point))
        assert withdrawal["words"] == str(client.withdraw())
    assert (refused["error"], refused["reason"]) == ("ProtocolError", "withdrawn")
    acts = [("answer", point), ("enroll", point), ("answer", None), ("withdraw", None), ("answer", None)]
    (device,) = take_part(server, devices_of(server, people, {"carol": acts}))
    assert [one.get("reason", one.get("group")) for one in device["seen"]] == [
        "nothing",
        "local",
        "early",
        "local",
        "withdrawn",
    ]
