"""The life of a study: created, opened, closed and released, or withdrawn.

What a study asks and promises never changes, and everybody is shown the same. A release is drawn beside the writer (see
`drafts`) and committed in one transaction: ledger, result and state are written together, and nothing leaves the
process before. So a crash before the commit costs nothing, since nobody saw the draw, and a crash after it loses
nothing: asking again returns the stored bytes.
"""

import asyncio
import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection

from hybriddp import _check
from hybriddp.errors import DataError
from hybriddp.items.open_release import PrivateItems
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service import budgets
from hybriddp.service.curator import Curator, KnownStudy, list_of
from hybriddp.service.documents import PILOT, document_of, keep_closed, study_document
from hybriddp.service.drafts import Draft, draw
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
from hybriddp.service.round_steps import RoundsOfStudy
from hybriddp.service.rounds import NO_ROUNDS
from hybriddp.service.store import contributions as stored
from hybriddp.service.store import studies
from hybriddp.service.store.engine import reading
from hybriddp.service.store.studies import ASKING, CLOSED, CREATED, OPEN, RELEASED, TAKING, WITHDRAWN, StoredStudy
from hybriddp.study.users import PART_NAME, is_part_name

_DAY = 86_400
LATEST = 253_402_300_799
"""The last second of the year 9999, the last that can be written down."""


async def create(curator: Curator, kind: StudyKind, fields: dict[str, Any], *, opened: bool) -> dict[str, Any]:
    """Create a study, and open it at once if asked."""
    _check_fields(curator, kind, fields)
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
    return document_of(KnownStudy(study, kind), study.state)


def _check_fields(curator: Curator, kind: StudyKind, fields: dict[str, Any]) -> None:
    """Refuse a new study whose fields contradict each other or its kind."""
    if not curator.clock() < fields["closes_at"] <= LATEST:
        raise Refusal("malformed", "closes_at must be a time in the future, before the year 10000.")
    sizes, least = (fields["min_trusted"], fields["min_local"]), kind.min_group_size
    if min(sizes) < least or max(sizes) > _check.MOST_USERS:
        wanted = f"from the study's own {least} to {_check.MOST_USERS}"
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


def _require_dimensions(names: Sequence[str], numbers: int) -> None:
    """Refuse names that people could not tell apart: they would type their numbers into each other's fields."""
    if len({unicodedata.normalize("NFKC", name).casefold() for name in names}) != numbers or len(names) != numbers:
        raise Refusal("malformed", "dimensions must be a name for each number of a point, each another one.")
    if not all(map(is_part_name, names)):
        raise Refusal("malformed", f"dimensions must be names, each {PART_NAME}.")


async def move(curator: Curator, study_id: str, action: str) -> dict[str, Any]:
    """Open, close or withdraw a study, or release its list."""
    await curator.known(study_id)  # so that a refusal is counted as this study's
    if action == "list":
        await _release_list(curator, study_id)
    else:
        work = {"open": _open, "close": _close, "withdraw": _withdraw}[action]
        await curator.writer.run(lambda connection: work(curator, connection, study_id))
    return await study_document(curator, study_id, counts=True)


async def close_round(curator: Curator, study_id: str, round_number: int) -> dict[str, Any]:
    """Close a study if it is in this round, 0 before the first: asked again, nothing happens to the next one."""
    await curator.known(study_id)

    def work(connection: Connection) -> None:
        if _locked(connection, study_id).round_number == round_number:
            _close(curator, connection, study_id)

    await curator.writer.run(work)
    return await study_document(curator, study_id, counts=True)


@dataclass(frozen=True, slots=True)
class ReleaseAnswer:
    """The bytes of a result, and whether they were drawn just now."""

    result: bytes
    new: bool


async def release(curator: Curator, study_id: str) -> ReleaseAnswer:
    """Release a study once and return the result.

    The result is charged once. Later calls return the same bytes.
    """
    await curator.known(study_id)
    await keep_closed(curator, study_id, curator.clock())  # even if the release is then refused
    draft = await draw(curator, study_id, partial(_release_of, curator))
    return await curator.writer.run(lambda connection: _publish(curator, connection, study_id, draft))


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


