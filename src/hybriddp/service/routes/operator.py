"""The operator's page: a session by cookie instead of the admin key, and forms instead of requests."""

import asyncio
import json
from typing import Annotated, Any

from litestar import MediaType, Request, Response, get, post
from litestar.datastructures import Cookie, State
from litestar.params import Parameter
from litestar.response import Redirect

from hybriddp.errors import HybridDPError
from hybriddp.service import asking, life
from hybriddp.service.documents import study_document, study_documents
from hybriddp.service.doubts import doubt_of
from hybriddp.service.expected import expected_error, expected_rows
from hybriddp.service.keys import same_key
from hybriddp.service.kinds import KMeansKind, StudyKind, part_obstacle, part_sizes, shortfall
from hybriddp.service.observe import log_failure
from hybriddp.service.pages.operator import (
    front_page,
    login_page,
    message_page,
    refused_rows,
    studies_page,
    study_page,
)
from hybriddp.service.pages.rounds import round_rows
from hybriddp.service.pages.session import COOKIE
from hybriddp.service.problems import SCRIPT_POLICY, Refusal, problem
from hybriddp.service.routes.access import Asked
from hybriddp.service.routes.new_study import after_login
from hybriddp.service.routes.operator_session import (
    PAGE,
    START,
    FormData,
    end,
    html_answer,
    is_own,
    session,
    sessions_of,
)
from hybriddp.service.routes.wire import PathId, in_our_words

_Id = Annotated[str, Parameter(max_length=64)]
_MOST_HOURS = 8760  # of a round: a year
_MOST_PLANNED = 40  # parts whose errors are computed: each takes some milliseconds
_LIVE = ("created", "open", "asking", "closed")
_DONE = {
    "open": "The study is open.",
    "list": "The list is released.",
    "close": "The study is closed.",
    "withdraw": "The study is withdrawn.",
}


@get("/", **PAGE)
async def front() -> Response[str]:
    """Where to go from the server's address."""
    return html_answer(front_page())


@get(START, **PAGE)
async def start_page(request: Asked, state: State) -> Response[str]:
    """All studies; the form for the admin key to whoever has no session."""
    form_token = await session(request, state)
    if form_token is None:
        return html_answer(login_page())
    return html_answer(studies_page(await study_documents(state.curator), form_token=form_token))


@post(f"{START}/login", **PAGE)
async def log_in(data: FormData, request: Asked, state: State) -> Response[Any]:
    """Begin a session with the admin key."""
    if not same_key(data.get("key", "").strip(), state.admin_hash):
        return html_answer(login_page(failed=True, leads_to=data.get("next", "")), 401)
    cookie = Cookie(
        key=COOKIE,
        value=sessions_of(state).start(state.curator.clock()),
        path=START,
        max_age=3600 * state.settings.operator_hours,
        httponly=True,
        samesite="strict",
        secure=request.headers.get("x-forwarded-proto", request.url.scheme) == "https",
    )
    return Redirect(after_login(data.get("next", "")), status_code=303, cookies=[cookie])


@post(f"{START}/logout", **PAGE)
async def log_out(data: FormData, request: Asked, state: State) -> Response[Any]:
    """End the session, also for copies of its cookie."""
    if not is_own(data, request, state):
        return Redirect(START, status_code=303)
    await end(request, state)
    return Redirect(START, status_code=303, cookies=[Cookie(key=COOKIE, value="", path=START, max_age=0)])


@get(f"{START}/studies/{{study_id:str}}", **PAGE)
async def one_study(study_id: PathId, request: Asked, state: State) -> Response[Any]:
    """One study."""
    form_token = await session(request, state)
    if form_token is None:
        return Redirect(START, status_code=303)
    return html_answer(await _study(state, study_id, form_token), policy=SCRIPT_POLICY)


@get(f"{START}/studies/{{study_id:str}}/live", media_type=MediaType.JSON, include_in_schema=False)
async def live(study_id: PathId, request: Asked, state: State) -> Response[dict[str, Any]]:
    """What changes on a study's page, for its script."""
    if await session(request, state) is None:
        return Response({}, status_code=401)
    study = await study_document(state.curator, study_id, counts=True)
    trusted, local = study["counts"]["trusted"], study["counts"]["local"]
    return Response(
        {
            "state": study["state"],
            "counts": {"trusted": f"{trusted:,}", "local": f"{local:,}"},
            "expected": await _expected(state, study),
            "parts": await _parts(state, study),
            "refused": refused_rows(state.metrics.rejections(study_id)),
            "rounds": round_rows(study, state.metrics.round_rejections(study_id)),
        }
    )


@get(f"{START}/studies/{{study_id:str}}/report", **PAGE)
async def report(study_id: PathId, request: Asked, state: State) -> Response[Any]:
    """All that stands behind a result."""
    if await session(request, state) is None:
        return Redirect(START, status_code=303)
    return Response((await life.released(state.curator, study_id)).curator_page or b"", media_type=MediaType.HTML)


