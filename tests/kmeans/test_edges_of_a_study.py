"""A study that cannot go on to its end is refused before anybody has been asked or anything spent."""

import numpy as np
import pytest

from hybriddp.errors import ParameterError
from hybriddp.kmeans.hybrid import HybridKMeans
from hybriddp.kmeans.server import HybridKMeansServer
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger


def _study(d: int, epsilon: str, neighbours: str = "replace-one") -> KMeansStudy:
    return KMeansStudy("points", n_clusters=2, bounds=[(0, 1)] * d, epsilon=epsilon, neighbours=neighbours)


def test_releases_that_would_cost_less_than_a_promise_can_are_refused_at_once() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    with pytest.raises(ParameterError, match="^epsilon must be at least 0.1"):
        HybridKMeansServer(_study(5, "0.066"), n_local=0, trusted=np.full((100, 5), 0.5), ledger=ledger)
    assert ledger.events == ()
    HybridKMeansServer(_study(5, "0.067"), n_local=0, trusted=np.full((100, 5), 0.5), ledger=ledger)
    assert ledger.spent("trusted").epsilon == Privacy(epsilon="0.067").exact_epsilon


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_an_epsilon_whose_parts_are_no_decimals_any_more_is_refused(neighbours: str) -> None:
    with pytest.raises(ParameterError, match="^epsilon must be a number of at most 20 characters"):
        _study(5, "0.3000000000000000000001", neighbours)
    longest = _study(5, "0.300000000000000001", neighbours)
    server = HybridKMeansServer(longest, n_local=0, trusted=np.full((100, 5), 0.5), random_state=1)
    assert np.isfinite(server.cluster_centers).all()


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize(("n_trusted", "n_local"), [(0, 1), (1, 0), (1, 1), (0, 2)])
def test_one_or_two_users_are_enough_for_one_centre(d: int, n_trusted: int, n_local: int) -> None:
    model = HybridKMeans(1, epsilon=1, bounds=[(0, 1)] * d, random_state=1)
    model.fit(np.full((n_trusted, d), 0.5), np.full((n_local, d), 0.5))
    assert np.isfinite(model.cluster_centers_).all()
