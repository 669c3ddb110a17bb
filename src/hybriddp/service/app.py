"""The server as an ASGI application: limits, headers, counters and logs around the routes."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from litestar import Litestar, Request, Response, Router
from litestar.datastructures import State
from litestar.enums import HttpMethod, ScopeType
from litestar.exceptions import MethodNotAllowedException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send
from sqlalchemy import Connection, Engine

from hybriddp import __version__
from hybriddp.errors import DataError
from hybriddp.service import life
from hybriddp.service.clock import CertainTime, Clock
from hybriddp.service.curator import Curator
from hybriddp.service.documents import RECEIPTS_KEY
from hybriddp.service.folder_lock import FolderLock
from hybriddp.service.key_checks import require_same_keys, require_unused
from hybriddp.service.keys import MasterKey, key_hash, new_key, same_key
from hybriddp.service.observe import Metrics, log_failure, log_request, new_request_id
from hybriddp.service.planner import Planner
from hybriddp.service.problems import MEDIA_TYPE, SECURITY_HEADERS, Refusal, problem
from hybriddp.service.readiness import Readiness
from hybriddp.service.round_timer import RoundTimer
from hybriddp.service.routes import contributions, health, new_study, operator, plan, static, studies, take_part
from hybriddp.service.routes.access import ADMIN, RateLimit, TooManyRequests
from hybriddp.service.routes.strict import StrictRequest
from hybriddp.service.routes.wire import BODIES, in_our_words
from hybriddp.service.settings import Settings
from hybriddp.service.static_files import static_files
from hybriddp.service.store import studies as stored
from hybriddp.service.store.engine import opening
from hybriddp.service.store.facts import TIME, known_fact, set_fact
from hybriddp.service.tokens import TokenKeys

_RECOVERY = 5  # seconds until a database or a server may be back; clients give up if they are told to wait for long
_SAME_ORIGIN = [(b"cross-origin-resource-policy", b"same-origin")]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The application, and the admin key if this start has made it: it is shown once, and only its hash is stored."""

    app: Litestar
    admin_key: str | None
    warning: str = ""


def prepare(settings: Settings, *, new_admin_key: bool = False, clock_ok: bool = False) -> Prepared:
    """Open key and database, creating what is missing; the application on them.

    With ``new_admin_key`` the admin key is replaced: for operators who have lost theirs. `DataError` if the settings
    hold another admin key than the one in use. With ``clock_ok`` the machine's clock is taken for right.
    """
    if wrong := settings.problems():
        raise DataError(" ".join(wrong))
    static_files()  # before anything is created: `DataError` if one is missing
    with ExitStack() as until_closed:
        if not settings.database:
            settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
            until_closed.callback(FolderLock(settings.data).release)
        with opening(settings.database_url) as (engine, connection):
            master = _master(settings, connection)
            require_same_keys(connection, master, settings.key_file)
            if new_admin_key:
                stored.forget_credential(connection, "admin")
            given = settings.given_admin_key()
            admin_key = given or new_key(ADMIN)
            admin_hash = stored.credential(connection, "admin", key_hash(admin_key))
            if given is not None and not same_key(given, admin_hash):
                raise DataError(
                    "The admin key in the settings is not that of this database. Remove it from the settings, or "
                    "replace the one in use: --new-admin-key."
                )
            clock = _clock(connection, clock_ok=clock_ok)
        until_closed.callback(engine.dispose)
        metrics, tokens, replica = Metrics(), _token_keys(settings, master), _replica(engine)
        released = until_closed.pop_all().close  # from here on the curator's
    curator = Curator(engine, master, tokens, replica=replica, clock=clock, committed=metrics.commit, closed=released)
    state = {
        "curator": curator,
        "round_timer": RoundTimer(curator, metrics),
        "readiness": Readiness(curator, settings.sqlite_file and settings.sqlite_file.parent),
        "settings": settings,
        "admin_hash": admin_hash,
        "session_key": master.sessions,
        "metrics": metrics,
        "rate": RateLimit(settings.requests_per_minute),
        "planner": Planner(2 * settings.requests_per_minute),
        "draining": False,
    }
    first = given is None and same_key(admin_key, admin_hash)
    doubt = clock.doubt()
    warning = f"{doubt} Nothing is closed in time until it is right. If it is: --clock-ok." if doubt else ""
    return Prepared(_application(settings, state), admin_key if first else None, warning)


