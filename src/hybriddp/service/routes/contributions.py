"""Routes of participants and relays: reports, values, withdrawals and receipts."""

import asyncio
import math
from time import monotonic
from typing import Annotated, Any

from litestar import Response, get, post
from litestar.datastructures import State
from litestar.params import HeaderParameter, JSONBody, Parameter
from msgspec import convert

from hybriddp.service import answering, participation
from hybriddp.service.answering import SentAnswer
from hybriddp.service.curator import KnownStudy
from hybriddp.service.kinds import KMeansKind
from hybriddp.service.kinds.kmeans import ENROLLED
from hybriddp.service.participation import Acknowledged, Sent
from hybriddp.service.problems import Refusal
from hybriddp.service.rounds import NO_ROUNDS
from hybriddp.service.routes.access import Asked, bearer, relay_hash
from hybriddp.service.routes.wire import (
    RECEIPT_AGAIN,
    BatchAnswer,
    NewAnswer,
    NewBatch,
    NewEnrollment,
    NewReport,
    NewValue,
    OpenedEnrollment,
    PathId,
    SignedReceipt,
    problems,
)
from hybriddp.service.store.engine import reading
from hybriddp.service.store.studies import relay_name

_REFUSALS = problems("bad-token", "not-found", "duplicate", "out-of-range", "too-many", body=True)
_PARTICIPANT: Any = {"security": [{"bearer": []}], "tags": ["participant"]}


MINIMAL = "return=minimal"
_Prefer = Annotated[
    str | None,
    HeaderParameter(
        name="Prefer",
        max_length=100,
        description=f"With {MINIMAL} (RFC 7240) the answer has no body, and the receipt is signed when it is asked for",
    ),
]


async def _known(study_id: str, request: Asked, state: State, *, local: bool = False) -> KnownStudy:
    """The study, if the token has not been used too often; ``local`` if its question is needed."""
    known: KnownStudy = await state.curator.known(study_id, local=local)
    if known.stored.tokens:
        state.rate.count(bearer(request) or "", int(monotonic()))  # the curator's clock may stand still for hours
    return known


def _report(known: KnownStudy, data: NewReport) -> Sent:
    return Sent(False, known.local_kind.report(data.code), data.digest, data.nonce)


def _value(known: KnownStudy, data: NewValue) -> Sent:
    if isinstance(data.value, float) and not math.isfinite(data.value):
        raise Refusal("out-of-range", "value must be a finite number.")
    return Sent(True, known.kind.value(data.value), data.digest, data.nonce)


async def _contribute(known: KnownStudy, sent: Sent, request: Asked, state: State, prefer: str | None) -> Response[Any]:
    minimal = prefer == MINIMAL
    done = await participation.contribute(state.curator, known, sent, bearer(request), with_receipt=not minimal)
    return _acknowledged(done, "trusted" if sent.trusted else "local", state, prefer)


def _acknowledged(done: Acknowledged, group: str, state: State, prefer: str | None) -> Response[Any]:
    state.metrics.contribute(group, "accepted" if done.new else "repeated")
    status = 201 if done.new else 200
    if done.receipt is None or prefer == MINIMAL:
        return Response(b"", status_code=status, headers={"preference-applied": MINIMAL})
    return Response(SignedReceipt(**done.receipt), status_code=status)


@post("/studies/{study_id:str}/reports", **_PARTICIPANT, responses=_REFUSALS | RECEIPT_AGAIN)
async def send_report(
    study_id: PathId, data: JSONBody[NewReport], request: Asked, state: State, prefer: _Prefer = None
) -> Response[SignedReceipt]:
    """Send a local report. The same one again gets the same receipt (200); another one is refused (409)."""
    known = await _known(study_id, request, state, local=True)
    return await _contribute(known, _report(known, data), request, state, prefer)


@post("/studies/{study_id:str}/values", **_PARTICIPANT, responses=_REFUSALS | RECEIPT_AGAIN)
async def send_value(
    study_id: PathId, data: JSONBody[NewValue], request: Asked, state: State, prefer: _Prefer = None
) -> Response[SignedReceipt]:
    """Hand over a value or a category: it is added to encrypted sums, and is stored nowhere by itself."""
    known = await _known(study_id, request, state)
    return await _contribute(known, _value(known, data), request, state, prefer)


@post("/studies/{study_id:str}/reports/withdraw", status_code=200, **_PARTICIPANT, responses=_REFUSALS)
async def withdraw_report(study_id: PathId, data: JSONBody[NewReport], request: Asked, state: State) -> SignedReceipt:
    """Withdraw a report, shown by its code and nonce, before the study closes."""
    known = await _known(study_id, request, state, local=True)
    told = await participation.withdraw(state.curator, known, _report(known, data), bearer(request))
    state.metrics.contribute("local", "withdrawn")
    return convert(told, SignedReceipt)


@post("/studies/{study_id:str}/values/withdraw", status_code=200, **_PARTICIPANT, responses=_REFUSALS)
async def withdraw_value(study_id: PathId, data: JSONBody[NewValue], request: Asked, state: State) -> SignedReceipt:
    """Withdraw a value, shown with its nonce, before the study closes."""
    known = await _known(study_id, request, state)
    told = await participation.withdraw(state.curator, known, _value(known, data), bearer(request))
    state.metrics.contribute("trusted", "withdrawn")
    return convert(told, SignedReceipt)


