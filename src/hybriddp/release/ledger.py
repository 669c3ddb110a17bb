"""The privacy ledger: what has been released about some users, and what they have left of their budget.

Events are data; an accountant composes their costs. What happens to the same users adds up, what happens to disjoint
groups of users does not: every single user is in one of them. A group may be partitioned, by country for example; a
user is in one part of each partition, so they have spent what was spent on everybody, plus at most what was spent on
the most expensive part of each partition. By default the arithmetic is a sum, and exact.
"""

import json
from collections.abc import Iterable, Sequence
from functools import reduce
from pathlib import Path
from secrets import token_hex
from threading import Lock

from hybriddp import _check
from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.privacy import Neighbors, Privacy
from hybriddp.release.accountant import Accountant
from hybriddp.release.event import EVERYBODY, GROUPS, Event, Part, Spent, groups
from hybriddp.release.history import Exposure
from hybriddp.release.ledger_file import FileLedgerStore
from hybriddp.release.ledger_store import LedgerStore, MemoryLedgerStore
from hybriddp.release.ledger_text import Header, LedgerContents, Position, from_fields, to_fields

_TOLD = 5  # events that a refusal lists
_AGAIN = "read the saved result. To ask again, make a new study (another name), which needs new reports."


class Ledger:
    """The events of some studies about the same users, and what these users have left.

    Parameters
    ----------
    budget : Privacy
        What every user may spend in total; `Privacy.total` for more than ε = 20.
    path : Path or str, optional
        Ledger file; created if missing, with the first event. Every event is written to it before `spend` returns.
        `Ledger.open` takes the budget from the file.
    store : LedgerStore, optional
        Where else the events lie, for example in a database.
    accountant : str
        ``"basic"`` adds up ε and δ, exactly. ``"zcdp"`` and ``"pld"`` know that many releases, of Gaussian noise above
        all, cost less together than their sum, and say what ε they cost at the budget's δ. See `Accountant`.

    Examples
    --------
    >>> ledger = Ledger(Privacy(epsilon=1))
    >>> ledger.spend(Event.now("the mean", who="trusted", study="d1", privacy=Privacy(epsilon="0.4")))
    >>> ledger
    <Ledger: budget ε = 1; 1 event; trusted: spent ε = 0.4, left ε = 0.6>
    >>> ledger.remaining("trusted").epsilon, ledger.remaining("local").epsilon
    (Fraction(3, 5), Fraction(1, 1))
    """

    def __init__(
        self,
        budget: Privacy,
        *,
        path: Path | str | None = None,
        store: LedgerStore | None = None,
        accountant: str = "basic",
    ) -> None:
        if not isinstance(budget, Privacy):
            raise ParameterError("budget", "a Privacy", budget)
        self._header = Header(budget, Accountant(accountant), nonce=token_hex(16))
        self._events: list[Event] = []
        self._studies: dict[tuple[str, str], list[Event]] = {}
        self._exposures: dict[tuple[str, str | None], Exposure] = {}
        self._position: Position | None = None
        self._lock = Lock()
        if path is not None and store is not None:
            raise ParameterError("store", "left out if there is a path", type(store).__name__)
        place = store if path is None else path
        self._store = MemoryLedgerStore(self._header) if place is None else _store(place)
        if self._read():  # if there is none yet, the first event creates it
            self._require_within_budget()

    @classmethod
    def open(cls, path: Path | str | LedgerStore) -> "Ledger":
        """The ledger in a file or a store, with the budget and the accountant that it was created with."""
        store = _store(path)
        contents = store.read()
        if contents is None:
            raise DataError(
                f"There is no ledger {path}. Create it with its budget: hybriddp ledger create, or Ledger.create."
            )
        header = contents.position.header
        ledger = cls(header.budget, accountant=header.accountant.name)
        ledger._store = store
        ledger._take_contents(contents)
        ledger._require_within_budget()
        return ledger

    @classmethod
    def create(cls, path: Path | str | LedgerStore, budget: Privacy, *, accountant: str = "basic") -> "Ledger":
        """A new ledger: in a file, on disk before this returns, or in a store; `DataError` if there is one already."""
        store, new = _store(path), cls(budget, accountant=accountant)
        if not store.create(new._header):
            raise DataError(f"{path} exists already, and was left as it is. Choose another name, or open it.")
        return cls(budget, store=store, accountant=accountant)

    @property
    def budget(self) -> Privacy:
        """What every user may spend in total."""
        return self._header.budget

    @property
    def accountant(self) -> Accountant:
        """How the costs of the events are composed."""
        return self._header.accountant

    @property
    def nonce(self) -> str | None:
        """A random text that only this ledger and its copies have; None for older files."""
        return self._header.nonce

    @property
    def events(self) -> tuple[Event, ...]:
        """What has happened, oldest first, as far as this program has read: `spend` looks for more."""
        return tuple(self._events)

    def spent(self, who: str, *, part: Part | None = None, study: str | None = None) -> Spent:
        """The most that any of these users has spent, in all studies or in one; of one part, if it is given.

        Of ``"everybody"`` it is the most in either group. If the accountant does not add up, it is ε at the budget's δ.
        """
        delta = self.budget.exact_delta
        return _most(self.accountant.spent(self._exposure(group, study), delta, part) for group in groups(who))

    def sums(self, who: str, *, part: Part | None = None, study: str | None = None) -> Spent:
        """The sums of ε and δ of the same events, whatever the accountant.

        To see whether something has been written down, compare with these: `spent` may be less.
        """
        return _most(self._exposure(group, study).sums(part) for group in groups(who))

    def remaining(self, who: str, *, part: Part | None = None) -> Spent:
        """What each of these users has left at least; if the accountant does not add up, ε at the budget's δ."""
        left = Spent.of(self.budget) - self.spent(who, part=part)
        return left if self.accountant.adds_up else Spent(left.epsilon, self.budget.exact_delta)

    def spend(self, event: Event, *, promised: Privacy | None = None) -> None:
        """Write the event down, or raise `BudgetError` and change nothing if it costs more than is left.

        ``promised`` is what the event's study promises its users in total, however large the budget is.

        Call it *before* the noise is drawn: a release that fails afterwards counts as spent.
        """
        self.spend_all([event], promised=promised)

    def spend_all(self, events: Iterable[Event], *, promised: Privacy | None = None) -> None:
        """Write all of these events down, or raise `BudgetError` and write none if one costs more than is left."""
        events = _events(events)
        if not events:
            return
        with self._lock:
            if self._position is None and not self._read():
                self._admit(events, promised)  # what is refused creates no ledger
                self._take_back(len(events))
                self._store.create(self._header)
            with self._store.writing(self._position) as opened:
                self._take_contents(opened.contents)  # others may have spent in the meantime
                self._admit(events, promised)
                try:
                    self._position = opened.append(events)
                except BaseException:
                    self._take_back(len(events))  # if it was written after all, it is read again
                    raise

    def require(self, event: Event, *, promised: Privacy | None = None) -> None:
        """Raise `BudgetError` if `spend` would, as far as this program has read, and write nothing down.

        What is left, as `remaining` has it, says this only if costs add up.
        """
        with self._lock:
            self._admit(_events([event]), promised)
            self._take_back(1)

    def identify(self) -> str | None:
        """The `nonce`, for good: a ledger that is still to be created is created now."""
        with self._lock:
            if self._position is None:
                self._store.create(self._header)
                self._read()
            return self._header.nonce

    def refresh(self) -> None:
        """Read what others have written into the same file or store in the meantime."""
        with self._lock:
            self._read()

    def _read(self) -> bool:
        """Read on; whether there is a ledger."""
        contents = self._store.read(self._position)
        if contents is not None:
            self._take_contents(contents)
        return contents is not None

    def _take_contents(self, contents: LedgerContents) -> None:
        """Go on from what was read; the position last, so that an interruption counts too much, never too little."""
        header = contents.position.header
        if header.budget != self.budget:
            raise BudgetError(
                f"{self._store} is the ledger of another budget: {header.budget} instead of {self.budget}. "
                "Ledger.open takes the budget from the file."
            )
        if header.accountant != self.accountant:
            name = header.accountant.name
            raise BudgetError(
                f"{self._store} was written with the accountant {name!r}, not {self.accountant.name!r}. "
                f"Open it with accountant={name!r}, or begin a new ledger."
            )
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
        """The last events have not happened."""
        for _ in range(n_events):
            event = self._events.pop()
            for group in groups(event.who):
                self._studies[group, event.study].pop()
            for exposure in self._exposures_of(event):
                exposure.remove(event)

    def _exposures_of(self, event: Event) -> list[Exposure]:
        """Those of its groups, and of its study if they have been asked for."""
        whos = groups(event.who)
        studies = [self._exposures.get((group, event.study)) for group in whos]
        return [self._exposure(group) for group in whos] + [study for study in studies if study is not None]

    def _admit(self, events: Sequence[Event], promised: Privacy | None) -> None:
        """Take all of these events, or none and raise `BudgetError`."""
        before = len(self._events)
        try:
            for event in events:
                self._check_sums(event, promised)
                self._take([event])
            if not self.accountant.adds_up:
                self._check_cost(events, before)
        except BaseException:
            self._take_back(len(self._events) - before)
            raise

    def _exposure(self, who: str, study: str | None = None) -> Exposure:
        """What happened to a group, in all studies or in one; that of one study is made when it is first asked for."""
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
                    f"budget of {_budget(self.budget)}. It was edited by hand, or written by another program."
                )

    def _check_sums(self, event: Event, promised: Privacy | None) -> None:
        """Raise `BudgetError` if the event would cost more than is left of a sum: the budget, or the promise."""
        if promised is not None:  # a study's promise is the sum of its releases, whatever the accountant
            before = self.sums(event.who, part=event.part, study=event.study)
            left = Spent.of(promised) - before
            if not Spent.of(event.privacy).within(left):
                promise = f"of the {_budget(promised)} that this study promised them they have {left} left"
                again = f" It has been released already: {_AGAIN}" if before.epsilon else ""
                raise BudgetError(self._refusal(event, f"{promise}.{again}"))
        if self.accountant.adds_up:
            left = self.remaining(event.who, part=event.part)
            if not Spent.of(event.privacy).within(left):
                raise BudgetError(self._refusal(event, f"they have {left} left."))

    def _check_cost(self, events: Sequence[Event], before: int) -> None:
        """Raise `BudgetError` if all that is written now costs more than the budget, by an accountant without sums."""
        for who in dict.fromkeys(group for event in events for group in groups(event.who)):
            spent = self.spent(who)
            if not spent.within(Spent.of(self.budget)):
                what = "; ".join(dict.fromkeys(f"{e.what} ({e.users})" for e in _about(events, who)))
                raise BudgetError(
                    f"With {what}, {who} users would have spent {spent} by the accountant "
                    f"{self.accountant.name!r}, of {_budget(self.budget)}. "
                    f"Spent before: {_story(self._events[:before], who)}."
                )

    def explain(self, *, latest: int = 20) -> str:
        """The ledger in plain words, with the ``latest`` events."""
        lines = [f"Every user may spend {_budget(self.budget)}. Neighbors: {Neighbors.REPLACE_ONE.value}."]
        told = self._events[max(0, len(self._events) - latest) :]
        if len(told) < len(self._events):
            lines.append(f"{len(self._events) - len(told):,} earlier events.")
        lines += [f"{e.when}: {e.what} ({e.users}): ε = {e.epsilon}, δ = {e.delta}" for e in told]
        lines.append(self.accountant.explain(self.budget.exact_delta))
        for who in self._who():
            left = str(self.remaining(who))
            left = left if self.accountant.adds_up else left.replace(", ", " at ")
            lines.append(f"Left to every one of the {who} users: {left}")
        return "\n".join(lines if self._events else [*lines, "Nothing has been spent."])

    def __repr__(self) -> str:
        n, at = len(self._events), float(self.budget.exact_delta)

        def short(spent: Spent) -> str:
            epsilon = f"ε = {float(spent.epsilon):g}"  # at the budget's δ, if δ does not add up
            return f"{epsilon}, δ = {float(spent.delta):.3g}" if at and self.accountant.adds_up else epsilon

        budget = f"ε = {float(self.budget.exact_epsilon):g}" + (f", δ = {at:.3g}" if at else "")
        groups = [f"; {who}: spent {short(self.spent(who))}, left {short(self.remaining(who))}" for who in self._who()]
        return f"<Ledger: budget {budget}; {n:,} event{'s' * (n != 1)}{''.join(groups)}>"

    def _who(self) -> list[str]:
        return [who for who in GROUPS if any(event.who in (who, EVERYBODY) for event in self._events)]

    def to_json(self) -> str:
        """The whole ledger as text."""
        return json.dumps(to_fields(self._header, self._events), indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Ledger":
        """The ledger that a text describes; refused if its events cost more than its budget."""
        try:
            stored = _check.json_fields(text)
        except ValueError:
            raise DataError("The text is not a ledger.") from None
        header, events = from_fields(stored)
        return cls.open(MemoryLedgerStore(header, events))

    def _refusal(self, event: Event, reason: str) -> str:
        return (
            f"{event.what} would cost {event.users} ε = {event.epsilon}, δ = {event.delta}, but {reason} "
            f"Spent before: {_story(self._events, event.who)}."
        )


def require_ledger(ledger: object) -> None:
    """Raise `ParameterError` if somebody gives a path, for example, where a ledger may be given."""
    if ledger is not None and not isinstance(ledger, Ledger):
        raise ParameterError("ledger", "None or a Ledger", ledger, remedy="Open a file with Ledger.open(path).")


def _events(events: Iterable[Event]) -> tuple[Event, ...]:
    """All of them at once: they are looked at several times, and an iterator would be empty the second time."""
    listed = tuple(events)
    for event in listed:
        if not isinstance(event, Event):
            raise ParameterError("events", "Events", type(event).__name__, shown_as="a")
        _ = event.privacy  # an error here, if anywhere, and not when some have been counted
    return listed


def _budget(budget: Privacy) -> str:
    return f"ε = {budget.epsilon}, δ = {budget.delta}"


def _most(spent: Iterable[Spent]) -> Spent:
    return reduce(Spent.at_least, spent)


def _store(path: Path | str | LedgerStore) -> LedgerStore:
    return path if isinstance(path, LedgerStore) else FileLedgerStore(path)


def _about(events: Iterable[Event], who: str) -> list[Event]:
    """The events that cost any of these users something."""
    return [event for event in events if EVERYBODY in (event.who, who) or event.who == who]


def _story(events: Sequence[Event], who: str) -> str:
    mine = _about(events, who)
    told = [f"{e.what} ({e.users}), ε = {e.epsilon}, {e.when}" for e in mine[-_TOLD:]]
    if len(mine) > _TOLD:
        told.insert(0, f"{len(mine) - _TOLD:,} earlier events")
    return "; ".join(told) or "nothing"
