"""Who may ask what: the admin key, relays' keys, participants' tokens, and how often."""

import hashlib
from typing import Any

from litestar import Request
from litestar.connection import ASGIConnection
from litestar.datastructures import State
from litestar.handlers.base import BaseRouteHandler

from hybriddp.reporting.wording import counted
from hybriddp.service.keys import key_hash, same_key
from hybriddp.service.problems import Refusal

ADMIN, RELAY = "hdpa_", "hdpr_"
_MOST_BUCKETS = 100_000

Asked = Request[Any, Any, State]


def bearer(connection: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    """The key or token of a request."""
    kind, _, credential = connection.headers.get("authorization", "").partition(" ")
    return credential.strip() if kind.lower() == "bearer" and credential.strip() else None


def is_admin(connection: ASGIConnection[Any, Any, Any, Any]) -> bool:
    """Whether a request carries the admin key."""
    key = bearer(connection)
    return key is not None and key.startswith(ADMIN) and same_key(key, connection.app.state.admin_hash)


async def require_admin(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """Guard of the operator's routes."""
    if not is_admin(connection):
        raise Refusal("bad-token", "The admin key is needed: Authorization: Bearer hdpa_…")


def relay_hash(request: Asked) -> str:
    """The hash of the relay key that a request carries."""
    key = bearer(request)
    if key is None or not key.startswith(RELAY):
        raise Refusal("bad-token", "A relay's key is needed: Authorization: Bearer hdpr_…")
    return key_hash(key)


class TooManyRequests(Refusal):
    """A token that has been used too often, and the seconds until it can be used again."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        super().__init__("too-many", f"Wait {counted(seconds, 'second')} and try again.")


class RateLimit:
    """How often one token may be used in a minute.

    Parameters
    ----------
    per_minute : int
        The most requests; 0 for any number.
    """

    def __init__(self, per_minute: int) -> None:
        self._most, self._minute = per_minute, 0
        self._counts: dict[bytes, int] = {}

    def count(self, credential: str, now: int) -> None:
        """Raise `TooManyRequests` if a token has been used too often in this minute."""
        if not self._most:
            return
        if now // 60 != self._minute or len(self._counts) >= _MOST_BUCKETS:
            self._minute, self._counts = now // 60, {}
        bucket = hashlib.sha256(credential.encode("utf-8", "replace")).digest()[:16]
        self._counts[bucket] = self._counts.get(bucket, 0) + 1
        if self._counts[bucket] > self._most:
            raise TooManyRequests(60 - now % 60)
