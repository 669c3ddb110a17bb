"""Ledgers of the server: one for each study, or one that several studies over the same people share.

A study of its own pays from its own ledger when it is released: only trusted users have something to pay then. Under a
shared budget nobody knows which group a person will choose next time, so a study charges its whole ε to everybody when
it opens.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from hybriddp.errors import DataError
from hybriddp.privacy import Privacy
from hybriddp.release.event import Event
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service.kinds import StudyKind
from hybriddp.service.problems import Refusal
from hybriddp.service.store.ledger import DatabaseLedgerStore, ledger_names
from hybriddp.service.store.studies import StoredStudy

_SHARED = "budget "


@dataclass(frozen=True, slots=True)
class RemainingBudget:
    """What is left of a budget."""

    epsilon: str
    delta: str


def of_study(study_id: str) -> str:
    """Return the name of a study's own ledger."""
    return f"study {study_id}"


def shared(name: str) -> str:
    """Return the name of the ledger of a shared budget."""
    return _SHARED + name


def create(connection: Connection, name: str, privacy: Privacy) -> Ledger:
    """Create a ledger, or refuse if the name is already used."""
    try:
        return Ledger.create(DatabaseLedgerStore(connection, name), privacy)
    except DataError:
        raise Refusal("refused", "There is a budget with this name already. Choose another one.") from None


def ledger(connection: Connection, name: str) -> Ledger:
    """Return the ledger with this name."""
    try:
        # A study's own ledger counts trusted users; a shared one is charged by `charge_everybody`.
        return Ledger.open(DatabaseLedgerStore(connection, name), count="trusted")
    except DataError:
        words = "There is no budget with this name. Create it first: POST /budgets."
        raise Refusal("not-found", words, field="budget") from None


def ledger_of(connection: Connection, study: StoredStudy) -> Ledger | None:
    """Return the study's own ledger, or None if it uses a shared budget."""
    return ledger(connection, of_study(study.id)) if study.budget is None else None


def shared_names(connection: Connection) -> list[str]:
    """Return the names of all shared budgets, in order."""
    names = ledger_names(connection)
    return sorted(name.removeprefix(_SHARED) for name in names if name.startswith(_SHARED))


def left(found: Ledger) -> RemainingBudget:
    """Return the remaining budget of everybody in a shared ledger, in a few digits."""
    rest = found.remaining("everybody")
    return RemainingBudget(f"{float(rest.epsilon):g}", f"{float(rest.delta):g}")


def charge_everybody(connection: Connection, budget: str, kind: StudyKind) -> None:
    """Charge a study's ε to everybody, whichever group they will choose; `BudgetError` if it is more than is left."""
    event = Event.now(f"Study {kind.title!r}", who="everybody", study=kind.digest, privacy=kind.privacy)
    ledger(connection, shared(budget)).spend(event, promised=kind.privacy)