async def _release_list(curator: Curator, study_id: str) -> None:
    """Release the list of a study in two steps and ask the local group; if nothing is on it, close the study.

    The study asks from the moment at which the list is drawn: trusted people come too late then, and local ones too
    early until there is a list. If this process dies in between, the list is released when it is asked for again.
    """
    await curator.writer.run(lambda connection: _wait_for_list(curator, connection, study_id))
    draft = await draw(curator, study_id, partial(_list_draft, curator))

    def work(connection: Connection) -> None:
        study = _locked(connection, study_id)
        if draft is None or list_of(connection, study) is not None:
            return  # another replica was first
        _require_state(study.state, (ASKING,), "asked about its list")
        kind = _heavy_kind(study)
        draft.charge(connection, study, kind.privacy)
        _store_list(connection, study, draft.drawn)
        if not draft.drawn.items:
            studies.set_state(connection, study.number, CLOSED)

    await curator.writer.run(work)


def _wait_for_list(curator: Curator, connection: Connection, study_id: str) -> None:
    """Take no more trusted people: what they have is about to be released."""
    study = _locked(connection, study_id)
    kind, state = _heavy_kind(study), study.state_at(curator.clock())
    if state == ASKING and list_of(connection, study) is None:
        return  # somebody began before
    _require_state(state, (OPEN,), "asked about its list")
    _require_trusted(_gathered(curator, connection, study, kind).n_trusted, study)
    _fold(curator, connection, study, kind)
    studies.set_state(connection, study.number, ASKING)


def _list_draft(
    curator: Curator, connection: Connection, study: StoredStudy, ledger: Ledger | None
) -> Callable[[], PrivateItems] | None:
    """Return what draws the list; None if there is one, or the study does not wait for it any more."""
    if study.state != ASKING or list_of(connection, study) is not None:
        return None
    kind = _heavy_kind(study)
    return partial(kind.release_list, _gathered(curator, connection, study, kind), ledger)


def _heavy_kind(study: StoredStudy) -> HeavyHitterKind:
    kind = kind_of(study)
    if not isinstance(kind, HeavyHitterKind):
        raise Refusal("refused", "This study has no list: it is closed and released in one step.")
    return kind


def _require_trusted(n_trusted: int, study: StoredStudy) -> None:
    """Raise `DataError` if too few trusted people have come for a list."""
    missing = shortfall(n_trusted=n_trusted, n_local=0, min_trusted=study.min_trusted, min_local=0, single_group=False)
    if missing:
        raise DataError(f"{missing} Nothing was released.")


def _store_list(connection: Connection, study: StoredStudy, items: PrivateItems) -> None:
    """Keep a list that has been paid for, and forget what the trusted group has."""
    studies.store_result(connection, study.number, 0, result=items.to_json().encode(), page=b"", curator_page=b"")
    stored.forget_total(connection, study.number)


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


@dataclass(frozen=True, slots=True, repr=False)
class _Drawn:
    """What a release has drawn; with a list, if that was drawn with it."""

    released: Released
    items: PrivateItems | None = None


def _release_of(
    curator: Curator, connection: Connection, study: StoredStudy, ledger: Ledger | None
) -> Callable[[], _Drawn] | None:
    """Return what draws the release of a study, from all that was read of it here; None if it has been released."""
    if study.state == WITHDRAWN:
        raise Refusal("refused", "The study was withdrawn, and what people contributed is gone.")
    if studies.study_steps(connection, study.number)[-1].result is not None:
        return None
    if study.state != CLOSED:
        raise Refusal("refused", "The study is not closed yet. Close it first, or wait for its closing time.")
    kind = kind_of(study)
    if isinstance(kind, KMeansKind):
        clusters = RoundsOfStudy.of(connection, study, curator.seal, ledger).released(_warning(study, ""))
        return lambda: _Drawn(clusters())
    if isinstance(kind, HeavyHitterKind):
        return _shares_of(curator, connection, study, kind, ledger)
    wanted: dict[str, Any] = {"min_trusted": study.min_trusted, "min_local": study.min_local}
    gathered, alone = _gathered(curator, connection, study, kind), study.single_group
    if isinstance(kind, MeanKind) and kind.parts is not None:
        told: dict[str, Any] = {"single_group": alone, "ledger": ledger, "warning": _warning(study, "")}
        return lambda: _Drawn(release_parts(kind, gathered, **wanted, **told))
    require_sizes(gathered, **wanted, single_group=alone)
    used = usable(gathered, **wanted, single_group=alone)
    warning = _warning(study, used.warning)
    return lambda: _Drawn(kind.release(used.gathered, single_group=alone, ledger=ledger, warning=warning))


