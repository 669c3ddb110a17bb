"""The privacy ledger: what has been released about some users, and what they have left of their budget.

Events are data; an accountant composes their costs. What happens to the same users adds up, what happens to disjoint
groups of users does not: every single user is in one of them. A group may be partitioned, by country for example; a
user is in one part of each partition, so they have spent what was spent on everybody, plus at most what was spent on
the most expensive part of each partition. By default the arithmetic is a sum, and exact.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Any

from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release.accountant import Accountant
from hybriddp.release.charging import COUNTS, Charge
from hybriddp.release.event import EVERYBODY, GROUPS, Event, Part, Spent, groups
from hybriddp.release.history import Exposure
from hybriddp.release.ledger import words as ledger_words
from hybriddp.release.ledger.file import FileLedgerStore
from hybriddp.release.ledger.store import LedgerStore, MemoryLedgerStore
from hybriddp.release.ledger.text import VERSION, Header, LedgerContents, Position, gone
from hybriddp.release.ledger.words import about, refusal, story

_FILES = "For a file: Ledger.open(path), or Ledger.create(path, budget) if there is none yet."
_AGAIN = "read the saved result. To ask again, make a new study (another name), which needs new reports."


class Ledger:
    """The events of some studies about the same users, and what these users have left.

    A ledger that is constructed is in memory, and ends with the program. `Ledger.create` makes one in a file or in
    another store, and `Ledger.open` takes up one that exists: every event is written to it before `spend` returns.

    Parameters
    ----------
    budget : Privacy
        What every user may spend in total; `Privacy.total` for more than ε = 20.
    accountant : str
        ``"basic"`` adds up ε and δ, exactly. ``"zcdp"`` and ``"pld"`` know that many releases, of Gaussian noise above
        all, cost less together than their sum, and say what ε they cost at the budget's δ. See `Accountant`.
    count : str
        Whom studies are charged to that release something with this ledger: ``"everybody"``, since a user may be in
        another group in every study; or ``"trusted"``, if users never change groups. It is not stored.

    Examples
    --------
    >>> ledger = Ledger(Privacy(epsilon=1))
    >>> ledger.spend(Event.now("the mean", who="trusted", study="d1", privacy=Privacy(epsilon="0.4")))
    >>> ledger
    <Ledger: budget ε = 1; 1 event; trusted: spent ε = 0.4, left ε = 0.6>
    >>> ledger.remaining("trusted").epsilon, ledger.remaining("local").epsilon
    (Fraction(3, 5), Fraction(1, 1))
    """

    def __init__(self, budget: Privacy, *, accountant: str = "basic", count: str = EVERYBODY) -> None:
        if not isinstance(budget, Privacy):
            raise ParameterError("budget", "a Privacy", budget, remedy=_FILES)
        if count not in COUNTS:
            raise ParameterError("count", '"everybody" or "trusted"', count)
        self.count = count
        self._result: str | None = None
        self._complete: frozenset[str] | None = None
        self._header = Header(budget, Accountant(accountant), nonce=token_hex(16))
        self._events: list[Event] = []
        self._studies: dict[tuple[str, str], list[Event]] = {}
        self._exposures: dict[tuple[str, str | None], Exposure] = {}
        self._position: Position | None = None
        self._lock = Lock()
        self._store: LedgerStore = MemoryLedgerStore(self._header)

    @classmethod
    def open(cls, path: Path | str | LedgerStore, *, count: str = EVERYBODY) -> "Ledger":
        """Open the ledger in a file or a store, with the budget and the accountant that it was created with.

        `DataError` if there is none: a ledger that appears by itself would be a new budget for every typing error.
        """
        store = _store(path)
        contents = store.read()
        if contents is None:
            raise DataError(
                f"There is no ledger {path}. Check its path, or create it with all that its users may spend: hybriddp "
                f"ledger create {path} --epsilon … (in Python: Ledger.create)."
            )
        header = contents.position.header
        ledger = cls(header.budget, accountant=header.accountant.name, count=count)
        ledger._store = store
        ledger._take_contents(contents)
        ledger._require_within_budget()
        return ledger

    @classmethod
    def create(
        cls, path: Path | str | LedgerStore, budget: Privacy, *, accountant: str = "basic", count: str = EVERYBODY
    ) -> "Ledger":
        """Create a ledger in a file, on disk before this returns, or in a store. `DataError` if there is one."""
        store, new = _store(path), cls(budget, accountant=accountant, count=count)
        if not store.create(new._header):
            raise DataError(f"{path} exists already, and was left as it is. Choose another name, or open it.")
        return cls.open(store, count=count)

    @property
    def budget(self) -> Privacy:
        """What every user may spend in total."""
        return self._header.budget

    @property
    def accountant(self) -> Accountant:
        """How the costs of the events are composed."""
        return self._header.accountant

    @property
    def nonce(self) -> str:
        """A random text that only this ledger and its copies have."""
        return self._header.nonce

    @property
    def events(self) -> tuple[Event, ...]:
        """What has happened, oldest first, as far as this program has read: `spend` looks for more."""
        return tuple(self._events)

    def of_study(self, who: str, study: str) -> tuple[Event, ...]:
        """List the events that cost these users something in the study with this digest."""
        return tuple(event for group in groups(who) for event in self._studies.get((group, study), ()))

    def spent(self, who: str, *, part: Part | None = None, study: str | None = None) -> Spent:
        """Compute the most that any of these users has spent, in all studies or in one, of all or of a part.

        Of ``"everybody"`` it is the most in either group. If the accountant does not add up, it is ε at the budget's δ.
        """
        delta = self.budget.exact_delta
        return _most(self.accountant.spent(self._exposure(group, study), delta, part) for group in groups(who))

    def sums(self, who: str, *, part: Part | None = None, study: str | None = None) -> Spent:
        """Add up ε and δ of the same events, whatever the accountant.

        To see whether something has been written down, compare with these: `spent` may be less.
        """
        return _most(self._exposure(group, study).sums(part) for group in groups(who))

    def remaining(self, who: str, *, part: Part | None = None) -> Spent:
        """Compute what each of these users has left at least; ε at the budget's δ if costs do not add up."""
        left = Spent.of(self.budget) - self.spent(who, part=part)
        return left if self.accountant.adds_up else Spent(left.epsilon, self.budget.exact_delta)

    def begin_result(self, result: str | None, *, again_unless: Iterable[str] | None = None) -> None:
        """Name the file of the result that everything charged from now on is for; None if there is none.

        With ``again_unless`` a study that was charged is charged again, unless one of these results, which are
        complete, is its own.
        """
        self._result = result
        self._complete = None if again_unless is None else frozenset(again_unless)

    @property
    def complete_results(self) -> frozenset[str] | None:
        """Results that need not be drawn again, if others may be; None if nothing is charged again."""
        return self._complete

    def spend(self, event: Event, *, promised: Privacy | None = None) -> None:
        """Write the event down, or raise `BudgetError` and change nothing if it costs more than is left.

        ``promised`` is what the event's study promises its users in total, however large the budget is.

        Call it *before* the noise is drawn: a release that fails afterwards counts as spent.
        """
        self.spend_all([event], promised=promised)

    def spend_all(self, events: Iterable[Event], *, promised: Privacy | None = None) -> None:
        """Write all of these events down, or raise `BudgetError` and write none if one costs more than is left."""
        charges = [Charge(event, promised) for event in _events(events)]
        if charges:
            self.spend_decided(lambda: charges)

    def spend_decided(self, decide: Callable[[], Sequence[Charge]]) -> None:
        """Write events down that depend on what is in the ledger: nobody else writes between decision and event."""
        with self._lock, self._store.writing(self._position) as opened:
            self._take_contents(opened.contents)  # others may have spent in the meantime
            charges = decide()
            if not charges:
                return
            if self._result is not None:
                charges = [replace(charge, event=replace(charge.event, result=self._result)) for charge in charges]
            self._admit(charges)
            try:
                self._position = opened.append([charge.event for charge in charges])
            except BaseException:
                self._take_back(len(charges))  # if it was written after all, it is read again
                raise

    def require(self, event: Event, *, promised: Privacy | None = None) -> None:
        """Raise `BudgetError` if `spend` would, as far as this program has read, and write nothing down.

        What is left, as `remaining` has it, says this only if costs add up.
        """
        with self._lock:
            self._admit([Charge(one, promised) for one in _events([event])])
            self._take_back(1)

    def refresh(self) -> None:
        """Read what others have written into the same file or store in the meantime."""
        with self._lock:
            contents = self._store.read(self._position)
            if contents is None:
                raise gone(str(self._store))
            self._take_contents(contents)

    def _take_contents(self, contents: LedgerContents) -> None:
        """Go on from what was read; the position last, so that an interruption counts too much, never too little."""
        header = contents.position.header
        # What this ledger has counted behind the point from which was read has been rolled back.
        self._take_back(len(self._events) - (contents.position.events - len(contents.events)))
        self._take(contents.events)
        self._header, self._position = header, contents.position

    def _take(self, events: Iterable[Event]) -> None:
        """Count events, unchecked."""
        for event in events:
            self._events.append(event)
            for group in groups(event.who):
                self._studies.setdefault((group, event.study), []).append(event)
            for exposure in self._exposures_of(event):
                exposure.add(event)

    def _take_back(self, n_events: int) -> None:
        """Take back the last events."""
        for _ in range(n_events):
            event = self._events.pop()
            for group in groups(event.who):
                self._studies[group, event.study].pop()
            for exposure in self._exposures_of(event):
                exposure.remove(event)

    def _exposures_of(self, event: Event) -> list[Exposure]:
        """Find those of its groups, and of its study if they have been asked for."""
        whos = groups(event.who)
        studies = [self._exposures.get((group, event.study)) for group in whos]
        return [self._exposure(group) for group in whos] + [study for study in studies if study is not None]

    def _admit(self, charges: Sequence[Charge]) -> None:
        """Take all of these events, or none and raise `BudgetError`."""
        before = len(self._events)
        try:
            for charge in charges:
                self._check_sums(charge.event, charge.promised)
                self._take([charge.event])
            if not self.accountant.adds_up:
                self._check_cost([charge.event for charge in charges], before)
        except BaseException:
            self._take_back(len(self._events) - before)
            raise

    def _exposure(self, who: str, study: str | None = None) -> Exposure:
        """Find what happened to a group, in all studies or in one, which is made when it is first asked for."""
        exposure = self._exposures.get((who, study))
        if exposure is None:
            exposure = self._exposures[who, study] = Exposure(counting=not self.accountant.adds_up)
            for event in () if study is None else self._studies.get((who, study), ()):
                exposure.add(event)
        return exposure

    def _require_within_budget(self) -> None:
        """Raise `BudgetError` if what was read costs more than the budget: no ledger writes that."""
        for who in GROUPS:
            spent = self.spent(who)
            if not spent.within(Spent.of(self.budget)):
                raise BudgetError(
                    f"{self._store} has events that cost {who} users {spent}, more than its "
                    f"budget of {self.budget}. It was edited by hand, or written by another program."
                )

    def _check_sums(self, event: Event, promised: Privacy | None) -> None:
        """Raise `BudgetError` if the event would cost more than is left of a sum: the budget, or the promise."""
        if promised is not None:  # a study's promise is the sum of its releases, whatever the accountant
            before = self.sums(event.who, part=event.part, study=event.study)
            left = Spent.of(promised) - before
            if not Spent.of(event.privacy).within(left):
                promise = f"of the {promised} that this study promised them they have {left} left"
                again = f" It has been released already: {_AGAIN}" if before.epsilon else ""
                raise BudgetError(refusal(event, f"{promise}.{again}", self._events))
        if self.accountant.adds_up:
            left = self.remaining(event.who, part=event.part)
            if not Spent.of(event.privacy).within(left):
                raise BudgetError(refusal(event, f"they have {left} left.", self._events))

    def _check_cost(self, events: Sequence[Event], before: int) -> None:
        """Raise `BudgetError` if all that is written now costs more than the budget, by an accountant without sums."""
        for who in dict.fromkeys(group for event in events for group in groups(event.who)):
            spent = self.spent(who)
            if not spent.within(Spent.of(self.budget)):
                what = "; ".join(dict.fromkeys(f"{e.title} ({e.users})" for e in about(events, who)))
                raise BudgetError(
                    f"With {what}, {who} users would have spent {spent} by the accountant "
                    f"{self.accountant.name!r}, of {self.budget}. "
                    f"Spent before: {story(self._events[:before], who)}."
                )

    def explain(self, *, latest: int = 20) -> str:
        """Describe the ledger in plain words, with the ``latest`` events."""
        return ledger_words.explain(self, latest)

    def __repr__(self) -> str:
        return ledger_words.short(self)

    def to_dict(self) -> dict[str, Any]:
        """Return what the lines of a ledger file hold, as plain values."""
        return {"version": VERSION, **self._header.fields(), "events": [event.fields() for event in self._events]}

    def copy(self) -> "Ledger":
        """Copy the ledger into memory, where charges leave this one as it is."""
        return Ledger.open(MemoryLedgerStore(self._header, self._events), count=self.count)


def require_ledger(ledger: object) -> None:
    """Raise `ParameterError` if somebody gives a path, for example, where a ledger may be given."""
    if ledger is not None and not isinstance(ledger, Ledger):
        raise ParameterError("ledger", "None or a Ledger", ledger, remedy="Open a file with Ledger.open(path).")


def _events(events: Iterable[Event]) -> tuple[Event, ...]:
    """List events, which are looked at several times: an iterator would be empty the second time."""
    listed = tuple(events)
    for event in listed:
        if not isinstance(event, Event):
            raise ParameterError("events", "Events", type(event).__name__, shown_as="a")
        _ = event.privacy  # an error here, if anywhere, and not when some have been counted
    return listed


def _most(spent: Iterable[Spent]) -> Spent:
    return reduce(Spent.at_least, spent)


def _store(path: Path | str | LedgerStore) -> LedgerStore:
    return path if isinstance(path, LedgerStore) else FileLedgerStore(path)
