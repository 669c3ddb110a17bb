"""Faults under load: what was acknowledged is stored, nobody counts twice, sums are exact, and there is one release."""

import asyncio
import json
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hybriddp import DistributionStudy, FrequencyStudy, HeavyHitterStudy, MeanStudy
from hybriddp.items.records import integer_of
from hybriddp.service.routes import contributions as routes
from hybriddp.service.store import contributions as stored
from tests.postgresql import get_server
from tests.service.clocks import set_clocks
from tests.service.crowd import STUDY, Crowd, Person, Stored
from tests.service.faults import ServerProcess, UnheardError, ask, can_mount, full_disk, serving, tell, until
from tests.service.running import CLOSES, CONSENT, Running, ServedStudy, running

SHARES = FrequencyStudy("favorite color", categories=[f"color {i}" for i in range(20)], other=False, epsilon=1.0)
QUANTILES = DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1.0, scale="log")
UP = 0.4  # seconds that a server lives at most after the first answer


def rounds(short: int, long: int) -> pytest.MarkDecorator:
    """How often: a short form for every commit, and a long one for `make faults`."""
    forms = [pytest.param(short, marks=pytest.mark.slow), pytest.param(long, marks=pytest.mark.long)]
    return pytest.mark.parametrize("times", forms)


def rounds_on_each(short: int, long: int) -> pytest.MarkDecorator:
    """The same on both databases, the short form on SQLite alone."""
    forms = [pytest.param("sqlite", short, marks=pytest.mark.slow)]
    forms += [pytest.param(database, long, marks=pytest.mark.long) for database in ("sqlite", "postgresql")]
    return pytest.mark.parametrize(("database", "times"), forms, indirect=["database"])


def rounds_of_all_kinds() -> pytest.MarkDecorator:
    """The same for studies of a mean, and fewer of them for one whose reports are counted bit by bit, and for bins."""
    slow, long = pytest.mark.slow, pytest.mark.long
    forms = [(STUDY, 1, slow), (STUDY, 50, long), (SHARES, 20, long), (QUANTILES, 10, long)]
    params = [pytest.param(of, times, marks=mark, id=f"{type(of).__name__}-{times}") for of, times, mark in forms]
    return pytest.mark.parametrize(("study", "times"), params)


@rounds_of_all_kinds()
def test_kills_under_load(tmp_path: Path, address: str, rng: Random, study: ServedStudy, times: int) -> None:
    server = ServerProcess(tmp_path, address)
    crowd = Crowd([server], rng, study=study)

    async def kill() -> None:
        for _ in range(times):
            await crowd.goes_on()
            await crowd.random_moment(UP)
            server.kill()
            if rng.random() < 0.2:  # some die before they are up
                server.spawn()
                await crowd.random_moment(2.0)
                server.kill()
                crowd.counts["kills while starting"] += 1
            await asyncio.to_thread(server.start)
            crowd.counts["kills"] += 1
        await crowd.goes_on()
        await crowd.move("close")

    async def run() -> None:
        await crowd.open_study()
        await crowd.load(kill())
        result = await crowd.release()
        server.kill()
        await asyncio.to_thread(server.start)
        assert (await crowd.move("release")).body == result

    with serving(server):
        asyncio.run(run())
    assert crowd.counts["kills"] == times
    tell(crowd)


