"""People who take part in a K-means study on a curator, many at a time, and what a server in memory makes of them."""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybriddp.client.contribution import commitment
from hybriddp.grid import Grid
from hybriddp.kmeans import HybridKMeansServer, KMeansStudy
from hybriddp.kmeans.protocol.answers import messages_of, received_reports
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.protocol.turns import Turns
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service import answering, participation
from hybriddp.service.answering import SentAnswer
from hybriddp.service.kinds.kmeans import ENROLLED, KMeansKind
from hybriddp.service.participation import Sent
from hybriddp.service.problems import Refusal
from hybriddp.service.store.engine import reading
from hybriddp.service.store.ledger import DatabaseLedgerStore
from tests.service.running import CLOSES, CONSENT, Running

DEADLINE = {"closes_at": CLOSES}
YEAR = timedelta(days=365)  # some tests let days pass


def nonce_of(name: str) -> str:
    """The nonce that the device of a person of a test draws when they enroll."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def enrollment(study: KMeansStudy, name: str) -> dict[str, str]:
    """What the device of a person of a test sends when they enroll."""
    return {"digest": study.digest, "commitment": commitment(study.digest, "local", ENROLLED, nonce_of(name))}


@dataclass(frozen=True)
class People:
    """Two groups of people with points in a study on a curator."""

    study: KMeansStudy
    id: str
    trusted: dict[str, list[float]]
    local: dict[str, list[float]]

    @classmethod
    def of(cls, study: KMeansStudy, study_id: str, *, n_trusted: int, n_local: int) -> "People":
        """People around two places in the box."""
        rng = np.random.default_rng(5)
        d = study.box.n_dimensions
        count = n_trusted + n_local
        points = rng.choice(np.array([[2.0] * d, [7.0] * d]), count) + 0.4 * rng.standard_normal((count, d))
        names = [f"person {i}" for i in range(count)]
        pairs = list(zip(names, points.tolist(), strict=True))
        return cls(study, study_id, dict(pairs[:n_trusted]), dict(pairs[n_trusted:]))

    def create(self, server: Running, **fields: object) -> Any:
        """The study, made by the operator."""
        body = {"study": json.loads(self.study.to_json()), "id": self.id, "consent": CONSENT, "closes_at": CLOSES}
        return server.http.post("/studies", headers=server.admin, json=body | fields)

    def enroll(self, server: Running) -> None:
        """Everybody, at once."""

        async def work() -> None:
            curator = server.prepared.app.state.curator
            known = await curator.known(self.id)
            kind = KMeansKind(self.study)
            sent = {
                name: Sent(True, kind.value(point), self.study.digest, nonce_of(name))
                for name, point in self.trusted.items()
            }
            sent |= {name: Sent(False, ENROLLED, self.study.digest, nonce_of(name)) for name in self.local}
            await asyncio.gather(
                *(participation.contribute(curator, known, one, self.token(server, name)) for name, one in sent.items())
            )

        asyncio.run(work())

    def token(self, server: Running, name: str) -> str:
        return server.token(name, self.id, YEAR)["Authorization"].removeprefix("Bearer ")

    def asked(self, server: Running, nonces: Mapping[str, str] | None = None) -> "Asked":
        """The round that is asked, as devices see it, with the nonces that they have drawn."""
        drawn = {name: nonce_of(name) for name in self.local} if nonces is None else nonces
        told = server.http.get(f"/studies/{self.id}/round").json()
        asked = Round.from_json(told["text"], study=self.study)
        turns = Turns.from_json(told["turns"])
        assert told["digest"] == asked.digest
        names = [name for name in self.local if turns.round_of(name, drawn[name]) == asked.number]
        for name in names:
            turns.require_turn(asked, name, drawn[name])
        return Asked(self, asked, turns, names)


@dataclass(frozen=True)
class Asked:
    """A round that is asked, and whose turn it is."""

    people: People
    round: Round
    turns: Turns
    names: list[str]

    def messages(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """What the devices of these people send."""
        points = [self.people.local[name] for name in names]
        if not points:
            return {}
        return dict(zip(names, messages_of(self.round, self.round.answer(points)), strict=True))

    def send(self, server: Running, messages: dict[str, dict[str, Any]], nonce: str = "0" * 32) -> list[str]:
        """Send them all at once; what became of each: accepted, repeated, or the reason of a refusal."""

        async def one(name: str, message: dict[str, Any]) -> str:
            curator = server.prepared.app.state.curator
            known = await curator.known(self.people.id)
            token = self.people.token(server, name)
            try:
                done = await answering.answer(curator, known, SentAnswer(message, nonce, nonce_of(name)), token)
            except Refusal as refusal:
                return refusal.reason
            return "accepted" if done.new else "repeated"

        async def work() -> list[str]:
            return await asyncio.gather(*(one(name, message) for name, message in messages.items()))

        return asyncio.run(work())


def spent(server: Running, study_id: str) -> list[str]:
    """What the trusted group of a study has paid, release by release."""
    with reading(server.prepared.app.state.curator.engine) as connection:
        ledger = Ledger.open(DatabaseLedgerStore(connection, f"study {study_id}"))
        return [event.privacy.epsilon for event in ledger.events]


def rounded(study: KMeansStudy, points: Sequence[Sequence[float]]) -> NDArray[np.float64] | None:
    """Points as the curator keeps them: on the grid of each dimension."""
    if not points:
        return None
    grids = [Grid.of(bounds) for bounds in study.box.bounds]
    columns = zip(grids, np.array(points).T, strict=True)
    return np.stack([grid.values(grid.place(column).units) for grid, column in columns], axis=1)


def in_memory(people: People, rounds: Sequence[Sequence[dict[str, Any]]]) -> HybridKMeansServer:
    """A server in memory that got the same messages."""
    server = HybridKMeansServer(
        people.study,
        n_local=len(people.local),
        trusted=rounded(people.study, list(people.trusted.values())),
        ledger=Ledger(people.study.privacy),
    )
    server.start()
    for messages in rounds:
        assert server.round is not None
        server.absorb(server.round.count(received_reports(server.round, messages).reports))
    return server
