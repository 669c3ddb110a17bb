"""The operator's way to make a study without a program: a form, and the same code path as ``POST /studies``."""

from typing import Any
from urllib.parse import parse_qsl, urlencode

from litestar import Response, get, post
from litestar.datastructures import State
from litestar.response import Redirect

from hybriddp.errors import HybridDPError
from hybriddp.service.pages.new_study import new_study_page
from hybriddp.service.pages.operator import login_page
from hybriddp.service.problems import problem
from hybriddp.service.routes import studies
from hybriddp.service.routes.access import Asked
from hybriddp.service.routes.operator_session import PAGE, START, FormData, html_answer, is_own, session
from hybriddp.service.routes.study_form import BOXES, CHOICES, TEXTS, StudyForm, offered, refused

_PATH = f"{START}/new"
_LONGEST = 4000  # characters of an address


@get(_PATH, **PAGE)
async def new_study(request: Asked, state: State) -> Response[str]:
    """The form, filled in with what the address says; the login first, if there is no session."""
    form_token = await session(request, state)
    given = dict(request.query_params)
    if form_token is None:
        return html_answer(login_page(leads_to=_address(given)))
    form = StudyForm.new(given, state.curator.clock())
    return html_answer(_page(form, form_token, {}))


@post(_PATH, **PAGE)
async def make_study(data: FormData, request: Asked, state: State) -> Response[Any]:
    """Make the study and lead to its page; or show the form again, with what is wrong."""
    form_token = await session(request, state)
    if form_token is None or not is_own(data, request, state):
        return Redirect(START, status_code=303)
    form = StudyForm.read(data)
    problems = form.problems(state.curator.clock())
    if problems:
        request.state.reason = "malformed"
        return html_answer(_page(form, form_token, problems), 400)
    try:
        made = await studies.create(form.body(), state.curator)
    except HybridDPError as error:
        told = problem(error)
        request.state.reason = told["reason"]
        return html_answer(_page(form, form_token, refused(error)), told["status"])
    return Redirect(f"{START}/studies/{made['id']}", status_code=303)


def _page(form: StudyForm, form_token: str, problems: dict[str, str]) -> str:
    return new_study_page(form.texts, kinds=offered(), form_token=form_token, problems=problems)


def _address(given: dict[str, str]) -> str:
    """The form's address with what it is filled in with, and nothing else."""
    names = (*TEXTS, *CHOICES, *BOXES)
    query = urlencode({name: given[name] for name in names if name in given})[:_LONGEST]
    return f"{_PATH}?{query}" if query else _PATH


def after_login(leads_to: str) -> str:
    """Where a login leads: to the form of a new study, or to all studies; never to another place."""
    path, _, query = leads_to[:_LONGEST].partition("?")
    return _address(dict(parse_qsl(query))) if path == _PATH else START


ROUTES = [new_study, make_study]