@rounds_on_each(1, 25)
def test_kills_amid_releases(tmp_path: Path, address: str, rng: Random, times: int) -> None:
    """A crash before the commit costs nothing, a crash after it loses nothing: whoever sees a result sees the same."""
    server = ServerProcess(tmp_path, address)
    figures = {"kills": 0, "before the commit": 0, "after it, unheard": 0, "after it, heard": 0}

    async def one(i: int, longest: float | None) -> float:
        study = MeanStudy(f"session minutes, week {i}", bounds=(0, 240), epsilon=1.0)
        crowd, seen = Crowd([server], rng, f"week-{i}", study), set()
        await crowd.open_study()
        for _ in range(4):
            await crowd.take_part()
        for _ in range(3):
            await crowd.relay_batch()
        while sum(person.trusted for person in crowd.acknowledged.values()) - len(crowd.withdrawn) < 4:
            await crowd.take_part()
        await crowd.move("close")
        before = crowd.check()
        path, key = f"/studies/week-{i}", server.admin_key

        async def see(method: str, what: str, credential: str = "") -> None:
            try:
                answer = await ask(server.port, method, f"{path}/{what}", credential)
            except UnheardError:
                return
            if answer.status == 200:
                seen.add(answer.body)

        async def watch() -> None:
            while server.port is not None and not seen:
                await see("GET", "result")

        started = time.perf_counter()
        asked = [asyncio.ensure_future(see("POST", "release", key)) for _ in range(2)]
        asked.append(asyncio.ensure_future(watch()))
        if longest is None:
            await asyncio.gather(*asked)
        else:
            await crowd.random_moment(longest)
            server.kill()
            await asyncio.gather(*asked)
            await asyncio.to_thread(server.start)
            committed = (await crowd.admin("GET", f"{path}/result")).status == 200
            assert committed or not seen
            figures["kills"] += 1
            figures["after it, heard" if seen else "after it, unheard" if committed else "before the commit"] += 1
        took = time.perf_counter() - started
        seen |= {(await crowd.move("release")).body, (await crowd.admin("GET", f"{path}/result")).body}
        assert len(seen) == 1
        after = Stored.read(server, f"week-{i}")
        assert (after.events, after.commitments) == (1, before.commitments)
        return took

    async def run() -> None:
        longest = await one(0, None)
        server.kill()
        await asyncio.to_thread(server.start)
        for i in range(1, times + 1):
            await one(i, 1.5 * longest)

    with serving(server):
        asyncio.run(run())
    tell(figures | {"releases": times + 1})


async def hand_over_words(crowd: Crowd, study: HeavyHitterStudy) -> None:
    """Trusted people's words: of two of them a new draw would show another list half of the time."""
    path = f"/studies/{crowd.study_id}"
    body = {"study": json.loads(study.to_json()), "id": crowd.study_id, "consent": CONSENT, "closes_at": CLOSES}
    assert (await crowd.admin("POST", "/studies", body)).status == 201
    words = ["weather"] * 30 + ["news", "maps"] * study.rule.threshold
    for i, word in enumerate(words):
        nonce = f"{crowd.rng.getrandbits(128):032x}"
        person = Person(f"p{i}", crowd.study_id, study.digest, True, word, integer_of(word), nonce)
        answer = await ask(crowd.servers[0].port, "POST", f"{path}/values", crowd.token(person), person.body)
        assert answer.status == 201


@rounds_on_each(1, 25)
def test_kills_amid_the_release_of_a_list(tmp_path: Path, address: str, rng: Random, times: int) -> None:
    """Noise is drawn for one list only, paid for once: whoever sees the question about it sees the same bytes."""
    server = ServerProcess(tmp_path, address)
    figures = {"kills": 0, "before the commit": 0, "after it, unheard": 0, "after it, heard": 0}

    async def one(i: int, longest: float | None) -> float:
        study = HeavyHitterStudy(f"search word, week {i}", epsilon=1, delta="0.001")
        crowd, seen = Crowd([server], rng, f"words-{i}"), set()
        path, key = f"/studies/words-{i}", server.admin_key
        await hand_over_words(crowd, study)

        async def see(method: str, what: str, credential: str = "") -> None:
            try:
                answer = await ask(server.port, method, f"{path}{what}", credential)
            except UnheardError:
                return
            if answer.status == 200 and answer.json["question"] is not None:
                seen.add(answer.json["question"]["text"])

        async def watch() -> None:
            while server.port is not None and not seen:
                await see("GET", "")

        started = time.perf_counter()
        asked = [asyncio.ensure_future(see("POST", "/list", key)) for _ in range(2)]
        asked.append(asyncio.ensure_future(watch()))
        if longest is None:
            await asyncio.gather(*asked)
        else:
            await crowd.random_moment(longest)
            server.kill()
            await asyncio.gather(*asked)
            await asyncio.to_thread(server.start)
            committed = (await crowd.admin("GET", path)).json["state"] != "open"
            assert committed or not seen
            figures["kills"] += 1
            figures["after it, heard" if seen else "after it, unheard" if committed else "before the commit"] += 1
        took = time.perf_counter() - started
        again = await crowd.move("list")
        assert again.status == 200 or again.json["reason"] == "refused"  # there is one list, and no second
        first = Stored.read_list(server, f"words-{i}")
        seen.add((await crowd.admin("GET", path)).json["question"]["text"])
        assert seen == {study.question(first).to_json()}
        if longest is None:
            server.kill()
            await asyncio.to_thread(server.start)
            assert Stored.read_list(server, f"words-{i}").to_json() == first.to_json()
        assert Stored.read(server, f"words-{i}").events == 1
        return took

    async def run() -> None:
        longest = await one(0, None)
        for i in range(1, times + 1):
            await one(i, 1.5 * longest)

    with serving(server):
        asyncio.run(run())
    tell(figures | {"lists": times + 1})


