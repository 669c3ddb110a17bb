import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from hybriddp import cli
from hybriddp.cli.quantiles import asked_quantiles
from hybriddp.distribution import DistributionStudy
from hybriddp.errors import BudgetError, DataError, ParameterError, ProtocolError
from hybriddp.release import Ledger
from tests.cli.ledgers import invoke, is_unspent

RUN = CliRunner()
STUDY = DistributionStudy("load", bounds=(0, 10_000), epsilon=2, scale="log")
LOADS = np.random.default_rng(0).lognormal(6.0, 0.8, 8000)
OPTIONS = ["--bounds", "0", "10,000", "--epsilon", "2", "--scale", "log"]
COLUMNS = ["--value", "load", "--report", "code"]


@pytest.fixture
def users(tmp_path: Path) -> Path:
    reports = STUDY.randomize(LOADS[1000:])
    path = tmp_path / "users.parquet"
    pl.DataFrame(
        {
            "load": pl.Series([*LOADS[:1000].tolist(), None, float("nan")] + [None] * 7000, dtype=pl.Float64),
            "code": pl.Series([None] * 1002 + reports.tolist(), dtype=pl.UInt16),
            "country": ["DE", "FR"] * 4001,
        }
    ).write_parquet(path)
    return path


def _run(users: Path, ledger: Path | None, *more: str) -> Result:
    paid = [] if ledger is None else ["--ledger", str(ledger)]
    return invoke(["quantiles", str(users), *OPTIONS, *COLUMNS, *paid, *more])


def test_it_tells_the_story_and_writes_the_ledger(users: Path, tmp_path: Path) -> None:
    result = _run(users, tmp_path / "ledger.json")
    assert result.exit_code == 0
    for words in ("load:", "p50: ", "p99: ", "1,000 trusted the curator and 7,000 reported locally", "ledger.json"):
        assert words in result.output
    first, second = result.output.split("If the groups may differ")
    assert 'The answer "if the groups may differ" has intervals that hold' in " ".join(first.split())
    assert all(first.count(f"\np{q}: ") == second.count(f"\np{q}: ") == 1 for q in (50, 90, 95, 99))
    assert len(Ledger.open(tmp_path / "ledger.json").events) == 1


