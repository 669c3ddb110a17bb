"""A curator that runs, on a real socket of this machine, and people who talk to it."""

import json
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx
import uvicorn
from litestar.types import ASGIApp

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.service.app import Prepared, prepare
from hybriddp.service.keys import MasterKey
from hybriddp.service.protocol import LimitedProtocol
from hybriddp.service.settings import Settings
from hybriddp.service.tokens import mint

CONSENT = {"organization": "Example Ltd", "purpose": "To make pages faster.", "contact": "privacy@example.org"}
ServedStudy = MeanStudy | DistributionStudy | FrequencyStudy
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
CLOSES = "2099-01-01T00:00:00Z"


@dataclass(frozen=True)
class Running:
    """A server under test."""

    url: str
    http: httpx.Client
    admin_key: str
    secret: bytes
    prepared: Prepared

    @property
    def admin(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.admin_key}"}

    def token(
        self, subject: str, study: str = "minutes", lifetime: timedelta = DAY, part: str | None = None
    ) -> dict[str, str]:
        token = mint(self.secret, subject=subject, study=study, lifetime=lifetime, part=part)
        return {"Authorization": f"Bearer {token}"}

    def create(self, study: ServedStudy, study_id: str = "minutes", **fields: object) -> httpx.Response:
        body: dict[str, object] = {"study": json.loads(study.to_json()), "id": study_id, "consent": CONSENT}
        body |= {"closes_at": CLOSES} | fields
        return self.http.post("/studies", headers=self.admin, json=body)

    def report(
        self,
        study: ServedStudy,
        who: str,
        code: int,
        *,
        nonce: str | None = None,
        study_id: str = "minutes",
    ) -> httpx.Response:
        body = {"digest": study.digest, "code": code, "nonce": nonce or secrets.token_hex(16)}
        return self.http.post(f"/studies/{study_id}/reports", headers=self.token(who, study_id), json=body)

    def trust(
        self,
        study: ServedStudy,
        who: str,
        value: float | str,
        *,
        nonce: str | None = None,
        study_id: str = "minutes",
    ) -> httpx.Response:
        body = {"digest": study.digest, "value": value, "nonce": nonce or secrets.token_hex(16)}
        return self.http.post(f"/studies/{study_id}/values", headers=self.token(who, study_id), json=body)

    def relay(self, name: str = "backend") -> dict[str, str]:
        made = self.http.post("/relays", headers=self.admin, json={"name": name})
        return {"Authorization": f"Bearer {made.json()['key']}"}

    def move(self, action: str, study_id: str = "minutes") -> httpx.Response:
        return self.http.post(f"/studies/{study_id}/{action}", headers=self.admin)


@contextmanager
def listening_with(app: ASGIApp) -> Iterator[tuple[str, int]]:
    """The address at which uvicorn serves an app, with our limits, until the end of the block."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=LimitedProtocol, log_config=None, access_log=False, ws="none")
    server = uvicorn.Server(config)
    started = threading.Event()
    startup = server.startup

    async def notify(sockets: list[socket.socket] | None = None) -> None:
        await startup(sockets)
        started.set()

    server.startup = notify  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    started.wait(30)
    try:
        yield listening.getsockname()
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()


@contextmanager
def running(folder: Path, database: str = "", *, clock_ok: bool = False, **settings: int) -> Iterator[Running]:
    """A curator with its data in a folder, on a free port, until the end of the block."""
    chosen = Settings(
        data=folder / "data",
        key_file=folder / "hybriddp.key",
        database=database,
        **({"requests_per_minute": 1_000_000} | settings),
    )
    prepared = prepare(chosen, clock_ok=clock_ok)
    admin_file = folder / "admin"
    if prepared.admin_key is not None:
        admin_file.write_text(prepared.admin_key)
    with listening_with(prepared.app) as address:
        url = f"http://{address[0]}:{address[1]}"
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as http:
            secret = MasterKey.load(chosen.key_file).token_secret
            yield Running(url, http, admin_file.read_text(), secret, prepared)
