"""Counts of items that nobody has listed: exact, of one length, and refused beyond it."""

from collections import Counter
from dataclasses import replace
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from hybriddp.items.records import LONGEST_ITEM, integer_of, text_of
from hybriddp.service.store import item_sums
from hybriddp.service.store.contributions import NewContribution, find, fold, total
from hybriddp.service.store.engine import reading, writing
from hybriddp.service.store.item_sums import ItemSums
from hybriddp.service.store.schema import totals
from hybriddp.service.store.studies import ASKING, StoredStudy, set_state
from tests.service.store.making import SEAL, contribution, make_study, send, take_back

SUMS = ItemSums()
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def held(of: StoredStudy, who: str, item: str) -> NewContribution:
    return replace(contribution(of, who, integer_of(item), trusted=True), sums=SUMS)


def counts(engine: Engine, of: StoredStudy) -> dict[str, int]:
    with reading(engine) as connection:
        return SUMS.counts(total(connection, of.number, of.digest, SEAL, SUMS))


@given(item=texts)
def test_a_text_and_its_integer(item: str) -> None:
    assert text_of(integer_of(item)) == item


@given(came=st.lists(texts), data=st.data())
def test_people_come_and_go(came: list[str], data: st.DataObject) -> None:
    gone = data.draw(st.permutations(came))[: len(came) // 2]
    after = SUMS.change(0, map(integer_of, came), 1)
    assert SUMS.counts(after) == Counter(came)
    left = SUMS.counts(SUMS.change(after, map(integer_of, gone), -1))
    assert left == Counter(came) - Counter(gone)
    assert SUMS.counts(SUMS.merged([after, 0, after])) == {item: 2 * n for item, n in Counter(came).items()}


def test_replicas_are_folded_and_withdrawals_leave_nothing(kept_engine: Engine) -> None:
    of = make_study(kept_engine, kind="heavy-hitters")
    people = {replica: held(of, replica, item) for replica, item in zip("abc", ("fig", "pear", "fig"), strict=True)}
    for replica, one in people.items():
        send(kept_engine, one, replica=replica)
    with writing(kept_engine) as connection:
        fold(connection, of.number, of.digest, replica="d", seal=SEAL, sums=SUMS)
    assert counts(kept_engine, of) == {"fig": 2, "pear": 1}
    with reading(kept_engine) as connection:
        sealed = connection.scalars(select(totals.c.sealed).where(totals.c.study == of.number)).all()
    assert [SEAL.total_bytes(one) for one in sealed] == [item_sums.ROOM]
    for one in people.values():
        take_back(kept_engine, one)
    assert counts(kept_engine, of) == {}


def test_room_is_for_people_whatever_they_have(kept_engine: Engine) -> None:
    """Whether an item is there already decides nothing."""
    of = make_study(kept_engine, kind="heavy-hitters")
    with patch.object(ItemSums, "most_people", 2):
        assert send(kept_engine, held(of, "a", "fig")) == ["accepted"]
        assert send(kept_engine, held(of, "b", "pear")) == ["accepted"]
        for item in ("fig", "plum"):
            assert send(kept_engine, held(of, "c", item)) == ["full"]
        several = [held(of, "d", "fig"), held(of, "b", "pear"), held(of, "a", "plum"), held(of, "d", "fig")]
        assert send(kept_engine, *several) == ["full", "repeated", "duplicate", "full"]
        take_back(kept_engine, held(of, "b", "pear"))
        assert send(kept_engine, held(of, "c", "plum"), held(of, "d", "fig")) == ["accepted", "full"]  # who came first
    with reading(kept_engine) as connection:  # they may come back, to the other group
        assert find(connection, of.number, held(of, "d", "fig").who) is None
    assert counts(kept_engine, of) == {"fig": 1, "plum": 1}


def test_there_is_room_for_all_people_with_different_items_of_full_length() -> None:
    most, longest = item_sums.MOST_PEOPLE, LONGEST_ITEM
    items = [integer_of(f"{i:0{longest}d}") for i in range(5 * most // 4)]
    assert SUMS.counts(SUMS.change(0, items, 1))[f"{most:0{longest}d}"] == 1


def test_who_may_come_when(kept_engine: Engine) -> None:
    """Trusted people before the list, local ones after it."""
    of = make_study(kept_engine, kind="heavy-hitters")
    local = replace(contribution(of, "l", 3), taken_in=ASKING)
    assert send(kept_engine, held(of, "a", "fig"), local) == ["accepted", "closed"]
    with writing(kept_engine) as connection:
        set_state(connection, of.number, ASKING)
    assert send(kept_engine, held(of, "b", "fig"), local, held(of, "a", "fig")) == ["closed", "accepted", "repeated"]
    assert take_back(kept_engine, held(of, "a", "fig")).value == "closed"
    assert take_back(kept_engine, local).value == "withdrawn"
