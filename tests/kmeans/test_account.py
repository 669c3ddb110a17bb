import numpy as np
import pytest

from hybriddp.errors import BudgetError
from hybriddp.kmeans import HybridKMeans
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger

POINTS = np.random.default_rng(0).random((200, 2))


@pytest.mark.parametrize("epsilon", [10, 11, 15, 20])
def test_an_add_remove_study_of_any_epsilon_is_charged_twice_its_epsilon(epsilon: int) -> None:
    model = HybridKMeans(2, epsilon=epsilon, bounds=[(0, 1)] * 2, neighbours="add-remove")
    ledger = Ledger(Privacy.total(epsilon=2 * epsilon))
    model.fit(POINTS, POINTS, ledger=ledger)
    assert 0 <= ledger.remaining("trusted").epsilon < 1e-12
    small = Ledger(Privacy.total(epsilon=2 * epsilon - 1))
    with pytest.raises(BudgetError, match=f"needs ε = {2 * epsilon} of the trusted users"):
        model.fit(POINTS, POINTS, ledger=small)
    assert small.events == ()
