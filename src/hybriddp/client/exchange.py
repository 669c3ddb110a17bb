"""Requests and answers without I/O: what is asked, when it is asked again, and when that ends.

A conversation with the curator is a generator. It yields what it needs done (an `HttpRequest`, a `Pause`, a `Store`),
and a driver sends back what came of it. So everything is written once, and tested without a network; the drivers, one
that blocks and one for asyncio and trio, are in `drivers`.
"""

import math
import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from hybriddp import _check
from hybriddp.client.problems import UnavailableError, error_of
from hybriddp.errors import HybridDPError

__all__ = [
    "Conversation",
    "HttpAnswer",
    "HttpRequest",
    "NoAnswer",
    "Pause",
    "RetryPolicy",
    "Step",
    "Store",
    "ask",
    "stored",
]

_LONGEST_WAIT = 3600.0  # seconds that can be asked for


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. It shows neither its token nor its body when it is printed."""

    method: str
    path: str
    body: bytes | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    hide: str = field(default="", repr=False)  # a value that must not come back in an error

    def headers(self) -> dict[str, str]:
        """Return the headers that are specific to this request."""
        kind = {} if self.body is None else {"Content-Type": "application/json"}
        return kind if self.token is None else {**kind, "Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back."""

    status: int
    headers: Mapping[str, str] = field(repr=False)  # names in lower case
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Nothing came back: the connection failed, or the time was up. Whether the request arrived is not known."""

    what: str  # the kind of failure, never more: what a library says may quote the request


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Store:
    """Do something that waits for a disk, and send back what it returns."""

    work: Callable[[], Any]


Step = HttpRequest | Pause | Store
Result = TypeVar("Result")
Conversation = Generator[Step, Any, Result]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often, and after which waits, a request is sent again.

    A request is sent again, byte by byte the same, when the connection fails and when the curator answers 429 or 5xx.
    Waits double from ``first_wait`` up to ``longest_wait`` seconds, each shortened at random by up to a half, so that
    many devices do not come back at once. A ``Retry-After`` of the curator is kept, if it is not longer than
    ``longest_wait``; if it is, `UnavailableError` is raised at once.

    Parameters
    ----------
    attempts : int
        How often a request is sent in total.
    first_wait, longest_wait : float
        In seconds.
    """

    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0

    def __post_init__(self) -> None:
        _check.integer("attempts", self.attempts, at_least=1)
        waits = _check.Range("a number of seconds from 0 to 3,600", 0.0, _LONGEST_WAIT)
        _check.number("first_wait", self.first_wait, waits)
        _check.number("longest_wait", self.longest_wait, waits)

    def wait(self, failures: int, asked: float | None) -> float | None:
        """Seconds to wait after so many failures, where the curator ``asked`` for some; None if that is too long."""
        if asked is not None:
            return asked if asked <= self.longest_wait else None
        longest = min(self.first_wait * 2.0 ** min(failures - 1, 60), self.longest_wait)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311  (spreads load; nothing secret)


def ask(request: HttpRequest, policy: RetryPolicy) -> Conversation[HttpAnswer]:
    """Send a request until there is an answer; raise what the curator's problem document amounts to."""
    failures = 0
    while True:
        answer: HttpAnswer | NoAnswer = yield request
        if isinstance(answer, HttpAnswer) and 200 <= answer.status < 300:
            return answer
        failures += 1
        error, asked = _failure(answer, request.hide)
        if not isinstance(error, UnavailableError):
            raise error
        seconds = policy.wait(failures, asked)
        if failures == policy.attempts or seconds is None:
            raise error
        yield Pause(seconds)


def stored(work: Callable[[], Result]) -> Conversation[Result]:
    """Let the driver do what waits for a disk."""
    result: Result = yield Store(work)
    return result


def _failure(answer: HttpAnswer | NoAnswer, hide: str) -> tuple[HybridDPError, float | None]:
    """Return the error of an answer, and the seconds to wait before a retry.

    The curator may ask for the wait, which is None otherwise.
    """
    if isinstance(answer, NoAnswer):
        return UnavailableError(f"The curator cannot be reached ({answer.what}). Try again later."), None
    return error_of(answer.status, answer.body, hide=hide), _retry_after(answer.headers.get("retry-after"))


def _retry_after(text: str | None) -> float | None:
    """Seconds in a Retry-After header, which may also be a date; None if there is none that can be read."""
    if text is None:
        return None
    if text.strip().isascii() and text.strip().isdigit():
        return float(text) if len(text) < 12 else math.inf
    try:
        date = parsedate_to_datetime(text)
        return max((date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, OverflowError, IndexError, TypeError):  # what the library raises for dates that are none
        return None
