"""The real client and the real server: what one promises the other keeps."""

import asyncio
from pathlib import Path

import pytest

from hybriddp import MeanStudy
from hybriddp.client import AsyncClient, Client, RejectedError
from hybriddp.service.store.contributions import sizes, tally, total
from hybriddp.service.store.engine import reading
from tests.service.running import Running

STUDY = MeanStudy("session minutes", bounds=(0, 240), epsilon=1.0)


def bare(headers: dict[str, str]) -> str:
    return headers["Authorization"].removeprefix("Bearer ")


def test_report_trust_repeat_and_withdraw(server: Running, tmp_path: Path) -> None:
    server.create(STUDY)
    curator = server.prepared.app.state.curator
    with Client(server.url, bare(server.token("l")), journal=tmp_path / "l.json", digest=STUDY.digest) as local:
        assert "ε = 1" in local.promise()
        receipt = local.report(37.5)
        assert receipt.group == "local"
        assert local.receipt() == receipt
    with Client(server.url, bare(server.token("l")), journal=tmp_path / "l.json") as again:
        repeated = again.report(99.0)  # what was drawn is what is sent
        assert (repeated.resent, repeated.commitment) == (True, receipt.commitment)
    with Client(server.url, bare(server.token("t")), journal=tmp_path / "t.json") as trusted:
        trusted.trust(60.0)
    with reading(curator.engine) as connection:
        assert (sizes(connection, 1).trusted, sizes(connection, 1).local) == (1, 1)
        assert total(connection, 1, STUDY.digest, curator.seal) == 2**24 // 4
    with Client(server.url, bare(server.token("t")), journal=tmp_path / "t.json") as leaving:
        assert leaving.withdraw().withdrawn
    with reading(curator.engine) as connection:
        assert (sizes(connection, 1).trusted, total(connection, 1, STUDY.digest, curator.seal)) == (0, 0)
        assert sum(tally(connection, 1).values()) == 1
    with Client(server.url, bare(server.token("t"))) as back, pytest.raises(RejectedError, match="already taken part"):
        back.report(1.0)


def test_many_people_at_once(server: Running) -> None:
    server.create(STUDY)

    async def person(i: int) -> str:
        async with AsyncClient(server.url, bare(server.token(f"p{i}"))) as client:
            receipt = await (client.trust(float(i)) if i % 4 == 0 else client.report(float(i)))
            return receipt.group

    async def everybody() -> list[str]:
        return list(await asyncio.gather(*(person(i) for i in range(24))))

    groups = asyncio.run(everybody())
    assert (groups.count("trusted"), groups.count("local")) == (6, 18)
    assert server.move("close").json()["counts"] == {"trusted": 6, "local": 18}
