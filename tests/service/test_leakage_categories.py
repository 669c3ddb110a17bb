"""A category that is planted: neither who has it nor how many do can be read without the key.

The category itself is in the study's public text. So what is looked for is an item that is none of the categories, the
exact counts in every form in which they could lie in a row or a file, and any difference between two databases that
have taken different categories.
"""

import io
import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine, select

from hybriddp import FrequencyStudy, HeavyHitterStudy
from hybriddp.service.kinds import FrequencyKind
from hybriddp.service.observe import set_up_logging
from hybriddp.service.store import contributions as stored
from hybriddp.service.store.engine import reading
from hybriddp.service.store.item_sums import ItemSums
from hybriddp.service.store.schema import totals
from tests.service.attacking import Target, new_frequency_target, refused
from tests.service.conftest import empty_database
from tests.service.running import CLOSES, CONSENT, Running, running
from tests.service.test_leakage import cells, data_folder, files, forms, look_for, shown_by

CATEGORIES = ["none", "flu", "measles"]
ITEM = "Zoster-p1anted-47"  # none of them
NONCE = "5eed" * 8
COUNT = 23  # people with measles


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers, root.level, logging.raiseExceptions, threading.excepthook
    yield
    logging.captureWarnings(False)
    root.handlers, root.level, logging.raiseExceptions, threading.excepthook = before
    logging.getLogger("uvicorn.access").disabled = False


def study(name: str) -> FrequencyStudy:
    return FrequencyStudy(name, categories=CATEGORIES, epsilon=1.0, other=True)


def take_part(target: Target) -> list[httpx.Response]:
    """People with measles, one with the planted item, and refusals of all kinds."""
    server, http, path = target.server, target.server.http, f"/studies/{target.id}"
    value = {"digest": target.study.digest, "value": ITEM, "nonce": NONCE}
    for i in range(COUNT + 1):
        assert server.trust(target.study, f"t{i}", "measles", nonce=f"{i:032x}", study_id=target.id).is_success
    one, two = (server.token(name, target.id) for name in ("one", "two"))
    answers = [
        http.post(f"{path}/values", headers=one, json=value),
        http.post(f"{path}/values", headers=two, json=value),
        http.post(f"{path}/values", headers=one, json=value),  # again
        *(http.post(f"{path}/values", headers=one, json=value | wrong) for wrong in WRONG),
        http.post(f"{path}/reports", headers=one, json={"digest": target.study.digest, "code": ITEM, "nonce": NONCE}),
        http.post(f"{path}/values", headers=one, content=f'{{"value": "{ITEM}", "{ITEM}": '.encode()),
        http.get(f"{path}/{ITEM}", params={"value": ITEM}),
        http.post(f"{path}/values/withdraw", headers=two, json=value),
    ]
    body = {"digest": target.study.digest, "value": "measles", "nonce": f"{COUNT:032x}"}
    gone = http.post(f"{path}/values/withdraw", headers=server.token(f"t{COUNT}", target.id), json=body)
    assert gone.json()["receipt"]["opened"]
    for i in range(3):
        server.report(target.study, f"l{i}", i, study_id=target.id)
    return answers


WRONG: list[dict[str, object]] = [
    {"nonce": NONCE[::-1]},
    {"digest": "0" * 64},
    {"value": [ITEM]},
    {"value": 47.0},
    {"value": "none"},
    {"participant": ITEM},
    {ITEM: 1},
]


def look_into_rows(engine: Engine, target: Target) -> None:
    """The only columns that depend on who has what are encrypted, or hashes."""
    kind = FrequencyKind(study(target.study.title))
    total = kind.sums.addend([2] * COUNT + [3])
    size, plain = kind.sums.total_bytes, total.to_bytes(kind.sums.total_bytes - 1, "big").lstrip(b"\0")
    for name, value in cells(engine):
        assert value not in (total, -total), name
        if isinstance(value, bytes):
            assert plain not in value, name
            assert plain[::-1] not in value, name
        if name == "totals.sealed":
            assert isinstance(value, bytes)
            assert len(value) == size + 28
        # 24 trusted people: 23, how many of them have measles, stands nowhere
        assert value != COUNT, name


def count_forms(target: Target) -> list[bytes]:
    """The exact counts as digits of a total, in either order."""
    kind = FrequencyKind(study(target.study.title))
    plain = kind.sums.addend([2] * COUNT + [3]).to_bytes(kind.sums.total_bytes - 1, "little")
    digits = plain[10:]  # of the two categories that somebody has
    return [digits, digits[::-1], digits.hex().encode(), digits[::-1].hex().encode()]


def key_opens_it(target: Target) -> tuple[int, ...]:
    """With the key the counts are there: what is looked for is what is stored."""
    curator = target.server.prepared.app.state.curator
    with reading(curator.engine) as connection:
        total = stored.total(connection, 1, target.study.digest, curator.seal)
    return FrequencyKind(study(target.study.title)).sums.counts(total)


