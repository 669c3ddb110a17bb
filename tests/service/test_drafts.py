"""Releases are drawn beside the writer, and charged and stored once, whoever draws them and whenever somebody dies."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from threading import Barrier, Event
from typing import Any

import pytest
from sqlalchemy import Engine

from hybriddp import HeavyHitterStudy, MeanStudy
from hybriddp.kmeans import KMeansStudy
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service import asking, drafts, life, participation
from hybriddp.service.curator import Curator
from hybriddp.service.drafts import GRID
from hybriddp.service.keys import MasterKey
from hybriddp.service.kinds import HeavyHitterKind, KMeansKind, MeanKind, Released, StudyKind
from hybriddp.service.kinds.kmeans import ENROLLED
from hybriddp.service.participation import Sent
from hybriddp.service.problems import Refusal
from hybriddp.service.round_steps import RoundsOfStudy
from hybriddp.service.store import studies
from hybriddp.service.store.engine import reading, writing
from hybriddp.service.store.ledger import DatabaseLedgerStore
from hybriddp.service.tokens import TokenKeys, mint
from tests.service.running import HOUR

_numbers = count(1)
LATER = 4_000_000_000
MASTER = MasterKey(bytes(32))


def curator_on(engine: Engine, replica: str) -> Curator:
    return Curator(engine, MASTER, TokenKeys(MASTER.token_secret), replica=replica)


@pytest.fixture
def replicas(engine: Engine) -> Iterator[tuple[Curator, Curator]]:
    """Two processes on one database."""
    pair = curator_on(engine, "a"), curator_on(engine, "b")
    yield pair
    for one in pair:
        one.close()


@pytest.fixture
def curator(sqlite_engine: Engine) -> Iterator[Curator]:
    one = curator_on(sqlite_engine, "a")
    yield one
    one.close()


async def contribute(curator: Curator, study_id: str, who: str, value: Any, *, trusted: bool = True) -> None:
    known = await curator.known(study_id)
    integer = known.kind.value(value) if trusted else value
    token = mint(MASTER.token_secret, subject=who, study=study_id, lifetime=HOUR)
    await participation.contribute(curator, known, Sent(trusted, integer, known.kind.digest, "0" * 32), token)


async def made(curator: Curator, kind: StudyKind, values: list[Any], reports: list[int]) -> str:
    """A study with people in it."""
    study_id = f"study-{next(_numbers)}"
    fields = {"id": study_id, "consent": {}, "dimensions": [], "origins": [], "tokens": True, "single_group": False}
    fields |= {"min_trusted": 2, "min_local": 2, "budget": None, "closes_at": LATER}
    await life.create(curator, kind, fields, opened=True)
    trusted = (contribute(curator, study_id, f"t{i}", value) for i, value in enumerate(values))
    local = (contribute(curator, study_id, f"l{i}", code, trusted=False) for i, code in enumerate(reports))
    await asyncio.gather(*trusted, *local)
    return study_id


async def mean_study(curator: Curator) -> str:
    kind = MeanKind(MeanStudy(f"minutes {next(_numbers)}", bounds=(0, 240), epsilon=1.0))
    study_id = await made(curator, kind, [50.0, 60.0], [3, 5])
    await life.move(curator, study_id, "close")
    return study_id


async def item_study(curator: Curator) -> str:
    kind = HeavyHitterKind(HeavyHitterStudy(f"words {next(_numbers)}", epsilon=4.0, delta=1e-6))
    return await made(curator, kind, ["weather"] * 60, [])


async def point_study(curator: Curator) -> str:
    kind = KMeansKind(KMeansStudy(f"visits {next(_numbers)}", n_clusters=2, bounds=[(0, 10)], epsilon=4))
    study_id = await made(curator, kind, [[i / 3] for i in range(30)], [ENROLLED] * 60)
    await life.move(curator, study_id, "close")
    return study_id


def charged(curator: Curator, study_id: str) -> list[str]:
    """What the trusted group has paid."""
    with reading(curator.engine) as connection:
        ledger = Ledger.open(DatabaseLedgerStore(connection, f"study {study_id}"))
        return [event.epsilon for event in ledger.events]


def results(curator: Curator, study_id: str) -> list[bytes | None]:
    with reading(curator.engine) as connection:
        study = studies.study(connection, study_id)
        assert study is not None
        return [step.result for step in studies.study_steps(connection, study.number)]


def state(curator: Curator, study_id: str) -> str:
    with reading(curator.engine) as connection:
        study = studies.study(connection, study_id)
        return "" if study is None else study.state


async def move_list(curator: Curator, study_id: str) -> None:
    await life.move(curator, study_id, "list")


async def next_round(curator: Curator, study_id: str) -> None:
    await asking.advance(curator, study_id, LATER)


Step = tuple[Callable[[Curator], Any], type, str, Callable[[Curator, str], Any]]
STEPS: dict[str, Step] = {
    "release": (mean_study, MeanKind, "release", life.release),
    "list": (item_study, HeavyHitterKind, "release_list", move_list),
    "round": (point_study, RoundsOfStudy, "_first_step", next_round),
}
"""For each kind of release: a study that is ready, what draws it, and what asks for it."""


def around(patched: pytest.MonkeyPatch, step: str, then: Callable[[], object]) -> list[int]:
    """Do something after each draw, before it is charged; how often that was."""
    _, owner, name, _ = STEPS[step]
    draw, times = getattr(owner, name), []

    def drawn(*given: Any, **named: Any) -> Any:
        result = draw(*given, **named)
        times.append(1)
        then()
        return result

    patched.setattr(owner, name, drawn)
    return times


@pytest.mark.slow
@pytest.mark.representative
@pytest.mark.parametrize("step", STEPS)
def test_of_two_replicas_that_draw_at_once_one_pays_and_both_show_the_same(
    replicas: tuple[Curator, Curator], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    make, _, _, ask = STEPS[step]
    both = Barrier(2, timeout=60)
    times = around(monkeypatch, step, both.wait)  # neither is charged before the other has drawn

    async def work() -> tuple[str, list[Any]]:
        study_id = await make(replicas[0])
        answers = await asyncio.gather(*(ask(one, study_id) for one in replicas), return_exceptions=True)
        return study_id, answers

    study_id, answers = asyncio.run(work())
    assert len(times) == 2
    assert len(charged(replicas[0], study_id)) == 1
    stored = results(replicas[0], study_id)
    if step == "release":
        assert [answer.result for answer in answers] == stored * 2
        assert sorted(answer.new for answer in answers) == [False, True]
    elif step == "list":
        assert answers == [None, None]
        assert (stored[0] is not None, stored[1]) == (True, None)
    else:
        (refusal,) = [answer for answer in answers if answer is not None]
        assert isinstance(refusal, Refusal)
        assert "has gone on" in str(refusal)
    assert len(charged(replicas[1], study_id)) == 1


@pytest.mark.slow
@pytest.mark.representative
@pytest.mark.parametrize("step", STEPS)
def test_who_dies_between_draw_and_commit_has_spent_nothing(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    make, _, _, ask = STEPS[step]

    def die(*_: object, **__: object) -> None:
        raise RuntimeError("the power is gone")

    study_id = asyncio.run(make(curator))
    with monkeypatch.context() as patched:
        times = around(patched, step, lambda: None)
        patched.setattr(studies, "store_result", die)  # after the charge, in its transaction
        with pytest.raises(RuntimeError):
            asyncio.run(ask(curator, study_id))
        assert times == [1]
    assert charged(curator, study_id) == []
    assert set(results(curator, study_id)) == {None}
    asyncio.run(ask(curator, study_id))
    assert len(charged(curator, study_id)) == 1
    assert results(curator, study_id)[0] is not None


@pytest.mark.parametrize("step", STEPS)
def test_others_take_part_while_a_release_is_drawn(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    make, _, _, ask = STEPS[step]
    drawing, go_on = Event(), Event()

    def wait() -> None:
        drawing.set()
        assert go_on.wait(60)

    async def work() -> str:
        study_id: str = await make(curator)
        other = await item_study(curator)
        around(monkeypatch, step, wait)
        asked = asyncio.create_task(ask(curator, study_id))
        assert await asyncio.to_thread(drawing.wait, 60)
        await contribute(curator, other, "late", "news")
        with pytest.raises(Refusal) as refusal:  # nobody can be added to what is being released
            await contribute(curator, study_id, "late", {"round": [1.0], "list": "news"}.get(step, 1.0))
        assert refusal.value.reason == "closed"
        assert charged(curator, study_id) == []
        go_on.set()
        await asked
        return study_id

    study_id = asyncio.run(work())
    assert len(charged(curator, study_id)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_study_that_is_withdrawn_while_its_release_is_drawn_spends_nothing(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    make, _, _, ask = STEPS[step]
    study_id = asyncio.run(make(curator))

    def withdraw() -> None:
        with writing(curator.engine) as connection:
            life._withdraw(curator, connection, study_id)

    around(monkeypatch, step, withdraw)
    with pytest.raises((Refusal, RuntimeError), match="withdrawn|gone on"):
        asyncio.run(ask(curator, study_id))
    assert charged(curator, study_id) == []
    assert state(curator, study_id) == "withdrawn"


def test_a_list_whose_release_was_interrupted_is_released_by_the_next_request_or_at_the_end(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die() -> None:
        raise RuntimeError("the power is gone")

    async def interrupted() -> str:
        study_id = await item_study(curator)
        with monkeypatch.context() as patched:
            around(patched, "list", die)
            with pytest.raises(RuntimeError):
                await life.move(curator, study_id, "list")
        assert state(curator, study_id) == "asking"
        return study_id

    again, ended = asyncio.run(interrupted()), asyncio.run(interrupted())
    document = asyncio.run(life.move(curator, again, "list"))
    assert (document["state"], document["steps"][0]["state"]) == ("asking", "released")
    asyncio.run(life.move(curator, ended, "close"))
    with pytest.raises(Refusal, match="is closed, and cannot be asked"):
        asyncio.run(life.move(curator, ended, "list"))
    assert [len(charged(curator, study_id)) for study_id in (again, ended)] == [1, 0]


@pytest.mark.slow
@pytest.mark.representative
@pytest.mark.parametrize("step", STEPS)
def test_releases_are_committed_and_answered_on_a_grid_of_time(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """However long a draw takes: neither the answer nor the commit tells."""
    make, _, _, ask = STEPS[step]
    slept: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        slept.append(seconds)
        assert charged(curator, study_id) == []
        await sleep(0)

    for took in (0.001, 0.013, 0.24, 0.26, 1.1):
        study_id = asyncio.run(make(curator))
        moments = iter((100.0, 100.0 + took))
        with monkeypatch.context() as patched:
            patched.setattr(drafts, "monotonic", lambda: next(moments))  # noqa: B023
            patched.setattr(asyncio, "sleep", note)
            asyncio.run(ask(curator, study_id))
        assert len(charged(curator, study_id)) == 1
        assert 0 <= slept[-1] < GRID
        periods = (took + slept[-1]) / GRID
        assert abs(periods - round(periods)) < 1e-9
    assert len(slept) == 5


def test_what_has_been_released_is_answered_at_once(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    study_id = asyncio.run(mean_study(curator))
    first = asyncio.run(life.release(curator, study_id))
    monkeypatch.setattr(drafts, "until_grid", lambda _: 1 / 0)
    again = asyncio.run(life.release(curator, study_id))
    assert (first.new, again.new, again.result) == (True, False, first.result)


def test_nothing_is_shown_of_a_draft() -> None:
    assert "31337" not in repr(drafts.Draft("31337", ()))
    assert "31337" not in repr(life._Drawn(Released({"value": "31337"}, "", "")))
