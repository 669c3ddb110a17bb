"""People who take part while servers come and go, and what they saw.

They send what they have drawn until they get an answer, always the same contribution; some give up when an answer is
lost. What they saw is compared with what the database holds: `Crowd.check`.
"""

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from random import Random

from sqlalchemy import Connection, select

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.client.receipt import verify
from hybriddp.items.open_release import PrivateItems
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service.curator import list_of
from hybriddp.service.keys import MasterKey
from hybriddp.service.kinds import StudyKind, study_kind
from hybriddp.service.store import contributions
from hybriddp.service.store.engine import open_engine, reading
from hybriddp.service.store.ledger import DatabaseLedgerStore
from hybriddp.service.store.schema import participants
from hybriddp.service.store.seal import TotalSeal
from hybriddp.service.store.studies import StoredStudy
from hybriddp.service.store.studies import study as stored_study
from hybriddp.service.tokens import mint
from tests.service.faults import PATIENCE, PAUSE, Answer, ServerProcess, UnheardError, ask, until
from tests.service.running import CLOSES, CONSENT, HOUR, ServedStudy

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1.0)
BATCH = 20


@dataclass(frozen=True)
class Person:
    """Somebody who takes part, and what they drew: it stays the same however often they send it."""

    name: str
    study: str
    digest: str
    trusted: bool
    number: float | str
    integer: int
    nonce: str

    @property
    def path(self) -> str:
        return f"/studies/{self.study}/{'values' if self.trusted else 'reports'}"

    @property
    def body(self) -> dict[str, object]:
        return {"digest": self.digest, "value" if self.trusted else "code": self.number, "nonce": self.nonce}

    @property
    def commitment(self) -> bytes:
        group = "trusted" if self.trusted else "local"
        text = f"hybriddp contribution 1\n{self.digest}\n{group}\n{self.integer}\n{self.nonce}"
        return hashlib.sha256(text.encode()).digest()

    def row(self, master: MasterKey) -> bytes:
        """The primary key of what is stored of them."""
        return hashlib.blake2b(
            f"{self.digest}\nsub\n{self.name}".encode(), key=master.participants, digest_size=16
        ).digest()


@dataclass(frozen=True)
class Stored:
    """What a database holds of a study."""

    commitments: dict[bytes, bytes | None]
    tally: dict[int, int]
    total: int | None  # gone after the release, or after that of a list
    events: int

    @classmethod
    def read(cls, server: ServerProcess, study_id: str) -> "Stored":
        master = MasterKey.load(server.key_file)
        engine = open_engine(server.url)
        try:
            with reading(engine) as connection:
                study = stored_study(connection, study_id)
                assert study is not None
                mine = participants.c.study == study.number
                rows = connection.execute(select(participants.c.who, participants.c.commitment).where(mine)).all()
                return cls(
                    {bytes(who): commitment for who, commitment in rows},
                    {code: n for code, n in contributions.tally(connection, study.number).items() if n},
                    None if study.state in ("asking", "released") else _total(connection, study, master),
                    len(Ledger.open(DatabaseLedgerStore(connection, f"study {study_id}")).events),
                )
        finally:
            engine.dispose()

    @staticmethod
    def read_list(server: ServerProcess, study_id: str) -> PrivateItems:
        """The list of a study of heavy hitters."""
        engine = open_engine(server.url)
        try:
            with reading(engine) as connection:
                study = stored_study(connection, study_id)
                assert study is not None
                found = list_of(connection, study)
                assert found is not None
                return found
        finally:
            engine.dispose()


def _total(connection: Connection, study: StoredStudy, master: MasterKey) -> int:
    return contributions.total(connection, study.number, study.digest, TotalSeal(master.total_key))


