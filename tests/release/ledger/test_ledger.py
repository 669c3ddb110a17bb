import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release import Event, Ledger, Part
from hybriddp.release.ledger import lock as ledger_lock


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
        BudgetError,
        match=r"would cost trusted users ε = 0\.5.*have ε = 0\.3.*Spent before: a release.*trusted users\), ε = 0\.7",
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
    "text",
    [
        None,
        5,
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"budget":{"epsilon":"1"},"events":[{"x":1}]}',
        '{"budget":7,"events":[]}',
    ],
)
def test_what_is_no_ledger_is_refused(text: Any) -> None:
    with pytest.raises(DataError, match="not a ledger"):
        Ledger.from_json(text)


def test_a_ledger_that_was_overspent_by_hand_is_refused() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(event("0.7"))
    stored = json.loads(ledger.to_json())
    stored["events"] *= 2
    with pytest.raises(BudgetError):
        Ledger.from_json(json.dumps(stored))


def test_the_ledger_is_explained() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    assert "Nothing has been spent" in ledger.explain()
    ledger.spend(event("0.25"))
    assert "Left to every one of the trusted users: ε = 0.75" in ledger.explain()


def test_a_ledger_on_disk_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "ledgers" / "ledger.json"
    Ledger.create(path, Privacy(epsilon=1)).spend(event("0.6"))
    again = Ledger.open(path)
    assert again.remaining("trusted").epsilon == Fraction(2, 5)
    with pytest.raises(BudgetError):
        again.spend(event("0.6"))


def test_a_ledger_that_was_emptied_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_lock, "_PAUSE", 0)
    path = tmp_path / "ledger.json"
    path.write_text("")
    with pytest.raises(DataError, match="not a ledger"):
        Ledger.open(path)


def test_two_ledgers_on_one_file_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    Ledger.create(path, Privacy(epsilon=1))
    ledgers = [Ledger.open(path) for _ in range(8)]

    def spend(ledger: Ledger) -> bool:
        try:
            ledger.spend(event("0.3"))
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, ledgers)) == 3
    assert Ledger.open(path).spent("trusted").epsilon == Fraction(9, 10)


def test_the_repr_says_what_is_spent_and_left_and_is_short() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    assert repr(ledger) == "<Ledger: budget ε = 1; 0 events>"
    ledger.spend(event("0.25"))
    assert repr(ledger) == "<Ledger: budget ε = 1; 1 event; trusted: spent ε = 0.25, left ε = 0.75>"
    long = Privacy.total(epsilon="123.123456789012345", delta="1.23456789e-300")
    for accountant in ("basic", "zcdp"):
        full = Ledger(long, accountant=accountant)
        full.spend_all([event("1.123456789", who) for who in ("trusted", "local")])
        assert "2 events" in repr(full)
        assert len(repr(full)) < 200


def test_a_refusal_and_the_explanation_of_a_long_ledger_are_short() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend_all([event("0.01")] * 100)
    with pytest.raises(BudgetError, match="Spent before: 95 earlier events; a release") as refused:
        ledger.spend(event("0.01"))
    assert len(str(refused.value)) < 1000
    assert "80 earlier events." in ledger.explain()
    assert len(ledger.explain(latest=3).splitlines()) == 7


@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
def test_what_is_refused_as_the_first_of_its_part_leaves_no_trace(accountant: str) -> None:
    ledger = Ledger(Privacy(epsilon=1, delta="1e-6"), accountant=accountant)
    with pytest.raises(BudgetError):
        ledger.spend_all([_part_event("0.5", "country", "DE"), event("0.9")])
    assert ledger.spent("trusted").epsilon == 0
    ledger.spend(event("0.9"))
    assert ledger.spent("trusted", study="d").epsilon == Fraction("0.9")


def test_budgets_and_costs_over_several_studies_may_exceed_20() -> None:
    ledger = Ledger(Privacy.total(epsilon=45))
    for study in ("a", "b"):
        cost = Privacy.total(epsilon="22.5")
        ledger.spend(Event.now("x", who="trusted", study=study, privacy=cost), promised=cost)
    assert ledger.remaining("trusted").epsilon == 0
    assert Ledger.from_json(ledger.to_json()).events == ledger.events
    with pytest.raises(ParameterError, match="^epsilon must be a number from 0.01 to 1000"):
        Privacy.total(epsilon=1001)


