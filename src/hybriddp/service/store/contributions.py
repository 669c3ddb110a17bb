"""Who has taken part, and the running sums of what they contributed: added together, in one transaction, or not at all.

A participant's row is written before anything is added for them, and the primary key lets nobody in twice. What was
accepted is added to sums that belong to one replica each, so that replicas on one database never wait for each other's
sums; the sums of all replicas are added up when they are read.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, func, insert, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from hybriddp.service.store.engine import driver, is_postgresql
from hybriddp.service.store.part_sums import PartSums, in_part, trusted_entry
from hybriddp.service.store.schema import participants, studies, tallies, totals
from hybriddp.service.store.seal import TotalSeal
from hybriddp.service.store.studies import OPEN, TAKING, close_overdue, stage
from hybriddp.service.store.sums import UNIT_SUMS, StudySums

PARTICIPANT, RELAY, NOBODY = range(3)
"""Who says that a participant is who they are."""

_ROWS = 400  # of a query with a parameter each

_FORGOTTEN = {"commitment": None, "trusted": None, "asserted": NOBODY, "day": 0, "part": None}  # after a withdrawal

_COLUMNS = "study, who, trusted, asserted, day, commitment, part"
_INSERT = f"INSERT INTO participants ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_STAGE = (
    "CREATE TEMPORARY TABLE IF NOT EXISTS arriving (study integer, who bytea, trusted boolean, asserted smallint, "
    "day integer, commitment bytea, part smallint) ON COMMIT DELETE ROWS"
)
_COPY = f"COPY arriving ({_COLUMNS}) FROM STDIN (FORMAT BINARY)"
_COPY_TYPES = ("int4", "bytea", "bool", "int2", "int4", "bytea", "int2")
# Sorted, so that two replicas with the same participants wait for each other instead of locking each other out.
_MOVE = (
    f"INSERT INTO participants ({_COLUMNS}) SELECT {_COLUMNS} FROM arriving ORDER BY study, who "  # noqa: S608
    "ON CONFLICT (study, who) DO NOTHING RETURNING study, who"
)


_OPEN = (
    select(studies.c.number, studies.c.closes_at, studies.c.state, studies.c.round_number)
    .where(studies.c.number.in_(bindparam("numbers", expanding=True)) & studies.c.state.in_(TAKING))
    .order_by(studies.c.number)  # as everybody does who locks several, or two would wait for each other
    .with_for_update(read=True)
)


_ALONE = (
    select(studies.c.number)
    .where(studies.c.number.in_(bindparam("numbers", expanding=True)))
    .order_by(studies.c.number)
    .with_for_update()
)


class Verdict(Enum):
    """What became of a contribution."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"  # the same contribution, opened by the same nonce: nothing was added
    DUPLICATE = "duplicate"  # another contribution of somebody who has taken part, or has withdrawn
    CLOSED = "closed"
    FULL = "full"  # the trusted group has as many people as there is room for
    UNSURE = "unavailable"  # closed, if the clock is right, which is in doubt: nothing was added
    ABSENT = "absent"  # for a withdrawal: there is nothing to withdraw
    WITHDRAWN = "withdrawn"
    FORGOTTEN = "forgotten"  # was withdrawn before, or never came: either way the person is not in the sums


@dataclass(frozen=True, slots=True)
class NewContribution:
    """One person's integer (a code, units of a value, a bin's or a category's number), and what is stored of them."""

    study: int
    digest: str
    who: bytes
    trusted: bool
    integer: int
    commitment: bytes
    asserted: int
    day: int
    sums: StudySums = UNIT_SUMS  # how it is added up
    taken_in: str = OPEN  # the stage of the study in which it is taken
    part: int | None = None  # of the users that the person is in, if the study has parts

    @property
    def added(self) -> int:
        """What is added up: the integer, with the part."""
        return self.integer if self.part is None else in_part(self.integer, self.part)

    @property
    def key(self) -> tuple[int, bytes]:
        """Whom it is from."""
        return self.study, self.who

    @property
    def row(self) -> tuple[Any, ...]:
        """What is stored of the person."""
        return self.study, self.who, self.trusted, self.asserted, self.day, self.commitment, self.part


@dataclass(frozen=True, slots=True)
class StoredParticipant:
    """What is stored of a person; after a withdrawal no more than that there was one."""

    trusted: bool | None
    asserted: int
    day: int
    commitment: bytes | None
    part: int | None = None


@dataclass(frozen=True, slots=True)
class GroupSizes:
    """How many contributions each group has."""

    trusted: int
    local: int


