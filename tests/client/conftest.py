"""A mock curator, and clients of both kinds."""

from pathlib import Path

import anyio
import pytest

from hybriddp.client import (
    MockCurator,
)
from tests.client.mocking import STUDY, Call


@pytest.fixture
def curator() -> MockCurator:
    return MockCurator(STUDY)


@pytest.fixture(params=["blocking", "async"])
def call(request: pytest.FixtureRequest, curator: MockCurator, tmp_path: Path) -> Call:
    """Makes a new client, as after a restart, and calls one of its methods."""

    def blocking(method: str, *arguments: object, who: str = "alice", journal: str | None = "j.json") -> object:
        with curator.client(who, journal=journal and tmp_path / journal) as client:
            return getattr(client, method)(*arguments)

    def asynchronous(method: str, *arguments: object, who: str = "alice", journal: str | None = "j.json") -> object:
        async def run() -> object:
            async with curator.async_client(who, journal=journal and tmp_path / journal) as client:
                return await getattr(client, method)(*arguments)

        return anyio.run(run)

    return blocking if request.param == "blocking" else asynchronous
