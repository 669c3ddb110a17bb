"""Routes of the page on which people take part: for everybody, and with a token that comes by POST."""

from http import HTTPStatus
from typing import Any

from litestar import Request, Response, get, post
from litestar.datastructures import State

from hybriddp.service.curator import KnownStudy
from hybriddp.service.documents import study_document
from hybriddp.service.observe import log_failure
from hybriddp.service.pages.take_part import no_study_page, take_part_page
from hybriddp.service.problems import PEOPLE_POLICY, problem
from hybriddp.service.routes.operator_session import PAGE, FormData, html_answer
from hybriddp.service.routes.wire import PathId, in_our_words
from hybriddp.service.tokens import TokenError, TokenPartError

_PATH = "/studies/{study_id:str}/take-part"
_LONGEST_TOKEN = 8192


@get(_PATH, **PAGE)
async def show_page(study_id: PathId, state: State) -> Response[str]:
    """Show the page to people who have no token, or paste it."""
    return await _page(study_id, state, "")


@post(_PATH, status_code=200, **PAGE)
async def show_page_with_token(study_id: PathId, data: FormData, state: State) -> Response[str]:
    """Show the page to people from the organization's app, which posts the token; nothing is contributed here."""
    return await _page(study_id, state, data.get("token", "").strip()[:_LONGEST_TOKEN])


async def _page(study_id: str, state: State, token: str) -> Response[str]:
    study = await study_document(state.curator, study_id)
    part, wrong = await _part(study_id, state, token)
    return html_answer(take_part_page(study, token=token, problem=wrong, part=part), policy=PEOPLE_POLICY)


async def _part(study_id: str, state: State, token: str) -> tuple[str, str]:
    """Return the part that a token says its person is in, or why the study would not take it."""
    known: KnownStudy = await state.curator.known(study_id)
    parts = known.kind.parts
    if parts is None or not token:
        return "", ""
    try:
        found = state.curator.verified(token, study_id).part_in(parts)
    except TokenPartError as error:
        return "", str(error)
    except TokenError:  # the contribution's route reports a bad token
        return "", ""
    return parts.names[found], ""


def refuse_on_a_page(request: Request[Any, Any, State], error: Exception) -> Response[str]:
    """Answer with a page instead of a problem document."""
    told = problem(in_our_words(error))
    request.state.reason = told["reason"]
    if told["status"] >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log_failure(error, request=request.state.request_id)
    return html_answer(no_study_page(told["detail"]), told["status"])


ROUTES = [show_page, show_page_with_token]
