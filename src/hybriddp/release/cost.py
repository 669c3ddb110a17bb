"""What a user went through, as the numbers that an accountant prices."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from hybriddp.release.event import Event, Part
from hybriddp.release.mechanism_price import MechanismPrice

_MOST_COMBINATIONS = 64


@dataclass(frozen=True, slots=True)
class Cost:
    """The price of one event: (ε, δ), and the mechanism if it is known. Both statements are true."""

    epsilon: Fraction
    delta: Fraction
    mechanism: MechanismPrice | None = None

    @classmethod
    def of(cls, event: Event) -> "Cost":
        """What the event cost."""
        privacy = event.privacy
        return cls(privacy.exact_epsilon, privacy.exact_delta, event.mechanism)

    @property
    def order(self) -> tuple[Fraction, Fraction, str]:
        """What costs are sorted by."""
        return self.epsilon, self.delta, repr(self.mechanism)


History = tuple[Cost, ...]


def history(costs: Iterable[Cost]) -> History:
    """The same costs in an order of their own: what happened first does not matter."""
    return tuple(sorted(costs, key=lambda cost: cost.order))


@dataclass(frozen=True, slots=True)
class Exposure:
    """What has happened to a group of users.

    Attributes
    ----------
    whole : History
        What happened to all of them.
    cuts : tuple
        For every cut the histories of its parts; every user is in one part, or in none.
    """

    whole: History
    cuts: tuple[tuple[History, ...], ...]

    @classmethod
    def of(cls, events: Sequence[Event], part: Part | None = None) -> "Exposure":
        """The events of a group; with ``part``, of those of its users who are in this part."""
        whole = tuple(Cost.of(event) for event in events if event.part is None)
        cuts = []
        for cut in sorted({event.part.by for event in events if event.part is not None}):
            by_key: dict[str, list[Event]] = {}
            for event in events:
                if event.part is not None and event.part.by == cut:
                    by_key.setdefault(event.part.same_key, []).append(event)
            mine = [by_key.get(part.same_key, [])] if part is not None and part.by == cut else by_key.values()
            cuts.append(tuple(tuple(map(Cost.of, some)) for some in mine))
        return cls(whole, tuple(cuts))

    def histories(self) -> list[History]:
        """Histories of which one is at least as dear as that of any user.

        Every user has the whole and one part of each cut. Parts with the same history, and parts whose events are all
        among those of another part, need not be looked at twice. If more than 64 combinations are left, every cut
        becomes one event that costs as much as its dearest part by basic composition: more than it may be, never less.
        """
        kept = [_undominated(cut) for cut in self.cuts]
        if prod(map(len, kept)) > _MOST_COMBINATIONS:
            kept = [cut if len(cut) == 1 else [(_dearest(cut),)] for cut in kept]
        return [history((*self.whole, *(cost for part in parts for cost in part))) for parts in product(*kept)]


def _undominated(parts: Iterable[History]) -> list[History]:
    counted = {history(part): Counter(part) for part in parts}  # parts with the same history are one
    return [part for part, mine in counted.items() if not any(mine < other for other in counted.values())]


def _dearest(parts: Iterable[History]) -> Cost:
    sums = [(sum(cost.epsilon for cost in part), sum(cost.delta for cost in part)) for part in parts]
    return Cost(Fraction(max(epsilon for epsilon, _ in sums)), Fraction(max(delta for _, delta in sums)))
