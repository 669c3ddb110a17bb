"""Bodies of requests and responses, and how strictly they are read.

A body is one JSON text in UTF-8. A key that stands twice in an object has two meanings, so it is refused, and so are
unknown fields, numbers that are no numbers and texts where numbers belong. The body of a report has no field in which a
raw value would fit.
"""

import json
import re
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any

from litestar import Request
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.openapi import ResponseSpec
from litestar.params import Parameter
from msgspec import Meta, Struct
from msgspec.json import decode
from sqlalchemy.exc import SQLAlchemyError

from hybriddp.service.problems import MEDIA_TYPE, REASONS, Refusal

_OF_STATUS = {
    400: "malformed",
    401: "bad-token",
    403: "not-allowed",
    404: "not-found",
    405: "not-found",
    413: "too-large",
    415: "malformed",
}
_ALWAYS = ("malformed", "unavailable")

Digest = Annotated[str, Meta(min_length=64, max_length=64, pattern="^[0-9a-f]{64}$", description="SHA-256, hex")]
Nonce = Annotated[str, Meta(min_length=32, max_length=32, pattern="^[0-9a-f]{32}$", description="128 random bits, hex")]
_END = r"$(?!\n)"  # a dollar alone would let a newline follow
STUDY_ID = "^[a-z0-9][a-z0-9-]*" + _END
NAME = "^[A-Za-z0-9][A-Za-z0-9 ._-]*" + _END
StudyId = Annotated[str, Meta(min_length=1, max_length=64, pattern=STUDY_ID)]
Name = Annotated[str, Meta(min_length=1, max_length=64, pattern=NAME)]
PathId = Annotated[str, Parameter(max_length=64, pattern=STUDY_ID, description="The study's id")]
PathName = Annotated[str, Parameter(max_length=64, pattern=NAME)]
Words = Annotated[str, Meta(min_length=1, max_length=2000)]
Size = Annotated[int, Meta(ge=1, le=10**12)]
Origin = Annotated[str, Meta(max_length=256, pattern="^https?://[A-Za-z0-9.:-]+" + _END)]


class Consent(Struct, frozen=True, forbid_unknown_fields=True):
    """Words for the consent page: who asks, what for, and whom to write to."""

    organization: Words
    purpose: Words
    contact: Words


class NewStudy(Struct, frozen=True, forbid_unknown_fields=True):
    """A study as the operator creates it."""

    study: dict[str, Any]
    consent: Consent
    closes_at: Annotated[datetime, Meta(tz=True)]
    id: StudyId | None = None
    min_trusted: Size | None = None
    min_local: Size | None = None
    budget: Name | None = None
    tokens: bool = True
    origins: Annotated[list[Origin], Meta(max_length=32)] = []
    single_group: bool = False
    open: bool = True


class NewReport(Struct, frozen=True, forbid_unknown_fields=True):
    """A local report: the code that a device has drawn."""

    digest: Digest
    code: int
    nonce: Nonce


class NewValue(Struct, frozen=True, forbid_unknown_fields=True):
    """A trusted user's value."""

    digest: Digest
    value: float
    nonce: Nonce


class BatchedReport(Struct, frozen=True, forbid_unknown_fields=True):
    """A report of one of a relay's participants."""

    participant: Annotated[str, Meta(min_length=1, max_length=256)]
    code: int
    nonce: Nonce


class NewBatch(Struct, frozen=True, forbid_unknown_fields=True):
    """Reports that a relay hands over together."""

    digest: Digest
    reports: Annotated[list[BatchedReport], Meta(min_length=1)]


class NewRelay(Struct, frozen=True, forbid_unknown_fields=True):
    """A backend that may hand over batches."""

    name: Name


class NewBudget(Struct, frozen=True, forbid_unknown_fields=True):
    """What every person may spend in all studies that name this budget."""

    name: Name
    epsilon: Annotated[str, Meta(max_length=64)]
    delta: Annotated[str, Meta(max_length=64)] = "0"


BODIES = (Consent, NewStudy, NewReport, NewValue, BatchedReport, NewBatch, NewRelay, NewBudget)


class SignedReceipt(Struct, frozen=True):
    """A receipt, signed with the key at /.well-known/hybriddp-receipts.json."""

    receipt: dict[str, Any]
    signature: str
    kid: str


class Rejected(Struct, frozen=True):
    """A report of a batch that was not taken."""

    index: int
    reason: str


