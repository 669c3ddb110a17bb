"""Ledgers in memory, in a file and in a database: one suite for all stores, then what only a database can do."""

import json
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, create_engine, delete, event, func, select, update

from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release import Event, Ledger, LedgerStore, MechanismRecord, Part, check_ledger
from hybriddp.release.ledger import text as ledger_text
from hybriddp.release.ledger.file import FileLedgerStore
from hybriddp.release.ledger.store import MemoryLedgerStore
from hybriddp.service.store.ledger import DatabaseLedgerStore, ledger_events, ledgers, metadata
from tests.postgresql import get_server

BUDGET = Privacy(epsilon=1)
Place = Callable[[], LedgerStore]


def release(epsilon: object = "0.1", who: str = "trusted", **more: Any) -> Event:
    return Event.now("a release", **{"who": who, "study": "d", "privacy": Privacy(epsilon=epsilon), **more})


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{tmp_path_factory.mktemp('sqlite')}/ledgers.db", hide_parameters=True)
    event.listen(engine, "connect", lambda raw, _: setattr(raw, "isolation_level", None))
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Engine]:
    # Not a folder of pytest's, which every run locks against other users: root starts PostgreSQL as another one.
    server = get_server(tempfile.mkdtemp(), cleanup_mode="delete")
    engine = create_engine(server.get_uri(driver="psycopg"), hide_parameters=True)
    metadata.create_all(engine)
    yield engine
    engine.dispose()
    server.cleanup()


POSTGRES = pytest.param("postgres", marks=pytest.mark.slow)  # to start it takes some seconds


@pytest.fixture(params=["sqlite", POSTGRES])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    engine: Engine = request.getfixturevalue(request.param)
    yield engine
    with engine.begin() as connection:
        connection.execute(delete(ledger_events))
        connection.execute(delete(ledgers))


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    with engine.connect() as connection:
        yield connection


