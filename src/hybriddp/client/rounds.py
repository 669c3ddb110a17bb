"""Answering a round of K-means: fetch it, check it, draw once, keep the answer, send it.

The round must be of the study that the person enrolled in, every channel of it must keep the study's ε, and the turns
must say that it is this person's round. Turns that were seen once are kept: a curator who tells another story later is
not believed.
"""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hybriddp import _check
from hybriddp.client.contribution import answer_commitment
from hybriddp.client.exchange import Conversation, HttpRequest, ask, stored
from hybriddp.client.journal import JournalEntry
from hybriddp.client.problems import RejectedError, parse_object
from hybriddp.client.receipt import Receipt
from hybriddp.errors import ProtocolError
from hybriddp.kmeans.protocol.answers import messages_of
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.protocol.turns import Turns
from hybriddp.kmeans.study import KMeansStudy

if TYPE_CHECKING:
    from hybriddp.client.participant import Participant

__all__ = ["answer", "turn_of"]

_NOT_ENROLLED = "Only those who have enrolled in the local group answer a round. Call enroll() first."
_EARLY = "A later round asks you. Nothing was drawn; call again when the next round is published."
_NONE_YET = "No round is asked now. Nothing was drawn; call again later."
_OVER = "The study's rounds have ended. Nothing was drawn, and nothing else will be asked."
_LATE = "The round that asked you has ended. Nothing was drawn, and nothing else will be asked."


def answer(participant: "Participant", point: Sequence[float]) -> Conversation[Receipt]:
    """Send a person's answer to their round.

    If the answer has been drawn before, the same answer is sent again.
    """
    entry = yield from participant.entry()
    if entry is None or entry.contribution is None or not entry.contribution.enrolls:
        raise ProtocolError(_NOT_ENROLLED)
    resent, enrolled = entry.answer is not None, entry.contribution
    while entry.answer is None:  # another process may be first: then theirs is the one that counts
        entry = yield from _drawn(participant, entry, enrolled.nonce, point)
        if entry.contribution is None:
            raise ProtocolError("You have withdrawn from this study.")
    made = entry.answer
    if not resent:
        yield from participant.public_keys()
    opened = {"nonce": made["nonce"], "enrollment_nonce": enrolled.nonce}
    body = _check.compact({**made["message"], **opened}, escaped=True).encode()
    sent = HttpRequest("POST", f"/studies/{participant.study}/answers", body, participant.token)
    document = parse_object((yield from ask(sent, participant.retries)).body)
    commitment = answer_commitment(made["message"], made["nonce"])
    receipt = yield from participant.checked(document, entry, commitment, withdrawn=False)
    yield from participant.update(entry, answer_receipt=receipt.document)
    return replace(receipt, resent=resent, enrolled=False)


def turn_of(participant: "Participant", turns: Turns) -> int | None:
    """Find the round that asks a person; None if it is not published yet, or if they have not enrolled from here."""
    entry = participant.journal.read()
    if entry is None or entry.contribution is None or not entry.contribution.enrolls:
        return None
    return turns.round_of(participant.subject, entry.contribution.nonce)


def _drawn(
    participant: "Participant", entry: JournalEntry, nonce: str, point: Sequence[float]
) -> Conversation[JournalEntry]:
    """Draw an answer and write it to the journal's entry on disk."""
    offer = yield from participant.offer()
    if not isinstance(offer.study, KMeansStudy) or offer.digest != entry.digest:
        raise ProtocolError("The curator offers another study than the one that you enrolled in. Nothing was drawn.")
    document = yield from _published(participant)
    asked, turns = _checked_round(offer.study, document)
    if entry.turns and not turns.follows(Turns.from_json(entry.turns)):
        raise ProtocolError("The curator has changed whose turn it is. Nothing was drawn.")
    after = replace(entry, turns=turns.to_json())
    turn = turns.round_of(participant.subject, nonce)
    if turn != asked.number:
        yield from stored(partial(participant.journal.update, entry, after))
        late = turn is not None and turn < asked.number
        raise RejectedError(_LATE if late else _EARLY, reason="late" if late else "early", status=409)
    turns.require_turn(asked, participant.subject, nonce)
    (message,) = messages_of(asked, asked.answer([list(point)]))
    after = replace(after, answer={"message": message, "nonce": secrets.token_hex(16)})
    return (yield from stored(partial(participant.journal.update, entry, after)))


def _published(participant: "Participant") -> Conversation[dict[str, Any]]:
    """Fetch the current round.

    If there is no current round, the `RejectedError` states whether there will be one.
    """
    try:
        return (yield from participant.get(f"/studies/{participant.study}/round"))
    except RejectedError as error:
        if error.reason != "not-found":
            raise
    steps = (yield from participant.get(f"/studies/{participant.study}")).get("steps")
    first = steps[0] if isinstance(steps, list) and steps else None
    over = isinstance(first, dict) and first.get("state") == "released"
    raise RejectedError(_OVER if over else _NONE_YET, reason="late" if over else "early", status=404)


def _checked_round(study: KMeansStudy, document: dict[str, Any]) -> tuple[Round, Turns]:
    text, turns = document.get("text"), document.get("turns")
    if not isinstance(text, str) or not isinstance(turns, str):
        raise ProtocolError("The curator's document has no round with its turns.")
    return Round.from_json(text, study=study), Turns.from_json(turns)
