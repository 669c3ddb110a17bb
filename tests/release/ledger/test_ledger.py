from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from hybriddp.errors import BudgetError, DataError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release import Event, Ledger, Part
from tests.release.numbers import event

ONE = Privacy(epsilon=1)
TEN = Privacy(epsilon=10, delta="0.1")
DELTA = Privacy(epsilon=1, delta="1e-6")


def of_part(epsilon: object, by: str, key: str | int) -> Event:
    return event(epsilon, part=Part(by, key))


def ledger_of(*events: Event, budget: Privacy = ONE) -> Ledger:
    ledger = Ledger(budget)
    for one in events:
        ledger.spend(one)
    return ledger


def refused(ledger: Ledger, *events: Event, promised: Privacy | None = None, match: str | None = None) -> str:
    """Refuse each of these events, and return the last reason."""
    before = ledger.events
    for one in events:
        with pytest.raises(BudgetError, match=match) as caught:
            ledger.spend(one, promised=promised)
    assert ledger.events == before
    return str(caught.value)


def test_a_refusal_says_who_spent_what_and_changes_nothing() -> None:
    words = r"would cost trusted users ε = 0\.5.*have ε = 0\.3.*Spent before: a release.*trusted users\), ε = 0\.7"
    refused(ledger_of(event("0.7")), event("0.5"), match=words)


def test_a_copy_is_the_same_and_charges_nothing() -> None:
    ledger = Ledger(ONE, accountant="zcdp", count="trusted")
    ledger.spend(of_part("0.7", "country", "DE"))
    copy = ledger.copy()
    assert (copy.to_dict(), copy.events, copy.count, copy.nonce) == (
        ledger.to_dict(), ledger.events, "trusted", ledger.nonce,
    )  # fmt: skip
    copy.spend(event("0.3"))
    assert [len(one.to_dict()["events"]) for one in (ledger, copy)] == [len(ledger.events), len(copy.events)] == [1, 2]


def test_a_ledger_on_disk_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "ledgers" / "ledger.json"
    Ledger.create(path, ONE).spend(event("0.6"))
    again = Ledger.open(path)
    assert again.remaining("trusted").epsilon == Fraction(2, 5)
    refused(again, event("0.6"))


