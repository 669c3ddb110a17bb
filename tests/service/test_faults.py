"""Faults under load: what was acknowledged is stored, nobody counts twice, sums are exact, and there is one release."""

import asyncio
import secrets
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.service.faults import Crowd, ServerProcess, serving

SHORT = pytest.param(5, marks=pytest.mark.slow)
LONG = pytest.param(50, marks=pytest.mark.long)
UP = 0.4  # seconds that a server lives at most after the first answer


@pytest.fixture
def rng(capsys: pytest.CaptureFixture[str]) -> Random:
    """Random moments; the seed is printed, so that a run can be tried again."""
    seed = secrets.randbits(32)
    print(f"\nseed {seed}")  # noqa: T201
    return Random(seed)


@pytest.fixture
def address(database: str) -> str:
    """What `hybriddp serve` is told: SQLite is its default."""
    return "" if database.startswith("sqlite") else database


@pytest.mark.parametrize("kills", [SHORT, LONG])
def test_kills_under_load(tmp_path: Path, address: str, rng: Random, kills: int) -> None:
    server = ServerProcess(tmp_path, address)
    crowd = Crowd([server], rng)

    async def kill() -> None:
        for _ in range(kills):
            await crowd.goes_on()
            await crowd.random_moment(UP)
            server.kill()
            if rng.random() < 0.2:  # some die before they are up
                server.spawn()
                await crowd.random_moment(2.0)
                server.kill()
            await asyncio.to_thread(server.start)
            crowd.counts["kills"] += 1
        await crowd.goes_on()
        await crowd.move("close")

    async def run() -> None:
        await crowd.open_study()
        await crowd.load(kill())
        result = await crowd.release()
        server.kill()
        await asyncio.to_thread(server.start)
        assert (await crowd.move("release")).body == result
        assert crowd.counts["retries"] > 0

    with serving(server):
        asyncio.run(run())
    print(crowd)  # noqa: T201
