"""What a mock curator says when it refuses: the same reasons, statuses and form as the real one."""

import json
from http import HTTPStatus
from typing import TYPE_CHECKING

from hybriddp.client.drivers import import_httpx

if TYPE_CHECKING:
    import httpx

__all__ = ["MockTrouble"]

_TITLES = {
    400: ("malformed", "The request cannot be read."),
    401: ("bad-token", "The token is not valid."),
    403: ("not-allowed", "This token is valid, but not for this request."),
    404: ("not-found", "There is nothing at this address."),
    422: ("out-of-range", "The contribution is not one that a device can send in this study."),
    429: ("too-many", "Wait and try again."),
}
_CONFLICTS = {
    "closed": "The study does not take contributions now.",
    "duplicate": "This person has already taken part in the study: with another contribution, in the other group, or "
    "they have withdrawn.",
    "full": "The trusted group has as many people as there is room for. Nothing was stored.",
    "wrong-digest": "The contribution was made for another study text.",
    "early": "A later round asks this participant.",
    "late": "The round that asked this participant has ended.",
}


class MockTrouble(Exception):  # noqa: N818  (an answer, not an error)
    """A request that is refused."""

    def __init__(self, status: int, reason: str = "", retry_after: int | None = None) -> None:
        self.status = status
        self.reason = reason or _TITLES.get(status, ("unavailable", ""))[0]
        self.detail = _CONFLICTS.get(self.reason) or _TITLES.get(status, ("", "The server cannot answer now."))[1]
        self.retry_after = retry_after

    def response(self) -> "httpx.Response":
        """Return the problem document as a response."""
        document = {
            "type": f"urn:hybriddp:problem:{self.reason}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "reason": self.reason,
        }
        headers = {"Content-Type": "application/problem+json"}
        if self.retry_after is not None:
            headers["Retry-After"] = str(self.retry_after)
        response: httpx.Response = import_httpx().Response(
            self.status, content=json.dumps(document).encode(), headers=headers
        )
        return response
