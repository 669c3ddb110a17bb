"""What the curator adds before anything about the trusted group leaves its hands, and the ledger of what it cost.

`release_total` turns the exact total of the trusted group into a `PrivateTotal`, a type of its own: code that handles
private numbers cannot be handed a raw one by mistake. `Ledger` keeps count of what has been spent, in memory, in a file
or in another `LedgerStore`; `check_ledger` checks that a file is as it was written.
"""

from hybriddp.release.accountant import Accountant
from hybriddp.release.event import Event, Part
from hybriddp.release.ledger.check import LedgerCheck, check_ledger, repair_ledger
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.ledger.store import LedgerStore
from hybriddp.release.mechanism_record import MechanismRecord
from hybriddp.release.mechanisms import PrivateTotal, release_total

__all__ = [
    "Accountant",
    "Event",
    "Ledger",
    "LedgerCheck",
    "LedgerStore",
    "MechanismRecord",
    "Part",
    "PrivateTotal",
    "check_ledger",
    "release_total",
    "repair_ledger",
]
