"""Routes for machines: whether the server lives and is ready, what it counts, and the key of receipts."""

from typing import Any

from litestar import MediaType, Response, get
from litestar.datastructures import State

from hybriddp.service.problems import Refusal
from hybriddp.service.routes.access import require_admin
from hybriddp.service.routes.wire import problems

_MACHINES: Any = {"tags": ["machines"]}


@get("/health", **_MACHINES)
async def health() -> dict[str, str]:
    """Whether the process lives."""
    return {"status": "ok"}


@get("/ready", **_MACHINES, responses=problems())
async def ready(state: State) -> dict[str, str]:
    """Whether the server takes requests: it reads and writes, its clock is right, and it is not about to stop."""
    if state.draining:
        raise Refusal("unavailable", "The server is stopping.")
    await state.readiness.require()
    return {"status": "ready"}


@get(
    "/metrics",
    guards=[require_admin],
    security=[{"bearer": []}],
    media_type=MediaType.TEXT,
    responses=problems("bad-token"),
    **_MACHINES,
)
async def metrics(state: State) -> Response[bytes]:
    """Counters for Prometheus."""
    return Response(state.metrics.render(), media_type=state.metrics.content_type)


@get("/.well-known/hybriddp-receipts.json", **_MACHINES)
async def receipts_key(state: State) -> dict[str, Any]:
    """The public key that receipts are signed with, as a JSON Web Key Set."""
    jwks: dict[str, Any] = state.curator.signer.jwks()
    return jwks


ROUTES = [health, ready, metrics, receipts_key]