@pytest.fixture(params=["memory", "file", "sqlite", POSTGRES])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Where a ledger may lie: every call is a new way to the same place."""
    if request.param == "memory":
        memory = MemoryLedgerStore()
        yield lambda: memory
    elif request.param == "file":
        yield lambda: FileLedgerStore(tmp_path / "people.ledger")
    else:
        with request.getfixturevalue(request.param).connect() as connection:  # nothing is ever committed
            yield lambda: DatabaseLedgerStore(connection, "people")


# Every store


def test_a_ledger_is_created_once_and_opened_as_it_was(place: Place) -> None:
    with pytest.raises(DataError, match="^There is no ledger"):
        Ledger.open(place())
    made = Ledger.create(place(), Privacy.total(epsilon=30, delta="1e-6"), accountant="zcdp")
    with pytest.raises(DataError, match="exists already, and was left as it is"):
        Ledger.create(place(), BUDGET)
    again = Ledger.open(place())
    assert (again.budget, again.accountant, again.nonce) == (made.budget, made.accountant, made.nonce)


def test_every_place_keeps_the_same(place: Place) -> None:
    noise = MechanismRecord.noise("laplace", sensitivity=1, scale=4)
    events = [
        release("0.25", mechanism=noise),
        release("0.5", "local", part=Part("country", "DE'\"é")),
        release("0.125", "everybody"),
    ]
    ledger = Ledger.create(place(), BUDGET)
    ledger.spend_all(events[:2])
    ledger.spend(events[2])
    for other in (Ledger.open(place()), ledger.copy()):
        assert other.events == tuple(events)
        assert (other.to_dict(), repr(other)) == (ledger.to_dict(), repr(ledger))
        assert other.to_dict()["nonce"] == ledger.nonce == other.nonce


def test_ledgers_in_one_place_have_one_budget(place: Place) -> None:
    one, other = Ledger.create(place(), BUDGET), Ledger.open(place())
    one.spend(release("0.7"))
    with pytest.raises(BudgetError, match="they have ε = 0.3"):
        other.spend(release("0.4"))
    other.spend(release("0.3"))
    assert one.remaining("trusted").epsilon == Fraction("0.3")
    one.refresh()
    assert one.remaining("trusted").epsilon == 0
    assert one.events == other.events


def test_all_or_none_of_many_events_are_written(place: Place) -> None:
    ledger = Ledger.create(place(), BUDGET)
    with pytest.raises(BudgetError):
        ledger.spend_all([release("0.5"), release("0.6")])
    assert ledger.events == Ledger.open(place()).events == ()
    ledger.spend_all([release("0.5")] * 2)
    assert len(Ledger.open(place()).events) == 2


def test_reading_goes_on_where_it_ended(place: Place) -> None:
    ledger, store = Ledger.create(place(), BUDGET), place()
    ledger.spend_all([release("0.01")] * 3)
    first = store.read()
    assert first is not None
    ledger.spend_all([release("0.02")] * 2)
    rest = store.read(first.position)
    assert rest is not None
    assert [e.epsilon for e in first.events + rest.events] == ["0.01"] * 3 + ["0.02"] * 2
    assert (len(rest.events), rest.position.events) == (2, 5)
    with store.writing(rest.position) as opened:
        assert opened.contents.events == ()


def test_events_that_cost_more_than_the_budget_are_refused_when_they_are_read(place: Place) -> None:
    Ledger.create(place(), BUDGET)
    with place().writing(None) as opened:
        opened.append([release("0.6", "everybody"), release("0.6", "local")])
    with pytest.raises(BudgetError, match="has events that cost local users ε = 1.2"):
        Ledger.open(place())


def test_nothing_is_written_where_no_ledger_is(place: Place) -> None:
    with pytest.raises(DataError, match="is gone. Nothing has been spent"), place().writing(None):
        pass


# Databases


def people(connection: Connection) -> DatabaseLedgerStore:
    return DatabaseLedgerStore(connection, "people")


def lines(connection: Connection) -> list[str]:
    return list(connection.scalars(select(ledger_events.c.line).order_by(ledger_events.c.number)))


def test_what_is_rolled_back_was_never_spent(connection: Connection) -> None:
    with connection.begin():
        ledger = Ledger.create(people(connection), BUDGET)
        ledger.spend(release("0.1"))
    for _ in range(2):  # more than the budget, if it counted
        with connection.begin() as transaction:
            ledger.spend(release("0.4"))
            ledger.spend(release("0.4"))
            transaction.rollback()
    with connection.begin():
        ledger.spend(release("0.5"))
        with connection.begin_nested() as savepoint:
            ledger.spend(release("0.3"))
            savepoint.rollback()
        ledger.refresh()
        assert [e.epsilon for e in ledger.events] == ["0.1", "0.5"]
        ledger.spend(release("0.4"))
    with connection.begin():
        with pytest.raises(BudgetError, match="they have ε = 0, δ = 0 left"):
            ledger.spend(release("0.01"))
        assert Ledger.open(people(connection)).events == ledger.events


def test_a_creation_that_is_rolled_back_never_was(connection: Connection) -> None:
    with connection.begin() as transaction:
        ledger = Ledger.create(people(connection), BUDGET)
        ledger.spend(release())
        transaction.rollback()
    with connection.begin(), pytest.raises(DataError, match="The ledger 'people' is gone"):
        ledger.spend(release())
    with connection.begin():
        Ledger.create(people(connection), BUDGET)
        with pytest.raises(DataError, match="'people' has lost events .* or is another ledger now"):
            ledger.spend(release())


def test_transactions_at_once_have_one_ledger_and_one_budget(engine: Engine) -> None:
    with engine.begin() as connection:
        Ledger.create(people(connection), BUDGET)

    def spend(_: int) -> bool:
        with engine.begin() as connection:
            try:
                Ledger.open(people(connection)).spend(release("0.3", "everybody"))
            except BudgetError:
                return False
            return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(spend, range(12))) == 3
    with engine.begin() as connection:
        assert Ledger.open(people(connection)).spent("local").epsilon == Fraction(9, 10)
        assert connection.scalar(select(func.count()).select_from(ledgers)) == 1


def test_two_that_go_on_from_the_same_event_conflict(connection: Connection) -> None:
    Ledger.create(people(connection), BUDGET)
    with people(connection).writing(None) as opened:
        opened.append([release()])
        with pytest.raises(DataError, match="Another program has just written into the ledger 'people'") as refused:
            opened.append([release("0.2")])
    assert refused.value.__cause__ is refused.value.__context__ is None


def test_a_spend_reads_only_what_others_have_added(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Ledger.create(people(connection), BUDGET)
    mine.spend_all([release()] * 3)
    connection.commit()
    other = Ledger.open(people(connection))
    seen: list[bytes] = []
    real = ledger_text.unlink

    def noted(line: bytes, head: str) -> dict[str, Any]:
        seen.append(line)
        return real(line, head)

    monkeypatch.setattr(ledger_text, "unlink", noted)
    mine.spend(release("0.01"))
    mine.spend(release("0.02"))
    connection.commit()
    mine.spend(release("0.03"))
    assert not seen
    other.spend(release("0.04"))
    assert [json.loads(line)["epsilon"] for line in seen] == ["0.01", "0.02", "0.03"]
    assert len(other.events) == 7


def test_the_rows_are_the_lines_of_a_ledger_file(connection: Connection, tmp_path: Path) -> None:
    ledger = Ledger.create(people(connection), BUDGET)
    ledger.spend_all([release(), release("0.2", "everybody")])
    path = tmp_path / "copy.ledger"
    header = connection.scalars(select(ledgers.c.header)).one()
    path.write_text("".join(f"{line}\n" for line in [header, *lines(connection)]), "utf-8")
    assert check_ledger(path).events == 2
    assert Ledger.open(path).to_dict() == ledger.to_dict()


def test_lost_and_edited_rows_are_noticed(connection: Connection) -> None:
    ledger = Ledger.create(people(connection), BUDGET)
    ledger.spend_all([release("0.2")] * 3)
    connection.commit()
    ledger.refresh()
    connection.execute(delete(ledger_events).where(ledger_events.c.number == 3))
    with pytest.raises(DataError, match="'people' has lost events"):
        ledger.spend(release())
    connection.rollback()
    first = lines(connection)[0].replace('"0.2"', '"0.1"')
    connection.execute(update(ledger_events).where(ledger_events.c.number == 1).values(line=first))
    with pytest.raises(DataError, match="Line 2 of 'people' does not follow"):
        Ledger.open(people(connection))
    connection.rollback()
    connection.execute(delete(ledger_events).where(ledger_events.c.number == 2))
    with pytest.raises(DataError, match="Line 3 of 'people' does not follow"):
        Ledger.open(people(connection))
    connection.rollback()
    ledger.spend(release())
    assert len(Ledger.open(people(connection)).events) == 4


def test_ledgers_of_one_database_are_told_apart(connection: Connection) -> None:
    names = ["people", "People", "people'; --", "é"]
    made = [Ledger.create(DatabaseLedgerStore(connection, name), BUDGET) for name in names]
    for ledger in made:
        ledger.spend(release(1))
    assert {ledger.nonce for ledger in made} == {
        Ledger.open(DatabaseLedgerStore(connection, name)).nonce for name in names
    }
    for name in ("", " ", "a\0b", None):
        with pytest.raises(ParameterError, match="^name must be a text that names the ledger"):
            DatabaseLedgerStore(connection, name)
