"""A ledger in words: what happened, whom each event counts, in which study, and what is left."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hybriddp.privacy import NEIGHBORS, Privacy
from hybriddp.release.event import EVERYBODY, GROUPS, Event, Spent

if TYPE_CHECKING:
    from hybriddp.release.ledger.ledger import Ledger

_TOLD = 5  # events that a refusal lists


def explain(ledger: "Ledger", latest: int) -> str:
    """Describe the ledger with its latest events."""
    events = ledger.events
    lines = [f"Every user may spend {budget_words(ledger.budget)}. Neighbors: {NEIGHBORS}."]
    told = events[max(0, len(events) - latest) :]
    if len(told) < len(events):
        lines.append(f"{len(events) - len(told):,} earlier events.")
    lines += [f"{event.when}: {line(event)}" for event in told]
    lines.append(ledger.accountant.explain(ledger.budget.exact_delta))
    for who in _charged(events):
        left = str(ledger.remaining(who))
        left = left if ledger.accountant.adds_up else left.replace(", ", " at ")
        lines.append(f"Left to every one of the {who} users: {left}")
    return "\n".join(lines if events else [*lines, "Nothing has been spent."])


def line(event: Event) -> str:
    """Describe an event: what, which study, whom it counts, what it cost."""
    return f"{event.title}, counts {event.users}: ε = {event.epsilon}, δ = {event.delta}"


def short(ledger: "Ledger") -> str:
    """Describe the ledger in a line."""
    n, at = len(ledger.events), float(ledger.budget.exact_delta)

    def amount(spent: Spent) -> str:
        epsilon = f"ε = {float(spent.epsilon):g}"  # at the budget's δ, if δ does not add up
        return f"{epsilon}, δ = {float(spent.delta):.3g}" if at and ledger.accountant.adds_up else epsilon

    budget = f"ε = {float(ledger.budget.exact_epsilon):g}" + (f", δ = {at:.3g}" if at else "")
    groups = [
        f"; {who}: spent {amount(ledger.spent(who))}, left {amount(ledger.remaining(who))}"
        for who in _charged(ledger.events)
    ]
    return f"<Ledger: budget {budget}; {n:,} event{'s' * (n != 1)}{''.join(groups)}>"


def budget_words(budget: Privacy) -> str:
    """Write (ε, δ) as it was given."""
    return f"ε = {budget.epsilon}, δ = {budget.delta}"


def about(events: Iterable[Event], who: str) -> list[Event]:
    """List the events that cost any of these users something."""
    return [event for event in events if EVERYBODY in (event.who, who) or event.who == who]


def story(events: Sequence[Event], who: str) -> str:
    """List the latest events that cost any of these users something."""
    mine = about(events, who)
    told = [f"{e.title} ({e.users}), ε = {e.epsilon}, {e.when}" for e in mine[-_TOLD:]]
    if len(mine) > _TOLD:
        told.insert(0, f"{len(mine) - _TOLD:,} earlier events")
    return "; ".join(told) or "nothing"


def refusal(event: Event, reason: str, before: Sequence[Event]) -> str:
    """Describe why an event is refused, and what was spent before."""
    return (
        f"{event.title} would cost {event.users} ε = {event.epsilon}, δ = {event.delta}, but {reason} "
        f"Spent before: {story(before, event.who)}."
    )


def _charged(events: Iterable[Event]) -> list[str]:
    whos = {event.who for event in events}
    return [who for who in GROUPS if whos & {who, EVERYBODY}]