# Parts of a group


def _part_event(epsilon: object, by: str, key: str | int) -> Event:
    return Event.now("a release", who="trusted", study="d", privacy=Privacy(epsilon=epsilon), part=Part(by, key))


def test_parts_of_one_partition_do_not_pay_for_each_other() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    for key in ("DE", "FR", 3):
        ledger.spend(_part_event(1, "country", key))
    assert ledger.spent("trusted").epsilon == 1
    with pytest.raises(BudgetError, match="trusted users with country = DE"):
        ledger.spend(_part_event("0.01", "country", "DE"))


def test_a_part_pays_for_everybody_and_everybody_for_the_most_expensive_part() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(event("0.3"))
    ledger.spend(_part_event("0.5", "country", "DE"))
    ledger.spend(_part_event("0.2", "country", "FR"))
    assert ledger.spent("trusted", part=Part("country", "DE")).epsilon == Fraction("0.8")
    assert ledger.spent("trusted", part=Part("country", "FR")).epsilon == Fraction("0.5")
    assert ledger.spent("trusted", part=Part("country", "IT")).epsilon == Fraction("0.3")
    assert ledger.spent("trusted").epsilon == Fraction("0.8")
    with pytest.raises(BudgetError):
        ledger.spend(event("0.3"))
    ledger.spend(event("0.2"))


def test_a_user_is_in_one_part_of_every_partition() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(_part_event("0.6", "country", "DE"))
    with pytest.raises(BudgetError):
        ledger.spend(_part_event("0.5", "age", "18-25"))
    ledger.spend(_part_event("0.4", "age", "18-25"))
    ledger.spend(_part_event("0.4", "age", "26-35"))
    assert ledger.spent("trusted").epsilon == 1
    assert ledger.spent("trusted", part=Part("country", "FR")).epsilon == Fraction("0.4")


def test_a_key_is_the_same_as_a_number_and_as_a_text() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(_part_event(1, "region", 7))
    with pytest.raises(BudgetError):
        ledger.spend(_part_event(1, "region", "7"))


def test_parts_survive_the_way_to_text_and_back() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(_part_event(1, "country", "DE"))
    again = Ledger.from_json(ledger.to_json())
    assert again.events == ledger.events
    assert "trusted users with country = DE" in again.explain()


@pytest.mark.parametrize(
    ("by", "key"),
    [
        ("", "DE"),
        (5, "DE"),
        ("c", None),
        ("c", True),
        ("c", 1.5),
        ("c", ""),
        ("c", " DE"),
        ("c", "DE "),
        ("c", "D\x1bE"),
        ("c\u202e", "DE"),
    ],
)
def test_bad_parts_are_named(by: object, key: object) -> None:
    with pytest.raises(ParameterError):
        Part(by, key)


@pytest.mark.parametrize("other", ["de", "ＤＥ", "De"])
def test_keys_that_are_spelled_almost_alike_are_the_same(other: str) -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(_part_event(1, "country", "DE"))
    with pytest.raises(BudgetError):
        ledger.spend(_part_event(1, "country", other))
    numbers = Ledger(Privacy(epsilon=1))
    numbers.spend(_part_event(1, "region", "07"))
    with pytest.raises(BudgetError):
        numbers.spend(_part_event(1, "region", 7))


def test_delta_adds_up_over_releases_and_is_the_most_over_parts() -> None:
    ledger = Ledger(Privacy(epsilon=4, delta="0.003"))
    part = Privacy(epsilon=1, delta="0.001")
    for key, times in (("DE", 1), ("FR", 2)):
        for _ in range(times):
            ledger.spend(Event.now("a", who="trusted", study="d", privacy=part, part=Part("country", key)))
    assert ledger.spent("trusted").delta == Fraction("0.002")
    assert ledger.spent("trusted", part=Part("country", "DE")).delta == Fraction("0.001")
    ledger.spend(Event.now("b", who="trusted", study="d", privacy=part))
    with pytest.raises(BudgetError, match="δ = 0 left"):
        ledger.spend(Event.now("b", who="trusted", study="d", privacy=part))


