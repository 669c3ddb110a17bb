"""The operator's page: a session by cookie instead of the admin key, and forms instead of requests."""

import json
from typing import Annotated, Any

from litestar import MediaType, Request, Response, get, post
from litestar.datastructures import Cookie, State
from litestar.enums import RequestEncodingType
from litestar.params import Body, Parameter
from litestar.response import Redirect

from hybriddp.errors import HybridDPError
from hybriddp.service import life
from hybriddp.service.keys import same_key
from hybriddp.service.kinds import shortfall
from hybriddp.service.observe import log_failure
from hybriddp.service.pages.operator import front_page, login_page, message_page, studies_page, study_page
from hybriddp.service.pages.session import COOKIE, FORM_FIELD, Sessions
from hybriddp.service.problems import problem
from hybriddp.service.routes.access import Asked
from hybriddp.service.routes.wire import PathId, in_our_words

_Id = Annotated[str, Parameter(max_length=64)]
_Form = Annotated[dict[str, str], Body(media_type=RequestEncodingType.URL_ENCODED)]
_PAGE: Any = {"media_type": MediaType.HTML, "include_in_schema": False}
_DONE = {
    "open": "The study is open.",
    "list": "The list is released.",
    "close": "The study is closed.",
    "withdraw": "The study is withdrawn.",
}
_START = "/operator"


def _session(request: Asked, state: State) -> str | None:
    """The form token of a request with a valid session."""
    cookie, sessions = request.cookies.get(COOKIE, ""), _sessions(state)
    return sessions.form_token(cookie) if sessions.is_valid(cookie, state.curator.clock()) else None


def _sessions(state: State) -> Sessions:
    return Sessions(state.session_key, state.admin_hash, state.settings.operator_hours)


def _html(text: str, status: int = 200) -> Response[str]:
    return Response(text, status_code=status, media_type=MediaType.HTML)


@get("/", **_PAGE)
async def front() -> Response[str]:
    """Where to go from the server's address."""
    return _html(front_page())


@get(_START, **_PAGE)
async def start_page(request: Asked, state: State) -> Response[str]:
    """All studies; the form for the admin key to whoever has no session."""
    form_token = _session(request, state)
    if form_token is None:
        return _html(login_page())
    return _html(studies_page(await life.documents(state.curator), form_token=form_token))


@post(f"{_START}/login", **_PAGE)
async def log_in(data: _Form, request: Asked, state: State) -> Response[Any]:
    """Begin a session with the admin key."""
    if not same_key(data.get("key", "").strip(), state.admin_hash):
        return _html(login_page(failed=True), 401)
    session = Cookie(
        key=COOKIE,
        value=_sessions(state).start(state.curator.clock()),
        path=_START,
        max_age=3600 * state.settings.operator_hours,
        httponly=True,
        samesite="strict",
        secure=request.headers.get("x-forwarded-proto", request.url.scheme) == "https",
    )
    return Redirect(_START, status_code=303, cookies=[session])


@post(f"{_START}/logout", **_PAGE)
async def log_out(data: _Form, request: Asked, state: State) -> Response[Any]:
    """End the session."""
    if not _is_own(data, request, state):
        return Redirect(_START, status_code=303)
    return Redirect(_START, status_code=303, cookies=[Cookie(key=COOKIE, value="", path=_START, max_age=0)])


@get(f"{_START}/studies/{{study_id:str}}", **_PAGE)
async def one_study(study_id: PathId, request: Asked, state: State) -> Response[Any]:
    """One study."""
    form_token = _session(request, state)
    if form_token is None:
        return Redirect(_START, status_code=303)
    return _html(await _study(state, study_id, form_token))


@get(f"{_START}/studies/{{study_id:str}}/report", **_PAGE)
async def report(study_id: PathId, request: Asked, state: State) -> Response[Any]:
    """All that stands behind a result."""
    if _session(request, state) is None:
        return Redirect(_START, status_code=303)
    return Response((await life.released(state.curator, study_id)).curator_page or b"", media_type=MediaType.HTML)


@post(f"{_START}/studies/{{study_id:str}}/{{action:str}}", **_PAGE)
async def act(study_id: PathId, action: _Id, data: _Form, request: Asked, state: State) -> Response[Any]:
    """Open, close, release or withdraw a study by a form."""
    form_token = _session(request, state)
    if form_token is None or not _is_own(data, request, state):
        return Redirect(_START, status_code=303)
    notice, wrong = "", ""
    try:
        if action == "withdraw" and data.get("confirm") != study_id:
            wrong = "Nothing was withdrawn: the id that you typed is another one."
        elif action in ("list", "close", "release") and data.get("sure") != "yes":
            wrong = "Nothing was done: this cannot be undone, so the box must be checked."
        elif action == "release":
            done = await life.release(state.curator, study_id)
            if done.new:
                state.metrics.release()
            notice = "The study is released."
        elif action in _DONE:
            await life.move(state.curator, study_id, action)
            notice = _DONE[action]
    except HybridDPError as error:
        told = problem(error)
        wrong = told["detail"]
        _count(request, state, told["reason"], study_id)
    return _html(await _study(state, study_id, form_token, notice=notice, problem=wrong), 409 if wrong else 200)


def _count(request: Asked, state: State, reason: str, study_id: str) -> None:
    """Count a refusal now: the page that tells of it shows the counts too."""
    request.state.reason, request.state.counted = reason, True
    known = study_id if state.curator.has_read(study_id) else None
    state.metrics.reject(reason, f"{_START}/studies/{{study_id:str}}/{{action:str}}", study=known)


async def _study(state: State, study_id: str, form_token: str, **told: str) -> str:
    study = await life.document(state.curator, study_id, counts=True)
    step = await life.released(state.curator, study_id) if study["state"] == "released" else None
    result = None if step is None else json.loads(step.result or b"null")
    return study_page(
        study,
        form_token=form_token,
        rejections=state.metrics.rejections(study_id),
        result=result,
        budget=await _budget(state, study["budget"]),
        obstacle=_obstacle(study),
        **told,
    )


async def _budget(state: State, name: str | None) -> str:
    """A shared budget and what is left of it, in words."""
    if name is None:
        return ""
    left = await life.budget_left(state.curator, name)
    if left is None:
        return f"{name}, which has not been created"
    return f"{name}, ε = {left.epsilon}" + ("" if left.delta == "0" else f" and δ = {left.delta}") + " left"


def _obstacle(study: dict[str, Any]) -> str:
    """Why a closed study cannot be released."""
    if study["state"] != "closed":
        return ""
    wanted = {name: study[name] for name in ("min_trusted", "min_local", "single_group")}
    return shortfall(n_trusted=study["counts"]["trusted"], n_local=study["counts"]["local"], **wanted)


def _is_own(data: dict[str, str], request: Asked, state: State) -> bool:
    return _sessions(state).is_own_form(request.cookies.get(COOKIE, ""), data.get(FORM_FIELD, ""))


def refuse_in_words(request: Request[Any, Any, State], error: Exception) -> Response[str]:
    """A page instead of a problem document."""
    told = problem(in_our_words(error))
    request.state.reason = told["reason"]
    if told["status"] >= 500:
        log_failure(error, request=request.state.request_id)
    return _html(message_page("Curator", told["detail"]), told["status"])


ROUTES = [front, start_page, log_in, log_out, one_study, report, act]
