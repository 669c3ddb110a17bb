"""What the operator's routes share: whose session a request has, whether a form is one of ours, answers as pages."""

import asyncio
from typing import Annotated, Any

from litestar import MediaType, Response
from litestar.datastructures import State
from litestar.enums import RequestEncodingType
from litestar.params import Body
from sqlalchemy import Connection

from hybriddp.service.pages.session import COOKIE, FORM_FIELD, Sessions
from hybriddp.service.routes.access import Asked
from hybriddp.service.store.engine import reading
from hybriddp.service.store.sessions import end_session, forget_sessions, has_ended

FormData = Annotated[dict[str, str], Body(media_type=RequestEncodingType.URL_ENCODED)]
PAGE: Any = {"media_type": MediaType.HTML, "include_in_schema": False}
START = "/operator"


async def session(request: Asked, state: State) -> str | None:
    """Return the form token of a request with a valid session that no logout has ended."""
    cookie, sessions = request.cookies.get(COOKIE, ""), sessions_of(state)
    if not sessions.is_valid(cookie, state.curator.clock()):
        return None

    def work() -> bool:
        with reading(state.curator.engine) as connection:
            return has_ended(connection, cookie)

    return None if await asyncio.to_thread(work) else sessions.form_token(cookie)


async def end(request: Asked, state: State) -> None:
    """End the session of a request for good, wherever its cookie was copied to."""
    cookie, sessions, now = request.cookies.get(COOKIE, ""), sessions_of(state), state.curator.clock()

    def work(connection: Connection) -> None:
        if state.curator.clock.certain():  # or one that has not ended could be used again
            forget_sessions(connection, now)
        end_session(connection, cookie, sessions.ends_at(cookie))

    if sessions.is_valid(cookie, now):
        await state.curator.writer.run(work)


def sessions_of(state: State) -> Sessions:
    """What makes and recognizes sessions."""
    return Sessions(state.session_key, state.admin_hash, state.settings.operator_hours)


def is_own(data: dict[str, str], request: Asked, state: State) -> bool:
    """Whether a form came from a page of this session."""
    return sessions_of(state).is_own_form(request.cookies.get(COOKIE, ""), data.get(FORM_FIELD, ""))


def html_answer(text: str, status: int = 200, *, policy: str = "") -> Response[str]:
    """Answer with a page; ``policy`` is its content policy if it may load a script of this server."""
    headers = {"content-security-policy": policy} if policy else None
    return Response(text, status_code=status, media_type=MediaType.HTML, headers=headers)
