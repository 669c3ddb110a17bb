"""A participant's side of a study, without I/O: fetch, check, draw once, keep, send, and keep the receipt.

The order is what matters. The contribution is in the journal before the first byte of it leaves, and what is in the
journal is what is sent, however often and whatever happens in between.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hybriddp.client.claims import read_claims
from hybriddp.client.contribution import Contribution, is_digest
from hybriddp.client.exchange import Conversation, HttpRequest, RetryPolicy, ask, stored
from hybriddp.client.journal import Journal, JournalEntry
from hybriddp.client.offer import StudyOffer
from hybriddp.client.problems import RejectedError, parse_object
from hybriddp.client.receipt import KEYS_PATH, Receipt, has_key, verify
from hybriddp.errors import ParameterError, ProtocolError

__all__ = ["Participant"]

_LOG = logging.getLogger("hybriddp.client")
_NOTHING_THERE = (
    "The curator has nothing of yours: your contribution never arrived, or an earlier withdrawal, whose answer was "
    "lost, has removed it."
)


class Participant:
    """One person in one study: every method is a conversation for a driver.

    Parameters
    ----------
    token : str or None
        Their token; None in a pilot that takes contributions without tokens.
    study : str or None
        The study's id, if the token does not name it.
    journal : Journal
        Where the contribution is kept.
    digest : str or None
        The digest that the app has pinned.
    retries : RetryPolicy
        How often to try.
    """

    def __init__(
        self, token: str | None, *, study: str | None, journal: Journal, digest: str | None, retries: RetryPolicy
    ) -> None:
        if digest is not None and not is_digest(digest):
            raise ParameterError("digest", "64 lower-case hexadecimal digits", digest)
        claims = read_claims(token, study)
        self.study, self._who, self.subject, self._part = claims.study, claims.participant, claims.subject, claims.part
        self.token, self.journal, self._pinned, self.retries = token, journal, digest, retries
        self._offer: StudyOffer | None = None
        self._keys: dict[str, Any] | None = None

    # What is public: asked for without the token, since who asks need not say who they are

    def offer(self) -> Conversation[StudyOffer]:
        """Fetch the study as the curator offers it, and check it.

        It is fetched once, or until its list has been released.
        """
        known = self._offer
        if known is None or known.waits_for_list:
            document = yield from self.get(f"/studies/{self.study}")
            offer = StudyOffer.from_document(document, digest=self._pinned if known is None else known.digest)
            if offer.id != self.study:
                raise ProtocolError(f"The curator answered with study {offer.id[:64]!r} instead of {self.study!r}.")
            known = self._offer = offer
        return known

    def promise(self) -> Conversation[str]:
        """Describe what was promised."""
        offer = yield from self.offer()
        return offer.promise(self._part)

    def public_keys(self, *, again: bool = False) -> Conversation[dict[str, Any]]:
        """Return the curator's public keys, which are fetched once."""
        if self._keys is None or again:
            self._keys = yield from self.get(KEYS_PATH)
        return self._keys

    def get(self, path: str) -> Conversation[dict[str, Any]]:
        """Fetch a public document."""
        answer = yield from ask(HttpRequest("GET", path), self.retries)
        return parse_object(answer.body)

    # Contributing

    def enroll(self) -> Conversation[Receipt]:
        """Join the local group of a study that asks in rounds."""
        entry = yield from self.entry()
        if entry is None:
            offer = yield from self._open_offer("local")
            return (yield from self._keep_and_send(offer, offer.enrollment, "local"))
        return (yield from self._send_again(entry, "local"))

    def contribute(self, group: str, value: float | str | Sequence[float]) -> Conversation[Receipt]:
        """Draw for this group, unless something has been drawn before, keep it and send it."""
        entry = yield from self.entry()
        if entry is None:
            offer = yield from self._open_offer(group)
            return (yield from self._keep_and_send(offer, lambda: offer.draw(value, group=group), group))
        return (yield from self._send_again(entry, group))

    def send(self, contribution: Contribution) -> Conversation[Receipt]:
        """Send what was drawn earlier, without a network, from a saved offer."""
        entry = yield from self.entry()
        if entry is None:
            offer = yield from self._open_offer(contribution.group)
            offered = offer.study_of(contribution.group).digest
            if contribution.digest != offered:
                drawn = contribution.digest[:12]
                raise ProtocolError(
                    f"The contribution's draws belong to study {drawn}…, not to {offered[:12]}…. Nothing was sent."
                )
            return (yield from self._keep_and_send(offer, lambda: contribution, contribution.group))
        if entry.contribution is not None and entry.contribution != contribution:
            raise ProtocolError("The journal has another contribution to this study. Only one can be sent.")
        return (yield from self._send_again(entry, contribution.group))

    def _open_offer(self, group: str) -> Conversation[StudyOffer]:
        """Return the offer if the study takes contributions of this group.

        This is checked before anything is drawn for the study.
        """
        offer = yield from self.offer()
        refusal = offer.refusal(group)
        if refusal:
            raise RejectedError(refusal, reason="closed", status=409)
        if offer.tokens and self.token is None:
            raise ProtocolError("This study needs a participant's token. Nothing was drawn.")
        if offer.parts is not None and offer.parts.position(self._part) is None:
            raise ProtocolError(
                f"The token does not say which {offer.parts.by} of this study the person counts in: its claim part "
                f"must be one of {offer.parts.listed()}. Nothing was drawn. Ask for a new token."
            )
        yield from self.public_keys()
        return offer

    def _keep_and_send(self, offer: StudyOffer, draw: Callable[[], Contribution], group: str) -> Conversation[Receipt]:
        made = draw()
        asked = offer.study_of(group)
        entry = JournalEntry(
            self.study,
            self._who,
            asked.digest,
            group,
            asked.privacy.epsilon,
            asked.privacy.delta,
            contribution=made,
            asked_in="" if asked.digest == offer.digest else offer.digest,
        )
        kept = yield from stored(lambda: self.journal.create(entry))
        if kept.contribution == made:
            return (yield from self._send_kept(kept, made, resent=False))
        return (yield from self._send_again(self._own(kept), group))  # another process was first

    def _send_again(self, entry: JournalEntry, group: str) -> Conversation[Receipt]:
        if entry.contribution is None:
            raise ProtocolError("You have withdrawn from this study. Whoever has withdrawn cannot join it again.")
        if entry.group != group:
            raise ProtocolError(
                f"You are in the {entry.group} group of this study, and nobody can be in both. Nothing was sent."
            )
        _LOG.info("The journal has a contribution to this study: it is sent again, and the value given is not used.")
        return (yield from self._send_kept(entry, entry.contribution, resent=True))

    def _send_kept(self, entry: JournalEntry, made: Contribution, *, resent: bool) -> Conversation[Receipt]:
        yield from self.public_keys()
        try:
            document = yield from self._post(f"/studies/{self.study}/{made.route}", made, made.body())
        except RejectedError as error:
            # Nothing was drawn for a value, so whoever finds the trusted group full may choose again. A report stays
            # whatever the curator says: it would be drawn anew.
            if error.reason == "full" and entry.group == "trusted" and entry.receipt is None:
                yield from stored(lambda: self.journal.remove(entry))
            raise
        receipt = yield from self.checked(document, entry, made.commitment, withdrawn=False)
        self._check_part(receipt, resent=resent)
        yield from self.update(entry, receipt=receipt.document)
        return replace(receipt, resent=resent)

    def _post(self, path: str, made: Contribution, body: bytes) -> Conversation[dict[str, Any]]:
        hide = "" if made.value is None else str(list(made.value) if isinstance(made.value, tuple) else made.value)
        answer = yield from ask(HttpRequest("POST", path, body, self.token, hide), self.retries)
        return parse_object(answer.body)

    # Afterwards

    def receipt(self) -> Conversation[Receipt]:
        """Request the receipt again."""
        entry = yield from self.entry()
        made = None if entry is None else entry.contribution
        query = ""
        if self.token is None:
            if made is None:
                raise ProtocolError("Without a token a receipt can be found by the journal's contribution only.")
            query = f"?commitment={made.commitment}"
        answer = yield from ask(
            HttpRequest("GET", f"/studies/{self.study}/receipt{query}", token=self.token), self.retries
        )
        document = parse_object(answer.body)
        receipt = yield from self.checked(document, entry, None if made is None else made.commitment)
        if entry is not None and made is not None and not receipt.withdrawn:
            yield from self.update(entry, receipt=receipt.document)
        return receipt

    def withdraw(self) -> Conversation[Receipt]:
        """Open the commitment from the journal, so that the curator subtracts the contribution and forgets it.

        A withdrawal that finds nothing, as the second one after a lost answer does, is one too: the journal forgets.
        """
        entry = yield from self.entry()
        if entry is None:
            raise ProtocolError(
                "The journal has nothing to withdraw. Only the device that contributed, with its journal, can withdraw."
            )
        made = entry.contribution
        if made is None:  # withdrawn before
            return Receipt.from_document(entry.withdrawal or {}, resent=True)
        yield from self.public_keys()
        try:
            document = yield from self._post(f"/studies/{self.study}/{made.route}/withdraw", made, made.opening())
        except RejectedError as error:  # in a pilot that never got it, or by an older curator for a second withdrawal
            if error.reason != "not-found":
                raise
            raise RejectedError(_NOTHING_THERE, reason=error.reason, status=error.status) from error
        receipt = yield from self.checked(document, entry, made.commitment, withdrawn=True)
        yield from self.update(entry, contribution=None, withdrawal=receipt.document)
        return receipt

    # The journal

    def entry(self) -> Conversation[JournalEntry | None]:
        """Read this person's entry in this study from the journal."""
        entry = yield from stored(self.journal.read)
        return None if entry is None else self._own(entry)

    def update(self, entry: JournalEntry, **changes: Any) -> Conversation[None]:  # noqa: ANN401
        """Change the entry in the journal, as it is there now, unless another process has withdrawn it since."""
        while True:
            before, after = entry, replace(entry, keys=self._keys, **changes)
            entry = yield from stored(partial(self.journal.update, before, after))
            if entry is after or entry.withdrawal is not None:
                return
            if self._own(entry).contribution != before.contribution:
                raise ProtocolError("The journal has another contribution than the one that was sent.")

    def _own(self, entry: JournalEntry) -> JournalEntry:
        """Return an entry about this person and this study, and refuse any other."""
        if entry.study != self.study or self._pinned not in (None, entry.study_digest):
            raise ProtocolError(
                f"The journal belongs to study {entry.study!r} ({entry.study_digest[:12]}…). Name another file."
            )
        if self._who and entry.participant and self._who != entry.participant:
            raise ProtocolError("The journal belongs to another participant of this study. Name another file.")
        return entry

    # Receipts

    def _check_part(self, receipt: Receipt, *, resent: bool) -> None:
        """Compare the part that a receipt tells with the offer and the token, as far as these are known.

        What is sent again stays in the part that it was taken in, whatever a newer token says.
        """
        if self._offer is None:
            return
        parts = self._offer.parts
        if parts is None:
            right = not receipt.part and not receipt.part_by
        else:
            found = parts.position(receipt.part)
            right = found is not None and receipt.part_by == parts.by
            right = right and (resent or found == parts.position(self._part))
        if not right:
            raise ProtocolError("The receipt is signed, but counts you in another part than your token says.")

    def checked(
        self,
        document: dict[str, Any],
        entry: JournalEntry | None,
        commitment: str | None,
        *,
        withdrawn: bool | None = None,
    ) -> Conversation[Receipt]:
        """Verify a receipt's signature, and that it is about this contribution."""
        keys = yield from self.public_keys()
        if not has_key(document, keys):  # the curator may have got a new key since
            keys = yield from self.public_keys(again=True)
        verify(document, keys)
        receipt = Receipt.from_document(document)
        said = [receipt.study == self.study]
        if entry is not None:
            said += [
                (receipt.digest, receipt.group) == (entry.digest, entry.group),
                (receipt.epsilon, receipt.delta) == (entry.epsilon, entry.delta),
            ]
        if commitment is not None:  # a withdrawal that found nothing to open has none
            nothing = bool(withdrawn) and not receipt.opened
            said.append(receipt.commitment == ("" if nothing else commitment))
        if withdrawn is not None:
            said.append(receipt.withdrawn is withdrawn)
        if not all(said):
            raise ProtocolError("The receipt is signed, but is not about this contribution under this promise.")
        made = None if entry is None else entry.contribution
        return replace(receipt, enrolled=made is not None and made.enrolls)
