"""What attacks have in common: studies of their own, and what every refusal must look like."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx

from hybriddp import FrequencyStudy, MeanStudy
from hybriddp.service.problems import MEDIA_TYPE, REASONS
from tests.service.running import Running

NONCE = "0123456789abcdef" * 2
AWKWARD = (
    "'; DROP TABLE studies; --",
    "' OR '1'='1",
    "a\x00b",
    "\x1b[2J\x07",
    "line\r\nSet-Cookie: a=b",
    "minutes\n",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "%s%n{0}{{7*7}}${7*7}",
    "\u202eevil\ufeff",
    "💧" * 20,
    " ",
)
_numbers = count(1)


@dataclass(frozen=True)
class Target:
    """A study on a server."""

    server: Running
    study: Any  # of either kind
    id: str

    def send(self, body: object, *, who: str = "a", to: str = "reports", **headers: str) -> httpx.Response:
        """A body, as JSON or as the bytes that it is, with somebody's token."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        token = self.server.token(who, self.id)["Authorization"]
        given = {"content-type": "application/json", "authorization": token} | headers
        return self.server.http.post(f"/studies/{self.id}/{to}", headers=given, content=content)

    def report(self, code: object = 7, **changed: object) -> dict[str, object]:
        return {"digest": self.study.digest, "code": code, "nonce": NONCE} | changed

    def value(self, value: object = 7.0, **changed: object) -> dict[str, object]:
        return {"digest": self.study.digest, "value": value, "nonce": NONCE} | changed

    def raw(self, number: str, name: str = "code") -> bytes:
        """A report or a value whose number stands there as it is written."""
        return f'{{"digest":"{self.study.digest}","{name}":{number},"nonce":"{NONCE}"}}'.encode()

    def counts(self) -> dict[str, int]:
        found: dict[str, int] = self.server.http.get(f"/studies/{self.id}", headers=self.server.admin).json()["counts"]
        return found

    def move(self, action: str) -> httpx.Response:
        return self.server.move(action, self.id)


def new_target(server: Running, **fields: object) -> Target:
    """A study of its own."""
    number = next(_numbers)
    target = Target(server, MeanStudy(f"minutes {number}", bounds=(0, 240), epsilon=1.0), f"minutes-{number}")
    made = server.create(target.study, target.id, **fields)
    assert made.status_code == 201, made.text
    return target


def new_frequency_target(server: Running, *, study: FrequencyStudy, **fields: object) -> Target:
    """A study of these frequencies."""
    target = Target(server, study, f"shares-{next(_numbers)}")
    made = server.create(study, target.id, **fields)
    assert made.status_code == 201, made.text
    return target


def refused(answer: httpx.Response, *planted: str) -> str:
    """The reason of a refusal, which is a problem document without anything that was planted."""
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text)
    assert answer.headers["content-type"] == MEDIA_TYPE
    told: dict[str, Any] = answer.json()
    assert set(told) == {"type", "title", "status", "detail", "reason"}
    assert told["status"] == answer.status_code
    assert told["reason"] in REASONS
    assert told["type"] == f"urn:hybriddp:problem:{told['reason']}"
    for secret in planted:
        assert secret not in answer.text
        assert all(secret not in value for value in answer.headers.values())
    return str(told["reason"])


def operations(server: Running) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, address and description of everything that the OpenAPI document has."""
    for path, methods in server.http.get("/schema/openapi.json").json()["paths"].items():
        for method, described in methods.items():
            yield method.upper(), path, described
