"""Routes of the page on which people take part: for everybody, and with a token that comes by POST."""

import math
from http import HTTPStatus
from secrets import token_hex
from time import monotonic
from typing import Any

from litestar import Request, Response, get, post
from litestar.datastructures import State

from hybriddp.errors import HybridDPError
from hybriddp.service import life, participation
from hybriddp.service.curator import KnownStudy
from hybriddp.service.kinds import FrequencyKind, HeavyHitterKind, KMeansKind
from hybriddp.service.observe import log_failure
from hybriddp.service.pages.take_part import ASKED, no_study_page, receipt_page, take_part_page
from hybriddp.service.pages.take_part_points import typed_point
from hybriddp.service.participation import Sent
from hybriddp.service.problems import Refusal, problem
from hybriddp.service.routes.access import Asked
from hybriddp.service.routes.operator_session import PAGE, FormData, html_answer
from hybriddp.service.routes.wire import PathId, in_our_words
from hybriddp.service.tokens import TokenError, TokenPartError

_PATH = "/studies/{study_id:str}/take-part"
_LONGEST_TOKEN = 8192


@get(_PATH, **PAGE)
async def show_page(study_id: PathId, state: State) -> Response[str]:
    """The page for whoever has no token, or pastes it."""
    return await _page(study_id, state, {})


@post(_PATH, status_code=200, **PAGE)
async def show_page_with_token(study_id: PathId, data: FormData, state: State) -> Response[str]:
    """The page for whoever comes from the organization's app, which posts the token; nothing is contributed here."""
    return await _page(study_id, state, {"token": data.get("token", "")})


@post(f"{_PATH}/trust", status_code=200, **PAGE)
async def trust_by_form(study_id: PathId, data: FormData, request: Asked, state: State) -> Response[str]:
    """Trust the curator without a script: the value itself, with a nonce that the page came with."""
    _require_own(request)
    known = await _known(study_id, data, state)
    try:
        _require_trust(data)
        sent = _sent(known, data)
        done = await participation.contribute(state.curator, known, sent, _token(data))
    except HybridDPError as error:
        return await _refused(study_id, data, request, state, error)
    state.metrics.contribute("trusted", "accepted" if done.new else "repeated")
    status = HTTPStatus.CREATED if done.new else HTTPStatus.OK
    return await _receipt(known, data, state, done.receipt or {}, status)


@post(f"{_PATH}/withdraw", status_code=200, **PAGE)
async def withdraw_by_form(study_id: PathId, data: FormData, request: Asked, state: State) -> Response[str]:
    """Withdraw what was sent by a form."""
    _require_own(request)
    known = await _known(study_id, data, state)
    try:
        told = await participation.withdraw(state.curator, known, _sent(known, data), _token(data))
    except HybridDPError as error:
        return await _refused(study_id, data, request, state, error)
    state.metrics.contribute("trusted", "withdrawn")
    return await _receipt(known, data, state, told, HTTPStatus.OK)


def _require_own(request: Asked) -> None:
    """Refuse a form of another site: in a pilot without tokens it could contribute in its visitors' names.

    Browsers say where a form comes from; what is no browser has no visitors.
    """
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refusal(
            "not-allowed", "This form came from another page. Open the study's own page, and take part there."
        )


def _require_trust(data: dict[str, str]) -> None:
    """Refuse a form that does not say that the curator is trusted: a value is never taken from whoever chose otherwise.

    A browser that has lost the page's script may send what somebody typed who wanted it randomized.
    """
    if data.get("choice") != "trust":
        raise Refusal(
            "not-allowed",
            "This form does not say that you trust the curator, so nothing was added to the study. A private report "
            "needs JavaScript: reload the page, or choose again.",
        )


def _token(data: dict[str, str]) -> str | None:
    return data.get("token", "").strip()[:_LONGEST_TOKEN] or None


async def _known(study_id: str, data: dict[str, str], state: State) -> KnownStudy:
    known: KnownStudy = await state.curator.known(study_id)
    if known.stored.tokens:
        state.rate.count(_token(data) or "", int(monotonic()))
    if known.kind.name not in ASKED:
        raise Refusal("not-allowed", "This page cannot ask for what the study wants. Take part with an app.")
    return known


