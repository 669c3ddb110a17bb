"""What users have paid: the cost of every event, as histories that an accountant composes and as running sums.

A ledger asks for sums before every release, and may hold 100,000 events: nothing here is computed from all of them
again. Sums are exact decimals, the most that a part of a partition has spent is kept beside them, and events of the
same cost are counted, not listed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple, TypeVar

from hybriddp.privacy import Privacy
from hybriddp.release.event import Event, Part, Spent
from hybriddp.release.mechanism_record import MechanismRecord

_MOST_COMBINATIONS = 64
# As many digits as a sum needs; if that were not enough, an error rather than a rounded sum.
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])

_T = TypeVar("_T")
_Charge = tuple[Privacy, MechanismRecord | None]
"""The cost of an event as it is written: cheap to count, and turned into a `Cost` when it is composed."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one event: (ε, δ), and its mechanism if that is known. Both statements are true."""

    epsilon: Fraction
    delta: Fraction
    mechanism: MechanismRecord | None = None

    @property
    def kind(self) -> str | None:
        """The kind of the mechanism; None if it is not known."""
        return None if self.mechanism is None else self.mechanism.kind


@dataclass(frozen=True, slots=True)
class RepeatedCost:
    """A cost, and how often it was paid."""

    cost: Cost
    times: int


History = tuple[RepeatedCost, ...]
"""What one user has paid. The same costs stand together, in a fixed order: composition does not depend on time."""


def history(costs: Iterable[Cost] | Mapping[Cost, int]) -> History:
    """Make the history in which each cost was charged once, or as often as a mapping says."""
    counts = Counter(costs)
    ordered = sorted(counts, key=lambda cost: (cost.epsilon, cost.delta, repr(cost.mechanism)))
    return tuple(RepeatedCost(cost, counts[cost]) for cost in ordered)


class _Amount(NamedTuple):
    """ε and δ as exact decimals, which add up much faster than fractions."""

    epsilon: Decimal
    delta: Decimal

    def plus(self, other: "_Amount") -> "_Amount":
        delta = _EXACT.add(self.delta, other.delta) if other.delta else self.delta
        return _Amount(_EXACT.add(self.epsilon, other.epsilon), delta)

    def minus(self, other: "_Amount") -> "_Amount":
        return _Amount(_EXACT.subtract(self.epsilon, other.epsilon), _EXACT.subtract(self.delta, other.delta))

    def at_least(self, other: "_Amount") -> "_Amount":
        return _Amount(max(self.epsilon, other.epsilon), max(self.delta, other.delta))


_NOTHING = _Amount(Decimal(0), Decimal(0))


class _Account:
    """Users who are charged together: their sums and, if they are asked for, the counts of their charges."""

    __slots__ = ("counts", "sums")

    def __init__(self) -> None:
        self.sums, self.counts = _NOTHING, Counter[_Charge]()

    def change(self, event: Event, times: int, *, counting: bool) -> None:
        amount = _amount(event.privacy)
        self.sums = self.sums.plus(amount) if times > 0 else self.sums.minus(amount)
        if counting:
            _count(self.counts, (event.privacy, event.mechanism), times)


class _Partition:
    """The parts of one partition, the most that one of them has spent, and their different histories."""

    def __init__(self) -> None:
        self.parts: defaultdict[str, _Account] = defaultdict(_Account)
        self.most = _NOTHING
        self.kinds: Counter[frozenset[tuple[_Charge, int]]] = Counter()