def _enrollment(known: KnownStudy, data: NewEnrollment | OpenedEnrollment) -> Sent:
    if not isinstance(known.kind, KMeansKind):
        raise Refusal("refused", NO_ROUNDS)
    if isinstance(data, OpenedEnrollment):
        return Sent(False, ENROLLED, data.digest, data.nonce)
    return Sent(False, ENROLLED, data.digest, "", bytes.fromhex(data.commitment))


@post("/studies/{study_id:str}/enrollments", **_PARTICIPANT, responses=_REFUSALS | RECEIPT_AGAIN)
async def enroll(
    study_id: PathId, data: JSONBody[NewEnrollment], request: Asked, state: State, prefer: _Prefer = None
) -> Response[SignedReceipt]:
    """Say that a local participant takes part in a study that asks in rounds, before the first one."""
    known = await _known(study_id, request, state)
    return await _contribute(known, _enrollment(known, data), request, state, prefer)


@post("/studies/{study_id:str}/enrollments/withdraw", status_code=200, **_PARTICIPANT, responses=_REFUSALS)
async def withdraw_enrollment(
    study_id: PathId, data: JSONBody[OpenedEnrollment], request: Asked, state: State
) -> SignedReceipt:
    """Withdraw from a study that asks in rounds, before the first one."""
    known = await _known(study_id, request, state)
    told = await participation.withdraw(state.curator, known, _enrollment(known, data), bearer(request))
    state.metrics.contribute("local", "withdrawn")
    return convert(told, SignedReceipt)


@post(
    "/studies/{study_id:str}/answers",
    **_PARTICIPANT,
    responses=_REFUSALS | problems("not-allowed") | RECEIPT_AGAIN,
)
async def send_answer(
    study_id: PathId, data: JSONBody[NewAnswer], request: Asked, state: State, prefer: _Prefer = None
) -> Response[SignedReceipt]:
    """Answer the round whose turn it is. The same answer again gets the same receipt (200)."""
    known = await _known(study_id, request, state)
    message = {"round": data.round, "ask": data.ask, "variant": data.variant, "code": data.code}
    sent = SentAnswer(message, data.nonce, data.enrollment_nonce)
    done = await answering.answer(state.curator, known, sent, bearer(request))
    return _acknowledged(done, "local", state, prefer)


@get("/studies/{study_id:str}/receipt", **_PARTICIPANT, responses=problems("bad-token", "not-found", "too-many"))
async def show_receipt(
    study_id: PathId,
    request: Asked,
    state: State,
    commitment: Annotated[
        str | None,
        Parameter(pattern="^[0-9a-f]{64}$", max_length=64, description="In a pilot without tokens: the commitment"),
    ] = None,
) -> SignedReceipt:
    """The receipt of somebody who has taken part, again."""
    known = await _known(study_id, request, state, local=True)
    opened = None if commitment is None else bytes.fromhex(commitment)
    return convert(await participation.receipt(state.curator, known, bearer(request), opened), SignedReceipt)


@post(
    "/studies/{study_id:str}/batches",
    status_code=200,
    security=[{"bearer": []}],
    tags=["relay"],
    responses=problems("bad-token", "not-found", "wrong-digest", "not-allowed", body=True),
)
async def send_batch(study_id: PathId, data: JSONBody[NewBatch], request: Asked, state: State) -> BatchAnswer:
    """Hand over the reports of a relay's participants, in one transaction.

    Each report that is not taken is in ``rejected``, with its index and a reason; ``malformed`` are those that are not
    as described. All others are taken. If the study is closed and nothing was taken, the whole batch is refused (409).
    """
    relay = await _relay(request, state)
    if len(data.reports) > state.settings.max_batch:
        raise Refusal("too-large", f"A batch may have {state.settings.max_batch:,} reports. Send smaller ones.")
    known = await state.curator.known(study_id, local=True)
    told = await participation.contribute_batch(state.curator, known, data.digest, data.reports, relay)
    state.metrics.batch(len(data.reports))
    for outcome in ("accepted", "repeated"):
        state.metrics.contribute("local", outcome, count=told[outcome])
    for item in told["rejected"]:
        state.metrics.reject(item["reason"], "/studies/{study_id:str}/batches", study=study_id)
    return convert(told, BatchAnswer)


async def _relay(request: Asked, state: State) -> str:
    """The name of the relay whose key a request carries; asked of the database each time, so that it can be removed."""
    key_hash = relay_hash(request)

    def work() -> str | None:
        with reading(state.curator.engine) as connection:
            return relay_name(connection, key_hash)

    name = await asyncio.to_thread(work)  # a database that hangs must not hang everybody
    if name is None:
        raise Refusal("bad-token", "This relay's key is not known, or has been taken back.")
    return name


QUIET = {path for route in (send_report, send_value, send_batch, enroll, send_answer) for path in route.paths}
"""Where what was taken leaves no line in the log."""

ROUTES = [
    send_report,
    send_value,
    withdraw_report,
    withdraw_value,
    enroll,
    withdraw_enrollment,
    send_answer,
    show_receipt,
    send_batch,
]
