"""Simulated people in a study of K-means, who enroll and answer rounds or stay away."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from hybriddp import MeanStudy, cli
from hybriddp.cli import crowd, crowd_rounds
from hybriddp.cli.crowd_rounds import simulated_points
from hybriddp.client import MockCurator
from hybriddp.errors import ParameterError
from hybriddp.kmeans import KMeansStudy

RUN = CliRunner()
STUDY = KMeansStudy("visits", n_clusters=2, bounds=[(0, 24), (0, 60)], epsilon=4)
COMMON = ["run-crowd", "https://c.org", "--study", "mock-study", "--concurrency", "4"]


@pytest.fixture
def secret(tmp_path: Path) -> str:
    (tmp_path / "secret").write_text("0123456789abcdef" * 4)
    return str(tmp_path / "secret")


@pytest.fixture
def curator(monkeypatch: pytest.MonkeyPatch) -> MockCurator:
    """A curator whose operator publishes the next round whenever everybody waits."""
    made = MockCurator(STUDY)

    async def publish(_: float) -> None:
        made.next_round()

    monkeypatch.setattr(crowd, "_transport", lambda: made.transport)
    monkeypatch.setattr(crowd_rounds, "_pause", publish)
    return made


def run(*arguments: str) -> dict[str, Any]:
    result = RUN.invoke(cli.app, [*COMMON, *arguments, "--json"])
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def test_the_points_of_a_file_with_people_who_stay_away(curator: MockCurator, secret: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    points = rng.choice([[6.0, 20.0], [18.0, 40.0]], 60) + rng.normal(0, 0.5, (60, 2))
    table = pl.DataFrame(points, schema=["hour", "minutes"])
    pl.concat([table, pl.DataFrame({"hour": [None], "minutes": [3.0]})]).write_parquet(tmp_path / "users.parquet")
    file = ["--points", str(tmp_path / "users.parquet"), "--column", "hour", "--column", "minutes"]
    told = run(*file, "--trusted", "25%", "--dropout", "50%", "--secret-file", secret, "--prefix", "p")
    assert (told["users"], told["trusted"], told["enrolled"], told["rejected"]) == (60, 15, 45, {})
    assert (told["simulated"], told["ended"]) == (True, True)
    rounds = told["rounds"]
    assert [one["number"] for one in rounds] == [*range(1, len(rounds) + 1)]
    assert all(one["asked"] == one["answered"] + one["stayed_away"] and not one["rejected"] for one in rounds)
    assert sum(one["asked"] for one in rounds) == 45
    assert sum(one["stayed_away"] for one in rounds) > 0  # all come, or nobody, with a chance of 2^-44
    assert len(curator.answers) == sum(one["answered"] for one in rounds) > 0
    trusted = np.array([made.value for made in curator.contributions.values() if made.group == "trusted"])
    assert np.abs(trusted[:, None] - points).max(axis=2).min(axis=1).max() < 1e-4  # they are points of the file


def test_simulated_points_in_words(curator: MockCurator, secret: str) -> None:
    arguments = [*COMMON, "--users", "12", "--values", "clusters", "--secret-file", secret]
    result = RUN.invoke(cli.app, arguments)
    words = " ".join(result.output.split())
    assert result.exit_code == 0, result.output
    assert "enrolled 12" in words
    assert "round asked answered stayed away rejected" in words
    assert "These are simulated people" in words
    assert len(curator.answers) == 12


def test_it_stops_when_the_time_is_up(curator: MockCurator, secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(0, 10_000, 10))

    async def wait(_: float) -> None:
        return

    monkeypatch.setattr(crowd_rounds, "_pause", wait)
    monkeypatch.setattr(crowd_rounds, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))
    result = RUN.invoke(cli.app, [*COMMON, "--users", "3", "--secret-file", secret, "--seconds", "30"])
    assert "The time was up before the study's rounds had ended" in " ".join(result.output.split())
    assert len(curator.contributions) == 3


def test_rejections_are_told_by_reason(curator: MockCurator, secret: str) -> None:
    curator.fail(12, status=409, reason="closed")  # the first is asked by the command itself
    result = RUN.invoke(cli.app, [*COMMON, "--users", "4", "--secret-file", secret])
    assert result.exit_code != 0
    curator._troubles.clear()
    curator.state = "asking"
    result = RUN.invoke(cli.app, [*COMMON, "--users", "4", "--secret-file", secret])
    assert "enrollment has closed" in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--users", "9"], "secret_file must be given"),
        (["--users", "9", "--values", "normal(1,1)"], "values must be uniform or clusters"),
        ([], "users must be given"),
        (["--points", "x.csv", "--column", "hour"], "columns must be the names of 2 columns"),
    ],
)
def test_bad_input(curator: MockCurator, secret: str, arguments: list[str], words: str) -> None:
    given = arguments if "secret_file" in words else [*arguments, "--secret-file", secret]
    result = RUN.invoke(cli.app, [*COMMON, *given])
    assert words in str(result.exception)
    assert curator.contributions == {}


def test_what_is_for_k_means_only(secret: str, monkeypatch: pytest.MonkeyPatch, curator: MockCurator) -> None:
    relay = [*COMMON, "--users", "9", "--secret-file", secret, "--relay-key-file", secret]
    assert "relay_key_file must be left out" in str(RUN.invoke(cli.app, relay).exception)
    mean = MockCurator(MeanStudy("minutes", bounds=(0, 240), epsilon=1))
    monkeypatch.setattr(crowd, "_transport", lambda: mean.transport)
    result = RUN.invoke(cli.app, [*COMMON, "--users", "9", "--secret-file", secret, "--dropout", "20%"])
    assert "points must be left out" in str(result.exception)
    result = RUN.invoke(cli.app, [*COMMON, "--points", "x.csv", "--secret-file", secret])
    assert "users must be given" in str(result.exception)
    assert mean.contributions == curator.contributions == {}


def test_simulated_points_lie_in_the_box() -> None:
    for values in ("uniform", "clusters"):
        points = simulated_points(values, 500, STUDY, seed=3)
        assert (points >= 0).all()
        assert (points <= [24, 60]).all()
    spread = [np.ptp(simulated_points(values, 500, STUDY, seed=3), axis=0) for values in ("uniform", "clusters")]
    assert (spread[0] > spread[1]).all()
    with pytest.raises(ParameterError):
        simulated_points("normal(1,1)", 5, STUDY, seed=0)