def add(
    connection: Connection,
    contributions: Sequence[NewContribution],
    *,
    replica: str,
    seal: TotalSeal,
    now: int,
    certain: bool = True,
) -> list[Verdict]:
    """Add contributions to the sums of this replica, each person's once; what became of each.

    If the time is not ``certain``, no study is said to be closed because of it.
    """
    locked = _lock_open(connection, {one.study for one in contributions}, now)
    open_studies = locked.stages
    first: dict[tuple[int, bytes], int] = {}  # a person may come twice in one transaction: the first one counts
    for i, one in enumerate(contributions):
        if open_studies.get(one.study) == one.taken_in:
            first.setdefault(one.key, i)
    rows = [contributions[i] for i in first.values()]
    full = _without_room(connection, rows)
    rows = [one for one in rows if one.key not in full]
    new = _insert_postgresql(connection, rows) if is_postgresql(connection) else _insert_sqlite(connection, rows)
    _change_sums(connection, [one for one in rows if one.key in new], 1, replica=replica, seal=seal)
    known: dict[tuple[int, bytes], bytes | None] = {key: contributions[first[key]].commitment for key in new}
    known |= _commitments(connection, [one.key for one in contributions if one.key not in new])
    outcomes = []
    for i, one in enumerate(contributions):
        if one.key in new and first[one.key] == i:
            outcomes.append(Verdict.ACCEPTED)
        elif one.key in full:
            outcomes.append(Verdict.FULL)
        elif known.get(one.key) == one.commitment:  # whoever did not hear the answer hears it now, closed or not
            outcomes.append(Verdict.REPEATED)
        else:
            taken = open_studies.get(one.study) == one.taken_in
            outcomes.append(Verdict.DUPLICATE if taken else locked.refusal(one.study, certain=certain))
    return outcomes


def withdraw(
    connection: Connection,
    one: NewContribution,
    *,
    replica: str,
    seal: TotalSeal,
    now: int,
    certain: bool = True,
) -> Verdict:
    """Subtract exactly what a commitment was made to, and forget the commitment; the person cannot come back."""
    numbers = [one.study]
    connection.execute(_ALONE, {"numbers": numbers})  # the sums of other replicas are moved, too
    if certain:
        close_overdue(connection, numbers, now)
    locked = _lock_open(connection, {one.study}, now)
    is_open = locked.stages.get(one.study) == one.taken_in
    found = find(connection, one.study, one.who)
    if found is not None and found.commitment is None:
        return Verdict.FORGOTTEN
    if not is_open:
        return locked.refusal(one.study, certain=certain)
    if found is None:
        if one.asserted == NOBODY:
            return Verdict.ABSENT
        connection.execute(insert(participants).values(study=one.study, who=one.who, **_FORGOTTEN))
        return Verdict.FORGOTTEN
    if found.commitment != one.commitment:
        return Verdict.DUPLICATE
    one = replace(one, part=found.part)  # where it was added, whatever a newer token says
    fold(connection, one.study, one.digest, replica=replica, seal=seal, sums=one.sums)
    mine = (participants.c.study == one.study) & (participants.c.who == one.who)
    connection.execute(update(participants).where(mine).values(_FORGOTTEN))
    _change_sums(connection, [one], -1, replica=replica, seal=seal)
    entries = _trusted_entries(one) if one.trusted else one.sums.entries(one.added)
    if entries:
        mine = (tallies.c.study == one.study) & tallies.c.code.in_(entries)
        connection.execute(delete(tallies).where(mine & (tallies.c.count == 0)))
    return Verdict.WITHDRAWN


def fold(
    connection: Connection, study: int, digest: str, *, replica: str, seal: TotalSeal, sums: StudySums = UNIT_SUMS
) -> None:
    """Add the sums of all replicas up in this one's row: the row of one that took a single value would show it.

    Whoever calls this keeps others from adding to the study.
    """
    others = (tallies.c.study == study) & ((tallies.c.replica < replica) | (tallies.c.replica > replica))
    if connection.execute(select(tallies.c.code).where(others).limit(1)).first() is not None:  # else nothing to move
        codes = {code: count for code, count in tally(connection, study).items() if count}
        connection.execute(delete(tallies).where(tallies.c.study == study))
        rows = [{"study": study, "replica": replica, "code": code, "count": n} for code, n in sorted(codes.items())]
        if rows:
            connection.execute(insert(tallies), rows)
    found = [row for row in _sealed(connection, study) if row[2]]  # what has been released is gone
    if found:
        count, units = sum(count for _, count, _ in found), total(connection, study, digest, seal, sums)
        connection.execute(delete(totals).where(totals.c.study == study))
        if count or units:
            size = max(seal.total_bytes(sealed) for *_, sealed in found)  # all have the same
            sealed = seal.close(units, digest, replica, count, total_bytes=size)
            connection.execute(insert(totals).values(study=study, replica=replica, count=count, sealed=sealed))


