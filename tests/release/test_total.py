import pytest

from hybriddp.errors import BudgetError
from hybriddp.grid import UNITS
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger, release_total, total


def test_a_release_is_paid_for_once() -> None:
    ledger, privacy = Ledger(Privacy(epsilon=1)), Privacy(epsilon=1)
    released = release_total(10, 5 * UNITS, study="d", privacy=privacy, ledger=ledger)
    assert released.counted
    assert not released.seeded
    assert len(ledger.events) == 1
    assert abs(released.total - 5 * UNITS) < 60 * UNITS
    with pytest.raises(BudgetError):
        release_total(10, 5 * UNITS, study="d", privacy=privacy, ledger=ledger)


def test_a_study_is_released_once_however_large_the_budget_is() -> None:
    ledger, privacy = Ledger(Privacy(epsilon=5)), Privacy(epsilon=1)
    release_total(10, 0, study="a", privacy=privacy, ledger=ledger)
    with pytest.raises(BudgetError, match="have ε = 0"):
        release_total(10, 0, study="a", privacy=privacy, ledger=ledger)
    release_total(10, 0, study="b", privacy=privacy, ledger=ledger)
    assert ledger.spent("trusted").epsilon == 2
    assert ledger.spent("trusted", study="a").epsilon == 1


def test_a_release_that_fails_after_the_draw_counts_as_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise RuntimeError("the machine went down")

    monkeypatch.setattr(total, "draw", fail)
    ledger = Ledger(Privacy(epsilon=1))
    with pytest.raises(RuntimeError):
        release_total(10, 0, study="d", privacy=Privacy(epsilon=1), ledger=ledger)
    assert len(ledger.events) == 1


def test_without_a_ledger_nobody_counts_and_a_simulation_is_no_release() -> None:
    assert not release_total(10, 0, study="d", privacy=Privacy(epsilon=1)).counted
    ledger = Ledger(Privacy(epsilon=1))
    simulated = release_total(10, 0, study="d", privacy=Privacy(epsilon=1), ledger=ledger, random_state=1)
    assert simulated.seeded
    assert not simulated.counted
    assert ledger.events == ()
