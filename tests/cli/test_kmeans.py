"""``hybriddp kmeans``."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import Result

from hybriddp.errors import BudgetError, DataError, HybridDPError, ParameterError
from hybriddp.kmeans import KMeansStudy
from hybriddp.kmeans.protocol.round import Round
from hybriddp.release import Ledger
from hybriddp.tables import report_table
from tests.cli.ledgers import invoke, is_unspent

STUDY = KMeansStudy("points", n_clusters=2, bounds=[(0, 10), (0, 10)], epsilon=4)
OPTIONS = ["--column", "x:0:10", "--column", "y:0:10", "--clusters", "2", "--epsilon", "4"]
POINTS = np.random.default_rng(0).choice([[2.0, 3.0], [7.0, 8.0]], 2000) + np.random.default_rng(1).normal(
    0, 0.3, (2000, 2)
)


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users.csv"
    consent = ["yes"] * 1000 + ["no"] * 1000
    pl.DataFrame({"x": POINTS[:, 0], "y": POINTS[:, 1], "consent": consent}).write_csv(path)
    return path


def run(*words: object) -> Result:
    return invoke(["kmeans", *OPTIONS, *words])


def ordered(centers: list[list[float]]) -> list[list[int]]:
    return sorted([round(x) for x in center] for center in centers)


def test_a_simulation(users: Path, tmp_path: Path) -> None:
    told = [run(users, "--trusted-if", "consent", "--simulate-local", "--seed", 1, "--json") for _ in range(2)]
    assert told[0].exit_code == 0, told[0].output
    assert told[0].stdout == told[1].stdout
    answer = json.loads(told[0].stdout)
    assert ordered(answer["centers"]) == [[2, 3], [7, 8]]
    assert (answer["n_trusted"], answer["n_local"], answer["columns"]) == (1000, 1000, ["x", "y"])
    assert "SIMULATION" in answer["simulation"]
    page, picture = tmp_path / "centers.html", tmp_path / "centers.svg"
    words = run(
        users, "--trusted-if", "consent", "--simulate-local", "--html", page, "--plot", picture, "--diagnostics"
    )
    assert "SIMULATION" in words.stdout
    assert "1,000 trusted the curator and 1,000 reported locally." in words.stdout
    assert "Points outside of the bounds: 0." in words.output
    assert "<svg" in page.read_text()
    assert picture.stat().st_size > 1000


def test_the_trusted_group_alone(users: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    words = ("--trusted-if", "consent=yes", "--single-group", "--ledger", ledger)
    told = run(users, *words)
    assert told.exit_code == 0, told.output
    assert "There was only the trusted group" in told.stdout
    found = [float(x) for x in re.findall(r"\bx (-?[\d.]+)", told.stdout)]
    assert sorted(map(round, found)) == [2, 7]
    spent = Ledger.open(ledger)
    assert spent.spent("trusted").epsilon == spent.spent("local").epsilon == 4
    assert "study 'points' (" in told.stdout
    assert isinstance(run(users, *words).exception, BudgetError)


def test_rounds(users: Path, tmp_path: Path) -> None:
    ledger, state, asked = tmp_path / "ledger.json", tmp_path / "state.json", tmp_path / "round.json"
    common = (users, "--trusted-if", "consent", "--ledger", ledger, "--state", state, "--round", asked)
    told = run(*common, "--n-local", "1,000")
    assert told.exit_code == 0, told.output
    assert "Round 1, " in told.stdout
    spent = len(Ledger.open(ledger).events)
    again = json.loads(run(*common, "--json").stdout)  # nothing new: the same round
    assert again["round"]["number"] == 1
    first = 1000
    for number in range(1, 20):
        current = Round.from_json(asked.read_text(), study=STUDY)
        assert current.number == number
        answering = int(current.user_fraction * 1000)
        answers = tmp_path / f"answers{number}.parquet"
        report_table(current.answer(POINTS[first : first + answering])).write_parquet(answers)
        first += answering
        told = run(*common, "--reports", answers, "--json")
        assert told.exit_code == 0, told.output
        answer = json.loads(told.stdout)
        if "centers" in answer:
            break
    assert ordered(answer["centers"]) == [[2, 3], [7, 8]]
    assert answer["privacy"]["counted"]
    assert len(Ledger.open(ledger).events) >= spent
    assert json.loads(run(*common, "--json").stdout)["centers"] == answer["centers"]
    assert isinstance(run(*common, "--reports", answers).exception, ParameterError)
    other = run(*common, "--name", "others")
    assert isinstance(other.exception, DataError)
    assert "another study" in str(other.exception)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--simulate-local or --single-group"),
        (("--single-group", "--state", "s.json"), "--simulate-local or --single-group"),
        (("--simulate-local",), "trusted-if"),
        (("--single-group",), "ledger"),
        (("--single-group", "--seed", "1", "--ledger", "l.json"), "seed"),
        (("--simulate-local", "--trusted-if", "consent", "--ledger", "l.json"), "left out"),
        (("--single-group", "--ledger", "nowhere/l.json"), "There is no ledger nowhere/l.json"),
        (("--state", "s.json", "--ledger", "l.json"), "n_local"),
        (("--single-group", "--ledger", "l.json", "--column", "x"), "age:0:100"),
        (("--trusted-if", "x", "--single-group", "--ledger", "l.json"), "neither yes nor no"),
    ],
)
def test_what_is_refused(
    users: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run(users, *words)
    assert isinstance(refused.exception, HybridDPError)
    assert says in str(refused.exception)
    assert not (tmp_path / "l.json").exists() or is_unspent(tmp_path / "l.json")