class Exposure:
    """What has been spent on a group of users: on all of them, and on the parts of every partition.

    Parameters
    ----------
    counting : bool
        Whether histories will be asked for; sums alone are cheaper.
    """

    def __init__(self, *, counting: bool) -> None:
        self._counting = counting
        self._everybody = _Account()
        self._partitions: defaultdict[str, _Partition] = defaultdict(_Partition)

    def add(self, event: Event) -> None:
        """Add an event."""
        self._change(event, 1)

    def remove(self, event: Event) -> None:
        """Take back an event that was added."""
        self._change(event, -1)
        if event.part is not None:
            partition = self._partitions[event.part.by]
            partition.most = _NOTHING
            for account in partition.parts.values():
                partition.most = partition.most.at_least(account.sums)

    def _change(self, event: Event, times: int) -> None:
        if event.part is None:
            self._everybody.change(event, times, counting=self._counting)
            return
        partition = self._partitions[event.part.by]
        account = partition.parts[event.part.same_key]
        before = frozenset(account.counts.items())
        account.change(event, times, counting=self._counting)
        partition.most = partition.most.at_least(account.sums)
        if before:
            _count(partition.kinds, before, -1)
        if account.counts:
            _count(partition.kinds, frozenset(account.counts.items()), 1)

    def sums(self, part: Part | None = None) -> Spent:
        """Basic composition: everybody's sums, and from every partition the most ε and δ that a part has spent.

        With ``part``, only those users count who are in it.
        """
        total = self._everybody.sums
        for by, partition in self._partitions.items():
            if part is not None and part.by == by:
                account = partition.parts.get(part.same_key)
                total = total if account is None else total.plus(account.sums)
            else:
                total = total.plus(partition.most)
        return Spent(Fraction(total.epsilon), Fraction(total.delta))

    def histories(self, part: Part | None = None) -> list[History]:
        """Histories of which one costs at least as much as that of any user; with ``part``, of any user in it.

        Every user has what everybody has and one part of each partition. Parts with the same history, and parts whose
        events are all among those of another part, need not be looked at twice. If more than 64 combinations are left,
        every partition becomes one event that costs as much as its most expensive part by basic composition: possibly
        too much, never too little.
        """
        choices: list[list[Counter[Cost]]] = []
        most: list[Cost | None] = []
        for by, partition in self._partitions.items():
            if part is not None and part.by == by:
                account = partition.parts.get(part.same_key)
                choices.append([_costs(account.counts.items() if account else ())])
                most.append(None)
            else:
                choices.append(_undominated(partition.kinds))
                most.append(Cost(Fraction(partition.most.epsilon), Fraction(partition.most.delta)))
        if prod(map(len, choices)) > _MOST_COMBINATIONS:
            choices = [
                some if len(some) == 1 or cost is None else [Counter([cost])]
                for some, cost in zip(choices, most, strict=True)
            ]
        everybody = _costs(self._everybody.counts.items())
        return [history(sum(parts, everybody)) for parts in product(*choices)]


def _count(counts: Counter[_T], what: _T, times: int) -> None:
    """Count up or down; forget what is not there any more."""
    counts[what] += times
    if not counts[what]:
        del counts[what]


def _costs(charges: Iterable[tuple[_Charge, int]]) -> Counter[Cost]:
    """Count exact costs, since different texts may stand for the same number."""
    costs: Counter[Cost] = Counter()
    for charge, times in charges:
        costs[_cost(*charge)] += times
    return costs


def _undominated(kinds: Iterable[frozenset[tuple[_Charge, int]]]) -> list[Counter[Cost]]:
    """Select histories that no other one contains; a few more than 64 if they are too many to combine."""
    found: list[Counter[Cost]] = []
    for mine in sorted(map(_costs, kinds), key=Counter.total, reverse=True):  # whatever contains it comes before it
        if not any(mine <= other for other in found):
            found.append(mine)
        if len(found) > _MOST_COMBINATIONS:
            break
    return found or [Counter()]  # events that were taken back leave a partition without any


@lru_cache(maxsize=4096)
def _amount(privacy: Privacy) -> _Amount:
    return _Amount(Decimal(privacy.epsilon), Decimal(privacy.delta))


@lru_cache(maxsize=4096)
def _cost(privacy: Privacy, mechanism: MechanismRecord | None) -> Cost:
    return Cost(privacy.exact_epsilon, privacy.exact_delta, mechanism)