@pytest.mark.slow
def test_no_count_of_a_category_can_be_read_with_sqlite(tmp_path: Path) -> None:
    log = io.StringIO()
    set_up_logging("json", log)
    with running(tmp_path) as server:
        target = new_frequency_target(server, study=study("diagnosis"))
        answers = take_part(target)
        assert {answer.status_code for answer in answers} >= {200, 201, 400, 404, 409}
        assert all(refused(answer, ITEM) for answer in answers if answer.status_code >= 400)
        assert key_opens_it(target) == (0, 0, COUNT, 1)
        look_into_rows(server.prepared.app.state.curator.engine, target)
        alive = files(tmp_path / "data")
        assert any(name.endswith("-wal") for name in alive)
        shown = {f"shown {i}": text.encode() for i, text in enumerate(shown_by(server, target))}
        shown |= {f"answer {i}": answer.content for i, answer in enumerate(answers)}
        counted = server.http.get("/metrics", headers=server.admin).text
        target.move("close")
        assert target.move("release").status_code == 200
        with reading(server.prepared.app.state.curator.engine) as connection:
            assert connection.scalars(select(totals.c.sealed)).all() == [b""]
    written = alive | files(tmp_path / "data") | {"log": log.getvalue().encode()}
    assert look_for([*forms(ITEM), *forms(NONCE)], shown | written) == []
    assert look_for(count_forms(target), written) == []
    for text in (counted, log.getvalue()):
        assert "measles" not in text
        # How many requests were so quick depends on the machine, and may be any number.
        lines = [line for line in text.splitlines() if "_bucket{" not in line]
        assert not any(line.endswith((f" {COUNT}", f" {COUNT}.0")) for line in lines)


@pytest.mark.slow
def test_no_count_of_a_category_can_be_read_with_postgresql(tmp_path: Path, postgresql: str) -> None:
    log = io.StringIO()
    set_up_logging("text", log)
    for database in empty_database(postgresql):
        with running(tmp_path, database) as server:
            target = new_frequency_target(server, study=study("diagnosis"))
            take_part(target)
            assert key_opens_it(target) == (0, 0, COUNT, 1)
            look_into_rows(server.prepared.app.state.curator.engine, target)
            written = files(data_folder(postgresql)) | {"log": log.getvalue().encode()}
    assert any("pg_wal" in name for name in written)
    assert look_for([*forms(ITEM), *forms(NONCE), *count_forms(target)], written) == []


@pytest.mark.slow
def test_databases_that_took_different_categories_look_alike(tmp_path: Path) -> None:
    """All columns but hashes and what is encrypted are the same, and these have the same lengths."""
    seen = []
    for items in (["none"] * 6, ["measles"] * 3 + [ITEM] * 3):
        with running(tmp_path / items[-1]) as server:
            target = Target(server, study("diagnosis"), "same")
            server.create(target.study, "same")
            for i, item in enumerate(items):
                server.trust(target.study, f"t{i}", item, study_id="same")
            rows = cells(server.prepared.app.state.curator.engine)
            seen.append(sorted((name, _outline(value)) for name, value in rows if name.split(".")[0] in OURS))
    assert seen[0] == seen[1]


OURS = ("participants", "tallies", "totals")


def _outline(value: object) -> object:
    return len(value) if isinstance(value, bytes) else str(value) if not isinstance(value, str) else "a name"


def open_domain(server: Running) -> None:
    """Many people with a word, one with the planted item, which was never listed; and the list."""
    words = HeavyHitterStudy("search word", epsilon=4, delta="0.000001")
    body = {"study": json.loads(words.to_json()), "id": "words", "consent": CONSENT, "closes_at": CLOSES}
    assert server.http.post("/studies", headers=server.admin, json=body).status_code == 201
    for i, item in enumerate([*["weather"] * 40, ITEM, ITEM]):
        value = {"digest": words.digest, "value": item, "nonce": f"{i:032x}"}
        answer = server.http.post("/studies/words/values", headers=server.token(f"t{i}", "words"), json=value)
        assert answer.status_code == 201
    gone = server.http.post("/studies/words/values/withdraw", headers=server.token("t41", "words"), json=value)
    assert gone.json()["receipt"]["opened"]
    curator = server.prepared.app.state.curator
    with reading(curator.engine) as connection:
        total = stored.total(connection, 1, words.digest, curator.seal, ItemSums())
    assert ItemSums().counts(total) == {"weather": 40, ITEM: 1}


@pytest.mark.slow
def test_no_item_of_an_open_domain_can_be_read_with_sqlite(tmp_path: Path) -> None:
    log = io.StringIO()
    set_up_logging("json", log)
    with running(tmp_path) as server:
        open_domain(server)
        before = files(tmp_path / "data")
        assert server.move("list", "words").json()["state"] == "asking"
        shown = {"document": server.http.get("/studies/words").content}
        shown["metrics"] = server.http.get("/metrics", headers=server.admin).content
    written = {f"before {name}": content for name, content in before.items()} | files(tmp_path / "data")
    assert look_for([*forms(ITEM), *forms("planted-47")], written | shown | {"log": log.getvalue().encode()}) == []
    assert look_for([b"weather"], before) == []  # even what will be on the list
    assert b"weather" in shown["document"]


@pytest.mark.slow
def test_no_item_of_an_open_domain_can_be_read_with_postgresql(tmp_path: Path, postgresql: str) -> None:
    log = io.StringIO()
    set_up_logging("text", log)
    for database in empty_database(postgresql):
        with running(tmp_path, database) as server:
            open_domain(server)
            assert server.move("list", "words").json()["state"] == "asking"
            written = files(data_folder(postgresql)) | {"log": log.getvalue().encode()}
    assert look_for(list(forms(ITEM)), written) == []
