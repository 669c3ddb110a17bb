import time

import anyio
import httpx
import pytest

from hybriddp.client.drivers import check_url, conduct, conduct_async, http_settings
from hybriddp.client.exchange import Conversation, HttpAnswer, HttpRequest, Pause, Store
from hybriddp.errors import ParameterError


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
