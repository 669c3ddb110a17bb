"""Servers that are killed while rounds of K-means follow each other: one draw of each, nobody counts twice."""

import asyncio
import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from hybriddp.kmeans import HybridKMeansServer, KMeansStudy
from hybriddp.kmeans.protocol.answers import messages_of, received_reports
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.protocol.turns import Turns
from hybriddp.service.rounds import RoundsRecord, record_of
from hybriddp.service.store.engine import open_engine, reading
from hybriddp.service.store.studies import study as stored_study
from tests.service.crowd import Crowd, Person, Stored
from tests.service.faults import ServerProcess, serving, tell, until
from tests.service.kmeans_people import People, enrollment, nonce_of
from tests.service.running import CLOSES, CONSENT

LOOK = 2.5  # seconds: the server looks more often


def killed_studies() -> pytest.MarkDecorator:
    """How many studies, and on which database: one for every commit, more of them for `make faults`."""
    forms = [
        pytest.param(1, "sqlite", marks=pytest.mark.slow),
        pytest.param(3, "sqlite", marks=pytest.mark.long),
        pytest.param(3, "postgresql", marks=pytest.mark.long),
    ]
    return pytest.mark.parametrize(("times", "database"), forms, indirect=["database"])


@dataclass
class Rounds:
    """People who take part in a K-means study on servers that come and go, and what they saw."""

    crowd: Crowd
    people: People
    every_step: bool
    seen: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    said: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    asked: list[Round] = field(default_factory=list)

    @property
    def path(self) -> str:
        return f"/studies/{self.people.id}"

    async def create(self) -> None:
        body: dict[str, object] = {"study": json.loads(self.people.study.to_json()), "id": self.people.id}
        body |= {"consent": CONSENT, "closes_at": CLOSES, "round_hours": 24, "release_at_end": True}
        assert (await self.crowd.admin("POST", "/studies", body)).status == 201

    async def send(self, name: str, route: str, body: dict[str, Any]) -> None:
        """Send until there is an answer: taken, or taken before."""
        digest, nonce = self.people.study.digest, nonce_of(name)
        token = self.crowd.token(Person(name, self.people.id, digest, False, 0, 0, nonce))
        named = {"digest": digest, "nonce": nonce}
        if route == "answers":
            named = {"nonce": f"{self.crowd.rng.getrandbits(128):032x}", "enrollment_nonce": nonce}
        elif route == "enrollments":
            named = enrollment(self.people.study, name)
        answer, again = await self.crowd._answered("POST", f"{self.path}/{route}", token, body | named)
        assert answer is not None
        assert answer.status == 201 or (answer.status == 200 and again), answer.body

    async def enroll(self) -> None:
        await asyncio.gather(
            *(self.send(name, "values", {"value": point}) for name, point in self.people.trusted.items()),
            *(self.send(name, "enrollments", {}) for name in self.people.local),
        )

    async def document(self) -> dict[str, Any]:
        found = (await self.crowd.admin("GET", self.path)).json
        if found["round"] is not None:
            self.seen[found["round"]["number"]].add(found["round"]["digest"])
        return found

    async def kill(self, longest: float) -> None:
        """Kill the server, or one of them, at a random moment, and start it again."""
        server = self.crowd.rng.choice(list(self.crowd.servers))
        await self.crowd.random_moment(longest)
        server.kill()
        self.crowd.counts["kills"] += 1
        await asyncio.to_thread(server.start)

    async def next_step(self) -> dict[str, Any]:
        """Close, and let the server find out by itself what is next, while it is killed."""
        number = len((await self.document())["rounds"])
        closing = asyncio.ensure_future(self.crowd.admin("POST", f"{self.path}/close?round={number}"))
        if self.every_step or number == 1:
            await self.kill(LOOK)
        await closing

        async def done() -> bool:
            found = await self.document()
            return found["state"] == "released" or len(found["rounds"]) > number

        await until(done, "The next step")
        return await self.document()

    async def answer(self) -> None:
        """Everybody whose turn it is answers, while the server is killed."""
        told = (await self.crowd.admin("GET", f"{self.path}/round")).json
        asked, turns = Round.from_json(told["text"], study=self.people.study), Turns.from_json(told["turns"])
        names = [name for name in self.people.local if turns.round_of(name, nonce_of(name)) == asked.number]
        messages = messages_of(asked, asked.answer([self.people.local[name] for name in names]))
        self.asked.append(asked)
        self.said[asked.number] = messages
        self.seen[asked.number].add(asked.digest)
        sending = [self.send(name, "answers", message) for name, message in zip(names, messages, strict=True)]
        await asyncio.gather(*sending, *([self.kill(0.3)] if self.every_step else []))

    def record(self) -> RoundsRecord:
        engine = open_engine(self.crowd.servers[0].url)
        try:
            with reading(engine) as connection:
                study = stored_study(connection, self.people.id)
                assert study is not None
                found = record_of(connection, study.number)
                assert found is not None
                return found
        finally:
            engine.dispose()

    async def check(self) -> None:
        """One draw of each release, paid for once; each answer counted once; the result follows from these."""
        assert {len(digests) for digests in self.seen.values()} == {1}
        estimate = (await self.crowd.admin("GET", f"{self.path}/result")).json["estimate"]
        record = self.record()
        assert [one.answered for one in record.rounds] == [len(self.said[number]) for number in sorted(self.said)]
        server = HybridKMeansServer.from_json(record.state)
        assert estimate["centers"] == server.cluster_centers.tolist()
        paid = [step for step in server.spending if step.trusted_epsilon != "0"]
        assert Stored.read(self.crowd.servers[0], self.people.id).events == len(paid)
        counted = [result.answers for result in server._results if result.answers]
        for asked, tallies in zip(self.asked, counted, strict=True):
            sent = asked.count(received_reports(asked, self.said[asked.number]).reports).answers
            for mine, theirs in zip(sent, tallies, strict=True):
                assert np.array_equal(mine.supports, theirs.supports)
                assert mine.n_users == theirs.n_users


async def play(rounds: Rounds) -> None:
    """A whole study."""
    await rounds.create()
    await asyncio.gather(rounds.enroll(), *([rounds.kill(0.3)] if rounds.every_step else []))
    document = await rounds.next_step()
    while document["state"] != "released":
        await rounds.answer()
        document = await rounds.next_step()
    await rounds.check()


def people_of(number: int) -> People:
    study = KMeansStudy(f"visits {number}", n_clusters=2, bounds=[(0, 10), (0, 10)], epsilon=4)
    return People.of(study, f"visits-{number}", n_trusted=12, n_local=24)


@killed_studies()
def test_kills_between_any_two_steps(tmp_path: Path, address: str, rng: Random, times: int) -> None:
    server = ServerProcess(tmp_path, address)
    crowd = Crowd([server], rng)

    async def run() -> None:
        for number in range(times):
            await play(Rounds(crowd, people_of(number), every_step=times > 1))

    with serving(server):
        asyncio.run(run())
    tell(crowd)
    assert crowd.counts["kills"] >= times


@pytest.mark.long
def test_a_replica_that_dies_between_any_two_steps(tmp_path: Path, shared: str, rng: Random) -> None:
    servers = [ServerProcess(tmp_path, shared), ServerProcess(tmp_path, shared)]
    crowd = Crowd(servers, rng)

    async def run() -> None:
        for number in range(3):
            await play(Rounds(crowd, people_of(number), every_step=True))

    with serving(*servers):
        asyncio.run(run())
    tell(crowd)
    assert crowd.counts["kills"] >= 3