@rounds(1, 20)
def test_a_replica_that_dies_amid_batches(tmp_path: Path, shared: str, rng: Random, times: int) -> None:
    """Two replicas on one database: one dies, the other takes the same batch again, and both release at once."""
    servers = [ServerProcess(tmp_path, shared), ServerProcess(tmp_path, shared)]
    crowd = Crowd(servers, rng)

    async def kill() -> None:
        for _ in range(times):
            victim = rng.choice(servers)
            await crowd.goes_on(5)
            await crowd.random_moment(UP)
            batch = asyncio.ensure_future(crowd.relay_batch())
            await crowd.random_moment(0.03)
            victim.kill()
            await batch
            await asyncio.to_thread(victim.start)
            crowd.counts["kills"] += 1
        await crowd.goes_on(5)
        started = time.perf_counter()
        await crowd.move("close")  # under the load of both
        crowd.counts["ms to close"] = round(1000 * (time.perf_counter() - started))

    async def run() -> None:
        await crowd.open_study()
        await crowd.load(kill())
        await crowd.release()

    with serving(*servers):
        asyncio.run(run())
    tell(crowd)
    assert crowd.counts["kills"] == times


@pytest.fixture
def restartable() -> Iterator[Any]:
    """A PostgreSQL server of its own, which may be stopped."""
    with tempfile.TemporaryDirectory() as folder, get_server(folder) as server:
        yield server


@rounds(2, 10)
def test_a_database_that_restarts(tmp_path: Path, restartable: Any, rng: Random, times: int) -> None:
    """Problems while it is away, and then everything goes on, without a restart of the server."""
    server = ServerProcess(tmp_path, restartable.get_uri())
    crowd = Crowd([server], rng)

    def stop(how: int) -> None:
        postmaster = restartable.get_postmaster_info().process
        postmaster.send_signal(how)
        postmaster.wait(60)

    async def restart() -> None:
        for i in range(times):
            await crowd.goes_on()
            await crowd.random_moment(UP)
            await asyncio.to_thread(stop, signal.SIGQUIT if i % 2 else signal.SIGINT)  # like a crash, and in order
            refused = crowd.counts["unavailable"]
            await until(lambda at=refused: crowd.counts["unavailable"] > at, "A refusal")
            for path in ("/ready", "/studies/minutes", "/studies"):
                assert (await ask(server.port, "GET", path, server.admin_key)).status == 503, path
            assert (await ask(server.port, "GET", "/health")).status == 200
            await asyncio.to_thread(restartable.ensure_postgres_running)
            crowd.counts["restarts"] += 1
        await crowd.goes_on()
        await crowd.move("close")

    async def run() -> None:
        await crowd.open_study()
        await crowd.load(restart())
        await crowd.release()

    with serving(server):
        process = server.process
        asyncio.run(run())
        assert server.process is process
        assert process is not None
        assert process.poll() is None
    tell(crowd)


@pytest.mark.slow
@pytest.mark.parametrize("mounted", sorted({False, can_mount()}))
def test_a_full_disk(tmp_path: Path, rng: Random, mounted: bool) -> None:
    """Problems while it is full; once there is space, everything goes on. A small disk, or a limit on files."""
    with full_disk(tmp_path / "disk", mounted=mounted) as disk:
        server = ServerProcess(tmp_path, data=tmp_path / "disk" / "data")
        crowd = Crowd([server], rng)

        async def fill() -> None:
            for _ in range(2):
                await crowd.goes_on()
                disk.fill(server.process)
                refused = crowd.counts["unavailable"]
                await until(lambda at=refused: crowd.counts["unavailable"] > at + 5, "A refusal")
                disk.free(server.process)
                await crowd.goes_on()
            await crowd.move("close")

        async def run() -> None:
            await crowd.open_study()
            await crowd.load(fill())
            await crowd.release()

        with serving(server):
            process = server.process
            asyncio.run(run())
            assert server.process is process
        tell(crowd)


