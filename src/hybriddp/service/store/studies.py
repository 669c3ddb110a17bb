"""Studies, their steps and results, and the hashes of keys."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from hybriddp.service.store.schema import credentials, steps, studies

CREATED, OPEN, CLOSED, RELEASED, WITHDRAWN = "created", "open", "closed", "released", "withdrawn"
ASKING = "asking"  # open for the local group, after the trusted group's list has been released, or in a round
TAKING = (OPEN, ASKING)
_RELAY = "relay "
# Asked with every batch: built once.
_CLOSE_OVERDUE = (
    update(studies)
    .where(studies.c.number == bindparam("overdue"))
    .where(studies.c.state.in_(TAKING) & (studies.c.closes_at <= bindparam("now")))
    .values(state=CLOSED)
)
_RELAY_NAME = select(credentials.c.name).where(
    (credentials.c.key_hash == bindparam("key_hash")) & credentials.c.name.startswith(_RELAY)
)
_DIMENSIONS = "dimensions"  # among the words for people, which are stored together


@dataclass(frozen=True, slots=True)
class StoredStudy:
    """A study as the curator keeps it. Everything but ``state`` never changes.

    In a study that asks in rounds, the number of the round changes with each, and when it closes.
    """

    number: int
    id: str
    digest: str
    kind: str
    text: str
    consent: dict[str, str]
    dimensions: tuple[str, ...]  # what the numbers of a point are called; none in other studies
    origins: tuple[str, ...]
    tokens: bool
    single_group: bool
    min_trusted: int
    min_local: int
    budget: str | None
    closes_at: int
    state: str
    round_number: int = 0
    parts: str | None = None
    round_seconds: int | None = None
    release_at_end: bool = False

    def state_at(self, now: int) -> str:
        """Return the state at a time.

        The study counts as closed from the closing time on, even if this has not been stored yet.
        """
        return CLOSED if self.state in TAKING and now >= self.closes_at else self.state


@dataclass(frozen=True, slots=True)
class StoredStep:
    """A step of a study's life, and what came out of it, byte for byte; None before that."""

    number: int
    name: str
    result: bytes | None
    page: bytes | None
    curator_page: bytes | None


def insert_study(connection: Connection, fields: dict[str, Any], step_names: tuple[str, ...]) -> str | None:
    """Store a new study with its steps; the name of the column whose value another study has, if so."""
    for column in ("id", "digest"):
        if connection.execute(select(studies.c.number).where(studies.c[column] == fields[column])).first():
            return column
    words = {**fields["consent"], _DIMENSIONS: fields["dimensions"]}
    row = {name: value for name, value in fields.items() if name != _DIMENSIONS}
    row |= {"consent": _text(words), "origins": _text(list(fields["origins"]))}
    try:
        with connection.begin_nested():
            number = connection.execute(insert(studies).values(row).returning(studies.c.number)).scalar_one()
    except IntegrityError:  # by another replica, just now
        return "id"
    rows = [{"study": number, "number": i, "name": name} for i, name in enumerate(step_names)]
    connection.execute(insert(steps), rows)
    return None


def study(connection: Connection, study_id: str, *, lock: bool = False) -> StoredStudy | None:
    """Return the study with this id.

    With ``lock``, nothing else changes it or adds to it before the transaction ends.
    """
    query = select(studies).where(studies.c.id == study_id)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    return None if row is None else _study(row)


def all_studies(connection: Connection) -> list[StoredStudy]:
    """All studies, the newest first."""
    return [_study(row) for row in connection.execute(select(studies).order_by(studies.c.number.desc()))]


def timed_studies(connection: Connection) -> list[StoredStudy]:
    """Return the unfinished studies whose rounds advance by themselves, oldest first."""
    running = studies.c.round_seconds.is_not(None) & studies.c.state.in_((*TAKING, CLOSED))
    return [_study(row) for row in connection.execute(select(studies).where(running).order_by(studies.c.number))]


def set_state(connection: Connection, number: int, state: str) -> None:
    """Write a study's new state down."""
    connection.execute(update(studies).where(studies.c.number == number).values(state=state))