def test_two_ledgers_on_one_file_see_each_other(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    Ledger.create(path, ONE)
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
    assert repr(ledger_of()) == "<Ledger: budget ε = 1; 0 events>"
    assert repr(ledger_of(event("0.25"))) == "<Ledger: budget ε = 1; 1 event; trusted: spent ε = 0.25, left ε = 0.75>"
    long = Privacy.total(epsilon="123.123456789012345", delta="1.23456789e-300")
    for accountant in ("basic", "zcdp"):
        full = Ledger(long, accountant=accountant)
        full.spend_all([event("1.123456789", who) for who in ("trusted", "local")])
        assert "2 events" in repr(full)
        assert len(repr(full)) < 200


def test_a_refusal_and_the_explanation_of_a_long_ledger_are_short() -> None:
    assert "Nothing has been spent" in ledger_of().explain()
    ledger = ledger_of(*[event("0.01")] * 100)
    assert len(refused(ledger, event("0.01"), match="Spent before: 95 earlier events; a release")) < 1000
    assert "80 earlier events." in ledger.explain()
    assert len(ledger.explain(latest=3).splitlines()) == 7


def test_budgets_and_costs_over_several_studies_may_exceed_20() -> None:
    ledger, cost = Ledger(Privacy.total(epsilon=45)), Privacy.total(epsilon="22.5")
    for study in ("a", "b"):
        ledger.spend(Event.now("x", who="trusted", study=study, privacy=cost), promised=cost)
    assert ledger.remaining("trusted").epsilon == 0
    assert ledger.copy().events == ledger.events
    with pytest.raises(ParameterError, match="^epsilon must be a number from 0.01 to 1000"):
        Privacy.total(epsilon=1001)


# Parts of a group


def test_keys_that_are_spelled_almost_alike_are_the_same() -> None:
    for key, others in {"DE": ("de", "ＤＥ", "De"), "07": (7,), 7: ("7",)}.items():
        again = [of_part(1, "x", other) for other in others]
        refused(ledger_of(of_part(1, "x", key)), *again, match="trusted users with x = ")
    long = "9" * 5000
    assert Part("c", long).same_key == Part("c", f"00{long}").same_key == long
    same = {"-0": "0", "00": "0", 0: "0", "-07": "-7", "\u0663": "3", 3: "3", "-": "-", "-x": "-x", "--5": "--5"}
    assert {key: Part("c", key).same_key for key in same} == same
    ledger = ledger_of(of_part(1, "c", long))
    assert ledger.remaining("trusted", part=Part("c", long)).epsilon == 0


@pytest.mark.parametrize(
    ("by", "keys"),
    [("", ["DE"]), (5, ["DE"]), ("c\u202e", ["DE"]), ("c", [None, True, 1.5, "", " DE", "DE ", "D\x1bE", 10**5000])],
)
def test_bad_parts_are_named(by: object, keys: list[object]) -> None:
    for key in keys:
        with pytest.raises(ParameterError, match="^by must be" if by != "c" else "^key must be an integer"):
            Part(by, key)


# Promises of a study


def test_a_studys_promise_holds_however_large_the_budget_is() -> None:
    ledger, promise = Ledger(TEN), Privacy(epsilon=1, delta="0.001")
    half = event("0.5", delta="0.0006")
    ledger.spend(half, promised=promise)
    refused(ledger, half, promised=promise)  # δ is spent, though ε is not
    ledger.spend(event("0.5", delta="0.0006", study="other"), promised=promise)


def test_the_promise_of_a_study_covers_its_parts() -> None:
    ledger = Ledger(TEN)
    for key in ("DE", "FR"):
        ledger.spend(of_part(1, "country", key), promised=ONE)
    refused(ledger, of_part(1, "age", "18"), event(1), promised=ONE)


def test_a_study_that_was_released_already_is_refused_for_that_reason() -> None:
    ledger, promise = Ledger(TEN), Privacy(epsilon="0.5")
    ledger.spend(event("0.5"), promised=promise)
    words = refused(ledger, event("0.5"), promised=promise, match="promised them they have ε = 0, δ = 0 left. It has")
    assert "read the saved result. To ask again, make a new study (another name), which needs new reports." in words
    assert ledger.remaining("trusted").epsilon == Fraction("9.5")


# All or none


def test_all_or_none_of_many_events_are_written(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.json", ONE)
    with pytest.raises(BudgetError):
        ledger.spend_all([of_part(1, "country", "DE"), of_part(1, "country", "de")])
    assert ledger.events == Ledger.open(tmp_path / "ledger.json").events == ()
    ledger.spend_all([of_part(1, "country", "DE"), of_part(1, "country", "FR")])
    assert len(Ledger.open(tmp_path / "ledger.json").events) == 2


@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
def test_what_is_refused_leaves_the_ledger_as_it_was(accountant: str) -> None:
    """The first event of its part, and events that cannot be counted."""
    ledger, bad = Ledger(DELTA, accountant=accountant), event("0.1")
    object.__setattr__(bad, "epsilon", "nan")
    with pytest.raises(BudgetError):
        ledger.spend_all([of_part("0.5", "country", "DE"), event("0.9")])
    with pytest.raises(ParameterError, match="^epsilon must be"):
        ledger.spend_all([event("0.1"), bad])
    assert ledger.events == ()
    assert ledger.spent("trusted").epsilon == 0
    ledger.spend(event("1"))
    assert ledger.spent("trusted", study="d").epsilon == len(ledger.events) == 1


@pytest.mark.parametrize("accountant", ["basic", "zcdp", "pld"])
def test_events_of_an_iterator_are_all_paid_for(accountant: str) -> None:
    ledger = Ledger(DELTA, accountant=accountant)
    with pytest.raises(BudgetError):
        ledger.spend_all(event(5) for _ in range(3))
    with pytest.raises(ParameterError, match="^events must be Events, got a='str'"):
        ledger.spend_all("abc")
    ledger.spend_all(iter(()))
    assert ledger.events == ()
    ledger.spend_all(event("0.4") for _ in range(2))
    assert len(ledger.events) == 2


@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
def test_what_is_required_is_not_spent(accountant: str) -> None:
    ledger = Ledger(DELTA, accountant=accountant)
    ledger.spend(event("0.5"))
    before = ledger.to_dict()
    ledger.require(event("0.5"))
    for cost, promised in (("0.6", None), ("0.5", Privacy(epsilon="0.9"))):
        with pytest.raises(BudgetError):
            ledger.require(event(cost), promised=promised)
    assert ledger.to_dict() == before
    assert ledger.sums("trusted").epsilon == Fraction("0.5")
    assert ledger.sums("trusted", study="other").epsilon == 0


# What is refused


def test_a_link_and_another_folder_lead_to_the_same_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    first = Ledger.create("people.ledger", ONE)
    first.spend(event("0.5"))
    (tmp_path / "link.json").symlink_to(tmp_path / "people.ledger")
    Ledger.open(tmp_path / "link.json").spend(event("0.5"))
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
    for budget in (path, 1.0):
        with pytest.raises(ParameterError, match=r"^budget must be a Privacy, got .* Ledger\.open\(path\), or Ledger"):
            Ledger(budget)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        *[(lambda who=who: event(1, who=who), '^who must be "trusted", "local" or "everybody"')
          for who in ("Trusted", "trusted ", "", None, ["a"])],
        # Without a cost it would break off a spend half-way, behind events that had been counted.
        *[(lambda cost=cost: Event("a release", "trusted", "d", cost[0], cost[1], "now"), "^(epsilon|delta) must be")
          for cost in (("nan", "0"), ("-1", "0"), ("0.1", "2"), ("", "0"), ("0.1", "nan"), (None, "0"))],
    ],
)  # fmt: skip
def test_an_event_about_nobody_or_without_a_cost_cannot_be_made(make: Callable[[], Event], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()
