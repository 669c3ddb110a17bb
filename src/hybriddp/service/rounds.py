"""Rounds of K-means on the server: enrollment has closed, and now the local group is asked, a part of it at a time.

What has been published, the server's state as text, is all that is kept between rounds. A step is one transaction: the
answers of the last round are taken out of the tally, the ledger is charged, and state, round and deadline are written
together; nothing leaves the process before. So a crash before the commit costs nothing, since nobody saw the draw, and
a crash after it loses nothing.
"""

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sqlalchemy import Connection

from hybriddp.kmeans.protocol.answer_entries import AnswerEntries
from hybriddp.kmeans.protocol.answers import Message
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.protocol.turns import Turns
from hybriddp.release.ledger import Ledger
from hybriddp.service.kinds import Gathered, KMeansKind, Released, require_sizes, usable
from hybriddp.service.problems import Refusal
from hybriddp.service.store import contributions as stored
from hybriddp.service.store import studies
from hybriddp.service.store.seal import TotalSeal
from hybriddp.service.store.studies import ASKING, CLOSED, StoredStudy, stage
from hybriddp.service.store.sums import UnitSums

NO_ROUNDS = "This study has no rounds: it is closed and released in one step."
_NOT_ENDED = "The study's rounds have not ended. Publish the next one: POST /studies/{id}/round."
_ENDED = "All rounds have been answered. Release the study."


@dataclass(frozen=True)
class RoundsRecord:
    """What is kept of a study between its rounds: public, all of it."""

    state: str  # the text of the K-means server
    fractions: tuple[Fraction, ...]  # of the local users, for each round so far
    answered: tuple[int, ...]  # how many answered each round that has ended
    round: str | None  # the text of the round that is asked; None after the last one

    def to_bytes(self) -> bytes:
        """As it is stored."""
        fields = {"state": self.state, "fractions": [*map(str, self.fractions)], "answered": self.answered}
        return json.dumps({**fields, "round": self.round}, ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, stored_bytes: bytes) -> "RoundsRecord":
        """As it was stored."""
        fields = json.loads(stored_bytes)
        fractions = tuple(map(Fraction, fields["fractions"]))
        return cls(fields["state"], fractions, tuple(fields["answered"]), fields["round"])


@dataclass(frozen=True, slots=True)
class AnswerSums(UnitSums):
    """The sums of a round: what its answers add to the tally, below the entries of those who have enrolled."""

    counts: AnswerEntries

    def entries(self, code: int) -> tuple[int, ...]:
        """The entries of the tally that an answer adds 1 to."""
        return self.counts.entries(code)


@dataclass(frozen=True)
class AskedRound:
    """A round that is asked: its text, whose turn it is, and how answers are added up."""

    number: int
    text: str
    turns: Turns
    counts: AnswerEntries

    @property
    def digest(self) -> str:
        """The digest of the round's text."""
        return self.counts.digest

    @cached_property
    def taken_in(self) -> str:
        """The stage of the study in which answers to it are taken."""
        return stage(ASKING, self.number)

    @property
    def sums(self) -> AnswerSums:
        """How answers are added up."""
        return AnswerSums(self.counts)

    def integer(self, message: Message) -> int:
        """An answer as one integer; refused if no device can have sent it."""
        found = self.counts.integer(message)
        if found is None:
            raise Refusal("out-of-range", "The message is not an answer that a device can send to this round.")
        return found

    def described(self) -> dict[str, Any]:
        """What a study's public document says of it; its text is at an address of its own."""
        asked = self.counts.asked
        fields = {"number": self.number, "digest": self.digest, "purpose": asked.purpose}
        return {**fields, "user_fraction": str(asked.user_fraction)}


def record_of(connection: Connection, number: int) -> RoundsRecord | None:
    """What is kept of a study's rounds; None before the first."""
    found = studies.study_steps(connection, number)
    return None if not found or found[0].result is None else RoundsRecord.from_bytes(found[0].result)


