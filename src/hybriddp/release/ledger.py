"""The book of what has been spent: one user, one study, ε in total, whatever the study does inside.

Events are data; the ledger prices them. What happens to the same users adds up, what happens to disjoint groups of
users does not: every single user is in one of them. The arithmetic is exact.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from threading import Lock

from hybriddp.errors import BudgetError, DataError
from hybriddp.privacy import Neighbours, Privacy


@dataclass(frozen=True, slots=True)
class Event:
    """Something that cost privacy.

    Attributes
    ----------
    what : str
        What was released or reported.
    who : str
        Which users it is about: ``"trusted"``, ``"local"``, or the name of a fixed part of them.
    study : str
        The digest of the study.
    epsilon, delta : str
        What it cost each of these users, as decimals.
    when : str
        The time in UTC.
    """

    what: str
    who: str
    study: str
    epsilon: str
    delta: str
    when: str

    @classmethod
    def now(cls, what: str, *, who: str, study: str, privacy: Privacy) -> "Event":
        """An event that happens now."""
        when = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(what=what, who=who, study=study, epsilon=privacy.epsilon, delta=privacy.delta, when=when)

    @property
    def privacy(self) -> Privacy:
        """The cost."""
        return Privacy(epsilon=self.epsilon, delta=self.delta)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a user has spent: exact sums."""

    epsilon: Fraction
    delta: Fraction


class Ledger:
    """The events of a study and what its users have left.

    Parameters
    ----------
    budget : Privacy
        What every user may spend in total.
    path : Path, optional
        A file that every event is written to before `spend` returns. If it exists, the ledger goes on from it.

    Examples
    --------
    >>> ledger = Ledger(Privacy(epsilon=1))
    >>> ledger.spend(Event.now("the mean", who="trusted", study="d1", privacy=Privacy(epsilon=1)))
    >>> ledger.remaining("trusted").epsilon, ledger.remaining("local").epsilon
    (Fraction(0, 1), Fraction(1, 1))
    """

    def __init__(self, budget: Privacy, *, path: Path | None = None) -> None:
        self.budget = budget
        self._events: tuple[Event, ...] = ()
        self._path = path
        self._lock = Lock()
        if path is not None:
            with self._exclusive():
                self._read(path)

    @property
    def events(self) -> tuple[Event, ...]:
        """What has happened, the first first."""
        return self._events

    def spent(self, who: str, *, study: str | None = None) -> Spent:
        """What each of these users has spent, in all studies or in one."""
        mine = [event for event in self._events if event.who == who and study in (None, event.study)]
        prices = [event.privacy for event in mine]
        return Spent(
            epsilon=sum((p.exact_epsilon for p in prices), Fraction(0)),
            delta=sum((p.exact_delta for p in prices), Fraction(0)),
        )

    def remaining(self, who: str) -> Spent:
        """What each of these users has left."""
        spent = self.spent(who)
        return Spent(epsilon=self.budget.exact_epsilon - spent.epsilon, delta=self.budget.exact_delta - spent.delta)

    def spend(self, event: Event, *, promised: Privacy | None = None) -> None:
        """Write the event down, or raise `BudgetError` and change nothing if it costs more than is left.

        ``promised`` is what the event's study promises its users in total, however large the budget is.

        Call it *before* the noise is drawn: a release that fails afterwards counts as spent.
        """
        with self._exclusive():
            if self._path is not None:
                self._read(self._path)  # another process may have spent in the meantime
            left = self.remaining(event.who)
            if promised is not None:
                before = self.spent(event.who, study=event.study)
                left = Spent(
                    epsilon=min(left.epsilon, promised.exact_epsilon - before.epsilon),
                    delta=min(left.delta, promised.exact_delta - before.delta),
                )
            if event.privacy.exact_epsilon > left.epsilon or event.privacy.exact_delta > left.delta:
                raise BudgetError(self._refusal(event, left))
            self._events = (*self._events, event)
            if self._path is not None:
                self._write(self._path)

    def explain(self) -> str:
        """The story in plain words."""
        lines = [
            f"Every user may spend ε = {self.budget.epsilon}, δ = {self.budget.delta}. {Neighbours.REPLACE_ONE.value}."
        ]
        lines += [f"{e.when}: {e.what} ({e.who} users): ε = {e.epsilon}, δ = {e.delta}" for e in self._events]
        for who in dict.fromkeys(event.who for event in self._events):
            left = self.remaining(who)
            lines.append(f"Left to {who} users: ε = {float(left.epsilon):g}, δ = {float(left.delta):g}")
        return "\n".join(lines if self._events else [*lines, "Nothing has been spent."])

    def to_json(self) -> str:
        """The whole ledger as text."""
        budget = {"epsilon": self.budget.epsilon, "delta": self.budget.delta}
        return json.dumps({"version": 1, "budget": budget, "events": [asdict(e) for e in self._events]}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Ledger":
        """The ledger that a text describes; refused if its events cost more than its budget."""
        try:
            stored = json.loads(text)
            ledger = cls(Privacy(**stored["budget"]))
            events = [Event(**event) for event in stored["events"]]
        except (KeyError, TypeError, ValueError) as reason:
            raise DataError("The text is not a ledger.") from reason
        for event in events:
            ledger.spend(event)
        return ledger

    def _refusal(self, event: Event, left: Spent) -> str:
        before = "; ".join(f"{e.what}, ε = {e.epsilon}, {e.when}" for e in self._events if e.who == event.who)
        return (
            f"{event.what} would cost {event.who} users ε = {event.epsilon}, δ = {event.delta}, but they have "
            f"ε = {float(left.epsilon):g}, δ = {float(left.delta):g} left. Spent before: {before or 'nothing'}."
        )

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        stored = Ledger.from_json(path.read_text(encoding="utf-8"))
        if stored.budget != self.budget:
            raise BudgetError(f"{path} is the ledger of another budget: {stored.budget} instead of {self.budget}.")
        self._events = stored.events

    def _write(self, path: Path) -> None:
        """Replace the file as a whole, on disk before this returns."""
        draft = path.with_name(f"{path.name}.draft")
        with draft.open("w", encoding="utf-8") as file:
            file.write(self.to_json())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

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
