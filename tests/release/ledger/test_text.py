"""A ledger as text: what a line may say, and what is noticed."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from hybriddp.errors import BudgetError, DataError
from hybriddp.privacy import Privacy
from hybriddp.release import Event, Ledger
from hybriddp.release.ledger.text import START, link
from tests.refusals import refused
from tests.release.numbers import event

FIRST = {"ledger": 2, "budget": {"epsilon": "1", "delta": "0"}, "accountant": "basic", "nonce": "0" * 32}


def test_texts_of_any_kind_survive(path: Path) -> None:
    what = 'line\nbreak " \\ \u2028 ε \ud800'
    ledger = Ledger.create(path, Privacy(epsilon=1))
    ledger.spend(Event.now(what, who="local", study="ü", privacy=Privacy(epsilon=1)))
    assert Ledger.open(path).events[0].what == what


# What is noticed


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[1]", '{"version": 7}', "hello", '{"version": 1, "budget": {"epsilon": "1"}}']
)
def test_what_is_no_ledger_is_refused(path: Path, text: str) -> None:
    path.write_text(text)
    refused(DataError, "is not a ledger", Ledger.open, path)
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        *[({"ledger": other}, f"has version {other!r}; this program reads version 2") for other in (1, 3, "2", True)],
        *[({"nonce": nonce}, "^Line 1 of") for nonce in (None, 5, "", "x" * 32, "0" * 31)],
        *[({"accountant": name}, "^Line 1 of") for name in (None, "renyi", "", 3)],
        *[({"budget": budget}, "^Line 1 of") for budget in (None, 7, {"epsilon": "0"}, {"epsilon": "1", "rho": "1"})],
        ({"neighbors": "add-remove"}, "^Line 1 of"),
    ],
)  # fmt: skip
def test_a_first_line_that_is_none_is_refused(path: Path, change: dict[str, object], words: str) -> None:
    path.write_bytes(link(FIRST, START).data + b"\n")
    assert not Ledger.open(path).events
    fields = {name: value for name, value in {**FIRST, **change}.items() if value is not None}
    path.write_bytes(link(fields, START).data + b"\n")
    refused(DataError, words, Ledger.open, path)


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
    refused(DataError, f"Line {line} of .* does not follow from the line before it", Ledger.open, written)


def test_a_whole_line_that_is_no_event_is_refused_though_every_checksum_is_right(written: Path) -> None:
    whole = written.read_bytes()
    head = json.loads(whole.splitlines()[-1])["chain"]

    def reopen(body: bytes) -> Any:
        chain = sha256(head.encode() + body).hexdigest()
        written.write_bytes(whole + body[:-1] + f',"chain":"{chain}"}}\n'.encode())
        return Ledger.open(written)

    good = event("0.4").fields()
    assert len(reopen(json.dumps(good).encode()).events) == 4
    for bad in ({"epsilon": "1"}, {**good, "epsilon": "-1"}, {**good, "x": 1}):
        refused(DataError, "^Line 5 of", reopen, json.dumps(bad).encode())
    with pytest.raises(DataError, match="^Line 5 of"):  # the cost is there twice: readers would differ
        reopen(json.dumps(good).replace('"epsilon"', '"epsilon": "0.01", "epsilon"').encode())
    with pytest.raises(BudgetError, match=r"cost trusted users ε = 1\.1, δ = 0, more than its budget of ε = 1"):
        reopen(json.dumps({**good, "epsilon": "0.5"}).encode())
