import gzip
import time
from collections.abc import AsyncIterator, Iterator

import anyio
import httpx
import pytest

from hybriddp.client.drivers import check_url, conduct, conduct_async, http_settings
from hybriddp.client.exchange import Conversation, HttpAnswer, HttpRequest, NoAnswer, Pause, Store
from hybriddp.errors import ParameterError, ProtocolError


@pytest.mark.parametrize(
    "url",
    ["https://c.org", "https://c.org:8443/a/b", "http://127.0.0.1:8421", "http://localhost:1", "http://[::1]:8421"],
)
def test_addresses(url: str) -> None:
    assert check_url(url + "/", allow_http=False) == url


@pytest.mark.parametrize(
    "url",
    ["", "c.org", "ftp://c.org", "https://", "https://c.org?x=1", "https://c.org#x", "https://c.org:99999", "https://[",
     "https://c.org\n", "https://cü.org", None],
)  # fmt: skip
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ParameterError, match="url must be an address such as"):
        check_url(url, allow_http=True)


def test_a_password_in_an_address_is_not_shown() -> None:
    with pytest.raises(ParameterError) as caught:
        check_url("https://me:hunter2@c.org", allow_http=False)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://c.org", "http://10.0.0.1", "http://localhost.evil.org"])
def test_plain_http_needs_to_be_allowed(url: str) -> None:
    assert check_url(url, allow_http=True) == url
    with pytest.raises(ParameterError, match="https address"):
        check_url(url, allow_http=False)


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that comes in parts, and knows how many of them were read."""

    def __init__(self, part: bytes, count: int) -> None:
        self.part, self.count, self.read = part, count, 0

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(self.count):
            self.read += 1
            yield self.part

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self:
            yield part


def _get() -> Conversation[HttpAnswer]:
    answer: HttpAnswer = yield HttpRequest("GET", "/x")
    return answer


def _conducted(kind: str, transport: httpx.MockTransport, timeout: float = 1.0) -> object:
    """What one request comes to, with one of the drivers."""
    settings = http_settings("https://c.org", timeout)
    if kind == "blocking":
        with httpx.Client(**settings, transport=transport) as http:
            return conduct(_get(), http)

    async def run() -> object:
        async with httpx.AsyncClient(**settings, transport=transport) as http:
            return await conduct_async(_get(), http)

    return anyio.run(run)


@pytest.mark.parametrize("kind", ["blocking", "async"])
@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "br", "GZIP", "identity, gzip"])
def test_a_compressed_answer_is_refused_before_it_is_read(kind: str, encoding: str) -> None:
    body = Body(gzip.compress(gzip.compress(bytes(10_000_000))), 1)
    headers = {"Content-Encoding": encoding}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, stream=body))
    with pytest.raises(ProtocolError, match="is compressed"):
        _conducted(kind, transport)
    assert body.read == 0


@pytest.mark.parametrize("kind", ["blocking", "async"])
def test_a_body_in_parts_is_put_together_as_it_came(kind: str) -> None:
    headers = {"Content-Encoding": "Identity"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, stream=Body(b"ab", 3)))
    answer = _conducted(kind, transport)
    assert isinstance(answer, HttpAnswer)
    assert answer.body == b"ababab"


def test_an_answer_that_drips_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    body = Body(b" ", 1000)
    monkeypatch.setattr(time, "monotonic", lambda: 0.3 * body.read)
    transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=body))
    assert _conducted("blocking", transport, timeout=0.5) == NoAnswer("the answer was too slow")
    assert body.read == 11  # 3.3 of 3 seconds


@pytest.mark.parametrize("where", ["head", "body"])
def test_an_answer_that_never_ends_has_a_deadline_in_async(where: str) -> None:
    class Endless(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b" "
            await anyio.sleep(5)
            yield b" "

    async def answer(_: httpx.Request) -> httpx.Response:
        if where == "head":
            await anyio.sleep(5)
        return httpx.Response(200, stream=Endless())

    assert _conducted("async", httpx.MockTransport(answer), timeout=0.01) == NoAnswer("the answer was too slow")


def _talk() -> Conversation[list[object]]:
    answer = yield HttpRequest("POST", "/x", b"{}", "t")
    paused = yield Pause(0.25)
    kept = yield Store(lambda: "kept")
    return [answer, paused, kept]


def _echo(request: httpx.Request) -> httpx.Response:
    said = f"{request.method} {request.url} {request.headers['Authorization']} {request.headers['User-Agent'][:9]}"
    return httpx.Response(207, content=said.encode(), headers={"Retry-After": "3"})


def _check(result: list[object], waited: list[float]) -> None:
    answer, paused, kept = result
    assert isinstance(answer, HttpAnswer)
    assert (answer.status, answer.body) == (207, b"POST https://c.org/a/x Bearer t hybriddp/")
    assert answer.headers["retry-after"] == "3"
    assert (paused, kept, waited) == (None, "kept", [0.25])


def test_both_drivers_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    settings = http_settings("https://c.org/a", 1.0)
    monkeypatch.setattr(time, "sleep", waited.append)
    with httpx.Client(**settings, transport=httpx.MockTransport(_echo)) as http:
        _check(conduct(_talk(), http), waited)

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    async def run() -> list[object]:
        async with httpx.AsyncClient(**settings, transport=httpx.MockTransport(_echo)) as http:
            return await conduct_async(_talk(), http)

    waited.clear()
    monkeypatch.setattr(anyio, "sleep", sleep)
    _check(anyio.run(run), waited)
