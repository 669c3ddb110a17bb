"""Answers to rounds: one local participant's, in the round whose turn it is, once.

Who may answer is not chosen by anybody: the participant's name and the study's digest say which round is theirs
(`Turns`), and their device has checked that too. The server knows a participant by two keyed hashes that nobody can
link without its key: one for having enrolled, one for having answered.

How many of those who enrolled belong to a round is not stored, nor could it be without harm. A participant's place is a
hash without a key: beside the keyed hash of who enrolled it would let whoever reads the database find out if somebody
they know takes part, and counts by place would do so wherever few people are. So the operator is told about how many
were asked, the round's fraction of all who enrolled.
"""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hybriddp.client.contribution import answer_commitment
from hybriddp.kmeans.protocol.answers import Message
from hybriddp.kmeans.protocol.turns import Turns
from hybriddp.service import receipts
from hybriddp.service.curator import Curator, KnownStudy
from hybriddp.service.kinds import KMeansKind
from hybriddp.service.participation import Acknowledged, keyed_hash
from hybriddp.service.problems import Refusal
from hybriddp.service.rounds import NO_ROUNDS, AskedRound
from hybriddp.service.store import contributions as stored
from hybriddp.service.store.contributions import PARTICIPANT, NewContribution, StoredParticipant, Verdict
from hybriddp.service.store.engine import reading

_DAY = 86_400
_NOT_ENROLLED = "This participant has not enrolled in the local group of this study, or has withdrawn."
_OTHER_ROUND = "The answer was made for another round. Fetch the round again and compare its digest."


@dataclass(frozen=True, slots=True, repr=False)
class SentAnswer:
    """What a device sends: a message that names its round by digest, and a nonce."""

    message: Message
    nonce: str

    @property
    def commitment(self) -> bytes:
        """The 32 bytes by which the server knows the answer again."""
        return bytes.fromhex(answer_commitment(self.message, self.nonce))


async def answer(curator: Curator, known: KnownStudy, sent: SentAnswer, token: str | None) -> Acknowledged:
    """Add a participant's answer, or give them the receipt of the same one again."""
    study = known.stored
    if not isinstance(known.kind, KMeansKind):
        raise Refusal("refused", NO_ROUNDS)
    subject = curator.tokens.subject(token or "", study.id)
    who = keyed_hash(curator, known, f"answer\n{subject}")
    asked = await curator.asked(study.id, sent.message["round"])
    if asked is None:
        known = await curator.known(study.id)  # read with it: rounds may have ended since it was read before
    before = await asyncio.to_thread(_before, curator, known, subject, who)
    if before is not None:
        if before.commitment != sent.commitment:
            raise Refusal("duplicate")
        return Acknowledged(
            _receipt(curator, known, before, asked.turns if asked else _last_turns(known), subject), new=False
        )
    current = _require_turn(asked, known, subject)
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
    if outcome is Verdict.DUPLICATE:
        raise Refusal("duplicate")
    found = StoredParticipant(False, one.asserted, one.day, one.commitment)
    return Acknowledged(_receipt(curator, known, found, current.turns, subject), new=outcome is Verdict.ACCEPTED)


def _before(curator: Curator, known: KnownStudy, subject: str, who: bytes) -> StoredParticipant | None:
    """What this participant has answered before; refused if they have not enrolled in the local group."""
    enrolled = keyed_hash(curator, known, f"sub\n{subject}")
    with reading(curator.engine) as connection:
        person = stored.find(connection, known.stored.number, enrolled)
        if person is None or person.commitment is None or person.trusted is not False:
            raise Refusal("not-allowed", _NOT_ENROLLED)
        return stored.find(connection, known.stored.number, who)


def _require_turn(asked: AskedRound | None, known: KnownStudy, subject: str) -> AskedRound:
    """The round that is asked, if it is this participant's."""
    if asked is None:
        if known.rounds is None:
            raise Refusal("early")
        turns = _last_turns(known)
        raise Refusal("late", round_number=None if turns is None else turns.round_of(subject))
    turn = asked.turns.round_of(subject)
    if turn is None or turn > asked.number:
        raise Refusal("early", round_number=asked.number)
    if turn < asked.number:
        raise Refusal("late", round_number=turn)
    return asked


def _last_turns(known: KnownStudy) -> Turns | None:
    """The turns of a study whose rounds have ended; None if it has asked nobody."""
    record = known.rounds
    return Turns(known.stored.digest, record.fractions) if record is not None and record.rounds else None


def _receipt(
    curator: Curator, known: KnownStudy, found: StoredParticipant, turns: Turns | None, subject: str
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
    return curator.signer.sign(told if turns is None else {**told, "round": turns.round_of(subject)})
