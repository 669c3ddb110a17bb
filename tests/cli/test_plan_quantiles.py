import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from hybriddp import cli
from hybriddp.errors import ParameterError

RUN = CliRunner()
SHAPE = ["--bounds", "0", "10000", "--scale", "log", "--epsilon", "1", "--trusted", "1%"]


def _plan(*more: str) -> Result:
    return RUN.invoke(cli.app, ["plan", *SHAPE, *more])


def test_it_tells_errors_of_ranks_and_values() -> None:
    result = _plan("--users", "1,000,000", "--shape", "lognormal(550,520)")
    assert result.exit_code == 0
    for words in ("p95: about 1,486, typically off by", "of rank", "Assumed: values like lognormal(550,520)"):
        assert words in result.output.replace("\n", " ")
    ranks = json.loads(_plan("--users", "1,000,000", "--json").stdout)
    assert ranks["quantiles"][0]["value"] is None


@pytest.mark.slow
def test_how_many_users_for_p95() -> None:
    more = ["--shape", "lognormal(550,520)", "--solve-for", "users", "--at", "0.95", "--target-rmse", "50"]
    result = _plan(*more)
    assert "users gives a typical error within 50." in result.output
    stored = json.loads(_plan(*more, "--json").stdout)
    assert 200_000 < stored["n_users"] < 500_000
    assert stored["solved"] == "n_users"


@pytest.mark.parametrize("at", [["0.5,0.95"], ["0.5", "0.95"], ["p50", "95%"]])
def test_quantiles_are_written_in_several_ways(at: list[str]) -> None:
    told = json.loads(_plan("--users", "10,000", "--json", "--at", *at).stdout)
    assert [row["q"] for row in told["quantiles"]] == [0.5, 0.95]
    wrong = _plan("--users", "10,000", "--at", "0.5", "p-95th")
    assert isinstance(wrong.exception, ParameterError)
    assert "such as 0.95, 95% or p95" in str(wrong.exception)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--users", "1000", "--target-rank-error", "5%"], "target_rank_error must be given together with --solve-for"),
        (["--users", "1000", "--sd", "5"], "sd must be left out of a plan of quantiles"),
        (["--solve-for", "gold", "--at", "0.5"], "solve_for must be one of epsilon, users, trusted"),
        ([], "users must be given, or found with --solve-for users"),
    ],
)
def test_mistakes_are_named(wrong: list[str], message: str) -> None:
    found = _plan(*wrong).exception
    assert isinstance(found, ParameterError)
    assert str(found).startswith(message)


def test_a_file_of_public_values_is_a_shape(tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    pl.DataFrame({"ms": np.random.default_rng(0).lognormal(6, 0.8, 5000)}).write_csv(path)
    stored = json.loads(_plan("--users", "500,000", "--shape", str(path), "--value", "ms", "--json").stdout)
    assert stored["shape"] == "values"
    assert 350 < stored["quantiles"][0]["value"] < 450


def test_a_simulation_says_that_it_is_one() -> None:
    asked = ["--users", "20,000", "--trials", "2", "--at", "0.5,0.9"]
    result = RUN.invoke(cli.app, ["simulate", "lognormal(550,520)", *SHAPE, *asked])
    assert result.exit_code == 0
    assert "a simulation, not a private release" in result.output.replace("\n", " ")
    stored = json.loads(RUN.invoke(cli.app, ["simulate", "lognormal(550,520)", *SHAPE, *asked, "--json"]).stdout)
    assert [row["q"] for row in stored["quantiles"]] == [0.5, 0.9]
