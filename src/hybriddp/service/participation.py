"""Taking part: one person's contribution, a relay's batch, withdrawal and receipts.

A person is the keyed hash of a name and a study, and takes part once. A contribution is acknowledged after it is on
disk. The same contribution again, shown by the same nonce, gets the same receipt.
"""

import asyncio
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from hybriddp.service import receipts
from hybriddp.service.curator import Curator, KnownStudy
from hybriddp.service.documents import keep_closed
from hybriddp.service.keys import participant_hash
from hybriddp.service.problems import Refusal
from hybriddp.service.store import contributions as stored
from hybriddp.service.store import studies
from hybriddp.service.store.contributions import NOBODY, PARTICIPANT, RELAY, NewContribution, StoredParticipant, Verdict
from hybriddp.service.store.engine import reading
from hybriddp.service.store.studies import ASKING, OPEN, TAKING
from hybriddp.service.tokens import VerifiedToken, check_subject

_ASSERTED = {PARTICIPANT: "participant", RELAY: "relay", NOBODY: "nobody"}
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A receipt, if one was wanted at once, and whether the contribution is a new one."""

    receipt: dict[str, Any] | None
    new: bool


@dataclass(frozen=True, slots=True, repr=False)
class Sent:
    """What a person sends: an integer in a group, the digest that it was made for, and the nonce.

    Who enrolls for rounds keeps the nonce until they answer, and sends the commitment in its place.
    """

    trusted: bool
    integer: int
    digest: str
    nonce: str
    commitment: bytes | None = None


class RelayedReport(Protocol):
    """A report in a relay's batch."""

    @property
    def participant(self) -> str:
        """Whom the relay names."""

    @property
    def code(self) -> int:
        """The code."""

    @property
    def nonce(self) -> str:
        """The nonce."""

    @property
    def part(self) -> str | None:
        """The part of the users that the relay says the participant is in."""


@dataclass(frozen=True, slots=True)
class KnownPerson:
    """A person as the server knows them: by a keyed hash, and by what their token says of them."""

    who: bytes
    token: VerifiedToken | None = None


def person_of(curator: Curator, known: KnownStudy, token: str | None, commitment: bytes | None) -> KnownPerson:
    """Whom a token belongs to; in a pilot without tokens the contribution itself stands for its person."""
    if known.stored.tokens:
        verified = curator.verified(token, known.stored.id)
        return KnownPerson(keyed_hash(curator, known, f"sub\n{verified.subject}"), verified)
    if commitment is None:
        raise Refusal("malformed", "commitment must be given: this study has no tokens.")
    return KnownPerson(keyed_hash(curator, known, f"commitment\n{commitment.hex()}"))


def keyed_hash(curator: Curator, known: KnownStudy, text: str) -> bytes:
    """Return the hash by which a person is known in this study; see `participant_hash`."""
    return participant_hash(curator.hash_key, known.stored.digest, text)


def _contribution(
    curator: Curator, known: KnownStudy, sent: Sent, token: str | None, *, in_part: bool = True
) -> NewContribution:
    """Build the contribution to add or, without its part, to withdraw.

    A withdrawal uses the stored part.
    """
    study = known.stored
    kind = known.kind if sent.trusted else known.local_kind
    _require_digest(kind.digest, sent.digest)
    group = "trusted" if sent.trusted else "local"
    commitment = sent.commitment or receipts.commitment(kind.digest, group, sent.integer, sent.nonce)
    asserted = PARTICIPANT if study.tokens else NOBODY
    person = person_of(curator, known, token, commitment)
    return NewContribution(
        study.number,
        study.digest,
        person.who,
        sent.trusted,
        sent.integer,
        commitment,
        asserted,
        curator.clock() // _DAY,
        kind.sums,
        OPEN if kind is known.kind else ASKING,
        person.token.part_in(known.kind.parts) if in_part and person.token else None,
    )


async def contribute(
    curator: Curator, known: KnownStudy, sent: Sent, token: str | None, *, with_receipt: bool = True
) -> Acknowledged:
    """Add one person's contribution, or give them the receipt of the same one again.

    Without the receipt it is faster, since nothing is signed: `receipt` gives it later.
    """
    one = _contribution(curator, known, sent, token)
    (outcome,) = await curator.writer.add([one])
    if outcome is Verdict.FULL:
        raise Refusal("full", one.sums.full)
    if outcome not in (Verdict.ACCEPTED, Verdict.REPEATED):
        raise Refusal(outcome.value)
    new = outcome is Verdict.ACCEPTED
    if not with_receipt:
        return Acknowledged(None, new)
    if not new:
        return Acknowledged(await _stored_receipt(curator, known, one.who), new)
    found = StoredParticipant(one.trusted, one.asserted, one.day, one.commitment, one.part)
    return Acknowledged(curator.signer.sign(_told(known, found)), new)


