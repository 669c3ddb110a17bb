"""A ledger in words: what happened, whom each event counts, in which study, and what is left."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hybriddp.privacy import NEIGHBORS
from hybriddp.release.event import GROUPS, Event, Spent, groups
from hybriddp.reporting.wording import counted

if TYPE_CHECKING:
    from hybriddp.release.ledger.ledger import Ledger

_LISTED = 5  # events that a refusal lists


def explain(ledger: "Ledger", latest: int) -> str:
    """Describe the ledger with its latest events."""
    events = ledger.events
    listed = events[max(0, len(events) - latest) :]
    lines = [f"Every user may spend {ledger.budget}. Neighbors: {NEIGHBORS}."]
    if len(listed) < len(events):
        lines.append(f"{len(events) - len(listed):,} earlier events.")
    lines += [f"{event.when}: {line(event)}" for event in listed]
    lines.append(ledger.accountant.explain(ledger.budget.exact_delta))
    for who in _charged(events):
        left = str(ledger.remaining(who))
        left = left if ledger.accountant.adds_up else left.replace(", ", " at ")
        lines.append(f"Left to every one of the {who} users: {left}")
    return "\n".join(lines if events else [*lines, "Nothing has been spent."])


def line(event: Event) -> str:
    """Describe an event: what, which study, whom it counts, what it cost."""
    return f"{event.title}, counts {event.users}: {event.privacy}"


def short(ledger: "Ledger") -> str:
    """Describe the ledger in a line."""
    at = float(ledger.budget.exact_delta)

    def amount(spent: Spent, *, delta: bool = ledger.accountant.adds_up) -> str:
        epsilon = f"ε = {float(spent.epsilon):g}"  # at the budget's δ, if δ does not add up
        return f"{epsilon}, δ = {float(spent.delta):.3g}" if at and delta else epsilon

    parts = [f"budget {amount(Spent.of(ledger.budget), delta=True)}", counted(len(ledger.events), "event")]
    parts += [
        f"{who}: spent {amount(ledger.spent(who))}, left {amount(ledger.remaining(who))}"
        for who in _charged(ledger.events)
    ]
    return f"<Ledger: {'; '.join(parts)}>"


def about(events: Iterable[Event], who: str) -> list[Event]:
    """List the events that cost any of these users something."""
    return [event for event in events if set(groups(event.who)) & set(groups(who))]


def story(events: Sequence[Event], who: str) -> str:
    """List the latest events that cost any of these users something."""
    mine = about(events, who)
    listed = [f"{e.title} ({e.users}), ε = {e.epsilon}, {e.when}" for e in mine[-_LISTED:]]
    if len(mine) > _LISTED:
        listed.insert(0, f"{len(mine) - _LISTED:,} earlier events")
    return "; ".join(listed) or "nothing"


def refusal(event: Event, reason: str, before: Sequence[Event]) -> str:
    """Describe why an event is refused, and what was spent before."""
    words = f"{event.title} would cost {event.users} {event.privacy}, but {reason}"
    return f"{words} Spent before: {story(before, event.who)}."


def _charged(events: Iterable[Event]) -> list[str]:
    charged = {who for event in events for who in groups(event.who)}
    return [who for who in GROUPS if who in charged]
