import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hybriddp.errors import DataError
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger, check_ledger, repair_ledger
from tests.refusals import refused
from tests.release.numbers import event


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ledger = Ledger.create(tmp_path / "study.ledger", Privacy(epsilon=1))
    for epsilon in ("0.1", "0.2"):
        ledger.spend(event(epsilon))
    return tmp_path / "study.ledger"


def test_a_checksum_that_was_kept_shows_a_cut_at_the_end(path: Path) -> None:
    before = check_ledger(path)
    assert (before.events, before.lines) == (2, 3)
    Ledger.open(path).spend(event("0.3"))
    after = check_ledger(path, contains=before.checksum)
    assert after.events == 3
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert check_ledger(path, contains=before.checksum) == before  # no line is out of place
    refused(DataError, "does not contain the checksum", check_ledger, path, contains=after.checksum)


def test_a_repair_drops_the_torn_line_and_says_so_in_the_file(path: Path) -> None:
    whole = path.read_bytes()
    assert repair_ledger(path).dropped == ""
    assert path.read_bytes() == whole
    with path.open("ab") as file:
        file.write(b'{"what":"a rel\xff')
    refused(DataError, "breaks off", check_ledger, path)
    found = repair_ledger(path)
    assert found.dropped == '{"what":"a rel\ufffd'
    assert replace(found, dropped="") == check_ledger(path)
    note = json.loads(path.read_bytes().splitlines()[-1])
    assert (note["dropped"], note["bytes"]) == ('{"what":"a rel\ufffd', 15)
    assert path.read_bytes().startswith(whole)
    ledger = Ledger.open(path)
    assert len(ledger.events) == check_ledger(path).events == 2
    ledger.spend(event("0.3"))
    assert check_ledger(path).lines == 5


def test_a_whole_last_line_without_its_line_break_stays_spent(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    refused(DataError, "is complete except for its line break", Ledger.open, path)
    found = repair_ledger(path)
    assert (found.events, found.dropped, found.ended) == (2, "", True)
    assert path.read_bytes() == whole
    assert replace(found, ended=False) == check_ledger(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data.replace(b'}\n{"what"', b'} {"what"'),
        lambda data: data.replace(b'}\n{"what"', b'}\n\n{"what"'),
        lambda data: data.replace(b'{"ledger"', b'{"ledgeR"'),
        lambda data: data[:-1].replace(b'"epsilon":"0.2"', b'"epsilon":"0.1"'),
    ],
)
def test_a_repair_never_drops_more_than_the_beginning_of_a_line(path: Path, change: Callable[[bytes], bytes]) -> None:
    whole = path.read_bytes()
    changed = change(whole)
    assert changed != whole
    path.write_bytes(changed)
    for act in (check_ledger, repair_ledger, Ledger.open):
        refused(DataError, "does not follow from the line before it|is not a ledger", act, path)
    assert path.read_bytes() == changed


def test_wherever_a_file_is_cut_a_repair_keeps_all_whole_lines(path: Path) -> None:
    whole = path.read_bytes()
    lines = [at for at in range(len(whole)) if whole[at : at + 1] == b"\n"]
    for cut in range(lines[0] + 1, len(whole), 7):
        path.write_bytes(whole[:cut])
        assert repair_ledger(path).events == sum(cut >= at for at in lines[1:])
    for at, events in zip(lines[1:], (1, 2), strict=True):  # all but the line break
        path.write_bytes(whole[:at])
        assert repair_ledger(path).events == len(Ledger.open(path).events) == events


def test_a_missing_ledger_is_named(path: Path) -> None:
    for act in (check_ledger, repair_ledger):
        refused(DataError, "There is no ledger", act, path.with_name("other"))
