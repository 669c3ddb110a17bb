"""The migrations give the tables that the code has."""

from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, text

from hybriddp.service.store import engine as engines
from hybriddp.service.store.contributions import StoredParticipant, add, find, sizes
from hybriddp.service.store.engine import open_engine, reading, writing
from hybriddp.service.store.schema import metadata
from hybriddp.service.store.studies import study
from tests.service.store.making import NOW, SEAL, contribution, take_back


def test_migrations_give_the_tables_of_the_schema(engine: Engine) -> None:
    with reading(engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_migrations_run_once(database: str) -> None:
    for _ in range(2):
        engine = open_engine(database)
        names = set(inspect(engine).get_table_names())
        engine.dispose()
    assert names == {*metadata.tables, "alembic_version"}


def test_no_column_could_hold_a_value_or_a_report() -> None:
    assert {column.name for table in metadata.tables.values() for column in table.c}.isdisjoint(
        {"value", "report", "token", "subject", "participant", "address"}
    )
    columns = metadata.tables["participants"].c
    assert set(columns.keys()) == {"study", "who", "trusted", "asserted", "day", "commitment", "part"}


def test_a_database_from_before_parts_goes_on(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(engines, "_migrate", lambda engine: _upgrade(engine, "0002"))
        old = open_engine(database)
    who, commitment = bytes(range(16)), bytes(32)
    with writing(old) as connection:
        connection.execute(
            text(
                "INSERT INTO studies (id, digest, kind, text, consent, origins, tokens, single_group, min_trusted, "
                "min_local, closes_at, state) VALUES ('minutes', :digest, 'mean', '{}', '{}', '[]', true, false, 2, 2, "
                "2000, 'open')"
            ),
            {"digest": "0" * 64},
        )
        number = connection.execute(text("SELECT number FROM studies")).scalar_one()
        row = {"study": number, "who": who, "commitment": commitment}
        connection.execute(
            text(
                "INSERT INTO participants (study, who, trusted, asserted, day, commitment) "
                "VALUES (:study, :who, false, 0, 5, :commitment)"
            ),
            row,
        )
        connection.execute(text("INSERT INTO tallies VALUES (:study, 'a', 7, 1)"), {"study": number})
    old.dispose()
    new = open_engine(database)
    with reading(new) as connection:
        found = study(connection, "minutes")
        assert found is not None
        assert (found.parts, found.state) == (None, "open")
        assert find(connection, number, who) == StoredParticipant(False, 0, 5, commitment)
    one = contribution(found, "ann", 9)
    with writing(new) as connection:
        assert [verdict.value for verdict in add(connection, [one], replica="a", seal=SEAL, now=NOW)] == ["accepted"]
        assert sizes(connection, number).local == 2
    assert take_back(new, one).value == "withdrawn"
    new.dispose()


def _upgrade(engine: Engine, revision: str) -> None:
    """The tables as they were at a revision."""
    config = Config()
    config.set_main_option("script_location", str(Path(engines.__file__).parent / "migrations"))
    with writing(engine) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
