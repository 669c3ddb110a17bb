"""Ledgers of studies and of budgets that they share."""

import pytest
from sqlalchemy import Engine

from hybriddp import MeanStudy
from hybriddp.errors import BudgetError
from hybriddp.privacy import Privacy
from hybriddp.service import budgets
from hybriddp.service.kinds import MeanKind
from hybriddp.service.problems import Refusal
from hybriddp.service.store.engine import writing


def kind(epsilon: float, name: str = "minutes") -> MeanKind:
    return MeanKind(MeanStudy(name, bounds=(0, 240), epsilon=epsilon))


def test_a_study_s_ledger_and_a_budget_of_the_same_name_are_two(kept_engine: Engine) -> None:
    with writing(kept_engine) as connection:
        for name in (budgets.of_study("both"), budgets.shared("both")):
            budgets.create(connection, name, Privacy.total(epsilon=1.0))
        assert budgets.of_study("both") != budgets.shared("both")


def test_a_name_is_taken_once(kept_engine: Engine) -> None:
    with writing(kept_engine) as connection:
        budgets.create(connection, "budget once", Privacy.total(epsilon=1.0))
        with pytest.raises(Refusal, match="already") as refused:
            budgets.create(connection, "budget once", Privacy.total(epsilon=9.0))
        assert refused.value.reason == "refused"
        assert budgets.ledger(connection, "budget once").budget == Privacy.total(epsilon=1.0)


def test_a_budget_that_is_not_there(kept_engine: Engine) -> None:
    with writing(kept_engine) as connection, pytest.raises(Refusal) as refused:
        budgets.charge_everybody(connection, "nobody made it", kind(1.0))
    assert refused.value.reason == "not-found"


def test_a_study_charges_both_groups_until_nothing_is_left(kept_engine: Engine) -> None:
    with writing(kept_engine) as connection:
        budgets.create(connection, budgets.shared("panel"), Privacy.total(epsilon=1.0))
        for i, left in enumerate((0.75, 0.5, 0.25, 0.0)):
            budgets.charge_everybody(connection, "panel", kind(0.25, f"week {i}"))
            ledger = budgets.ledger(connection, budgets.shared("panel"))
            assert [float(ledger.remaining(who).epsilon) for who in ("trusted", "local")] == [left, left]
        with pytest.raises(BudgetError):
            budgets.charge_everybody(connection, "panel", kind(0.01, "week 5"))
    assert len(ledger.events) == 4


def test_what_is_rolled_back_was_never_spent(kept_engine: Engine) -> None:
    with writing(kept_engine) as connection:
        budgets.create(connection, budgets.shared("rolled"), Privacy.total(epsilon=1.0))

    def fail() -> None:
        with writing(kept_engine) as connection:
            budgets.charge_everybody(connection, "rolled", kind(1.0))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with writing(kept_engine) as connection:
        assert budgets.ledger(connection, budgets.shared("rolled")).events == ()
        budgets.charge_everybody(connection, "rolled", kind(1.0))
        with pytest.raises(BudgetError):
            budgets.charge_everybody(connection, "rolled", kind(1.0))