def test_a_studys_promise_holds_however_large_the_budget_is() -> None:
    ledger, promise = Ledger(Privacy(epsilon=10, delta="0.1")), Privacy(epsilon=1, delta="0.001")
    half = Privacy(epsilon="0.5", delta="0.0006")
    ledger.spend(Event.now("a", who="trusted", study="d", privacy=half), promised=promise)
    with pytest.raises(BudgetError):  # δ is spent, though ε is not
        ledger.spend(Event.now("b", who="trusted", study="d", privacy=half), promised=promise)
    ledger.spend(Event.now("c", who="trusted", study="other", privacy=half), promised=promise)


def test_the_promise_of_a_study_covers_its_parts() -> None:
    ledger, promise = Ledger(Privacy(epsilon=5)), Privacy(epsilon=1)
    ledger.spend(_part_event(1, "country", "DE"), promised=promise)
    ledger.spend(_part_event(1, "country", "FR"), promised=promise)
    with pytest.raises(BudgetError):
        ledger.spend(_part_event(1, "age", "18"), promised=promise)
    with pytest.raises(BudgetError):
        ledger.spend(event(1), promised=promise)


def test_all_or_none_of_many_events_are_written(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.json", Privacy(epsilon=1))
    with pytest.raises(BudgetError):
        ledger.spend_all([_part_event(1, "country", "DE"), _part_event(1, "country", "de")])
    assert ledger.events == Ledger.open(tmp_path / "ledger.json").events == ()
    ledger.spend_all([_part_event(1, "country", "DE"), _part_event(1, "country", "FR")])
    assert len(Ledger.open(tmp_path / "ledger.json").events) == 2


def test_a_link_and_another_folder_lead_to_the_same_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    first = Ledger.create("people.ledger", Privacy(epsilon=1))
    first.spend(event("0.5"))
    (tmp_path / "link.json").symlink_to(tmp_path / "people.ledger")
    second = Ledger.open(tmp_path / "link.json")
    second.spend(event("0.5"))
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(BudgetError):
        first.spend(event("0.5"))
    assert (tmp_path / "link.json").is_symlink()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"people\.ledger is not a ledger: its first line is not that of one\."):
        Ledger.open(path)
    with pytest.raises(DataError, match="cannot be read as a ledger"):
        Ledger.open(tmp_path)
    with pytest.raises(
        ParameterError, match=r"^budget must be a Privacy, got .* Ledger\.open\(path\), or Ledger\.create"
    ):
        Ledger(path)
    with pytest.raises(ParameterError, match="^budget must be a Privacy"):
        Ledger(1.0)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 1},
        {"version": 3},
        {"version": "2"},
        {"nonce": None},
        {"events": [{"what": "x"}]},
        {"budget": {"epsilon": "0"}},
        {"budget": {"epsilon": "1", "delta": "0", "rho": "1"}},
        {"events": 5},
        {"neighbors": "add-remove"},
    ],
)
def test_texts_that_are_no_ledgers_are_refused(change: dict[str, object]) -> None:
    stored = json.loads(Ledger(Privacy(epsilon=1)).to_json())
    with pytest.raises(DataError, match="not a ledger|has version"):
        Ledger.from_json(json.dumps({**stored, **change}))


@pytest.mark.parametrize("twice", ['"version": 2', '"epsilon": "0.5"'])
def test_a_ledger_that_names_something_twice_is_refused(twice: str) -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(event("0.5"))
    with pytest.raises(DataError, match="not a ledger"):
        Ledger.from_json(ledger.to_json().replace(twice, f"{twice}, {twice}"))


def test_an_event_without_a_cost_is_refused() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    ledger.spend(event("0.5"))
    with pytest.raises(DataError, match="not a ledger"):
        Ledger.from_json(ledger.to_json().replace('"epsilon": "0.5"', '"epsilon": "-1"'))


@pytest.mark.parametrize("who", ["Trusted", "trusted ", "", None, ["a"]])
def test_another_spelling_is_not_another_account(who: object) -> None:
    with pytest.raises(ParameterError, match='^who must be "trusted", "local" or "everybody"'):
        event(1, who=who)


