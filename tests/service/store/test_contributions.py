"""Contributions: each person counts once, sums are exact to the unit, and withdrawals leave no trace in them."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import Engine, select, text
from sqlalchemy.exc import OperationalError

from hybriddp.errors import DataError
from hybriddp.service.store import contributions as store
from hybriddp.service.store.contributions import NOBODY, NewContribution, StoredParticipant, Verdict, find, forget
from hybriddp.service.store.engine import reading, writing
from hybriddp.service.store.part_sums import PartSums
from hybriddp.service.store.schema import participants, tallies, totals
from hybriddp.service.store.seal import TotalSeal
from hybriddp.service.store.studies import CLOSED, CREATED, StoredStudy, set_state, study
from tests.examples import fewer_examples
from tests.service.store.making import CLOSES, NOW, SEAL, contribution, make_study, send, sums, take_back

UNITS = 2**24


def close(engine: Engine, of: StoredStudy) -> None:
    with writing(engine) as connection:
        set_state(connection, of.number, CLOSED)


def test_sums_are_those_of_what_was_accepted(kept_engine: Engine) -> None:
    of = make_study(kept_engine)
    codes, units = [3, 3, 255, 0], [0, UNITS, 123_456, 5]
    sent = [contribution(of, f"l{i}", code) for i, code in enumerate(codes)]
    sent += [contribution(of, f"t{i}", unit, trusted=True) for i, unit in enumerate(units)]
    assert send(kept_engine, *sent) == ["accepted"] * 8
    assert sums(kept_engine, of) == (Counter(codes), sum(units), (4, 4))


def test_what_is_stored_of_a_person(kept_engine: Engine) -> None:
    of = make_study(kept_engine)
    one = contribution(of, "a", 7)
    send(kept_engine, one)
    with reading(kept_engine) as connection:
        assert find(connection, of.number, one.who) == StoredParticipant(False, one.asserted, one.day, one.commitment)
        assert find(connection, of.number, bytes(16)) is None
        assert find(connection, of.number + 1, one.who) is None


def test_repeating_adds_nothing(kept_engine: Engine) -> None:
    of = make_study(kept_engine)
    sent = [contribution(of, "l", 9), contribution(of, "t", 44, trusted=True)]
    send(kept_engine, *sent)
    before = sums(kept_engine, of)
    assert send(kept_engine, *sent, replica="b") == ["repeated", "repeated"]
    assert sums(kept_engine, of) == before


@pytest.mark.parametrize(
    "again",
    [{"integer": 8}, {"nonce": 1}, {"trusted": True}],
    ids=["another code", "another nonce", "the other group"],
)
def test_anything_else_from_the_same_person_is_a_duplicate(kept_engine: Engine, again: dict[str, int]) -> None:
    of = make_study(kept_engine)
    send(kept_engine, contribution(of, "a", 7))
    other = contribution(of, "a", again.get("integer", 7), **{k: v for k, v in again.items() if k != "integer"})
    assert send(kept_engine, other) == ["duplicate"]
    assert take_back(kept_engine, other) is Verdict.DUPLICATE
    assert sums(kept_engine, of) == ({7: 1}, 0, (0, 1))


def test_the_first_of_a_person_in_one_transaction_counts(kept_engine: Engine) -> None:
    of = make_study(kept_engine)
    first = contribution(of, "a", 1)
    others = [
        first,
        contribution(of, "a", 2),
        contribution(of, "a", 1, nonce=5),
        contribution(of, "a", 1, trusted=True),
    ]
    assert send(kept_engine, first, *others) == ["accepted", "repeated", "duplicate", "duplicate", "duplicate"]
    assert sums(kept_engine, of) == ({1: 1}, 0, (0, 1))


def test_the_same_person_in_two_studies_of_one_transaction(kept_engine: Engine) -> None:
    one, two = make_study(kept_engine), make_study(kept_engine)
    assert send(kept_engine, contribution(one, "a", 1), contribution(two, "a", 2, trusted=True)) == ["accepted"] * 2
    assert sums(kept_engine, one) == ({1: 1}, 0, (0, 1))
    assert sums(kept_engine, two) == ({}, 2, (1, 0))


def test_a_large_batch_half_of_which_is_known(kept_engine: Engine) -> None:
    of = make_study(kept_engine)
    everybody = [contribution(of, str(i), i % 256) for i in range(1001)]
    assert send(kept_engine, *everybody[::2]) == ["accepted"] * 501
    assert send(kept_engine, *everybody) == ["repeated", "accepted"] * 500 + ["repeated"]
    assert sums(kept_engine, of)[0] == Counter(i % 256 for i in range(1001))


def test_replicas_add_up_and_a_withdrawal_leaves_one_row(kept_engine: Engine) -> None:
    of = make_study(kept_engine)
    local, trusted = contribution(of, "l", 3), contribution(of, "t", 500, trusted=True)
    send(kept_engine, local, trusted, replica="a")
    send(kept_engine, contribution(of, "u", 70, trusted=True), contribution(of, "m", 3), replica="b")
    assert sums(kept_engine, of) == ({3: 2}, 570, (2, 2))
    for one in (local, trusted):
        assert take_back(kept_engine, one, replica="c") is Verdict.WITHDRAWN
    assert sums(kept_engine, of) == ({3: 1}, 70, (1, 1))
    with reading(kept_engine) as connection:
        query = select(tallies.c.replica, tallies.c.count).where(tallies.c.study == of.number)
        found = {str(replica): int(n) for replica, n in connection.execute(query)}
        assert found == {"c": 1}  # neither what was withdrawn nor what one replica took alone stands by itself
        kept = connection.execute(select(totals.c.replica, totals.c.count).where(totals.c.study == of.number)).all()
        assert [tuple(row) for row in kept] == [("c", 1)]


def test_withdrawal_returns_the_sums_to_the_unit(kept_engine: Engine) -> None:
    of = make_study(kept_engine)
    send(kept_engine, contribution(of, "x", 4), contribution(of, "y", 1, trusted=True))
    before = sums(kept_engine, of)
    for one in (contribution(of, "l", 4), contribution(of, "t", UNITS - 1, trusted=True)):
        send(kept_engine, one)
        assert sums(kept_engine, of) != before
        assert take_back(kept_engine, one) is Verdict.WITHDRAWN
        assert sums(kept_engine, of) == before
        assert take_back(kept_engine, one) is Verdict.FORGOTTEN  # nothing is subtracted twice
        assert sums(kept_engine, of) == before


def test_whoever_has_withdrawn_cannot_come_back(kept_engine: Engine) -> None:
    of = make_study(kept_engine)
    one = contribution(of, "a", 1)
    send(kept_engine, one)
    take_back(kept_engine, one)
    with reading(kept_engine) as connection:
        assert find(connection, of.number, one.who) == StoredParticipant(None, NOBODY, 0, None)
    assert send(kept_engine, one, contribution(of, "a", 9, trusted=True)) == ["duplicate", "duplicate"]
    assert sums(kept_engine, of) == ({}, 0, (0, 0))


def test_nobody_subtracts_what_was_never_added(kept_engine: Engine) -> None:
    of = make_study(kept_engine)
    send(kept_engine, contribution(of, "a", 1))
    other = contribution(of, "b", 1)
    assert take_back(kept_engine, replace(other, asserted=NOBODY)) is Verdict.ABSENT
    assert take_back(kept_engine, other) is Verdict.FORGOTTEN
    assert send(kept_engine, other) == ["duplicate"]  # a request that was overtaken does not count
    assert take_back(kept_engine, contribution(of, "a", 1, nonce=1)) is Verdict.DUPLICATE
    assert take_back(kept_engine, contribution(of, "a", 1, trusted=True)) is Verdict.DUPLICATE
    assert sums(kept_engine, of) == ({1: 1}, 0, (0, 1))


def test_a_closed_study_takes_nothing_but_repeats_its_answer(kept_engine: Engine) -> None:
    of = make_study(kept_engine)
    one = contribution(of, "a", 1)
    send(kept_engine, one)
    close(kept_engine, of)
    sent = (one, contribution(of, "a", 2), contribution(of, "b", 2))
    assert send(kept_engine, *sent) == ["repeated", "closed", "closed"]
    assert take_back(kept_engine, one) is Verdict.CLOSED
    assert sums(kept_engine, of) == ({1: 1}, 0, (0, 1))


def test_a_study_takes_contributions_until_the_second_of_its_closing_time(kept_engine: Engine) -> None:
    of, created = make_study(kept_engine), make_study(kept_engine, state=CREATED)
    assert send(kept_engine, contribution(of, "a", 1), now=CLOSES - 1) == ["accepted"]
    assert send(kept_engine, contribution(of, "b", 1), now=CLOSES) == ["closed"]
    assert take_back(kept_engine, contribution(of, "a", 1), now=CLOSES) is Verdict.CLOSED
    assert send(kept_engine, contribution(created, "a", 1)) == ["closed"]
    unknown = NewContribution(10**6, of.digest, bytes(16), False, 1, bytes(32), 0, 0)
    assert send(kept_engine, unknown) == ["closed"]
    assert send(kept_engine) == []


def test_forgetting_a_study_leaves_the_others_alone(kept_engine: Engine) -> None:
    one, two = make_study(kept_engine), make_study(kept_engine)
    send(kept_engine, *(contribution(of, who, 5, trusted=who == "t") for of in (one, two) for who in "lt"))
    with writing(kept_engine) as connection:
        forget(connection, one.number)
    assert sums(kept_engine, one) == ({}, 0, (0, 0))
    assert sums(kept_engine, two) == ({5: 1}, 5, (1, 1))
    with reading(kept_engine) as connection:
        left = connection.execute(
            select(participants.c.study).where(participants.c.study.in_([one.number, two.number]))
        )
        assert [row.study for row in left] == [two.number] * 2


def test_a_transaction_that_fails_adds_nothing(kept_engine: Engine) -> None:
    of = make_study(kept_engine)

    def fail() -> None:
        with writing(kept_engine) as connection:
            store.add(connection, [contribution(of, "a", 1)], replica="a", seal=SEAL, now=NOW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert sums(kept_engine, of) == ({}, 0, (0, 0))
    assert send(kept_engine, contribution(of, "a", 2)) == ["accepted"]


def test_two_states_of_a_sealed_total_have_nothing_in_common(sqlite_engine: Engine) -> None:
    of, states = make_study(sqlite_engine), []
    for i in range(3):
        send(sqlite_engine, contribution(of, str(i), 0, trusted=True))  # adds nothing
        with reading(sqlite_engine) as connection:
            states.append(connection.execute(select(totals).where(totals.c.study == of.number)).one())
    assert [row._mapping["count"] for row in states] == [1, 2, 3]
    parts = [part for row in states for part in (row.sealed[:12], row.sealed[12:28], row.sealed[28:])]
    assert len(set(parts)) == len(parts)


def test_a_total_with_another_count_or_key_is_noticed(sqlite_engine: Engine) -> None:
    of = make_study(sqlite_engine)
    send(sqlite_engine, contribution(of, "a", 1, trusted=True))
    with reading(sqlite_engine) as connection, pytest.raises(DataError, match="cannot be decrypted"):
        store.total(connection, of.number, of.digest, TotalSeal(lambda *_: bytes(32)))
    with writing(sqlite_engine) as connection:
        connection.execute(totals.update().where(totals.c.study == of.number).values(count=2))
    with pytest.raises(DataError, match="cannot be decrypted"):
        sums(sqlite_engine, of)
    with pytest.raises(DataError, match="cannot be decrypted"):
        send(sqlite_engine, contribution(of, "b", 1, trusted=True))


def test_parts_add_up_over_replicas_and_are_withdrawn_from_where_they_were_added(kept_engine: Engine) -> None:
    of, adding = make_study(kept_engine), PartSums(2, n_codes=256)

    def one(who: str, integer: int, part: int, *, trusted: bool = False) -> NewContribution:
        return replace(contribution(of, who, integer, trusted=trusted), sums=adding, part=part)

    first, second = one("a", 7, 0), one("b", 5, 1, trusted=True)
    send(kept_engine, first, second, one("c", 2**24, 1, trusted=True), replica="x")
    send(kept_engine, one("d", 7, 1), one("e", 9, 0, trusted=True), one("a", 7, 1), replica="y")

    def parts() -> list[tuple[int, int, dict[int, int]]]:
        with reading(kept_engine) as connection:
            total = store.total(connection, of.number, of.digest, SEAL, adding)
            found = adding.split(total, store.tally(connection, of.number))
            counts = store.part_sizes(connection, of.number, adding)
        assert [(sizes.trusted, sizes.local) for sizes in counts] == [
            (part.n_trusted, sum(part.tally.values())) for part in found
        ]
        return [(part.n_trusted, part.total, part.tally) for part in found]

    assert parts() == [(1, 9, {7: 1}), (2, 2**24 + 5, {7: 1})]
    assert take_back(kept_engine, replace(second, part=0), replica="y").value == "withdrawn"  # a newer token's part
    assert take_back(kept_engine, replace(first, part=None), replica="y").value == "withdrawn"
    assert parts() == [(1, 9, {}), (1, 2**24, {7: 1})]
    with reading(kept_engine) as connection:
        assert find(connection, of.number, first.who) == StoredParticipant(None, NOBODY, 0, None)


@given(data=st.data())
@fewer_examples(2)
def test_the_order_does_not_matter(sqlite_engine: Engine, data: st.DataObject) -> None:
    everybody = [
        ("a", 1, False),
        ("b", 1, False),
        ("c", 9, True),
        ("d", 2**24, True),
        ("e", 0, True),
        ("f", 255, False),
    ]
    found = []
    for _ in range(2):
        of = make_study(sqlite_engine)
        shuffled = data.draw(st.permutations(everybody))
        cut = data.draw(st.integers(0, len(shuffled)))
        sent = [contribution(of, who, integer, trusted=trusted) for who, integer, trusted in shuffled]
        send(sqlite_engine, *sent[:cut], replica="a")
        send(sqlite_engine, *sent[cut:], replica="b")
        found.append(sums(sqlite_engine, of))
    assert found[0] == found[1] == ({1: 2, 255: 1}, 2**24 + 9, (3, 3))


# What only replicas on one PostgreSQL can do


@pytest.mark.slow
def test_replicas_with_the_same_people_at_once(kept_engine: Engine) -> None:
    of = make_study(kept_engine)
    everybody = [contribution(of, str(i), i % 5, trusted=i % 3 == 0) for i in range(300)]

    def replica(number: int) -> list[str]:
        mine = everybody[number * 37 :] + everybody[: number * 37]
        return [
            outcome for i in range(0, 300, 50) for outcome in send(kept_engine, *mine[i : i + 50], replica=f"{number}")
        ]

    with ThreadPoolExecutor(4) as pool:
        outcomes = Counter(outcome for found in pool.map(replica, range(4)) for outcome in found)
    assert outcomes == {"accepted": 300, "repeated": 900}
    units = sum(one.integer for one in everybody if one.trusted)
    codes = Counter(one.integer for one in everybody if not one.trusted)
    assert sums(kept_engine, of) == (codes, units, (100, 200))


def test_a_study_cannot_close_while_a_contribution_is_in_flight(kept_engine: Engine) -> None:
    of = make_study(kept_engine)
    with writing(kept_engine) as connection:
        store.add(connection, [contribution(of, "a", 1)], replica="a", seal=SEAL, now=NOW)
        with pytest.raises(OperationalError):
            close_without_waiting(kept_engine, of)
    close(kept_engine, of)
    assert send(kept_engine, contribution(of, "b", 1)) == ["closed"]
    assert sums(kept_engine, of) == ({1: 1}, 0, (0, 1))


def close_without_waiting(engine: Engine, of: StoredStudy) -> None:
    with engine.connect() as connection:
        postgresql = connection.dialect.name == "postgresql"
        connection.execute(text("SET LOCAL lock_timeout = '20ms'" if postgresql else "PRAGMA busy_timeout = 20"))
        try:
            study(connection, of.id, lock=True)
            set_state(connection, of.number, CLOSED)
        finally:
            connection.rollback()
            if not postgresql:
                connection.execute(text("PRAGMA busy_timeout = 30000"))


# A plain dictionary says what should be there

_PEOPLE = st.sampled_from("abcde")


class OneStudy(RuleBasedStateMachine):
    """Adding, repeating, withdrawing and closing in any order, on two replicas, against a dictionary."""

    engine: Engine
    sent = Bundle("sent")

    def __init__(self) -> None:
        super().__init__()
        self.of = make_study(self.engine)
        self.here: dict[bytes, NewContribution | None] = {}  # None: has withdrawn
        self.open = True

    @rule(
        target=sent,
        people=st.lists(st.tuples(_PEOPLE, st.integers(0, 3), st.booleans(), st.integers(0, 1)), max_size=4),
        replica=st.sampled_from("ab"),
    )
    def add(self, people: list[tuple[str, int, bool, int]], replica: str) -> object:
        batch = [contribution(self.of, who, n, trusted=trusted, nonce=nonce) for who, n, trusted, nonce in people]
        assert send(self.engine, *batch, replica=replica) == [self._expected(one) for one in batch]
        return multiple(*batch)

    def _expected(self, one: NewContribution) -> str:
        if one.who in self.here:
            known = self.here[one.who]
            if known is not None and known.commitment == one.commitment:
                return "repeated"
            return "duplicate" if self.open else "closed"
        if not self.open:
            return "closed"
        self.here[one.who] = one
        return "accepted"

    @rule(one=sent, replica=st.sampled_from("ab"))
    def withdraw(self, one: NewContribution, replica: str) -> None:
        known = self.here.get(one.who)
        if known is None and one.who in self.here:
            expected = Verdict.FORGOTTEN
        elif not self.open:
            expected = Verdict.CLOSED
        elif known is None:
            expected, self.here[one.who] = Verdict.FORGOTTEN, None
        elif known.commitment != one.commitment:
            expected = Verdict.DUPLICATE
        else:
            expected, self.here[one.who] = Verdict.WITHDRAWN, None
        assert take_back(self.engine, one, replica=replica) is expected

    @rule(_=consumes(sent))  # not before something was sent
    def close(self, _: NewContribution) -> None:
        self.open = False
        close(self.engine, self.of)

    @invariant()
    def sums_are_exact(self) -> None:
        there = [one for one in self.here.values() if one is not None]
        codes = Counter(one.integer for one in there if not one.trusted)
        units = [one.integer for one in there if one.trusted]
        assert sums(self.engine, self.of) == (codes, sum(units), (len(units), codes.total()))


@pytest.mark.hypothesis
@pytest.mark.slow
def test_any_history_against_a_dictionary(sqlite_engine: Engine) -> None:
    machine = type("OneStudyHere", (OneStudy,), {"engine": sqlite_engine})
    run_state_machine_as_test(machine, settings=settings(stateful_step_count=15))
