"""``hybriddp run-crowd`` plays a whole K-means study over real sockets, with a fifth of the devices missing."""

import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from hybriddp import cli
from hybriddp.cli import crowd_rounds
from hybriddp.kmeans import KMeansStudy
from hybriddp.service import round_timer
from tests.service.faults import until
from tests.service.kmeans_people import People
from tests.service.running import running


@pytest.mark.slow
def test_a_fifth_of_the_devices_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = KMeansStudy("crowd", n_clusters=2, bounds=[(0, 10), (0, 10)], epsilon=8)
    people = People.of(study, "crowd", n_trusted=10, n_local=40)
    points = [*people.trusted.values(), *people.local.values()]
    pl.DataFrame(np.array(points), schema=["x", "y"]).write_csv(tmp_path / "points.csv")
    monkeypatch.setattr(round_timer, "EVERY", 0.02)
    with running(tmp_path) as server:
        people.create(server, round_hours=24, release_at_end=True)
        (tmp_path / "secret").write_bytes(server.secret)

        async def end_round(_: float) -> None:  # the operator is impatient; the timer publishes the next one
            async with httpx.AsyncClient(base_url=server.url, headers=server.admin) as operator:

                async def state() -> str:
                    return str((await operator.get("/studies/crowd")).json()["state"])

                async def goes_on() -> bool:
                    return await state() != "closed"

                if await state() in ("open", "asking"):
                    await operator.post("/studies/crowd/close")
                    await until(goes_on, "The next step")

        monkeypatch.setattr(crowd_rounds, "_pause", end_round)
        arguments = ["run-crowd", server.url, "--study", "crowd", "--points", str(tmp_path / "points.csv")]
        arguments += ["--column", "x", "--column", "y", "--trusted", "10 users", "--dropout", "20%", "--json"]
        result = CliRunner().invoke(cli.app, [*arguments, "--secret-file", str(tmp_path / "secret")])
        assert result.exit_code == 0, result.output
        told: dict[str, Any] = json.loads(result.stdout)
        assert (told["trusted"], told["enrolled"], told["rejected"]) == (10, 40, {})
        assert [one["rejected"] for one in told["rounds"]] == [{}] * len(told["rounds"])
        answered = sum(one["answered"] for one in told["rounds"])
        assert answered == 40 - sum(one["stayed_away"] for one in told["rounds"]) < 40
        found = server.http.get("/studies/crowd/result").json()["estimate"]
        assert found["n_answered"] == answered
        rounds = server.http.get("/studies/crowd").json()["rounds"]
        assert [one["answered"] for one in rounds] == [one["answered"] for one in told["rounds"]]
        assert np.isfinite(found["centers"]).all()
