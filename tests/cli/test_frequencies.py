import json
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from hybriddp import cli
from hybriddp.cli.frequencies import public_categories
from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.release import Ledger
from hybriddp.shares import FrequencyStudy
from tests.cli.ledgers import invoke, is_unspent

RUN = CliRunner()
STUDY = FrequencyStudy("opened", categories=["yes", "no"], epsilon=1)
ITEMS = np.random.default_rng(0).choice(["yes", "no"], 5000, p=[0.3, 0.7])


@pytest.fixture
def users(tmp_path: Path) -> Path:
    codes = STUDY.randomize(ITEMS[500:], random_state=1)
    path = tmp_path / "users.parquet"
    pl.DataFrame(
        {
            "opened": pl.Series([*ITEMS[:500].tolist(), "maybe", None] + [None] * 4500, dtype=pl.String),
            "code": pl.Series([None] * 502 + codes.tolist(), dtype=pl.UInt8),
            "country": ["DE", "FR"] * 2501,
        }
    ).write_parquet(path)
    return path


def _run(users: Path, ledger: Path, *more: str) -> Result:
    options = ["--value", "opened", "--report", "code", "--categories", "yes,no", "--epsilon", "1"]
    return invoke(["frequencies", str(users), *options, "--ledger", ledger, *more])


def test_it_tells_the_story_and_writes_the_ledger(users: Path, tmp_path: Path) -> None:
    result = _run(users, tmp_path / "ledger.json")
    assert result.exit_code == 0
    for words in ("opened: yes:", "500 trusted the curator and 4,500 reported locally", "ledger.json"):
        assert words in " ".join(result.output.split())
    assert len(Ledger.open(tmp_path / "ledger.json").events) == 1


