"""The life of a study: created, opened, closed and released, or withdrawn.

What a study asks and promises never changes, and everybody is shown the same. A release is one transaction: ledger,
result and state are written together, and nothing leaves the process before. So a crash before the
commit costs nothing, since nobody saw the draw, and a crash after it loses nothing: asking again returns the stored
bytes.
"""

import asyncio
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection

from hybriddp.errors import DataError
from hybriddp.frequency.open_release import PrivateItems
from hybriddp.mean.parts import PART_NAME, StudyParts, is_part_name
from hybriddp.planning.words import promise
from hybriddp.service import budgets, receipts
from hybriddp.service.curator import Curator, KnownStudy, known_study, list_of
from hybriddp.service.kinds import (
    Gathered,
    HeavyHitterKind,
    KMeansKind,
    MeanKind,
    Released,
    StudyKind,
    kind_of,
    release_parts,
    require_sizes,
    shortfall,
    usable,
)
from hybriddp.service.problems import Refusal
from hybriddp.service.rounds import NO_ROUNDS, AskedRound, PublishedRound, RoundsOfStudy, asked_round
from hybriddp.service.store import contributions as stored
from hybriddp.service.store import studies
from hybriddp.service.store.contributions import GroupSizes
from hybriddp.service.store.engine import reading
from hybriddp.service.store.studies import ASKING, CLOSED, CREATED, OPEN, RELEASED, TAKING, WITHDRAWN, StoredStudy

RECEIPTS_KEY = "/.well-known/hybriddp-receipts.json"
PILOT = (
    "This study takes contributions without tokens. Nothing stops a person from taking part many times, or in both "
    "groups: what it promises holds for one contribution, not for one person, and whoever sends many can move the "
    "answer."
)
_DAY = 86_400
_LARGEST = 10**12  # more people than there are
LATEST = 253_402_300_799
"""The last second of the year 9999, the last that can be written down."""


async def create(curator: Curator, kind: StudyKind, fields: dict[str, Any], *, opened: bool) -> dict[str, Any]:
    """A new study; opened at once if asked."""
    if not curator.clock() < fields["closes_at"] <= LATEST:
        raise Refusal("malformed", "closes_at must be a time in the future, before the year 10000.")
    sizes, least = (fields["min_trusted"], fields["min_local"]), kind.min_group_size
    if min(sizes) < least or max(sizes) > _LARGEST:
        wanted = f"from the study's own {least} to {_LARGEST}"
        raise Refusal("malformed", f"min_trusted and min_local must be {wanted}.")
    if names := fields["dimensions"]:
        _require_dimensions(names, kind.study.box.n_dimensions if isinstance(kind, KMeansKind) else 0)
    if isinstance(kind, KMeansKind) and not fields["tokens"]:
        raise Refusal("malformed", "K-means needs tokens: they say which round asks whom.")
    timed = fields.get("round_seconds") is not None
    if timed and not isinstance(kind, KMeansKind):
        raise Refusal("malformed", f"round_hours must be left out. {NO_ROUNDS}")
    if fields.get("release_at_end") and not timed:
        raise Refusal("malformed", "release_at_end must be left out unless round_hours is given.")
    if fields["budget"] is not None and not fields["tokens"]:
        raise Refusal("malformed", "A shared budget needs tokens: without them nobody knows who has paid.")
    if kind.parts is not None and not fields["tokens"]:
        raise Refusal("malformed", "Parts need tokens: they say which part a person is in.")
    parts = None if kind.parts is None else kind.parts.to_json()
    row = fields | {"parts": parts, "digest": kind.digest, "kind": kind.name, "text": kind.text, "state": CREATED}

    def work(connection: Connection) -> StoredStudy:
        taken = studies.insert_study(connection, row, kind.steps)
        if taken == "id":
            raise Refusal("refused", "There is a study with this id already. Choose another one.", field="id")
        if taken == "digest":
            words = "There is a study with exactly this text already. Name it differently, by its week perhaps."
            raise Refusal("refused", words, field="name")
        if opened:
            _open(curator, connection, fields["id"])
        return _locked(connection, fields["id"])

    study = await curator.writer.run(work)
    return _document(KnownStudy(study, kind), study.state, None)


def _require_dimensions(names: Sequence[str], numbers: int) -> None:
    """Refuse names that people could not tell apart: they would type their numbers into each other's fields."""
    if len({unicodedata.normalize("NFKC", name).casefold() for name in names}) != numbers or len(names) != numbers:
        raise Refusal("malformed", "dimensions must be a name for each number of a point, each another one.")
    if not all(map(is_part_name, names)):
        raise Refusal("malformed", f"dimensions must be names, each {PART_NAME}.")


async def move(curator: Curator, study_id: str, action: str) -> dict[str, Any]:
    """Open, close or withdraw a study."""
    await curator.known(study_id)  # so that a refusal is counted as this study's
    work = {"open": _open, "list": _release_list, "close": _close, "withdraw": _withdraw}[action]
    await curator.writer.run(lambda connection: work(curator, connection, study_id))
    return await document(curator, study_id, counts=True)


