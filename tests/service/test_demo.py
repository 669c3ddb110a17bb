"""The demo against a server that only remembers what it was sent."""

import json

import httpx
import pytest

from hybriddp.errors import ParameterError, ProtocolError
from hybriddp.mean import MeanStudy
from hybriddp.service import demo
from hybriddp.service.demo import DemoCounts, run_demo
from hybriddp.service.tokens import TokenKeys

SECRET = b"s" * 64


class Server:
    """A curator that believes everything, and closes after so many requests."""

    def __init__(self, *, most: int = 10_000, not_ready: int = 0, refuse: str = "") -> None:
        self.asked: list[tuple[str, dict[str, object]]] = []
        self.people: list[str] = []
        self.most, self.not_ready, self.refuse = most, not_ready, refuse

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path, bearer = request.url.path, request.headers.get("authorization", "").removeprefix("Bearer ")
        if path == "/ready":
            self.not_ready -= 1
            if self.not_ready == 1:
                raise httpx.ConnectError("not yet")
            return httpx.Response(503 if self.not_ready >= 0 else 200)
        body = json.loads(request.content)
        self.asked.append((path, body))
        if path == self.refuse or len(self.asked) > self.most:
            reason = "malformed" if path == self.refuse else "closed"
            return httpx.Response(409, json={"reason": reason})
        if path in ("/studies", "/relays"):
            assert bearer == "hdpa_x"
        elif path.endswith("/batches"):
            assert bearer == "hdpr_x"
            self.people += [report["participant"] for report in body["reports"]]
        else:
            self.people.append(TokenKeys(SECRET).subject(bearer, "demo"))
        return httpx.Response(201, json={"key": "hdpr_x"})

    def run(self, n: int = 120, seconds: float = 60.0) -> DemoCounts:
        transport = httpx.MockTransport(self)
        return run_demo("http://demo", "hdpa_x", SECRET, n, seconds=seconds, pause=0, transport=transport)

    def sent(self, end: str) -> list[dict[str, object]]:
        return [body for path, body in self.asked if path.endswith(end)]


def test_so_many_people_take_part_each_once() -> None:
    server = Server()
    counts = server.run(120)
    assert counts.trusted + counts.local == 120 == len(set(server.people)) == len(server.people)
    assert counts.trusted == len(server.sent("/values")) == 6
    assert len(server.sent("/reports")) == 9
    assert sum(len(body["reports"]) for body in server.sent("/batches")) == 105  # type: ignore[misc]


def test_the_study_says_that_people_are_simulated() -> None:
    server = Server()
    server.run(1)
    (wanted,) = server.sent("/studies")
    study = MeanStudy.from_json(json.dumps(wanted["study"], separators=(",", ":"), ensure_ascii=False))
    assert study == demo.STUDY
    assert "simulated" in study.name
    assert "simulated" in str(wanted["consent"])


def test_contributions_have_the_form_that_the_server_takes() -> None:
    server = Server()
    server.run(50)
    for body in (*server.sent("/values"), *server.sent("/reports")):
        assert body["digest"] == demo.STUDY.digest
        assert len(bytes.fromhex(str(body["nonce"]))) == 16
    assert all(isinstance(body["value"], float) and "code" not in body for body in server.sent("/values"))
    assert all(isinstance(body["code"], int) and "value" not in body for body in server.sent("/reports"))
    nonces = [str(body.get("nonce")) for _, body in server.asked if "nonce" in body]
    assert len(set(nonces)) == len(nonces)


def test_it_waits_for_the_server_and_ends_with_the_study() -> None:
    server = Server(not_ready=3, most=10)
    counts = server.run(10_000)
    assert len(server.asked) == 11
    assert 0 < counts.trusted + counts.local < 10_000


def test_it_ends_in_time_and_when_the_server_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Server().run(10_000, seconds=0) == DemoCounts(0, 0)
    monkeypatch.setattr(demo, "_PATIENCE", -1.0)
    assert Server(not_ready=2).run() == DemoCounts(0, 0)
    with pytest.raises(ProtocolError, match="did not get ready"):
        Server(not_ready=9).run()


def test_what_is_refused_for_other_reasons_is_told() -> None:
    with pytest.raises(ProtocolError, match="refused \\(malformed\\)"):
        Server(refuse="/relays").run()
    with pytest.raises(ParameterError, match="n must be"):
        Server().run(0)


def test_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[object, ...]] = []
    monkeypatch.setattr(demo, "run_demo", lambda *arguments: given.append(arguments))
    thread = demo.start_demo("http://demo", "hdpa_x", SECRET)
    thread.join()
    assert given == [("http://demo", "hdpa_x", SECRET)]
    assert thread.daemon
