"""The JavaScript client in Node and the real server: what one promises the other keeps."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hybriddp import DistributionStudy, FrequencyStudy, HeavyHitterStudy, MeanStudy
from hybriddp.client import Client, verify
from hybriddp.client.questions import DistributionQuestion
from hybriddp.items.records import integer_of
from hybriddp.service.kinds import DistributionKind, study_kind
from hybriddp.service.store.contributions import sizes, tally, total
from hybriddp.service.store.engine import reading
from hybriddp.service.store.studies import study as stored_study
from tests.service.running import Running

ROOT = Path(__file__).parents[2]
DIST = ROOT / "js" / "dist"
MINUTES = MeanStudy("session minutes, in browsers", bounds=(0, 240), epsilon=1.0, delta="0.00001")
FRUIT = FrequencyStudy("favorite fruit, in browsers", categories=["apple", "pear", "fig"], epsilon=2, other=True)


Devices = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


@contextmanager
def devices_in_node(server: Running) -> Iterator[Devices]:
    """Devices that take part in Node: called with what each is told to do, they give back what each of them saw."""
    assert (DIST / "words.js").exists(), "The JavaScript package has not been built: run make js."
    node = shutil.which("node", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert node is not None, "Node.js is missing: run make js."
    command = [node, str(Path(__file__).with_name("devices.mjs")), DIST.as_uri(), server.url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:

        def take_part(people: list[dict[str, Any]]) -> list[dict[str, Any]]:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(people) + "\n")
            process.stdin.flush()
            seen: list[dict[str, Any]] = json.loads(process.stdout.readline())
            return seen

        yield take_part
    assert process.returncode == 0


def take_part(server: Running, people: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What devices saw that took part in Node."""
    with devices_in_node(server) as devices:
        return devices(people)


def person(server: Running, name: str, study: str, *acts: tuple[str, object]) -> dict[str, Any]:
    return {"token": _token(server, name, study), "acts": acts}


def _token(server: Running, name: str, study: str) -> str:
    return server.token(name, study)["Authorization"].removeprefix("Bearer ")


@pytest.mark.slow
def test_a_crowd_of_devices_reports_trusts_and_withdraws(kept_server: Running) -> None:
    server = kept_server
    server.create(MINUTES, "js-minutes")
    people = []
    for i in range(200):
        acts: list[tuple[str, object]] = [("trust" if i % 4 == 0 else "report", 1.2 * i)]
        acts += [("report", 0.0)] if i % 50 == 1 else []  # sent again as it was
        acts += [("withdraw", None)] if i % 10 == 0 else []
        people.append(person(server, f"p{i}", "js-minutes", *acts))
    devices = take_part(server, people)
    keys = server.http.get("/.well-known/hybriddp-receipts.json").json()
    for i, device in enumerate(devices):
        first = device["seen"][0]
        assert (first["group"], first["resent"]) == ("trusted" if i % 4 == 0 else "local", False)
        for receipt in device["seen"]:
            verify(receipt["document"], keys)
        if i % 50 == 1:
            assert device["seen"][1]["commitment"] == first["commitment"]
            assert device["seen"][1]["resent"]
        if i % 10 == 0:
            assert (device["seen"][-1]["withdrawn"], device["seen"][-1]["opened"]) == (True, True)
            assert set(device["kept"]) == {"gone", "receipt"}
    staying = [device["kept"] for i, device in enumerate(devices) if i % 10]
    trusted = [kept["integer"] for kept in staying if kept["group"] == "trusted"]
    codes = Counter(kept["integer"] for kept in staying if kept["group"] == "local")
    assert trusted == [MINUTES.grid.place([1.2 * i]).units[0] for i in range(200) if i % 10 and i % 4 == 0]
    curator = server.prepared.app.state.curator
    with reading(curator.engine) as connection:
        found = stored_study(connection, "js-minutes")
        assert found is not None
        row = found.number
        assert (sizes(connection, row).trusted, sizes(connection, row).local) == (len(trusted), codes.total())
        assert {code: n for code, n in tally(connection, row).items() if n} == dict(codes)
        assert total(connection, row, MINUTES.digest, curator.seal) == sum(trusted)
    assert server.move("close", "js-minutes").json()["counts"] == {"trusted": 40, "local": 140}