async def close_round(curator: Curator, study_id: str, round_number: int) -> dict[str, Any]:
    """Close a study if it is in this round, 0 before the first: asked again, nothing happens to the next one."""
    await curator.known(study_id)

    def work(connection: Connection) -> None:
        if _locked(connection, study_id).round_number == round_number:
            _close(curator, connection, study_id)

    await curator.writer.run(work)
    return await document(curator, study_id, counts=True)


@dataclass(frozen=True, slots=True)
class ReleaseAnswer:
    """The bytes of a result, and whether they were drawn just now."""

    result: bytes
    new: bool


async def release(curator: Curator, study_id: str) -> ReleaseAnswer:
    """The result: made and paid for once, the same bytes ever after."""
    await curator.known(study_id)
    await keep_closed(curator, study_id, curator.clock())  # even if the release is then refused
    return await curator.writer.run(lambda connection: _release(curator, connection, study_id))


def _open(curator: Curator, connection: Connection, study_id: str) -> None:
    study = _locked(connection, study_id)
    _require_state(study.state_at(curator.clock()), (CREATED,), "opened")
    kind = kind_of(study)
    if study.budget is None:
        budgets.create(connection, budgets.of_study(study.id), kind.privacy)
    else:
        budgets.charge_everybody(connection, study.budget, kind)
    studies.set_state(connection, study.number, OPEN)


def _close(curator: Curator, connection: Connection, study_id: str) -> None:
    study = _locked(connection, study_id)
    _require_state(study.state, (*TAKING, CLOSED), "closed")
    _fold(curator, connection, study, kind_of(study))
    studies.set_state(connection, study.number, CLOSED)


async def fold_open(curator: Curator) -> None:
    """Add up the sums that earlier processes have left: a row of its own for each would tell more than their sum.

    One study at a time: other replicas are adding to several at once, and neither must wait for the other.
    """

    def found() -> list[str]:
        with reading(curator.engine) as connection:
            return [study.id for study in studies.all_studies(connection) if study.state in TAKING]

    def work(connection: Connection, study_id: str) -> None:
        study = _locked(connection, study_id)
        if study.state in TAKING:
            _fold(curator, connection, study, kind_of(study))

    for study_id in await asyncio.to_thread(found):
        await curator.writer.run(partial(work, study_id=study_id))


def _fold(curator: Curator, connection: Connection, study: StoredStudy, kind: StudyKind) -> None:
    stored.fold(connection, study.number, study.digest, replica=curator.replica, seal=curator.seal, sums=kind.sums)


def _release_list(curator: Curator, connection: Connection, study_id: str) -> None:
    """Release the list of a study in two steps and ask the local group; if nothing is on it, close the study."""
    study = _locked(connection, study_id)
    kind = kind_of(study)
    if not isinstance(kind, HeavyHitterKind):
        raise Refusal("refused", "This study has no list: it is closed and released in one step.")
    _require_state(study.state_at(curator.clock()), (OPEN,), "asked about its list")
    items = _items(curator, connection, study, kind)
    studies.set_state(connection, study.number, ASKING if items.items else CLOSED)


def _items(curator: Curator, connection: Connection, study: StoredStudy, kind: HeavyHitterKind) -> PrivateItems:
    """The list: made and paid for once; then what the trusted group has is forgotten."""
    known = list_of(connection, study)
    if known is not None:
        return known
    gathered = _gathered(curator, connection, study, kind)
    missing = shortfall(
        n_trusted=gathered.n_trusted, n_local=0, min_trusted=study.min_trusted, min_local=0, single_group=False
    )
    if missing:
        raise DataError(f"{missing} Nothing was released.")
    _fold(curator, connection, study, kind)
    items = kind.release_list(gathered, budgets.ledger_of(connection, study))
    studies.store_result(connection, study.number, 0, result=items.to_json().encode(), page=b"", curator_page=b"")
    stored.forget_total(connection, study.number)
    return items


def _gathered(curator: Curator, connection: Connection, study: StoredStudy, kind: StudyKind) -> Gathered:
    n_trusted = stored.sizes(connection, study.number).trusted
    total = stored.total(connection, study.number, study.digest, curator.seal, kind.sums)
    return Gathered(n_trusted, total, stored.tally(connection, study.number))


def _withdraw(_: Curator, connection: Connection, study_id: str) -> None:
    study = _locked(connection, study_id)
    if study.state == RELEASED:
        raise Refusal("refused", "The study has been released: what is published cannot be withdrawn.")
    stored.forget(connection, study.number)
    studies.erase(connection, study.number)