def forget_total(connection: Connection, study: int) -> None:
    """Drop the exact sum of trusted units, which nothing needs after a release; how many there were stays."""
    connection.execute(update(totals).where(totals.c.study == study).values(sealed=b""))


def find(connection: Connection, study: int, who: bytes) -> StoredParticipant | None:
    """Return the stored row of a participant."""
    columns = ("trusted", "asserted", "day", "commitment", "part")
    query = select(*(participants.c[name] for name in columns)).where(
        (participants.c.study == study) & (participants.c.who == who)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else StoredParticipant(*row)


def tally(connection: Connection, study: int) -> dict[int, int]:
    """Return the counts of reports by code, over all replicas.

    Some kinds of study count something else than codes.
    """
    query = select(tallies.c.code, func.sum(tallies.c.count)).where(tallies.c.study == study).group_by(tallies.c.code)
    return {code: int(count) for code, count in connection.execute(query)}


def total(connection: Connection, study: int, digest: str, seal: TotalSeal, sums: StudySums = UNIT_SUMS) -> int:
    """Return the sum of all trusted contributions over all replicas, not private."""
    rows = _sealed(connection, study)
    return sums.merged(seal.open(sealed, digest, replica, count) for replica, count, sealed in rows)


def _sealed(connection: Connection, study: int) -> list[tuple[str, int, bytes]]:
    query = select(totals.c.replica, totals.c.count, totals.c.sealed).where(totals.c.study == study)
    return [(replica, count, bytes(sealed)) for replica, count, sealed in connection.execute(query)]


def sizes(connection: Connection, study: int) -> GroupSizes:
    """Count the contributions of each group."""
    trusted = connection.execute(select(func.sum(totals.c.count)).where(totals.c.study == study)).scalar()
    reports = (tallies.c.study == study) & (tallies.c.code >= 0)  # see `sums`
    local = connection.execute(select(func.sum(tallies.c.count)).where(reports)).scalar()
    return GroupSizes(int(trusted or 0), int(local or 0))


def part_sizes(connection: Connection, study: int, sums: PartSums) -> list[GroupSizes]:
    """Count the contributions of each group in each part."""
    mine, count = tallies.c.study == study, func.sum(tallies.c.count)
    part = tallies.c.code // sums.n_codes
    local = connection.execute(select(part, count).where(mine & (tallies.c.code >= 0)).group_by(part))
    trusted = connection.execute(
        select(tallies.c.code, count).where(mine & (tallies.c.code < 0)).group_by(tallies.c.code)
    )
    locals_, trusting = ({key: int(n) for key, n in rows} for rows in (local, trusted))
    return [GroupSizes(trusting.get(trusted_entry(i), 0), locals_.get(i, 0)) for i in range(sums.n_parts)]


def forget_answers(connection: Connection, study: int) -> None:
    """Empty the tally of the answers to a round for the next one. Nobody may be adding to it."""
    connection.execute(delete(tallies).where((tallies.c.study == study) & (tallies.c.code < 0)))


def forget(connection: Connection, study: int) -> None:
    """Delete everything that a study's participants contributed, and that they did."""
    for table in (participants, tallies, totals):
        connection.execute(delete(table).where(table.c.study == study))


@dataclass(frozen=True, slots=True)
class _LockedStudies:
    """Studies that take contributions, with their stages, and those whose time has come, though that is not written."""

    stages: dict[int, str]
    overdue: set[int]

    def refusal(self, study: int, *, certain: bool) -> Verdict:
        """Return why a study takes nothing."""
        return Verdict.UNSURE if study in self.overdue and not certain else Verdict.CLOSED


def _lock_open(connection: Connection, numbers: set[int], now: int) -> _LockedStudies:
    """Lock those of the studies that take contributions; they stay as they are until the transaction ends."""
    found = connection.execute(_OPEN, {"numbers": sorted(numbers)}).all()
    return _LockedStudies(
        {row.number: stage(row.state, row.round_number) for row in found if now < row.closes_at},
        {row.number for row in found if now >= row.closes_at},
    )


def _without_room(connection: Connection, rows: Sequence[NewContribution]) -> set[tuple[int, bytes]]:
    """Return the new people for whom their study's trusted group has no room, the last ones to come.

    They are left out one by one: others in the same transaction need not wait for another one.
    """
    limited: defaultdict[int, list[NewContribution]] = defaultdict(list)
    for one in rows:
        if one.trusted and one.sums.most_people is not None:
            limited[one.study].append(one)
    full: set[tuple[int, bytes]] = set()
    for study, coming in limited.items():
        query = select(func.sum(totals.c.count)).where(totals.c.study == study)
        room = (coming[0].sums.most_people or 0) - int(connection.execute(query).scalar() or 0)
        if room < len(coming):  # who has taken part before needs no room
            there = _commitments(connection, [one.key for one in coming])
            full |= {one.key for one in [one for one in coming if one.key not in there][max(0, room) :]}
    return full


def _insert_sqlite(connection: Connection, rows: Sequence[NewContribution]) -> set[tuple[int, bytes]]:
    """Insert the rows of people who have none yet; whose these are. Hardly ever has one of them a row already."""
    rows = sorted(rows, key=lambda one: one.key)
    savepoint = connection.begin_nested()
    try:
        if rows:
            connection.exec_driver_sql(_INSERT, [one.row for one in rows])
    except IntegrityError:
        savepoint.rollback()
        there = _commitments(connection, [one.key for one in rows])
        rows = [one for one in rows if one.key not in there]
        if rows:
            connection.exec_driver_sql(_INSERT, [one.row for one in rows])
    else:
        savepoint.commit()
    return {one.key for one in rows}


def _insert_postgresql(connection: Connection, rows: Sequence[NewContribution]) -> set[tuple[int, bytes]]:
    """Insert the rows of new people, by COPY into a table of this session."""
    if not rows:
        return set()
    with driver(connection) as raw, raw.cursor() as cursor:
        cursor.execute(_STAGE)
        with cursor.copy(_COPY) as copy:
            copy.set_types(_COPY_TYPES)
            for one in rows:
                copy.write_row(one.row)
    return {(row.study, bytes(row.who)) for row in connection.execute(text(_MOVE))}


def _commitments(connection: Connection, keys: Sequence[tuple[int, bytes]]) -> dict[tuple[int, bytes], bytes | None]:
    """Return the commitments of participants who have taken part or withdrawn."""
    by_study: defaultdict[int, list[bytes]] = defaultdict(list)
    for study, who in keys:
        by_study[study].append(who)
    found: dict[tuple[int, bytes], bytes | None] = {}
    for study, people in by_study.items():
        for i in range(0, len(people), _ROWS):
            query = select(participants.c.who, participants.c.commitment).where(
                (participants.c.study == study) & participants.c.who.in_(people[i : i + _ROWS])
            )
            found |= {(study, bytes(row.who)): row.commitment for row in connection.execute(query)}
    return found


def _change_sums(
    connection: Connection, contributions: Iterable[NewContribution], sign: int, *, replica: str, seal: TotalSeal
) -> None:
    """Add to this replica's sums, or subtract from them."""
    codes: Counter[tuple[int, int]] = Counter()
    entries: Counter[tuple[int, int]] = Counter()
    trusted: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    adding: dict[int, StudySums] = {}
    for one in contributions:
        adding[one.study] = one.sums
        if one.trusted:
            trusted[one.study, one.digest].append(one.added)
            for entry in _trusted_entries(one):
                entries[one.study, entry] += sign
        else:
            codes[one.study, one.added] += sign
    for (study, code), count in codes.items():
        for entry in adding[study].entries(code):
            entries[study, entry] += count
    if entries:
        rows = [
            {"study": study, "replica": replica, "code": entry, "count": count}
            for (study, entry), count in sorted(entries.items())
        ]
        connection.execute(_upsert(connection.dialect.name, tallies, ("study", "replica", "code"), added="count"), rows)
    for (study, digest), integers in sorted(trusted.items()):
        sums = adding[study]
        mine = (totals.c.study == study) & (totals.c.replica == replica)
        row = connection.execute(select(totals.c.count, totals.c.sealed).where(mine).with_for_update()).one_or_none()
        before, count = 0, 0
        if row is not None:
            count, sealed = row
            before = seal.open(sealed, digest, replica, count)
        count += sign * len(integers)
        after = sums.change(before, integers, sign)
        sealed = seal.close(after, digest, replica, count, total_bytes=sums.total_bytes)
        values: Mapping[str, Any] = {"study": study, "replica": replica, "count": count, "sealed": sealed}
        connection.execute(
            _upsert(connection.dialect.name, totals, ("study", "replica"), set_to=("count", "sealed")), values
        )


def _trusted_entries(one: NewContribution) -> tuple[int, ...]:
    """Return the entries of the tally that a trusted contribution adds 1 to.

    These entries count the size of the participant's part.
    """
    return () if one.part is None else (trusted_entry(one.part),)


@lru_cache
def _upsert(
    dialect: str,
    table: Table,
    key: tuple[str, ...],
    *,
    added: str = "",
    set_to: tuple[str, ...] = (),
) -> Any:  # noqa: ANN401
    """Return a statement that inserts a row or changes the existing one."""
    row = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(table)
    changed: dict[str, Any] = {name: row.excluded[name] for name in set_to}
    if added:
        changed[added] = table.c[added] + row.excluded[added]
    return row.on_conflict_do_update(index_elements=list(key), set_=changed)