def asked_round(kind: KMeansKind, record: RoundsRecord | None) -> AskedRound | None:
    """The round that a record says is asked."""
    if record is None or record.round is None:
        return None
    asked = Round.from_json(record.round, study=kind.study)
    turns = Turns(kind.digest, record.fractions)
    return AskedRound(asked.number, record.round, turns, AnswerEntries(asked))


@dataclass(frozen=True)
class RoundsOfStudy:
    """The rounds of a study within one transaction, which has locked it."""

    connection: Connection
    study: StoredStudy
    kind: KMeansKind
    seal: TotalSeal
    ledger: Ledger | None  # None if everybody has paid from a shared budget

    def advance(self, now: int, closes_at: int) -> None:
        """Take the answers of the round that has closed, release what is due, and publish the next round.

        After the last one nothing is asked any more, and the study waits for its release.
        """
        state = self.study.state_at(now)
        if state != CLOSED:
            raise Refusal("refused", f"The study is {state}. A round can begin when it is closed: by hand, or in time.")
        if closes_at <= now:
            raise Refusal("malformed", "closes_at must be a time in the future.")
        record = record_of(self.connection, self.study.number)
        used, _ = self._used()
        fractions: tuple[Fraction, ...] = () if record is None else record.fractions
        answered: tuple[int, ...] = () if record is None else record.answered
        if record is None:
            server = HybridKMeansServer(
                self.kind.study, n_local=used.n_local, trusted=self.kind.points(used), ledger=self.ledger
            )
            server.start()
        else:
            if record.round is None:
                raise Refusal("refused", _ENDED)
            server = HybridKMeansServer.from_json(record.state, trusted=self.kind.points(used), ledger=self.ledger)
            asked = asked_round(self.kind, record)
            if asked is not None:
                tally = asked.counts.tally(stored.take_answers(self.connection, self.study.number))
                answered = (*answered, sum(answers.n_users for answers in tally.answers))
                server.absorb(tally)
        self._publish(server, fractions, answered, closes_at)

    def _publish(
        self,
        server: HybridKMeansServer,
        fractions: tuple[Fraction, ...],
        answered: tuple[int, ...],
        closes_at: int,
    ) -> None:
        text = None
        if server.round is not None:
            fractions, text = (*fractions, server.round.user_fraction), server.round.to_json()
            Turns(self.kind.digest, fractions)  # devices would refuse a round that asks too few
            studies.begin_round(self.connection, self.study.number, server.round.number, closes_at)
        else:  # nothing is released any more
            stored.forget_total(self.connection, self.study.number)
        record = RoundsRecord(server.to_json(), fractions, answered, text)
        studies.store_result(
            self.connection, self.study.number, 0, result=record.to_bytes(), page=b"", curator_page=b""
        )

    def released(self, pilot: str | None) -> Released:
        """What the study releases, from what has been published; refused before its rounds have ended."""
        record = record_of(self.connection, self.study.number)
        if record is None or record.round is not None:
            raise Refusal("refused", _NOT_ENDED)
        server = HybridKMeansServer.from_json(record.state, ledger=self.ledger)
        warning = " ".join(filter(None, [pilot, self._used()[1]])) or None
        told: dict[str, Any] = {"counted": self.ledger is None, "warning": warning}
        return self.kind.clusters(server, **told, dimensions=self.study.dimensions)

    def _used(self) -> tuple[Gathered, str]:
        """What the groups have, without one that is too small if the other is enough; and what to say of that."""
        number, kind = self.study.number, self.kind
        sizes = stored.sizes(self.connection, number)
        kept = record_of(self.connection, number)
        ended = kept is not None and kept.round is None
        total = 0 if ended else stored.total(self.connection, number, kind.digest, self.seal, kind.sums)
        gathered = Gathered(sizes.trusted, total, {0: sizes.local} if sizes.local else {})
        wanted: dict[str, Any] = {"min_trusted": self.study.min_trusted, "min_local": self.study.min_local}
        require_sizes(gathered, **wanted, single_group=self.study.single_group)
        found = usable(gathered, **wanted, single_group=self.study.single_group)
        return found.gathered, found.warning