def _release(curator: Curator, connection: Connection, study_id: str) -> ReleaseAnswer:
    study = _locked(connection, study_id)
    if study.state == WITHDRAWN:
        raise Refusal("refused", "The study was withdrawn, and what people contributed is gone.")
    step = studies.study_steps(connection, study.number)[-1]
    if step.result is not None:
        return ReleaseAnswer(step.result, new=False)
    if study.state_at(curator.clock()) != CLOSED:
        raise Refusal("refused", "The study is not closed yet. Close it first, or wait for its closing time.")
    released = _released(curator, connection, study)
    told = {"id": study.id, "digest": study.digest, "released_on": _date(curator.clock() // _DAY), **released.result}
    result = json.dumps(told, ensure_ascii=False, indent=1).encode()
    page, curator_page = released.page.encode(), released.curator_page.encode()
    studies.store_result(connection, study.number, step.number, result=result, page=page, curator_page=curator_page)
    studies.set_state(connection, study.number, RELEASED)
    stored.forget_total(connection, study.number)
    return ReleaseAnswer(result, new=True)


def _released(curator: Curator, connection: Connection, study: StoredStudy) -> Released:
    kind = kind_of(study)
    wanted: dict[str, Any] = {"min_trusted": study.min_trusted, "min_local": study.min_local}
    if isinstance(kind, KMeansKind):
        return RoundsOfStudy.of(connection, study, curator.seal).released(_warning(study, ""))
    if isinstance(kind, HeavyHitterKind):
        sizes = stored.sizes(connection, study.number)
        known = list_of(connection, study)
        gathered = Gathered(sizes.trusted, 0, stored.tally(connection, study.number))
        alone = study.single_group or (known is not None and not known.items)  # nobody could be asked
        require_sizes(gathered, **wanted, single_group=alone)
        items = _items(curator, connection, study, kind)
        used = usable(gathered, **wanted, single_group=alone)
        return kind.release_shares(items, used.gathered, single_group=alone, warning=_warning(study, used.warning))
    gathered, alone = _gathered(curator, connection, study, kind), study.single_group
    if isinstance(kind, MeanKind) and kind.parts is not None:
        ledger, warning = budgets.ledger_of(connection, study), _warning(study, "")
        return release_parts(kind, gathered, **wanted, single_group=alone, ledger=ledger, warning=warning)
    require_sizes(gathered, **wanted, single_group=alone)
    used = usable(gathered, **wanted, single_group=alone)
    ledger, warning = budgets.ledger_of(connection, study), _warning(study, used.warning)
    return kind.release(used.gathered, single_group=alone, ledger=ledger, warning=warning)


def _warning(study: StoredStudy, left_out: str) -> str | None:
    """What goes before the answer: that it is a pilot, and who is not in it."""
    return " ".join(filter(None, ["" if study.tokens else PILOT, left_out])) or None


def _locked(connection: Connection, study_id: str) -> StoredStudy:
    study = studies.study(connection, study_id, lock=True)
    if study is None:
        raise Refusal("not-found", "There is no study with this id.")
    return study


async def released(curator: Curator, study_id: str) -> studies.StoredStep:
    """What came out of a released study, byte for byte."""

    def work() -> list[studies.StoredStep]:
        with reading(curator.engine) as connection:
            study = studies.study(connection, study_id)
            return studies.study_steps(connection, study.number) if study else []

    steps = await asyncio.to_thread(work)
    if steps and steps[-1].result is not None:
        return steps[-1]
    raise Refusal("not-found", "There is no result: the study has not been released.")


async def budget_left(curator: Curator, name: str) -> budgets.RemainingBudget | None:
    """What everybody has left of a shared budget; None if there is none with this name."""

    def work() -> budgets.RemainingBudget | None:
        with reading(curator.engine) as connection:
            if name not in budgets.shared_names(connection):
                return None
            return budgets.left(budgets.ledger(connection, budgets.shared(name)))

    return await asyncio.to_thread(work)


async def document(curator: Curator, study_id: str, *, counts: bool = False) -> dict[str, Any]:
    """What everybody may see of a study; with ``counts`` also how many have taken part, before it closes."""
    return (await _documents(curator, study_id, counts=counts))[0]


async def documents(curator: Curator) -> list[dict[str, Any]]:
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
    """Before anybody hears that a study has closed, write it down: it must not open again when a clock is set back."""

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
    return _document(known, state, sizes, of_parts, asked, answered)


def _document(
    known: KnownStudy,
    state: str,
    counts: GroupSizes | None,
    of_parts: Sequence[GroupSizes] | None = None,
    asked: AskedRound | None = None,
    answered: int | None = None,
) -> dict[str, Any]:
    """The document, with the round that was asked last and, for the operator, how many have answered it so far."""
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
    """A round in numbers that are public: how many answered one that has ended is a part of what it published."""
    told = {"number": number, "purpose": one.purpose, "user_fraction": str(one.user_fraction)}
    known = answered if one.answered is None else one.answered
    return {**told, "closes_at": _time(one.closes_at), "asked_about": one.expected(n_local), "answered": known}


def _require_state(state: str, allowed: Sequence[str], action: str) -> None:
    if state not in allowed:
        raise Refusal("refused", f"The study is {state}, and cannot be {action}.")


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * _DAY, UTC).date().isoformat()


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
