"""A clock that reads a wrong time closes nothing: it is compared with elapsed seconds and with what is stored."""

import asyncio
import logging
from datetime import timedelta
from pathlib import Path

import pytest

from hybriddp.service import round_timer
from hybriddp.service.app import prepare
from hybriddp.service.clock import MOST_APART, CertainTime, Clock, boot_id, elapsed_seconds
from hybriddp.service.settings import Settings
from hybriddp.service.store.engine import reading
from hybriddp.service.store.facts import TIME, known_fact
from tests.service.attacking import NONCE, Target, new_target
from tests.service.clocks import set_clocks
from tests.service.kmeans_people import People
from tests.service.running import HOUR, Running, running
from tests.service.store.databases.written import VISITS

START, DAY = 1_900_000_000, 86_400
CLOSES = "2030-03-18T17:46:40Z"  # a day later


@pytest.fixture(autouse=True)
def _start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_timer, "EVERY", 1e6)
    set_clocks(monkeypatch, START)


# By itself


def test_elapsed_seconds_and_boots() -> None:
    with pytest.MonkeyPatch.context() as undone:
        undone.undo()
        before = elapsed_seconds()
        assert elapsed_seconds() >= before > 0
        assert boot_id() == boot_id()


def test_a_clock_that_is_right_is_read(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    for passed, off in ((0, 0), (10, 0), (100, MOST_APART), (200, -MOST_APART), (1000, 7), (1000, 0)):
        before = clock()
        set_clocks(monkeypatch, START + passed + off, elapsed=START + passed)
        assert clock() == max(before, START + passed + off)  # it never runs backward
        assert clock.certain()
    assert not caplog.records


@pytest.mark.parametrize("off", [-10 * DAY, -MOST_APART - 1, MOST_APART + 1, 10 * DAY])
def test_a_clock_that_jumps_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, off: int
) -> None:
    clock = Clock()
    for passed in (60, 120):
        set_clocks(monkeypatch, START + passed + off, elapsed=START + passed)
        assert clock() == START + passed
        assert ("ahead" if off > 0 else "behind") in clock.doubt()
        assert clock.to_store(None) is None
    assert "2030-03-17T17:48 UTC" in clock.doubt()
    set_clocks(monkeypatch, START + 180)
    assert clock() == START + 180
    assert clock.certain()
    told = [(record.msg, record.levelno) for record in caplog.records]
    assert told == [("clock in doubt", logging.ERROR), ("clock right again", logging.WARNING)]


