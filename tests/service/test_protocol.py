"""Limits of size and time for requests, over real sockets and with small limits."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPResponse

import pytest
from litestar.enums import ScopeType
from litestar.types import Receive, Scope, Send

from hybriddp.service import protocol
from hybriddp.service.problems import SECURITY_HEADERS
from tests.service.running import listening_with

DEADLINE = 30
SHORT = 0.05
LIMIT = 2000
GET = b"GET / HTTP/1.1\r\nHost: x\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"
REFUSED_EARLY = b"/early"
TIMERS = b"/timers"
BUSY = b"/busy"
_free = threading.Event()


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Send back the body; other addresses do not wait for it, wait with reading it, or tell the timer."""
    if scope["type"] != ScopeType.HTTP:
        return
    body, more = b"", scope["raw_path"] != REFUSED_EARLY
    if scope["raw_path"] == BUSY:
        await asyncio.to_thread(_free.wait, DEADLINE)
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return
        body, more = body + message["body"], message["more_body"]
    if scope["raw_path"] == TIMERS:
        body = repr(receive.__self__.on_response.__self__._timer).encode()  # type: ignore[attr-defined]
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    with listening_with(_echo) as where:
        yield where


@pytest.fixture
def client(address: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=DEADLINE) as connected:
        yield connected


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_HEAD_BYTES", LIMIT)
    monkeypatch.setattr(protocol, "MAX_HEADERS", 5)


def _answer(client: socket.socket) -> tuple[HTTPResponse, bytes]:
    answer = HTTPResponse(client)
    answer.begin()
    return answer, answer.read()


def _closed(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def _refused(client: socket.socket, status: int, reason: str) -> None:
    answer, body = _answer(client)
    document = json.loads(body)
    assert (answer.status, document["status"], document["reason"]) == (status, status, reason)
    assert answer.getheader("content-type") == "application/problem+json"
    assert [answer.getheader(name.decode()) for name, _ in SECURITY_HEADERS] == [
        v.decode() for _, v in SECURITY_HEADERS
    ]
    assert _closed(client)


def _fill(client: socket.socket, piece: bytes) -> int:
    """How many bytes a server takes until it closes the connection."""
    sent = 0
    try:
        while sent < 100_000_000:
            client.sendall(piece)
            sent += len(piece)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return sent


# Size


@pytest.mark.usefixtures("_small")
def test_as_much_as_the_limit_passes(client: socket.socket) -> None:
    for _ in range(3):  # each request counts for itself
        client.sendall(GET + b"X: " + b"a" * (LIMIT - len("/Hostx") - len("X")) + b"\r\n\r\n")
        assert _answer(client)[0].status == 200


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize(
    "head",
    [
        GET + b"X: " + b"a" * (LIMIT - len("/Hostx") - len("X") + 1) + b"\r\n\r\n",
        b"GET /" + b"a" * LIMIT + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /" + b"a" * LIMIT,
        GET + b"X: y\r\n" * 5 + b"\r\n",
        CHUNKED + b"0\r\nX: " + b"a" * LIMIT + b"\r\n\r\n",
        CHUNKED + b"0\r\n" + b"X: y\r\n" * 4 + b"\r\n",
    ],
    ids=["header", "address", "part of an address", "headers", "trailer", "trailers"],
)
def test_more_is_refused(client: socket.socket, head: bytes) -> None:
    client.sendall(head)
    _refused(client, 431, "too-large")


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (GET, b"X: " + b"a" * 1000 + b"\r\n"),
        (GET + b"X: ", b"a" * 10_000),
        (GET, b"a" * 10_000),
        (b"GET /", b"a" * 10_000),
        (CHUNKED + b"0\r\nX: ", b"a" * 10_000),
        (CHUNKED + b"2;", b"a" * 10_000),
    ],
    ids=["headers", "value", "name", "address", "trailer", "chunk extension"],
)
def test_what_never_ends_is_cut_off(client: socket.socket, start: bytes, piece: bytes) -> None:
    client.sendall(start)
    assert _fill(client, piece) < 20_000_000  # the operating system's buffers take some of it


