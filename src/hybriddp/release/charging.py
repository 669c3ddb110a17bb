"""Whom a study charges: everybody, once.

Local users spend their ε on their devices, trusted users with the release. Which of the two somebody was in the last
study, and will be in the next, no curator knows, so that a study is charged to the users of *both* groups, whichever
were asked. Then what the local group has spent is at least what any single user has spent, who was in one group of each
study: all studies are in it, at the cost that they promise.

A study is known by its digest. An estimate from reports that were charged before is post-processing, and free. Another
release about trusted users is not: it draws new noise.

Where users never change groups, a ledger that counts ``"trusted"`` charges what is released about trusted users, and
leaves local users to their devices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from hybriddp.errors import BudgetError
from hybriddp.privacy import Privacy
from hybriddp.release.event import EVERYBODY, NOTHING, Event, Part, Spent

if TYPE_CHECKING:
    from hybriddp.release.ledger.ledger import Ledger

COUNTS = (EVERYBODY, "trusted")
"""Whom a ledger may count."""


class Charged(Enum):
    """Whether an estimate without a release was charged."""

    NOT = "not"
    NOW = "now"
    BEFORE = "before"


@dataclass(frozen=True, slots=True)
class Charge:
    """An event that is to be charged, and what its study promises in total; None if that does not matter."""

    event: Event
    promised: Privacy | None


def charge_study(
    ledger: "Ledger",
    releases: Sequence[Event],
    reports: Sequence[Event] = (),
    *,
    promised: Privacy,
    in_steps: bool = False,
) -> Charged:
    """Charge a study for its releases and reports, all or nothing; `BudgetError` if there is too little left.

    Parameters
    ----------
    ledger : Ledger
        Where it is charged.
    releases : sequence of Event
        What is released about trusted users (``who="trusted"``).
    reports : sequence of Event
        Reports of local users from which an estimate is made without a release (``who="local"``). Those that were
        charged before are free.
    promised : Privacy
        What the study promises its users in total.
    in_steps : bool
        Whether the releases are steps of a study whose local users were charged before the first one.
    """
    charges: list[Charge] = []

    def decide() -> list[Charge]:
        charges[:] = [charge for event in releases for charge in _for_release(ledger, event, promised, in_steps)]
        if ledger.count == EVERYBODY:
            charges.extend(Charge(event, None) for event in reports if not _is_charged(ledger, event, promised))
        return charges

    ledger.spend_decided(decide)
    if charges:
        return Charged.NOW
    return Charged.BEFORE if reports and ledger.count == EVERYBODY else Charged.NOT


def is_again(ledger: "Ledger", event: Event) -> bool:
    """Whether a release is charged once more because its result was lost; `BudgetError` if it is there."""
    if ledger.complete_results is None:
        return False
    before = [e for e in ledger.of_study("trusted", event.study) if _covers(e.part, event.part) or event.part is None]
    if any(e.result in ledger.complete_results for e in before):
        raise BudgetError(f"{event.title} has been released already, and its result is there.")
    return bool(before)


def _for_release(ledger: "Ledger", event: Event, promised: Privacy, in_steps: bool) -> list[Charge]:
    if is_again(ledger, event):
        alone = in_steps or ledger.count != EVERYBODY
        return [Charge(event if alone else replace(event, who=EVERYBODY, mechanism=None), None)]
    if in_steps or ledger.count != EVERYBODY or _is_charged(ledger, event, promised):
        return [Charge(event, promised)]
    # Local reports have other noise: of both groups together (ε, δ) is true, and no mechanism.
    both = replace(event, mechanism=None)
    if not ledger.sums("local", part=event.part, study=event.study).epsilon:
        return [Charge(replace(both, who=EVERYBODY), promised)]
    return [Charge(event, promised), Charge(replace(both, who="local"), None)]  # reports of some parts were charged


def _is_charged(ledger: "Ledger", event: Event, promised: Privacy) -> bool:
    """Whether the local users whom the event is about were charged for the study, each of them."""
    before = [e for e in ledger.of_study("local", event.study) if _covers(e.part, event.part)]
    return Spent.of(promised).within(sum((Spent.of(e.privacy) for e in before), NOTHING))


def _covers(charged: Part | None, asked: Part | None) -> bool:
    """Whether all users of a part were charged."""
    if charged is None or asked is None:
        return charged is None
    return (charged.by, charged.same_key) == (asked.by, asked.same_key)