def test_small_corrections_may_add_up_over_days_and_not_within_one(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, quick = Clock(), Clock()
    for day in range(1, 11):
        set_clocks(monkeypatch, START + day * (DAY + 200), elapsed=START + day * DAY)
        assert slow.certain()
    set_clocks(monkeypatch, START + 200, elapsed=START + 100)
    assert quick.certain()
    set_clocks(monkeypatch, START + 600, elapsed=START + 200)
    assert not quick.certain()


@pytest.mark.parametrize(
    ("wall", "elapsed", "boot", "certain"),
    [
        (30 * DAY, 30 * DAY, "b", True),  # the same boot of the machine: so long has it been
        (30 * DAY, 20 * DAY, "b", False),  # ten days ahead
        (200, 5, "another", True),  # another machine, or started anew
        (30 * DAY, 5, "another", False),  # down for so long, or wrong: nobody knows
        (-10 * DAY, 5, "another", False),
        (30 * DAY, 30 * DAY, "", False),  # a system without names of boots
    ],
)
def test_a_start_is_compared_with_the_last_time_stored(
    monkeypatch: pytest.MonkeyPatch, wall: int, elapsed: int, boot: str, certain: bool
) -> None:
    last = Clock().to_store(None)
    assert last is not None
    assert last == CertainTime.from_json(last.to_json()) == CertainTime(START, START, "b")
    moved = START + elapsed if boot == "b" else elapsed
    set_clocks(monkeypatch, START + wall, elapsed=moved, boot=boot)
    clock = Clock(last)
    assert clock.certain() == certain
    if not certain:  # it goes on from what was certain
        assert clock() == START + (elapsed if boot == "b" else 0)
        set_clocks(monkeypatch, START + wall + 60, elapsed=moved + 60, boot=boot)
        assert clock() == START + (elapsed if boot == "b" else 0) + 60
    assert Clock().certain()  # --clock-ok


def test_a_later_time_of_another_replica_is_a_reason_to_doubt(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    for ahead, certain in ((0, True), (MOST_APART, True), (MOST_APART + 1, False), (DAY, False), (-DAY, True)):
        stored = CertainTime(START + ahead, 0, "other")
        assert (clock.to_store(stored) is not None, clock.certain()) == (certain, certain)
    assert [record.msg for record in caplog.records] == ["clock in doubt", "clock right again"]


# In a server


def look(server: Running) -> None:
    asyncio.run(server.prepared.app.state.round_timer.look())


def state_of(server: Running, study_id: str) -> str:
    return str(server.http.get(f"/studies/{study_id}").json()["state"])


def stored_time(server: Running) -> float:
    with reading(server.prepared.app.state.curator.engine) as connection:
        last = CertainTime.from_json(known_fact(connection, TIME))
    assert last is not None
    return last.at


@pytest.fixture
def targets(server: Running) -> tuple[Target, Target]:
    """Two studies that close after a day; somebody has sent a report to each."""
    found = (new_target(server, closes_at=CLOSES), new_target(server, closes_at=CLOSES))
    for target in found:
        assert target.send(target.report()).status_code == 201
    return found


@pytest.mark.slow
@pytest.mark.representative
def test_ten_days_for_a_moment_close_nothing(
    server: Running, targets: tuple[Target, Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    target, _ = targets
    people = People.of(VISITS, "visits", n_trusted=5, n_local=5)
    assert people.create(server, closes_at=CLOSES, round_hours=24).status_code == 201
    people.enroll(server)
    before = stored_time(server)
    set_clocks(monkeypatch, START + 10 * DAY, elapsed=START + 120)
    look(server)
    ready = server.http.get("/ready")
    assert (ready.status_code, ready.json()["reason"]) == (503, "unavailable")
    assert "The clock is 10.0 days ahead" in ready.json()["detail"]
    assert server.http.get("/health").status_code == 200
    documents = server.http.get("/studies", headers=server.admin).json()
    assert {study["state"] for study in documents} == {"open"}
    assert target.send(target.report(8), who="b").status_code == 201
    assert target.send(target.report(), to="reports/withdraw").status_code == 200
    assert target.move("release").status_code == 409
    deadline = {"closes_at": "2099-01-01T00:00:00Z"}
    refused = server.http.post("/studies/visits/round", headers=server.admin, json=deadline)
    assert (refused.status_code, "clock is in doubt" in refused.json()["detail"]) == (503, True)
    assert stored_time(server) == before
    set_clocks(monkeypatch, START + 180)
    look(server)
    assert server.http.get("/ready").status_code == 200
    assert stored_time(server) == START + 180
    assert target.send(target.report(9), who="c").status_code == 201
    set_clocks(monkeypatch, START + DAY)  # and now the time has come
    look(server)
    assert state_of(server, target.id) == "closed"
    assert state_of(server, "visits") == "asking"


def test_whoever_comes_after_the_time_in_doubt_is_to_come_again(
    server: Running, targets: tuple[Target, Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    target, closed = targets
    assert closed.move("close").status_code == 200
    batch = {"digest": target.study.digest, "reports": [{"participant": "d", "code": 1, "nonce": NONCE}]}
    relay = server.relay()
    set_clocks(monkeypatch, START + 20 * DAY, elapsed=START + 2 * DAY)
    for answer in (
        target.send(target.report(8), who="b"),
        target.send(target.value(3.0), to="values", who="b"),
        target.send(target.report(), to="reports/withdraw"),
    ):
        assert (answer.status_code, answer.json()["reason"]) == (503, "unavailable")
    told = server.http.post(f"/studies/{target.id}/batches", headers=relay, json=batch)
    assert told.json()["rejected"] == [{"index": 0, "reason": "unavailable"}]
    assert closed.send(closed.report(8), who="b").json()["reason"] == "closed"  # that is certain


def test_a_token_is_valid_by_the_right_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path) as server:
        target = new_target(server, closes_at=CLOSES)
        people = {"short": timedelta(seconds=60), "ann": HOUR, "ben": HOUR}
        tokens = {name: server.token(name, target.id, life)["Authorization"] for name, life in people.items()}

        def send(who: str) -> tuple[int, str]:
            answer = target.send(target.report(), authorization=tokens[who])
            return answer.status_code, answer.json().get("reason", "")

        for wall, elapsed, who in ((10 * DAY, 30, "ann"), (-10 * DAY, 120, "ben")):
            set_clocks(monkeypatch, START + wall, elapsed=START + elapsed)
            assert send(who) == (201, "")
        assert send("short") == (503, "unavailable")  # expired; but whoever heard that would not come again
        set_clocks(monkeypatch, START + 180)
        assert send("short") == (401, "bad-token")


@pytest.fixture
def stopped(tmp_path: Path) -> Settings:
    """A server that has stopped, with a study that closes after a day."""
    with running(tmp_path) as server:
        new_target(server, closes_at=CLOSES)
    return Settings(data=tmp_path / "data", key_file=tmp_path / "hybriddp.key")


@pytest.mark.parametrize(("clock_ok", "warning"), [(False, "10.0 days ahead"), (True, "")])
def test_a_start_in_doubt_is_warned_of(
    stopped: Settings, monkeypatch: pytest.MonkeyPatch, clock_ok: bool, warning: str
) -> None:
    for boot in ("another", "third"):  # once is enough: what is stored then is right
        set_clocks(monkeypatch, START + 10 * DAY, elapsed=5, boot=boot)
        prepared = prepare(stopped, clock_ok=clock_ok and boot == "another")
        prepared.app.state.curator.close()
        assert (warning in prepared.warning, bool(prepared.warning)) == (True, bool(warning))
        assert prepared.app.state.curator.clock() == START + (10 * DAY if clock_ok else 0)
