"""Routes of studies: the operator creates and moves them, everybody reads them."""

import json
from secrets import token_hex
from typing import Annotated, Any

from litestar import MediaType, Response, delete, get, post
from litestar.datastructures import State
from litestar.params import JSONBody, QueryParameter
from msgspec import convert, structs

from hybriddp import _check
from hybriddp.privacy import Privacy
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service import asking, budgets, life
from hybriddp.service.curator import Curator
from hybriddp.service.documents import study_document, study_documents
from hybriddp.service.downloads import result_csv, result_svg
from hybriddp.service.keys import key_hash, new_key
from hybriddp.service.kinds import study_kind
from hybriddp.service.problems import Refusal
from hybriddp.service.routes.access import RELAY, Asked, is_admin, require_admin
from hybriddp.service.routes.wire import (
    RESULT,
    BudgetLeft,
    BudgetState,
    NewBudget,
    NewRelay,
    NewRound,
    NewStudy,
    PathId,
    PathName,
    Relay,
    RelayKey,
    RoundDocument,
    StudyDocument,
    problems,
)
from hybriddp.service.store import studies as stored
from hybriddp.service.store.engine import reading
from hybriddp.study.users import StudyParts

_ADMIN: Any = {"guards": [require_admin], "security": [{"bearer": []}], "tags": ["operator"]}
_PUBLIC: Any = {"tags": ["study"]}


@post("/studies", **_ADMIN, responses=problems("bad-token", "not-found", "refused", body=True))
async def create_study(data: JSONBody[NewStudy], state: State) -> StudyDocument:
    """Create a study, and open it unless told otherwise."""
    return convert(await create(data, state.curator), StudyDocument)


async def create(data: NewStudy, curator: Curator) -> dict[str, Any]:
    """A new study, as a route or a page has asked for it."""
    text = _check.compact(data.study)
    kind = study_kind(text, None if data.parts is None else StudyParts(data.parts.by, data.parts.names))
    fields = {
        "id": data.id or token_hex(6),
        "consent": structs.asdict(data.consent),
        "dimensions": data.dimensions,
        "origins": data.origins,
        "tokens": data.tokens,
        "single_group": data.single_group,
        "min_trusted": data.min_trusted or kind.min_group_size,
        "min_local": data.min_local or kind.min_group_size,
        "budget": data.budget,
        "closes_at": int(data.closes_at.timestamp()),
        "round_seconds": None if data.round_hours is None else round(3600 * data.round_hours),
        "release_at_end": data.release_at_end,
    }
    return await life.create(curator, kind, fields, opened=data.open)


@get("/studies", **_ADMIN, responses=problems("bad-token"))
async def list_studies(state: State) -> list[StudyDocument]:
    """All studies, the newest first."""
    return convert(await study_documents(state.curator), list[StudyDocument])


@get("/studies/{study_id:str}", **_PUBLIC, responses=problems("not-found"))
async def show_study(study_id: PathId, request: Asked, state: State) -> StudyDocument:
    """What a study asks, promises and stores: the same for everybody. How many take part is public once it closes."""
    return convert(await study_document(state.curator, study_id, counts=is_admin(request)), StudyDocument)


def _move(action: str, what: str) -> Any:  # noqa: ANN401
    """The route that moves a study to its next state."""
    refusals = problems("bad-token", "not-found", "refused")

    @post(f"/studies/{{study_id:str}}/{action}", status_code=200, name=f"{action}_study", **_ADMIN, responses=refusals)
    async def move(study_id: PathId, state: State) -> StudyDocument:
        return convert(await life.move(state.curator, study_id, action), StudyDocument)

    move.fn.__doc__ = what
    return move


open_study = _move("open", "Open a created study; with a shared budget, charge everybody.")


@post(
    "/studies/{study_id:str}/close", status_code=200, **_ADMIN, responses=problems("bad-token", "not-found", "refused")
)
async def close_study(
    study_id: PathId,
    state: State,
    in_round: Annotated[
        int | None,
        QueryParameter(name="round", ge=0, le=64, description="Close it in this round only; 0 before the first"),
    ] = None,
) -> StudyDocument:
    """Close a study before its closing time; this cannot be undone.

    Where rounds follow by themselves, a request that is sent again could end the next one: ``round`` prevents that.
    """
    if in_round is None:
        return convert(await life.move(state.curator, study_id, "close"), StudyDocument)
    return convert(await life.close_round(state.curator, study_id, in_round), StudyDocument)


list_study = _move(
    "list", "Release the list of a study in two steps: from then on it asks the local group about what is on it."
)


@post(
    "/studies/{study_id:str}/round",
    status_code=200,
    **_ADMIN,
    responses=problems("bad-token", "not-found", "refused", body=True),
)
async def next_round(study_id: PathId, data: JSONBody[NewRound], state: State) -> StudyDocument:
    """Publish the next round of a closed study until a deadline; the answers to the one before are counted first."""
    return convert(await asking.advance(state.curator, study_id, int(data.closes_at.timestamp())), StudyDocument)


@get("/studies/{study_id:str}/round", **_PUBLIC, responses=problems("not-found"))
async def show_round(study_id: PathId, state: State) -> RoundDocument:
    """The round that a study asks now, and the turns so far, as devices check them."""
    return convert(await asking.asked(state.curator, study_id), RoundDocument)


withdraw_study = _move("withdraw", "Delete everything of a study that was not released, except for its ledger.")


