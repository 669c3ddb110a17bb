"""Check values of everything that is derived from the master key, stored at the first start and compared at each.

A database is bound to more than a key: to the functions by which people are known, contributions are committed to and
totals are sealed. If a new version computed one of them differently, everybody could take part a second time, nobody
could withdraw, or no total could be read, and nothing else would show it. A check value is what such a function gives
for a fixed input that no study has; it shows nothing of the key.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection

from hybriddp.client.contribution import answer_commitment
from hybriddp.errors import DataError, raise_unchained
from hybriddp.service import receipts
from hybriddp.service.keys import MasterKey, participant_hash
from hybriddp.service.store.facts import first_fact, known_fact
from hybriddp.service.store.seal import TotalSeal

__all__ = ["require_same_keys", "require_unused"]

_MASTER_KEY = "check master key"
_NO_STUDY = "0" * 64  # a digest that no text has
_TOTAL, _COUNT = 0x68796264, 7
_ANSWER = {"round": _NO_STUDY, "ask": 0, "variant": 1, "code": 2}


def _participants(master: MasterKey) -> str:
    return participant_hash(master.participants, _NO_STUDY, "sub\ncheck").hex()


def _spellings(master: MasterKey) -> str:
    return participant_hash(master.participants, _NO_STUDY, "sub\ncheck e\u0301").hex()


def _commitments(_: MasterKey) -> str:
    kept = [receipts.commitment(_NO_STUDY, group, 7, "f" * 32).hex() for group in receipts.GROUPS]
    return " ".join([*kept, answer_commitment(_ANSWER, "f" * 32)])


def _sessions(master: MasterKey) -> str:
    return hashlib.sha256(b"check\n" + master.sessions).hexdigest()


def _token_secret(master: MasterKey) -> str:
    return hashlib.sha256(b"check\n" + master.token_secret).hexdigest()


def _receipts(master: MasterKey) -> str:
    return master.signing_key().public_key().public_bytes_raw().hex()


CHECKS: dict[str, Callable[[MasterKey], str]] = {
    "participants": _participants,
    "spellings": _spellings,
    "commitments": _commitments,
    "sessions": _sessions,
    "token secret": _token_secret,
    "receipts": _receipts,
}
"""For each derived key or function its check value; `totals` are sealed with a random nonce, and opened instead."""

_HARM = {
    "participants": "everybody could take part a second time",
    "spellings": "people whose names have accents could take part a second time",
    "commitments": "nobody could withdraw or send the same contribution again",
    "sessions": "operators would be logged out",
    "token secret": "no token would be valid",
    "receipts": "no receipt could be verified",
    "totals": "no total of trusted values could be read",
}


def require_unused(connection: Connection, key_file: Path) -> None:
    """Raise `DataError` if a key file is missing that the database was used with: a new one would not help."""
    if known_fact(connection, _MASTER_KEY) is not None:
        raise DataError(
            f"The database has been used, but its key file {key_file} is missing. Restore the key or name it with "
            "--key-file: with a new key nothing in the database can be read."
        )


def require_same_keys(connection: Connection, master: MasterKey, key_file: Path) -> None:
    """Store the check values at the first start; raise `DataError` if one differs at a later one."""
    if first_fact(connection, _MASTER_KEY, master.fingerprint) != master.fingerprint:
        raise DataError(
            f"{key_file} is not the key that this database was used with: with another one people could take part "
            "twice, and totals could not be read. Restore the key file, or start with a new database."
        )
    for name, check in CHECKS.items():
        value = check(master)
        if first_fact(connection, f"check {name}", value) != value:
            raise _changed(name)
    _require_totals(connection, TotalSeal(master.total_key))


def _require_totals(connection: Connection, seal: TotalSeal) -> None:
    """Open a total that was sealed at the first start."""
    place = (_NO_STUDY, "check", _COUNT)
    stored = first_fact(connection, "check totals", seal.close(_TOTAL, *place).hex())
    try:
        same = seal.open(bytes.fromhex(stored), *place) == _TOTAL
    except (DataError, ValueError):
        same = False
    if not same:
        raise_unchained(_changed("totals"))


def _changed(name: str) -> DataError:
    return DataError(
        f"This version of hybriddp computes {name} differently from the one that wrote the database: {_HARM[name]}. "
        "Nothing was changed. Install the version that wrote it, or start with a new database."
    )
