"""What everybody may see of a study, as plain values: what it asks, promises and stores, its state, and its sizes once
they are public. Everybody is shown the same; the operator sees the sizes earlier.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from hybriddp.planning.words import promise
from hybriddp.service import receipts
from hybriddp.service.curator import Curator, KnownStudy, known_study
from hybriddp.service.kinds import KMeansKind, MeanKind
from hybriddp.service.problems import Refusal
from hybriddp.service.rounds import AskedRound, PublishedRound, asked_round
from hybriddp.service.store import contributions as stored
from hybriddp.service.store import studies
from hybriddp.service.store.contributions import GroupSizes
from hybriddp.service.store.engine import reading
from hybriddp.service.store.studies import ASKING, CLOSED, RELEASED, StoredStudy
from hybriddp.study.users import StudyParts

RECEIPTS_KEY = "/.well-known/hybriddp-receipts.json"
PILOT = (
    "This study takes contributions without tokens. Nothing stops a person from taking part many times, or in both "
    "groups: what it promises holds for one contribution, not for one person, and whoever sends many can move the "
    "answer."
)


async def study_document(curator: Curator, study_id: str, *, counts: bool = False) -> dict[str, Any]:
    """Return the public document of a study.

    With ``counts`` it also contains the number of participants before the study closes.
    """
    return (await _documents(curator, study_id, counts=counts))[0]


async def study_documents(curator: Curator) -> list[dict[str, Any]]:
    """All studies, the newest first, for the operator."""
    return await _documents(curator, None, counts=True)


async def _documents(curator: Curator, study_id: str | None, *, counts: bool) -> list[dict[str, Any]]:
    now = curator.clock()
    await keep_closed(curator, study_id, now)

    def described() -> list[dict[str, Any]]:
        with reading(curator.engine) as connection:
            found = _found(connection, study_id)
            return [_read_document(connection, study, study.state_at(now), counts=counts) for study in found]

    return await asyncio.to_thread(described)


async def keep_closed(curator: Curator, study_id: str | None, now: int) -> None:
    """Before anybody hears that a study has closed, write it down: it must not open again when a clock is set back.

    While the clock is in doubt nothing is written.
    """
    if not curator.clock.certain():
        return

    def overdue() -> list[int]:
        with reading(curator.engine) as connection:
            found = _found(connection, study_id)
            return [study.number for study in found if study.state_at(now) != study.state]

    if numbers := await asyncio.to_thread(overdue):
        await curator.writer.run(lambda connection: studies.close_overdue(connection, numbers, now))


def _found(connection: Connection, study_id: str | None) -> list[StoredStudy]:
    """One study, or all."""
    if study_id is None:
        return studies.all_studies(connection)
    one = studies.study(connection, study_id)
    if one is None:
        raise Refusal("not-found", "There is no study with this id.")
    return [one]


def _read_document(connection: Connection, study: StoredStudy, state: str, *, counts: bool) -> dict[str, Any]:
    shown = counts or state in (CLOSED, RELEASED) or study.round_number > 0  # whoever enrolled is known by then
    sizes = stored.sizes(connection, study.number) if shown else None
    known = known_study(connection, study)
    of_parts = None
    if shown and isinstance(known.kind, MeanKind) and known.kind.parts is not None:
        of_parts = stored.part_sizes(connection, study.number, known.kind.part_sums)
    asked = asked_round(known.kind, known.rounds) if isinstance(known.kind, KMeansKind) else None
    answered = asked.counts.n_users(stored.tally(connection, study.number)) if asked is not None and counts else None
    return document_of(known, state, sizes, of_parts, asked, answered)


def document_of(
    known: KnownStudy,
    state: str,
    counts: GroupSizes | None = None,
    of_parts: Sequence[GroupSizes] | None = None,
    asked: AskedRound | None = None,
    answered: int | None = None,
) -> dict[str, Any]:
    """Return a study's document, with the latest round.

    For the operator, the document also contains the number of answers to that round so far.
    """
    study, kind = known.stored, known.kind
    parts = kind.parts
    asking = asked if state == ASKING else None
    rounds = known.rounds.rounds if known.rounds is not None else ()
    n_local = 0 if counts is None else counts.local
    done = len(kind.steps) if state == RELEASED else int(known.listed)
    return {
        "id": study.id,
        "kind": study.kind,
        "title": kind.title,
        "digest": study.digest,
        "text": kind.device_text,
        "epsilon": kind.privacy.epsilon,
        "delta": kind.privacy.delta,
        "promise": promise(kind.privacy),
        "consent": study.consent,
        "dimensions": list(study.dimensions),
        "stored": {
            group: receipts.stored(group, kind=study.kind, tokens=study.tokens, parts=parts)
            for group in ("local", "trusted")
        },
        "tokens": study.tokens,
        "warning": None if study.tokens else PILOT,
        "state": state,
        "steps": [{"name": name, "state": "released" if i < done else "pending"} for i, name in enumerate(kind.steps)],
        "closes_at": _time(study.closes_at),
        "min_trusted": study.min_trusted,
        "min_local": study.min_local,
        "single_group": study.single_group,
        "budget": study.budget,
        "parts": parts and parts.to_dict(),
        "counts": None if counts is None else asdict(counts),
        "part_counts": _part_counts(parts, of_parts),
        "receipts_key": RECEIPTS_KEY,
        "round": asking and asking.described(),
        "rounds": [_round(number, one, n_local, answered) for number, one in enumerate(rounds, 1)],
        "round_hours": None if study.round_seconds is None else study.round_seconds / 3600,
        "release_at_end": study.release_at_end,
        "question": known.question and {"digest": known.question.digest, "text": known.question.text},
    }


def _part_counts(parts: StudyParts | None, sizes: Sequence[GroupSizes] | None) -> list[dict[str, Any]] | None:
    if parts is None or sizes is None:
        return None
    return [{"name": name, **asdict(one)} for name, one in zip(parts.names, sizes, strict=True)]


def _round(number: int, one: PublishedRound, n_local: int, answered: int | None) -> dict[str, Any]:
    """Return the public numbers of a round.

    The number of answers to a round that has ended is part of the published round.
    """
    told = {"number": number, "purpose": one.purpose, "user_fraction": str(one.user_fraction)}
    known = answered if one.answered is None else one.answered
    return {**told, "closes_at": _time(one.closes_at), "asked_about": one.expected(n_local), "answered": known}


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
