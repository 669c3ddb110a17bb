"""Attacks by bodies and numbers, over real sockets: each is refused with a reason, and nothing of it is counted."""

import json

import pytest

from tests.service.attacking import NONCE, Target, new_target, refused
from tests.service.running import CONSENT, Running

VALUE = "123.4567891"


@pytest.fixture(scope="module")
def target(kept_server: Running) -> Target:
    """A study that nothing here gets into."""
    return new_target(kept_server)


# Bodies


def test_bodies_that_two_programs_could_read_in_two_ways(target: Target) -> None:
    good = json.dumps(target.report())
    bodies = {
        "no body": b"",
        "a key twice": good.replace('"code": 7', '"code": 7, "code": 8').encode(),
        "a key twice, escaped": good.replace('"code": 7', '"code": 7, "c\\u006fde": 8').encode(),
        "no UTF-8": good.replace("digest", "dig\xe9st").encode("latin-1"),
        "UTF-16": good.encode("utf-16"),
        "a byte order mark": b"\xef\xbb\xbf" + good.encode(),
        "something behind it": good.encode() + b" {}",
        "a comment": good.encode() + b" // code",
        "single quotes": good.replace('"', "'").encode(),
        "an array": f"[{good}]".encode(),
        "a text": json.dumps(good).encode(),
        "null": b"null",
        "an unknown field": json.dumps(target.report() | {"value": float(VALUE)}).encode(),
        "a missing field": json.dumps({"digest": target.study.digest, "code": 7}).encode(),
        "nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        "nested arrays": b"[" * 400_000,
        "a nested code": target.raw("[" * 500 + "]" * 500),
    }
    for name, body in bodies.items():
        assert refused(target.send(body), VALUE) in ("malformed", "too-large"), name
    assert target.counts() == {"trusted": 0, "local": 0}


def test_a_study_nested_deeply(target: Target) -> None:
    for depth in (10, 400, 900, 1000, 5000):
        nested = b'{"a":' * depth + b"1" + b"}" * depth
        body = (
            b'{"study":'
            + nested
            + b',"consent":'
            + json.dumps(CONSENT).encode()
            + b',"closes_at":"2099-01-01T00:00:00Z"}'
        )
        headers = target.server.admin | {"content-type": "application/json"}
        assert refused(target.server.http.post("/studies", headers=headers, content=body)) == "malformed"


@pytest.mark.parametrize(
    "media_type",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/x-msgpack",
        "?",
    ],
)
def test_only_json_is_read(target: Target, media_type: str) -> None:
    answer = target.send(target.report(), **{"content-type": media_type})
    assert (answer.status_code, refused(answer)) == (415, "malformed")
    pilot = new_target(target.server, tokens=False)  # no preflight of a browser protects it from other types
    assert refused(pilot.send(pilot.report(), **{"content-type": media_type})) == "malformed"


def test_bodies_that_are_too_large(target: Target) -> None:
    assert target.send(b" " * 1_000_001).status_code == 413
    headers = target.server.token("a", target.id) | {"content-type": "application/json"}
    chunks = (b" " * 100_000 for _ in range(30))  # nobody says how long it is
    answer = target.server.http.post(f"/studies/{target.id}/reports", headers=headers, content=chunks)
    assert refused(answer) == "too-large"
    reports = [{"participant": f"{i}", "code": 1, "nonce": NONCE} for i in range(1001)]
    batch = {"digest": target.study.digest, "reports": reports}
    relay = target.server.relay("large")
    answer = target.server.http.post(f"/studies/{target.id}/batches", headers=relay, json=batch)
    assert refused(answer) == "too-large"
    assert target.counts() == {"trusted": 0, "local": 0}


def test_a_body_in_chunks_without_a_length_is_fine(kept_server: Running) -> None:
    target = new_target(kept_server)
    headers = kept_server.token("a", target.id) | {"content-type": "application/json; charset=utf-8"}
    chunks = (bytes([byte]) for byte in json.dumps(target.report()).encode())
    assert kept_server.http.post(f"/studies/{target.id}/reports", headers=headers, content=chunks).status_code == 201


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"])
def test_other_methods(target: Target, method: str) -> None:
    for path in ("/studies", f"/studies/{target.id}", f"/studies/{target.id}/reports", "/nothing", "/health"):
        answer = target.server.http.request(method, path)
        assert answer.status_code in (404, 405)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["x-content-type-options"] == "nosniff"


# Contributions


@pytest.mark.parametrize(
    "number",
    [
        "7.0",
        "7e0",
        "7.5",
        VALUE,
        "true",
        "false",
        "null",
        '"7"',
        "[7]",
        "{}",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e400",
        "9" * 5000,
    ],
)
def test_a_code_is_a_whole_number(target: Target, number: str) -> None:
    assert refused(target.send(target.raw(number)), VALUE) == "malformed"


@pytest.mark.parametrize(
    "number", ["-1", "256", "1000", "4294967303", "18446744073709551623", "-" + "9" * 40, "9" * 400]
)
def test_a_code_is_one_that_a_device_can_send(target: Target, number: str) -> None:
    answer = target.send(target.raw(number), to="reports/withdraw" if number == "-1" else "reports")
    assert (answer.status_code, refused(answer)) == (422, "out-of-range")
    assert len(answer.text) < 300


def test_a_raw_value_does_not_fit_into_a_report(target: Target) -> None:
    for body in (target.value(float(VALUE)), target.report() | {"value": float(VALUE)}, target.report(float(VALUE))):
        assert refused(target.send(body), VALUE) == "malformed"
    reports = [{"participant": "a", "value": float(VALUE), "nonce": NONCE}]
    batch = {"digest": target.study.digest, "reports": reports}
    relay = target.server.relay("curious")
    answer = target.server.http.post(f"/studies/{target.id}/batches", headers=relay, json=batch)
    assert answer.json()["rejected"] == [{"index": 0, "reason": "malformed"}]
    assert VALUE not in answer.text
    assert target.counts() == {"trusted": 0, "local": 0}


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e400", "9" * 400, "true", f'"{VALUE}"', "null", f"[{VALUE}]"]
)
def test_a_value_is_a_finite_number(target: Target, number: str) -> None:
    assert refused(target.send(target.raw(number, "value"), to="values"), VALUE) in ("malformed", "out-of-range")


def test_values_beyond_the_bounds_count_as_the_bounds(kept_server: Running) -> None:
    target = new_target(kept_server)
    for who, number in (("a", "1e308"), ("b", "-1e308"), ("c", "9" * 300), ("d", "-0.0"), ("e", "5e-324")):
        assert target.send(target.raw(number, "value"), who=who, to="values").status_code == 201
    assert target.counts() == {"trusted": 5, "local": 0}


@pytest.mark.parametrize("digest", ["0" * 64, "F" * 64, "0" * 63, "", "0" * 64 + "\n"])
def test_the_digest_of_something_else(target: Target, digest: str) -> None:
    for to, body in (("reports", target.report(digest=digest)), ("values", target.value(float(VALUE), digest=digest))):
        reason = refused(target.send(body, to=to), VALUE)
        assert reason == ("wrong-digest" if digest == "0" * 64 else "malformed")
