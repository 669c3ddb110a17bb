"""Studies and contributions for the tests of the store."""

from hashlib import sha256
from itertools import count

from sqlalchemy import Connection, Engine

from hybriddp.service import receipts
from hybriddp.service.store.contributions import (
    PARTICIPANT,
    NewContribution,
    Verdict,
    add,
    sizes,
    tally,
    total,
    withdraw,
)
from hybriddp.service.store.engine import reading, writing
from hybriddp.service.store.seal import TotalSeal
from hybriddp.service.store.studies import OPEN, StoredStudy, insert_study, study

NOW, CLOSES = 1_000, 2_000
SEAL = TotalSeal(lambda digest, replica: sha256(f"{digest} {replica}".encode()).digest())
_numbers = count(1)


def fields(**changed: object) -> dict[str, object]:
    """What a new study needs, with an id and a digest that no other one has."""
    number = next(_numbers)
    return {
        "id": f"study-{number}",
        "digest": sha256(f"study {number}".encode()).hexdigest(),
        "kind": "mean",
        "text": "{}",
        "consent": {},
        "dimensions": [],
        "origins": [],
        "tokens": True,
        "single_group": False,
        "min_trusted": 2,
        "min_local": 2,
        "budget": None,
        "closes_at": CLOSES,
        "state": OPEN,
    } | changed


def make_study(engine: Engine, **changed: object) -> StoredStudy:
    """A new study in a database."""
    row = fields(**changed)
    with writing(engine) as connection:
        assert insert_study(connection, row, ("release",)) is None
        found = study(connection, str(row["id"]))
    assert found is not None
    return found


def contribution(
    of: StoredStudy, who: str, integer: int, *, trusted: bool = False, nonce: int = 0, day: int = 20_000
) -> NewContribution:
    """A contribution of somebody."""
    commitment = receipts.commitment(of.digest, "trusted" if trusted else "local", integer, f"{nonce:032x}")
    hashed = sha256(who.encode()).digest()[:16]
    return NewContribution(of.number, of.digest, hashed, trusted, integer, commitment, PARTICIPANT, day)


def send(engine: Engine, *sent: NewContribution, replica: str = "a", now: int = NOW) -> list[str]:
    """Add contributions in one transaction; what became of each, in words."""
    with writing(engine) as connection:
        outcomes = add(connection, sent, replica=replica, seal=SEAL, now=now)
    return [outcome.value for outcome in outcomes]


def take_back(engine: Engine, one: NewContribution, *, replica: str = "a", now: int = NOW) -> Verdict:
    """Withdraw a contribution."""
    with writing(engine) as connection:
        return withdraw(connection, one, replica=replica, seal=SEAL, now=now)


def sums(engine: Engine, of: StoredStudy) -> tuple[dict[int, int], int, tuple[int, int]]:
    """All sums of a study: reports by code, the trusted total, and the sizes of both groups."""
    with reading(engine) as connection:
        return read_sums(connection, of)


def read_sums(connection: Connection, of: StoredStudy) -> tuple[dict[int, int], int, tuple[int, int]]:
    """The same, within a transaction. Codes that nobody has any more are left out."""
    tallied = {code: n for code, n in tally(connection, of.number).items() if n}
    found = sizes(connection, of.number)
    return tallied, total(connection, of.number, of.digest, SEAL), (found.trusted, found.local)
