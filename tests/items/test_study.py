from typing import Any

import numpy as np
import pytest

import hybriddp as hdp
from hybriddp.errors import BudgetError, DataError, ProtocolError
from hybriddp.items import HeavyHitterStudy, PrivateItems
from hybriddp.privacy import Privacy

STUDY = HeavyHitterStudy("words", epsilon=2, delta=1e-6)
WORDS = np.random.default_rng(0).choice(["sun", "moon", "star", "comet"], 6000, p=[0.5, 0.3, 0.1999, 0.0001]).tolist()
TRUSTED, LOCAL = WORDS[:1000], WORDS[1000:]


def _released(**more: Any) -> PrivateItems:
    return STUDY.release(STUDY.summarize_trusted(TRUSTED), **{"random_state": 1, **more})


# The steps


def test_a_list_without_items_asks_nothing() -> None:
    released = STUDY.release(["a", "b", "c"], random_state=1)  # without a seed each is listed with a chance of δ
    assert released.items == ()
    with pytest.raises(DataError, match="^No item is on the list"):
        STUDY.question(released)
    found = STUDY.estimate(trusted=released, local=None)
    assert found.items == ()
    assert found.other_share == 1
    assert "no item is frequent enough" in str(found)
    assert "The list is empty" in found.explain()


def test_a_list_of_one_item_is_enough() -> None:
    released = STUDY.release(["only"] * 1000, random_state=1)
    reports = STUDY.question(released).randomize(["only"] * 900 + ["another"] * 100, random_state=2)
    found = STUDY.estimate(trusted=released, local=reports)
    assert found.items == ("only",)
    assert found.shares[0] > 0.9


def test_the_release_is_paid_for_once() -> None:
    ledger = hdp.Ledger(Privacy(epsilon=10, delta=1e-3))
    released = STUDY.release(TRUSTED, ledger=ledger)
    assert released.counted
    assert ledger.spent("trusted").epsilon == 2
    found = STUDY.estimate(trusted=released, local=STUDY.question(released).randomize(LOCAL))
    assert found.privacy.counted
    assert not found.privacy.seeded
    assert len(ledger.events) == 1
    with pytest.raises(BudgetError):
        STUDY.release(TRUSTED, ledger=ledger)


# Which way


@pytest.mark.parametrize(
    ("n_trusted", "n_local", "expected"),
    [(0, 10**6, "discovery"), (10**6, 0, "list"), (1000, 999_000, "discovery"), (50_000, 950_000, "list")],
)
def test_public_numbers_decide(n_trusted: int, n_local: int, expected: str) -> None:
    assert STUDY.method(n_trusted=n_trusted, n_local=n_local) == expected


def test_a_dictionary_comes_first() -> None:
    known = HeavyHitterStudy("words", epsilon=1, domain=["a", "b"])
    assert known.method(n_trusted=0, n_local=10**6) == "dictionary"
    with pytest.raises(ProtocolError, match="no public dictionary"):
        _ = STUDY.dictionary


# Text


# Errors


def test_what_belongs_to_another_study_is_refused() -> None:
    other = HeavyHitterStudy("words", epsilon=1, delta=1e-6)
    released = _released()
    with pytest.raises(ProtocolError, match="^The list belongs to study"):
        other.question(released)
    with pytest.raises(ProtocolError, match="^The list belongs to study"):
        other.estimate(trusted=released, local=None)
    with pytest.raises(ProtocolError, match="^The summary belongs to study"):
        other.release(STUDY.summarize_trusted(TRUSTED))
    reports = other.question(other.release(TRUSTED)).randomize(LOCAL)
    with pytest.raises(ProtocolError, match="^The reports belong to study"):
        STUDY.estimate(trusted=released, local=reports)
    question = STUDY.question(released)
    local = question.summarize_local(question.randomize(LOCAL))
    with pytest.raises(ProtocolError, match="^The summary belongs to study"):
        STUDY.estimate(trusted=STUDY.summarize_trusted(TRUSTED), local=local)
    with pytest.raises(ProtocolError, match="^The summary belongs to study"):
        STUDY.estimate(trusted=TRUSTED, local=other.discovery.summarize_local([1]))


def test_empty_and_small_groups_are_refused() -> None:
    released = _released()
    with pytest.raises(DataError, match="^The local group is empty. Pass single_group"):
        STUDY.estimate(trusted=released, local=None)
    with pytest.raises(DataError, match="^The local group is empty. Pass single_group"):
        STUDY.estimate(trusted=released, local=[])
    with pytest.raises(DataError, match="^The trusted group has 0 users; the study asks for 2"):
        STUDY.release([])
    with pytest.raises(DataError, match="^The trusted group has 1 user; the study asks for 2"):
        STUDY.release(["a"])
    with pytest.raises(DataError, match="^The local group has 1 user; the study asks for 2"):
        STUDY.estimate(trusted=released, local=[1])
    with pytest.raises(DataError, match="^Both groups are empty"):
        STUDY.estimate(trusted=None, local=None)
    with pytest.raises(DataError, match="^The trusted group is empty"):
        STUDY.estimate(trusted=None, local=[1, 2, 3])
    with pytest.raises(DataError, match="^The local group has 1 user"):
        STUDY.estimate(trusted=None, local=[1], single_group=True)
    alone = STUDY.estimate(trusted=released, local=None, single_group=True)
    assert alone.n_local == 0
    assert "single model" in alone.explain()


def test_lists_of_another_rule_are_refused() -> None:
    """A text with the digest of this study and the noise of a larger ε."""
    weaker = HeavyHitterStudy("words", epsilon=20, delta=1e-6)
    text = weaker.release(["a"] * 1000).to_json().replace(weaker.digest, STUDY.digest)
    changed = PrivateItems.from_json(text)
    with pytest.raises(ProtocolError, match="^The list was released by another rule"):
        STUDY.estimate(trusted=changed, local=None, single_group=True)
    with pytest.raises(ProtocolError, match="^The list was released by another rule"):
        STUDY.question(changed)


def test_a_ledger_that_comes_too_late_is_refused() -> None:
    """Else an estimate that was given a ledger would be in none."""
    ledger = hdp.Ledger(Privacy(epsilon=10, delta=1e-3))
    with pytest.raises(ProtocolError, match="^The list was released without a ledger"):
        STUDY.estimate(trusted=STUDY.release(["a"] * 1000), local=None, single_group=True, ledger=ledger)
    assert ledger.events == ()
    released = STUDY.release(["a"] * 1000, ledger=ledger)
    assert STUDY.estimate(trusted=released, local=None, single_group=True, ledger=ledger).privacy.counted
    assert len(ledger.events) == 1
