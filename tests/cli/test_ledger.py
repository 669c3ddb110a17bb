import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from hybriddp import cli
from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.mean import MeanStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Event, Ledger

RUN = CliRunner()


def _run(*arguments: object) -> Result:
    return RUN.invoke(cli.app, [str(argument) for argument in arguments])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.ledger"


@pytest.fixture
def users(tmp_path: Path) -> Path:
    minutes = np.random.default_rng(0).gamma(2.0, 20.0, 1000)
    codes = MeanStudy("minutes", bounds=(0, 240), epsilon=0.5).randomize(minutes[500:], random_state=1)
    table = {"minutes": [*minutes[:500].tolist(), *[None] * 500], "code": [None] * 500 + codes.tolist()}
    pl.DataFrame(table).write_csv(tmp_path / "users.csv")
    return tmp_path / "users.csv"


def _mean(users: Path, path: Path, name: str, *more: str) -> Result:
    options = ["--value", "minutes", "--report", "code", "--bounds", 0, 240, "--epsilon", "0.5"]
    return _run("mean", users, *options, "--name", name, "--ledger", path, *more)


def test_a_budget_of_1_is_enough_for_two_studies_of_a_half(users: Path, path: Path) -> None:
    made = _run("ledger", "create", path, "--epsilon", "1")
    assert made.exit_code == 0
    assert "Every user may spend ε = 1, δ = 0" in made.output
    for name in ("first", "second"):
        result = _mean(users, path, name)
        assert result.exit_code == 0, result.output
    assert isinstance(_mean(users, path, "third").exception, BudgetError)
    shown = _run("ledger", "show", path).output
    assert shown.count("total of the trusted group") == 2
    assert "Left to every one of the trusted users: ε = 0, δ = 0" in shown


def test_create_leaves_what_exists_alone_and_names_what_is_wrong(path: Path) -> None:
    assert _run("ledger", "create", path, "--epsilon", 30, "--delta", "1e-6", "--accountant", "zcdp").exit_code == 0
    assert (Ledger.open(path).budget, Ledger.open(path).accountant.name) == (
        Privacy.total(epsilon=30, delta="1e-6"),
        "zcdp",
    )
    before = path.read_bytes()
    again = _run("ledger", "create", path, "--epsilon", 50).exception
    assert isinstance(again, DataError)
    assert again.exit_code == 4
    assert path.read_bytes() == before
    other = path.with_name("other")
    for wrong in (("--epsilon", 0), ("--epsilon", 1001), ("--epsilon", 1, "--accountant", "renyi")):
        assert isinstance(_run("ledger", "create", other, *wrong).exception, ParameterError)
    assert not other.exists()


def test_show_as_text_and_as_json(path: Path) -> None:
    ledger = Ledger.create(path, Privacy(epsilon=5))
    for k in range(30):
        ledger.spend(Event.now(f"release {k}", who="trusted", study="d", privacy=Privacy(epsilon="0.1")))
    text = _run("ledger", "show", path).output
    assert "10 earlier events" in text
    assert "release 9," not in text
    assert "release 29," in text
    assert "release 29," not in _run("ledger", "show", path, "--latest", 0).output
    answer = json.loads(_run("ledger", "show", path, "--json").stdout)
    assert len(answer["events"]) == 30
    assert answer["groups"]["trusted"] == {
        "spent": {"epsilon": 3.0, "delta": 0.0},
        "left": {"epsilon": 2.0, "delta": 0.0},
    }
    assert answer["groups"]["local"]["left"]["epsilon"] == 5.0
    assert isinstance(_run("ledger", "show", path.with_name("no")).exception, DataError)


def test_verify_finds_changes_and_repairs_what_broke_off(path: Path) -> None:
    Ledger.create(path, Privacy(epsilon=1)).spend(Event.now("a", who="trusted", study="d", privacy=Privacy(epsilon=1)))
    whole = path.read_bytes()
    found = _run("ledger", "verify", path)
    assert found.exit_code == 0
    assert "1 event, every line in its place" in " ".join(found.output.split())
    checksum = found.output.split("Checksum: ")[1].split()[0]
    assert _run("ledger", "verify", path, "--contains", checksum).exit_code == 0
    assert isinstance(_run("ledger", "verify", path, "--contains", "0" * 64).exception, DataError)
    path.write_bytes(whole.replace(b'"what":"a"', b'"what":"b"'))
    assert isinstance(_run("ledger", "verify", path, "--repair").exception, DataError)  # that is not for it
    path.write_bytes(whole[:-30])
    assert isinstance(_run("ledger", "verify", path).exception, DataError)
    repaired = _run("ledger", "verify", path, "--repair")
    assert "Dropped, and noted:" in repaired.output
    assert "0 events" in " ".join(repaired.output.split())
    assert "nothing to do" in _run("ledger", "verify", path, "--repair").output
    path.write_bytes(whole[:-1])
    kept = " ".join(_run("ledger", "verify", path, "--repair").output.split())
    assert "The last line was complete but for its line break" in kept
    assert "1 event, every line" in kept
    assert path.read_bytes() == whole
