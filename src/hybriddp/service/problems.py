"""Problem documents (RFC 9457): why a request was refused, in one short word, one status and one sentence.

The word is the ``reason``; the operator's counters have it as their label, and clients decide by it. The sentence is
ours: of an exception that is not from hybriddp's own tree nothing is told, since a library may quote what it was given.
"""

from http import HTTPStatus
from typing import Any, NamedTuple

from hybriddp.errors import BudgetError, DataError, HybridDPError, NumericalError, ParameterError, ProtocolError

__all__ = ["MEDIA_TYPE", "PEOPLE_POLICY", "REASONS", "SCRIPT_POLICY", "SECURITY_HEADERS", "Refusal", "problem"]

MEDIA_TYPE = "application/problem+json"

SECURITY_HEADERS = [
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
]
"""What every answer has, refused or not, unless it says otherwise itself."""

SCRIPT_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
"""Content policy of pages with a script: one of this server's files, which talks to this server only."""

PEOPLE_POLICY = SCRIPT_POLICY.replace("form-action 'self'", "form-action 'none'")
"""Content policy of the page on which people take part: its form is never sent, its script sends what it has drawn."""


class Reason(NamedTuple):
    """What a reason means: its HTTP status, a title that never changes, and a sentence for when there is no other."""

    status: HTTPStatus
    title: str
    detail: str


REASONS = {
    "bad-token": Reason(
        HTTPStatus.UNAUTHORIZED,
        "The token is not valid",
        "A valid token or key for this request is needed in the header Authorization: Bearer …",
    ),
    "wrong-digest": Reason(
        HTTPStatus.CONFLICT,
        "Made for another study",
        "The contribution was made for another study text. Fetch the study again and compare its digest.",
    ),
    "out-of-range": Reason(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "Not a possible contribution",
        "The contribution is not one that a device can send in this study.",
    ),
    "early": Reason(
        HTTPStatus.CONFLICT,
        "Not this participant's turn yet",
        "A later round asks this participant. Keep the turns, and look again when the next round is published.",
    ),
    "late": Reason(
        HTTPStatus.CONFLICT,
        "This participant's round has ended",
        "The round that asked this participant has ended. Nothing was taken, and nothing else will be asked.",
    ),
    "closed": Reason(HTTPStatus.CONFLICT, "The study is not open", "The study does not take contributions now."),
    "duplicate": Reason(
        HTTPStatus.CONFLICT,
        "Already taken part",
        "This person has already taken part in the study: with another contribution, in the other group, or they have "
        "withdrawn.",
    ),
    "full": Reason(
        HTTPStatus.CONFLICT,
        "The trusted group is full",
        "There is no room for more trusted people. Nothing was stored: the local group is open to them.",
    ),
    "malformed": Reason(
        HTTPStatus.BAD_REQUEST, "The request cannot be read", "The request is not in the form that this route takes."
    ),
    "too-large": Reason(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request is too large", "Send less at a time: smaller batches."
    ),
    "too-many": Reason(HTTPStatus.TOO_MANY_REQUESTS, "Too many requests", "Wait a minute and try again."),
    "not-found": Reason(HTTPStatus.NOT_FOUND, "Not found", "There is nothing at this address."),
    "not-allowed": Reason(HTTPStatus.FORBIDDEN, "Not allowed", "This key or token is valid, but not for this request."),
    "refused": Reason(HTTPStatus.CONFLICT, "Refused", "The request was refused; nothing has been spent."),
    "unavailable": Reason(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Not available now",
        "The server cannot answer now. Try again later: the same contribution is never counted twice.",
    ),
}
"""All reasons. A client that meets one that is not here may treat it by its status."""


class Refusal(HybridDPError):  # noqa: N818  (to the one who asked, it is an answer)
    """A request that the server refuses, with its reason.

    Parameters
    ----------
    reason : str
        One of `REASONS`.
    detail : str, optional
        A sentence, without any value, code, token or participant; the reason's own if not given.
    status : int, optional
        The HTTP status, if not the reason's own.
    field : str
        The field of a form that it is about.
    round_number : int, optional
        Of an answer: the round that it came too late or too early for.
    """

    def __init__(
        self,
        reason: str,
        detail: str = "",
        *,
        status: int | None = None,
        field: str = "",
        round_number: int | None = None,
    ) -> None:
        known = REASONS[reason]
        self.reason, self.field, self.round_number = reason, field, round_number
        self.status = int(known.status if status is None else status)
        super().__init__(detail or known.detail)


def problem(error: BaseException) -> dict[str, Any]:
    """Return the problem document of an exception.

    It has a type, title, status, detail and reason.

    Examples
    --------
    >>> told = problem(Refusal("closed"))
    >>> told["status"], told["reason"], told["detail"]
    (409, 'closed', 'The study does not take contributions now.')
    >>> problem(KeyError("a value of somebody"))["detail"]
    'Something unexpected went wrong; the log says where.'
    """
    refusal = _refusal(error)
    return {
        "type": f"urn:hybriddp:problem:{refusal.reason}",
        "title": REASONS[refusal.reason].title,
        "status": refusal.status,
        "detail": str(refusal),
        "reason": refusal.reason,
    }


def _refusal(error: BaseException) -> Refusal:
    """Convert an exception into the corresponding refusal."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, ParameterError | ProtocolError):
        return Refusal("malformed", str(error))
    if isinstance(error, BudgetError | DataError | NumericalError):
        return Refusal("refused", str(error))
    if isinstance(error, HybridDPError):
        return Refusal("unavailable", str(error))
    unexpected = "Something unexpected went wrong; the log says where."
    return Refusal("unavailable", unexpected, status=HTTPStatus.INTERNAL_SERVER_ERROR)
