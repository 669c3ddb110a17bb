"""The curator: what all of a server's work needs, the database, the writer, keys, the clock and studies by their id.

`life` has what becomes of a study, `participation` what people contribute to it. No HTTP and no SQL are in any of them.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from hybriddp.items.open_release import PrivateItems
from hybriddp.service import receipts
from hybriddp.service.clock import Clock, require_certain
from hybriddp.service.keys import MasterKey
from hybriddp.service.kinds import FrequencyKind, HeavyHitterKind, KMeansKind, StudyKind, kind_of
from hybriddp.service.problems import Refusal
from hybriddp.service.rounds import AskedRound, RoundsRecord, asked_round, record_of
from hybriddp.service.store import studies
from hybriddp.service.store.engine import reading
from hybriddp.service.store.seal import TotalSeal
from hybriddp.service.store.studies import StoredStudy
from hybriddp.service.tokens import TokenKeys, TokenTimeError, VerifiedToken
from hybriddp.service.writer import Writer

_MOST_KNOWN = 1024


@dataclass(frozen=True, slots=True)
class KnownStudy:
    """A study and its kind: what never changes of it, and the state it was in when it was read."""

    stored: StoredStudy
    kind: StudyKind
    question: FrequencyKind | None = None
    """What the local group is asked about a list that has been released."""
    listed: bool = False
    """Whether the list has been released, even if nothing is on it; or whether all rounds have been answered."""
    rounds: RoundsRecord | None = None
    """What has been published of a study that asks in rounds; None before the first."""

    @property
    def local_kind(self) -> StudyKind:
        """What local reports are about: the study itself, or its question."""
        return self.kind if self.question is None else self.question

    @property
    def waits_for_list(self) -> bool:
        """Whether the question may have appeared since the study was read."""
        return isinstance(self.kind, HeavyHitterKind) and self.question is None


def known_study(connection: Connection, study: StoredStudy) -> KnownStudy:
    """Return a study with its kind and, if its list has been released, its question."""
    kind = kind_of(study)
    if isinstance(kind, KMeansKind):
        record = record_of(connection, study.number)
        return KnownStudy(study, kind, listed=record is not None and record.round is None, rounds=record)
    items = list_of(connection, study) if isinstance(kind, HeavyHitterKind) else None
    if items is None or not items.items or not isinstance(kind, HeavyHitterKind):
        return KnownStudy(study, kind, listed=items is not None)
    return KnownStudy(study, kind, kind.question(items), listed=True)


def list_of(connection: Connection, study: StoredStudy) -> PrivateItems | None:
    """Return the list of a study in two steps, if it has been released."""
    found = studies.study_steps(connection, study.number)
    return None if not found or found[0].result is None else PrivateItems.from_json(found[0].result.decode())


class Curator:
    """All that a server does, for routes to call.

    Parameters
    ----------
    engine : Engine
        The database, its tables up to date.
    master : MasterKey
        The key that everything secret is derived from.
    tokens : TokenKeys
        What participants' tokens are verified with.
    replica : str
        The name of this process among those that share the database.
    clock : Clock, optional
        The time; by default without a stored one.
    committed : callable
        Told how many contributions each transaction had.
    closed : callable
        Called when the database is no longer used.
    """

    def __init__(
        self,
        engine: Engine,
        master: MasterKey,
        tokens: TokenKeys,
        *,
        replica: str,
        clock: Clock | None = None,
        committed: Callable[[int], None] = lambda _: None,
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        self.engine, self.tokens, self.replica = engine, tokens, replica
        self.clock, self.signer = clock or Clock(), receipts.Signer(master.signing_key())
        self.hash_key, self.seal = master.participants, TotalSeal(master.total_key)
        self._known: dict[str, KnownStudy] = {}
        self._asked: dict[str, AskedRound] = {}
        self._closed = closed
        self.drawing = ThreadPoolExecutor(1, thread_name_prefix="hybriddp-drawing")
        self.writer = Writer(
            engine,
            replica=replica,
            seal=self.seal,
            clock=self.clock,
            certain=self.clock.certain,
            committed=committed,
        )

    def close(self) -> None:
        """Write what has arrived, then let go of the database. A release that is being drawn is dropped."""
        self.drawing.shutdown(wait=False, cancel_futures=True)
        self.writer.close()
        self.engine.dispose()
        self._closed()

    def verified(self, token: str | None, study_id: str) -> VerifiedToken:
        """Verify a participant's token for a study; `TokenError` unless everything about it is right.

        While the clock is in doubt nobody hears that a token is out of time, which would make them give up.
        """
        try:
            return self.tokens.verified(token or "", study_id, now=self.clock())
        except TokenTimeError:
            require_certain(self.clock)
            raise

    async def known(self, study_id: str, *, local: bool = False) -> KnownStudy:
        """Return a study by its id, from memory if it has been loaded before.

        ``local`` means that the question for the local group is needed.
        """
        found = self._known.get(study_id)
        if found is None or (local and found.waits_for_list):
            found = await asyncio.to_thread(self._read, study_id)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[study_id] = found
        return found

    def _read(self, study_id: str) -> KnownStudy:
        with reading(self.engine) as connection:
            study = studies.study(connection, study_id)
            if study is None:
                raise Refusal("not-found", "There is no study with this id.")
            return known_study(connection, study)

    async def asked(self, study_id: str, digest: str) -> AskedRound | None:
        """Return the current round of a study.

        The round is read again from the database unless the one in memory has this digest. The one in memory may have
        been ended by another replica. Answers to it are refused when they are to be written.
        """
        found = self._asked.get(study_id)
        if found is not None and found.digest == digest:
            return found
        known = await asyncio.to_thread(self._read, study_id)
        if not isinstance(known.kind, KMeansKind):
            return None
        asked = await asyncio.to_thread(asked_round, known.kind, known.rounds)
        self._known[study_id] = known
        if asked is None:
            self._asked.pop(study_id, None)
        else:
            if len(self._asked) >= _MOST_KNOWN:
                self._asked.clear()
            self._asked[study_id] = asked
        return asked

    def has_read(self, study_id: str) -> bool:
        """Whether a study with this id exists and has been asked for."""
        return study_id in self._known
