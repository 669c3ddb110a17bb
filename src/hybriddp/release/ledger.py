"""The book of what has been spent: one user, one study, ε in total, whatever the study does inside.

Events are data; an accountant prices them. What happens to the same users adds up, what happens to disjoint groups of
users does not: every single user is in one of them. A group may be cut into parts, by country for example; a user is in
one part of each cut, so what she has spent is what was spent on all, plus the most that was spent on any part of each
cut. By default the arithmetic is a sum, and exact.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Lock

from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.privacy import Neighbours, Privacy
from hybriddp.release.accountant import Accountant
from hybriddp.release.cost import Exposure
from hybriddp.release.event import Event, Part, Spent

_BASIC = Accountant("basic")


class Ledger:
    """The events of a study and what its users have left.

    Parameters
    ----------
    budget : Privacy
        What every user may spend in total.
    path : Path or str, optional
        A file that every event is written to before `spend` returns. If it exists, the ledger goes on from it.
    accountant : str
        ``"basic"`` adds up ε and δ, exactly. ``"zcdp"`` and ``"pld"`` know that many releases, of Gaussian noise above
        all, cost less together than their sum, and say what ε they cost at the budget's δ. See `Accountant`.

    Examples
    --------
    >>> ledger = Ledger(Privacy(epsilon=1))
    >>> ledger.spend(Event.now("the mean", who="trusted", study="d1", privacy=Privacy(epsilon=1)))
    >>> ledger.remaining("trusted").epsilon, ledger.remaining("local").epsilon
    (Fraction(0, 1), Fraction(1, 1))
    """

    def __init__(self, budget: Privacy, *, path: Path | str | None = None, accountant: str = "basic") -> None:
        if not isinstance(budget, Privacy):
            raise ParameterError("budget", "a Privacy", budget)
        self.budget = budget
        self.accountant = Accountant(accountant)
        self._events: tuple[Event, ...] = ()
        # Links and later changes of the working directory must not make two books of one.
        self._path = None if path is None else Path(path).resolve()
        self._lock = Lock()
        if self._path is not None:
            with self._exclusive():
                self._read(self._path)

    @property
    def events(self) -> tuple[Event, ...]:
        """What has happened, the first first."""
        return self._events

    def spent(self, who: str, *, part: Part | None = None, study: str | None = None) -> Spent:
        """The most that any of these users has spent, in all studies or in one; of one part, if it is given.

        If the accountant does not add up, it is ε at the budget's δ.
        """
        return self.accountant.spent(self._exposure(who, part, study), self.budget.exact_delta)

    def remaining(self, who: str, *, part: Part | None = None) -> Spent:
        """What each of these users has left at least; if the accountant does not add up, ε at the budget's δ."""
        spent = self.spent(who, part=part)
        delta = self.budget.exact_delta - (spent.delta if self.accountant.adds_up else 0)
        return Spent(epsilon=self.budget.exact_epsilon - spent.epsilon, delta=delta)

    def spend(self, event: Event, *, promised: Privacy | None = None) -> None:
        """Write the event down, or raise `BudgetError` and change nothing if it costs more than is left.

        ``promised`` is what the event's study promises its users in total, however large the budget is.

        Call it *before* the noise is drawn: a release that fails afterwards counts as spent.
        """
        self.spend_all([event], promised=promised)

    def spend_all(self, events: Sequence[Event], *, promised: Privacy | None = None) -> None:
        """Write all of these events down, or raise `BudgetError` and write none if one costs more than is left."""
        with self._exclusive():
            if self._path is not None:
                self._read(self._path)  # another process may have spent in the meantime
            before = self._events
            try:
                for event in events:
                    self._check_sums(event, promised)
                    self._events = (*self._events, event)
                if not self.accountant.adds_up:
                    self._check_price(events, before)
                if self._path is not None:
                    self._write(self._path)
            except BaseException:
                self._events = before
                raise

    def _exposure(self, who: str, part: Part | None = None, study: str | None = None) -> Exposure:
        return Exposure.of([e for e in self._events if e.who == who and study in (None, e.study)], part)

    def _check_sums(self, event: Event, promised: Privacy | None) -> None:
        """Raise `BudgetError` if the event would cost more than is left of a sum: the budget, or the promise."""
        limits = []
        if self.accountant.adds_up:
            limits.append(self.remaining(event.who, part=event.part))
        if promised is not None:  # a study's promise is the sum of its releases, whoever prices the budget
            before = _BASIC.spent(self._exposure(event.who, event.part, event.study), promised.exact_delta)
            limits.append(Spent(promised.exact_epsilon - before.epsilon, promised.exact_delta - before.delta))
        if not limits:
            return
        left = Spent(min(limit.epsilon for limit in limits), min(limit.delta for limit in limits))
        if event.privacy.exact_epsilon > left.epsilon or event.privacy.exact_delta > left.delta:
            raise BudgetError(self._refusal(event, left))

    def _check_price(self, events: Sequence[Event], before: Sequence[Event]) -> None:
        """Raise `BudgetError` if all that is written now costs more than the budget, by an accountant without sums."""
        for who in dict.fromkeys(event.who for event in events):
            spent = self.spent(who)
            if spent.epsilon > self.budget.exact_epsilon or spent.delta > self.budget.exact_delta:
                what = "; ".join(dict.fromkeys(f"{e.what} ({e.users})" for e in events if e.who == who))
                cost = f"ε = {float(spent.epsilon):g}, δ = {float(spent.delta):g}"
                raise BudgetError(
                    f"With {what}, {who} users would have spent {cost} by the accountant {self.accountant.name!r}, "
                    f"of ε = {self.budget.epsilon}, δ = {self.budget.delta}. Spent before: {_story(before, who)}."
                )

    def explain(self) -> str:
        """The story in plain words."""
        lines = [
            f"Every user may spend ε = {self.budget.epsilon}, δ = {self.budget.delta}. {Neighbours.REPLACE_ONE.value}."
        ]
        lines += [f"{e.when}: {e.what} ({e.users}): ε = {e.epsilon}, δ = {e.delta}" for e in self._events]
        lines.append(self.accountant.explain(self.budget.exact_delta))
        for who in dict.fromkeys(event.who for event in self._events):
            left = self.remaining(who)
            joint = ", " if self.accountant.adds_up else " at "
            lines.append(
                f"Left to every one of the {who} users: ε = {float(left.epsilon):g}{joint}δ = {float(left.delta):g}"
            )
        return "\n".join(lines if self._events else [*lines, "Nothing has been spent."])

    def to_json(self) -> str:
        """The whole ledger as text."""
        stored = {
            "version": 1,
            "budget": {"epsilon": self.budget.epsilon, "delta": self.budget.delta},
            "accountant": self.accountant.name,
            "events": [asdict(e) for e in self._events],
        }
        return json.dumps(stored, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Ledger":
        """The ledger that a text describes; refused if its events cost more than its budget."""
        try:
            stored = json.loads(text)
            if type(stored["version"]) is not int or stored["version"] != 1:
                raise DataError(f"The ledger has version {stored['version']!r}; this program knows version 1.")
            # Ledgers that name no accountant were written before there was another one.
            ledger = cls(Privacy(**stored["budget"]), accountant=stored.get("accountant", "basic"))
            events = [Event.of(event) for event in stored["events"]]
            for event in events:
                event.privacy  # noqa: B018  (refuses what is no price)
        except DataError:
            raise
        except (KeyError, TypeError, ValueError, ParameterError, AttributeError) as reason:
            raise DataError("The text is not a ledger.") from reason
        ledger.spend_all(events)
        return ledger

    def _refusal(self, event: Event, left: Spent) -> str:
        return (
            f"{event.what} would cost {event.users} ε = {event.epsilon}, δ = {event.delta}, but they have "
            f"ε = {float(left.epsilon):g}, δ = {float(left.delta):g} left. "
            f"Spent before: {_story(self._events, event.who)}."
        )

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as reason:
            raise DataError(f"{path} cannot be read as a ledger.") from reason
        stored = Ledger.from_json(text)
        if stored.budget != self.budget:
            raise BudgetError(f"{path} is the ledger of another budget: {stored.budget} instead of {self.budget}.")
        if stored.accountant != self.accountant:
            name = stored.accountant.name
            raise BudgetError(
                f"{path} was written with the accountant {name!r}, not {self.accountant.name!r}. "
                f"Open it with accountant={name!r}, or begin a new ledger."
            )
        self._events = stored.events

    def _write(self, path: Path) -> None:
        """Replace the file as a whole, on disk before this returns."""
        draft = path.with_name(f"{path.name}.draft")
        with draft.open("w", encoding="utf-8") as file:
            file.write(self.to_json())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name too
        finally:
            os.close(folder)

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Alone among the threads of this process and, for a ledger on disk, among all processes."""
        with self._lock:
            if self._path is None:
                yield
                return
            import fcntl

            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.with_name(f"{self._path.name}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield


def _story(events: Sequence[Event], who: str) -> str:
    told = "; ".join(f"{e.what} ({e.users}), ε = {e.epsilon}, {e.when}" for e in events if e.who == who)
    return told or "nothing"
