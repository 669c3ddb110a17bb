"""Whom a study charges: everybody, once, whichever group they choose in the next study."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp import DistributionStudy, FrequencyStudy, HeavyHitterStudy, MeanStudy
from hybriddp.errors import BudgetError, ParameterError
from hybriddp.privacy import Privacy
from hybriddp.release import Event, Ledger, MechanismRecord, Part
from hybriddp.release.charging import Charged, charge_study
from tests.refusals import refused
from tests.release.numbers import reports_event, total_event

EPSILON = Privacy(epsilon="0.5")
VALUES = np.random.default_rng(0).gamma(2.0, 20.0, 1000)
STUDY = MeanStudy("minutes", bounds=(0, 240), epsilon=0.5)


def release(study: str = "a", part: Part | None = None, privacy: Privacy = EPSILON) -> Event:
    return total_event(study, privacy, part, f"study {study}")


def reports(study: str = "a", part: Part | None = None, privacy: Privacy = EPSILON) -> Event:
    return reports_event(study, privacy, part, f"study {study}")


def whos(ledger: Ledger) -> list[str]:
    return [event.who for event in ledger.events]


# Who changes groups


steps = st.tuples(st.sampled_from(["a", "b", "c"]), st.booleans())  # the study, and whether it releases something


@given(st.lists(steps, max_size=8))
def test_nobody_has_spent_more_than_the_ledger_says_whichever_group_they_chose(asked: list[tuple[str, bool]]) -> None:
    """Against all users whom there could be, who were in a group of each study that it asked, or not in it at all."""
    prices = {"a": "0.5", "b": "1", "c": "2"}
    ledger = Ledger(Privacy.total(epsilon=1000))
    groups: dict[str, set[str]] = {}
    for study, releases in asked:
        privacy, there = Privacy(epsilon=prices[study]), groups.setdefault(study, set())
        if releases and "trusted" in there:
            with pytest.raises(BudgetError):
                charge_study(ledger, [release(study, privacy=privacy)], promised=privacy)
            continue
        there |= {"trusted", "local"} if releases else {"local"}
        some = ([release(study, privacy=privacy)], []) if releases else ([], [reports(study, privacy=privacy)])
        charge_study(ledger, *some, promised=privacy)
    users = product(*[[*there, "none"] for there in groups.values()])
    paid = [
        sum(
            (Fraction(prices[study]) for study, group in zip(groups, user, strict=True) if group != "none"), Fraction(0)
        )
        for user in users
    ]
    assert ledger.spent("everybody").epsilon == max(paid)


# Once per study


def test_a_release_is_charged_to_everybody_without_a_mechanism_that_local_reports_do_not_have() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    assert charge_study(ledger, [release()], promised=EPSILON) is Charged.NOW
    (event,) = ledger.events
    assert (event.who, event.study, event.name, event.mechanism) == ("everybody", "a", "study a", None)
    refused(BudgetError, "It has been released already", charge_study, ledger, [release()], promised=EPSILON)
    assert charge_study(ledger, [], [reports()], promised=EPSILON) is Charged.BEFORE
    assert whos(ledger) == ["everybody"]


def test_reports_are_charged_once_and_then_only_what_is_released_about_trusted_users() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    assert charge_study(ledger, [], [reports()], promised=EPSILON) is Charged.NOW
    assert charge_study(ledger, [], [reports()], promised=EPSILON) is Charged.BEFORE
    charge_study(ledger, [release()], promised=EPSILON)
    assert whos(ledger) == ["local", "trusted"]
    assert isinstance(ledger.events[1].mechanism, MechanismRecord)
    refused(BudgetError, "It has been released already", charge_study, ledger, [release()], promised=EPSILON)
    assert ledger.spent("everybody").epsilon == Fraction(1, 2)


def test_parts_are_charged_to_those_who_are_in_them() -> None:
    germany, france = Part("country", "DE"), Part("country", "FR")
    ledger = Ledger(Privacy(epsilon=2))
    charge_study(ledger, [release(part=germany)], [reports(part=france)], promised=EPSILON)
    assert [(event.who, event.part) for event in ledger.events] == [("everybody", germany), ("local", france)]
    assert ledger.spent("everybody").epsilon == Fraction(1, 2)  # nobody is in two
    for part in (germany, france):
        assert charge_study(ledger, [], [reports(part=part)], promised=EPSILON) is Charged.BEFORE
    charge_study(ledger, [release(part=france)], promised=EPSILON)
    assert [(event.who, event.part) for event in ledger.events][2:] == [("trusted", france)]
    # Who lives elsewhere has not been charged: all are, some of them twice, which is too much and never too little.
    assert charge_study(ledger, [], [reports()], promised=EPSILON) is Charged.NOW
    assert ledger.spent("local").epsilon == 1


def test_a_release_about_everybody_after_reports_of_a_part() -> None:
    ledger = Ledger(Privacy(epsilon=2))
    charge_study(ledger, [], [reports(part=Part("country", "DE"))], promised=EPSILON)
    charge_study(ledger, [release()], promised=EPSILON)
    assert whos(ledger) == ["local", "trusted", "local"]
    with pytest.raises(BudgetError, match="It has been released already"):
        charge_study(ledger, [release(part=Part("country", "DE"))], promised=EPSILON)


def test_what_is_refused_charges_nobody() -> None:
    ledger = Ledger(Privacy(epsilon="0.4"))
    for releases, alone in (([release()], []), ([], [reports()])):
        refused(BudgetError, r"have ε = 0\.4, δ = 0 left", charge_study, ledger, releases, alone, promised=EPSILON)
    assert not ledger.events


def test_a_ledger_of_trusted_users_leaves_local_users_to_their_devices() -> None:
    ledger = Ledger(Privacy(epsilon=1), count="trusted")
    assert charge_study(ledger, [], [reports()], promised=EPSILON) is Charged.NOT
    charge_study(ledger, [release()], promised=EPSILON)
    (event,) = ledger.events
    assert event.who == "trusted"
    assert event.mechanism is not None
    refused(ParameterError, '^count must be "everybody" or "trusted"', Ledger, Privacy(epsilon=1), count="local")


# Every kind of study


def test_every_kind_charges_everybody_once_and_says_that_a_second_look_at_its_reports_is_free() -> None:
    items = np.array(["a", "b", "c"])[np.arange(1000) % 3]
    shares = FrequencyStudy("opened", categories=["a", "b", "c"], other=False, epsilon=0.5)
    spread = DistributionStudy("spread", bounds=(0, 240), epsilon=0.5)
    words = HeavyHitterStudy("words", epsilon=0.5, domain=["a", "b", "c"])
    kinds: list[tuple[Any, Any, Any]] = [
        (STUDY, VALUES, STUDY.randomize(VALUES)),
        (spread, VALUES, spread.randomize(VALUES)),
        (shares, items, shares.randomize(items)),
        (words, items, words.dictionary.randomize(items)),
    ]
    for study, values, sent in kinds:
        ledger, other = Ledger(Privacy(epsilon=1)), Ledger(Privacy(epsilon=1))
        both = study.estimate(trusted=values, local=sent, ledger=ledger)
        assert both.privacy.counted
        assert both.privacy.to_dict()["already_charged"] is False
        again = study.estimate(trusted=None, local=sent, single_group=True, ledger=ledger)
        assert again.privacy.to_dict()["already_charged"] is True
        assert "already charged for this study: this estimate is free" in str(again.privacy)
        refused(BudgetError, "It has been released already", study.estimate, trusted=values, local=sent, ledger=ledger)
        assert whos(ledger) == ["everybody"]
        assert f"{study.name!r} (" in ledger.explain()
        assert "counts everybody: ε = 0.5" in ledger.explain()
        first = study.estimate(trusted=None, local=sent, single_group=True, ledger=other)
        assert (first.privacy.counted, first.privacy.already_charged, whos(other)) == (True, False, ["local"])


@pytest.mark.slow
def test_local_discovery_without_a_trusted_group_is_charged() -> None:
    study, ledger = HeavyHitterStudy("words", epsilon=4, delta="1e-6"), Ledger(Privacy(epsilon=4, delta="1e-6"))
    sent = study.discovery.randomize(["apple"] * 2000)
    for already in (False, True):
        found = study.estimate(trusted=None, local=sent, single_group=True, ledger=ledger)
        assert found.privacy.already_charged is already
    assert whos(ledger) == ["local"]


def test_parts_with_and_without_trusted_users() -> None:
    ledger, sent = Ledger(Privacy(epsilon=1)), STUDY.randomize(VALUES)
    germany, france = STUDY.part("country", "DE"), STUDY.part("country", "FR")
    summaries = {
        "DE": (germany.summarize_trusted(VALUES), germany.summarize_local(sent)),
        "FR": (None, france.summarize_local(sent)),
    }
    parts = STUDY.estimate_parts("country", summaries, single_group=True, ledger=ledger)
    assert [part.privacy.released for part in parts.values()] == [True, False]
    assert whos(ledger) == ["everybody", "local"]
