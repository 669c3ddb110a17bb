"""What stands around every answer: security headers, CORS, limits, and being ready or not."""

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar.types import Message
from sqlalchemy import create_engine

from hybriddp.errors import DataError
from hybriddp.service.app import Prepared, prepare
from hybriddp.service.keys import ADMIN, new_key, same_key
from hybriddp.service.routes.access import RateLimit, TooManyRequests
from hybriddp.service.settings import Settings
from hybriddp.service.store.engine import open_engine
from tests.service.attacking import Target, new_target, operations, refused
from tests.service.conftest import empty_database
from tests.service.running import Running, running

ORIGIN = "https://app.example.org"


@pytest.fixture(scope="module")
def target(kept_server: Running) -> Target:
    return new_target(kept_server, origins=[ORIGIN, "http://localhost:3000"])


def addresses(target: Target) -> Iterator[httpx.Response]:
    """An answer of each kind: of every route, without a route, refused and failed."""
    http = target.server.http
    for method, path, _ in operations(target.server):
        yield http.request(method, path.replace("{study_id}", target.id).replace("{name}", "x"))
    for method, path in (
        ("GET", "/nothing"),
        ("PUT", "/studies"),
        ("GET", "/operator"),
        ("GET", "/schema/openapi.json"),
    ):
        yield http.request(method, path)
    yield http.get("/studies", headers=target.server.admin)
    yield http.post("/studies", content=b" " * 1_000_001)


def test_every_answer_has_security_headers(target: Target) -> None:
    answers = list(addresses(target))
    assert {answer.status_code for answer in answers} >= {200, 400, 401, 404, 405}
    for answer in answers:
        told = answer.headers
        assert told["x-content-type-options"] == "nosniff"
        assert told["x-frame-options"] == "DENY"
        assert told["referrer-policy"] == "no-referrer"
        assert told["cache-control"] == "no-store"
        assert "default-src 'none'" in told["content-security-policy"]
        assert "frame-ancestors 'none'" in told["content-security-policy"]
        assert "script-src" not in told["content-security-policy"]
        assert not {"access-control-allow-origin", "access-control-allow-credentials"} & set(
            told
        ) or answer.url.path == ("/.well-known/hybriddp-receipts.json")


def test_a_study_s_origins_may_read_its_answers(target: Target) -> None:
    http, path = target.server.http, f"/studies/{target.id}"
    for origin in (ORIGIN, "http://localhost:3000"):
        answers = [
            http.get(path, headers={"origin": origin}),
            http.post(f"{path}/reports", headers={"origin": origin}, json={}),  # what is wrong can be read too
            http.get(f"{path}/result", headers={"origin": origin}),
        ]
        assert [answer.status_code for answer in answers] == [200, 400, 404]
        for answer in answers:
            assert answer.headers["access-control-allow-origin"] == origin
            assert answer.headers["vary"] == "Origin"
            assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
            assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "*",
        f"{ORIGIN}.evil.example",
        f"{ORIGIN}:444",
        ORIGIN.upper(),
        f"{ORIGIN}/",
        "http://app.example.org",
    ],
)
def test_other_origins_get_nothing(target: Target, origin: str) -> None:
    for method in ("GET", "OPTIONS"):
        told = target.server.http.request(method, f"/studies/{target.id}", headers={"origin": origin}).headers
        assert not [name for name in told if name.startswith("access-control-")]
        assert told["cross-origin-resource-policy"] == "same-origin"


def test_a_study_s_origins_are_no_other_study_s(target: Target) -> None:
    other = new_target(target.server)
    for path in (f"/studies/{other.id}", "/studies", "/health", "/studies/nothing"):
        told = target.server.http.get(path, headers={"origin": ORIGIN} | target.server.admin).headers
        assert "access-control-allow-origin" not in told


