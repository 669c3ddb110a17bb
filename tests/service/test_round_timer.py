"""Rounds that follow each other in time: driven by a clock that the tests set, on one replica or two."""

import asyncio
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybriddp import MeanStudy
from hybriddp.kmeans import KMeansStudy
from hybriddp.release.mechanisms import Mechanism
from hybriddp.service import round_timer
from hybriddp.service.store import studies
from tests.service.attacking import refused
from tests.service.clocks import set_clocks
from tests.service.conftest import empty_database
from tests.service.faults import until
from tests.service.kmeans_people import People, in_memory, spent
from tests.service.running import CLOSES, Running, running

START = 1_900_000_000  # seconds since 1970
HOUR = 3600


@pytest.fixture(autouse=True, scope="module")
def _nobody_looks() -> Iterator[None]:
    """Nobody looks but the tests, and a server when it starts; its clock is the tests'."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(round_timer, "EVERY", 1e6)
        set_clocks(patched, START)
        yield


@pytest.fixture(autouse=True)
def _no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise the same answers give the same centers."""
    monkeypatch.setattr(Mechanism, "draw", lambda _, shape, *__: np.zeros(shape, np.int64))


@pytest.fixture(autouse=True)
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets the clock, to so many hours after the start."""

    def set_to(hours: float) -> None:
        set_clocks(monkeypatch, START + hours * HOUR)

    set_to(0)
    return set_to


def people_of(name: str, *, n_trusted: int = 30, n_local: int = 80) -> People:
    study = KMeansStudy(name, n_clusters=2, bounds=[(0, 10), (0, 10)], epsilon=4)
    return People.of(study, name, n_trusted=n_trusted, n_local=n_local)


def create(server: Running, people: People, **fields: object) -> dict[str, Any]:
    """A study that closes after an hour, with rounds of a day."""
    closes = datetime.fromtimestamp(START + HOUR, UTC).isoformat()
    made = people.create(server, **{"closes_at": closes, "round_hours": 24} | fields)
    assert made.status_code == 201, made.text
    people.enroll(server)
    document: dict[str, Any] = made.json()
    return document


def look(*servers: Running) -> None:
    """The timers of these replicas look, all at once."""

    async def work() -> None:
        await asyncio.gather(*(server.prepared.app.state.round_timer.look() for server in servers))

    asyncio.run(work())


def shown(server: Running, people: People) -> dict[str, Any]:
    document: dict[str, Any] = server.http.get(f"/studies/{people.id}", headers=server.admin).json()
    return document


def answers(server: Running, people: People, fraction: float = 1.0) -> list[dict[str, Any]]:
    """A part of those who are asked answers."""
    asked = people.asked(server)
    messages = asked.messages(asked.names[: round(fraction * len(asked.names))])
    assert set(asked.send(server, messages)) <= {"accepted"}
    return list(messages.values())


def steps(server: Running, outcome: str) -> float:
    metrics = server.prepared.app.state.metrics
    return float(metrics.registry.get_sample_value("hybriddp_rounds_total", {"outcome": outcome}) or 0)


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Running]:
    """A curator of one test, since no curator's clock can be set back."""
    with running(tmp_path) as server:
        yield server


@pytest.mark.slow
def test_a_study_runs_by_itself_with_a_fifth_of_its_people_missing(
    own_server: Running, at: Callable[[float], None]
) -> None:
    server, people = own_server, people_of("visits")
    said: list[list[dict[str, Any]]] = []
    made = create(server, people, release_at_end=True)
    assert (made["round_hours"], made["release_at_end"], made["rounds"]) == (24, True, [])
    look(server)
    assert shown(server, people)["state"] == "open"
    now = 1.0
    at(now)
    look(server)
    while (document := shown(server, people))["round"] is not None:
        number = len(said) + 1
        assert (document["state"], document["round"]["number"]) == ("asking", number)
        deadline = datetime.fromisoformat(document["closes_at"])
        assert deadline.timestamp() == START + (now + 24) * HOUR
        said.append(answers(server, people, 0.8))
        last = shown(server, people)["rounds"][-1]
        assert (last["number"], last["answered"]) == (number, len(said[-1]))
        assert server.http.get("/studies/visits").json()["rounds"][-1]["answered"] is None  # not before it has ended
        at(now + 23.9)
        look(server)
        assert shown(server, people)["round"]["number"] == number  # nothing is due yet
        now += 24.5
        at(now)
        look(server)
    document = server.http.get("/studies/visits").json()
    assert document["state"] == "released"
    rounds = document["rounds"]
    assert [one["answered"] for one in rounds] == [*map(len, said)]
    assert [one["asked_about"] for one in rounds] == [round(Fraction(one["user_fraction"]) * 80) for one in rounds]
    alone = in_memory(people, said)
    assert server.http.get("/studies/visits/result").json()["estimate"]["centers"] == alone.cluster_centers.tolist()
    assert spent(server, "visits") == [step.trusted_epsilon for step in alone.spending if step.trusted_epsilon != "0"]
    assert (steps(server, "published"), steps(server, "released"), steps(server, "failed")) == (len(said), 1, 0)
    look(server)
    assert steps(server, "released") == 1


