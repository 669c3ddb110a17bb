"""Databases that released versions have written are brought up to date, and everything goes on in them."""

from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine, text

from hybriddp.client import verify
from hybriddp.errors import DataError
from hybriddp.service.store.engine import open_engine, reading, writing
from hybriddp.service.store.schema import metadata
from tests.service.attacking import refused
from tests.service.running import Running, running
from tests.service.store.databases.written import COLORS, HERE, MINUTES, NONCE, Written, versions, visitors


def test_every_migration_has_a_database_of_each_kind() -> None:
    wanted = {f"{version}.{kind}.xz" for version in versions() for kind in ("sqlite", "postgresql")}
    assert {path.name for path in HERE.glob("*.xz")} == wanted
    assert {path.name for path in HERE.glob("*.json")} == {name.replace(".xz", ".json") for name in wanted}


@pytest.mark.slow
@pytest.mark.representative
@pytest.mark.parametrize("version", versions())
def test_a_database_of_an_earlier_version_is_used_on(database: str, tmp_path: Path, version: str) -> None:
    written = Written.of(database.partition(":")[0], version)
    written.restore(tmp_path, database)
    address = "" if written.kind == "sqlite" else database
    with running(tmp_path, address, clock_ok=True) as server:  # it was written long ago
        with reading(server.prepared.app.state.curator.engine) as connection:
            assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        studies = server.http.get("/studies", headers=server.admin).json()
        assert {study["id"]: study["digest"] for study in studies} == written.digests
        assert server.http.get("/studies/done/result").text == server.move("release", "done").text == written.result
        _people_take_part_once(server, written)
        _a_budget_is_spent(server)
        _a_round_is_answered(server)
        batch = {"digest": MINUTES.digest, "reports": [{"participant": "local 9", "code": 1, "nonce": NONCE}]}
        relay = {"authorization": f"Bearer {written.relay_key}"}
        assert server.http.post("/studies/minutes/batches", headers=relay, json=batch).json()["accepted"] == 1
        assert server.move("close").json()["counts"] == {"trusted": 3, "local": 3}
        assert server.move("release").status_code == 200
        assert server.move("close", "words").json()["counts"] == {"trusted": 60, "local": 0}


def _people_take_part_once(server: Running, written: Written) -> None:
    """Whoever has taken part is known: with the same contribution, with another one, and when they withdraw."""
    again = server.trust(MINUTES, "trusted 0", 52.0, nonce=NONCE)
    assert (again.status_code, again.json()) == (200, written.receipt)
    verify(again.json(), server.http.get("/.well-known/hybriddp-receipts.json").json())
    assert refused(server.trust(MINUTES, "trusted 0", 53.0)) == refused(server.report(MINUTES, "local 0", 9))
    assert server.trust(MINUTES, "trusted 9", 3.0).status_code == 201
    body = {"digest": MINUTES.digest, "code": 3, "nonce": NONCE}
    path, token = "/studies/minutes/reports/withdraw", server.token("local 1")
    assert server.http.post(path, headers=token, json=body).json()["receipt"]["opened"] is True
    assert server.report(MINUTES, "local 2", 2).status_code == 201


def _a_budget_is_spent(server: Running) -> None:
    left: dict[str, Any] = server.http.get("/budgets/people", headers=server.admin).json()["left"]
    assert left["epsilon"] == "1"
    assert refused(server.trust(COLORS, "trusted 0", "red", study_id="color")) == "duplicate"


def _a_round_is_answered(server: Running) -> None:
    asked = visitors().asked(server)
    messages = asked.messages(asked.names)
    assert asked.send(server, messages, NONCE)[3:] == ["accepted"] * (len(asked.names) - 3)
    server.move("close", "visits")
    deadline = {"closes_at": "2099-01-01T00:00:00Z"}
    answer = server.http.post("/studies/visits/round", headers=server.admin, json=deadline)
    assert (answer.status_code, answer.json()["rounds"][0]["answered"]) == (200, len(asked.names))


# Databases that cannot be used: the message is true, and nothing is changed


def _refused(database: str) -> str:
    with pytest.raises(DataError) as refusal:
        open_engine(database)
    assert refusal.value.__cause__ is refusal.value.__context__ is None
    return str(refusal.value)


def _plain(database: str) -> Engine:
    return create_engine(database.replace("postgresql://", "postgresql+psycopg://", 1))


def test_tables_of_another_version(database: str) -> None:
    open_engine(database).dispose()
    engine = _plain(database)
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9.9.9'"))
    engine.dispose()
    assert "those of another version of hybriddp" in _refused(database)


def test_tables_of_another_program(database: str) -> None:
    engine = _plain(database)
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE totals (secret TEXT)"))
    told = _refused(database)
    assert "could not be brought up to date" in told
    assert "reached" not in told
    with reading(engine) as connection:  # nothing was made beside it
        names = connection.dialect.get_table_names(connection)
    assert names == ["totals"]
    engine.dispose()


def test_a_database_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to be taken for one by its size alone" * 99)
    assert "none of SQLite" in _refused(f"sqlite:///{tmp_path / 'text'}")
    assert "cannot be opened" in _refused(f"sqlite:///{tmp_path / 'no' / 'folder'}")
    assert "cannot be reached" in _refused("postgresql://127.0.0.1:1/x")