BREAK = "SELECT pg_terminate_backend(pg_backend_pid())"
FULL = "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '53100'; END $$"


@pytest.mark.slow
@pytest.mark.parametrize("fault", [BREAK, FULL])
def test_a_copy_that_fails(tmp_path: Path, shared: str, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """What goes past SQLAlchemy fails like the rest: a problem that says to try again, and then it works."""
    staged = stored._STAGE
    with running(tmp_path, shared) as server:
        server.create(STUDY)
        monkeypatch.setattr(stored, "_STAGE", fault)
        refused = server.report(STUDY, "a", 7, nonce="0" * 32)
        assert (refused.status_code, refused.json()["reason"]) == (503, "unavailable")
        monkeypatch.setattr(stored, "_STAGE", staged)
        assert server.report(STUDY, "a", 7, nonce="0" * 32).status_code == 201


@pytest.mark.slow
def test_the_operator_page_of_a_database_that_is_away(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        server.http.post("/operator/login", data={"key": server.admin_key})
        assert server.http.get("/operator").status_code == 200
        server.prepared.app.state.curator.engine.dispose()
        (tmp_path / "data").rename(tmp_path / "away")
        away = server.http.get("/operator")
        (tmp_path / "away").rename(tmp_path / "data")
        assert away.status_code == 503
        assert "Try again later" in away.text
        assert server.http.get("/operator").status_code == 200


# Clocks

CLOSING = 1_900_000_000  # seconds since 1970
MOMENT = "2030-03-17T17:46:40Z"  # the same in words


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the machine's clock, so many seconds before or after the closing time; set back, no time has passed."""
    elapsed = 0.0

    def set_to(seconds: int) -> None:
        nonlocal elapsed
        elapsed = max(elapsed, CLOSING + seconds)
        set_clocks(monkeypatch, CLOSING + seconds, elapsed=elapsed)

    set_to(-3600)
    return set_to


def see_report(server: Running) -> str:
    return str(server.report(STUDY, "late", 7).json().get("reason"))


def see_withdrawal(server: Running) -> str:
    body = {"digest": STUDY.digest, "code": 7, "nonce": "0" * 32}
    headers = server.token("early")
    return str(server.http.post("/studies/minutes/reports/withdraw", headers=headers, json=body).json().get("reason"))


def see_state(server: Running) -> str:
    return str(server.http.get("/studies/minutes").json()["state"])


def see_refused_release(server: Running) -> str:
    told = server.move("release").json()
    return "closed" if "of the 2 contributions that the study asks for" in told["detail"] else str(told)


@pytest.mark.slow
@pytest.mark.parametrize("see", [see_report, see_withdrawal, see_state, see_refused_release])
def test_what_was_seen_closed_stays_closed_when_the_clock_is_set_back(
    tmp_path: Path, address: str, clock: Callable[[int], None], see: Callable[[Running], str]
) -> None:
    """Also after a restart: the first who sees it leaves it written down."""
    with running(tmp_path, address) as server:
        assert server.create(STUDY, closes_at=MOMENT).status_code == 201
        assert server.report(STUDY, "early", 7, nonce="0" * 32).status_code == 201
        clock(-1)
        assert see_state(server) == "open"
        clock(0)
        assert see(server) == "closed"
        clock(-3600)
        assert see_state(server) == see_report(server) == "closed"
    with running(tmp_path, address) as server:
        assert see_state(server) == see_report(server) == see_withdrawal(server) == "closed"
        assert server.http.get("/studies/minutes").json()["counts"] == {"trusted": 0, "local": 1}


def test_requests_are_counted_by_a_clock_that_nobody_sets(
    tmp_path: Path, clock: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, requests_per_minute=2) as server:
        server.create(STUDY, closes_at=MOMENT)
        clock(-7200)
        minute = 1_000_000
        monkeypatch.setattr(routes, "monotonic", lambda: 60.0 * minute)
        token = server.token("a")  # one for all requests: another second would make another
        body = {"digest": STUDY.digest, "code": 7, "nonce": "0" * 32}

        def send() -> int:
            return server.http.post("/studies/minutes/reports", headers=token, json=body).status_code

        assert [send() for _ in range(3)] == [201, 200, 429]
        minute += 1
        assert send() == 200
