"""The curator as a server: people send reports or values over HTTP, one release comes out.

This room holds input and output only; every formula lives elsewhere. `hybriddp serve` starts it, and `create_app` is
for those who run it under a server of their own.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from hybriddp.errors import MissingExtraError

if TYPE_CHECKING:
    from litestar import Litestar

    from hybriddp.service.settings import Settings

__all__ = ["check_installed", "create_app"]

_LIBRARIES = {
    "alembic": "Alembic",
    "httptools": "httptools",
    "httpx": "httpx",
    "jwt": "PyJWT",
    "litestar": "Litestar",
    "msgspec": "msgspec",
    "prometheus_client": "prometheus-client",
    "sqlalchemy": "SQLAlchemy",
    "uvicorn": "uvicorn",
}


def check_installed(*modules: str, purpose: str = "The curator's server") -> None:
    """Raise `MissingExtraError` unless the extra ``service`` is installed, or the modules of it that are named."""
    for module in modules or _LIBRARIES:
        if find_spec(module) is None:
            raise MissingExtraError(_LIBRARIES[module], extra="service", purpose=purpose)


def create_app(settings: "Settings") -> "Litestar":
    """Return the curator as an ASGI application, for any ASGI server."""
    check_installed()
    from hybriddp.service.app import prepare

    return prepare(settings).app
