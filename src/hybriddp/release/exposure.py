"""What has happened to a group of users, kept up to date event by event.

A ledger asks for sums before every release, and may hold a hundred thousand events: nothing here is computed from all
of them again. Sums are exact decimals, the most that a part of a cut has spent is kept beside them, and events that
cost the same are counted, not listed.
"""

from collections import Counter
from collections.abc import Iterable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import NamedTuple, TypeVar

from hybriddp.privacy import Privacy
from hybriddp.release.cost import Cost, History, PriceTag, counted_history
from hybriddp.release.event import Event, Part, Spent

_MOST_COMBINATIONS = 64
# As many digits as a sum needs; if that were not enough, an error rather than a rounded sum.
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])

_T = TypeVar("_T")


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


@lru_cache(maxsize=4096)
def _amount(privacy: Privacy) -> _Amount:
    return _Amount(Decimal(privacy.epsilon), Decimal(privacy.delta))


class _Account:
    """What happened to some users who share everything: sums and, if they are asked for, counts."""

    __slots__ = ("counts", "sums")

    def __init__(self) -> None:
        self.sums, self.counts = _NOTHING, Counter[PriceTag]()


class _Cut:
    """The parts of one cut, the most that one of them has spent, and their different histories."""

    __slots__ = ("dearest", "kinds", "parts")

    def __init__(self) -> None:
        self.parts: dict[str, _Account] = {}
        self.dearest = _NOTHING
        self.kinds: Counter[frozenset[tuple[PriceTag, int]]] = Counter()

    def account(self, key: str) -> _Account:
        account = self.parts.get(key)
        if account is None:
            account = self.parts[key] = _Account()
        return account


class Exposure:
    """What has happened to a group of users: to all of them, and to the parts of every cut.

    Parameters
    ----------
    counting : bool
        Whether histories will be asked for; sums alone are cheaper.
    """

    __slots__ = ("_counting", "_cuts", "_whole")

    def __init__(self, *, counting: bool) -> None:
        self._counting = counting
        self._whole = _Account()
        self._cuts: dict[str, _Cut] = {}

    def add(self, event: Event) -> None:
        """One more event."""
        self._change(event, 1)

    def remove(self, event: Event) -> None:
        """An event that was added is taken back."""
        self._change(event, -1)
        if event.part is not None:
            cut = self._cuts[event.part.by]
            cut.dearest = _NOTHING
            for account in cut.parts.values():
                cut.dearest = cut.dearest.at_least(account.sums)

    def _change(self, event: Event, times: int) -> None:
        cut = None if event.part is None else self._cut(event.part.by)
        account = self._whole if cut is None or event.part is None else cut.account(event.part.same_key)
        amount = _amount(event.privacy)
        account.sums = account.sums.plus(amount) if times > 0 else account.sums.minus(amount)
        if cut is not None:
            cut.dearest = cut.dearest.at_least(account.sums)
        if not self._counting:
            return
        before = frozenset(account.counts.items()) if cut is not None else None
        _count(account.counts, PriceTag.of(event), times)
        if cut is not None:
            if before:
                _count(cut.kinds, before, -1)
            if account.counts:
                _count(cut.kinds, frozenset(account.counts.items()), 1)

    def _cut(self, by: str) -> _Cut:
        cut = self._cuts.get(by)
        if cut is None:
            cut = self._cuts[by] = _Cut()
        return cut

    def sums(self, part: Part | None = None) -> Spent:
        """Basic composition: the whole, and from every cut the most of ε and the most of δ that a part has spent.

        With ``part``, only those users count who are in it.
        """
        total = self._whole.sums
        for by, cut in self._cuts.items():
            if part is not None and part.by == by:
                account = cut.parts.get(part.same_key)
                total = total if account is None else total.plus(account.sums)
            else:
                total = total.plus(cut.dearest)
        return Spent(Fraction(total.epsilon), Fraction(total.delta))

    def histories(self, part: Part | None = None) -> list[History]:
        """Histories of which one is at least as dear as that of any user; with ``part``, of any user in it.

        Every user has the whole and one part of each cut. Parts with the same history, and parts whose events are all
        among those of another part, need not be looked at twice. If more than 64 combinations are left, every cut
        becomes one event that costs as much as its dearest part by basic composition: more than it may be, never less.
        """
        kept: list[list[Counter[Cost]]] = []
        dearest: list[Cost | None] = []
        for by, cut in self._cuts.items():
            if part is not None and part.by == by:
                account = cut.parts.get(part.same_key)
                kept.append([_costs(account.counts.items() if account else ())])
                dearest.append(None)
            else:
                kept.append(_undominated(cut.kinds))
                dearest.append(Cost(Fraction(cut.dearest.epsilon), Fraction(cut.dearest.delta)))
        if prod(map(len, kept)) > _MOST_COMBINATIONS:
            kept = [
                some if len(some) == 1 or most is None else [Counter([most])]
                for some, most in zip(kept, dearest, strict=True)
            ]
        whole = _costs(self._whole.counts.items())
        return [counted_history(sum(parts, whole)) for parts in product(*kept)]


def _count(counts: Counter[_T], what: _T, times: int) -> None:
    """Count up or down; what is not there any more is not kept."""
    counts[what] += times
    if not counts[what]:
        del counts[what]


def _costs(counts: Iterable[tuple[PriceTag, int]]) -> Counter[Cost]:
    """The same counts of exact costs: different texts may stand for the same number."""
    costs: Counter[Cost] = Counter()
    for tag, times in counts:
        costs[tag.cost] += times
    return costs


def _undominated(kinds: Iterable[frozenset[tuple[PriceTag, int]]]) -> list[Counter[Cost]]:
    """Those of the histories that are no part of another; more than are needed if there are too many to combine."""
    kept: list[Counter[Cost]] = []
    for mine in sorted(map(_costs, kinds), key=Counter.total, reverse=True):  # whatever contains it comes before it
        if not any(mine <= other for other in kept):
            kept.append(mine)
        if len(kept) > _MOST_COMBINATIONS:
            break
    return kept or [Counter()]  # events that were taken back leave a cut without any
