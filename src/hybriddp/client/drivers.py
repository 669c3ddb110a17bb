"""Drivers: what conducts a conversation over httpx, one that blocks and one for asyncio and trio."""

import ipaddress
import math
import time
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from hybriddp.client.exchange import Conversation, HttpAnswer, HttpRequest, NoAnswer, Pause, Store
from hybriddp.errors import MissingExtraError, ParameterError, ProtocolError

if TYPE_CHECKING:
    import httpx

__all__ = ["DEADLINE", "LARGEST_ANSWER", "check_url", "conduct", "conduct_async", "http_settings", "import_httpx"]

LARGEST_ANSWER = 4_000_000
"""Bytes of an answer; a study's text has a few thousand."""
DEADLINE = 6.0
"""How many times the timeout of a step a whole exchange may take: a byte now and then keeps every step in time."""

_TOO_SLOW = NoAnswer("the answer was too slow")

Result = TypeVar("Result")


def import_httpx() -> Any:  # noqa: ANN401
    """Import the HTTP library, or raise an error that says how to install it."""
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("httpx", extra="client", purpose="Talking to a curator") from None
    return httpx


def check_url(url: str, *, allow_http: bool) -> str:
    """Check a curator's address and strip the slash at its end.

    The address must use HTTPS, unless it is on this machine or HTTP was allowed.
    """
    try:
        parts = urlsplit(url)
        plain = not (parts.query or parts.fragment or "@" in parts.netloc) and bool(parts.hostname)
        port = parts.port is None or parts.port > 0
    except (ValueError, TypeError, AttributeError):
        raise ParameterError("url", "an address such as https://curator.example.org", "unreadable") from None
    if parts.scheme not in ("http", "https") or not plain or not port or not url.isascii() or not url.isprintable():
        shown = url if "@" not in url else "one with @, which may hold a password"
        raise ParameterError("url", "an address such as https://curator.example.org", shown)
    if parts.scheme == "http" and not allow_http and not _is_this_machine(parts.hostname or ""):
        raise ParameterError(
            "url", "an https address", url, remedy="Over HTTP everybody on the way reads the token: see allow_http."
        )
    return url.rstrip("/")


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def http_settings(url: str, timeout: float) -> dict[str, Any]:
    """Return the settings of both httpx clients.

    The clients follow no redirects, use no compression and read nothing from the environment.

    A proxy that the environment names would see the token, and the value of a trusted user, for every http address.
    """
    from hybriddp import __version__

    headers = {"User-Agent": f"hybriddp/{__version__}", "Accept": "application/json", "Accept-Encoding": "identity"}
    return {"base_url": url, "timeout": timeout, "headers": headers, "follow_redirects": False, "trust_env": False}


def conduct(conversation: Conversation[Result], http: "httpx.Client") -> Result:
    """Conduct a conversation; blocks."""
    came: Any = None
    while True:
        try:
            step = conversation.send(came)
        except StopIteration as done:
            result: Result = done.value
            return result
        if isinstance(step, HttpRequest):
            came = _exchange(step, http)
        elif isinstance(step, Pause):
            time.sleep(step.seconds)
            came = None
        else:
            came = step.work()


async def conduct_async(conversation: Conversation[Result], http: "httpx.AsyncClient") -> Result:
    """Conduct a conversation on asyncio or trio."""
    import anyio
    import anyio.to_thread

    came: Any = None
    while True:
        try:
            step = conversation.send(came)
        except StopIteration as done:
            result: Result = done.value
            return result
        if isinstance(step, HttpRequest):
            came = await _exchange_async(step, http)
        elif isinstance(step, Pause):
            await anyio.sleep(step.seconds)
            came = None
        elif isinstance(step, Store):
            came = await anyio.to_thread.run_sync(step.work)  # a disk may take its time


def _exchange(request: HttpRequest, http: "httpx.Client") -> HttpAnswer | NoAnswer:
    httpx = import_httpx()
    ends = time.monotonic() + _seconds(http)
    try:
        with http.stream(request.method, request.path, content=request.body, headers=request.headers()) as answer:
            body = bytearray()
            _check_encoding(answer)
            for part in answer.iter_bytes() if answer.is_stream_consumed else answer.iter_raw():  # read by a mock
                if time.monotonic() > ends:
                    return _TOO_SLOW
                _take(body, part)
            return _answer(answer, body)
    except httpx.RequestError as error:
        what = type(error).__name__
    return NoAnswer(what)  # outside of the handler: the library's error holds the request, with its body


async def _exchange_async(request: HttpRequest, http: "httpx.AsyncClient") -> HttpAnswer | NoAnswer:
    import anyio

    httpx = import_httpx()
    came: HttpAnswer | NoAnswer = _TOO_SLOW
    sent: dict[str, Any] = {"content": request.body, "headers": request.headers()}
    with anyio.move_on_after(_seconds(http)):
        try:
            async with http.stream(request.method, request.path, **sent) as answer:
                body = bytearray()
                _check_encoding(answer)
                async for part in answer.aiter_bytes() if answer.is_stream_consumed else answer.aiter_raw():
                    _take(body, part)
                came = _answer(answer, body)
        except httpx.RequestError as error:
            came = NoAnswer(type(error).__name__)
    return came


def _seconds(http: "httpx.Client | httpx.AsyncClient") -> float:
    """Seconds for a whole exchange."""
    return DEADLINE * (http.timeout.read or math.inf)


def _check_encoding(answer: "httpx.Response") -> None:
    """Refuse what is compressed before it is read: a small answer could fill the memory."""
    if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise ProtocolError("The curator's answer is compressed, which was not asked for.")


def _take(body: bytearray, part: bytes) -> None:
    if len(body) + len(part) > LARGEST_ANSWER:
        raise ProtocolError(f"The curator's answer has more than {LARGEST_ANSWER:,} bytes.")
    body += part


def _answer(answer: "httpx.Response", body: bytearray) -> HttpAnswer:
    return HttpAnswer(answer.status_code, {name.lower(): text for name, text in answer.headers.items()}, bytes(body))
