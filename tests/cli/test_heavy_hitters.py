import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from hybriddp import cli
from hybriddp.errors import BudgetError, DataError, ParameterError, ProtocolError
from hybriddp.items import HeavyHitterStudy, PrivateItems
from hybriddp.release import Ledger
from hybriddp.shares import FrequencyStudy
from tests.cli.ledgers import invoke, is_unspent

RUN = CliRunner()
WORDS = np.array(["apple", "pear", "plum", "fig", "quince"])
PEOPLE = WORDS[np.random.default_rng(0).choice(5, 6000, p=[0.5, 0.3, 0.15, 0.0499, 0.0001])]
PROMISE = ["--epsilon", "2", "--delta", "1e-6", "--name", "fruit"]


def _run(*arguments: str) -> Result:
    return invoke(["heavy-hitters", *arguments])


def _items(answer: dict[str, Any]) -> list[str]:
    return [row["name"] for row in answer["rows"]]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    path = tmp_path / "raw.parquet"
    trusts = ["yes" if i < 1500 else "no" for i in range(6000)]
    pl.DataFrame({"item": PEOPLE.tolist(), "consent": trusts}).write_parquet(path)
    return path


@pytest.fixture
def trusted(tmp_path: Path) -> Path:
    path = tmp_path / "trusted.parquet"
    pl.DataFrame({"item": [*PEOPLE[:1500].tolist(), None]}).write_parquet(path)
    return path


