from fractions import Fraction

import numpy as np
import pytest

from hybriddp.errors import BudgetError
from hybriddp.kmeans import HybridKMeans
from hybriddp.kmeans.protocol.budget import Account
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger

POINTS = np.random.default_rng(0).random((200, 2))


@pytest.mark.parametrize("epsilon", [10, 11, 15, 20])
def test_an_add_remove_study_of_any_epsilon_is_charged_twice_its_epsilon(epsilon: int) -> None:
    model = HybridKMeans(2, epsilon=epsilon, bounds=[(0, 1)] * 2, neighbors="add-remove")
    ledger = Ledger(Privacy.total(epsilon=2 * epsilon))
    model.fit(POINTS, POINTS, ledger=ledger)
    assert 0 <= ledger.remaining("trusted").epsilon < 1e-12
    small = Ledger(Privacy.total(epsilon=2 * epsilon - 1))
    with pytest.raises(BudgetError, match=f"needs ε = {2 * epsilon} of the trusted users"):
        model.fit(POINTS, POINTS, ledger=small)
    assert small.events == ()


@pytest.mark.parametrize(
    "epsilon", ["5.3333333333333333333337", "0.6666666666666666666667", "9.9999999999999999999999"]
)
def test_an_add_remove_study_of_a_long_epsilon_is_charged_no_less_than_twice_of_it(epsilon: str) -> None:
    """Twice of it may have more digits than an ε can have."""
    model = HybridKMeans(2, epsilon=epsilon, bounds=[(0, 1)] * 2, neighbors="add-remove")
    ledger = Ledger(Privacy.total(epsilon=100))
    model.fit(POINTS, POINTS, ledger=ledger)
    spent, exact = ledger.spent("trusted").epsilon, 2 * Fraction(epsilon)
    assert exact - Fraction(1, 10**16) < spent <= exact  # releases are rounded down, and their noise with them
    price = Account(model.study, ledger)._price(model.study.privacy)
    assert exact <= price.exact_epsilon < exact + Fraction(1, 10**18)
    with pytest.raises(BudgetError, match="has spent"):
        model.fit(POINTS, POINTS, ledger=ledger)
