import json
import os
import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from hybriddp import MeanStudy
from hybriddp.client import StudyOffer
from hybriddp.client.journal import FileJournal, Journal, JournalEntry, MemoryJournal
from hybriddp.errors import DataError, ProtocolError

STUDY = MeanStudy("minutes", bounds=(0, 240), epsilon=1)
OFFER = StudyOffer.from_text(STUDY.device_json())


def _entry(group: str = "local") -> JournalEntry:
    return JournalEntry("minutes", "who", STUDY.digest, group, "1", "0", OFFER.draw(37.5, group=group))


@pytest.fixture(params=["file", "memory"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    return FileJournal(tmp_path / "journal.json") if request.param == "file" else MemoryJournal()


def test_the_first_entry_stays(journal: Journal) -> None:
    first, second = _entry(), _entry()
    assert journal.read() is None
    assert journal.create(first) == first
    assert journal.create(second) == first
    assert journal.read() == first


def test_an_entry_is_replaced_whole(journal: Journal) -> None:
    entry = journal.create(_entry("trusted"))
    after = replace(entry, receipt={"receipt": {"stored": ["für immer", "\ud800"]}})
    assert journal.update(entry, after) == after
    assert journal.read() == after


def test_a_withdrawal_is_never_replaced(journal: Journal) -> None:
    entry = journal.create(_entry("trusted"))
    gone = replace(entry, contribution=None, withdrawal={"receipt": {}})
    assert journal.update(entry, gone) == gone
    for before in (entry, gone):  # an answer that came later, to somebody who had read the entry earlier
        assert journal.update(before, replace(entry, receipt={})) == gone
    assert journal.read() == gone


def test_only_what_is_still_there_is_removed(journal: Journal) -> None:
    entry = journal.create(_entry("trusted"))
    after = journal.update(entry, replace(entry, receipt={}))
    journal.remove(entry)
    assert journal.read() == after
    journal.remove(after)
    assert journal.read() is None
    journal.remove(after)
    assert journal.create(_entry()) == journal.read()


def test_what_has_changed_since_is_given_back(journal: Journal) -> None:
    entry = journal.create(_entry())
    first, second = replace(entry, receipt={"by": 1}), replace(entry, receipt={"by": 2})
    journal.update(entry, first)
    assert journal.update(entry, second) == first
    assert journal.update(first, second) == second


def test_a_receipt_that_is_not_equal_to_itself_is_kept(journal: Journal) -> None:
    entry = journal.create(_entry())
    journal.update(entry, replace(entry, receipt={"more": float("nan")}))
    before = journal.read()
    assert before is not None
    after = replace(before, receipt={})
    assert journal.update(before, after) is after


def test_no_change_is_lost_among_many(journal: Journal) -> None:
    entry = journal.create(_entry())

    def add(who: str) -> None:
        before = journal.read()
        while before is not None:
            after = replace(before, keys={**(before.keys or {}), who: 1})
            now = journal.update(before, after)
            before = None if now is after else now

    threads = [threading.Thread(target=add, args=[str(who)]) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert journal.read() == replace(entry, keys={str(who): 1 for who in range(8)})


def test_of_many_at_once_one_is_first(journal: Journal) -> None:
    kept: list[JournalEntry] = []
    threads = [threading.Thread(target=lambda: kept.append(journal.create(_entry()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept) == 8
    assert all(entry == kept[0] for entry in kept)


def test_a_file_is_for_its_owner_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "journal.json")
    before = os.umask(0)
    try:
        entry = journal.create(_entry())
        journal.update(entry, replace(entry, receipt={}))
    finally:
        os.umask(before)
    assert [path.name for path in tmp_path.iterdir()] == ["journal.json"]
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    assert repr(journal) == f"FileJournal({str(tmp_path / 'journal.json')!r})"


def test_a_journal_of_somebody_who_trusts_holds_the_units(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "journal.json")
    journal.create(_entry("trusted"))
    assert json.loads(journal.path.read_text())["contribution"]["integer"] == 37.5 / 240 * 2**24
    assert "37.5" not in repr(journal.read())


def test_everything_is_on_disk_before_create_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    sync, link = os.fsync, os.link

    def note_sync(handle: int) -> None:
        synced.append("sync")
        sync(handle)

    def note_link(source: Path, target: Path) -> None:
        synced.append("link")
        link(source, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "link", note_link)
    FileJournal(tmp_path / "journal.json").create(_entry())
    assert synced == ["sync", "link", "sync"]  # the file, its name, the folder


def test_a_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    journal, entry = FileJournal(tmp_path / "journal.json"), _entry()
    assert journal.create(entry) == entry
    assert journal.create(_entry()) == entry
    assert [path.name for path in tmp_path.iterdir()] == ["journal.json"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "journal.json")
    entry = FileJournal(tmp_path / "link.json").create(_entry())
    assert FileJournal(tmp_path / "journal.json").read() == entry


def test_what_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "no" / "journal.json")
    entry = _entry()
    for write in (lambda: journal.create(entry), lambda: journal.update(entry, entry)):
        with pytest.raises(DataError, match="cannot be written \\(No such file or directory\\)"):
            write()
    with pytest.raises(DataError, match="cannot be read \\(Is a directory\\)"):
        FileJournal(tmp_path).read()


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left on device"):
        FileJournal(tmp_path / "journal.json").create(_entry())
    assert list(tmp_path.iterdir()) == []


def _broken() -> dict[str, str]:
    good = json.loads(_entry().to_json())
    return {
        "empty": "",
        "torn": _entry().to_json()[:100],
        "a list": "[]",
        "a number": "5",
        "deep": "[" * 100_000,
        "another format": json.dumps(good | {"format": "x"}),
        "another field": json.dumps(good | {"more": 1}),
        "no field": json.dumps({name: value for name, value in good.items() if name != "group"}),
        "no contribution": json.dumps(good | {"contribution": None}),
        "another group": json.dumps(good | {"group": "trusted"}),
        "another study": json.dumps(good | {"digest": "0" * 64}),
        "a receipt that is none": json.dumps(good | {"receipt": "x"}),
    }


@pytest.mark.parametrize("what", _broken())
def test_a_damaged_journal_is_never_a_new_start(what: str, tmp_path: Path) -> None:
    path = tmp_path / "journal.json"
    text = _broken()[what]
    path.write_text(text)
    with pytest.raises(DataError, match="is not a journal, or is damaged") as caught:
        FileJournal(path).read()
    assert caught.value.__context__ is None
    with pytest.raises(ProtocolError, match="not a journal"):
        JournalEntry.from_json(text)
    assert path.read_text() == text


def test_bytes_that_are_no_text_are_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="damaged"):
        FileJournal(path).read()


def test_a_journal_that_vanishes_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = FileJournal(tmp_path / "journal.json")
    monkeypatch.setattr(os, "link", lambda *_: None)
    with pytest.raises(DataError, match="was removed while it was being written"):
        journal.create(_entry())


def test_a_journal_that_was_removed_is_not_made_again(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "journal.json")
    entry = journal.create(_entry("trusted"))
    journal.path.unlink()
    with pytest.raises(DataError, match="was removed while it was in use"):
        journal.update(entry, replace(entry, receipt={}))
    assert list(tmp_path.iterdir()) == []
