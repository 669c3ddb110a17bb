"""Asking in rounds: the next one is published by the operator, or in time.

A step is published in one transaction, in which the study is locked. So it does not matter who takes it, or how often:
of two replicas that see a deadline pass, one publishes the next round, and the other drops what it has drawn.
"""

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Any

from sqlalchemy import Connection

from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service import life
from hybriddp.service.clock import require_certain
from hybriddp.service.curator import Curator
from hybriddp.service.documents import keep_closed, study_document
from hybriddp.service.drafts import draw
from hybriddp.service.kinds import KMeansKind
from hybriddp.service.problems import Refusal
from hybriddp.service.round_steps import NextStep, RoundsOfStudy
from hybriddp.service.rounds import NO_ROUNDS
from hybriddp.service.store import studies
from hybriddp.service.store.engine import reading
from hybriddp.service.store.studies import CLOSED, StoredStudy


class Advance(Enum):
    """What became of a study whose rounds follow each other in time."""

    NOT_DUE = "not due"  # it is open, or somebody else was first
    PUBLISHED = "published"  # the next round
    ENDED = "ended"  # there is no next round
    SHORT = "short"  # too few have enrolled: nothing was asked, and nothing spent


async def advance(curator: Curator, study_id: str, closes_at: int) -> dict[str, Any]:
    """End the round of a study that has closed, and publish the next one until that time."""
    known = await curator.known(study_id)
    if not isinstance(known.kind, KMeansKind):
        raise Refusal("refused", NO_ROUNDS)
    if closes_at > life.LATEST:
        raise Refusal("malformed", "closes_at must be a time before the year 10000.")
    require_certain(curator.clock)
    if closes_at <= curator.clock():
        raise Refusal("malformed", "closes_at must be a time in the future.")
    await keep_closed(curator, study_id, curator.clock())
    if await _step(curator, study_id, lambda _: closes_at) is None:
        raise Refusal("refused", "The study has gone on while the next round was drawn.")
    return await study_document(curator, study_id, counts=True)


async def _step(
    curator: Curator, study_id: str, deadline: Callable[[int], int], *, in_time: bool = False
) -> NextStep | None:
    """Draw the next step and publish it, until the deadline that is right then; None if somebody else was first."""

    def read(connection: Connection, study: StoredStudy, ledger: Ledger | None) -> Callable[[], NextStep] | None:
        rounds = RoundsOfStudy.of(connection, study, curator.seal, ledger)
        if in_time and (study.state != CLOSED or rounds.have_ended):
            return None
        return rounds.next_step()

    draft = await draw(curator, study_id, read)

    def work(connection: Connection) -> NextStep | None:
        study, now = studies.study(connection, study_id, lock=True), curator.clock()
        if study is None or draft is None:
            return None
        published = RoundsOfStudy.of(connection, study, curator.seal).publish(draft, now, deadline(now))
        return draft.drawn if published else None

    return await curator.writer.run(work)


async def advance_in_time(curator: Curator, study_id: str) -> Advance:
    """Do the same if it is due: the study has closed, and its rounds follow each other in time.

    A round lasts as long as the study says, from the moment at which it is published: after a long downtime, too.
    While the clock is in doubt nothing is due.
    """
    if not curator.clock.certain():
        return Advance.NOT_DUE
    await keep_closed(curator, study_id, curator.clock())

    def due() -> tuple[Advance | None, int]:
        with reading(curator.engine) as connection:
            study = studies.study(connection, study_id)
            if study is None or study.round_seconds is None or study.state != CLOSED:
                return Advance.NOT_DUE, 0
            rounds = RoundsOfStudy.of(connection, study, curator.seal)
            if rounds.have_ended:
                return Advance.ENDED, 0
            return (Advance.SHORT if rounds.shortfall() else None), study.round_seconds

    known, seconds = await asyncio.to_thread(due)
    if known is not None:
        return known
    step = await _step(curator, study_id, lambda now: now + seconds, in_time=True)
    if step is None:
        return Advance.NOT_DUE
    return Advance.ENDED if step.round is None else Advance.PUBLISHED


async def asked(curator: Curator, study_id: str) -> dict[str, Any]:
    """Return the current round of a study, with the turns so far.

    Devices check both before they answer.
    """
    found = await study_document(curator, study_id)
    known = await curator.asked(study_id, (found["round"] or {}).get("digest", ""))
    if known is None or found["round"] is None:
        raise Refusal("not-found", "The study asks no round now.")
    told = {"study": study_id, "text": known.text, "turns": known.turns.to_json(), "closes_at": found["closes_at"]}
    return {"number": known.number, "digest": known.digest, **told}
