"""A value, a code, a nonce, a token and a person are planted; nothing that stays or is shown may hold them.

Integers of a few bytes turn up by chance in any file, so files are searched for the longer forms, and the database's
rows for the integers.
"""

import base64
import io
import json
import logging
import re
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine, create_engine, select

from hybriddp import MeanStudy
from hybriddp.service.observe import set_up_logging
from hybriddp.service.store.engine import reading
from hybriddp.service.store.schema import metadata
from tests.service.attacking import Target, new_target, refused
from tests.service.conftest import empty_database
from tests.service.running import Running, running

VALUE, CODE, NONCE = 123.4567891, 217, "5eed" * 8
PERSON = "Zoë.Planted@example.org"


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers, root.level, logging.raiseExceptions, threading.excepthook
    yield
    logging.captureWarnings(False)
    root.handlers, root.level, logging.raiseExceptions, threading.excepthook = before
    logging.getLogger("uvicorn.access").disabled = False


def forms(text: str) -> Iterator[bytes]:
    """A text as it might be written."""
    data = text.encode()
    yield data
    yield text.encode("utf-16-le")
    yield text.encode("utf-16-be")
    yield data.hex().encode()
    yield from base64_forms(data)


def base64_forms(data: bytes) -> Iterator[bytes]:
    """What is the same in base64 of any text that has these bytes in it, at each of three offsets."""
    for offset in range(3):
        whole = base64.b64encode(bytes(offset) + data)
        yield whole[(0, 2, 3)[offset] : len(whole) - 4]


def planted(target: Target, tokens: list[str]) -> list[bytes]:
    """Everything to look for, in every form."""
    units = int(target.study.grid.place([VALUE]).units[0])
    texts = [str(VALUE), str(units), NONCE, PERSON, *(part for token in tokens for part in token.split(".")[1:])]
    found = [form for text in texts for form in forms(text)]
    for number in (struct.pack("<d", VALUE), struct.pack(">d", VALUE), bytes.fromhex(NONCE)):
        found += [number, number.hex().encode(), number.hex().upper().encode(), *base64_forms(number)]
    return [form for form in found if len(form) >= 7]


def take_part(target: Target) -> tuple[list[str], list[httpx.Response]]:
    """Contributions, errors and a withdrawal of the planted person; tokens that were used, and all answers."""
    server, http = target.server, target.server.http
    people = {name: server.token(f"{PERSON} {name}", target.id) for name in ("one", "two", "three", "four")}
    value = {"digest": target.study.digest, "value": VALUE, "nonce": NONCE}
    code = {"digest": target.study.digest, "code": CODE, "nonce": NONCE}
    path = f"/studies/{target.id}"
    answers = [
        http.post(f"{path}/values", headers=people["one"], json=value),
        http.post(f"{path}/values", headers=people["two"], json=value),
        http.post(f"{path}/reports", headers=people["three"], json=code),
        http.post(f"{path}/reports", headers=people["four"], json=code),
        http.post(f"{path}/values", headers=people["one"], json=value),  # again
        http.get(f"{path}/receipt", headers=people["one"]),
        *(http.post(f"{path}/values", headers=people["one"], json=value | wrong) for wrong in WRONG),
        *(http.post(f"{path}/reports", headers=people["three"], json=code | wrong) for wrong in WRONG),
        http.post(f"{path}/values", headers={"Authorization": people["one"]["Authorization"][:-2]}, json=value),
        http.post(f"{path}/values", headers=people["one"], content=f'{{"value": {VALUE}, "{PERSON}": '.encode()),
        http.get(f"/studies/{VALUE}", headers=people["one"]),
        http.get(f"/{VALUE}/{NONCE}", params={"participant": PERSON}),
        http.post(f"{path}/values/withdraw", headers=people["two"], json=value | {"value": VALUE + 1}),
        http.post(f"{path}/values/withdraw", headers=people["two"], json=value),
        http.post(f"{path}/reports/withdraw", headers=people["four"], json=code),
    ]
    relayed = {"participant": f"{PERSON} five", "code": CODE, "nonce": NONCE}
    batch = {"digest": target.study.digest, "reports": [relayed, relayed | {"code": 999}]}
    answers.append(http.post(f"{path}/batches", headers=server.relay(), json=batch))
    for i in range(3):  # company, so that the total is not the planted value
        server.trust(target.study, f"t{i}", 10.0 * i, study_id=target.id)
    answers += [target.move(action) for action in ("release", "close", "release", "release", "withdraw")]
    tokens = [headers["Authorization"].removeprefix("Bearer ") for headers in people.values()]
    return tokens, answers


WRONG: list[dict[str, object]] = [
    {"nonce": NONCE[::-1]},
    {"digest": "0" * 64},
    {"value": VALUE + 1},
    {"value": str(VALUE)},
    {"code": VALUE},
    {"participant": PERSON},
    {PERSON: VALUE},
]


def shown_by(server: Running, target: Target) -> Iterator[str]:
    """Everything that a server tells by itself."""
    for path in ("/metrics", "/studies", f"/studies/{target.id}", f"/studies/{target.id}/result", "/budgets/x"):
        yield server.http.get(path, headers=server.admin).text
    yield server.http.get(f"/studies/{target.id}/result.html").text
    with httpx.Client(base_url=server.url, trust_env=False, follow_redirects=True) as browser:
        yield browser.post("/operator/login", data={"key": server.admin_key}).text
        yield browser.get(f"/operator/studies/{target.id}").text
    state = server.prepared.app.state
    yield repr(state)
    yield repr(state.dict())
    yield repr(vars(state.curator))
    yield repr(vars(state.curator.writer))