@pytest.fixture
def replicas(postgresql: str, tmp_path: Path) -> Iterator[tuple[Running, Running]]:
    """Two replicas on one database."""
    for shared in empty_database(postgresql):
        with running(tmp_path, shared) as one, running(tmp_path, shared) as other:
            yield one, other


@pytest.mark.slow
def test_two_replicas_take_each_step_once(replicas: tuple[Running, Running], at: Callable[[float], None]) -> None:
    one, other = replicas
    people, said = people_of("replicas"), []
    create(one, people, release_at_end=True)
    at(1)
    look(one, other)
    for day in range(1, 9):
        if shown(other, people)["round"] is None:
            break
        said.append(answers(other, people))
        at(1 + 25 * day)
        look(one, other, one)
    look(other, one)
    assert shown(one, people)["state"] == "released"
    alone = in_memory(people, said)
    assert one.http.get("/studies/replicas/result").json()["estimate"]["centers"] == alone.cluster_centers.tolist()
    assert spent(one, "replicas") == [step.trusted_epsilon for step in alone.spending if step.trusted_epsilon != "0"]
    for outcome, times in (("published", len(said)), ("released", 1), ("failed", 0)):
        assert steps(one, outcome) + steps(other, outcome) == times


def crash(*_: object, **__: object) -> None:
    raise RuntimeError("the power is gone")


