"""Rounds of K-means on the server: enrollment has closed, and now the local group is asked, a part of it at a time.

What has been published, the server's state as text, is all that is kept between rounds. A step is drawn beside the
writer (see `drafts`) and published in one transaction: the answers of the last round are taken out of the tally, the
ledger is charged, and state, round and deadline are written together; nothing leaves the process before. So a crash
before the commit costs nothing, since nobody saw the draw, and a crash after it loses nothing.
"""

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sqlalchemy import Connection

from hybriddp.kmeans.protocol.answers import AnswerEntries, Message
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.protocol.turns import Turns
from hybriddp.service.kinds import KMeansKind
from hybriddp.service.problems import Refusal
from hybriddp.service.store import studies
from hybriddp.service.store.studies import ASKING, stage
from hybriddp.service.store.sums import UnitSums

NO_ROUNDS = "This study has no rounds: it is closed and released in one step."


@dataclass(frozen=True)
class PublishedRound:
    """A round that has been published: what for, whom it asked and until when; and how many answered, once it ended."""

    purpose: str
    user_fraction: Fraction  # of the local users
    closes_at: int  # its deadline; once it has ended, when that was
    answered: int | None = None

    def to_list(self) -> list[Any]:
        """As it is stored."""
        return [self.purpose, str(self.user_fraction), self.closes_at, self.answered]

    @classmethod
    def from_list(cls, fields: list[Any]) -> "PublishedRound":
        """As it was stored."""
        purpose, fraction, closes_at, answered = fields
        return cls(purpose, Fraction(fraction), closes_at, answered)

    def expected(self, n_local: int) -> int:
        """About how many were asked: which of those who enrolled, nobody has written down (see `answering`)."""
        return round(self.user_fraction * n_local)


@dataclass(frozen=True)
class RoundsRecord:
    """What is kept of a study between its rounds: public, all of it."""

    state: str  # the text of the K-means server
    rounds: tuple[PublishedRound, ...]
    round: str | None  # the text of the round that is asked; None after the last one
    implausible: int = 0  # lower bound on the forged answers to the rounds that have ended

    @property
    def answered(self) -> int:
        """Number of answers to the rounds that have ended."""
        return sum(one.answered or 0 for one in self.rounds)

    @property
    def fractions(self) -> tuple[Fraction, ...]:
        """Of the local users, for each round so far."""
        return tuple(one.user_fraction for one in self.rounds)

    def to_bytes(self) -> bytes:
        """As it is stored."""
        fields = {"state": self.state, "rounds": [one.to_list() for one in self.rounds], "round": self.round}
        return json.dumps({**fields, "implausible": self.implausible}, ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, stored_bytes: bytes) -> "RoundsRecord":
        """As it was stored."""
        fields = json.loads(stored_bytes)
        rounds = tuple(map(PublishedRound.from_list, fields["rounds"]))
        return cls(fields["state"], rounds, fields["round"], fields["implausible"])


@dataclass(frozen=True, slots=True)
class AnswerSums(UnitSums):
    """The sums of a round: what its answers add to the tally, below the entries of those who have enrolled."""

    counts: AnswerEntries

    def entries(self, code: int) -> tuple[int, ...]:
        """Return the entries of the tally that an answer adds 1 to."""
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
        """Convert an answer into one integer.

        Answers that no device can send are refused.
        """
        found = self.counts.integer(message)
        if found is None:
            raise Refusal("out-of-range", "The message is not an answer that a device can send to this round.")
        return found

    def described(self) -> dict[str, Any]:
        """Return the part of the round that a study's public document contains.

        The text of the round has an address of its own.
        """
        asked = self.counts.asked
        fields = {"number": self.number, "digest": self.digest, "purpose": asked.purpose}
        return {**fields, "user_fraction": str(asked.user_fraction)}


def record_of(connection: Connection, number: int) -> RoundsRecord | None:
    """Return the stored record of a study's rounds, or None before the first round."""
    found = studies.study_steps(connection, number)
    return None if not found or found[0].result is None else RoundsRecord.from_bytes(found[0].result)


def asked_round(kind: KMeansKind, record: RoundsRecord | None) -> AskedRound | None:
    """Return the current round of a record."""
    if record is None or record.round is None:
        return None
    asked = Round.from_json(record.round, study=kind.study)
    turns = Turns(kind.digest, record.fractions)
    return AskedRound(asked.number, record.round, turns, AnswerEntries(asked))
