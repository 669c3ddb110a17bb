"""Answers to rounds: one local participant's, in the round whose turn it is, once.

Who may answer is not chosen by this server: the study's digest, the participant's name and a nonce of their device say
which round is theirs (`Turns`). The device opens the nonce with its answer. It must be the one that it committed to
when it enrolled: so nobody chooses their round after the rounds are known. The server knows a participant by two keyed
hashes that nobody can link without its key: one for having enrolled, one for having answered.

How many of those who enrolled belong to a round, nobody knows: a commitment hides its nonce. So the operator is told
about how many were asked, the round's fraction of all who enrolled. Nonces that were opened are not stored.
"""

import asyncio
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hybriddp.client.contribution import answer_commitment
from hybriddp.kmeans.protocol.answers import Message
from hybriddp.kmeans.protocol.turns import Turns
from hybriddp.service import receipts
from hybriddp.service.curator import Curator, KnownStudy
from hybriddp.service.kinds import KMeansKind
from hybriddp.service.kinds.kmeans import ENROLLED
from hybriddp.service.participation import Acknowledged, keyed_hash
from hybriddp.service.problems import Refusal
from hybriddp.service.rounds import NO_ROUNDS, AskedRound
from hybriddp.service.store import contributions as stored
from hybriddp.service.store.contributions import PARTICIPANT, NewContribution, StoredParticipant, Verdict
from hybriddp.service.store.engine import reading

_DAY = 86_400
_NOT_ENROLLED = "This participant has not enrolled in the local group of this study, or has withdrawn."
_OTHER_NONCE = "The enrollment_nonce is not the one that this participant committed to when they enrolled."
_OTHER_ROUND = "The answer was made for another round. Fetch the round again and compare its digest."


@dataclass(frozen=True, slots=True, repr=False)
class SentAnswer:
    """What a device sends: a message that names its round by digest, a nonce, and the one that it enrolled with."""

    message: Message
    nonce: str
    enrollment_nonce: str

    @property
    def commitment(self) -> bytes:
        """The 32 bytes by which the server knows the answer again."""
        return bytes.fromhex(answer_commitment(self.message, self.nonce))


@dataclass(frozen=True, slots=True, repr=False)
class _Place:
    """What a participant's place follows from, beside the study."""

    subject: str
    nonce: str

    def round_in(self, turns: Turns) -> int | None:
        """Return the number of the participant's round, or None if not yet published."""
        return turns.round_of(self.subject, self.nonce)


async def answer(curator: Curator, known: KnownStudy, sent: SentAnswer, token: str | None) -> Acknowledged:
    """Add a participant's answer, or give them the receipt of the same one again."""
    study = known.stored
    if not isinstance(known.kind, KMeansKind):
        raise Refusal("refused", NO_ROUNDS)
    subject = curator.verified(token, study.id).subject
    who = keyed_hash(curator, known, f"answer\n{subject}")
    asked = await curator.asked(study.id, sent.message["round"])
    if asked is None:
        known = await curator.known(study.id)  # read with it: rounds may have ended since it was read before
    before = await asyncio.to_thread(_before, curator, known, subject, sent.enrollment_nonce, who)
    place = _Place(subject, sent.enrollment_nonce)
    if before is not None:
        if before.commitment != sent.commitment:
            raise Refusal("duplicate")
        return Acknowledged(
            _receipt(curator, known, before, asked.turns if asked else _last_turns(known), place), new=False
        )
    current = _require_turn(asked, known, place)
    if sent.message["round"] != current.digest:
        raise Refusal("wrong-digest", _OTHER_ROUND)
    one = NewContribution(
        study.number,
        study.digest,
        who,
        False,
        current.integer(sent.message),
        sent.commitment,
        PARTICIPANT,
        curator.clock() // _DAY,
        current.sums,
        current.taken_in,
    )
    (outcome,) = await curator.writer.add([one])
    if outcome is Verdict.CLOSED:  # the round ended while the answer was on its way
        raise Refusal("late", round_number=current.number)
    if outcome not in (Verdict.ACCEPTED, Verdict.REPEATED):
        raise Refusal(outcome.value)
    found = StoredParticipant(False, one.asserted, one.day, one.commitment)
    return Acknowledged(_receipt(curator, known, found, current.turns, place), new=outcome is Verdict.ACCEPTED)


def _before(curator: Curator, known: KnownStudy, subject: str, nonce: str, who: bytes) -> StoredParticipant | None:
    """Find the participant's stored answer.

    The answer is refused unless the participant has enrolled with this nonce.
    """
    opened = receipts.commitment(known.stored.digest, "local", ENROLLED, nonce)
    enrolled = keyed_hash(curator, known, f"sub\n{subject}")
    with reading(curator.engine) as connection:
        person = stored.find(connection, known.stored.number, enrolled)
        if person is None or person.commitment is None or person.trusted is not False:
            raise Refusal("not-allowed", _NOT_ENROLLED)
        if not hmac.compare_digest(person.commitment, opened):
            raise Refusal("not-allowed", _OTHER_NONCE)
        return stored.find(connection, known.stored.number, who)


def _require_turn(asked: AskedRound | None, known: KnownStudy, place: _Place) -> AskedRound:
    """Return the current round, or refuse if it is not this participant's turn."""
    if asked is None:
        if known.rounds is None:
            raise Refusal("early")
        turns = _last_turns(known)
        raise Refusal("late", round_number=None if turns is None else place.round_in(turns))
    turn = place.round_in(asked.turns)
    if turn is None or turn > asked.number:
        raise Refusal("early", round_number=asked.number)
    if turn < asked.number:
        raise Refusal("late", round_number=turn)
    return asked


def _last_turns(known: KnownStudy) -> Turns | None:
    """Return the turns of a study whose rounds have ended.

    Return None if the study has not started any round.
    """
    record = known.rounds
    return Turns(known.stored.digest, record.fractions) if record is not None and record.rounds else None


def _receipt(
    curator: Curator, known: KnownStudy, found: StoredParticipant, turns: Turns | None, place: _Place
) -> dict[str, Any]:
    study, privacy = known.stored, known.kind.privacy
    told = {
        "version": 1,
        "study": study.id,
        "digest": study.digest,
        "group": "local",
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "commitment": (found.commitment or b"").hex(),
        "asserted_by": "participant",
        "stored": receipts.stored("local", kind=study.kind),
        "day": datetime.fromtimestamp(found.day * _DAY, UTC).date().isoformat(),
    }
    return curator.signer.sign(told if turns is None else {**told, "round": place.round_in(turns)})
