import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import BudgetError, DataError
from hybriddp.privacy import Privacy
from hybriddp.release import Event, Ledger


def event(epsilon: object, who: str = "trusted", delta: object = 0) -> Event:
    return Event.now("a release", who=who, study="d", privacy=Privacy(epsilon=epsilon, delta=delta))


@given(st.lists(st.decimals("0.01", "2", places=3), max_size=12))
def test_what_the_same_users_spend_adds_up_exactly(costs: list[object]) -> None:
    ledger = Ledger(Privacy(epsilon=5))
    total = Fraction(0)
    for cost in map(str, costs):
        if total + Fraction(cost) <= 5:
            ledger.spend(event(cost))
            total += Fraction(cost)
        else:
            with pytest.raises(BudgetError):
                ledger.spend(event(cost))
        assert ledger.spent("trusted").epsilon == total
        assert ledger.spent("trusted").epsilon + ledger.remaining("trusted").epsilon == 5


def test_ten_tenths_are_one() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    for _ in range(10):
        ledger.spend(event("0.1"))
    assert ledger.remaining("trusted").epsilon == 0
    with pytest.raises(BudgetError):
        ledger.spend(event("0.01"))


def test_disjoint_users_do_not_pay_for_each_other() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(event(1, who="trusted"))
    ledger.spend(event(1, who="local"))
    assert ledger.spent("trusted").epsilon == ledger.spent("local").epsilon == 1


def test_delta_is_counted_too() -> None:
    ledger = Ledger(Privacy(epsilon=2, delta=1e-6))
    ledger.spend(event(1, delta=1e-6))
    with pytest.raises(BudgetError, match="δ = 0 left"):
        ledger.spend(event("0.5", delta=1e-9))


def test_a_refusal_says_who_spent_what_and_changes_nothing() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(event("0.7"))
    before = ledger.events
    with pytest.raises(
        BudgetError, match=r"would cost trusted users ε = 0\.5.*have ε = 0\.3.*Spent before: a release, ε = 0\.7"
    ):
        ledger.spend(event("0.5"))
    assert ledger.events == before


def test_text_and_ledger_are_inverses() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(event("0.7"))
    again = Ledger.from_json(ledger.to_json())
    assert again.events == ledger.events
    assert again.budget == ledger.budget
    assert again.to_json() == ledger.to_json()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"budget":{"epsilon":"1"},"events":[{"x":1}]}', '{"budget":7,"events":[]}']
)
def test_what_is_no_ledger_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="not a ledger"):
        Ledger.from_json(text)


def test_a_ledger_that_was_overspent_by_hand_is_refused() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(event("0.7"))
    stored = json.loads(ledger.to_json())
    stored["events"] *= 2
    with pytest.raises(BudgetError):
        Ledger.from_json(json.dumps(stored))


def test_the_story_is_told() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    assert "Nothing has been spent" in ledger.explain()
    ledger.spend(event("0.25"))
    assert "Left to trusted users: ε = 0.75" in ledger.explain()


def test_a_ledger_on_disk_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "books" / "ledger.json"
    Ledger(Privacy(epsilon=1), path=path).spend(event("0.6"))
    again = Ledger(Privacy(epsilon=1), path=path)
    assert again.remaining("trusted").epsilon == Fraction(2, 5)
    with pytest.raises(BudgetError):
        again.spend(event("0.6"))
    with pytest.raises(BudgetError, match="ledger of another budget"):
        Ledger(Privacy(epsilon=2), path=path)


def test_a_ledger_that_was_emptied_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    path.write_text("")
    with pytest.raises(DataError, match="not a ledger"):
        Ledger(Privacy(epsilon=1), path=path)


def test_two_ledgers_on_one_file_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledgers = [Ledger(Privacy(epsilon=1), path=path) for _ in range(8)]

    def spend(ledger: Ledger) -> bool:
        try:
            ledger.spend(event("0.3"))
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, ledgers)) == 3
    assert Ledger(Privacy(epsilon=1), path=path).spent("trusted").epsilon == Fraction(9, 10)