def _master(settings: Settings, connection: Connection) -> MasterKey:
    if settings.key_file.exists():
        return MasterKey.load(settings.key_file)
    require_unused(connection, settings.key_file)
    return MasterKey.create(settings.key_file, data=settings.data)


def _clock(connection: Connection, *, clock_ok: bool) -> Clock:
    """Return the clock, compared with the time that an earlier start has stored, unless it is known to be right."""
    last = None if clock_ok else CertainTime.from_json(known_fact(connection, TIME))
    clock = Clock(last)
    if (certain := clock.to_store(last)) is not None:
        set_fact(connection, TIME, certain.to_json())
    return clock


def _replica(engine: Engine) -> str:
    """Return the name under which this process stores its sums.

    SQLite allows one writer at a time across all processes, so all processes share one row.
    """
    return "embedded" if engine.dialect.name == "sqlite" else token_hex(8)


def _token_keys(settings: Settings, master: MasterKey) -> TokenKeys:
    """With a public key, only tokens that are signed with EdDSA pass: nobody needs to share a secret then."""
    if settings.token_public_key is None:
        return TokenKeys(master.token_secret)
    public: Any = load_pem_public_key(settings.token_public_key.read_bytes())
    return TokenKeys(None, public)


def _application(settings: Settings, state: dict[str, Any]) -> Litestar:
    app = Litestar(
        route_handlers=[
            *studies.ROUTES,
            *contributions.ROUTES,
            *health.ROUTES,
            *static.ROUTES,
            *plan.ROUTES,
            Router(
                "",
                route_handlers=[*operator.ROUTES, *new_study.ROUTES, *plan.PAGES],
                exception_handlers={Exception: operator.refuse_in_words},
            ),
            Router("", route_handlers=take_part.ROUTES, exception_handlers={Exception: take_part.refuse_on_a_page}),
        ],
        state=State(state),
        request_class=StrictRequest,
        exception_handlers={Exception: _refuse},
        request_max_body_size=settings.max_body,
        lifespan=[_lifespan],
        openapi_config=OpenAPIConfig(
            title="hybriddp curator",
            version=__version__,
            description="People who trust the curator hand it a value, all others a report that their device has "
            "randomized; everybody is promised the same ε, and one release comes out.",
            use_handler_docstrings=True,
            operation_id_creator=lambda handler, _method, _path: handler.name or handler.handler_name,
            render_plugins=[_Document()],  # no pages: they would fetch programs from elsewhere
            components=Components(security_schemes={"bearer": SecurityScheme(type="http", scheme="bearer")}),
        ),
        logging_config=None,
        debug=False,
    )
    app.asgi_handler = _Envelope(app.asgi_handler)  # as middleware it would miss what has no route
    return app