def begin_round(connection: Connection, number: int, round_number: int, closes_at: int) -> None:
    """Write down that a study asks a round from now on, until then."""
    values = {"state": ASKING, "round_number": round_number, "closes_at": closes_at}
    connection.execute(update(studies).where(studies.c.number == number).values(values))


def stage(state: str, round_number: int) -> str:
    """Return the stage in which a contribution is taken.

    It is the state and, if the state is a round, also the number of the round.

    Examples
    --------
    >>> stage(OPEN, 0), stage(ASKING, 0), stage(ASKING, 2)
    ('open', 'asking', 'asking 2')
    """
    return f"{state} {round_number}" if state == ASKING and round_number else state


def close_overdue(connection: Connection, numbers: Iterable[int], now: int) -> None:
    """Write down which of these studies have reached their closing time: they stay closed whatever the clock says."""
    for number in sorted(numbers):  # in the order in which those who add lock them
        connection.execute(_CLOSE_OVERDUE, {"overdue": number, "now": now})


def erase(connection: Connection, number: int) -> None:
    """Withdraw a study: its id and digest stay, so that neither can be used again; its words and results go."""
    connection.execute(
        update(studies).where(studies.c.number == number).values(state=WITHDRAWN, consent="{}", origins="[]")
    )
    connection.execute(delete(steps).where(steps.c.study == number))


def study_steps(connection: Connection, number: int) -> list[StoredStep]:
    """Return the steps of a study's life, in order."""
    columns = (steps.c.number, steps.c.name, steps.c.result, steps.c.page, steps.c.curator_page)
    rows = connection.execute(select(*columns).where(steps.c.study == number).order_by(steps.c.number))
    return [StoredStep(number, name, *map(_bytes, kept)) for number, name, *kept in rows]


def store_result(
    connection: Connection, number: int, step: int, *, result: bytes, page: bytes, curator_page: bytes
) -> None:
    """Keep what came out of a step."""
    mine = (steps.c.study == number) & (steps.c.number == step)
    connection.execute(update(steps).where(mine).values(result=result, page=page, curator_page=curator_page))


# Keys


def credential(connection: Connection, name: str, key_hash: str) -> str:
    """Return the hash stored under a name, after storing this one if the name is new."""
    _insert_credential(connection, name, key_hash)
    return str(connection.execute(select(credentials.c.key_hash).where(credentials.c.name == name)).scalar_one())


def add_relay(connection: Connection, name: str, key_hash: str) -> bool:
    """Store the hash of a relay's key; False if there is a relay with this name."""
    return _insert_credential(connection, _RELAY + name, key_hash)


def remove_relay(connection: Connection, name: str) -> bool:
    """Forget a relay's key; False if there is none."""
    return forget_credential(connection, _RELAY + name)


def forget_credential(connection: Connection, name: str) -> bool:
    """Forget the hash that is stored under a name; False if there is none."""
    removed = delete(credentials).where(credentials.c.name == name).returning(credentials.c.name)
    return connection.execute(removed).first() is not None


def relay_name(connection: Connection, key_hash: str) -> str | None:
    """Return the name of the relay whose key has this hash."""
    name = connection.execute(_RELAY_NAME, {"key_hash": key_hash}).scalar()
    return None if name is None else str(name).removeprefix(_RELAY)


def relay_names(connection: Connection) -> list[str]:
    """Return the names of all relays, in order."""
    names = connection.scalars(select(credentials.c.name).where(credentials.c.name.startswith(_RELAY)))
    return sorted(name.removeprefix(_RELAY) for name in names)


def _insert_credential(connection: Connection, name: str, key_hash: str) -> bool:
    try:
        with connection.begin_nested():
            connection.execute(insert(credentials).values(name=name, key_hash=key_hash))
    except IntegrityError:
        return False
    return True


def _study(row: Row[Any]) -> StoredStudy:
    fields = row._asdict()
    consent = json.loads(row.consent)
    fields[_DIMENSIONS] = tuple(consent.pop(_DIMENSIONS, ()))
    return StoredStudy(**fields | {"consent": consent, "origins": tuple(json.loads(row.origins))})


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _bytes(value: bytes | memoryview | None) -> bytes | None:
    return None if value is None else bytes(value)
