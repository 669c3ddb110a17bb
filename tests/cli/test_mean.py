import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from hybriddp import cli
from hybriddp.errors import BudgetError, DataError, ParameterError, ProtocolError
from hybriddp.mean import MeanStudy
from hybriddp.release import Ledger
from tests.cli.ledgers import invoke, is_unspent

RUN = CliRunner()
STUDY = MeanStudy("minutes", bounds=(0, 240), epsilon=0.5)


@pytest.fixture
def users(tmp_path: Path) -> Path:
    minutes = np.random.default_rng(0).gamma(2.0, 20.0, 5000)
    codes = STUDY.randomize(minutes[500:], random_state=1)
    path = tmp_path / "users.parquet"
    pl.DataFrame(
        {
            "minutes": pl.Series([*minutes[:500].tolist(), None, float("nan")] + [None] * 4500, dtype=pl.Float64),
            "code": pl.Series([None] * 502 + codes.tolist(), dtype=pl.UInt8),
        }
    ).write_parquet(path)
    return path


def _run(users: Path, ledger: Path, *more: str) -> Result:
    options = [
        "--value",
        "minutes",
        "--report",
        "code",
        "--bounds",
        "0",
        "240",
        "--epsilon",
        "0.5",
        "--ledger",
        str(ledger),
    ]
    return invoke(["mean", str(users), *options, *more])


def test_it_tells_the_story_and_writes_the_ledger(users: Path, tmp_path: Path) -> None:
    result = _run(users, tmp_path / "ledger.json")
    assert result.exit_code == 0
    for words in (
        "minutes:",
        "500 trusted the curator and 4,500 reported locally",
        "ledger.json",
    ):
        assert words in result.output
    assert "Nobody is counting" not in result.output
    assert len(Ledger.open(tmp_path / "ledger.json").events) == 1


