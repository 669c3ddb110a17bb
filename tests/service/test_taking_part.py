"""People with the real client who come all at once."""

import asyncio

from hybriddp import MeanStudy
from hybriddp.client import AsyncClient
from tests.service.running import Running

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1.0)


def bare(headers: dict[str, str]) -> str:
    return headers["Authorization"].removeprefix("Bearer ")


def test_many_people_at_once(server: Running) -> None:
    server.create(STUDY)

    async def person(i: int) -> str:
        async with AsyncClient(server.url, bare(server.token(f"p{i}"))) as client:
            receipt = await (client.trust(float(i)) if i % 4 == 0 else client.report(float(i)))
            return receipt.group

    async def everybody() -> list[str]:
        return list(await asyncio.gather(*(person(i) for i in range(12))))

    groups = asyncio.run(everybody())
    assert (groups.count("trusted"), groups.count("local")) == (3, 9)
    assert server.move("close").json()["counts"] == {"trusted": 3, "local": 9}