@dataclass
class Crowd:
    """People who take part in a study while servers come and go, and what they saw."""

    servers: Sequence[ServerProcess]
    rng: Random
    study_id: str = "minutes"
    study: ServedStudy = STUDY
    relay_key: str = ""
    acknowledged: dict[str, Person] = field(default_factory=dict)
    withdrawn: set[str] = field(default_factory=set)
    refused: dict[str, Person] = field(default_factory=dict)  # the study had closed
    unheard: dict[str, Person] = field(default_factory=dict)  # gave up without an answer
    unsure: set[str] = field(default_factory=set)  # the same of their withdrawal
    counts: Counter[str] = field(default_factory=Counter)
    _secret: bytes = b""

    async def open_study(self, **more: object) -> None:
        """Create the study, and a relay."""
        body = {"study": json.loads(self.study.to_json()), "id": self.study_id, "consent": CONSENT}
        made = await self.admin("POST", "/studies", body | {"closes_at": CLOSES} | more)
        assert made.status == 201, made.body
        made = await self.admin("POST", "/relays", {"name": f"relay of {self.study_id}"})
        self.relay_key = made.json["key"]

    async def admin(self, method: str, path: str, body: object = None) -> Answer:
        """An answer to the operator, however long it takes."""
        answer, _ = await self._answered(method, path, self.servers[0].admin_key, body)
        assert answer is not None
        return answer

    async def move(self, action: str) -> Answer:
        return await self.admin("POST", f"/studies/{self.study_id}/{action}")

    def person(self, *, trusted: bool) -> Person:
        """Somebody new, who has drawn."""
        number, kind = self._drawn(trusted=trusted), self.kind
        integer = kind.value(number) if trusted else int(number)
        self.counts["people"] += 1
        name, nonce = f"{self.study_id} {self.counts['people']}", f"{self.rng.getrandbits(128):032x}"
        return Person(name, self.study_id, self.study.digest, trusted, number, integer, nonce)

    @property
    def kind(self) -> StudyKind:
        """What the server makes of a contribution."""
        return study_kind(self.study.to_json())

    def _drawn(self, *, trusted: bool) -> float | str:
        """A value, a category or a code."""
        if isinstance(self.study, FrequencyStudy):
            item = str(self.rng.choice(self.study.categories))
            return item if trusted else int(self.study.randomize(item).codes[0])
        if isinstance(self.study, DistributionStudy):
            value = self.rng.uniform(*self.study.bounds)
            return value if trusted else int(self.study.randomize(value).codes[0])
        return self.rng.randrange(961) / 4 if trusted else self.rng.randint(*self.study.reports_between)

    def token(self, person: Person) -> str:
        self._secret = self._secret or MasterKey.load(self.servers[0].key_file).token_secret
        return mint(self._secret, subject=person.name, study=person.study, lifetime=HOUR)

    async def _answered(
        self, method: str, path: str, credential: str, body: object, *, patient: bool = True
    ) -> tuple[Answer | None, bool]:
        """The answer, asked for again and again unless impatient; and whether one before it was lost."""
        deadline, again = time.monotonic() + PATIENCE, False
        while time.monotonic() < deadline:
            server = self.rng.choice([server for server in self.servers if server.port] or list(self.servers))
            try:
                answer = await ask(server.port, method, path, credential, body)
            except UnheardError as unheard:
                if not unheard.asked:
                    await asyncio.sleep(PAUSE)
                    continue
                self.counts["answers lost"] += 1
            else:
                if answer.status != 503:
                    assert answer.status < 500, answer.body
                    return answer, again
                assert answer.json["reason"] == "unavailable"
                self.counts["unavailable"] += 1
            if not patient:
                return None, True
            again = True
            self.counts["retries"] += 1
            await asyncio.sleep(PAUSE)
        raise TimeoutError(f"{method} {path} was not answered within {PATIENCE:.0f} s.")

    async def take_part(self) -> None:
        """Somebody, or a relay's people, take part; some give up, some withdraw, some send the same again."""
        if self.rng.random() < 0.3:
            await self.relay_batch()
            return
        person, fate = self.person(trusted=self.rng.random() < 0.4), self.rng.random()
        token = self.token(person)
        answer, again = await self._answered("POST", person.path, token, person.body, patient=fate < 0.7)
        if answer is None:
            self.unheard[person.name] = person
            return
        if answer.status == 409:
            assert answer.json["reason"] == "closed"
            self.refused[person.name] = person
            return
        assert answer.status == 201 or (answer.status == 200 and again), answer.body
        assert answer.json["receipt"]["commitment"] == person.commitment.hex()
        self.acknowledged[person.name] = person
        if fate < 0.15:
            await self._withdraw(person, token)
        elif fate < 0.3:
            repeated, _ = await self._answered("POST", person.path, token, person.body)
            assert repeated is not None
            assert (repeated.status, repeated.json) == (200, answer.json)

    async def _withdraw(self, person: Person, token: str) -> None:
        patient = self.rng.random() < 0.7
        answer, again = await self._answered("POST", f"{person.path}/withdraw", token, person.body, patient=patient)
        if answer is None:
            self.unsure.add(person.name)
        elif answer.status == 409:
            assert answer.json["reason"] == "closed"
            self.unsure |= {person.name} if again else set()
        else:  # what was withdrawn is forgotten, and cannot be withdrawn again
            assert answer.status == 200 or (answer.status == 404 and again), answer.body
            self.withdrawn.add(person.name)

    async def relay_batch(self) -> None:
        """A relay hands over reports, all of them or none."""
        people = [self.person(trusted=False) for _ in range(BATCH)]
        reports = [{"participant": one.name, "code": one.number, "nonce": one.nonce} for one in people]
        body, path = {"digest": self.study.digest, "reports": reports}, f"/studies/{self.study_id}/batches"
        answer, again = await self._answered("POST", path, self.relay_key, body, patient=self.rng.random() < 0.7)
        named = {one.name: one for one in people}
        if answer is None:
            self.unheard |= named
            return
        told = answer.json
        if answer.status == 409:
            assert told["reason"] == "closed"
            self.refused |= named
            return
        assert told["rejected"] == []
        assert (told["accepted"], told["repeated"]) == (BATCH, 0) or (again and told["repeated"] == BATCH), told
        self.acknowledged |= named

    async def load(self, faults: Awaitable[None], *, workers: int = 8) -> None:
        """Let people take part, in so many places at once, until the faults are over."""
        over = asyncio.Event()

        async def work() -> None:
            while not over.is_set():
                await self.take_part()

        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(work())
            await faults
            over.set()

    async def goes_on(self, more: int = 1) -> None:
        """Wait until so many more are acknowledged."""
        before = len(self.acknowledged)
        await until(lambda: len(self.acknowledged) >= before + more, "A contribution")

    async def random_moment(self, seconds: float) -> None:
        """Let a random time pass: this is when a fault happens, not a wait for something."""
        await asyncio.sleep(self.rng.uniform(0, seconds))

    def check(self) -> Stored:
        """Compare what people saw of a closed study with what is stored: all of it, and each of them once."""
        stored, master = Stored.read(self.servers[0], self.study_id), MasterKey.load(self.servers[0].key_file)
        rows = {name: one.row(master) for name, one in (self.acknowledged | self.unheard | self.refused).items()}
        assert len(rows) == self.counts["people"]
        acknowledged = {rows[name] for name in self.acknowledged}
        possible = acknowledged | {rows[name] for name in self.unheard}
        assert acknowledged <= set(stored.commitments) <= possible
        counted = []
        for name, one in (self.acknowledged | self.unheard).items():
            if rows[name] not in stored.commitments:
                continue
            commitment = stored.commitments[rows[name]]
            assert commitment in (one.commitment, None)
            if name not in self.unsure:
                assert (commitment is None) == (name in self.withdrawn)
            if commitment is not None:
                counted.append(one)
        sums = self.kind.sums
        entries = (entry for one in counted if not one.trusted for entry in sums.entries(one.integer))
        assert stored.tally == dict(Counter(entries))
        assert stored.total == sums.change(0, (one.integer for one in counted if one.trusted), 1)
        self.counts["stored"] = len(stored.commitments)
        return stored

    async def ask_unheard_again(self, stored: Stored) -> None:
        """Whoever gave up asks once more, after closing: a receipt if what they sent is stored, else a refusal."""
        master = MasterKey.load(self.servers[0].key_file)
        keys = (await self.admin("GET", "/.well-known/hybriddp-receipts.json")).json
        for one in self.unheard.values():
            token = self.token(one)
            answer, _ = await self._answered("POST", one.path, token, one.body)
            again, _ = await self._answered("GET", f"/studies/{one.study}/receipt", token, None)
            assert answer is not None
            assert again is not None
            if one.row(master) in stored.commitments:
                assert (answer.status, again.status, again.json) == (200, 200, answer.json)
                assert answer.json["receipt"]["commitment"] == one.commitment.hex()
                verify(answer.json, keys)
                self.counts["stored though unheard"] += 1
            else:
                assert (answer.status, answer.json["reason"], again.status) == (409, "closed", 404)

    async def release(self) -> bytes:
        """Close, check, release twice over every server at once, and see that there was one release."""
        closed = await self.move("close")
        assert (closed.status, closed.json["state"]) == (200, "closed")
        stored = self.check()
        await self.ask_unheard_again(stored)
        assert self.check() == stored
        asked = [self.move("release") for _ in range(2 * len(self.servers))]
        answers = await asyncio.gather(*asked)
        assert {answer.status for answer in answers} == {200}
        (result,) = {answer.body for answer in answers}
        estimate = json.loads(result)["estimate"]
        local = sum(count for entry, count in stored.tally.items() if entry >= 0)
        trusted = sum(commitment is not None for commitment in stored.commitments.values()) - local
        assert (estimate["n_trusted"], estimate["n_local"]) == (trusted, local)
        assert Stored.read(self.servers[0], self.study_id).events == 1
        self.counts["releases"] += 1
        return result

    def __str__(self) -> str:
        told = {"acknowledged": len(self.acknowledged), "withdrawn": len(self.withdrawn)} | self.counts
        return ", ".join(f"{name} {count:,}" for name, count in told.items())
