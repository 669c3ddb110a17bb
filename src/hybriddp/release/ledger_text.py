"""A ledger as one JSON text, as `Ledger.to_json` writes it and as ledger files were before they had lines."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from secrets import token_hex
from typing import Any

from hybriddp.errors import DataError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release.accountant import Accountant
from hybriddp.release.event import Event

VERSION = 1
_NONCE = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Header:
    """What a ledger was created with, and keeps.

    Attributes
    ----------
    budget : Privacy
        What every user may spend in total.
    accountant : Accountant
        Who prices the events.
    nonce : str or None
        A random text, by which ledgers of the same budget are told apart; None for those of before there was one.
    """

    budget: Privacy
    accountant: Accountant
    nonce: str | None = None

    @classmethod
    def new(cls, budget: Privacy, accountant: Accountant) -> "Header":
        """That of a ledger which is like no other."""
        return cls(budget, accountant, token_hex(16))

    def fields(self) -> dict[str, Any]:
        """As plain values."""
        fields = {
            "budget": {"epsilon": self.budget.epsilon, "delta": self.budget.delta},
            "accountant": self.accountant.name,
        }
        return fields if self.nonce is None else {**fields, "nonce": self.nonce}

    @classmethod
    def of(cls, fields: dict[str, Any]) -> "Header":
        """From plain values. Ledgers that name no accountant were written before there was another one."""
        nonce = fields.get("nonce")
        if nonce is not None and (not isinstance(nonce, str) or _NONCE.fullmatch(nonce) is None):
            raise ParameterError("nonce", "32 hexadecimal digits", nonce)
        return cls(Privacy.total(**fields["budget"]), Accountant(fields.get("accountant", "basic")), nonce)


@dataclass(frozen=True, slots=True)
class LedgerText:
    """What a text says."""

    header: Header
    events: tuple[Event, ...]


def to_fields(header: Header, events: Iterable[Event]) -> dict[str, Any]:
    """The whole ledger as plain values."""
    return {"version": VERSION, **header.fields(), "events": [asdict(event) for event in events]}


def from_fields(stored: Any) -> LedgerText:  # noqa: ANN401
    """The ledger with these plain values; `DataError` if they are none."""
    try:
        version = stored["version"]
        if type(version) is not int or version != VERSION:
            raise DataError(f"The ledger has version {version!r}; this program knows version {VERSION}.")
        return LedgerText(Header.of(stored), tuple(Event.of(fields) for fields in stored["events"]))
    except DataError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, ParameterError):
        raise DataError("The text is not a ledger.") from None
