"""Ledgers of the server: one for each study, or one that several studies over the same people share.

A study of its own pays from its own ledger when it is released: only trusted users have something to pay then. Under a
shared budget nobody knows which group a person will choose next time, so a study charges its whole ε to everybody when
it opens.
"""

from sqlalchemy import Connection

from hybriddp.errors import DataError
from hybriddp.privacy import Privacy
from hybriddp.release.event import Event
from hybriddp.release.ledger import Ledger
from hybriddp.service.kinds import StudyKind
from hybriddp.service.problems import Refusal
from hybriddp.service.store.ledger import DatabaseLedgerStore


def of_study(study_id: str) -> str:
    """The name of a study's own ledger."""
    return f"study {study_id}"


def shared(name: str) -> str:
    """The name of the ledger of a shared budget."""
    return f"budget {name}"


def create(connection: Connection, name: str, privacy: Privacy) -> Ledger:
    """A new ledger; refused if there is one with this name."""
    try:
        return Ledger.create(DatabaseLedgerStore(connection, name), privacy)
    except DataError:
        raise Refusal("refused", "There is a budget with this name already. Choose another one.") from None


def ledger(connection: Connection, name: str) -> Ledger:
    """The ledger with this name."""
    try:
        return Ledger.open(DatabaseLedgerStore(connection, name))
    except DataError:
        raise Refusal("not-found", "There is no budget with this name. Create it first: POST /budgets.") from None


def charge_everybody(connection: Connection, budget: str, kind: StudyKind) -> None:
    """Charge a study's ε to everybody, whichever group they will choose; `BudgetError` if it is more than is left."""
    event = Event.now(f"Study {kind.title!r}", who="everybody", study=kind.digest, privacy=kind.privacy)
    ledger(connection, shared(budget)).spend(event, promised=kind.privacy)
