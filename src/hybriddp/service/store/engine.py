"""Opening the database: SQLite in the data folder, or PostgreSQL by its URL; its tables are brought up to date.

Every commit is durable when it returns: SQLite runs with a write-ahead log and ``synchronous=FULL``, PostgreSQL with
its default. SQLite's pages are small, since the primary key of participants is random: each new row dirties a page, and
the log holds whole pages (pages of 1 KiB take 1.5 times as many rows per second as pages of 4 KiB, at 4 million rows).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic.util import CommandError
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DatabaseError, OperationalError

from hybriddp.errors import DataError, raise_unchained
from hybriddp.service.private_files import create_private

_PAGE = 1024
_LOG = 64 << 20  # bytes of the write-ahead log after which it is copied into the database
_CACHE = 64 << 10  # KiB
_PATIENCE: dict[str, object] = {  # seconds until a PostgreSQL server that does not answer counts as away
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,  # milliseconds
}
_LIMITS = (  # of a session, in milliseconds; a process that is stopped amid a transaction must not keep its locks
    ("statement_timeout", 60_000),
    ("lock_timeout", 20_000),
    ("idle_in_transaction_session_timeout", 60_000),
)
_BUSY = 30_000  # milliseconds to wait for another process
_MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 0x68796264  # of PostgreSQL, held while tables are brought up to date


def open_engine(database: str) -> Engine:
    """Open an engine whose errors carry no parameters, with its tables up to date.

    `DataError` if the database cannot be reached or its tables cannot be brought up to date.
    """
    with opening(database) as (engine, _):
        pass
    return engine


@contextmanager
def opening(database: str) -> Iterator[tuple[Engine, Connection]]:
    """Open an engine; the block runs in the transaction that brings the tables up to date.

    So a start that the block refuses has changed nothing, and the version that wrote the database can be started again.
    """
    engine = _engine(database)
    try:
        _require_reachable(engine)
        with _failure_in_words(), writing(engine) as connection:
            _migrate(connection)
            yield engine, connection
    except BaseException:
        engine.dispose()
        raise


def _engine(database: str) -> Engine:
    url = make_url(database)
    if url.get_backend_name() == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() == "sqlite":
        if url.database:
            create_private(Path(url.database))
        engine = create_engine(url, hide_parameters=True, connect_args={"timeout": _BUSY / 1000})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        engine = create_engine(url, hide_parameters=True, pool_pre_ping=True, pool_size=8, connect_args=_PATIENCE)
        event.listen(engine, "connect", _prepare_postgresql)
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open a connection that changes nothing."""
    with engine.connect() as connection:
        yield connection


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Open a connection that changes nothing and sees one state of the database.

    Commits by others are not visible meanwhile. Connections to SQLite always have this property.
    """
    with engine.connect() as connection:
        if is_postgresql(connection):
            connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that commits at the end, or changes nothing.

    On SQLite it keeps all other writers out.
    """
    with engine.connect() as connection:
        writer = connection.execution_options(writes=True)
        with writer.begin():
            yield writer


def is_postgresql(connection: Connection) -> bool:
    """Whether rows can be locked and copied; SQLite has one writer at a time instead."""
    return connection.dialect.name == "postgresql"


@contextmanager
def driver(connection: Connection) -> Iterator[Any]:
    """Yield the driver's own connection, for operations that SQLAlchemy lacks.

    The driver's errors are raised as SQLAlchemy's errors, as everywhere else.
    """
    known: Any = connection.dialect.dbapi
    try:
        yield connection.connection.dbapi_connection
    except known.Error as error:
        raise OperationalError(None, None, error, hide_parameters=True) from error


def _prepare_sqlite(connection: Any, _: object) -> None:  # noqa: ANN401
    connection.isolation_level = None  # transactions begin where we say so
    cursor = connection.cursor()
    for pragma in (
        f"page_size={_PAGE}",
        "journal_mode=WAL",
        "synchronous=FULL",
        f"wal_autocheckpoint={_LOG // _PAGE}",
        f"cache_size=-{_CACHE}",
        "foreign_keys=ON",
        "secure_delete=ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _prepare_postgresql(connection: Any, _: object) -> None:  # noqa: ANN401
    with connection.cursor() as cursor:  # a pooler between would refuse these as options of the connection
        for name, milliseconds in _LIMITS:
            cursor.execute(f"SET {name} = {milliseconds}")
    connection.commit()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _require_reachable(engine: Engine) -> None:
    """Raise `DataError` if nobody answers, or somebody who is no database."""
    try:
        answers(engine)
    except OperationalError:
        if engine.dialect.name == "sqlite":
            words = "The file of the database cannot be opened or written. Correct its folder, or its permissions."
        else:
            words = "The database cannot be reached. Start it, or correct its URL: --database."
        raise_unchained(DataError(words))
    except DatabaseError:
        raise_unchained(DataError("The file of the database is none of SQLite, or is damaged. Restore a backup."))


@contextmanager
def _failure_in_words() -> Iterator[None]:
    """Raise `DataError` that names the cause if the tables cannot be brought up to date, which is rolled back."""
    try:
        yield
    except CommandError:
        raise_unchained(
            DataError(
                "The tables of the database are those of another version of hybriddp, which this one does not know. "
                "Nothing was changed. Install the version that wrote them, or a newer one."
            )
        )
    except DatabaseError as reason:
        # Only the class of the driver's error: its message may quote what is in the database.
        raise_unchained(
            DataError(
                f"The tables of the database could not be brought up to date ({type(reason.orig).__name__}); they are "
                "as they were before. Make sure that its user may create tables, that no other program writes to it or "
                "has tables of these names there, and that its disk has room; then start again."
            )
        )


def _migrate(connection: Connection) -> None:
    """Run Alembic's migrations, one process at a time."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    if is_postgresql(connection):
        for name, _ in _LIMITS:  # a migration takes as long as it takes
            connection.execute(text(f"SET LOCAL {name} = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def answers(engine: Engine) -> None:
    """Raise SQLAlchemy's error if the database does not answer."""
    with reading(engine) as connection:
        connection.execute(text("SELECT 1"))
