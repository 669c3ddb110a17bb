import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from hybriddp import cli
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import DataError, ParameterError

RUN = CliRunner()


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = DistributionStudy("load", bounds=(0, 100), epsilon=2)
    values = np.random.default_rng(0).uniform(0, 100, 6000)
    estimate = study.estimate(trusted=values[:1000], local=study.randomize(values[1000:]))
    path = tmp_path_factory.mktemp("saved") / "result.json"
    path.write_text(estimate.with_quantiles([0.5]).to_json(), encoding="utf-8")
    return path


def test_a_forgotten_quantile_is_read_out_of_the_result(result: Path) -> None:
    told = RUN.invoke(cli.app, ["quantiles", "--from", str(result), "--at", "0.8", "p90"])
    assert told.exit_code == 0
    assert "load:\np80: " in told.output
    assert "If the groups may differ" in told.output
    assert "nothing was spent" in told.output
    again = json.loads(RUN.invoke(cli.app, ["quantiles", "--from", str(result), "--at", "0.8", "--json"]).stdout)
    first = json.loads(result.read_text(encoding="utf-8"))
    assert [one["q"] for one in again["rows"]] == [0.8]
    assert again["cdf"] == first["cdf"]
    low, high = (again["rows"][0][end] for end in ("lower", "upper"))
    assert low < 85
    assert high > 75
    honest = ["quantiles", "--from", str(result), "--at", "0.8", "--json", "--groups-may-differ"]
    other = json.loads(RUN.invoke(cli.app, honest).stdout)
    assert other["rows"] == again["if_groups_may_differ"]["rows"]
    assert other["if_groups_may_differ"] is None
    assert other["cdf"]["values"] == first["if_groups_may_differ"]["cdf"]["values"]
    assert other["cdf"]["edges"] == first["cdf"]["edges"]


def test_a_simulation_stays_one(result: Path) -> None:
    seeded = result.with_name("seeded.json")
    told = json.loads(result.read_text(encoding="utf-8"))
    told["privacy"]["seeded"] = True
    seeded.write_text(json.dumps(told), encoding="utf-8")
    again = RUN.invoke(cli.app, ["quantiles", "--from", str(seeded), "--at", "0.8"])
    assert "NOT a private release" in again.output
    assert "nothing was spent" not in again.output


def test_nothing_is_read_or_released_beside_it(result: Path, tmp_path: Path) -> None:
    for more in (["--ledger", "l"], ["--bounds", "0", "1"], ["users.csv"], ["--html", "a.html"]):
        refused = RUN.invoke(cli.app, ["quantiles", "--from", str(result), *more])
        assert isinstance(refused.exception, ParameterError)
        assert "left out with --from" in str(refused.exception)
    missing = RUN.invoke(cli.app, ["quantiles", "--from", str(tmp_path / "none.json")])
    assert isinstance(missing.exception, DataError)
    assert "cannot be read" in str(missing.exception)


@pytest.mark.parametrize(("given", "missing"), [(["--epsilon", "1"], "bounds"), (["--bounds", "0", "1"], "epsilon")])
def test_a_study_needs_bounds_and_epsilon(given: list[str], missing: str) -> None:
    refused = RUN.invoke(cli.app, ["quantiles", "users.csv", "--value", "x", "--report", "code", *given])
    assert isinstance(refused.exception, ParameterError)
    assert str(refused.exception).startswith(f"{missing} must be given")