class _Document(JsonRenderPlugin):
    """The OpenAPI document, with what Litestar leaves out: bodies have no other fields, and routes have names."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        """Render the document as JSON."""
        schemas = openapi_schema["components"]["schemas"]
        for body in BODIES:
            schemas[body.__name__]["additionalProperties"] = False
        for methods in openapi_schema["paths"].values():
            for operation in methods.values():
                operation["summary"] = operation["operationId"].replace("_", " ").capitalize()
        # Null stands for what cannot be read, and nobody needs to send it.
        schemas["NewBatch"]["properties"]["reports"]["items"] = {"$ref": "#/components/schemas/BatchedReport"}
        return super().render(request, openapi_schema)


@asynccontextmanager
async def _lifespan(app: Litestar) -> AsyncIterator[None]:
    timer: asyncio.Task[None] | None = None
    try:
        await life.fold_open(app.state.curator)
        timer = asyncio.create_task(app.state.round_timer.run())
        yield
    finally:  # uvicorn has answered what had arrived
        app.state.draining = True
        if timer is not None:
            timer.cancel()
            await asyncio.wait([timer])
        app.state.curator.close()


def _refuse(request: Request[Any, Any, State], error: Exception) -> Response[dict[str, Any]]:
    """Return the problem document of an exception as a response."""
    document = problem(in_our_words(error))
    request.state.reason = document["reason"]
    request.state.round_number = error.round_number if isinstance(error, Refusal) else None
    if document["status"] >= 500:
        log_failure(error, request=request.state.request_id)
    headers = {}
    if document["status"] in (429, 503):
        headers["retry-after"] = str(error.seconds if isinstance(error, TooManyRequests) else _RECOVERY)
    if isinstance(error, MethodNotAllowedException):
        allowed = (error.headers or {}).get("allow", "")
        headers["allow"] = f"{allowed}, HEAD" if "GET" in allowed else allowed
    if document["status"] == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(document, status_code=document["status"], media_type=MEDIA_TYPE, headers=headers)


class _Envelope:
    """What stands around every answer: security headers, CORS for a study's origins, counters and a line of the log."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500
        state: Any = scope.setdefault("state", {})
        state["request_id"] = new_request_id()

        head = scope["method"] == HttpMethod.HEAD  # what GET answers, without its body
        asked: Any = {**scope, "method": HttpMethod.GET} if head else scope

        async def sending(message: Message) -> None:
            nonlocal status
            if head and message["type"] == "http.response.body":
                message["body"] = b""
            if message["type"] == "http.response.start":
                status = message["status"]
                said = {name.lower() for name, _ in message["headers"]}
                usual = (header for header in SECURITY_HEADERS if header[0] not in said)
                message["headers"] = [*message["headers"], *usual, *await _cors(asked)]
            await send(message)

        try:
            await self._app(asked, receive, sending)
        finally:
            _observe(asked, scope["method"], status, time.perf_counter() - started)


def _observe(scope: HTTPScope, method: str, status: int, seconds: float) -> None:
    """Count and log an answer by the template of its route: what was asked for in its place may be anything."""
    state, metrics = scope["state"], scope["litestar_app"].state.metrics
    handler = scope.get("route_handler")
    route = min(handler.paths) if handler is not None else "other"
    study = scope.get("path_params", {}).get("study_id")
    if study is not None and not scope["litestar_app"].state.curator.has_read(study):
        study = None
    reason = state.get("reason")
    metrics.request(route, method, status, seconds)
    if reason is not None and not state.get("counted", False):
        metrics.reject(reason, route, study=study, round_number=state.get("round_number"))
    if reason is None and status < 300 and route in contributions.QUIET:
        return  # taken: when that was could be linked with the log of a proxy, so it is counted and not logged
    log_request(
        route=route,
        method=method,
        status=status,
        ms=1000 * seconds,
        request=state["request_id"],
        reason=reason,
        study=study,
    )


async def _cors(scope: HTTPScope) -> list[tuple[bytes, bytes]]:
    """Headers that let a page of one of the study's origins read the answer, and no other page."""
    if scope["path"] == RECEIPTS_KEY:  # the same for everybody, and receipts are verified in browsers too
        return [(b"access-control-allow-origin", b"*"), (b"cross-origin-resource-policy", b"cross-origin")]
    origin = next((value for name, value in scope["headers"] if name == b"origin"), b"")
    study_id = scope.get("path_params", {}).get("study_id")
    if not origin or not study_id:
        return _SAME_ORIGIN
    try:
        known = await scope["litestar_app"].state.curator.known(study_id)
    except Exception:  # the route says what is wrong
        return _SAME_ORIGIN
    if origin.decode("latin-1") not in known.stored.origins:
        return _SAME_ORIGIN
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-allow-headers", b"authorization, content-type, prefer"),
        (b"access-control-allow-methods", b"GET, POST"),
        (b"access-control-expose-headers", b"retry-after"),
        (b"access-control-max-age", b"600"),
        (b"cross-origin-resource-policy", b"cross-origin"),
        (b"vary", b"Origin"),
    ]