def test_odd_keys_and_versions_are_handled() -> None:
    assert Part("c", "--5").same_key == "--5"
    assert Part("c", "-05").same_key == "-5"
    with pytest.raises(DataError, match="has version"):
        Ledger.from_json(Ledger(Privacy(epsilon=1)).to_json().replace('"version": 2', '"version": true'))


@pytest.mark.parametrize("accountant", ["basic", "zcdp", "pld"])
def test_events_of_an_iterator_are_all_paid_for(accountant: str) -> None:
    ledger = Ledger(Privacy(epsilon=1, delta="1e-6"), accountant=accountant)
    event = Event.now("a release", who="trusted", study="d", privacy=Privacy(epsilon=5))
    with pytest.raises(BudgetError):
        ledger.spend_all(event for _ in range(3))
    assert ledger.events == ()
    with pytest.raises(ParameterError, match="^events must be Events, got a='str'"):
        ledger.spend_all("abc")
    assert ledger.events == ()


@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
def test_what_is_required_is_not_spent(accountant: str) -> None:
    ledger = Ledger(Privacy(epsilon=1, delta="1e-6"), accountant=accountant)
    ledger.spend(event("0.5"))
    before = ledger.to_json()
    ledger.require(event("0.5"))
    with pytest.raises(BudgetError):
        ledger.require(event("0.6"))
    with pytest.raises(BudgetError):
        ledger.require(event("0.5"), promised=Privacy(epsilon="0.9"))
    assert ledger.to_json() == before
    assert ledger.sums("trusted").epsilon == Fraction("0.5")
    assert ledger.sums("trusted", study="other").epsilon == 0


@pytest.mark.parametrize("cost", [("nan", "0"), ("-1", "0"), ("0.1", "2"), ("", "0"), ("0.1", "nan"), (None, "0")])
def test_an_event_without_a_cost_cannot_be_made(cost: tuple[str, str]) -> None:
    """It would break off a spend half-way, behind events that had been counted."""
    with pytest.raises(ParameterError, match="^(epsilon|delta) must be"):
        Event("a release", "trusted", "d", *cost, "now")


@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
def test_events_that_cannot_be_counted_leave_the_ledger_as_it_was(accountant: str) -> None:
    ledger = Ledger(Privacy(epsilon=1, delta="1e-6"), accountant=accountant)
    bad = event("0.1")
    object.__setattr__(bad, "epsilon", "nan")
    with pytest.raises(ParameterError, match="^epsilon must be"):
        ledger.spend_all([event("0.1"), bad])
    assert ledger.events == ()
    assert ledger.spent("trusted").epsilon == 0
    ledger.spend(event("1"))
    assert len(ledger.events) == 1


def test_keys_of_any_length_are_told_apart_by_their_number() -> None:
    long = "9" * 5000
    assert Part("c", long).same_key == Part("c", f"00{long}").same_key == long
    assert [Part("c", key).same_key for key in ("-0", "00", 0, "-07", "\u0663", 3, "-", "-x")] == [
        "0", "0", "0", "-7", "3", "3", "-", "-x",
    ]  # fmt: skip
    ledger = Ledger(Privacy(epsilon=1))
    part = Part("c", long)
    ledger.spend(Event.now("m", who="trusted", study="d", privacy=Privacy(epsilon=1), part=part))
    assert ledger.remaining("trusted", part=part).epsilon == 0
    with pytest.raises(ParameterError, match="^key must be an integer of at most 2,000 bits"):
        Part("c", 10**5000)


def test_a_study_that_was_released_already_is_refused_for_that_reason() -> None:
    ledger = Ledger(Privacy(epsilon=2))
    event = Event.now("total of the trusted group", who="trusted", study="s", privacy=Privacy(epsilon=0.5))
    ledger.spend(event, promised=Privacy(epsilon=0.5))
    with pytest.raises(
        BudgetError, match="this study promised them they have ε = 0, δ = 0 left. It has been released"
    ) as caught:
        ledger.spend(event, promised=Privacy(epsilon=0.5))
    assert "read the saved result. To ask again, make a new study (another name), which needs new reports." in str(
        caught.value
    )
    assert ledger.remaining("trusted").epsilon == Fraction(3, 2)
