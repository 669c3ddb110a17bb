"""HTTP/1.1 with limits that uvicorn leaves to a proxy: how large a request's head may be, and how long it may take.

Without them one connection could fill the memory with headers, or stay open for ever with a request that never ends.
"""

import json
from asyncio import TimerHandle, Transport
from http import HTTPStatus
from typing import Literal

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from hybriddp.service.problems import MEDIA_TYPE, SECURITY_HEADERS, Refusal, problem

MAX_HEAD_BYTES = 65_536  # address, names and values of headers; trailers count too
MAX_HEADERS = 100
HEAD_SECONDS = 30.0  # from the connection's start or, for a later request, from its first byte
BODY_SECONDS = 60.0  # from the end of the head

_LIMITS = f"A request's address and headers may have {MAX_HEAD_BYTES:,} bytes, and {MAX_HEADERS} headers."
_TOO_LARGE = Refusal("too-large", _LIMITS, status=HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
_NOT_HTTP = Refusal("malformed", "This is not an HTTP/1.1 request, or its method does not exist.")
_CLOSING = [*SECURITY_HEADERS, (b"cross-origin-resource-policy", b"same-origin"), (b"connection", b"close")]


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits of size and time for a request.

    Beyond the size the answer is 431, beyond the time there is none; either way the connection is closed. A connection
    that waits for its next request has uvicorn's own time for that.
    """

    _arriving: Literal["head", "body"] | None = None
    _timer: TimerHandle | None = None
    _size = 0
    _unseen = 0  # bytes in a row of which the parser has told nothing: it collects a header until that is complete
    _too_large = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unseen += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._unseen > MAX_HEAD_BYTES:
            self._too_large = True
            self.send_400_response("")
        elif self._timer is None and (self._arriving or (self.cycle is not None and self.cycle.response_complete)):
            # Only here, since most requests arrive in one piece and need no timer. After an answer any byte ends
            # uvicorn's own wait, even the end of a body that nobody wanted or an empty line, which begins no request.
            self._start_timer()

    def on_message_begin(self) -> None:
        self._size = self._unseen = 0
        self._arriving = "head"
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        self._stop_timer()
        super().on_headers_complete()
        self._arriving = "body"

    def on_body(self, body: bytes) -> None:
        self._unseen = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._stop_timer()
        self._arriving = None
        super().on_message_complete()

    def _count(self, size: int) -> None:
        self._unseen = 0
        self._size += size
        if self._size > MAX_HEAD_BYTES or len(self.headers) > MAX_HEADERS:
            self._too_large = True
            raise Refusal("too-large")  # ends the parsing, and then the answer is sent

    def send_400_response(self, msg: str) -> None:
        """Close the connection; with an answer, unless it would be taken for the one to an earlier request."""
        if self._arriving == "body":
            in_turn = not self.cycle.response_started and not self.pipeline
        else:
            in_turn = self.cycle is None or self.cycle.response_complete
        if in_turn:
            refusal = _TOO_LARGE if self._too_large else _NOT_HTTP
            body = json.dumps(problem(refusal), ensure_ascii=False).encode()
            sized = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(body)).encode())]
            lines = [b"%s: %s\r\n" % header for header in [*sized, *_CLOSING]]
            self.transport.write(b"".join([STATUS_LINE[refusal.status], *lines, b"\r\n", body]))
        self.transport.close()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(BODY_SECONDS if self._arriving == "body" else HEAD_SECONDS, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if self.flow.read_paused:  # it is the application that does not read on
            self._start_timer()
        else:
            self.transport.close()
