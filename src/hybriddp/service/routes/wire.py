"""Bodies of requests and responses.

The description of a field is its rule in words: it is in the OpenAPI document, and in the answer to whoever breaks it.
The body of a report has no field in which a raw value would fit.
"""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any

from litestar.exceptions import HTTPException
from litestar.openapi import ResponseSpec
from litestar.params import Parameter
from msgspec import Meta, Struct
from sqlalchemy.exc import SQLAlchemyError

from hybriddp.service.problems import MEDIA_TYPE, REASONS, Refusal
from hybriddp.study.users import LONGEST_NAME, MOST_PARTS

_OF_STATUS = {
    400: "malformed",
    401: "bad-token",
    403: "not-allowed",
    404: "not-found",
    413: "too-large",
    415: "malformed",
}
_ALWAYS = ("malformed", "unavailable")

_END = r"$(?!\n)"  # a dollar alone would let a newline follow
STUDY_ID = "^[a-z0-9][a-z0-9-]*" + _END
NAME = "^[A-Za-z0-9][A-Za-z0-9 ._-]*" + _END
_ID_WORDS = "1 to 64 lowercase letters, digits and hyphens, no hyphen first"
_NAME_WORDS = "1 to 64 letters, digits, spaces, dots, underscores and hyphens, a letter or digit first"
_DIGEST_WORDS = "the study's digest, a SHA-256 as 64 hexadecimal digits in lower case"
_COMMITTED_WORDS = "a commitment, a SHA-256 as 64 hexadecimal digits in lower case"
_NONCE_WORDS = "a nonce, 128 random bits as 32 hexadecimal digits in lower case"
_DECIMAL_WORDS = "a number as a text of at most 64 characters, such as 0.5"
Digest = Annotated[str, Meta(min_length=64, max_length=64, pattern="^[0-9a-f]{64}$", description=_DIGEST_WORDS)]
Commitment = Annotated[str, Meta(min_length=64, max_length=64, pattern="^[0-9a-f]{64}$", description=_COMMITTED_WORDS)]
Nonce = Annotated[str, Meta(min_length=32, max_length=32, pattern="^[0-9a-f]{32}$", description=_NONCE_WORDS)]
StudyId = Annotated[str, Meta(min_length=1, max_length=64, pattern=STUDY_ID, description=_ID_WORDS)]
Name = Annotated[str, Meta(min_length=1, max_length=64, pattern=NAME, description=_NAME_WORDS)]
PathId = Annotated[str, Parameter(max_length=64, pattern=STUDY_ID, description="The study's id")]
PathName = Annotated[str, Parameter(max_length=64, pattern=NAME, description=_NAME_WORDS)]
Words = Annotated[str, Meta(min_length=1, max_length=2000, description="a text of 1 to 2,000 characters")]
Size = Annotated[int, Meta(ge=1, le=10**12, description="a whole number from 1 to 1,000,000,000,000")]
Origin = Annotated[
    str,
    Meta(
        max_length=256,
        pattern="^https?://[A-Za-z0-9.:-]+" + _END,
        description="an origin such as https://app.example.org, without a path, of at most 256 characters",
    ),
]
Origins = Annotated[list[Origin], Meta(max_length=32, description="at most 32 origins")]
Dimensions = Annotated[list[Words], Meta(max_length=256, description="the names of a point's numbers, in order")]
Time = Annotated[datetime, Meta(tz=True, description="a time with a time zone, such as 2030-01-31T12:00:00Z")]
_HOURS_WORDS = "a number of hours from 0.01 to 8,760, a year"
Hours = Annotated[float, Meta(ge=0.01, le=8760, description=_HOURS_WORDS)]
Decimal = Annotated[str, Meta(max_length=64, description=_DECIMAL_WORDS)]
Participant = Annotated[str, Meta(min_length=1, max_length=256, description="a text of 1 to 256 characters")]
PartName = Annotated[
    str, Meta(min_length=1, max_length=LONGEST_NAME, description=f"a text of 1 to {LONGEST_NAME} characters")
]
PartNames = Annotated[
    list[PartName], Meta(min_length=2, max_length=MOST_PARTS, description=f"a list of 2 to {MOST_PARTS} names")
]

_VALUE_WORDS = "a number, a category of at most 1,000 characters, or a point of at most 256 numbers"
Value = (
    Annotated[float, Meta(description=_VALUE_WORDS)]
    | Annotated[str, Meta(max_length=1000)]
    | Annotated[list[float], Meta(max_length=256)]
)
_PLACE_WORDS = "a whole number from 0 to below 2^31"
Place = Annotated[int, Meta(ge=0, lt=1 << 31, description=_PLACE_WORDS)]
_CODE_WORDS = "a whole number, or hexadecimal digits where the channel sends bits"
AnswerCode = Annotated[int, Meta(description=_CODE_WORDS)] | Annotated[str, Meta(max_length=1 << 20)]


class Consent(Struct, frozen=True, forbid_unknown_fields=True):
    """Words for the consent page: who asks, what for, and whom to write to."""

    organization: Words
    purpose: Words
    contact: Words


