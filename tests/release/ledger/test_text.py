"""A ledger as text: what a line may say, and what is noticed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybriddp.errors import BudgetError, DataError
from hybriddp.privacy import Privacy
from hybriddp.release import Event, Ledger
from hybriddp.release.ledger.text import START, link

BUDGET = Privacy(epsilon=1)
FIRST = {"ledger": 2, "budget": {"epsilon": "1"}, "accountant": "basic", "nonce": "0" * 32}


def event(epsilon: object = "0.1", **more: Any) -> Event:
    fields = {"who": "trusted", "study": "d", "privacy": Privacy(epsilon=epsilon), **more}
    return Event.now("a release", **fields)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.ledger"


@pytest.fixture
def written(path: Path) -> Path:
    """A ledger of three events."""
    ledger = Ledger.create(path, BUDGET)
    for epsilon in ("0.1", "0.2", "0.3"):
        ledger.spend(event(epsilon))
    return path


def test_texts_of_any_kind_survive(path: Path) -> None:
    what = 'line\nbreak " \\ \u2028 ε \ud800'
    Ledger.create(path, BUDGET).spend(Event.now(what, who="local", study="ü", privacy=Privacy(epsilon=1)))
    assert Ledger.open(path).events[0].what == what


# What is noticed


def test_files_of_nothing_but_brackets_are_refused(path: Path) -> None:
    path.write_text("[" * 100_000)
    with pytest.raises(DataError, match="is not a ledger"):
        Ledger.open(path)


def test_a_first_line_with_a_field_that_nobody_knows_is_refused(path: Path) -> None:
    fields = {**FIRST, "budget": {"epsilon": "1", "delta": "0"}}
    path.write_bytes(link(fields, START).data + b"\n")
    assert not Ledger.open(path).events
    path.write_bytes(link({**fields, "neighbors": "add-remove"}, START).data + b"\n")
    with pytest.raises(DataError, match="Line 1"):
        Ledger.open(path)


def _edit(lines: list[bytes]) -> None:
    lines[2] = lines[2].replace(b'"epsilon":"0.2"', b'"epsilon":"0.1"')


def _remove(lines: list[bytes]) -> None:
    del lines[2]


def _swap(lines: list[bytes]) -> None:
    lines[2:4] = lines[3], lines[2]


def _add(lines: list[bytes]) -> None:
    lines.insert(2, lines[1])


def _blank(lines: list[bytes]) -> None:
    lines.insert(2, b"\n")


def _rebudget(lines: list[bytes]) -> None:
    lines[0] = lines[0].replace(b'"epsilon":"1"', b'"epsilon":"9"')


@pytest.mark.parametrize(
    ("change", "line"), [(_edit, 3), (_remove, 3), (_swap, 3), (_add, 3), (_blank, 3), (_rebudget, 1)]
)
def test_a_line_that_was_changed_is_noticed(written: Path, change: Callable[[list[bytes]], None], line: int) -> None:
    lines = written.read_bytes().splitlines(keepends=True)
    change(lines)
    written.write_bytes(b"".join(lines))
    with pytest.raises(DataError, match=f"Line {line} of .* does not follow from the line before it"):
        Ledger.open(written)


def test_a_whole_line_that_is_no_event_is_refused(written: Path) -> None:
    ledger = Ledger.open(written)
    head = json.loads(written.read_bytes().splitlines()[-1])["chain"]
    for fields in ({"epsilon": "1"}, {**event().fields(), "epsilon": "-1"}):
        forged = link(fields, head)
        with pytest.raises(DataError, match="^Line 5 of"):
            _reopen_with(written, forged.data + b"\n")
    assert len(ledger.events) == 3


def _reopen_with(path: Path, more: bytes) -> None:
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes() + more)
    Ledger.open(copy)


def test_more_than_the_budget_is_refused_though_every_checksum_is_right(written: Path) -> None:
    head = json.loads(written.read_bytes().splitlines()[-1])["chain"]
    forged = link(event("0.5").fields(), head)
    with pytest.raises(BudgetError, match=r"cost trusted users ε = 1\.1, δ = 0, more than its budget of ε = 1"):
        _reopen_with(written, forged.data + b"\n")


def test_another_version_is_named(path: Path) -> None:
    first = link({**FIRST, "ledger": 3}, START)
    path.write_bytes(first.data + b"\n")
    with pytest.raises(DataError, match="has version 3; this program reads version 2"):
        Ledger.open(path)


@pytest.mark.parametrize(
    "change", [{"nonce": bad} for bad in (None, 5, "", "x" * 32, "0" * 31)] + [{"accountant": None}]
)
def test_a_first_line_without_a_nonce_or_an_accountant_is_refused(path: Path, change: dict[str, object]) -> None:
    fields = {name: value for name, value in {**FIRST, **change}.items() if value is not None}
    path.write_bytes(link(fields, START).data + b"\n")
    with pytest.raises(DataError, match="^Line 1 of"):
        Ledger.open(path)


def test_a_file_of_one_text_is_refused_with_a_plain_sentence(path: Path) -> None:
    path.write_text(Ledger(BUDGET).to_json())
    with pytest.raises(DataError, match="one JSON text each, are not read"):
        Ledger.open(path)


@pytest.mark.parametrize("text", ["[1]", '{"version": 7}', "hello", '{"version": 1, "budget": {"epsilon": "1"}}'])
def test_what_is_no_ledger_is_refused(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(DataError, match="is not a ledger"):
        Ledger.open(path)
    assert path.read_text() == text
