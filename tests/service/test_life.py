"""What becomes of a study: warnings in its result, withdrawal, restarts, and replicas."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, select, text

from hybriddp import MeanStudy
from hybriddp.grid import UNITS
from hybriddp.service import life
from hybriddp.service.store import contributions as stored
from hybriddp.service.store.contributions import Verdict, add
from hybriddp.service.store.engine import reading, writing
from hybriddp.service.store.schema import tallies, totals
from tests.service.running import Running, running
from tests.service.store.making import SEAL, contribution, make_study

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1.0)


def named(name: str) -> MeanStudy:
    return MeanStudy(name, bounds=(0, 240), epsilon=1.0)


def test_a_few_who_agree_on_a_code_do_not_stop_a_release(kept_server: Running) -> None:
    server, study = kept_server, named("forged")
    server.create(study, "forged")
    for i in range(3):
        assert server.trust(study, f"t{i}", 60.0 + i, study_id="forged").status_code == 201
    codes = [*study.randomize(np.linspace(0, 240, 270), random_state=3), *[17] * 30]
    reports = [{"participant": f"l{i}", "code": code, "nonce": f"{i:032x}"} for i, code in enumerate(codes)]
    body = {"digest": study.digest, "reports": reports}
    assert server.http.post("/studies/forged/batches", headers=server.relay(), json=body).json()["accepted"] == 300
    server.move("close", "forged")
    released = server.move("release", "forged")
    assert released.status_code == 200
    estimate = released.json()["estimate"]
    assert 0 < estimate["implausible_reports"] <= 30
    words = f"WARNING: at least {estimate['implausible_reports']} of the 300 local reports cannot come"
    assert estimate["warnings"][0].startswith(words)
    assert words in server.http.get("/studies/forged/result.html").text
    assert words in server.http.get("/studies/forged/report.html", headers=server.admin).text
    assert server.http.get("/studies/forged").json()["state"] == "released"


def test_one_person_who_trusts_does_not_stop_a_study_that_the_local_group_answers(kept_server: Running) -> None:
    server, study = kept_server, named("one-trusts")
    server.create(study, "one-trusts", single_group=True)
    assert server.trust(study, "t", 60.0, study_id="one-trusts").status_code == 201
    for i in range(3):
        assert server.report(study, f"l{i}", 100 + i, study_id="one-trusts").status_code == 201
    server.move("close", "one-trusts")
    estimate = server.move("release", "one-trusts").json()["estimate"]
    assert (estimate["n_trusted"], estimate["n_local"], estimate["privacy"]["released"]) == (0, 3, False)
    words = "The trusted group&#x27;s 1 contribution was left out"
    assert estimate["warnings"][0].startswith(words.replace("&#x27;", "'"))
    assert words in server.http.get("/studies/one-trusts/result.html").text


def test_groups_that_are_smaller_than_the_operator_asks_for_are_not_released(kept_server: Running) -> None:
    server, study = kept_server, named("few")
    server.create(study, "few", min_trusted=5, min_local=2)
    for i in range(4):  # enough for the study itself
        assert server.trust(study, f"t{i}", 60.0, study_id="few").status_code == 201
        assert server.report(study, f"l{i}", 100 + i, study_id="few").status_code == 201
    server.move("close", "few")
    for _ in range(2):
        refused = server.move("release", "few")
        assert (refused.status_code, refused.json()["reason"]) == (409, "refused")
    assert server.http.get("/studies/few").json()["state"] == "closed"
    assert server.http.get("/studies/few/result").status_code == 404


def test_withdrawing_a_study_deletes_everything_but_its_ledger(kept_server: Running) -> None:
    server, study = kept_server, named("withdrawn")
    server.create(study, "withdrawn")
    server.trust(study, "t", 1.0, study_id="withdrawn")
    assert server.move("withdraw", "withdrawn").json()["state"] == "withdrawn"
    assert server.http.get("/studies/withdrawn").json()["consent"] == {}
    assert server.move("release", "withdrawn").json()["reason"] == "refused"
    assert server.report(study, "x", 1, study_id="withdrawn").json()["reason"] == "closed"
    again = server.create(study, "withdrawn")
    assert again.json()["reason"] == "refused"  # neither its id nor its text can be used again


def test_no_process_leaves_a_single_value_behind(database: str, tmp_path: Path) -> None:
    """Each start is another process, and another replica."""
    place = "" if database.startswith("sqlite") else database
    nonce = "0" * 32
    with running(tmp_path, place) as first:
        first.create(STUDY)
        for i in range(5):
            first.trust(STUDY, f"t{i}", 60.0)
            first.report(STUDY, f"l{i}", 60 * i)
        first.trust(STUDY, "victim", 37.5, nonce=nonce)
        first.report(STUDY, "loc", 17, nonce=nonce)
    with running(tmp_path, place) as second:
        for who, to, what in (("victim", "values", {"value": 37.5}), ("loc", "reports", {"code": 17})):
            body = {"digest": STUDY.digest, "nonce": nonce, **what}
            gone = second.http.post(f"/studies/minutes/{to}/withdraw", headers=second.token(who), json=body)
            assert gone.json()["receipt"]["opened"]
        assert sums_of_replicas(second) == ([(5, 5 * UNITS // 4)], [(60 * i, 1) for i in range(5)])
    with running(tmp_path, place) as third:
        assert len(sums_of_replicas(third)[0]) == 1
        third.move("close")
        assert third.move("release").status_code == 200
        with reading(third.prepared.app.state.curator.engine) as connection:
            assert set(connection.scalars(select(totals.c.sealed))) == {b""}  # nothing needs the exact total any more
        assert third.http.get("/studies/minutes").json()["counts"] == {"trusted": 5, "local": 5}


def sums_of_replicas(server: Running) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """What whoever has database and key reads: the totals and the counts of codes, of each replica."""
    seal = server.prepared.app.state.curator.seal
    with reading(server.prepared.app.state.curator.engine) as connection:
        rows = connection.execute(select(totals.c.replica, totals.c.count, totals.c.sealed)).all()
        opened = [(count, seal.open(sealed, STUDY.digest, replica, count)) for replica, count, sealed in rows]
        codes = connection.execute(select(tallies.c.code, tallies.c.count)).all()
    return opened, sorted((code, count) for code, count in codes)


def test_two_spellings_of_a_name_are_one_person(kept_server: Running) -> None:
    server, study = kept_server, named("spellings")
    server.create(study, "spellings")
    assert server.report(study, "Ren\u00e9", 1, study_id="spellings").status_code == 201
    assert server.report(study, "Rene\u0301", 1, study_id="spellings").json()["reason"] == "duplicate"


def test_replicas_that_see_a_study_close_at_once_do_not_wait_for_each_other(engine: Engine) -> None:
    of = make_study(engine)
    ready = Barrier(2)

    def late(who: str) -> list[Verdict]:
        with writing(engine) as connection:
            if engine.dialect.name == "postgresql":  # SQLite lets one in at a time
                connection.execute(text("SET LOCAL deadlock_timeout = '50ms'"))
            found = add(connection, [contribution(of, who, 1)], replica=who, seal=SEAL, now=of.closes_at)
            if engine.dialect.name == "postgresql":
                ready.wait(20)
            return found

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(late, "ab")) == [[Verdict.CLOSED]] * 2


def test_a_server_that_starts_locks_one_study_at_a_time(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another replica adds to several in one transaction: if both waited for each other, one would fail."""
    for name in ("first", "second", "third"):
        assert server.create(MeanStudy(name, bounds=(0, 240), epsilon=1), name).status_code == 201
    server.move("close", "third")
    curator = server.prepared.app.state.curator
    locked: list[list[int]] = []
    fold, run = stored.fold, curator.writer.run

    def note(connection: Connection, number: int, *more: Any, **named: Any) -> None:
        locked[-1].append(number)
        fold(connection, number, *more, **named)

    async def counted(work: Callable[[Connection], None]) -> None:
        locked.append([])
        await run(work)

    monkeypatch.setattr(stored, "fold", note)
    monkeypatch.setattr(curator.writer, "run", counted)
    asyncio.run(life.fold_open(curator))
    assert [len(numbers) for numbers in locked] == [1, 1]
    assert "ORDER BY studies.number" in str(stored._OPEN)
