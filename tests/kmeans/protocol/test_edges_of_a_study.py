"""Studies of next to nobody go on to their end."""

import numpy as np
import pytest

from hybriddp.errors import DataError
from hybriddp.kmeans.estimator import HybridKMeans
from hybriddp.kmeans.study import KMeansStudy
from tests.kmeans.servers import started


def _study(d: int, epsilon: str) -> KMeansStudy:
    return KMeansStudy("points", n_clusters=2, bounds=[(0, 1)] * d, epsilon=epsilon)


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize(("n_trusted", "n_local"), [(0, 1), (1, 0), (1, 1), (0, 2)])
def test_one_or_two_users_are_enough_for_one_center(d: int, n_trusted: int, n_local: int) -> None:
    model = HybridKMeans(1, epsilon=1, bounds=[(0, 1)] * d, random_state=1)
    model.fit(np.full((n_trusted, d), 0.5), np.full((n_local, d), 0.5))
    assert np.isfinite(model.cluster_centers_).all()


def test_too_few_users_are_refused_and_an_empty_group_is_none() -> None:
    study = KMeansStudy("points", n_clusters=3, bounds=[(0, 1)] * 2, epsilon=1)
    for trusted in (np.full((1, 2), 0.5), None):
        with pytest.raises(DataError, match="at least as many users as clusters"):
            started(study, n_local=1, trusted=trusted)
    server = started(study, n_local=50, trusted=np.empty((0, 2)), random_state=1)
    assert server.n_trusted == 0
