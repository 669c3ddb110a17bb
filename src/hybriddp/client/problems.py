"""Problem documents (RFC 9457) of the curator as exceptions.

::

    ProtocolError
    └── RejectedError       the curator refuses: bad token, wrong digest, closed, duplicate, …
    DataError               the contribution is out of range
    BudgetError             refused for privacy
    HybridDPError
    └── UnavailableError    the curator cannot be reached, or asks to come back later

All carry the curator's own sentence.
"""

import json
import re
from typing import Any

from hybriddp.client.plain import one_line
from hybriddp.errors import BudgetError, DataError, HybridDPError, ProtocolError, raise_unchained

__all__ = ["RejectedError", "UnavailableError", "error_of", "parse_object"]

_LONGEST = 500  # characters of a curator's sentence that are passed on
_SHORT = 3  # letters of a value that turn up in any sentence
_TEMPORARY = ("too-many", "unavailable")
_BY_STATUS = {401: "bad-token", 403: "not-allowed", 404: "not-found", 413: "too-large", 429: "too-many"}


class RejectedError(ProtocolError):
    """The curator does not accept a request; sending it again will not help.

    Attributes
    ----------
    reason : str
        ``bad-token``, ``wrong-digest``, ``closed``, ``duplicate``, ``full``, ``malformed``, ``too-large``,
        ``not-found`` or ``not-allowed``.
    status : int
        The HTTP status.
    """

    def __init__(self, message: str, *, reason: str, status: int) -> None:
        self.reason = reason
        self.status = status
        super().__init__(message)


class UnavailableError(HybridDPError):
    """The curator cannot be reached, or does not take requests now. What is in the journal is safe to send again."""


def error_of(status: int, body: bytes, *, hide: str = "") -> HybridDPError:
    """Return the exception for an answer, with the curator's sentence.

    Parameters
    ----------
    status : int
        The HTTP status, which does not signal success.
    body : bytes
        The answer.
    hide : str
        A value as it was sent. A sentence that quotes the value, as a proxy's sentence might, is not passed on.
    """
    try:
        problem = parse_object(body)
    except ProtocolError:
        problem = {}
    reason = one_line(problem.get("reason"), _LONGEST) or _BY_STATUS.get(
        status, "unavailable" if status >= 500 else "malformed"
    )
    detail = one_line(problem.get("detail"), _LONGEST) or one_line(problem.get("title"), _LONGEST)
    if hide and _quotes(detail, hide):
        detail = ""
    said = (
        f"The curator says: {detail}" if detail else f"The curator answers with HTTP status {status} ({reason[:40]})."
    )
    if status >= 500 or status == 429 or reason in _TEMPORARY:
        return UnavailableError(said)
    if reason == "out-of-range":
        return DataError(said)
    if reason == "refused":
        return BudgetError(said)
    return RejectedError(said, reason=reason, status=status)


def _quotes(detail: str, value: str) -> bool:
    """Whether a sentence has a value in it; of a very short one, such as no, whether it has it as a word."""
    if len(value) > _SHORT:
        return value in detail
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", detail) is not None


def parse_object(body: bytes | str) -> dict[str, Any]:
    """Parse the JSON object in an answer, or raise `ProtocolError`."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise_unchained(ProtocolError("The answer is not a JSON object. Is this the address of a curator?"))
    return content
