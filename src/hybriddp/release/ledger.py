"""The book of what has been spent: one user, one study, ε in total, whatever the study does inside.

Events are data; the ledger prices them. What happens to the same users adds up, what happens to disjoint groups of
users does not: every single user is in one of them. A group may be cut into parts, by country for example; a user is in
one part of each cut, so what she has spent is what was spent on all, plus the most that was spent on any part of each
cut. The arithmetic is exact.
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
from hybriddp.release.event import Event, Part, Spent, total


class Ledger:
    """The events of a study and what its users have left.

    Parameters
    ----------
    budget : Privacy
        What every user may spend in total.
    path : Path or str, optional
        A file that every event is written to before `spend` returns. If it exists, the ledger goes on from it.

    Examples
    --------
    >>> ledger = Ledger(Privacy(epsilon=1))
    >>> ledger.spend(Event.now("the mean", who="trusted", study="d1", privacy=Privacy(epsilon=1)))
    >>> ledger.remaining("trusted").epsilon, ledger.remaining("local").epsilon
    (Fraction(0, 1), Fraction(1, 1))
    """

    def __init__(self, budget: Privacy, *, path: Path | str | None = None) -> None:
        if not isinstance(budget, Privacy):
            raise ParameterError("budget", "a Privacy", budget)
        self.budget = budget
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
        """The most that any of these users has spent, in all studies or in one; of one part, if it is given."""
        mine = [event for event in self._events if event.who == who and study in (None, event.study)]
        spent = total(event for event in mine if event.part is None)
        for cut in {event.part.by for event in mine if event.part is not None}:
            by_key: dict[str, list[Event]] = {}
            for event in mine:
                if event.part is not None and event.part.by == cut:
                    by_key.setdefault(event.part.same_key, []).append(event)
            if part is not None and part.by == cut:
                spent += total(by_key.get(part.same_key, []))
            else:  # a user may be in whichever part has spent most
                costs = [total(events) for events in by_key.values()]
                spent += Spent(max(cost.epsilon for cost in costs), max(cost.delta for cost in costs))
        return spent

    def remaining(self, who: str, *, part: Part | None = None) -> Spent:
        """What each of these users has left at least."""
        spent = self.spent(who, part=part)
        return Spent(epsilon=self.budget.exact_epsilon - spent.epsilon, delta=self.budget.exact_delta - spent.delta)

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
                    self._check(event, promised)
                    self._events = (*self._events, event)
                if self._path is not None:
                    self._write(self._path)
            except BaseException:
                self._events = before
                raise

    def _check(self, event: Event, promised: Privacy | None) -> None:
        """Raise `BudgetError` if the event would cost more than is left."""
        left = self.remaining(event.who, part=event.part)
        if promised is not None:
            before = self.spent(event.who, part=event.part, study=event.study)
            left = Spent(
                epsilon=min(left.epsilon, promised.exact_epsilon - before.epsilon),
                delta=min(left.delta, promised.exact_delta - before.delta),
            )
        if event.privacy.exact_epsilon > left.epsilon or event.privacy.exact_delta > left.delta:
            raise BudgetError(self._refusal(event, left))

    def explain(self) -> str:
        """The story in plain words."""
        lines = [
            f"Every user may spend ε = {self.budget.epsilon}, δ = {self.budget.delta}. {Neighbours.REPLACE_ONE.value}."
        ]
        lines += [f"{e.when}: {e.what} ({e.users}): ε = {e.epsilon}, δ = {e.delta}" for e in self._events]
        for who in dict.fromkeys(event.who for event in self._events):
            left = self.remaining(who)
            lines.append(
                f"Left to every one of the {who} users: ε = {float(left.epsilon):g}, δ = {float(left.delta):g}"
            )
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
            if stored["version"] != 1:
                raise DataError(f"The ledger has version {stored['version']!r}; this program knows version 1.")
            ledger = cls(Privacy(**stored["budget"]))
            events = [Event.of(event) for event in stored["events"]]
            for event in events:
                event.privacy  # noqa: B018  (refuses what is no price)
        except (KeyError, TypeError, ValueError, ParameterError, AttributeError) as reason:
            raise DataError("The text is not a ledger.") from reason
        ledger.spend_all(events)
        return ledger

    def _refusal(self, event: Event, left: Spent) -> str:
        mine = [e for e in self._events if e.who == event.who]
        before = "; ".join(f"{e.what} ({e.users}), ε = {e.epsilon}, {e.when}" for e in mine)
        return (
            f"{event.what} would cost {event.users} ε = {event.epsilon}, δ = {event.delta}, but they have "
            f"ε = {float(left.epsilon):g}, δ = {float(left.delta):g} left. Spent before: {before or 'nothing'}."
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
