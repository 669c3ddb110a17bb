"""What the operator's routes share: whose session a request has, whether a form is one of ours, answers as pages."""

from typing import Annotated, Any

from litestar import MediaType, Response
from litestar.datastructures import State
from litestar.enums import RequestEncodingType
from litestar.params import Body

from hybriddp.service.pages.session import COOKIE, FORM_FIELD, Sessions
from hybriddp.service.problems import SCRIPT_POLICY
from hybriddp.service.routes.access import Asked

FormData = Annotated[dict[str, str], Body(media_type=RequestEncodingType.URL_ENCODED)]
PAGE: Any = {"media_type": MediaType.HTML, "include_in_schema": False}
START = "/operator"


def session(request: Asked, state: State) -> str | None:
    """The form token of a request with a valid session."""
    cookie, sessions = request.cookies.get(COOKIE, ""), sessions_of(state)
    return sessions.form_token(cookie) if sessions.is_valid(cookie, state.curator.clock()) else None


def sessions_of(state: State) -> Sessions:
    """What makes and recognizes sessions."""
    return Sessions(state.session_key, state.admin_hash, state.settings.operator_hours)


def is_own(data: dict[str, str], request: Asked, state: State) -> bool:
    """Whether a form came from a page of this session."""
    return sessions_of(state).is_own_form(request.cookies.get(COOKIE, ""), data.get(FORM_FIELD, ""))


def html_answer(text: str, status: int = 200, *, scripted: bool = False) -> Response[str]:
    """A page; ``scripted`` if it may load a script of this server."""
    headers = {"content-security-policy": SCRIPT_POLICY} if scripted else None
    return Response(text, status_code=status, media_type=MediaType.HTML, headers=headers)
