"""What a user went through, as the numbers that an accountant prices."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from hybriddp.privacy import Privacy
from hybriddp.release.event import Event
from hybriddp.release.mechanism_price import MechanismPrice


@dataclass(frozen=True, slots=True)
class Cost:
    """The price of one event: (ε, δ), and the mechanism if it is known. Both statements are true."""

    epsilon: Fraction
    delta: Fraction
    mechanism: MechanismPrice | None = None

    @property
    def order(self) -> tuple[Fraction, Fraction, str]:
        """What costs are sorted by."""
        return self.epsilon, self.delta, repr(self.mechanism)


@dataclass(frozen=True, slots=True)
class PriceTag:
    """The cost of an event as it is written: cheap to count, and turned into a `Cost` when it is priced."""

    privacy: Privacy
    mechanism: MechanismPrice | None

    @classmethod
    def of(cls, event: Event) -> "PriceTag":
        """What the event cost."""
        return cls(event.privacy, event.mechanism)

    @property
    def cost(self) -> Cost:
        """The same as exact numbers."""
        return _cost(self)


@lru_cache(maxsize=4096)
def _cost(tag: PriceTag) -> Cost:
    return Cost(tag.privacy.exact_epsilon, tag.privacy.exact_delta, tag.mechanism)


@dataclass(frozen=True, slots=True)
class Times:
    """A cost, and how often it was paid."""

    cost: Cost
    times: int


History = tuple[Times, ...]
"""What one user paid, the same costs together, in an order of its own: what happened first does not matter."""


def history(costs: Iterable[Cost]) -> History:
    """The history in which each of these was paid once."""
    return counted_history(Counter(costs))


def counted_history(counts: Mapping[Cost, int]) -> History:
    """The history in which each of these was paid so often."""
    return tuple(Times(cost, counts[cost]) for cost in sorted(counts, key=lambda cost: cost.order))
