"""Studies of heavy hitters: what the server takes, turns into integers and releases."""

import pytest

from hybriddp import HeavyHitterStudy
from hybriddp.errors import BudgetError, DataError
from hybriddp.items.records import integer_of
from hybriddp.release.ledger.ledger import Ledger
from hybriddp.service.kinds import Gathered, HeavyHitterKind, study_kind
from hybriddp.service.problems import Refusal

STUDY = HeavyHitterStudy("word", epsilon=4, delta="0.000001")
KIND = HeavyHitterKind(STUDY)


def gathered(*items: str) -> Gathered:
    return Gathered(len(items), KIND.sums.change(0, map(KIND.value, items), 1), {})


def test_a_kind_is_what_its_text_says() -> None:
    kind = study_kind(STUDY.to_json())
    assert (kind.name, kind.steps, kind.title) == ("heavy-hitters", ("list", "release"), "word")
    assert (kind.digest, kind.device_text, kind.text) == (STUDY.digest, STUDY.to_json(), STUDY.to_json())
    assert (kind.privacy, kind.min_group_size) == (STUDY.privacy, STUDY.min_group_size)


def test_items_are_texts_and_codes_come_later() -> None:
    assert KIND.value("fig") == integer_of("fig")
    assert KIND.value("a\x00b") == KIND.value("") == integer_of("(other)")
    assert KIND.value("é" * 32) == integer_of("é" * 32)
    assert KIND.value("é" * 32 + "a") == integer_of("(other)")  # 65 bytes
    with pytest.raises(Refusal, match="must be a text"):
        KIND.value(3.0)
    with pytest.raises(Refusal, match="no reports yet") as early:
        KIND.report(0)
    assert early.value.reason == "closed"


def test_the_list_is_paid_for_once_and_does_not_show_what_nobody_could() -> None:
    ledger = Ledger(STUDY.privacy)
    items = KIND.release_list(gathered(*["fig"] * 60, *["\x00"] * 60), ledger)
    assert (items.items, items.n_users, items.counted) == (("fig",), 120, True)
    assert KIND.question(items).study.categories == ("fig",)
    with pytest.raises(BudgetError):
        KIND.release_list(gathered(*["fig"] * 60), ledger)
    assert KIND.release_list(gathered(*["fig"] * 60), None).counted  # everybody paid when it opened


def test_an_item_that_was_kept_and_is_no_longer_shown_does_not_stop_the_list() -> None:
    total = KIND.sums.change(0, map(integer_of, ["fig"] * 60 + ["fig\u3164"] * 60), 1)
    items = KIND.release_list(Gathered(120, total, {}), None)
    assert (items.items, items.n_users) == (("fig",), 120)


def test_a_long_list_is_no_obstacle_to_its_question() -> None:
    """Trusted counts of so many categories would be refused; those of the list have been made."""
    items = KIND.release_list(gathered(*(f"w{i}" for i in range(4500) for _ in range(30))), None)
    assert len(items.items) > 4096
    assert KIND.question(items).report(0) == 0


def test_counts_that_do_not_add_up_are_not_released() -> None:
    ledger = Ledger(STUDY.privacy)
    with pytest.raises(DataError, match="Nothing was released"):
        KIND.release_list(Gathered(3, KIND.sums.change(0, [integer_of("fig")], 1), {}), ledger)
    assert not ledger.events


def test_list_and_shares_together() -> None:
    found = gathered(*["fig"] * 60)
    released = KIND.release(found, single_group=True, ledger=Ledger(STUDY.privacy), warning="A pilot.")
    assert [row["name"] for row in released.result["estimate"]["rows"]] == ["fig"]
    assert released.result["estimate"]["warnings"][0] == "A pilot."
    with pytest.raises(DataError, match="local group is empty"):
        KIND.release(found, single_group=False, ledger=None)


def test_whatever_the_reports_are_there_is_a_release_that_tells() -> None:
    items = KIND.release_list(gathered(*["fig"] * 60, *["pear"] * 60), None)
    tally = dict.fromkeys(KIND.question(items).sums.entries(1), 1000)
    found = KIND.release_shares(items, Gathered(120, 0, tally), single_group=False, warning="A pilot.")
    estimate = found.result["estimate"]
    words = f"WARNING: at least {estimate['implausible_reports']} of the 1,000 local reports cannot come"
    assert 0 < estimate["implausible_reports"] <= 1000
    assert [warning[:7] for warning in estimate["warnings"][:2]] == ["A pilot", "WARNING"]
    assert found.result["answer"].startswith(words)
    for page in (found.page, found.curator_page):
        assert page.index(words) < page.index('class="answer"')
