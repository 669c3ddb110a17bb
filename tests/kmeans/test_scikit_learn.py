"""The estimator in the hands of scikit-learn."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone, is_clusterer
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from hybriddp.errors import ParameterError
from hybriddp.kmeans.estimator import HybridKMeans

RNG = np.random.default_rng(9)
POINTS = np.clip(RNG.choice([[2.0, 3.0], [7.0, 8.0], [3.0, 8.0]], 6000) + 0.4 * RNG.standard_normal((6000, 2)), 0, 10)
TRUSTED, LOCAL = POINTS[:400], POINTS[400:]


def _model() -> HybridKMeans:
    return HybridKMeans(3, epsilon=3, bounds=[(0, 10), (0, 10)], random_state=1)


@cache
def _fitted() -> HybridKMeans:
    return _model().fit(TRUSTED, LOCAL)


def test_a_clone_is_a_model_that_is_not_fitted() -> None:
    copy = clone(_fitted())
    assert copy.get_params() == _fitted().get_params()
    assert not hasattr(copy, "cluster_centers_")
    np.testing.assert_array_equal(copy.fit(TRUSTED, LOCAL).cluster_centers_, _fitted().cluster_centers_)


def test_parameters_can_be_read_and_set() -> None:
    model = HybridKMeans()
    assert set(model.get_params()) == {"n_clusters", "epsilon", "bounds", "random_state", "name", "scale"}
    assert model.set_params(n_clusters=5, epsilon=1) is model
    assert model.get_params(deep=False)["n_clusters"] == 5
    with pytest.raises(ParameterError, match="clusters"):
        model.set_params(clusters=5)


def test_scikit_learn_takes_it_for_a_clusterer() -> None:
    assert is_clusterer(_fitted())
    check_is_fitted(_fitted())
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(_model())


def test_it_runs_in_a_pipeline() -> None:
    pipeline = make_pipeline(_model())
    np.testing.assert_array_equal(pipeline.fit(TRUSTED, LOCAL).predict(POINTS), _fitted().predict(POINTS))
    assert pipeline.get_params()["hybridkmeans__epsilon"] == 3
    pipeline.set_params(hybridkmeans__n_clusters=2)
    assert len(np.unique(pipeline.fit(TRUSTED, LOCAL).predict(POINTS))) == 2
    assert "HybridKMeans(n_clusters=2" in repr(pipeline)


def test_a_model_can_be_read() -> None:
    shown = repr(_model())
    assert shown.startswith("HybridKMeans(n_clusters=3, epsilon=3, bounds=[(0, 10), (0, 10)], random_state=1, ")
    assert eval(shown).get_params() == _model().get_params()  # noqa: S307
