"""Databases, servers and people for the tests of the service."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from secrets import randbits, token_hex

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray
from psycopg.sql import SQL, Identifier
from sqlalchemy import Engine, create_engine, text

from hybriddp.release.mechanisms import Mechanism
from hybriddp.service.store.engine import open_engine
from tests.postgresql import get_server
from tests.service.faults import tell
from tests.service.running import Running, running


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A PostgreSQL server of our own, in a folder that is removed."""
    with tempfile.TemporaryDirectory() as folder, get_server(folder) as server:
        # Its own psql() is started by a shell, which would split a path with spaces.
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):  # this machine does not crash
                connection.execute(SQL("ALTER SYSTEM SET {} = off").format(Identifier(setting)))
            connection.execute("SELECT pg_reload_conf()")
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
def same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is drawn again in memory, as large as real noise."""

    def draw(mechanism: Mechanism, shape: tuple[int, ...], _: object) -> NDArray[np.int64]:
        noise = np.rint(mechanism.scale * np.array([0.7, -0.4, 0.2, -0.9, 0.1]))
        return np.resize(noise.astype(np.int64), shape)

    monkeypatch.setattr(Mechanism, "draw", draw)


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


@pytest.fixture(scope="module")
def a_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A curator for a whole module on the database that a test names by its parameter: sqlite or postgresql."""
    if request.param == "sqlite":
        yield request.getfixturevalue("kept_server")
        return
    for url in empty_database(request.getfixturevalue("postgresql")):
        with running(tmp_path_factory.mktemp("server"), url) as found:
            yield found


def _opened(url: str) -> Iterator[Engine]:
    engine = open_engine(url)
    yield engine
    engine.dispose()
