"""A demo: one study and simulated people who take part over HTTP, so that there is something to see.

The people are made up; only the way is real. Some are trusted and send their value with a token, some are local and
send a report with a token, and most local ones come in batches from a relay. It ends after so many people or some time.
"""

import json
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import httpx
import numpy as np

from hybriddp import _check
from hybriddp.errors import ProtocolError
from hybriddp.mean import MeanStudy
from hybriddp.service.observe import log_event
from hybriddp.service.tokens import mint

__all__ = ["DemoCounts", "run_demo", "start_demo"]

STUDY_ID = "demo"
STUDY = MeanStudy("Minutes per session (simulated people)", bounds=(0, 240), epsilon=1)

_CONSENT = {
    "organization": "Nobody: this is a demo",
    "purpose": "Showing what a curator does. All people are simulated.",
    "contact": "None",
}
_TRUSTED, _LOCAL, _BATCH = 2, 3, 45  # people at each step: with tokens of their own, and in a batch
_PAUSE = 0.1  # seconds between steps
_PATIENCE = 30.0  # seconds for the server to get ready


@dataclass(frozen=True, slots=True)
class DemoCounts:
    """How many simulated people took part."""

    trusted: int
    local: int


def start_demo(url: str, admin_key: str, token_secret: bytes) -> threading.Thread:
    """Run the demo in the background, as long as the server runs."""
    thread = threading.Thread(target=run_demo, args=(url, admin_key, token_secret), name="hybriddp-demo", daemon=True)
    thread.start()
    return thread


def run_demo(
    url: str,
    admin_key: str,
    token_secret: bytes,
    n: int = 20_000,
    *,
    seconds: float = 600.0,
    pause: float = _PAUSE,
    transport: httpx.BaseTransport | None = None,
) -> DemoCounts:
    """Create a study and send the contributions of ``n`` simulated people, for at most so many ``seconds``.

    It ends early, without an error, when the server stops or the study is closed.
    """
    _check.integer("n", n, at_least=1)
    ends = time.monotonic() + seconds
    people = _people(n)
    trusted = local = 0
    with httpx.Client(base_url=url, timeout=10.0, transport=transport) as client:
        try:
            _wait_until_ready(client, pause)
            sender = _Sender(client, admin_key, token_secret)
            log_event("demo: all people are simulated", study=STUDY_ID)
            while time.monotonic() < ends and (step := list(islice(people, _TRUSTED + _LOCAL + _BATCH))):
                for value in step[:_TRUSTED]:
                    sender.trust(value)
                    trusted += 1
                for value in step[_TRUSTED : _TRUSTED + _LOCAL]:
                    sender.report(value)
                    local += 1
                if batch := step[_TRUSTED + _LOCAL :]:
                    sender.relay(batch)
                    local += len(batch)
                time.sleep(pause)
        except (_Over, httpx.TransportError):
            pass
    log_event("demo ended", study=STUDY_ID, count=trusted + local)
    return DemoCounts(trusted, local)


class _Over(Exception):  # noqa: N818  (no error: an end)
    """The study takes no more contributions."""


class _Sender:
    """A backend, its relay and the devices of simulated people."""

    def __init__(self, client: httpx.Client, admin_key: str, token_secret: bytes) -> None:
        self._client, self._secret = client, token_secret
        self._met = 0
        admin = {"Authorization": f"Bearer {admin_key}"}
        closes_at = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        wanted = {"id": STUDY_ID, "consent": _CONSENT, "closes_at": closes_at, "min_trusted": 10, "min_local": 100}
        self._post("/studies", {"study": _as_object(STUDY), **wanted}, admin)
        key = self._post("/relays", {"name": "demo-backend"}, admin)["key"]
        self._relay = {"Authorization": f"Bearer {key}"}

    def trust(self, value: float) -> None:
        """Somebody hands over their value."""
        self._post(f"/studies/{STUDY_ID}/values", self._body(value=value), self._token())

    def report(self, value: float) -> None:
        """Somebody's device sends a report."""
        self._post(f"/studies/{STUDY_ID}/reports", self._body(code=_codes([value])[0]), self._token())

    def relay(self, values: list[float]) -> None:
        """Send the reports of many devices in one batch, as a backend does."""
        reports = [
            {"participant": self._next(), "code": code, "nonce": secrets.token_hex(16)} for code in _codes(values)
        ]
        self._post(f"/studies/{STUDY_ID}/batches", {"digest": STUDY.digest, "reports": reports}, self._relay)

    def _body(self, **contribution: float) -> dict[str, Any]:
        return {"digest": STUDY.digest, "nonce": secrets.token_hex(16), **contribution}

    def _next(self) -> str:
        self._met += 1
        return f"simulated-{self._met}"

    def _token(self) -> dict[str, str]:
        token = mint(self._secret, subject=self._next(), study=STUDY_ID, lifetime=timedelta(hours=1))
        return {"Authorization": f"Bearer {token}"}

    def _post(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        answer = self._client.post(path, json=body, headers=headers)
        content: dict[str, Any] = answer.json()
        if answer.is_success:
            return content
        if content.get("reason") == "closed":
            raise _Over
        raise ProtocolError(f"The demo's request was refused ({content.get('reason')}).")


def _as_object(study: MeanStudy) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(study.to_json())
    return content


def _codes(values: list[float]) -> list[int]:
    return [int(code) for code in STUDY.randomize(values)]


def _people(n: int) -> Iterator[float]:
    """Generate the values of *n* people, in minutes, a few of them large."""
    rng = np.random.default_rng()
    return (float(value) for value in np.minimum(rng.gamma(2.0, 20.0, n), 240.0))


def _wait_until_ready(client: httpx.Client, pause: float) -> None:
    ends = time.monotonic() + _PATIENCE
    while True:
        try:
            if client.get("/ready").is_success:
                return
        except httpx.TransportError:
            if time.monotonic() > ends:
                raise
        if time.monotonic() > ends:
            raise ProtocolError("The server did not get ready.")
        time.sleep(pause)
