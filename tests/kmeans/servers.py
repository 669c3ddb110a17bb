"""Servers that have been started, and the users whom they ask."""

import json
from typing import Any

from hybriddp._check import FloatArray
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger


def started(study: KMeansStudy, **parameters: Any) -> HybridKMeansServer:
    server = HybridKMeansServer(study, **parameters)
    server.start()
    return server


def as_text(fields: object) -> str:
    """Plain values as documents are written: without spaces."""
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def asked_now(server: HybridKMeansServer, local: FloatArray) -> FloatArray:
    """The points of the local users whom the current round is for, none of whom has answered before."""
    assert server.round is not None
    first = sum(step.local_users for step in server.spending)
    return local[first : first + int(server.round.user_fraction * server.n_local)]


def trusted_ledger(budget: Privacy, *, accountant: str = "basic") -> Ledger:
    """Make a ledger of the trusted group alone: what a study charges to everybody is not what is tested."""
    return Ledger(budget, accountant=accountant, count="trusted")