@pytest.mark.slow
def test_both_clients_make_the_same_promise_and_read_the_same_receipt(kept_server: Running, tmp_path: Path) -> None:
    server = kept_server
    told = MeanStudy("session minutes, told twice", bounds=(-0.5, 1234567.0), epsilon="0.7", delta="0.00001")
    server.create(told, "js-told")
    server.create(FRUIT, "js-fruit")
    load = DistributionStudy("page load, told twice", bounds=(0, 10_000), epsilon=1, scale="log")
    server.create(load, "js-told-load")
    values = {"js-told": 3.5, "js-fruit": "kiwi", "js-told-load": 481.25}
    people = [
        person(server, "alice", study, ("promise", None), ("trust", value), ("withdraw", None), ("report", value))
        for study, value in values.items()
    ]
    for (study, value), device in zip(values.items(), take_part(server, people), strict=True):
        promise, receipt, withdrawal, refused = device["seen"]
        with Client(server.url, _token(server, "bob", study), journal=tmp_path / study) as client:
            assert promise == client.promise()
            assert receipt["words"] == str(client.trust(value))
            assert withdrawal["words"] == str(client.withdraw())
        assert (refused["error"], refused["reason"]) == ("ProtocolError", "withdrawn")


@pytest.mark.slow
def test_categories_and_refusals(kept_server: Running) -> None:
    server = kept_server
    study = FrequencyStudy("favorite fruit, refused", categories=["apple", "pear"], epsilon=1)
    server.create(study, "js-refused")
    twice = person(server, "dora", "js-refused", ("report", "pear"))
    people = [
        person(server, "alice", "js-refused", ("report", "apple")),
        person(server, "bob", "js-refused", ("trust", "pear")),
        person(server, "carol", "js-refused", ("report", "kiwi")),
        twice,
        {"token": twice["token"][:-4] + "AAAA", "acts": [("report", "pear")]},
        {"study": "js-refused", "acts": [("report", "pear")]},
    ]
    alice, bob, carol, dora, forged, nobody = take_part(server, people)
    assert (alice["seen"][0]["group"], bob["seen"][0]["group"], bob["kept"]["integer"]) == ("local", "trusted", 1)
    assert (carol["seen"][0]["reason"], carol.get("kept")) == ("value", None)
    assert dora["seen"][0]["group"] == "local"
    assert (forged["seen"][0]["error"], forged["seen"][0]["reason"]) == ("RejectedError", "bad-token")
    assert (nobody["seen"][0]["error"], nobody["seen"][0]["reason"]) == ("ProtocolError", "token")
    (again,) = take_part(server, [twice])  # a device that has lost what it drew
    assert (again["seen"][0]["error"], again["seen"][0]["reason"]) == ("RejectedError", "duplicate")
    assert server.move("close", "js-refused").json()["counts"] == {"trusted": 1, "local": 2}


@pytest.mark.slow
def test_of_a_distribution_no_more_than_the_bin_leaves_the_device(kept_server: Running) -> None:
    server = kept_server
    study = DistributionStudy("page load, in browsers", bounds=(0, 10_000), epsilon=1, scale="log")
    server.create(study, "js-load")
    values = [-5.0, 0.0, 1e-9, 0.3, 481.25, 9_999.999, 10_000.0, 1e9]
    people = [person(server, f"t{i}", "js-load", ("trust", value)) for i, value in enumerate(values)]
    people += [person(server, f"l{i}", "js-load", ("report", value)) for i, value in enumerate(values)]
    people.append(person(server, "w", "js-load", ("trust", 481.25), ("withdraw", None)))
    devices = take_part(server, people)
    assert [device["kept"]["integer"] for device in devices[:8]] == [study.bins.of_value(value) for value in values]
    sent = [json.loads(device["kept"]["body"])["value"] for device in devices[:8]]
    assert sent == [DistributionQuestion(study).trusted(value).sent for value in values]
    assert devices[-1]["seen"][-1]["opened"]
    curator = server.prepared.app.state.curator
    with reading(curator.engine) as connection:
        found = stored_study(connection, "js-load")
        assert found is not None
        kind = study_kind(found.text)
        assert isinstance(kind, DistributionKind)
        counts = kind.sums.counts(total(connection, found.number, study.digest, curator.seal, kind.sums))
        codes = {code: n for code, n in tally(connection, found.number).items() if n}
    bins = Counter(study.bins.of_value(value) for value in values)
    assert list(counts) == [bins[number] for number in range(256)]
    assert codes == dict(Counter(device["kept"]["integer"] for device in devices[8:16]))
    assert server.move("close", "js-load").json()["counts"] == {"trusted": 8, "local": 8}


