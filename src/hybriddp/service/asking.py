"""Asking in rounds: the next one is published by the operator, or in time.

A step is one transaction, in which the study is locked. So it does not matter who takes it, or how often: of two
replicas that see a deadline pass, one publishes the next round, and the other finds it published.
"""

from enum import Enum
from typing import Any

from sqlalchemy import Connection

from hybriddp.service import life
from hybriddp.service.curator import Curator
from hybriddp.service.kinds import KMeansKind
from hybriddp.service.problems import Refusal
from hybriddp.service.rounds import NO_ROUNDS, RoundsOfStudy
from hybriddp.service.store import studies
from hybriddp.service.store.studies import CLOSED


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
    await life.keep_closed(curator, study_id, curator.clock())

    def work(connection: Connection) -> None:
        study = studies.study(connection, study_id, lock=True)
        if study is not None:
            RoundsOfStudy.of(connection, study, curator.seal).advance(curator.clock(), closes_at)

    await curator.writer.run(work)
    return await life.document(curator, study_id, counts=True)


async def advance_in_time(curator: Curator, study_id: str) -> Advance:
    """Do the same if it is due: the study has closed, and its rounds follow each other in time.

    A round lasts as long as the study says, from the moment at which it is published: after a long downtime, too.
    """
    await life.keep_closed(curator, study_id, curator.clock())

    def work(connection: Connection) -> Advance:
        study, now = studies.study(connection, study_id, lock=True), curator.clock()
        if study is None or study.round_seconds is None or study.state_at(now) != CLOSED:
            return Advance.NOT_DUE
        rounds = RoundsOfStudy.of(connection, study, curator.seal)
        if rounds.have_ended:
            return Advance.ENDED
        if rounds.shortfall():
            return Advance.SHORT
        return Advance.PUBLISHED if rounds.advance(now, now + study.round_seconds) else Advance.ENDED

    return await curator.writer.run(work)


async def asked(curator: Curator, study_id: str) -> dict[str, Any]:
    """The round that a study asks now, with the turns so far: what a device checks before it answers."""
    found = await life.document(curator, study_id)
    known = await curator.asked(study_id, (found["round"] or {}).get("digest", ""))
    if known is None or found["round"] is None:
        raise Refusal("not-found", "The study asks no round now.")
    told = {"study": study_id, "text": known.text, "turns": known.turns.to_json(), "closes_at": found["closes_at"]}
    return {"number": known.number, "digest": known.digest, **told}