@post(
    "/studies/{study_id:str}/release",
    status_code=200,
    media_type=MediaType.JSON,
    **_ADMIN,
    responses=problems("bad-token", "not-found", "refused") | RESULT,
)
async def release_study(study_id: PathId, state: State) -> Response[bytes]:
    """Release a closed study, once; asked again, the same bytes."""
    done = await life.release(state.curator, study_id)
    if done.new:
        state.metrics.release()
    return Response(done.result, media_type=MediaType.JSON)


@get("/studies/{study_id:str}/result", media_type=MediaType.JSON, **_PUBLIC, responses=problems("not-found") | RESULT)
async def result(study_id: PathId, state: State) -> Response[bytes]:
    """The result of a released study."""
    return Response((await life.released(state.curator, study_id)).result or b"", media_type=MediaType.JSON)


@get("/studies/{study_id:str}/result.html", media_type=MediaType.HTML, **_PUBLIC, responses=problems("not-found"))
async def result_page(study_id: PathId, state: State) -> Response[bytes]:
    """The result as a page."""
    return Response((await life.released(state.curator, study_id)).page or b"", media_type=MediaType.HTML)


@get("/studies/{study_id:str}/result.csv", media_type="text/csv", **_PUBLIC, responses=problems("not-found"))
async def result_table(study_id: PathId, state: State) -> Response[str]:
    """The result's numbers and intervals as CSV."""
    step = await life.released(state.curator, study_id)
    headers = {"content-disposition": f'attachment; filename="{study_id}.csv"'}
    return Response(result_csv(json.loads(step.result or b"{}")), media_type="text/csv", headers=headers)


@get("/studies/{study_id:str}/result.svg", media_type="image/svg+xml", **_PUBLIC, responses=problems("not-found"))
async def result_picture(study_id: PathId, state: State) -> Response[str]:
    """The drawing of the result's page as a picture."""
    step = await life.released(state.curator, study_id)
    picture = result_svg((step.page or b"").decode())
    if picture is None:
        raise Refusal("not-found", "This result has no picture: there is nothing to draw.")
    headers = {"content-disposition": f'attachment; filename="{study_id}.svg"'}
    return Response(picture, media_type="image/svg+xml", headers=headers)


@get(
    "/studies/{study_id:str}/report.html",
    media_type=MediaType.HTML,
    **_ADMIN,
    responses=problems("bad-token", "not-found"),
)
async def report_page(study_id: PathId, state: State) -> Response[bytes]:
    """The curator's own page: what the groups say alone, the weights and what else stands behind the result."""
    return Response((await life.released(state.curator, study_id)).curator_page or b"", media_type=MediaType.HTML)


@post("/relays", **_ADMIN, responses=problems("bad-token", "refused", body=True))
async def create_relay(data: JSONBody[NewRelay], state: State) -> RelayKey:
    """Let a backend hand over batches. Its key is shown once; only its hash is stored."""
    key = new_key(RELAY)
    if not await state.curator.writer.run(lambda connection: stored.add_relay(connection, data.name, key_hash(key))):
        raise Refusal("refused", "There is a relay with this name already. Remove it first, or choose another name.")
    return RelayKey(data.name, key)


@get("/relays", **_ADMIN, responses=problems("bad-token"), sync_to_thread=True)
def list_relays(state: State) -> list[Relay]:
    """The names of all relays. Their keys are known to nobody but them."""
    with reading(state.curator.engine) as connection:
        return [Relay(name) for name in stored.relay_names(connection)]


@delete("/relays/{name:str}", **_ADMIN, responses=problems("bad-token", "not-found"))
async def remove_relay(name: PathName, state: State) -> None:
    """Take a relay's key back."""
    if not await state.curator.writer.run(lambda connection: stored.remove_relay(connection, name)):
        raise Refusal("not-found", "There is no relay with this name.")


@post("/budgets", **_ADMIN, responses=problems("bad-token", "refused", body=True))
async def create_budget(data: JSONBody[NewBudget], state: State) -> BudgetState:
    """Create a budget for several studies over the same people."""
    privacy = Privacy.total(epsilon=data.epsilon, delta=data.delta)
    name = budgets.shared(data.name)
    return _budget(data.name, await state.curator.writer.run(lambda found: budgets.create(found, name, privacy)))


@get("/budgets", **_ADMIN, responses=problems("bad-token"), sync_to_thread=True)
def list_budgets(state: State) -> list[BudgetState]:
    """All budgets, by their names."""
    with reading(state.curator.engine) as connection:
        names = budgets.shared_names(connection)
        return [_budget(name, budgets.ledger(connection, budgets.shared(name))) for name in names]


@get("/budgets/{name:str}", **_ADMIN, responses=problems("bad-token", "not-found"), sync_to_thread=True)
def show_budget(name: PathName, state: State) -> BudgetState:
    """What is left of a budget, and what has been spent of it."""
    with reading(state.curator.engine) as connection:
        return _budget(name, budgets.ledger(connection, budgets.shared(name)))


def _budget(name: str, ledger: Ledger) -> BudgetState:
    left = budgets.left(ledger)
    rest = BudgetLeft(left.epsilon, left.delta)
    return BudgetState(name, ledger.budget.epsilon, ledger.budget.delta, rest, ledger.explain())


ROUTES = [
    create_study,
    list_studies,
    show_study,
    open_study,
    list_study,
    close_study,
    next_round,
    show_round,
    withdraw_study,
    release_study,
    result,
    result_page,
    result_table,
    result_picture,
    report_page,
    create_relay,
    list_relays,
    remove_relay,
    create_budget,
    list_budgets,
    show_budget,
]