@post(f"{START}/studies/{{study_id:str}}/{{action:str}}", **PAGE)
async def act(study_id: PathId, action: _Id, data: FormData, request: Asked, state: State) -> Response[Any]:
    """Open, close, release or withdraw a study by a form."""
    form_token = await session(request, state)
    if form_token is None or not is_own(data, request, state):
        return Redirect(START, status_code=303)
    notice, wrong = "", ""
    try:
        if action == "withdraw" and data.get("confirm") != study_id:
            wrong = "Nothing was withdrawn: the id that you typed is another one."
        elif action in ("list", "close", "round", "release") and data.get("sure") != "yes":
            wrong = "Nothing was done: this cannot be undone, so the box must be checked."
        elif action == "round":
            notice = await _next_round(state, study_id, data.get("hours", ""))
        elif action == "release":
            done = await life.release(state.curator, study_id)
            if done.new:
                state.metrics.release()
            notice = "The study is released."
        elif action == "close" and data.get("round", "").isdecimal():
            await life.close_round(state.curator, study_id, int(data["round"][:4]))
            notice = _DONE[action]
        elif action in _DONE:
            await life.move(state.curator, study_id, action)
            notice = _DONE[action]
    except HybridDPError as error:
        told = problem(error)
        wrong = told["detail"]
        _count(request, state, told["reason"], study_id)
    return html_answer(
        await _study(state, study_id, form_token, notice=notice, problem=wrong),
        409 if wrong else 200,
        policy=SCRIPT_POLICY,
    )


async def _next_round(state: State, study_id: str, hours: str) -> str:
    """Publish the next round for some hours; what was done, in words."""
    if not (hours.isascii() and hours.isdigit() and len(hours) <= 6 and 1 <= int(hours) <= _MOST_HOURS):
        raise Refusal("malformed", f"Hours must be a whole number from 1 to {_MOST_HOURS:,}.")
    study = await asking.advance(state.curator, study_id, state.curator.clock() + 3600 * int(hours))
    asked = study["round"]
    return f"Round {asked['number']} is published." if asked else "All rounds have been answered: release the study."


def _count(request: Asked, state: State, reason: str, study_id: str) -> None:
    """Count a refusal now: the page that tells of it shows the counts too."""
    request.state.reason, request.state.counted = reason, True
    known = study_id if state.curator.has_read(study_id) else None
    state.metrics.reject(reason, f"{START}/studies/{{study_id:str}}/{{action:str}}", study=known)


async def _study(state: State, study_id: str, form_token: str, **told: str) -> str:
    study = await study_document(state.curator, study_id, counts=True)
    step = await life.released(state.curator, study_id) if study["state"] == "released" else None
    result = None if step is None else json.loads(step.result or b"null")
    return study_page(
        study,
        form_token=form_token,
        rejections=state.metrics.rejections(study_id),
        result=result,
        budget=await _budget(state, study["budget"]),
        obstacle=_obstacle(study, (await state.curator.known(study_id)).kind),
        expected=await _expected(state, study),
        parts=await _parts(state, study),
        doubt=await doubt_of(state.curator, study_id) if study["state"] == "closed" else "",
        round_rejections=state.metrics.round_rejections(study_id),
        trouble=state.round_timer.trouble(study_id),
        **told,
    )


async def _expected(state: State, study: dict[str, Any]) -> list[list[str]]:
    """The errors to expect, while there is something to expect; planned where it hinders nobody."""
    if study["state"] not in _LIVE or study["parts"]:
        return []
    known = await state.curator.known(study["id"])
    counts = study["counts"]
    rows = await asyncio.to_thread(expected_rows, known.kind.text, counts["trusted"], counts["local"])
    return [list(row) for row in (rows[:1] if study["state"] == "closed" else rows)]  # nobody can join any more


async def _parts(state: State, study: dict[str, Any]) -> list[list[str]]:
    """The parts of a study: their sizes, the errors to expect of the first ones, and which have too few people."""
    if study["state"] not in _LIVE or not study["part_counts"]:
        return []
    known = await state.curator.known(study["id"])

    def rows() -> list[list[str]]:
        found = []
        for i, one in enumerate(part_sizes(study["part_counts"], study)):
            error = expected_error(known.kind.text, one.trusted, one.local) if i < _MOST_PLANNED else ""
            found.append(
                [one.name, f"{one.trusted:,}", f"{one.local:,}", error, "too few" if one.missing else "an answer"]
            )
        return found

    return await asyncio.to_thread(rows)


async def _budget(state: State, name: str | None) -> str:
    """A shared budget and what is left of it, in words."""
    if name is None:
        return ""
    left = await life.budget_left(state.curator, name)
    if left is None:
        return f"{name}, which has not been created"
    return f"{name}, ε = {left.epsilon}" + ("" if left.delta == "0" else f" and δ = {left.delta}") + " left"


def _obstacle(study: dict[str, Any], kind: StudyKind) -> str:
    """Why a closed study cannot be released."""
    if study["state"] != "closed":
        return ""
    if study["part_counts"]:
        return part_obstacle(part_sizes(study["part_counts"], study))
    wanted = {name: study[name] for name in ("min_trusted", "min_local", "single_group")}
    n_trusted, n_local = study["counts"]["trusted"], study["counts"]["local"]
    few = kind.too_few(n_trusted, n_local) if isinstance(kind, KMeansKind) else ""
    return few or shortfall(n_trusted=n_trusted, n_local=n_local, **wanted)


def refuse_in_words(request: Request[Any, Any, State], error: Exception) -> Response[str]:
    """A page instead of a problem document."""
    told = problem(in_our_words(error))
    request.state.reason = told["reason"]
    if told["status"] >= 500:
        log_failure(error, request=request.state.request_id)
    return html_answer(message_page("Curator", told["detail"]), told["status"])


ROUTES = [front, start_page, log_in, log_out, one_study, live, report, act]