def test_a_second_release_ends_with_code_3(users: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(users, tmp_path / "ledger.json").exit_code == 0
    again = _run(users, tmp_path / "ledger.json")
    assert isinstance(again.exception, BudgetError)
    arguments = ["frequencies", str(users), "--value", "opened", "--report", "code", "--categories", "yes,no"]
    monkeypatch.setattr(sys, "argv", ["hybriddp", *arguments, "--epsilon", "1", "--ledger", f"{tmp_path}/ledger.json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3


def test_it_prints_json_and_nothing_else(users: Path, tmp_path: Path) -> None:
    found = json.loads(_run(users, tmp_path / "ledger.json", "--json").stdout)
    assert [row["name"] for row in found["rows"]] == ["yes", "no"]
    assert found["rows"][0]["value"] == pytest.approx(0.3, abs=0.1)
    assert "curator" not in found
    full = json.loads(_run(users, tmp_path / "other.json", "--json", "--full").stdout)
    assert "curator" in full


def test_a_picture_is_written_for_one_answer_and_for_several(users: Path, tmp_path: Path) -> None:
    one = _run(users, tmp_path / "one.json", "--plot", str(tmp_path / "one.png"))
    assert one.exit_code == 0
    several = _run(
        users, tmp_path / "two.json", "--group", "country", "--keys", "DE,FR", "--plot", str(tmp_path / "two.svg")
    )
    assert several.exit_code == 0
    assert "nobody is in two parts" in several.output
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    titles = re.findall("<!-- (.+?) -->", (tmp_path / "two.svg").read_text())
    assert [title for title in titles if title in ("yes", "no")] == ["yes", "no"] * 2
    assert [re.findall(r"country = (\w\w)", title) for title in titles if "country" in title] == [["DE"], ["FR"]]
    assert len(Ledger.open(tmp_path / "two.json").events) == 2


def test_what_was_left_out_is_for_the_curator(users: Path, tmp_path: Path) -> None:
    result = _run(users, tmp_path / "ledger.json", "--dry-run")
    assert result.exit_code == 0
    assert "none of the categories: 1" in " ".join(result.stderr.split())
    assert "Nothing was spent" in result.stderr
    assert not result.stdout
    assert is_unspent(tmp_path / "ledger.json")


def test_all_others_may_be_a_category(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    path.write_text("fruit,trusts\n" + "apple,yes\npear,no\nfig,no\nNA,yes\nkiwi,yes\n" * 200, encoding="utf-8")
    base = ["frequencies", str(path), "--value", "fruit", "--trusted-if", "trusts", "--categories", "apple,pear"]
    more = ["--other", "--epsilon", "2", "--simulate-local", "--seed", "1", "--json"]
    found = json.loads(RUN.invoke(cli.app, [*base, *more]).stdout)
    assert "SIMULATION" in found["simulation"]
    assert [row["name"] for row in found["rows"]] == ["apple", "pear", "(other)"]
    assert (found["n_trusted"], found["n_local"]) == (600, 400)
    three = [*base[:-1], "apple,pear,plum", "--epsilon", "2", "--simulate-local", "--seed", "1", "--json"]
    for option, others in (([], ["(other)"]), (["--no-other"], [])):
        rows = json.loads(RUN.invoke(cli.app, [*three, *option]).stdout)["rows"]
        assert [row["name"] for row in rows] == ["apple", "pear", "plum", *others]
    fewer = json.loads(RUN.invoke(cli.app, [*base, *more, "--missing", "NA"]).stdout)
    assert fewer["n_trusted"] == 400


def test_many_categories_are_a_table_and_may_come_from_a_file(tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("\n".join(f"item {i}" for i in range(30)) + "\n\n", encoding="utf-8")
    raw = tmp_path / "raw.parquet"
    pl.DataFrame(
        {"item": [f"item {i % 30}" for i in range(3000)], "trusts": [i % 2 for i in range(3000)]}
    ).write_parquet(raw)
    base = ["frequencies", str(raw), "--value", "item", "--trusted-if", "trusts", "--categories-file", str(names)]
    result = RUN.invoke(cli.app, [*base, "--epsilon", "2", "--simulate-local"])
    assert result.exit_code == 0
    assert "11 more" in result.output  # other items are one
    assert "standard error" in result.output


def test_categories_are_integers_if_all_are_written_so(tmp_path: Path) -> None:
    assert public_categories("1, 2,-3", None) == [1, 2, -3]
    assert public_categories("01,2", None) == ["01", "2"]
    assert public_categories("yes,no", None) == ["yes", "no"]
    names = tmp_path / "zip.txt"
    names.write_text("7\n8\n", encoding="utf-8")
    assert public_categories(None, names) == [7, 8]
    with pytest.raises(ParameterError, match="categories must be given"):
        public_categories(None, None)
    with pytest.raises(ParameterError, match="with commas between them"):
        public_categories("a,,b", None)
    with pytest.raises(DataError, match="cannot be read"):
        public_categories(None, tmp_path / "nothing.txt")


# Devices


def test_devices_are_simulated_for_a_file(users: Path, tmp_path: Path) -> None:
    raw, reports = tmp_path / "raw.csv", tmp_path / "reports.parquet"
    pl.DataFrame({"opened": [*ITEMS[:2000].tolist(), "maybe", None], "country": ["DE"] * 2002}).write_csv(raw)
    arguments = ["randomize", str(raw), "--value", "opened", "--categories", "yes,no", "--epsilon", "1"]
    result = RUN.invoke(
        cli.app, [*arguments, "-o", str(reports), "--keep", "country", "--diagnostics", "--json", "--seed", "3"]
    )
    assert result.exit_code == 0
    assert json.loads(result.stdout)["reports"] == 2000
    assert json.loads(result.stdout)["study"] == STUDY.digest
    assert "1 missing" in result.stderr
    options = ["--value", "opened", "--report", "code", "--categories", "yes,no", "--epsilon", "1"]
    found = invoke(
        [
            "frequencies",
            *("--trusted-file", str(users), "--local-file", str(reports)),
            *options,
            *("--ledger", str(tmp_path / "l.json"), "--json"),
        ],
    )
    assert json.loads(found.stdout)["tied"]
    assert json.loads(found.stdout)["privacy"]["seeded"] is True


def test_bounds_or_categories_but_not_both(tmp_path: Path) -> None:
    raw = tmp_path / "raw.csv"
    raw.write_text("x\n1\n", encoding="utf-8")
    base = ["randomize", str(raw), "--value", "x", "--epsilon", "1", "-o", str(tmp_path / "o.csv")]
    for more in ([], ["--bounds", "0", "1", "--categories", "1,2"]):
        result = RUN.invoke(cli.app, [*base, *more])
        assert isinstance(result.exception, ParameterError)
        assert "bounds must be given" in str(result.exception)


def test_categories_are_named_or_in_a_file(users: Path) -> None:
    for more in ([], ["--categories", "yes,no", "--categories-file", "names.txt"]):
        result = RUN.invoke(cli.app, ["frequencies", str(users), "--epsilon", "1", "--value", "item", *more])
        assert isinstance(result.exception, ParameterError)
        assert "must be given, or --categories-file in its place, and not both" in str(result.exception)


# What devices get


def test_the_text_for_devices_is_written_before_anything_is_released(users: Path, tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    base = ["frequencies", "--name", "opened", "--categories", "yes,no", "--epsilon", "1", "--write-study", str(path)]
    told = RUN.invoke(cli.app, base)
    assert told.exit_code == 0
    assert STUDY.digest[:12] in told.stdout
    assert path.read_text(encoding="utf-8") == STUDY.to_json()
    path.unlink()
    for more, words in (([str(users)], "without tables"), (["--ledger", str(tmp_path / "l")], "nothing is released")):
        refused = RUN.invoke(cli.app, [*base, *more])
        assert isinstance(refused.exception, ParameterError)
        assert words in str(refused.exception)
        assert not path.exists()


def test_results_do_not_speak_of_what_only_python_has(users: Path, tmp_path: Path) -> None:
    shown = " ".join(_run(users, tmp_path / "ledger.json").stdout.split())
    assert "need not add up to 1." in shown
    for word in ("=True", "distribution()", "population=", "()"):
        assert word not in shown


def test_a_word_among_integer_categories(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("plan,code\n1,\n2,\nsecretword,\n,0\n", encoding="utf-8")
    base = ["frequencies", str(path), "--value", "plan", "--report", "code", "--categories", "1,2", "--epsilon", "1"]
    error = str(RUN.invoke(cli.app, [*base, "--dry-run"]).exception)
    assert "people.csv has no number in column 'plan', row 3" in error
    assert "add them to the categories" in error
    assert "secretword" not in error


def test_a_column_that_a_file_does_not_have(users: Path) -> None:
    base = ["frequencies", str(users), "--value", "opened", "--categories", "yes,no", "--epsilon", "1", "--dry-run"]
    error = str(RUN.invoke(cli.app, [*base, "--report", "cod"]).exception)
    assert "users.parquet has no column 'cod'. Did you mean 'code'? It has 'opened'" in error


# Planning


def test_a_plan_says_how_long_the_list_will_be(tmp_path: Path) -> None:
    base = ["plan", "--users", "1,000,000", "--trusted", "1%", "--epsilon", "1", "--items", "10,000"]
    result = RUN.invoke(cli.app, [*base, "--delta", "1e-6", "--plot", str(tmp_path / "plan.png")])
    assert result.exit_code == 0
    assert "about 38 items" in result.output
    assert (tmp_path / "plan.png").exists()
    found = json.loads(RUN.invoke(cli.app, [*base, "--json", "--slope", "1.3"]).stdout)
    assert (found["method"], found["slope"]) == ("dictionary", 1.3)
