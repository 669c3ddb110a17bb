"""Add-remove: that there is nobody in the trusted group, or one user, is as private as any other size."""

import numpy as np
import pytest

from hybriddp.errors import DataError
from hybriddp.kmeans.estimator import HybridKMeans
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.privacy import Privacy
from tests.kmeans.servers import started, trusted_ledger


def _study(d: int, neighbors: str = "add-remove", k: int = 3) -> KMeansStudy:
    return KMeansStudy("points", n_clusters=k, bounds=[(0, 1)] * d, epsilon=1, neighbors=neighbors)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("n_local", [0, 1, 500])
def test_no_user_and_one_user_are_treated_alike(d: int, n_local: int) -> None:
    """Neighbors: what is asked and paid for first must be the same, with no user, with one and with two."""
    seen = []
    for n_trusted in (0, 1, 2):
        ledger = trusted_ledger(Privacy(epsilon=2))  # which counts replaced values
        server = started(_study(d), n_local=n_local, trusted=np.full((n_trusted, d), 0.5), ledger=ledger)
        seen.append((ledger.events[0].what, ledger.events[0].epsilon, '"n_trusted":"private"' in server.to_json()))
    assert seen == 3 * [("K-means: the size of the trusted group", "0.1", True)]


def test_an_empty_group_goes_all_the_way() -> None:
    points = np.random.default_rng(0).random((400, 2))
    model = HybridKMeans(3, epsilon=2, bounds=[(0, 1)] * 2, neighbors="add-remove", random_state=1)
    model.fit(points[:0], points)
    assert model.spending_[0].trusted_epsilon == "0.1"
    assert np.isfinite(model.cluster_centers_).all()
    model.fit(None, points)
    assert all(step.trusted_epsilon == "0" for step in model.spending_)


def test_where_sizes_are_public_too_few_users_are_refused_and_an_empty_group_is_none() -> None:
    with pytest.raises(DataError, match="at least as many users as clusters"):
        started(_study(2, "replace-one"), n_local=1, trusted=np.full((1, 2), 0.5))
    with pytest.raises(DataError, match="at least as many users as clusters"):
        started(_study(2), n_local=1)
    server = started(_study(2, "replace-one"), n_local=50, trusted=np.empty((0, 2)), random_state=1)
    assert server.n_trusted == 0