def test_a_preflight_is_answered(target: Target) -> None:
    asked = {
        "origin": ORIGIN,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    answer = target.server.http.options(f"/studies/{target.id}/values", headers=asked)
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-expose-headers"] == "retry-after"
    assert {"authorization", "content-type"} <= set(answer.headers["access-control-allow-headers"].split(", "))


def test_everybody_may_read_the_key_of_receipts(target: Target) -> None:
    answer = target.server.http.get("/.well-known/hybriddp-receipts.json", headers={"origin": "https://any.example"})
    assert answer.headers["access-control-allow-origin"] == "*"
    (key,) = answer.json()["keys"]
    assert (key["kty"], key["crv"], key["alg"]) == ("OKP", "Ed25519", "EdDSA")
    assert "d" not in key  # that would be the private one


def test_nothing_comes_from_elsewhere(target: Target) -> None:
    described = target.server.http.get("/schema/openapi.json").text
    assert "cdn." not in described
    for path in ("/schema/swagger", "/schema/redoc", "/schema/elements"):
        assert target.server.http.get(path).status_code == 404


def test_what_has_no_route_is_counted(target: Target) -> None:
    target.server.http.get("/wp-login.php")
    told = target.server.http.get("/metrics", headers=target.server.admin).text
    assert 'hybriddp_rejected_total{reason="not-found",route="other"}' in told
    assert "wp-login" not in told


def test_health_and_readiness(kept_server: Running) -> None:
    state = kept_server.prepared.app.state
    assert kept_server.http.get("/health").json() == {"status": "ok"}
    assert kept_server.http.get("/ready").json() == {"status": "ready"}
    state.draining = True
    stopping = kept_server.http.get("/ready")
    state.draining = False
    assert (stopping.status_code, stopping.json()["reason"]) == (503, "unavailable")
    assert stopping.headers["retry-after"]
    assert kept_server.http.get("/health").status_code == 200


def test_a_database_that_does_not_answer(kept_server: Running, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    target = new_target(kept_server)
    broken = create_engine(f"sqlite:///{tmp_path / 'no' / 'such' / 'folder'}")
    curator = kept_server.prepared.app.state.curator
    monkeypatch.setattr(curator, "engine", broken)
    monkeypatch.setattr(curator.writer, "_engine", broken)
    for answer in (
        kept_server.http.get("/ready"),
        kept_server.http.get(f"/studies/{target.id}"),
        target.send(target.value(123.4567891), to="values"),
    ):
        assert (answer.status_code, answer.json()["reason"]) == (503, "unavailable")
        assert answer.headers["retry-after"]
        assert "123" not in answer.text
        assert "sqlite" not in answer.text


def test_an_exception_that_nobody_expected_shows_nothing(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("the value 123.4567891 of somebody")

    monkeypatch.setattr("hybriddp.service.participation.contribute", fail)
    answer = target.send(target.value(123.4567891), to="values")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert "somebody" not in answer.text
    assert "123" not in answer.text


# How often


def test_a_token_has_so_many_requests_a_minute() -> None:
    rate = RateLimit(3)
    for _ in range(3):
        rate.count("a", 60)
    for now, seconds in ((60, 60), (61, 59), (119, 1)):
        with pytest.raises(TooManyRequests, match=f"Wait {seconds} second") as refusal:
            rate.count("a", now)
        assert (refusal.value.reason, refusal.value.seconds) == ("too-many", seconds)
    rate.count("b", 119)
    rate.count("a", 120)  # the next minute
    for _ in range(10):
        RateLimit(0).count("a", 60)


@pytest.mark.slow
def test_limits_of_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybriddp.service.routes.contributions.monotonic", lambda: 90.0)  # a minute that does not end
    with running(tmp_path, requests_per_minute=5, max_body=2_000_000, max_batch=2) as server:
        target, other = new_target(server), new_target(server)
        assert other.move("close").status_code == 200
        receipt = f"/studies/{target.id}/receipt"
        answers = [server.http.get(receipt, headers=server.token("a", target.id)) for _ in range(7)]
        assert [answer.status_code for answer in answers] == [404] * 5 + [429] * 2
        assert refused(answers[-1]) == "too-many"
        assert answers[-1].headers["retry-after"] == "30"
        assert server.http.get(receipt, headers=server.token("b", target.id)).status_code == 404
        assert server.http.get(f"/studies/{target.id}").status_code == 200  # what is public stays so
        for n, status in ((2, 409), (3, 413)):  # closed, or too many
            reports = [{"participant": f"{i}", "code": 1, "nonce": "0" * 32} for i in range(n)]
            body = {"digest": other.study.digest, "reports": reports}
            headers = server.relay(f"relay {n}")
            assert server.http.post(f"/studies/{other.id}/batches", headers=headers, json=body).status_code == status
        padded = json.dumps(other.report()).encode()
        assert other.send(padded.ljust(2_000_000)).status_code == 409  # read, and closed
        assert other.send(padded.ljust(2_000_001)).status_code == 413


# Starting


def prepared_and_closed(settings: Settings, *, new_admin_key: bool = False) -> Prepared:
    """A server that has been started and stopped."""
    prepared = prepare(settings, new_admin_key=new_admin_key)
    prepared.app.state.curator.close()
    return prepared


@pytest.mark.slow
def test_the_admin_key_is_shown_once(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", key_file=tmp_path / "key")
    first = prepared_and_closed(settings)
    again = prepared_and_closed(settings)
    assert first.admin_key is not None
    assert first.admin_key.startswith("hdpa_")
    assert again.admin_key is None
    assert not any(
        first.admin_key.encode() in file.read_bytes() for file in (tmp_path / "data").rglob("*") if file.is_file()
    )
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0
    assert (tmp_path / "key").stat().st_mode & 0o077 == 0


def test_settings_that_are_wrong(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        prepare(Settings(data=tmp_path / "data", key_file=tmp_path / "key", port=-1))
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_a_lost_admin_key_is_replaced(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", key_file=tmp_path / "key")
    first, second = prepared_and_closed(settings), prepared_and_closed(settings)
    third = prepared_and_closed(settings, new_admin_key=True)
    assert second.admin_key is None
    assert third.admin_key not in (None, first.admin_key)
    assert same_key(str(third.admin_key), third.app.state.admin_hash)
    assert not same_key(str(first.admin_key), third.app.state.admin_hash)


@pytest.mark.slow
def test_an_admin_key_can_be_given(tmp_path: Path) -> None:
    given, other = new_key(ADMIN), new_key(ADMIN)
    settings = Settings(data=tmp_path / "data", key_file=tmp_path / "key", admin_key=given)
    for _ in range(2):
        started = prepared_and_closed(settings)
        assert started.admin_key is None  # whoever gave it knows it
        assert same_key(given, started.app.state.admin_hash)
    with pytest.raises(DataError, match="The admin key in the settings is not that of this database") as refusal:
        prepare(replace(settings, admin_key=other))
    assert not any(key in str(refusal.value) for key in (given, other))
    replaced = prepared_and_closed(replace(settings, admin_key=other), new_admin_key=True)
    assert same_key(other, replaced.app.state.admin_hash)
    assert prepared_and_closed(replace(settings, admin_key="")).admin_key is None


@pytest.mark.parametrize("umask", [0o022, 0o000])
def test_nobody_else_may_read_the_database(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        prepared = prepare(Settings(data=tmp_path / "data", key_file=tmp_path / "key"))
        elsewhere = open_engine(f"sqlite:///{tmp_path / 'elsewhere.sqlite'}")
    finally:
        os.umask(before)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"hybriddp.sqlite", "hybriddp.sqlite-wal", "elsewhere.sqlite", "key"}
    assert {path.name: path.stat().st_mode & 0o077 for path in files} == dict.fromkeys((p.name for p in files), 0)
    elsewhere.dispose()
    prepared.app.state.curator.close()


def test_a_client_that_goes_away_is_no_failure(target: Target, caplog: pytest.LogCaptureFixture) -> None:
    sent: list[Message] = []

    async def half_a_body(path: str, media_type: str) -> None:
        messages: list[Any] = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"{", "more_body": True}]
        headers = [(b"content-type", media_type.encode()), (b"content-length", b"100")]
        scope: Any = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "headers": headers}
        scope |= {"query_string": b"", "scheme": "http", "http_version": "1.1", "root_path": "", "asgi": {}}

        async def receive() -> Any:
            return messages.pop()

        async def send(message: Message) -> None:
            sent.append(message)

        await target.server.prepared.app(scope, receive, send)

    for path in ("reports", "values", "batches"):
        asyncio.run(half_a_body(f"/studies/{target.id}/{path}", "application/json"))
    for path in (f"/studies/{target.id}/take-part", "/operator/login"):
        asyncio.run(half_a_body(path, "application/x-www-form-urlencoded"))
    assert [message["status"] for message in sent if message["type"] == "http.response.start"] == [400] * 5
    assert not [record for record in caplog.records if record.msg == "failure"]


@pytest.mark.slow
def test_a_data_folder_has_one_server(tmp_path: Path, postgresql: str) -> None:
    settings = Settings(data=tmp_path / "data", key_file=tmp_path / "key")
    first = prepare(settings)
    try:
        with pytest.raises(DataError, match="Another server uses .*data. Stop it first"):
            prepare(settings)
        for database in empty_database(postgresql):  # which several servers may share
            shared = Settings(data=tmp_path / "data", key_file=tmp_path / "key", database=database)
            servers = [prepare(shared), prepare(shared)]
            for server in servers:
                server.app.state.curator.close()
    finally:
        first.app.state.curator.close()
    assert prepared_and_closed(settings).admin_key is None


@pytest.mark.slow
def test_a_start_that_fails_leaves_the_folder_free(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", key_file=tmp_path / "key")
    prepared_and_closed(settings)
    other = Settings(data=tmp_path / "data", key_file=tmp_path / "other")
    for _ in range(2):
        with pytest.raises(DataError, match="its key file .* is missing"):
            prepare(other)
    prepared_and_closed(settings)