@pytest.mark.slow
def test_crashes_and_long_downtimes_change_nothing(
    tmp_path: Path, at: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    people, said, now = people_of("downtimes"), [], 1.0
    with running(tmp_path) as server:
        create(server, people)
    while True:
        at(now)
        with running(tmp_path) as server, monkeypatch.context() as patched:  # it looks when it starts, too
            before = spent(server, people.id)
            patched.setattr(studies, "store_result", crash)  # after the draw, before the commit
            look(server)
            assert spent(server, people.id) == before or steps(server, "published")
        with running(tmp_path) as server:
            look(server)
            document = shown(server, people)
            if document["round"] is None:
                break
            deadline = datetime.fromisoformat(document["closes_at"]).timestamp()
            assert deadline == START + (now + 24) * HOUR  # everybody has the whole time
            said.append(answers(server, people))
        now += 24 * 30
    with running(tmp_path) as server:
        assert shown(server, people)["state"] == "closed"
        released = server.move("release", people.id).json()
        alone = in_memory(people, said)
        assert released["estimate"]["centers"] == alone.cluster_centers.tolist()
        costs = [step.trusted_epsilon for step in alone.spending if step.trusted_epsilon != "0"]
        assert spent(server, people.id) == costs


def test_a_step_that_fails_is_tried_again_later(
    kept_server: Running, at: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, people = kept_server, people_of("failing", n_local=20)
    create(server, people)
    failed, published = steps(server, "failed"), steps(server, "published")
    at(1)
    timer = server.prepared.app.state.round_timer
    with monkeypatch.context() as patched:
        patched.setattr(studies, "store_result", crash)
        look(server)
        look(server)  # not so soon
    assert steps(server, "failed") == failed + 1
    assert "the log says where" in timer.trouble("failing")
    assert spent(server, "failing") == []
    look(server)
    assert steps(server, "published") == published
    at(1.1)
    look(server)
    assert steps(server, "published") == published + 1
    assert timer.trouble("failing") == ""
    assert shown(server, people)["round"]["number"] == 1
    with monkeypatch.context() as patched:
        patched.setattr(round_timer.RoundTimer, "_timed", crash)
        look(server)  # the database is away
    assert steps(server, "failed") == failed + 2
    assert server.move("close?round=1", "failing").json()["state"] == "closed"  # by hand: the next one follows
    look(server)
    assert server.move("close?round=1", "failing").json()["state"] == "asking"  # sent again, it ends no other round
    server.http.post("/operator/login", data={"key": server.admin_key})
    token = re.findall('name="csrf" value="([^"]+)"', server.http.get("/operator/studies/failing").text)[0]
    form = {"csrf": token, "sure": "yes", "round": "1"}
    assert server.http.post("/operator/studies/failing/close", data=form).status_code == 200
    assert shown(server, people)["state"] == "asking"
    assert refused(server.move("close?round=x", "failing")) == "malformed"
    assert [one["answered"] for one in shown(server, people)["rounds"]] == [0, 0]


@pytest.mark.parametrize(
    ("n_trusted", "n_local", "fields", "words"),
    [
        (5, 1, {}, "The local group has 1 of the 2"),
        (0, 0, {"single_group": True}, "0 participants have enrolled, and 2 clusters need 2."),
        (1, 0, {"single_group": True}, "1 participant has enrolled, and 2 clusters need 2."),
    ],
)
def test_too_few_people_stop_a_study_once(
    kept_server: Running, n_trusted: int, n_local: int, fields: dict[str, object], words: str
) -> None:
    name = f"few-{n_trusted}"
    server, people = kept_server, people_of(name, n_trusted=n_trusted, n_local=n_local)
    create(server, people, closes_at=CLOSES, **fields)
    short = steps(server, "short")
    server.move("close", name)
    for _ in range(3):
        look(server)
    assert steps(server, "short") == short + 1
    assert spent(server, name) == []
    assert (shown(server, people)["state"], shown(server, people)["rounds"]) == ("closed", [])
    server.http.post("/operator/login", data={"key": server.admin_key})
    page = server.http.get(f"/operator/studies/{name}").text
    assert f"It cannot go on. {words}" in page


def test_a_study_that_has_ended_waits_for_its_operator(kept_server: Running) -> None:
    server, people = kept_server, people_of("waiting", n_trusted=40, n_local=0)
    create(server, people, single_group=True, closes_at=CLOSES)
    ended = steps(server, "ended")
    server.move("close", "waiting")
    for _ in range(3):
        look(server)
    assert steps(server, "ended") == ended + 1
    document = shown(server, people)
    assert (document["state"], document["rounds"]) == ("closed", [])
    assert server.move("release", "waiting").status_code == 200


def test_no_trouble_is_told_of_a_study_that_has_been_withdrawn(
    kept_server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, people = kept_server, people_of("given-up", n_local=20)
    create(server, people, closes_at=CLOSES)
    server.move("close", "given-up")
    with monkeypatch.context() as patched:
        patched.setattr(studies, "store_result", crash)
        look(server)
    timer = server.prepared.app.state.round_timer
    assert timer.trouble("given-up")
    server.move("withdraw", "given-up")
    look(server)
    assert timer.trouble("given-up") == ""


def test_what_cannot_be_asked_for(kept_server: Running) -> None:
    mean = MeanStudy("minutes in time", bounds=(0, 240), epsilon=1)
    assert refused(kept_server.create(mean, "timed", round_hours=24)) == "malformed"
    people = people_of("asked-for")
    assert refused(people.create(kept_server, release_at_end=True)) == "malformed"
    for hours in (0, -1, 9000, "24"):
        assert refused(people.create(kept_server, round_hours=hours)) == "malformed"
    assert people.create(kept_server, round_hours=0.5).json()["round_hours"] == 0.5


def test_the_server_looks_by_itself(
    tmp_path: Path, at: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_timer, "EVERY", 0.01)
    people = people_of("alone", n_local=20)
    with running(tmp_path) as server:
        create(server, people)
        at(1)

        async def wait() -> None:
            await until(lambda: shown(server, people)["state"] == "asking", "A round")

        asyncio.run(wait())
        assert shown(server, people)["round"]["number"] == 1