def look_for(secrets: list[bytes], where: dict[str, bytes]) -> list[tuple[str, bytes]]:
    return [
        (name, secret)
        for name, content in where.items()
        for secret in secrets
        if secret in content and _is_whole(secret, content)
    ]


def _is_whole(secret: bytes, content: bytes) -> bool:
    """Whether digits stand somewhere by themselves: inside of random hexadecimal numbers they turn up by chance."""
    return not secret.isdigit() or re.search(rb"(?<![0-9a-f])%b(?![0-9a-f])" % secret, content) is not None


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def cells(engine: Engine) -> Iterator[tuple[str, object]]:
    """Everything that stands in any table, with its column."""
    with reading(engine) as connection:
        for table in metadata.tables.values():
            for row in connection.execute(select(table)):
                yield from ((f"{table.name}.{name}", value) for name, value in row._mapping.items())


def look_into_rows(engine: Engine, target: Target) -> None:
    units = int(target.study.grid.place([VALUE]).units[0])
    total = units + sum(int(target.study.grid.place([10.0 * i]).units[0]) for i in range(3))
    for name, value in cells(engine):
        assert value not in (units, 2 * units, total, -units), name
        if isinstance(value, bytes):
            assert not any(n.to_bytes(16, order) in value for n in (units, total) for order in ("big", "little")), name


def test_the_search_finds_what_is_there() -> None:
    hidden = f"x{PERSON}y".encode()
    for content in (hidden, hidden.hex().encode(), base64.b64encode(b"ab" + hidden), f"a{PERSON}".encode("utf-16")):
        assert look_for(list(forms(PERSON)), {"here": content})
    for content, found in ((b'"sum":8630301}', 1), (b"8630301", 1), (b"id a8630301", 0), (b"86303012 8630301-", 1)):
        assert len(look_for([b"8630301"], {"here": content})) == found


@pytest.mark.slow
def test_nothing_planted_stays_or_is_shown_with_sqlite(tmp_path: Path) -> None:
    log = io.StringIO()
    set_up_logging("json", log)
    with running(tmp_path) as server:
        target = new_target(server)
        tokens, answers = take_part(target)
        secrets = planted(target, tokens)
        assert {answer.status_code for answer in answers} >= {200, 201, 400, 401, 404, 409}
        assert all(refused(answer) for answer in answers if answer.status_code >= 400)
        alive = files(tmp_path / "data")
        assert any(name.endswith("-wal") for name in alive)
        shown = {f"shown {i}": text.encode() for i, text in enumerate(shown_by(server, target))}
        shown |= {f"answer {i}": answer.content for i, answer in enumerate(answers)}
        shown |= {f"headers {i}": repr(answer.headers).encode() for i, answer in enumerate(answers)}
        look_into_rows(server.prepared.app.state.curator.engine, target)
    written = {"log": log.getvalue().encode()}
    assert look_for(secrets, alive | shown | written | files(tmp_path / "data")) == []
    assert log.getvalue().count("\n") > len(answers)
    for text in (log.getvalue(), shown["shown 0"].decode()):
        assert not re.search(rf"(?<![\w.-]){CODE}(?![\w.])", text)  # with a dash it is a request's number
        assert "127.0.0.1" not in text


@pytest.mark.slow
def test_nothing_planted_stays_with_postgresql(tmp_path: Path, postgresql: str) -> None:
    log = io.StringIO()
    set_up_logging("text", log)
    for database in empty_database(postgresql):
        with running(tmp_path, database) as server:
            target = new_target(server)
            tokens, answers = take_part(target)
            look_into_rows(server.prepared.app.state.curator.engine, target)
            written = files(data_folder(postgresql))
    assert any("pg_wal" in name for name in written)
    assert look_for(planted(target, tokens), written | files(tmp_path) | {"log": log.getvalue().encode()}) == []
    assert [answer.status_code for answer in answers[-5:]] == [409, 200, 200, 200, 409]


def data_folder(url: str) -> Path:
    """Where a PostgreSQL server keeps its data, after a checkpoint."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("CHECKPOINT")
        folder = Path(str(connection.exec_driver_sql("SHOW data_directory").scalar_one()))
    engine.dispose()
    return folder


@pytest.mark.slow
def test_what_was_taken_is_counted_and_not_logged(tmp_path: Path) -> None:
    written = io.StringIO()
    set_up_logging("json", written)
    study = MeanStudy("session minutes", bounds=(0, 240), epsilon=1.0)
    with running(tmp_path) as server:
        server.create(study)
        assert server.report(study, "a", 1).status_code == 201
        assert server.report(study, "a", 2).status_code == 409
        counted = server.http.get("/metrics", headers=server.admin).text
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    logged = [(line["route"], line["status"]) for line in lines if line.get("route", "").endswith("/reports")]
    assert logged == [("/studies/{study_id:str}/reports", 409)]
    assert 'hybriddp_contributions_total{group="local",outcome="accepted"} 1.0' in counted