def test_devices_take_part_in_a_study_of_parts_as_in_any_other(kept_server: Running) -> None:
    server, study = kept_server, MeanStudy("minutes by country, in browsers", bounds=(0, 240), epsilon=1)
    server.create(study, "js-parts", parts={"by": "country", "names": ["DE", "FR"]})
    acts = {"ann": ("DE", "report"), "bob": ("FR", "trust"), "cem": ("FR", "report"), "eve": ("", "report")}
    people = []
    for name, (part, act) in acts.items():
        token = server.token(name, "js-parts", part=part or None)["Authorization"].removeprefix("Bearer ")
        people.append({"token": token, "acts": [(act, 40.0), *([("withdraw", None)] if name == "cem" else [])]})
    ann, bob, cem, eve = take_part(server, people)
    assert (ann["seen"][0]["part"], bob["seen"][0]["part"], cem["seen"][0]["part"]) == ("DE", "FR", "FR")
    assert cem["seen"][1]["opened"]
    assert (eve["seen"][0]["error"], eve["seen"][0]["reason"]) == ("RejectedError", "bad-token")
    counts = server.move("close", "js-parts").json()["part_counts"]
    assert counts == [{"name": "DE", "trusted": 0, "local": 1}, {"name": "FR", "trusted": 1, "local": 0}]


@pytest.mark.slow
def test_items_are_trusted_and_then_reported_about_the_list(kept_server: Running, tmp_path: Path) -> None:
    server = kept_server
    study = HeavyHitterStudy("search word, in browsers", epsilon=8, delta="0.001")
    assert server.create(study, "js-items").status_code == 201
    items = ["weather"] * 30 + ["ünïcode ☂"] * 30 + ["zero\u200bwidth", "a" * 65, "once"]
    people = [person(server, f"t{i}", "js-items", ("trust", item)) for i, item in enumerate(items)]
    people.append(person(server, "gone", "js-items", ("trust", "weather"), ("withdraw", None)))
    people.append(person(server, "early", "js-items", ("promise", None), ("report", "weather")))
    *trusted, gone, early = take_part(server, people)
    sent = [item if 0 < len(item.encode()) <= 64 and item.isprintable() else "(other)" for item in items]
    assert [device["kept"]["integer"] for device in trusted] == [str(integer_of(item)) for item in sent]
    assert gone["seen"][-1]["opened"]
    assert (early["seen"][1]["error"], early["seen"][1]["reason"], early.get("kept")) == ("RejectedError", "list", None)
    with Client(server.url, _token(server, "bob", "js-items"), journal=tmp_path / "bob") as client:
        assert early["seen"][0] == client.promise()
    assert server.move("list", "js-items").json()["counts"] == {"trusted": len(items), "local": 0}
    question = server.http.get("/studies/js-items").json()["question"]
    people = [person(server, f"l{i}", "js-items", ("report", item)) for i, item in enumerate(items)]
    people.append(person(server, "late", "js-items", ("promise", None), ("trust", "weather")))
    people.append(person(server, "left", "js-items", ("report", "weather"), ("withdraw", None)))
    *local, late, left = take_part(server, people)
    for device in local:
        receipt = device["seen"][0]
        assert (receipt["digest"], receipt["delta"], receipt["group"]) == (question["digest"], "0", "local")
    assert late["seen"][1]["reason"] == "list"
    with Client(server.url, _token(server, "carl", "js-items"), journal=tmp_path / "carl") as client:
        assert late["seen"][0] == client.promise()
    assert left["seen"][-1]["opened"]
    assert server.move("close", "js-items").json()["counts"] == {"trusted": len(items), "local": len(items)}
    released = server.move("release", "js-items").json()
    assert {row["name"] for row in released["estimate"]["rows"]} <= {"weather", "ünïcode ☂"}