async def contribute_batch(
    curator: Curator, known: KnownStudy, digest: str, reports: Sequence[RelayedReport | None], relay: str
) -> dict[str, Any]:
    """Add the reports of a relay's participants together; what cannot be added is counted by reason.

    None stands for a report that could not be read. `Refusal` if the study is closed and nothing was taken.
    """
    study, kind = known.stored, known.local_kind
    _require_digest(kind.digest, digest)
    if not study.tokens:
        raise Refusal("not-allowed", "A study without tokens takes no batches: relays name participants.")
    day, accepted = curator.clock() // _DAY, []
    rejected: dict[int, str] = {}
    for index, report in enumerate(reports):
        if report is None:
            rejected[index] = "malformed"
            continue
        try:
            code = kind.report(report.code)
            commitment = receipts.commitment(kind.digest, "local", code, report.nonce)
            who = keyed_hash(curator, known, f"sub\n{check_subject(report.participant)}")
            part = _relayed_part(known, report)
        except Refusal as refusal:
            rejected[index] = refusal.reason
            continue
        taken_in = OPEN if kind is known.kind else ASKING
        said = (study.number, study.digest, who, False, code, commitment, RELAY, day)
        accepted.append((index, NewContribution(*said, kind.sums, taken_in, part)))
    outcomes = await curator.writer.add([one for _, one in accepted]) if accepted else []
    taken, repeated = [], 0
    for (index, one), outcome in zip(accepted, outcomes, strict=True):
        if outcome in (Verdict.ACCEPTED, Verdict.REPEATED):
            taken.append(one.commitment)
            repeated += outcome is Verdict.REPEATED
        else:
            rejected[index] = outcome.value
    closed = Verdict.CLOSED.value in rejected.values() or (not accepted and await _is_closed(curator, study.id))
    if closed and not taken:
        raise Refusal("closed")
    receipt = {
        "version": 1,
        "study": study.id,
        "digest": kind.digest,
        "group": "local",
        "asserted_by": "relay",
        "relay": relay,
        "accepted": len(taken) - repeated,
        "repeated": repeated,
        "commitments_sha256": receipts.commitments_sha256(taken),
        "day": _date(day),
    }
    return {
        "accepted": len(taken) - repeated,
        "repeated": repeated,
        "rejected": [{"index": index, "reason": reason} for index, reason in sorted(rejected.items())],
        "receipt": curator.signer.sign(receipt),
    }


async def _is_closed(curator: Curator, study_id: str) -> bool:
    """Whether a study takes nothing, where no report of a batch has asked that of the writer."""
    await keep_closed(curator, study_id, curator.clock())

    def work() -> bool:
        with reading(curator.engine) as connection:
            found = studies.study(connection, study_id)
            return found is None or found.state not in TAKING

    return await asyncio.to_thread(work)


def _relayed_part(known: KnownStudy, report: RelayedReport) -> int | None:
    """Return the number of the part in a relay's report.

    The report is refused unless it names exactly one part of the study, or no part if the study has none.
    """
    parts = known.kind.parts
    found = None if parts is None else parts.position(report.part)
    if (parts is None) != (report.part is None) or (parts is not None and found is None):
        raise Refusal("malformed", "part must be one of the study's, and left out where it has none.")
    return found


async def withdraw(curator: Curator, known: KnownStudy, sent: Sent, token: str | None) -> dict[str, Any]:
    """Subtract what a person contributed, which they show by opening their commitment."""
    one = _contribution(curator, known, sent, token, in_part=False)
    outcome = await curator.writer.withdraw(one)
    if outcome is Verdict.ABSENT:
        raise Refusal("not-found", "There is no such contribution.")
    if outcome is Verdict.DUPLICATE:
        raise Refusal("duplicate", "This is not what the person contributed: it does not open their commitment.")
    if outcome is Verdict.UNSURE:
        raise Refusal("unavailable")
    if outcome not in (Verdict.WITHDRAWN, Verdict.FORGOTTEN):
        raise Refusal("closed", "The study is closed: what was contributed can no longer be withdrawn.")
    opened = outcome is Verdict.WITHDRAWN
    left = StoredParticipant(one.trusted, one.asserted, one.day, one.commitment if opened else None)
    return curator.signer.sign(_told(known, left, withdrawn=True) | {"opened": opened})


async def receipt(curator: Curator, known: KnownStudy, token: str | None, commitment: bytes | None) -> dict[str, Any]:
    """Return the receipt of a participant again."""
    return await _stored_receipt(curator, known, person_of(curator, known, token, commitment).who)


async def _stored_receipt(curator: Curator, known: KnownStudy, who: bytes) -> dict[str, Any]:
    def work() -> StoredParticipant | None:
        with reading(curator.engine) as connection:
            return stored.find(connection, known.stored.number, who)

    found = await asyncio.to_thread(work)
    if found is None or found.commitment is None:
        raise Refusal("not-found", "There is no contribution of this person, or it has been withdrawn.")
    return curator.signer.sign(_told(known, found))


def _told(known: KnownStudy, found: StoredParticipant, *, withdrawn: bool = False) -> dict[str, Any]:
    study, kind = known.stored, known.kind if found.trusted else known.local_kind
    group = "trusted" if found.trusted else "local"
    told = {
        "version": 1,
        "study": study.id,
        "digest": kind.digest,
        "group": group,
        "epsilon": kind.privacy.epsilon,
        "delta": kind.privacy.delta,
        "commitment": (found.commitment or b"").hex(),
        "asserted_by": _ASSERTED[found.asserted],
        "stored": receipts.stored(
            group, kind=study.kind, tokens=study.tokens, parts=known.kind.parts, withdrawn=withdrawn
        ),
        "day": _date(found.day),
    }
    if found.part is not None and known.kind.parts is not None:
        told |= {"part": known.kind.parts.names[found.part], "part_by": known.kind.parts.by}
    return told | {"withdrawn": True} if withdrawn else told


def _require_digest(wanted: str, digest: str) -> None:
    if not hmac.compare_digest(digest.encode(), wanted.encode()):
        raise Refusal("wrong-digest")


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * _DAY, UTC).date().isoformat()
