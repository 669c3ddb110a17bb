"""A whole study over real sockets, on both databases."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import polars as pl
import pytest
from sqlalchemy import Connection, Engine, select, text

from hybriddp import MeanStudy, summarize
from hybriddp.grid import UNITS
from hybriddp.release.mechanisms import Mechanism
from hybriddp.service import life
from hybriddp.service.store import contributions as stored
from hybriddp.service.store.contributions import Verdict, add
from hybriddp.service.store.engine import reading, writing
from hybriddp.service.store.schema import tallies, totals
from tests.service.running import Running, running
from tests.service.store.making import SEAL, contribution, make_study

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1.0)


def test_a_study_from_its_creation_to_its_result(server: Running) -> None:
    made = server.create(STUDY)
    assert made.status_code == 201
    assert (made.json()["state"], made.json()["digest"], made.json()["counts"]) == ("open", STUDY.digest, None)
    for i in range(3):
        assert server.trust(STUDY, f"t{i}", 60.0 + i).status_code == 201
        assert server.report(STUDY, f"l{i}", 100 + i).status_code == 201
    assert server.http.get("/studies/minutes").json()["counts"] is None
    assert server.move("release").json()["reason"] == "refused"
    assert server.move("close").json()["counts"] == {"trusted": 3, "local": 3}
    assert server.http.get("/studies/minutes").json()["counts"] == {"trusted": 3, "local": 3}
    assert server.report(STUDY, "late", 1).json()["reason"] == "closed"
    released = server.move("release")
    assert released.status_code == 200
    estimate = released.json()["estimate"]
    assert (estimate["n_trusted"], estimate["n_local"], estimate["tied"]) == (3, 3, True)
    assert estimate["privacy"]["counted"]
    assert estimate["privacy"]["private_release"]
    assert server.move("release").content == released.content == server.http.get("/studies/minutes/result").content
    page = server.http.get("/studies/minutes/result.html").text
    assert "session minutes" in page
    for secret in ("trusted alone", "local alone", "The weight"):  # what stands behind the answer is for the curator
        assert secret not in page + released.text
    assert server.http.get("/studies/minutes/report.html").json()["reason"] == "bad-token"
    assert "trusted alone" in server.http.get("/studies/minutes/report.html", headers=server.admin).text
    assert server.move("withdraw").json()["reason"] == "refused"
    assert server.http.get("/studies/minutes").json()["state"] == "released"


def test_the_answer_is_that_of_the_study_on_the_same_contributions(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mechanism, "draw", lambda *_: np.int64(123_456))
    values = [3.25, 500.0, 17.0, 239.9, 0.0]
    codes = STUDY.randomize(np.linspace(0, 240, 300), random_state=3)
    server.create(STUDY)
    for i, value in enumerate(values):
        assert server.trust(STUDY, f"t{i}", value).status_code == 201
    relay = server.relay()
    reports = [{"participant": f"l{i}", "code": code, "nonce": f"{i:032x}"} for i, code in enumerate(codes)]
    body = {"digest": STUDY.digest, "reports": reports}
    taken = server.http.post("/studies/minutes/batches", headers=relay, json=body).json()
    assert (taken["accepted"], taken["repeated"], taken["rejected"]) == (300, 0, [])
    server.move("close")
    mine = server.move("release").json()["estimate"]
    missing = [None] * len(codes), [None] * len(values)
    table = pl.DataFrame({"minutes": [*values, *missing[0]], "code": [*missing[1], *codes]})
    trusted, local = summarize(table, STUDY, value="minutes", report="code")
    for other in (STUDY.estimate(trusted=values, local=codes), STUDY.estimate(trusted=trusted, local=local)):
        expected = json.loads(json.dumps(other.to_dict()))
        for key in ("value", "interval_95", "step", "n_trusted", "n_local", "digest"):
            assert mine[key] == expected[key]


def test_a_few_who_agree_on_a_code_do_not_stop_a_release(server: Running) -> None:
    server.create(STUDY)
    for i in range(3):
        assert server.trust(STUDY, f"t{i}", 60.0 + i).status_code == 201
    codes = [*STUDY.randomize(np.linspace(0, 240, 270), random_state=3), *[17] * 30]
    reports = [{"participant": f"l{i}", "code": code, "nonce": f"{i:032x}"} for i, code in enumerate(codes)]
    body = {"digest": STUDY.digest, "reports": reports}
    assert server.http.post("/studies/minutes/batches", headers=server.relay(), json=body).json()["accepted"] == 300
    server.move("close")
    released = server.move("release")
    assert released.status_code == 200
    estimate = released.json()["estimate"]
    assert 0 < estimate["implausible_reports"] <= 30
    words = f"WARNING: at least {estimate['implausible_reports']} of the 300 local reports cannot come"
    assert estimate["warnings"][0].startswith(words)
    assert words in server.http.get("/studies/minutes/result.html").text
    assert words in server.http.get("/studies/minutes/report.html", headers=server.admin).text
    assert server.http.get("/studies/minutes").json()["state"] == "released"


def test_one_person_who_trusts_does_not_stop_a_study_that_the_local_group_answers(server: Running) -> None:
    server.create(STUDY, single_group=True)
    assert server.trust(STUDY, "t", 60.0).status_code == 201
    for i in range(3):
        assert server.report(STUDY, f"l{i}", 100 + i).status_code == 201
    server.move("close")
    estimate = server.move("release").json()["estimate"]
    assert (estimate["n_trusted"], estimate["n_local"], estimate["privacy"]["released"]) == (0, 3, False)
    words = "The trusted group&#x27;s 1 contribution was left out"
    assert estimate["warnings"][0].startswith(words.replace("&#x27;", "'"))
    assert words in server.http.get("/studies/minutes/result.html").text


def test_withdrawing_a_study_deletes_everything_but_its_ledger(server: Running) -> None:
    server.create(STUDY)
    server.trust(STUDY, "t", 1.0)
    assert server.move("withdraw").json()["state"] == "withdrawn"
    assert server.http.get("/studies/minutes").json()["consent"] == {}
    assert server.move("release").json()["reason"] == "refused"
    assert server.report(STUDY, "x", 1).json()["reason"] == "closed"
    assert server.create(STUDY).json()["reason"] == "refused"  # neither its id nor its text can be used again


def test_a_shared_budget_charges_everybody_when_a_study_opens(server: Running) -> None:
    made = server.http.post("/budgets", headers=server.admin, json={"name": "panel", "epsilon": "1.5"})
    assert (made.status_code, made.json()["epsilon"]) == (201, "1.5")
    assert server.create(STUDY, "first", budget="panel").status_code == 201
    left = server.http.get("/budgets/panel", headers=server.admin).json()
    assert (left["epsilon"], left["left"]) == ("1.5", {"epsilon": "0.5", "delta": "0"})
    other = MeanStudy("session minutes, week 2", bounds=(0, 240), epsilon=1.0)
    refused = server.create(other, "second", budget="panel")
    assert (refused.status_code, refused.json()["reason"]) == (409, "refused")
    assert server.http.get("/studies/second").status_code == 404
    for i in range(2):
        server.trust(STUDY, f"t{i}", 50.0, study_id="first")
        server.report(STUDY, f"l{i}", 50, study_id="first")
    server.move("close", "first")
    assert server.move("release", "first").json()["estimate"]["privacy"]["counted"]
    assert server.http.get("/budgets/panel", headers=server.admin).json()["left"]["epsilon"] == "0.5"


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


def test_a_pilot_warns_in_its_result_and_takes_no_shared_budget(server: Running) -> None:
    server.http.post("/budgets", headers=server.admin, json={"name": "panel", "epsilon": "1.5"})
    refused = server.create(STUDY, tokens=False, budget="panel")
    assert (refused.status_code, refused.json()["reason"]) == (400, "malformed")
    server.create(STUDY, tokens=False, single_group=True)
    for i in range(2):
        server.report(STUDY, f"l{i}", 100 + i)
    server.move("close")
    assert "without tokens" in server.move("release").json()["estimate"]["warnings"][0]
    assert "without tokens" in server.http.get("/studies/minutes/result.html").text


def test_two_spellings_of_a_name_are_one_person(server: Running) -> None:
    server.create(STUDY)
    assert server.report(STUDY, "Ren\u00e9", 1).status_code == 201
    assert server.report(STUDY, "Rene\u0301", 1).json()["reason"] == "duplicate"


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

    def note(connection: Connection, number: int, *more: Any, **named: Any) -> None:  # noqa: ANN401
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