def _sent(known: KnownStudy, data: dict[str, str]) -> Sent:
    """What a form says; `Refusal` if it has no value."""
    text = _text(known, data)
    return Sent(True, _integer(known, text), known.kind.digest, data.get("nonce", "").strip())


def _text(known: KnownStudy, data: dict[str, str]) -> str:
    """What was typed, as one text: a number, the number of a category, or the numbers of a point."""
    if isinstance(known.kind, KMeansKind):
        return typed_point(data, known.kind.study.box.n_dimensions)
    return data.get("value", "").strip()


def _integer(known: KnownStudy, text: str) -> int:
    if isinstance(known.kind, FrequencyKind):  # the form has the category's number
        if text not in map(str, range(len(known.kind.study.names))):
            raise Refusal("out-of-range", "Choose one of the answers. Nothing was added to the study.")
        return int(text)
    if isinstance(known.kind, HeavyHitterKind):
        if not text:
            raise Refusal("out-of-range", "Type an item. Nothing was added to the study.")
        return known.kind.value(text)
    if isinstance(known.kind, KMeansKind):
        point = [*map(_number, text.split()[: known.kind.study.box.n_dimensions + 1])]
        if not all(map(math.isfinite, point)):
            raise Refusal(
                "out-of-range", "Type a number, such as 37.5, into each field. Nothing was added to the study."
            )
        return known.kind.value(point)
    number = _number(text)
    if not math.isfinite(number):
        raise Refusal("out-of-range", "Type a number, such as 37.5. Nothing was added to the study.")
    return known.kind.value(number)


def _number(text: str) -> float:
    """A number as browsers write it: Python would also take 1_000 for one."""
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan


async def _page(study_id: str, state: State, data: dict[str, str], wrong: str = "", status: int = 200) -> Response[str]:
    study = await life.document(state.curator, study_id)
    part, missing = await _part(study_id, state, _token(data))
    text = take_part_page(
        study, nonce=token_hex(16), token=_token(data) or "", typed=data, problem=wrong or missing, part=part
    )
    return html_answer(text, status, scripted=True)


async def _part(study_id: str, state: State, token: str | None) -> tuple[str, str]:
    """The part that a token says its person is in; or why the study would not take it."""
    known: KnownStudy = await state.curator.known(study_id)
    parts = known.kind.parts
    if parts is None or token is None:
        return "", ""
    try:
        found = state.curator.tokens.verified(token, study_id).part_in(parts)
    except TokenPartError as error:
        return "", str(error)
    except TokenError:  # whoever sends something is told
        return "", ""
    return parts.names[found], ""


async def _receipt(
    known: KnownStudy, data: dict[str, str], state: State, document: dict[str, Any], status: int
) -> Response[str]:
    study = await life.document(state.curator, known.stored.id)
    value, nonce = _text(known, data), data.get("nonce", "").strip()
    return html_answer(receipt_page(study, document, token=_token(data) or "", value=value, nonce=nonce), status)


async def _refused(
    study_id: str, data: dict[str, str], request: Asked, state: State, error: HybridDPError
) -> Response[str]:
    """The page again, with what was typed and why it was not taken."""
    told = problem(error)
    request.state.reason = told["reason"]
    words = str(error) if isinstance(error, TokenPartError) else _WORDS.get(told["reason"], told["detail"])
    return await _page(study_id, state, data, words, told["status"])


_WORDS = {
    "bad-token": "The token is missing, has ended, or is not for this study. Ask the organization for a new one. "
    "Nothing was added to the study.",
    "malformed": "The form is not complete. Fill it in again. Nothing was added to the study.",
}


def refuse_on_a_page(request: Request[Any, Any, State], error: Exception) -> Response[str]:
    """A page instead of a problem document."""
    told = problem(in_our_words(error))
    request.state.reason = told["reason"]
    if told["status"] >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log_failure(error, request=request.state.request_id)
    return html_answer(no_study_page(told["detail"]), told["status"])


QUIET = set(trust_by_form.paths)
"""Where what was taken leaves no line in the log."""

ROUTES = [show_page, show_page_with_token, trust_by_form, withdraw_by_form]
