"""Releases about the trusted group, and the ledger of what they cost.

`hybriddp.release.release` is the only door: a `Statistic` and a `ReleaseCost` go in, `ReleasedNumbers` with noise come
out, charged first. Code that handles private numbers cannot be handed raw ones by mistake, because they have types of
their own. `Ledger` keeps count of what has been spent, in memory, in a file or in another `LedgerStore`; `check_ledger`
checks that a file is as it was written.
"""

from hybriddp.release.accountant import Accountant
from hybriddp.release.event import Event, Part
from hybriddp.release.ledger.check import LedgerCheck, check_ledger, repair_ledger
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.release.ledger.store import LedgerStore
from hybriddp.release.mechanism_record import MechanismRecord
from hybriddp.release.release import ReleaseCost, ReleasedNumbers
from hybriddp.release.statistic import Statistic

__all__ = [
    "Accountant",
    "Event",
    "Ledger",
    "LedgerCheck",
    "LedgerStore",
    "MechanismRecord",
    "Part",
    "ReleaseCost",
    "ReleasedNumbers",
    "Statistic",
    "check_ledger",
    "repair_ledger",
]
