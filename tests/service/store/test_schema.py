"""The migrations give the tables that the code has."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect

from hybriddp.service.store.engine import open_engine, reading
from hybriddp.service.store.schema import metadata


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