@pytest.mark.usefixtures("_small")
def test_bodies_are_not_counted(client: socket.socket) -> None:
    body = b"b" * 100 * LIMIT
    client.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert _answer(client)[1] == body
    client.sendall(CHUNKED + b"1\r\nb\r\n" * LIMIT + b"0\r\n\r\n")
    assert _answer(client)[1] == b"ab" + b"b" * LIMIT


@pytest.mark.usefixtures("_small")
def test_no_refusal_is_taken_for_the_answer_to_an_earlier_request(client: socket.socket) -> None:
    client.sendall(GET + b"\r\n" + GET + b"X: " + b"a" * LIMIT + b"\r\n\r\n")
    assert _closed(client)


def test_what_is_not_http_is_refused_like_everything_else(client: socket.socket) -> None:
    client.sendall(b"FOO / HTTP/1.1\r\nHost: x\r\n\r\n")
    _refused(client, 400, "malformed")


def test_a_broken_body_is_refused(client: socket.socket) -> None:
    client.sendall(CHUNKED + b"no number\r\n")
    _refused(client, 400, "malformed")


# Time


@pytest.mark.parametrize("start", [b"", b"GET", GET, GET + b"X: y", b"\r\n"])
def test_a_head_that_does_not_arrive(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, start: bytes) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", SHORT)
    with socket.create_connection(address, timeout=DEADLINE) as client:
        client.sendall(start)
        assert _closed(client)


@pytest.mark.parametrize("start", [b"GET", b"\r\n"])
def test_a_second_head_that_does_not_arrive(
    client: socket.socket, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    client.sendall(GET + b"\r\n")
    assert _answer(client)[0].status == 200
    monkeypatch.setattr(protocol, "HEAD_SECONDS", SHORT)
    client.sendall(start)
    assert _closed(client)


@pytest.mark.parametrize("start", [POST + b"Content-Length: 9\r\n\r\n", POST + b"Content-Length: 9\r\n\r\nab", CHUNKED])
def test_a_body_that_does_not_arrive(client: socket.socket, monkeypatch: pytest.MonkeyPatch, start: bytes) -> None:
    monkeypatch.setattr(protocol, "BODY_SECONDS", SHORT)
    client.sendall(start)
    assert _closed(client)


def test_after_a_body_that_nobody_wanted(client: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    client.sendall(POST.replace(b"/", REFUSED_EARLY, 1) + b"Content-Length: 2\r\n\r\n")
    assert _answer(client)[0].status == 200
    monkeypatch.setattr(protocol, "HEAD_SECONDS", SHORT)
    client.sendall(b"ab")
    assert _closed(client)


def test_what_has_arrived_may_take_as_long_as_it_takes(client: socket.socket) -> None:
    for request in (GET + b"\r\n", POST + b"Content-Length: 2\r\n\r\nab", CHUNKED + b"0\r\n\r\n"):
        client.sendall(request.replace(b"/", TIMERS, 1))
        assert _answer(client)[1] == b"None"
    head = POST.replace(b"/", TIMERS, 1) + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    client.sendall(head)
    assert client.recv(100).startswith(b"HTTP/1.1 100")  # the head has come by itself
    client.sendall(b"ab")
    assert _answer(client)[1] == b"None"


def test_a_body_that_the_application_does_not_read(client: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    start, expired, starts = protocol.LimitedProtocol._start_timer, threading.Event(), []

    def starting(limited: protocol.LimitedProtocol) -> None:
        starts.append(limited._arriving)
        if starts.count("body") == 2:  # the first is over, and the connection lives
            protocol.BODY_SECONDS = DEADLINE
            expired.set()
        start(limited)

    monkeypatch.setattr(protocol, "BODY_SECONDS", 4 * SHORT)
    monkeypatch.setattr(protocol.LimitedProtocol, "_start_timer", starting)
    _free.clear()
    body = b"b" * 1_000_000
    client.sendall(POST.replace(b"/", BUSY, 1) + b"Content-Length: %d\r\n\r\n" % len(body) + body[:500_000])
    assert expired.wait(DEADLINE)
    _free.set()
    client.sendall(body[500_000:])
    assert _answer(client)[1] == body
