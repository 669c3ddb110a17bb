"""Take part in a study from Python: report a randomized value, or trust the curator with the value itself.

**For taking part**: `Client`, and `AsyncClient` for asyncio and trio; `Receipt` is what the curator signs.

**For working without a network**: `StudyOffer.from_text` and `StudyOffer.draw`, then `Client.send`.

**For an app's own tests**: `MockCurator`.

**For catching what goes wrong**: `RejectedError` and `UnavailableError`, beside `hybriddp.errors`.

HTTP needs httpx: ``pip install "hybriddp[client]"``.
"""

from hybriddp.client.client import AsyncClient, Client
from hybriddp.client.contribution import Contribution, commitment
from hybriddp.client.exchange import RetryPolicy
from hybriddp.client.mock import MockCurator
from hybriddp.client.offer import StudyOffer
from hybriddp.client.problems import RejectedError, UnavailableError
from hybriddp.client.receipt import Receipt, verify

__all__ = [
    "AsyncClient",
    "Client",
    "Contribution",
    "MockCurator",
    "Receipt",
    "RejectedError",
    "RetryPolicy",
    "StudyOffer",
    "UnavailableError",
    "commitment",
    "verify",
]