class Parts(Struct, frozen=True, forbid_unknown_fields=True):
    """Parts of the users, each of which gets an answer of its own: what they are grouped by, and their names."""

    by: PartName
    names: PartNames


class NewStudy(Struct, frozen=True, forbid_unknown_fields=True):
    """A study as the operator creates it."""

    study: dict[str, Any]
    consent: Consent
    closes_at: Time
    id: StudyId | None = None
    min_trusted: Size | None = None
    min_local: Size | None = None
    budget: Name | None = None
    tokens: bool = True
    origins: Origins = []
    single_group: bool = False
    open: bool = True
    dimensions: Dimensions = []
    parts: Parts | None = None
    round_hours: Hours | None = None
    release_at_end: bool = False


class NewReport(Struct, frozen=True, forbid_unknown_fields=True):
    """A local report: the code that a device has drawn."""

    digest: Digest
    code: int
    nonce: Nonce


class NewValue(Struct, frozen=True, forbid_unknown_fields=True):
    """A trusted user's value: a number, or one of the categories that the study asks for."""

    digest: Digest
    value: Value
    nonce: Nonce


class NewEnrollment(Struct, frozen=True, forbid_unknown_fields=True):
    """A local participant of a study that asks in rounds says that they take part, and commits to a nonce."""

    digest: Digest
    commitment: Commitment


class OpenedEnrollment(Struct, frozen=True, forbid_unknown_fields=True):
    """The nonce that a local participant had committed to when they enrolled."""

    digest: Digest
    nonce: Nonce


class NewAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """A device's answer to a round, which it names by its digest."""

    round: Digest
    ask: Place
    variant: Place
    code: AnswerCode
    nonce: Nonce
    enrollment_nonce: Nonce


class NewRound(Struct, frozen=True, forbid_unknown_fields=True):
    """When the next round ends."""

    closes_at: Time


class BatchedReport(Struct, frozen=True, forbid_unknown_fields=True):
    """A report of one of a relay's participants."""

    participant: Participant
    code: int
    nonce: Nonce
    part: PartName | None = None


class NewBatch(Struct, frozen=True, forbid_unknown_fields=True):
    """Reports that a relay hands over together; one that is not as described is rejected, and the others are taken."""

    digest: Digest
    reports: Annotated[list[BatchedReport | None], Meta(min_length=1, description="an array of at least one report")]
    """None stands for a report that is not as described."""


class NewRelay(Struct, frozen=True, forbid_unknown_fields=True):
    """A backend that may hand over batches."""

    name: Name


class NewBudget(Struct, frozen=True, forbid_unknown_fields=True):
    """What every person may spend in all studies that name this budget."""

    name: Name
    epsilon: Decimal
    delta: Decimal = "0"


BODIES = (
    Consent,
    Parts,
    NewStudy,
    NewReport,
    NewValue,
    NewEnrollment,
    OpenedEnrollment,
    NewAnswer,
    NewRound,
    BatchedReport,
    NewBatch,
    NewRelay,
    NewBudget,
)


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


class Relay(Struct, frozen=True):
    """A backend that may hand over batches."""

    name: str


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


class PartCounts(Struct, frozen=True):
    """How many people of one part have taken part."""

    name: str
    trusted: int
    local: int


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


class ListQuestion(Struct, frozen=True):
    """What a study in two steps asks the local group, once its list has been released."""

    digest: str
    text: str


class RoundState(Struct, frozen=True):
    """The round that a study asks, without its text."""

    number: int
    digest: str
    purpose: str
    user_fraction: str


class RoundNumbers(Struct, frozen=True):
    """A round of a study in numbers: about how many were asked, and how many answered, once it has ended."""

    number: int
    purpose: str
    user_fraction: str
    closes_at: str
    asked_about: int
    answered: int | None


class RoundDocument(Struct, frozen=True):
    """A round as devices get it: its text, and the turns of all rounds so far."""

    study: str
    number: int
    digest: str
    text: str
    turns: str
    closes_at: str


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
    dimensions: list[str]
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
    parts: Parts | None
    counts: Counts | None
    part_counts: list[PartCounts] | None
    receipts_key: str
    question: ListQuestion | None
    round: RoundState | None
    rounds: list[RoundNumbers]
    round_hours: float | None
    release_at_end: bool


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
    if isinstance(error, HTTPException) and error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return Refusal("not-found", "This address does not take this method; see Allow.", status=error.status_code)
    if isinstance(error, HTTPException):
        return Refusal(_OF_STATUS.get(error.status_code, "unavailable"), status=error.status_code)
    return Refusal("unavailable") if isinstance(error, SQLAlchemyError) else error


RECEIPT_AGAIN = {
    200: ResponseSpec(SignedReceipt, description="The receipt of the same contribution, again", generate_examples=False)
}
RESULT = {200: ResponseSpec(ResultDocument, description="The result, byte for byte", generate_examples=False)}