def test_a_second_release_ends_with_code_3(users: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = tmp_path / "ledger.json"
    assert _run(users, ledger).exit_code == 0
    assert isinstance(_run(users, ledger).exception, BudgetError)
    monkeypatch.setattr(sys, "argv", ["hybriddp", "quantiles", str(users), *OPTIONS, *COLUMNS, "--ledger", str(ledger)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3


def test_it_prints_json_and_nothing_else(users: Path, tmp_path: Path) -> None:
    answer = json.loads(_run(users, tmp_path / "ledger.json", "--json", "--at", "0.25", "0.5", "99.9%").stdout)
    assert [one["q"] for one in answer["rows"]] == [0.25, 0.5, 0.999]
    truth = np.quantile(LOADS, 0.5)
    low, high = (answer["rows"][1][end] for end in ("lower", "upper"))
    assert low < 1.3 * truth
    assert high > truth / 1.3
    assert answer["privacy"]["seeded"] is False
    assert "curator" not in answer
    assert answer["cdf"]["step"] > 0
    second = answer["if_groups_may_differ"]
    assert [one["q"] for one in second["rows"]] == [0.25, 0.5, 0.999]
    assert len(second["cdf"]["values"]) == 255


def test_the_groups_are_shown_if_asked_for_and_may_differ(users: Path, tmp_path: Path) -> None:
    answer = json.loads(_run(users, tmp_path / "a.json", "--json", "--full", "--groups-may-differ").stdout)
    assert answer["assumes_groups_alike"] is False
    assert "second list" not in _run(users, tmp_path / "b.json", "--groups-may-differ").output
    told = answer["curator"]
    assert len(told["cdf"]["local_alone"]["values"]) == len(told["cdf"]["trusted_alone"]["standard_errors"]) == 255
    assert answer["if_groups_may_differ"] is None  # it is the answer itself


@pytest.mark.parametrize(
    ("at", "files", "asked", "left"),
    [
        (None, ["a.csv"], (0.5, 0.9, 0.95, 0.99), ["a.csv"]),
        (["0.9"], ["0.5", "a.csv", "99%"], (0.5, 0.9, 0.99), ["a.csv"]),
        (["0.9,0.5", "0.9"], ["a.csv"], (0.5, 0.9), ["a.csv"]),
    ],
)
def test_quantiles_may_follow_each_other(
    at: list[str] | None, files: list[str], asked: tuple[float, ...], left: list[str]
) -> None:
    assert asked_quantiles(at, files) == (asked, left)


@pytest.mark.parametrize("q", ["0", "1", "-0.5", "100%"])
def test_what_is_refused_is_not_paid_for(users: Path, tmp_path: Path, q: str) -> None:
    ledger = tmp_path / "ledger.json"
    assert isinstance(_run(users, ledger, f"--at={q}").exception, ParameterError)
    assert isinstance(_run(users, ledger, "--scale", "lin").exception, ParameterError)
    assert isinstance(_run(users, ledger, "--engine", "dask").exception, ParameterError)
    assert is_unspent(ledger)


def test_a_dry_run_shows_diagnostics_and_releases_nothing(users: Path, tmp_path: Path) -> None:
    result = _run(users, tmp_path / "ledger.json", "--dry-run")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "NOT FOR PUBLICATION" in result.stderr
    assert "Clamped to the bounds: 0 of 1,000 values" in result.stderr
    assert is_unspent(tmp_path / "ledger.json")


@pytest.mark.slow
def test_parts_pictures_and_pages(users: Path, tmp_path: Path) -> None:
    plot, html = tmp_path / "cdf.png", tmp_path / "page.html"
    more = ["--group", "country", "--keys", "DE,FR", "--plot", str(plot), "--html", str(html), "--at", "0.5"]
    result = _run(users, tmp_path / "ledger.json", *more)
    assert result.exit_code == 0
    assert "nobody is in two parts" in result.output
    assert plot.read_bytes().startswith(b"\x89PNG")
    page = html.read_text()
    assert page.count("<h2>") == 2
    assert "p50" in page
    assert "p99" not in page
    assert len(Ledger.open(tmp_path / "ledger.json").events) == 2


def test_edges_come_from_a_file(users: Path, tmp_path: Path) -> None:
    edges = tmp_path / "edges.txt"
    edges.write_text("\n".join(f"{x:.6f}" for x in np.linspace(0, 100, 255) ** 2), encoding="utf-8")
    raw = tmp_path / "raw.csv"
    pl.DataFrame({"load": LOADS[:2000], "consent": ["yes", "no"] * 1000}).write_csv(raw)
    simulated = ["--value", "load", "--trusted-if", "consent", "--simulate-local", "--seed", "1"]
    bounds = ["--bounds", "0", "10,000", "--epsilon", "2"]
    result = RUN.invoke(
        cli.app, ["quantiles", str(raw), *bounds, *simulated, "--edges-file", str(edges), "--json", "--at", "0.5"]
    )
    answer = json.loads(result.stdout)
    assert "SIMULATION" in answer["simulation"]
    assert answer["cdf"]["edges"][1] == pytest.approx((100 / 254) ** 2, abs=1e-5)
    both = invoke(["quantiles", str(raw), *OPTIONS, *simulated, "--edges-file", str(edges)])
    assert isinstance(both.exception, ParameterError)
    edges.write_text("many", encoding="utf-8")
    bad = invoke(["quantiles", str(raw), *bounds, *simulated, "--edges-file", str(edges)])
    assert isinstance(bad.exception, DataError)
    assert "a number per line" in str(bad.exception)
    assert users.exists()


def test_a_person_in_both_groups_is_refused_and_nobody_pays(tmp_path: Path) -> None:
    raw, reports, ledger = tmp_path / "raw.csv", tmp_path / "reports.csv", tmp_path / "ledger.json"
    raw.write_text("load,id\n120,ada\n480,bob\n")
    reports.write_text("code,id\n7,cy\n9,ada\n")
    files = ["--trusted-file", str(raw), "--local-file", str(reports), *COLUMNS, "--user", "id"]
    result = invoke(["quantiles", *files, *OPTIONS, "--ledger", str(ledger)])
    assert isinstance(result.exception, DataError)
    assert "1 user is in both groups by column 'id'" in str(result.exception)
    options = [*OPTIONS, "--ledger", str(ledger), "--repeated", "first"]
    assert "in both groups" in str(invoke(["quantiles", *files, *options]).exception)
    assert is_unspent(ledger)
    raw.write_text("load,id\n120,dan\n480,bob\n")
    result = invoke(["quantiles", *files, *OPTIONS, "--ledger", str(ledger)])
    assert result.exit_code == 0
    assert len(Ledger.open(ledger).events) == 1


@pytest.mark.parametrize(
    ("ending", "words"), [("parquet", 'type is "mean" in the file'), ("csv", "kind of study, name, bounds")]
)
def test_reports_for_a_mean_are_refused(tmp_path: Path, ending: str, words: str) -> None:
    """`randomize` makes them unless a scale is given."""
    values, reports = tmp_path / "values.csv", tmp_path / f"reports.{ending}"
    pl.DataFrame({"load": LOADS[:100]}).write_csv(values)
    bounds = ["--bounds", "0", "10000", "--epsilon", "2"]
    made = ["randomize", str(values), "--value", "load", *bounds, "-o", str(reports)]
    assert "100 reports for a mean at ε = 2" in RUN.invoke(cli.app, made).output
    asked = ["quantiles", "--trusted-file", str(values), "--local-file", str(reports), *COLUMNS, *bounds, "--dry-run"]
    refused = RUN.invoke(cli.app, asked)
    assert isinstance(refused.exception, ProtocolError)
    assert words in str(refused.exception)
    assert "100 reports for quantiles at ε = 2" in RUN.invoke(cli.app, [*made, "--scale", "equal"]).output
    assert RUN.invoke(cli.app, asked).exit_code == 0


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_randomize_writes_reports_that_are_tied(tmp_path: Path, ending: str) -> None:
    values, reports = tmp_path / "values.csv", tmp_path / f"reports.{ending}"
    pl.DataFrame({"load": [*LOADS[:2000].tolist(), None, float("inf")]}).write_csv(values)
    made = RUN.invoke(cli.app, ["randomize", str(values), "--value", "load", *OPTIONS, "-o", str(reports), "--json"])
    told = json.loads(made.stdout)
    assert (told["reports"], told["study"], told["bounds"]) == (2000, STUDY.digest, [0, 10_000])
    raw = tmp_path / "raw.parquet"
    pl.DataFrame({"load": LOADS[2000:2500]}).write_parquet(raw)
    files = ["--trusted-file", str(raw), "--local-file", str(reports), *COLUMNS, "--ledger", str(tmp_path / "ledger")]
    answer = json.loads(invoke(["quantiles", *files, *OPTIONS, "--json"]).stdout)
    assert (answer["tied"], answer["n_local"]) == (True, 2000)


def test_randomize_takes_the_text_of_a_study(tmp_path: Path) -> None:
    values, text = tmp_path / "values.parquet", tmp_path / "study.json"
    pl.DataFrame({"load": LOADS[:100]}).write_parquet(values)
    text.write_text(STUDY.to_json(), encoding="utf-8")
    output = tmp_path / "reports.parquet"
    made = RUN.invoke(
        cli.app, ["randomize", str(values), "--value", "load", "--study", str(text), "-o", str(output), "--json"]
    )
    assert json.loads(made.stdout)["study"] == STUDY.digest
    assert pl.read_parquet(output).schema["code"] == pl.UInt16


@pytest.mark.slow
def test_rows_without_a_key_are_told_of(users: Path, tmp_path: Path) -> None:
    told = _run(users, tmp_path / "a.json", "--group", "country", "--keys", "DE")
    assert told.exit_code == 0
    assert "Some rows have none of the --keys" in told.stderr
    assert "Some rows" not in _run(users, tmp_path / "b.json", "--group", "country", "--keys", "DE,FR").stderr
    parts = _run(users, tmp_path / "c.json", "--group", "country", "--keys", "DE,FR").stdout
    assert "allowing_groups_to_differ" not in parts
    assert "If the groups may differ" in parts
