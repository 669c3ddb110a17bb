"""What contributions add to the sums: exact, in any order, and back to the unit after a withdrawal."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from hybriddp.errors import DataError
from hybriddp.service.store.contributions import NewContribution, fold
from hybriddp.service.store.engine import reading, writing
from hybriddp.service.store.schema import tallies, totals
from hybriddp.service.store.studies import StoredStudy
from hybriddp.service.store.sums import UNIT_SUMS, CategorySums, StudySums
from tests.service.store.making import SEAL, contribution, make_study, send, sums, take_back

BITS = CategorySums(5, n_bits=5)


def counted(of: StoredStudy, who: str, integer: int, how: StudySums, *, trusted: bool = False) -> NewContribution:
    return replace(contribution(of, who, integer, trusted=trusted), sums=how)


@given(numbers=st.lists(st.integers(0, 6), max_size=40))
def test_the_digits_of_a_total_are_the_counts(numbers: list[int]) -> None:
    how, found = CategorySums(7), Counter(numbers)
    assert how.counts(how.addend(numbers)) == tuple(found[i] for i in range(7))
    assert how.addend(numbers) == sum(how.addend([number]) for number in numbers) == sum(1 << 40 * i for i in numbers)


@given(code=st.integers(0, 2**53 - 1))
def test_a_report_is_counted_once_and_each_of_its_bits_beside_it(code: int) -> None:
    entries = CategorySums(53, n_bits=53).entries(code)
    assert [entry for entry in entries if entry >= 0] == [0]
    assert sum(1 << -1 - entry for entry in entries if entry < 0) == code
    assert CategorySums(53).entries(code) == UNIT_SUMS.entries(code) == (code,)


@pytest.mark.parametrize("total", [-1, 1 << 280, -(1 << 200)])
def test_a_total_that_has_no_counts(total: int) -> None:
    with pytest.raises(DataError, match="Nothing was released"):
        CategorySums(7).counts(total)


def test_a_digit_holds_more_people_than_there_are() -> None:
    how = CategorySums(2)
    assert how.counts((1 << 40) - 1) == (2**40 - 1, 0)
    assert how.total_bytes == 11
    assert UNIT_SUMS.total_bytes == 16


def test_categories_and_bits_are_added_up_and_taken_back(kept_engine: Engine) -> None:
    of, codes, items = make_study(kept_engine, kind="frequency"), [0b00101, 0, 0b11111], [0, 4, 4]
    sent = [counted(of, f"l{i}", code, BITS) for i, code in enumerate(codes)]
    sent += [counted(of, f"t{i}", item, BITS, trusted=True) for i, item in enumerate(items)]
    assert send(kept_engine, *sent) == ["accepted"] * 6
    tallied, total, sizes = sums(kept_engine, of)
    assert tallied == {0: 3, -1: 2, -2: 1, -3: 2, -4: 1, -5: 1}
    assert (BITS.counts(total), sizes) == ((1, 0, 0, 0, 2), (3, 3))
    for one in (sent[0], sent[4]):
        take_back(kept_engine, one)
    tallied, total, sizes = sums(kept_engine, of)
    assert tallied == {0: 2, -1: 1, -2: 1, -3: 1, -4: 1, -5: 1}
    assert (BITS.counts(total), sizes) == ((1, 0, 0, 0, 1), (2, 2))
    for one in (sent[1], sent[2], sent[3], sent[5]):
        take_back(kept_engine, one)
    assert sums(kept_engine, of) == ({}, 0, (0, 0))
    with reading(kept_engine) as connection:
        assert connection.execute(select(tallies.c.count).where(tallies.c.study == of.number)).all() == []


def test_replicas_add_up_and_folding_keeps_the_length(kept_engine: Engine) -> None:
    of = make_study(kept_engine, kind="frequency")
    for replica in "abc":
        send(kept_engine, counted(of, f"t{replica}", 3, BITS, trusted=True), replica=replica)
        send(kept_engine, counted(of, f"l{replica}", 0b10001, BITS), replica=replica)
    before = sums(kept_engine, of)
    with writing(kept_engine) as connection:
        fold(connection, of.number, of.digest, replica="d", seal=SEAL)
    assert sums(kept_engine, of) == before == ({0: 3, -1: 3, -5: 3}, 3 << 120, (3, 3))
    with reading(kept_engine) as connection:
        rows = connection.execute(select(totals.c.replica, totals.c.sealed).where(totals.c.study == of.number)).all()
        replicas = set(connection.scalars(select(tallies.c.replica).where(tallies.c.study == of.number)))
    assert [(replica, SEAL.total_bytes(sealed)) for replica, sealed in rows] == [("d", BITS.total_bytes)]
    assert replicas == {"d"}


def test_the_length_of_what_is_sealed_says_nothing_about_the_counts(sqlite_engine: Engine) -> None:
    lengths = set()
    for item, times in ((0, 1), (4, 1), (4, 30)):
        of = make_study(sqlite_engine, kind="frequency")
        send(sqlite_engine, *(counted(of, f"t{i}", item, BITS, trusted=True) for i in range(times)))
        with reading(sqlite_engine) as connection:
            lengths |= {
                len(row) for row in connection.scalars(select(totals.c.sealed).where(totals.c.study == of.number))
            }
    assert lengths == {BITS.total_bytes + 28}


def test_studies_of_two_kinds_in_one_transaction(kept_engine: Engine) -> None:
    mean, shares = make_study(kept_engine), make_study(kept_engine, kind="frequency")
    sent = [contribution(mean, "a", 7), contribution(mean, "b", 9, trusted=True)]
    sent += [counted(shares, "a", 0b00110, BITS), counted(shares, "b", 2, BITS, trusted=True)]
    assert send(kept_engine, *sent) == ["accepted"] * 4
    assert sums(kept_engine, mean) == ({7: 1}, 9, (1, 1))
    assert sums(kept_engine, shares) == ({0: 1, -2: 1, -3: 1}, 1 << 80, (1, 1))