class BatchAnswer(Struct, frozen=True):
    """What became of a batch."""

    accepted: int
    repeated: int
    rejected: list[Rejected]
    receipt: SignedReceipt


class RelayKey(Struct, frozen=True):
    """A relay's key, shown once."""

    name: str
    key: str


class BudgetLeft(Struct, frozen=True):
    """What everybody has left of a budget."""

    epsilon: str
    delta: str


class BudgetState(Struct, frozen=True):
    """A budget, what is left of it, and why."""

    name: str
    epsilon: str
    delta: str
    left: BudgetLeft
    explanation: str


class Counts(Struct, frozen=True):
    """How many have taken part."""

    trusted: int
    local: int


class ResultDocument(Struct, frozen=True):
    """What a study has published."""

    id: str
    digest: str
    released_on: str
    estimate: dict[str, Any]
    answer: str


class StepState(Struct, frozen=True):
    """A step of a study's life."""

    name: str
    state: str


class StudyDocument(Struct, frozen=True):
    """What everybody may see of a study."""

    id: str
    kind: str
    title: str
    digest: str
    text: str
    epsilon: str
    delta: str
    promise: str
    consent: dict[str, str]
    stored: dict[str, list[str]]
    tokens: bool
    warning: str | None
    state: str
    steps: list[StepState]
    closes_at: str
    min_trusted: int
    min_local: int
    single_group: bool
    budget: str | None
    counts: Counts | None
    receipts_key: str


class ProblemDocument(Struct, frozen=True):
    """Why a request was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    reason: str


def problems(*reasons: str, body: bool = False) -> dict[int, ResponseSpec]:
    """The documented refusals of a route; with ``body``, those of a body too."""
    titles = {int(REASONS[reason].status): REASONS[reason].title for reason in (*reasons, *_ALWAYS)}
    if body:
        large = REASONS["too-large"]
        titles |= {int(large.status): large.title, int(HTTPStatus.UNSUPPORTED_MEDIA_TYPE): "The body is not JSON"}
    return {
        status: ResponseSpec(ProblemDocument, description=title, media_type=MEDIA_TYPE, generate_examples=False)
        for status, title in titles.items()
    }


def in_our_words(error: Exception) -> Exception:
    """What went wrong without what a library says about it, since that may quote a value."""
    if isinstance(error, HTTPException):
        return Refusal(_OF_STATUS.get(error.status_code, "unavailable"), status=error.status_code)
    return Refusal("unavailable") if isinstance(error, SQLAlchemyError) else error


RECEIPT_AGAIN = {
    200: ResponseSpec(SignedReceipt, description="The receipt of the same contribution, again", generate_examples=False)
}
RESULT = {200: ResponseSpec(ResultDocument, description="The result, byte for byte", generate_examples=False)}


class StrictRequest(Request[Any, Any, State]):
    """A request whose body is read as strictly as it is documented.

    Litestar would take the text "3" for the number 3, any media type for JSON, and the last of two equal keys. Media
    types matter in a pilot without tokens: a page of any origin may send text or a form without asking first.
    """

    async def json(self) -> Any:  # noqa: ANN401
        """The body as what its route takes."""
        if self.content_type[0] != "application/json":
            words = "The body must be JSON, with the header Content-Type: application/json."
            raise Refusal("malformed", words, status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        body, field = await self.body(), self.route_handler.parsed_data_field
        try:
            _STRICT.decode(body.decode("utf-8"))
        except Refusal:
            raise
        except (ValueError, RecursionError):
            raise Refusal("malformed", "The body must be one JSON object in UTF-8, not nested deeply.") from None
        try:
            return decode(body, type=Any if field is None else field.annotation)
        except (ValueError, RecursionError) as reason:
            raise Refusal("malformed", _where(str(reason))) from None


def _where(reason: str) -> str:
    """Where a body is wrong and which types were met, if the decoder says so: the rest of its words may quote it."""
    known = _MISFIT.fullmatch(reason)
    place = re.search(r" - at `(\$[a-z_.\[\]0-9]*)`$", reason)
    if known is None or place is None:
        return ""
    return f"The body is not what this route takes: at {place[1]}, {known[1]} is needed, not {known[2]}."


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise Refusal("malformed", "A key stands twice in an object of the body.")


def _no_number(_: str) -> None:
    raise Refusal("malformed", "NaN and Infinity are no JSON.")


_MISFIT = re.compile(r"Expected `([a-z]+(?: \| [a-z]+)*)`, got `([a-z]+)` - at `.*`")
_STRICT = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)
