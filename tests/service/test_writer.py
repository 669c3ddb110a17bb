"""The writer: many contributions in one transaction, everybody answered after it, and nothing that ends it."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from threading import Event
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import Connection, Engine, text

from hybriddp.errors import DataError
from hybriddp.items.records import integer_of
from hybriddp.service import writer as module
from hybriddp.service.problems import Refusal
from hybriddp.service.store import contributions
from hybriddp.service.store.contributions import NewContribution, Verdict
from hybriddp.service.store.item_sums import ItemSums
from hybriddp.service.store.schema import totals
from hybriddp.service.store.studies import CLOSED, set_state
from hybriddp.service.writer import Writer
from tests.service.store.making import CLOSES, NOW, SEAL, contribution, make_study, sums


class Desk:
    """A writer, the clock that it looks at, and the sizes of its transactions."""

    def __init__(self, engine: Engine) -> None:
        self.now, self.sizes = NOW, list[int]()
        self.writer = Writer(engine, replica="a", seal=SEAL, clock=lambda: self.now, committed=self.sizes.append)
        self._free = Event()

    async def occupy(self) -> "asyncio.Task[bool]":
        """Keep the writer busy until `go`: what arrives has to wait."""
        begun = Event()

        def work(_: Connection) -> bool:
            begun.set()
            return self._free.wait(30)

        task = asyncio.create_task(self.writer.run(work))
        assert await asyncio.to_thread(begun.wait, 30)
        return task

    def go(self) -> None:
        self._free.set()


@pytest.fixture
def desk(sqlite_engine: Engine) -> Iterator[Desk]:
    found = Desk(sqlite_engine)
    yield found
    found.go()
    found.writer.close()


async def started(*work: Any) -> "list[asyncio.Task[Any]]":
    """Coroutines as tasks that have put their jobs into the queue."""
    tasks = [asyncio.create_task(one) for one in work]
    await asyncio.sleep(0)
    return tasks


def test_what_waits_goes_into_one_transaction(desk: Desk, sqlite_engine: Engine) -> None:
    of = make_study(sqlite_engine)

    async def crowd() -> list[list[Verdict]]:
        busy = await desk.occupy()
        tasks = await started(*(desk.writer.add([contribution(of, str(i), i)]) for i in range(20)))
        desk.go()
        assert await busy
        return list(await asyncio.gather(*tasks))

    assert asyncio.run(crowd()) == [[Verdict.ACCEPTED]] * 20
    assert desk.sizes == [20]
    assert sums(sqlite_engine, of)[2] == (0, 20)


def test_everybody_hears_what_became_of_their_own(desk: Desk, sqlite_engine: Engine) -> None:
    of = make_study(sqlite_engine)
    one, other = contribution(of, "a", 1), contribution(of, "a", 2)

    async def crowd() -> list[list[Verdict]]:
        await desk.occupy()
        batches: tuple[list[NewContribution], ...] = (
            [one],
            [other, one, contribution(of, "b", 3)],
            [],
            [contribution(of, "b", 3)],
        )
        tasks = await started(*(desk.writer.add(batch) for batch in batches))
        desk.go()
        return list(await asyncio.gather(*tasks))

    accepted, repeated, duplicate = Verdict.ACCEPTED, Verdict.REPEATED, Verdict.DUPLICATE
    assert asyncio.run(crowd()) == [[accepted], [duplicate, repeated, accepted], [], [repeated]]


def test_a_transaction_has_a_size(desk: Desk, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST", 4)
    of = make_study(sqlite_engine)

    async def crowd() -> None:
        await desk.occupy()
        tasks = await started(
            *(desk.writer.add([contribution(of, f"{i} {j}", 1) for j in range(3)]) for i in range(5)),
        )
        desk.go()
        await asyncio.gather(*tasks)

    asyncio.run(crowd())
    assert desk.sizes == [6, 6, 3]
    assert sums(sqlite_engine, of) == ({1: 15}, 0, (0, 15))


def test_things_happen_in_the_order_in_which_they_arrived(desk: Desk, sqlite_engine: Engine) -> None:
    of = make_study(sqlite_engine)
    before, after = contribution(of, "a", 1), contribution(of, "b", 1)

    async def crowd() -> list[Any]:
        await desk.occupy()
        tasks = await started(
            desk.writer.add([before]),
            desk.writer.run(lambda connection: set_state(connection, of.number, CLOSED)),
            desk.writer.add([after]),
            desk.writer.withdraw(before),
        )
        desk.go()
        return list(await asyncio.gather(*tasks))

    assert asyncio.run(crowd()) == [[Verdict.ACCEPTED], None, [Verdict.CLOSED], Verdict.CLOSED]
    assert sums(sqlite_engine, of) == ({1: 1}, 0, (0, 1))


def test_what_waits_past_the_closing_time_is_too_late(desk: Desk, sqlite_engine: Engine) -> None:
    of = make_study(sqlite_engine)

    async def crowd() -> list[Any]:
        await desk.writer.add([contribution(of, "a", 1)])
        await desk.occupy()
        tasks = await started(
            desk.writer.withdraw(contribution(of, "a", 1)), desk.writer.add([contribution(of, "b", 1)])
        )
        desk.now = CLOSES
        desk.go()
        return list(await asyncio.gather(*tasks))

    assert asyncio.run(crowd()) == [Verdict.CLOSED, [Verdict.CLOSED]]
    assert sums(sqlite_engine, of) == ({1: 1}, 0, (0, 1))


def test_whoever_stops_waiting_does_not_stop_the_writer(desk: Desk, sqlite_engine: Engine) -> None:
    of = make_study(sqlite_engine)

    async def crowd() -> list[Verdict]:
        await desk.occupy()
        gone = await started(desk.writer.add([contribution(of, "a", 1)]), desk.writer.run(lambda _: 1 / 0))
        for task in gone:
            task.cancel()
        stay = asyncio.create_task(desk.writer.add([contribution(of, "b", 2), contribution(of, "a", 1)]))
        await asyncio.gather(*gone, return_exceptions=True)
        desk.go()
        return await asyncio.wait_for(stay, 30)

    assert asyncio.run(crowd()) == [Verdict.ACCEPTED, Verdict.REPEATED]  # it counts, and asking again says so
    assert sums(sqlite_engine, of) == ({1: 1, 2: 1}, 0, (0, 2))


def test_whoever_stops_waiting_in_the_middle_does_not_stop_the_writer(desk: Desk, sqlite_engine: Engine) -> None:
    of = make_study(sqlite_engine)

    async def crowd() -> list[Verdict]:
        busy = await desk.occupy()
        busy.cancel()
        await asyncio.gather(busy, return_exceptions=True)
        desk.go()
        return await asyncio.wait_for(desk.writer.add([contribution(of, "b", 2)]), 30)

    assert asyncio.run(crowd()) == [Verdict.ACCEPTED]


def test_an_error_reaches_whoever_waits_and_the_writer_goes_on(
    desk: Desk, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = make_study(sqlite_engine)

    def broken(connection: Connection) -> None:
        connection.execute(text("DELETE FROM studies WHERE 0"))
        raise ZeroDivisionError

    async def crowd() -> None:
        with pytest.raises(ZeroDivisionError):
            await desk.writer.run(broken)
        with monkeypatch.context() as patch:
            patch.setattr(contributions, "add", lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await desk.writer.add([contribution(of, "a", 1)])
        assert await desk.writer.add([contribution(of, "a", 1)]) == [Verdict.ACCEPTED]

    asyncio.run(crowd())
    assert desk.sizes == [1]


def test_a_study_whose_total_was_changed_does_not_harm_others(desk: Desk, sqlite_engine: Engine) -> None:
    broken, whole = make_study(sqlite_engine), make_study(sqlite_engine)

    async def crowd() -> list[Any]:
        await desk.writer.add([contribution(broken, "a", 1, trusted=True)])
        spoil = totals.update().where(totals.c.study == broken.number).values(count=7)
        await desk.writer.run(lambda connection: connection.execute(spoil).rowcount)
        await desk.occupy()
        tasks = await started(
            *(desk.writer.add([contribution(of, "b", 1, trusted=True)]) for of in (whole, broken)),
            desk.writer.add([contribution(whole, "c", 1)]),
        )
        desk.go()
        return list(await asyncio.gather(*tasks, return_exceptions=True))

    first, second, third = asyncio.run(crowd())
    assert first == third == [Verdict.ACCEPTED]
    assert isinstance(second, DataError)
    assert sums(sqlite_engine, whole) == ({1: 1}, 1, (1, 1))


def test_refusals_of_a_full_group_cost_others_no_transaction(desk: Desk, sqlite_engine: Engine) -> None:
    full, other = make_study(sqlite_engine), make_study(sqlite_engine)

    def item(who: str) -> NewContribution:
        return replace(contribution(full, who, integer_of("fig"), trusted=True), sums=ItemSums())

    async def crowd() -> list[list[Verdict]]:
        await desk.occupy()
        tasks = await started(
            desk.writer.add([item("a")]),
            *(desk.writer.add([one]) for i in range(20) for one in (item(f"late {i}"), contribution(other, str(i), 1))),
        )
        desk.go()
        return list(await asyncio.gather(*tasks))

    with patch.object(ItemSums, "most_people", 1):
        first, *others = asyncio.run(crowd())
    assert first == [Verdict.ACCEPTED]
    assert others == [[Verdict.FULL], [Verdict.ACCEPTED]] * 20
    assert desk.sizes == [41]
    assert sums(sqlite_engine, other)[2] == (0, 20)


def test_closing_writes_what_has_arrived_and_refuses_what_comes_later(desk: Desk, sqlite_engine: Engine) -> None:
    of = make_study(sqlite_engine)

    async def crowd() -> list[list[Verdict]]:
        await desk.occupy()
        tasks = await started(*(desk.writer.add([contribution(of, str(i), 1)]) for i in range(5)))
        closing = asyncio.create_task(asyncio.to_thread(desk.writer.close))
        desk.go()
        await closing
        for late in (desk.writer.add([contribution(of, "late", 1)]), desk.writer.run(lambda _: None)):
            with pytest.raises(Refusal, match="stopping"):
                await late
        return list(await asyncio.gather(*tasks))

    assert asyncio.run(crowd()) == [[Verdict.ACCEPTED]] * 5
    assert sums(sqlite_engine, of) == ({1: 5}, 0, (0, 5))
    desk.writer.close()  # once more does nothing
