"""Steps of K-means on the server: what is due is released and the next round asked, or the centers are published.

A step is drawn beside the writer, as every release is (see `drafts`), and published in one transaction.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from hybriddp._check import FloatArray
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.protocol.turns import Turns
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service.drafts import Draft
from hybriddp.service.kinds import Gathered, KMeansKind, Released, require_sizes, shortfall, study_kind, usable
from hybriddp.service.problems import Refusal
from hybriddp.service.rounds import NO_ROUNDS, PublishedRound, RoundsRecord, asked_round, record_of
from hybriddp.service.store import contributions as stored
from hybriddp.service.store import studies
from hybriddp.service.store.seal import TotalSeal
from hybriddp.service.store.studies import CLOSED, StoredStudy

_NOT_ENDED = "The study's rounds have not ended. Publish the next one: POST /studies/{id}/round."
_ENDED = "All rounds have been answered. Release the study."


@dataclass(frozen=True, repr=False)
class NextStep:
    """A step that has been drawn: the record before it, the server's state after it, and what it asks, if anything."""

    before: RoundsRecord | None
    server: str
    rounds: tuple[PublishedRound, ...]  # those that have ended
    round: Round | None
    implausible: int  # lower bound on the forged answers to the rounds that have ended


@dataclass(frozen=True)
class RoundsOfStudy:
    """The rounds of a study within one transaction."""

    connection: Connection
    study: StoredStudy
    kind: KMeansKind
    seal: TotalSeal
    ledger: Ledger | None  # a copy; None if everybody has paid from a shared budget

    @classmethod
    def of(
        cls, connection: Connection, study: StoredStudy, seal: TotalSeal, ledger: Ledger | None = None
    ) -> "RoundsOfStudy":
        """Return the rounds of a study; refused if it is of another kind."""
        kind = study_kind(study.text)
        if not isinstance(kind, KMeansKind):
            raise Refusal("refused", NO_ROUNDS)
        return cls(connection, study, kind, seal, ledger)

    @property
    def have_ended(self) -> bool:
        """Whether the last round has been answered."""
        record = record_of(self.connection, self.study.number)
        return record is not None and record.round is None

    def shortfall(self) -> str:
        """Explain why too few people have enrolled.

        The text is empty if there are enough.
        """
        sizes = stored.sizes(self.connection, self.study.number)
        return self.kind.too_few(sizes.trusted, sizes.local) or shortfall(
            n_trusted=sizes.trusted,
            n_local=sizes.local,
            min_trusted=self.study.min_trusted,
            min_local=self.study.min_local,
            single_group=self.study.single_group,
        )

    def next_step(self) -> Callable[[], NextStep]:
        """Read the answers of the round that has closed; what is returned releases what is due and asks the next."""
        state = self.study.state
        if state != CLOSED:
            raise Refusal("refused", f"The study is {state}. A round can begin when it is closed: by hand, or in time.")
        record = record_of(self.connection, self.study.number)
        if record is not None and record.round is None:
            raise Refusal("refused", _ENDED)
        used, _ = self._used()
        points, answers = self.kind.points(used), stored.tally(self.connection, self.study.number)
        if record is None:
            return lambda: self._first_step(used.n_local, points)
        return lambda: self._later_step(record, points, answers)

    def _first_step(self, n_local: int, points: FloatArray | None) -> NextStep:
        server = HybridKMeansServer(self.kind.study, n_local=n_local, trusted=points, ledger=self.ledger)
        server.start()
        return self._asked_next(server, None, ())

    def _later_step(self, record: RoundsRecord, points: FloatArray | None, answers: dict[int, int]) -> NextStep:
        server = HybridKMeansServer.from_json(record.state, trusted=points, ledger=self.ledger)
        rounds, asked = record.rounds, asked_round(self.kind, record)
        if asked is not None:
            tally = asked.counts.tally({code: count for code, count in answers.items() if code < 0})
            rounds = (*rounds[:-1], replace(rounds[-1], answered=sum(one.n_users for one in tally.answers)))
            server.absorb(tally)
        return self._asked_next(server, record, rounds)

    def _asked_next(
        self, server: HybridKMeansServer, before: RoundsRecord | None, rounds: tuple[PublishedRound, ...]
    ) -> NextStep:
        if server.round is None:
            return NextStep(before, server.to_json(), rounds, None, server.implausible_reports)
        # Devices would refuse a round that asks too few.
        Turns(self.kind.digest, (*(one.user_fraction for one in rounds), server.round.user_fraction))
        return NextStep(before, server.to_json(), rounds, server.round, server.implausible_reports)

    def publish(self, draft: Draft[NextStep], now: int, closes_at: int) -> bool:
        """Publish a step that has been drawn, charged first; False if the study has gone on meanwhile.

        The study is locked. After the last round nothing is asked any more, and the study waits for its release.
        """
        step, number = draft.drawn, self.study.number
        if self.study.state != CLOSED or record_of(self.connection, number) != step.before:
            return False
        draft.charge(self.connection, self.study, self.kind.privacy)
        rounds, text = step.rounds, None
        if rounds:
            rounds = (*rounds[:-1], replace(rounds[-1], closes_at=min(now, rounds[-1].closes_at)))
            stored.forget_answers(self.connection, number)
        if step.round is not None:
            text = step.round.to_json()
            rounds = (*rounds, PublishedRound(step.round.purpose, step.round.user_fraction, closes_at))
            studies.begin_round(self.connection, number, step.round.number, closes_at)
        else:  # nothing is released any more
            stored.forget_total(self.connection, number)
        record = RoundsRecord(step.server, rounds, text, step.implausible)
        studies.store_result(self.connection, number, 0, result=record.to_bytes(), page=b"", curator_page=b"")
        return True

    def released(self, pilot: str | None) -> Callable[[], Released]:
        """Return what computes the release, from what has been published; refused before the rounds have ended."""
        record = record_of(self.connection, self.study.number)
        if record is None or record.round is not None:
            raise Refusal("refused", _NOT_ENDED)
        warning = " ".join(filter(None, [pilot, self._used()[1]])) or None
        told: dict[str, Any] = {"counted": self.ledger is None, "warning": warning}

        def compute() -> Released:
            server = HybridKMeansServer.from_json(record.state, ledger=self.ledger)
            return self.kind.clusters(server, **told, dimensions=self.study.dimensions)

        return compute

    def _used(self) -> tuple[Gathered, str]:
        """Return the groups that are used, and the warning about a group that is left out.

        A group that is too small is left out if the other is large enough.
        """
        number, kind = self.study.number, self.kind
        sizes = stored.sizes(self.connection, number)
        total = 0 if self.have_ended else stored.total(self.connection, number, kind.digest, self.seal, kind.sums)
        gathered = Gathered(sizes.trusted, total, {0: sizes.local} if sizes.local else {})
        wanted: dict[str, Any] = {"min_trusted": self.study.min_trusted, "min_local": self.study.min_local}
        require_sizes(gathered, **wanted, single_group=self.study.single_group)
        found = usable(gathered, **wanted, single_group=self.study.single_group)
        return found.gathered, found.warning
