"""Whether requests should come here: `/ready` sees what hinders writing, and not reading alone."""

import asyncio
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import OperationalError

from hybriddp.service import readiness as module
from hybriddp.service import writer as writers
from hybriddp.service.app import prepare
from hybriddp.service.curator import Curator
from hybriddp.service.keys import MasterKey
from hybriddp.service.observe import Metrics
from hybriddp.service.problems import Refusal
from hybriddp.service.readiness import LEAST_FREE, LONGEST_WAIT, Readiness
from hybriddp.service.round_timer import RoundTimer
from hybriddp.service.settings import Settings
from hybriddp.service.store.engine import open_engine, reading, snapshot, writing
from hybriddp.service.tokens import TokenKeys
from tests.service.attacking import new_target
from tests.service.running import Running

MASTER = MasterKey(bytes(32))


@pytest.fixture
def curator(engine: Engine) -> Iterator[Curator]:
    found = Curator(engine, MASTER, TokenKeys(MASTER.token_secret), replica="a")
    yield found
    found.close()


async def trouble(readiness: Readiness) -> str:
    """Why no requests should come; empty if they may."""
    try:
        await readiness.require()
    except Refusal as refusal:
        return f"{refusal.reason}: {refusal}"
    return ""


def test_a_job_that_waits_too_long(curator: Curator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    readiness, now = Readiness(curator, tmp_path), 1000.0
    monkeypatch.setattr(writers, "time", SimpleNamespace(monotonic=lambda: now, sleep=lambda _: None))
    begun, free = Event(), Event()

    def hang(_: object) -> None:
        begun.set()
        assert free.wait(60)

    async def work() -> list[str]:
        nonlocal now
        found = [await trouble(readiness)]
        jobs = [asyncio.create_task(curator.writer.run(hang)), asyncio.create_task(curator.writer.add([]))]
        assert await asyncio.to_thread(begun.wait, 60)
        for passed in (0.0, LONGEST_WAIT, LONGEST_WAIT + 1):
            now = 1000.0 + passed
            found.append(await trouble(readiness))
        free.set()
        await asyncio.gather(*jobs)
        await curator.writer.run(lambda _: None)
        return [*found, await trouble(readiness)]

    *before, during, after = asyncio.run(work())
    assert before == ["", "", ""]
    assert "the oldest job waits for 11 seconds" in during
    assert after == ""


def test_a_writer_that_has_ended(curator: Curator) -> None:
    assert curator.writer.oldest_wait() == 0.0
    curator.writer.close()
    assert curator.writer.oldest_wait() == math.inf
    assert "does not take what is written" in asyncio.run(trouble(Readiness(curator, None)))


def test_a_transaction_that_failed_is_tried_again_by_the_timer(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    readiness, timer = Readiness(curator, None), RoundTimer(curator, Metrics())
    asyncio.run(timer.look())
    assert asyncio.run(trouble(readiness)) == ""

    def refuse(_: object) -> None:
        raise Refusal("refused")

    with pytest.raises(Refusal):  # that is no failure of the database
        asyncio.run(curator.writer.run(refuse))
    assert asyncio.run(trouble(readiness)) == ""
    with monkeypatch.context() as patched:  # reading goes on
        patched.setattr(curator.writer, "_engine", create_engine(f"sqlite:///{tmp_path / 'no' / 'folder'}"))
        with pytest.raises(OperationalError):
            asyncio.run(curator.writer.run(lambda _: None))
        asyncio.run(timer.look())
        assert "could not be committed" in asyncio.run(trouble(readiness))
    asyncio.run(timer.look())  # nobody has sent anything
    assert asyncio.run(trouble(readiness)) == ""


def test_a_disk_that_is_nearly_full(curator: Curator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for free, words in ((LEAST_FREE, ""), (LEAST_FREE - 1, "has 63 MiB left"), (0, "has 0 MiB left")):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))  # noqa: B023
        told = asyncio.run(trouble(Readiness(curator, tmp_path)))
        assert (words in told, bool(told)) == (True, bool(words))
        assert asyncio.run(trouble(Readiness(curator, None))) == ""  # the database is elsewhere
    monkeypatch.undo()
    assert "cannot be reached" in asyncio.run(trouble(Readiness(curator, tmp_path / "none")))


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_disk_of_an_embedded_database_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, elsewhere: bool
) -> None:
    folder, asked = tmp_path / ("elsewhere" if elsewhere else "data"), list[Path]()
    (tmp_path / "elsewhere").mkdir()
    database = f"sqlite:///{folder / 'curator.sqlite'}" if elsewhere else ""
    prepared = prepare(Settings(data=tmp_path / "data", key_file=tmp_path / "hybriddp.key", database=database))

    def usage(path: Path) -> SimpleNamespace:
        asked.append(path)
        return SimpleNamespace(free=0)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    assert "0 MiB left" in asyncio.run(trouble(prepared.app.state.readiness))
    assert asked == [folder]
    prepared.app.state.curator.close()


def test_a_database_that_hangs_is_asked_once(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    readiness, free, asked = Readiness(curator, None), Event(), list[int]()

    def hang(_: object) -> None:
        asked.append(1)
        assert free.wait(60)

    monkeypatch.setattr(module, "answers", hang)
    with monkeypatch.context() as patched:
        patched.setattr(module, "LONGEST_ANSWER", 0.0)
        assert {asyncio.run(trouble(readiness)) for _ in range(3)} == {"unavailable: The database does not answer."}
    assert asked == [1]
    free.set()
    assert asyncio.run(trouble(readiness)) == ""


def test_sessions_of_postgresql_have_limits(shared: str) -> None:
    engine = open_engine(shared)
    for connect in (reading, snapshot, writing):
        with connect(engine) as connection:
            names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
            found = [connection.execute(text(f"SHOW {name}")).scalar() for name in names]
            kept = connection.execute(text("SHOW transaction_isolation")).scalar()
        assert found == ["1min", "20s", "1min"]
        assert kept == ("repeatable read" if connect is snapshot else "read committed")
    engine.dispose()


def test_head_is_answered_as_get_without_a_body(kept_server: Running) -> None:
    target = new_target(kept_server)
    http = kept_server.http
    for path in ("/ready", "/health", f"/studies/{target.id}", f"/studies/{target.id}/take-part", "/operator", "/none"):
        head, get = http.head(path), http.get(path)
        assert (head.status_code, head.content) == (get.status_code, b"")
        assert {**head.headers, "date": ""} == {**get.headers, "date": ""}
    refused = http.head(f"/studies/{target.id}/reports")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST, OPTIONS")
    allowed = http.delete(f"/studies/{target.id}").headers["allow"]
    assert {"GET", "HEAD"} <= set(allowed.split(", "))
    told = http.get("/metrics", headers=kept_server.admin).text
    assert 'method="HEAD",route="/ready",status="200"' in told