def _shares_of(
    curator: Curator, connection: Connection, study: StoredStudy, kind: HeavyHitterKind, ledger: Ledger | None
) -> Callable[[], _Drawn]:
    """Return what draws the shares of a list; the list too, if the study was closed before it was released."""
    known, n_trusted = list_of(connection, study), stored.sizes(connection, study.number).trusted
    gathered = Gathered(n_trusted, 0, stored.tally(connection, study.number))
    whole = _gathered(curator, connection, study, kind) if known is None else gathered  # a list forgets the total
    alone = study.single_group or (known is not None and not known.items)  # nobody could be asked
    wanted: dict[str, Any] = {"min_trusted": study.min_trusted, "min_local": study.min_local, "single_group": alone}
    require_sizes(gathered, **wanted)
    if known is None:
        _require_trusted(n_trusted, study)
    used = usable(gathered, **wanted)
    warning = _warning(study, used.warning)

    def compute() -> _Drawn:
        items = kind.release_list(whole, ledger) if known is None else known
        shares = kind.release_shares(items, used.gathered, single_group=alone, warning=warning)
        return _Drawn(shares, items if known is None else None)

    return compute


def _publish(curator: Curator, connection: Connection, study_id: str, draft: Draft[_Drawn] | None) -> ReleaseAnswer:
    """Charge and store what has been drawn, unless somebody was first: then their bytes are the result."""
    study = _locked(connection, study_id)
    if study.state == WITHDRAWN:
        raise Refusal("refused", "The study was withdrawn, and what people contributed is gone.")
    step = studies.study_steps(connection, study.number)[-1]
    if step.result is not None:
        return ReleaseAnswer(step.result, new=False)
    if draft is None or study.state != CLOSED:
        raise Refusal("refused", "The study has changed while its result was drawn. Nothing was released.")
    kind = kind_of(study)
    draft.charge(connection, study, kind.privacy)
    if draft.drawn.items is not None:
        _store_list(connection, study, draft.drawn.items)
    released = draft.drawn.released
    told = {"id": study.id, "digest": study.digest, "released_on": _date(curator.clock() // _DAY), **released.result}
    result = json.dumps(told, ensure_ascii=False, indent=1).encode()
    page, curator_page = released.page.encode(), released.curator_page.encode()
    studies.store_result(connection, study.number, step.number, result=result, page=page, curator_page=curator_page)
    studies.set_state(connection, study.number, RELEASED)
    stored.forget_total(connection, study.number)
    return ReleaseAnswer(result, new=True)


def _warning(study: StoredStudy, left_out: str) -> str | None:
    """Return the text before the answer, about pilots and groups that are left out."""
    return " ".join(filter(None, ["" if study.tokens else PILOT, left_out])) or None


def _locked(connection: Connection, study_id: str) -> StoredStudy:
    study = studies.study(connection, study_id, lock=True)
    if study is None:
        raise Refusal("not-found", "There is no study with this id.")
    return study


async def released(curator: Curator, study_id: str) -> studies.StoredStep:
    """Return the stored result of a released study, byte for byte."""

    def work() -> list[studies.StoredStep]:
        with reading(curator.engine) as connection:
            study = studies.study(connection, study_id)
            return studies.study_steps(connection, study.number) if study else []

    steps = await asyncio.to_thread(work)
    if steps and steps[-1].result is not None:
        return steps[-1]
    raise Refusal("not-found", "There is no result: the study has not been released.")


async def budget_left(curator: Curator, name: str) -> budgets.RemainingBudget | None:
    """Return the remaining shared budget of everybody, or None if it does not exist."""

    def work() -> budgets.RemainingBudget | None:
        with reading(curator.engine) as connection:
            if name not in budgets.shared_names(connection):
                return None
            return budgets.left(budgets.ledger(connection, budgets.shared(name)))

    return await asyncio.to_thread(work)


def _require_state(state: str, allowed: Sequence[str], action: str) -> None:
    if state not in allowed:
        raise Refusal("refused", f"The study is {state}, and cannot be {action}.")


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * _DAY, UTC).date().isoformat()