def test_two_steps_from_a_list_to_the_shares(trusted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed, asked, ledger = tmp_path / "list.json", tmp_path / "question.json", tmp_path / "ledger.json"
    first = [str(trusted), "--value", "item", *PROMISE, "--ledger", str(ledger), "--write-list", str(listed)]
    result = _run(*first, "--write-question", str(asked), "--diagnostics")
    assert result.exit_code == 0
    said = " ".join(result.output.split())
    assert "apple" in said
    assert "The intervals are about the shares among these trusted users and contain the noise only" in said
    assert "Written" in said
    assert "1 items are missing" in " ".join(result.stderr.split())
    assert len(Ledger.open(ledger).events) == 1
    question = FrequencyStudy.from_json(asked.read_text("utf-8"))  # as it is: clients accept no other text
    assert PrivateItems.from_json(listed.read_text("utf-8")).items == question.categories
    assert question.categories[0] == "apple"
    # Devices answer, ...
    values, reports = tmp_path / "local.csv", tmp_path / "reports.parquet"
    pl.DataFrame({"item": PEOPLE[1500:].tolist()}).write_csv(values)
    sent = RUN.invoke(cli.app, ["randomize", str(values), "--value", "item", "--study", str(asked), "-o", str(reports)])
    assert sent.exit_code == 0
    # ... and the second step costs nothing more.
    second = [str(reports), "--report", "code", *PROMISE, "--list", str(listed)]
    found = json.loads(_run(*second, "--json", "--plot", str(tmp_path / "items.png")).stdout)
    assert _items(found)[:3] == ["apple", "pear", "plum"]
    assert found["rows"][0]["value"] == pytest.approx(0.5, abs=0.06)
    assert (found["method"], found["n_trusted"], found["n_local"], found["tied"]) == ("list", 1500, 4500, True)
    assert found["privacy"]["seeded"] is False
    assert (tmp_path / "items.png").exists()
    # A second list about the same users is refused.
    other = [*first[:-1], str(tmp_path / "another.json")]
    monkeypatch.setattr(sys, "argv", ["hybriddp", "heavy-hitters", *other])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == BudgetError.exit_code == 3


def test_a_raw_table_is_tried_out_in_one_line_and_says_so(raw: Path, tmp_path: Path) -> None:
    base = [str(raw), "--value", "item", "--trusted-if", "consent", "--simulate-local", "--seed", "1", *PROMISE]
    result = _run(*base, "--plot", str(tmp_path / "items.svg"))
    assert result.exit_code == 0
    assert "SIMULATION, NOT a private release" in " ".join(result.output.split())
    assert "The list holds every item that reached" in " ".join(result.output.split())
    one, two = (json.loads(_run(*base, "--json").stdout) for _ in range(2))
    assert one == two
    assert _items(one)[:3] == ["apple", "pear", "plum"]
    assert "quince" not in _items(one)
    assert one["privacy"]["seeded"] is True


@pytest.mark.slow
def test_few_who_trust_are_helped_by_local_discovery(tmp_path: Path) -> None:
    raw = tmp_path / "raw.parquet"
    pl.DataFrame({"item": ["apple", "pear"] * 10_000, "trusts": [1] * 4 + [0] * 19_996}).write_parquet(raw)
    base = [str(raw), "--value", "item", "--trusted-if", "trusts", "--simulate-local", "--seed", "1"]
    found = json.loads(_run(*base, "--epsilon", "4", "--delta", "1e-6", "--json").stdout)
    assert found["method"] == "discovery"
    assert sorted(_items(found)) == ["apple", "pear"]


@pytest.mark.slow
def test_local_discovery_in_real_life(trusted: Path, tmp_path: Path) -> None:
    asked, values, reports = tmp_path / "question.json", tmp_path / "local.csv", tmp_path / "reports.csv"
    promise = ["--epsilon", "4", "--delta", "1e-6", "--name", "fruit"]
    result = _run(*promise, "--alphabet", "letters", "--write-question", str(asked))
    assert result.exit_code == 0
    assert "local discovery" in result.output
    pl.DataFrame({"item": PEOPLE[1500:].tolist()}).write_csv(values)
    sent = RUN.invoke(
        cli.app, ["randomize", str(values), "--value", "item", "--study", str(asked), "-o", str(reports), "--json"]
    )
    assert json.loads(sent.stdout)["reports"] == 4500
    both = ["--trusted-file", str(trusted), "--local-file", str(reports), "--value", "item", "--report", "code"]
    more = ["--alphabet", "letters", "--ledger", str(tmp_path / "ledger.json"), "--json"]
    found = json.loads(_run(*both, *promise, *more).stdout)
    assert (found["method"], found["tied"]) == ("discovery", True)
    assert _items(found)[:3] == ["apple", "pear", "plum"]


def test_a_public_dictionary_is_one_step(raw: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("\n".join(WORDS), encoding="utf-8")
    base = [str(raw), "--value", "item", "--trusted-if", "consent", "--simulate-local", "--seed", "1"]
    found = json.loads(_run(*base, "--epsilon", "2", "--domain-file", str(names), "--json").stdout)
    assert (found["method"], len(_items(found))) == ("dictionary", 5)
    assert _items(found)[0] == "apple"


def test_devices_are_asked_about_a_dictionary(tmp_path: Path) -> None:
    names, asked = tmp_path / "names.txt", tmp_path / "question.json"
    names.write_text("\n".join(WORDS), encoding="utf-8")
    result = _run("--epsilon", "2", "--name", "fruit", "--domain-file", str(names), "--write-question", str(asked))
    assert result.exit_code == 0
    assert "dictionary of 5 items" in " ".join(result.output.split())
    study = HeavyHitterStudy("fruit", epsilon=2, domain=WORDS.tolist())
    assert FrequencyStudy.from_json(asked.read_text("utf-8")) == study.dictionary


def test_a_dry_run_writes_and_spends_nothing(trusted: Path, tmp_path: Path) -> None:
    listed, ledger = tmp_path / "list.json", tmp_path / "ledger.json"
    base = [str(trusted), "--value", "item", *PROMISE, "--ledger", str(ledger), "--write-list", str(listed)]
    result = _run(*base, "--dry-run")
    assert result.exit_code == 0
    assert "Nothing was spent" in result.stderr
    assert "different items" in result.stderr
    assert "if 15 of the 1,500 trusted users have it, noise included: a share of about 1 %" in " ".join(
        result.stderr.split()
    )
    assert not listed.exists()
    assert is_unspent(ledger)


def test_mistakes_are_found_before_anything_is_spent(trusted: Path, tmp_path: Path) -> None:
    listed = tmp_path / "list.json"
    base = [str(trusted), "--value", "item", *PROMISE]
    ledger = ["--ledger", str(tmp_path / "ledger.json")]
    names = tmp_path / "names.txt"
    names.write_text("apple\npear\n", encoding="utf-8")
    wrong: list[tuple[list[str], type[Exception], str]] = [
        ([str(trusted), "--value", "item", "--epsilon", "1"], ParameterError, "delta must be above 0"),
        ([*base, "--write-list", str(listed)], ParameterError, "ledger must be given"),
        ([*base, *ledger], ParameterError, "report must be the column of codes"),
        ([*base, *ledger, "--write-question", str(listed)], ParameterError, "with --write-list, or without any file"),
        ([*base, "--list", str(listed), "--write-list", str(listed)], ParameterError, "left out in the first step"),
        ([*base, "--list", str(listed), "--domain-file", str(names)], ParameterError, "a dictionary needs none"),
        ([*base, *ledger, "--write-list", str(tmp_path / "no" / "list.json")], DataError, "there is no folder"),
        ([*base, *ledger, "--write-list", str(listed), "--report", "code"], ParameterError, "once there is a list"),
        ([*base, "--list", str(tmp_path / "none.json")], DataError, "cannot be read"),
        ([*base, "--domain-file", str(tmp_path / "none.txt")], DataError, "cannot be read"),
        ([str(trusted), "--report", "code", *PROMISE, "--list", str(names)], ProtocolError, "list"),
    ]
    for arguments, kind, words in wrong:
        result = _run(*arguments)
        assert isinstance(result.exception, kind), (arguments, result.output, result.exception)
        assert words in str(result.exception)
    assert is_unspent(tmp_path / "ledger.json")


def test_a_list_that_was_paid_for_is_never_lost(trusted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = tmp_path / "list.json"
    base = [str(trusted), "--value", "item", *PROMISE, "--ledger", str(tmp_path / "l.json")]

    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full_disk)
        result = _run(*base, "--write-list", str(listed))
    assert f"{listed} cannot be written: No space left on device. The list is saved: " in str(result.exception)
    (saved,) = (tmp_path / "l.json.results").iterdir()
    shown = RUN.invoke(cli.app, ["show", str(saved), "--json"])
    listed.write_text(shown.stdout, encoding="utf-8")
    again = _run(*base, "--write-list", str(listed))
    assert "is not overwritten" in str(again.exception)
    question = study_of(listed)
    assert question.categories[0] == "apple"


def study_of(listed: Path) -> FrequencyStudy:
    released = PrivateItems.from_json(listed.read_text().strip())
    return HeavyHitterStudy("fruit", epsilon=2, delta=1e-6).question(released)


def test_the_second_step_takes_no_items_and_no_ledger(trusted: Path, tmp_path: Path) -> None:
    listed = tmp_path / "list.json"
    first = [str(trusted), "--value", "item", *PROMISE, "--ledger", str(tmp_path / "l.json")]
    assert _run(*first, "--write-list", str(listed)).exit_code == 0
    again = _run(*first, "--list", str(listed))
    assert "value must be left out in the second step" in str(again.exception)
    paid = _run(str(trusted), "--report", "code", *PROMISE, "--ledger", str(tmp_path / "l.json"), "--list", str(listed))
    assert "ledger must be left out in the second step" in str(paid.exception)


@pytest.mark.parametrize(
    "twice", [("--write-list", "--ledger"), ("--write-question", "--ledger"), ("--write-list", "--plot")]
)
def test_no_file_is_written_over_another(trusted: Path, tmp_path: Path, twice: tuple[str, str]) -> None:
    paths = {"--write-list": "list.svg", "--write-question": "question.json", "--ledger": "ledger.json"} | {
        twice[1]: "x.svg"
    }
    arguments = [word for name, path in (paths | {twice[0]: "x.svg"}).items() for word in (name, str(tmp_path / path))]
    result = RUN.invoke(cli.app, ["heavy-hitters", str(trusted), "--value", "item", *PROMISE, *arguments])
    assert isinstance(result.exception, DataError)
    assert "is named twice" in str(result.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trusted.parquet"]


def test_neither_data_nor_a_question_is_written_over(trusted: Path, tmp_path: Path) -> None:
    before, asked = trusted.read_bytes(), tmp_path / "question.json"
    for path in (trusted, asked):
        asked.write_text("{}")
        first = [str(trusted), "--value", "item", *PROMISE, "--write-list", str(tmp_path / "list.json")]
        result = _run(*first, "--ledger", str(tmp_path / "ledger.json"), "--write-question", str(path))
        assert isinstance(result.exception, DataError)
        assert "is there already" in str(result.exception)
    assert trusted.read_bytes() == before
    assert asked.read_text() == "{}"


def test_a_list_is_read_whatever_its_items_hold(tmp_path: Path) -> None:
    """Quotes, backslashes and braces. What has a line separator is never listed, however often it is named."""
    odd = 'a"\\{b'
    path, listed, asked = tmp_path / "odd.parquet", tmp_path / "list.json", tmp_path / "question.json"
    pl.DataFrame({"item": ["a\u2028b"] * 900 + [odd] * 900 + ["fig"] * 600}).write_parquet(path)
    kept = ["--write-list", str(listed), "--write-question", str(asked), "--ledger", str(tmp_path / "ledger.json")]
    assert _run(str(path), "--value", "item", *PROMISE, *kept).exit_code == 0
    reports, study = tmp_path / "reports.parquet", FrequencyStudy.from_json(asked.read_text("utf-8"))
    codes = np.asarray(study.randomize([odd] * 400 + ["fig"] * 400))
    pl.DataFrame({"code": codes.tolist()}).write_parquet(reports)
    result = _run(str(reports), "--report", "code", *PROMISE, "--list", str(listed), "--json")
    assert result.exit_code == 0, result.exception
    found = json.loads(result.stdout)
    assert (sorted(_items(found)), found["n_local"]) == ([odd, "fig"], 800)