def test_a_second_release_ends_with_code_3(users: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(users, tmp_path / "ledger.json").exit_code == 0
    assert isinstance(_run(users, tmp_path / "ledger.json").exception, BudgetError)
    arguments = ["--value", "minutes", "--report", "code", "--bounds", "0", "240", "--epsilon", "0.5"]
    monkeypatch.setattr(
        sys, "argv", ["hybriddp", "mean", str(users), *arguments, "--ledger", str(tmp_path / "ledger.json")]
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3


def test_a_study_is_charged_to_everybody_and_a_second_look_at_its_reports_is_free(users: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    told = " ".join(_run(users, ledger).stdout.split())
    line = f"total of the trusted group, study 'minutes' ({STUDY.digest[:12]}…), counts everybody: ε = 0.5, δ = 0"
    assert f"Charged in {ledger}: {line}" in told
    assert "Written" not in told
    assert line in " ".join(RUN.invoke(cli.app, ["ledger", "show", str(ledger)]).stdout.split())
    _, local = _of_one_group(users, tmp_path)
    before = ledger.read_bytes()
    again = ["--local-file", local, "--report", "code", "--name", "minutes", "--single-group", "--ledger", ledger]
    free = " ".join(_mean(*again).stdout.split())
    assert "already charged for this study: this estimate is free" in free
    assert "Charged in" not in free
    assert json.loads(_mean(*again, "--json").stdout)["privacy"]["already_charged"] is True
    assert ledger.read_bytes() == before
    other = tmp_path / "trusted.ledger"
    told = " ".join(_run(users, other, "--count", "trusted").stdout.split())
    assert "counts trusted users: ε = 0.5" in told
    assert Ledger.open(other).remaining("local").epsilon == Ledger.open(other).budget.exact_epsilon
    wrong = _run(users, tmp_path / "wrong.ledger", "--count", "local")
    assert isinstance(wrong.exception, ParameterError)
    assert is_unspent(tmp_path / "wrong.ledger")


def test_it_prints_json_and_nothing_else(users: Path, tmp_path: Path) -> None:
    answer = json.loads(_run(users, tmp_path / "ledger.json", "--json", "--name", "session minutes").stdout)
    assert answer["study"] == "session minutes"
    assert answer["privacy"]["counted"] is True
    assert answer["privacy"]["seeded"] is False
    assert answer["n_trusted"] == 500


def test_what_is_refused_is_not_paid_for(users: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    only = tmp_path / "only.csv"
    pl.DataFrame({"minutes": [1.0, 2.0], "code": pl.Series([None, None], dtype=pl.UInt8)}).write_csv(only)
    assert isinstance(_run(only, ledger).exception, DataError)
    assert isinstance(_run(users, ledger, "--epsilon", "50").exception, ParameterError)
    assert is_unspent(ledger)


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_mistyped_ledger_is_no_new_budget(users: Path, tmp_path: Path, more: list[str]) -> None:
    for path in (tmp_path / "wrong" / "x.ledger", tmp_path / "x.ledger"):
        options = ["--value", "minutes", "--report", "code", "--bounds", "0", "240", "--epsilon", "0.5"]
        result = RUN.invoke(cli.app, ["mean", str(users), *options, "--ledger", str(path), *more])
        assert isinstance(result.exception, DataError)
        assert f"There is no ledger {path}. " in str(result.exception)
        assert f"hybriddp ledger create {path} --epsilon …" in str(result.exception)
        assert result.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["users.parquet"]


# Files, engines, and waiting for them


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_several_files_are_one_table(users: Path, tmp_path: Path, engine: str) -> None:
    table = pl.read_parquet(users)
    parts = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, part in zip(parts, (table[:400], table[400:]), strict=True):
        part.write_parquet(path)
    options = ["--value", "minutes", "--report", "code", "--bounds", "0", "240", "--epsilon", "0.5"]
    more = ["--ledger", str(tmp_path / "ledger.json"), "--engine", engine, "--json"]
    result = invoke(["mean", *map(str, parts), *options, *more])
    answer = json.loads(result.stdout)
    assert (answer["n_trusted"], answer["n_local"]) == (500, 4500)
    wrong = RUN.invoke(cli.app, ["mean", str(users), *options, *more, "--engine", "dask"])
    assert isinstance(wrong.exception, ParameterError)


# Groups, pictures and pages


@pytest.fixture
def countries(users: Path, tmp_path: Path) -> Path:
    path = tmp_path / "countries.parquet"
    frame = pl.read_parquet(users).with_row_index()
    country = pl.when(pl.col("index") % 3 == 0).then(pl.lit("DE")).otherwise(pl.lit("FR"))
    frame.with_columns(country=country, region=pl.col("index") % 2).drop("index").write_parquet(path)
    return path


def test_a_mean_per_group_costs_every_user_once(countries: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    result = _run(countries, ledger, "--group", "country", "--keys", "DE, FR")
    assert result.exit_code == 0
    for words in ("DE", "FR", "95 % interval", "Who has which country is public"):
        assert words in result.output
    assert [event.part.key for event in Ledger.open(ledger).events if event.part] == ["DE", "FR"]
    assert isinstance(_run(countries, ledger).exception, BudgetError)


def test_groups_as_json_and_with_numbers_for_keys(countries: Path, tmp_path: Path) -> None:
    answer = json.loads(
        _run(countries, tmp_path / "ledger.json", "--group", "region", "--keys", "0,1", "--json").stdout
    )
    assert answer["by"] == "region"
    assert [part["users"]["key"] for part in answer["parts"]] == ["0", "1"]
    assert sum(part["n_local"] for part in answer["parts"]) == 4500


@pytest.mark.parametrize("more", [[], ["--group", "country", "--keys", "DE,FR"]])
def test_a_picture_and_a_page_are_written(countries: Path, tmp_path: Path, more: list[str]) -> None:
    picture, page = tmp_path / "mean.png", tmp_path / "mean.html"
    result = _run(countries, tmp_path / "ledger.json", "--plot", str(picture), "--html", str(page), *more)
    assert result.exit_code == 0
    assert picture.stat().st_size > 5000
    assert ("country = FR" in page.read_text()) == bool(more)
    assert str(page) in result.output.replace("\n", "")


def test_what_cannot_be_written_is_found_before_anything_is_spent(countries: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    for option, name in (("--plot", "x.docx"), ("--html", "x.pdf"), ("--html", "no such folder/x.html")):
        assert isinstance(_run(countries, ledger, option, str(tmp_path / name)).exception, DataError)
    for options in (["--group", "country"], ["--keys", "DE"], ["--group", "country", "--keys", ","]):
        assert isinstance(_run(countries, ledger, *options).exception, ParameterError)
    assert is_unspent(ledger)


def test_one_file_that_cannot_be_written_does_not_keep_others_from_it(users: Path, tmp_path: Path) -> None:
    """The answer has been paid for: a picture that fails must not cost the page, nor the other way round."""
    for failing, other in (("mean.png", "mean.html"), ("mean.html", "mean.png")):
        folder = tmp_path / Path(other).stem / Path(other).suffix[1:]
        folder.mkdir(parents=True)
        (folder / failing).symlink_to(tmp_path / "no such folder" / failing)
        files = ["--plot", str(folder / "mean.png"), "--html", str(folder / "mean.html")]
        result = _run(users, folder / "ledger.json", *files)
        assert isinstance(result.exception, DataError)
        assert str(result.exception).startswith("The answer above has been released, but a file is missing.")
        assert failing in str(result.exception)
        assert (folder / other).stat().st_size > 1000
        assert len(Ledger.open(folder / "ledger.json").events) == 1
        assert f"Written:{folder / other}" in "".join(result.output.split())
        assert f"Written:{folder / failing}" not in "".join(result.output.split())


def test_a_name_with_dollar_signs_is_no_formula(users: Path, tmp_path: Path) -> None:
    files = ["--plot", str(tmp_path / "d.png"), "--html", str(tmp_path / "d.html")]
    result = _run(users, tmp_path / "ledger.json", "--name", r"cost $x_{ in \frac $", *files)
    assert result.exit_code == 0
    assert (tmp_path / "d.png").stat().st_size > 1000
    assert r"cost $x_{ in \frac $" in (tmp_path / "d.html").read_text()


# Who trusts: a column, or a file per group


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Everybody's raw value, with a column of who trusts."""
    minutes = np.random.default_rng(0).gamma(2.0, 20.0, 5000)
    path = tmp_path / "raw.csv"
    consent = ["yes" if i < 500 else "no" for i in range(5000)]
    pl.DataFrame({"minutes": minutes, "consent": consent, "id": range(5000)}).write_csv(path, separator=";")
    return path


def _mean(*arguments: object) -> Result:
    return invoke(["mean", *arguments, "--bounds", "0", "240", "--epsilon", "0.5"])


def test_a_raw_table_is_tried_out_in_one_line_and_says_so_everywhere(raw: Path, tmp_path: Path) -> None:
    page, options = tmp_path / "trial.html", ["--value", "minutes", "--trusted-if", "consent", "--simulate-local"]
    result = _mean(raw, *options, "--html", page)
    assert result.exit_code == 0
    assert result.output.startswith("SIMULATION, NOT a private release")
    assert "500 trusted the curator and 4,500 reported locally" in result.output
    assert "NOT a private release" in page.read_text()
    answer = json.loads(_mean(raw, *options, "--json", "--seed", "3").stdout)
    assert answer["simulation"].startswith("SIMULATION")
    assert answer["privacy"]["seeded"] is True
    assert answer == json.loads(_mean(raw, *options, "--json", "--seed", "3").stdout)
    refused = _mean(raw, *options, "--ledger", tmp_path / "ledger.json")
    assert "a simulation spends nothing" in str(refused.exception)
    assert is_unspent(tmp_path / "ledger.json")


def test_raw_values_of_those_who_do_not_trust_are_not_released(raw: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    options = ["--value", "minutes", "--trusted-if", "consent=yes", "--ledger", ledger]
    assert "the column of codes" in str(_mean(raw, *options).exception)
    frame = pl.read_csv(raw, separator=";")
    frame.with_columns(code=pl.lit(None, pl.Int64)).write_csv(raw)
    assert "4,500 rows do not trust but have a value" in str(_mean(raw, *options, "--report", "code").exception)
    codes = STUDY.randomize(frame["minutes"].to_numpy(), random_state=1).codes
    reported = pl.when(pl.col("consent") == "no").then(pl.Series(codes, dtype=pl.Int64))
    frame.with_columns(code=reported).write_csv(raw)
    assert is_unspent(ledger)
    assert "500 trusted the curator" in _mean(raw, *options, "--report", "code").output


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_file_per_group_with_columns_of_its_own(raw: Path, tmp_path: Path, engine: str) -> None:
    frame, ledger = pl.read_csv(raw, separator=";"), tmp_path / "ledger.json"
    for i in range(2):
        frame[250 * i : 250 * (i + 1)].select(pl.col("minutes").alias("value")).write_parquet(
            tmp_path / f"t{i}.parquet"
        )
    values = tmp_path / "local.csv"
    frame[500:].write_csv(values)
    options = ["--value", "minutes", "--name", "value", "--bounds", "0", "240", "--epsilon", "0.5"]
    made = RUN.invoke(cli.app, ["randomize", str(values), *options, "-o", str(tmp_path / "r.csv")])
    assert made.exit_code == 0
    files = ["--trusted-file", tmp_path / "t*.parquet", "--local-file", tmp_path / "r.csv", "--engine", engine]
    columns = ["--value", "value", "--report", "code", "--ledger", ledger]
    answer = json.loads(_mean(*files, *columns, "--json").stdout)
    assert (answer["n_trusted"], answer["n_local"]) == (500, 4500)
    assert isinstance(_mean(*files, *columns, "--name", "another").exception, ProtocolError)


def test_mistakes_about_groups_are_found_before_anything_is_spent(raw: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    paid = ["--value", "minutes", "--report", "id", "--ledger", ledger]
    for arguments in (
        paid,
        [raw, "--trusted-file", raw, "--local-file", raw, *paid],
        ["--trusted-file", raw, *paid],
        ["--local-file", raw, *paid],
        [raw, "--report", "id", "--name", "minutes", "--ledger", ledger],
        [raw, "--single-group", "--name", "minutes", "--ledger", ledger],
        ["--local-file", raw, "--single-group", "--value", "minutes", "--ledger", ledger],
        ["--local-file", raw, "--single-group", "--report", "id"],  # a study needs a name
        ["--trusted-file", raw, "--single-group", "--report", "id", "--name", "minutes", "--ledger", ledger],
        ["--trusted-file", raw, "--single-group", "--value", "minutes"],  # what is released must be paid for
        [raw, "--value", "minutes", "--simulate-local", "--trusted-if", "consent", "--ledger", ledger],
        ["--trusted-file", raw, "--local-file", raw, "--trusted-if", "consent", *paid],
        [raw, "--value", "minutes", "--simulate-local"],
        [raw, "--value", "minutes", "--report", "id"],
        [raw, *paid, "--seed", "5"],
    ):
        assert isinstance(_mean(*arguments).exception, ParameterError), arguments
    assert is_unspent(ledger)


def _of_one_group(users: Path, tmp_path: Path) -> tuple[Path, Path]:
    trusted, local = tmp_path / "trusted.csv", tmp_path / "local.csv"
    frame = pl.read_parquet(users)
    frame.filter(pl.col("minutes").is_finite()).select("minutes").write_csv(trusted)
    frame.drop_nulls("code").select("code").write_csv(local)
    return trusted, local


def test_one_group_alone_is_enough_if_that_is_said(users: Path, tmp_path: Path) -> None:
    trusted, local = _of_one_group(users, tmp_path)
    only = ["--single-group", "--json"]
    files: list[list[object]] = [[trusted], ["--trusted-file", trusted]]
    for i, file in enumerate(files):
        answer = json.loads(_mean(*file, "--value", "minutes", "--ledger", tmp_path / f"{i}.ledger", *only).stdout)
        assert (answer["n_trusted"], answer["n_local"]) == (500, 0)
        assert len(Ledger.open(tmp_path / f"{i}.ledger").events) == 1
    files = [[local], ["--local-file", local]]
    for file in files:  # every report is private already: there is nothing to pay for
        answer = json.loads(_mean(*file, "--report", "code", "--name", "minutes", *only).stdout)
        assert (answer["n_trusted"], answer["n_local"]) == (0, 4500)
    answer = json.loads(_mean("--local-file", local, "--report", "code", "--value", "minutes", *only).stdout)
    assert (answer["n_trusted"], answer["n_local"]) == (0, 4500)
    for group in ("trusted", "local"):
        refused = _mean(f"--{group}-file", trusted, "--value", "minutes", "--ledger", tmp_path / "no.ledger")
        assert "With --single-group one of them is enough." in str(refused.exception)


# Before paying


def test_a_dry_run_shows_what_was_counted_and_spends_nothing(users: Path, tmp_path: Path) -> None:
    page, ledger = tmp_path / "page.html", tmp_path / "ledger.json"
    for more in ([], ["--ledger", ledger]):
        result = _mean(users, "--value", "minutes", "--report", "code", "--dry-run", "--html", page, "--json", *more)
        assert result.exit_code == 0
        assert result.stdout == ""
        for words in ("NOT FOR PUBLICATION", "Trusted values: 500", "Local reports: 4,500", "Nothing was spent"):
            assert words in result.stderr
        assert not page.exists()
    assert is_unspent(ledger)
    assert _run(users, ledger).exit_code == 0  # the study has not been paid for before
    before = ledger.read_bytes()
    again = _mean(users, "--value", "minutes", "--report", "code", "--dry-run", "--ledger", ledger)
    assert isinstance(again.exception, BudgetError)
    assert "Trusted values: 500" in again.stderr
    assert ledger.read_bytes() == before


def test_a_dry_run_checks_what_a_release_checks(users: Path, tmp_path: Path) -> None:
    trusted, _ = _of_one_group(users, tmp_path)
    options = ["--value", "minutes", "--report", "code", "--dry-run"]
    frame = pl.read_parquet(users)
    frame.with_columns(code=pl.lit(None, pl.UInt8)).write_parquet(users)
    assert "The local group is empty" in str(_mean(users, *options).exception)
    assert _mean(users, *options, "--single-group").exit_code == 0
    frame.with_columns(code=pl.when(pl.col("code").is_not_null()).then(7)).write_parquet(users)
    assert "cannot come from this study's channel" in str(_mean(users, *options).exception)
    assert "no column 'code'" in str(_mean(trusted, *options).exception)
    frame = pl.read_parquet(users).with_columns(study=pl.lit(STUDY.digest))  # tied to the study: a warning instead
    frame.write_parquet(users)
    warned = _mean(users, *options)
    assert warned.exit_code == 0
    assert "of the 4,500 local reports cannot come from this study's channel" in " ".join(warned.stderr.split())


def test_diagnostics_of_a_simulation_count_rows_without_a_value_alone_as_left_out(tmp_path: Path) -> None:
    rows = ["yes,10", "yes,20", "yes,", "no,30", "no,40", "no,50", "no,", ",60"]
    path = tmp_path / "users.csv"
    path.write_text("\n".join(["consent,minutes", *rows]))
    result = _mean(path, "--value", "minutes", "--trusted-if", "consent", "--simulate-local", "--diagnostics")
    assert result.exit_code == 0
    for words in ("Trusted values: 2 counted", "that can be used: 2.", "Local reports: 4 counted"):
        assert words in result.stderr


# One row per user


def test_a_user_with_two_rows_is_refused_or_kept_once(users: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    frame = pl.read_parquet(users).with_columns(id=pl.int_range(pl.len()) // 2)
    frame.write_parquet(users)
    assert "users have more than one row" in str(_run(users, ledger, "--user", "id").exception)
    assert is_unspent(ledger)
    refused = _run(users, ledger, "--user", "id", "--repeated", "first", "--engine", "duckdb")
    assert "no order in duckdb" in str(refused.exception)
    answer = json.loads(_run(users, ledger, "--user", "id", "--repeated", "first", "--json").stdout)
    assert (answer["n_trusted"], answer["n_local"]) == (250, 2250)


# What is exact is shown on request, and apart from the answer


@pytest.mark.parametrize("more", [[], ["--json"], ["--group", "country", "--keys", "DE,FR"]])
def test_exact_counts_are_for_the_curator_only(countries: Path, tmp_path: Path, more: list[str]) -> None:
    frame = pl.read_parquet(countries)
    clamped = pl.when(pl.col("minutes").is_finite()).then(pl.col("minutes") + 10_007)
    frame.with_columns(minutes=clamped).write_parquet(countries)
    silent = _run(countries, tmp_path / "a.json", *more)
    shown = _run(countries, tmp_path / "b.json", *more, "--diagnostics")
    assert silent.exit_code == shown.exit_code == 0
    for words in ("lamped", "eft out, ", "rejected", "none of the keys", "10,0"):
        assert words not in silent.output
        assert words not in shown.stdout
    assert "NOT FOR PUBLICATION" in shown.stderr
    for words in ("Clamped to the bounds: 500 of 500 values", "that can be used: 2.", "0 are no codes."):
        assert words in shown.stderr


def test_text_options_reach_the_reader(raw: Path) -> None:
    frame = pl.read_csv(raw, separator=";")
    rows = [
        "minutes|consent",
        *(f"{x:.3f}".replace(".", ",") + f"|{who}" for x, who in frame.select("minutes", "consent").rows()),
    ]
    raw.write_bytes("\n".join([*rows, "k.A.|ja", "1,5|nö"]).encode("latin-1"))
    options = ["--value", "minutes", "--trusted-if", "consent=yes", "--simulate-local", "--json"]
    assert "--encoding" in str(_mean(raw, *options).exception)
    more = ["--encoding", "latin-1", "--separator", "|", "--decimal", ",", "--missing", "k.A."]
    answer = json.loads(_mean(raw, *options, *more).stdout)
    assert (answer["n_trusted"], answer["n_local"]) == (500, 4501)


def test_the_text_for_devices_is_written_before_anything_is_released(tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    base = ["mean", "--bounds", "0", "240", "--epsilon", "1", "--name", "minutes", "--write-study", str(path)]
    assert RUN.invoke(cli.app, base).exit_code == 0
    assert path.read_text(encoding="utf-8") == MeanStudy("minutes", bounds=(0, 240), epsilon=1).device_json()
    assert RUN.invoke(cli.app, base).exit_code == 0  # the same again
    before = path.read_bytes()
    other = RUN.invoke(cli.app, [*base, "--name", "hours"])
    assert isinstance(other.exception, DataError)
    assert "is there already, and is not this study" in str(other.exception)
    assert path.read_bytes() == before
