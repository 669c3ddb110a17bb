"""The estimator: what it accepts, what it gives back, how good that is, and in the hands of scikit-learn."""

import copy
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_clusterer
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from hybriddp._check import FloatArray
from hybriddp.errors import BudgetError, DataError, ParameterError, ProtocolError
from hybriddp.kmeans.clustering import nearest, wcss, weighted_kmeans
from hybriddp.kmeans.estimator import Clamped, HybridKMeans
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger

BOUNDS = [(0, 10), (0, 10)]
CENTERS = np.array([[2.0, 3.0], [7.0, 8.0], [3.0, 8.0]])
RNG = np.random.default_rng(9)
POINTS = np.clip(CENTERS[RNG.integers(3, size=6000)] + 0.4 * RNG.standard_normal((6000, 2)), 0, 10)
TRUSTED, LOCAL = POINTS[:400], POINTS[400:]


def _model(**change: Any) -> HybridKMeans:
    return HybridKMeans(**{"n_clusters": 3, "epsilon": 3, "bounds": BOUNDS, "random_state": 1, **change})


MODEL = _model().fit(TRUSTED, LOCAL)


def _off(model: HybridKMeans, centers: FloatArray = CENTERS) -> float:
    return float(np.linalg.norm(model.cluster_centers_[:, None] - centers, axis=2).min(axis=0).max())


# What comes out


def test_a_fitted_model_has_what_it_promises() -> None:
    assert _off(MODEL) < 0.15
    assert MODEL.cluster_centers_.shape == MODEL.standard_errors_.shape == (3, 2)
    assert (MODEL.standard_errors_ > 0).all()
    assert MODEL.sizes_.sum() == pytest.approx(1)
    assert ((MODEL.trusted_weight_ > 0) & (MODEL.trusted_weight_ < 1)).all()
    assert (MODEL.n_trusted_, MODEL.n_local_, MODEL.n_features_in_) == (400, 5600, 2)
    assert MODEL.n_iter_ == len(MODEL.spending_)
    assert MODEL.privacy_ == Privacy(epsilon=3)
    assert MODEL.clamped_ == Clamped(0, 0)
    assert not MODEL.private_release_
    assert 0 < MODEL.doubt_ < 0.07
    assert not MODEL.doubtful_
    assert not hasattr(MODEL, "labels_")
    assert not hasattr(MODEL, "inertia_")


@pytest.mark.repeated
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize(("n_trusted", "n_local"), [(4000, 0), (0, 40_000), (1000, 40_000)])
def test_few_clusters_that_are_seen_well_are_not_doubtful(d: int, k: int, n_trusted: int, n_local: int) -> None:
    """One group or both, and no rival where there is one cluster."""
    rng = np.random.default_rng(3)
    points = np.clip(rng.choice([[2.0] * d, [8.0] * d], n_trusted + n_local) + rng.standard_normal((1, d)), 0, 10)
    points = np.clip(points + rng.standard_normal(points.shape), 0, 10)
    model = _model(n_clusters=k, epsilon=4, bounds=[(0, 10)] * d).fit(points[:n_trusted], points[n_trusted:])
    assert model.doubt_ > 0
    assert not model.doubtful_
    assert k > 1 or model.start_ is None


def test_many_clusters_of_few_users_are_doubtful_and_units_do_not_matter() -> None:
    for d in (2, 5):
        points = np.random.default_rng(4).random((2000, d))
        model = _model(n_clusters=8, epsilon=1, bounds=[(0, 1)] * d).fit(points[:20], points[20:])
        assert model.doubt_ > 0.15
        assert model.doubtful_
    wide = _model(bounds=[(0, 80), (0, 80)]).fit(8 * TRUSTED, 8 * LOCAL)  # in floating-point numbers exactly the same
    assert wide.doubt_ == MODEL.doubt_


def test_predictions_are_the_nearest_centers() -> None:
    np.testing.assert_array_equal(MODEL.predict(POINTS), nearest(POINTS, MODEL.cluster_centers_))
    np.testing.assert_array_equal(
        MODEL.predict([[2, 3], [99, 99]]), nearest(np.array([[2.0, 3], [99, 99]]), MODEL.cluster_centers_)
    )
    with pytest.raises(DataError, match="^X must"):
        MODEL.predict([[1.0]])
    with pytest.raises(ProtocolError, match="This HybridKMeans is not fitted. Call fit"):
        _model().predict(POINTS)


@pytest.mark.repeated
@pytest.mark.parametrize(("n_trusted", "d"), [(400, 2), (0, 2), (400, 5), (5, 5)])
def test_a_seed_repeats_everything_and_another_one_does_not(n_trusted: int, d: int) -> None:
    points = np.random.default_rng(0).random((4000, d))
    first, second, third = (
        _model(bounds=[(0, 1)] * d, random_state=seed).fit(points[:n_trusted], points[n_trusted:]) for seed in (7, 7, 8)
    )
    for name in ("cluster_centers_", "standard_errors_", "sizes_", "trusted_weight_"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert not np.array_equal(first.cluster_centers_, third.cluster_centers_)


def test_a_ledger_is_told_and_obeyed() -> None:
    ledger = Ledger(Privacy(epsilon=3))
    model = _model(random_state=None).fit(TRUSTED, LOCAL, ledger=ledger)
    assert model.result_.privacy.counted
    for who in ("trusted", "local"):
        assert sum(Fraction(event.epsilon) for event in ledger.events if event.who == who) == 3
    with pytest.raises(BudgetError):
        _model(random_state=None).fit(TRUSTED, LOCAL, ledger=ledger)


def test_a_generator_is_a_seed_too_and_no_seed_is_a_release() -> None:
    first, second = (_model(random_state=np.random.default_rng(3)).fit(TRUSTED, LOCAL) for _ in range(2))
    np.testing.assert_array_equal(first.cluster_centers_, second.cluster_centers_)
    assert not first.private_release_
    first, second = (_model(random_state=None).fit(TRUSTED, LOCAL) for _ in range(2))
    assert first.private_release_
    assert not np.array_equal(first.cluster_centers_, second.cluster_centers_)


# What goes in


def test_points_in_any_form_are_the_same_points() -> None:
    coarse = np.round(POINTS * 16) / 16  # float32 holds these exactly
    wide = np.empty((6000, 4))
    wide[:, ::2] = coarse
    expected = _model().fit(coarse[:400], coarse[400:]).cluster_centers_
    forms: list[Any] = [coarse.tolist(), coarse.astype(np.float32), np.asfortranarray(coarse), wide[:, ::2]]
    forms += [pd.DataFrame(coarse, columns=["a", "b"]), pl.DataFrame({"a": coarse[:, 0], "b": coarse[:, 1]})]
    for form in [*forms, np.ma.array(coarse, mask=False)]:
        np.testing.assert_array_equal(_model().fit(form[:400], form[400:]).cluster_centers_, expected)
    whole = np.rint(POINTS).astype(int)
    expected = _model().fit(whole[:400].astype(float), whole[400:].astype(float)).cluster_centers_
    np.testing.assert_array_equal(_model().fit(whole[:400], whole[400:]).cluster_centers_, expected)


def test_bad_parameters_are_named_when_it_comes_to_fitting() -> None:
    changes: list[tuple[str, dict[str, Any]]] = [
        ("epsilon", {"epsilon": None}),
        ("epsilon", {"epsilon": 0}),
        ("bounds", {"bounds": None}),
        ("bounds", {"bounds": [(10, 0), (0, 10)]}),
        ("bounds[0]", {"bounds": [(float("nan"), 10), (0, 10)]}),
        ("n_clusters", {"n_clusters": 0}),
        ("n_clusters", {"n_clusters": 1025}),
        ("name", {"name": ""}),
        ("random_state", {"random_state": -1}),
        ("random_state", {"random_state": 1.5}),
    ]
    for name, change in changes:
        with pytest.raises(ParameterError) as caught:
            _model(**change).fit(TRUSTED, LOCAL)
        assert caught.value.name == name


def test_points_outside_are_clamped_and_counted() -> None:
    wild = POINTS.copy()
    wild[[0, 1, 500]] = np.array([[-5, 5], [1e300, -1e300], [11, 5]])
    model = _model().fit(wild[:400], wild[400:])
    assert model.clamped_ == Clamped(trusted=2, local=1)
    tame = np.clip(wild, 0, 10)
    np.testing.assert_array_equal(model.cluster_centers_, _model().fit(tame[:400], tame[400:]).cluster_centers_)


@pytest.mark.repeated
@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize(("scale", "shift"), [(0.25, 0.0), (2.0**20, 0.0), (4.0, -64.0), (2.0**-10, 8.0)])
def test_centers_move_with_the_data_and_its_bounds(d: int, scale: float, shift: float) -> None:
    """In powers of two, where nothing is rounded, and in a box with unequal sides."""
    rng = np.random.default_rng(d)
    upper = np.array([16.0, 4.0, 8.0, 16.0, 2.0])[:d]
    points = np.round(rng.choice(rng.uniform(0, upper, (3, d)), 3000) * 64) / 64

    def fit(a: float, b: float) -> HybridKMeans:
        bounds = [(b, a * width + b) for width in upper]
        return _model(bounds=bounds).fit(a * points[:2000] + b, a * points[2000:] + b)

    plain, moved = fit(1.0, 0.0), fit(scale, shift)
    np.testing.assert_allclose(moved.cluster_centers_, scale * plain.cluster_centers_ + shift, rtol=1e-12)
    np.testing.assert_allclose(moved.standard_errors_, scale * plain.standard_errors_, rtol=1e-12)


@pytest.mark.parametrize("thin", [1e-3, 1e-9, 1e-40])
def test_bounds_of_very_different_widths(thin: float) -> None:
    """In the units of the data a thin dimension says nothing of distances: the result is that of the wide one."""
    points = np.column_stack([POINTS[:, 0], thin * RNG.random(6000)])
    model = _model(n_clusters=2, bounds=[(0, 10), (0, thin)], scale="none").fit(points[:400], points[400:])
    assert (model.cluster_centers_[:, 1] <= thin).all()
    line = POINTS[:, :1]
    best = weighted_kmeans(line, np.ones(6000), 2, starts=5, generator=np.random.default_rng(0))[0].cost
    assert wcss(line, model.cluster_centers_[:, :1]) < 1.2 * best


@pytest.mark.parametrize(
    ("trusted", "local", "message"),
    [
        ([[1, np.nan]], LOCAL, "trusted_points must be finite"),
        (TRUSTED, [[1, np.inf]], "local_points must be finite"),
        ([[1, 2, 3]], LOCAL, "trusted_points must be a table of numbers with 2 columns"),
        (TRUSTED, [1, 2], "local_points must be a table"),
        (TRUSTED, [["a", "b"]], "local_points must be a table"),
        (TRUSTED, [[True, False]], "local_points must be a table"),
        (TRUSTED, [[1, 2], [3]], "local_points must be a table"),
        (np.ma.array(TRUSTED, mask=TRUSTED > 5), LOCAL, "masked"),
        (None, None, "0 users for 3 clusters"),
        (np.empty((0, 2)), np.empty((0, 2)), "0 users for 3 clusters"),
        (TRUSTED[:1], LOCAL[:1], "2 users for 3 clusters"),
        (np.empty((0, 3)), LOCAL, "trusted_points must be a table of numbers with 2 columns"),
    ],
)
def test_points_that_cannot_be_used_are_refused_and_cost_nothing(trusted: Any, local: Any, message: str) -> None:
    ledger = Ledger(Privacy(epsilon=3))
    with pytest.raises(DataError, match=message):
        _model(random_state=None).fit(trusted, local, ledger=ledger)
    assert not ledger.events


# Odd data


def _check(model: HybridKMeans, k: int, bounds: list[tuple[float, float]]) -> None:
    lower, upper = np.array(bounds).T
    assert model.cluster_centers_.shape == (k, len(bounds))
    for values in (model.cluster_centers_, model.standard_errors_, model.sizes_, model.trusted_weight_):
        assert np.isfinite(values).all()
    assert ((model.cluster_centers_ >= lower) & (model.cluster_centers_ <= upper)).all()
    assert (model.sizes_ >= 0).all()
    assert model.sizes_.sum() == pytest.approx(1)
    assert ((model.trusted_weight_ >= 0) & (model.trusted_weight_ <= 1)).all()
    assert sum(Fraction(step.trusted_epsilon) for step in model.spending_) <= model.privacy_.exact_epsilon
    assert model.explain()


@pytest.mark.slow
@pytest.mark.representative
@given(data=st.data())
def test_there_are_finite_centers_inside_the_bounds_whatever_the_data(data: st.DataObject) -> None:
    """Also: no warnings, since they are errors here."""
    d = data.draw(st.sampled_from([1, 2, 3, 4, 8, 16]), "d")
    k = data.draw(st.sampled_from([1, 2, 5, 30]), "k")
    groups = data.draw(st.sampled_from(["both", "trusted", "local"]), "groups")
    least = 0.1 if groups == "trusted" and d > 3 else 0.01
    epsilon = max(data.draw(st.sampled_from([0.01, 0.06, 0.2, 1.0, 7.0, 20.0]), "epsilon"), least)
    sizes = [
        0 if groups == other else data.draw(st.one_of(st.integers(1, 50), st.sampled_from([500, 2000])), group)
        for group, other in (("n_trusted", "local"), ("n_local", "trusted"))
    ]
    n = sum(sizes)
    if n < k:
        sizes = [size + k if size else 0 for size in sizes]
        n = sum(sizes)
    rng = np.random.default_rng(data.draw(st.integers(0, 1000), "seed"))
    shape = data.draw(st.sampled_from(["uniform", "identical", "two points", "corners"]), "shape")
    unit = {
        "uniform": rng.random((n, d)),
        "identical": np.tile(rng.random(d), (n, 1)),
        "two points": rng.choice([[0.1] * d, [0.9] * d], n),
        "corners": rng.integers(0, 2, (n, d)).astype(float),
    }[shape]
    lower, widths = data.draw(st.sampled_from([0.0, -5.0, 1e6]), "lower"), rng.choice([0.1, 1.0, 1000.0], d)
    bounds = [(lower, lower + width) for width in widths]
    points = lower + unit * widths
    model = HybridKMeans(k, epsilon=epsilon, bounds=bounds, random_state=rng)
    _check(model.fit(points[: sizes[0]], points[sizes[0] :]), k, bounds)


def test_a_server_that_has_ended_shows_all_that_a_model_does() -> None:
    points = np.random.default_rng(0).choice([[2.0, 1.0], [8.0, 4.0]], 5100) + 0.1
    study = KMeansStudy("visits", n_clusters=2, bounds=[(0, 10), (0, 5)], epsilon=2)
    server = HybridKMeansServer(study, n_local=5000, trusted=points[:100], random_state=1)
    with pytest.raises(ProtocolError, match="There is no result yet"):
        HybridKMeans.from_server(server)
    server.start()
    first = 100
    while server.round is not None:
        last = first + int(server.round.user_fraction * 5000)
        server.absorb(server.round.count(server.round.answer(points[first:last], random_state=first)))
        first = last
    model = HybridKMeans.from_server(server)
    np.testing.assert_array_equal(model.cluster_centers_, server.cluster_centers)
    np.testing.assert_array_equal(model.standard_errors_, [10, 5] * np.sqrt(server.estimate.variance))
    assert (model.n_trusted_, model.n_local_, model.spending_) == (100, 5000, server.spending)
    estimate = server.estimate
    assert (model.doubt_, model.doubts_, model.doubtful_) == (estimate.doubt, estimate.doubts, estimate.is_doubtful)
    assert model.study == study
    assert not model.private_release_
    assert model.explain().startswith("visits: 2 centers in 2 dimensions.\nOf 5,100 users 100 trusted")
    assert model.predict(server.cluster_centers).tolist() == [0, 1]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_places_are_found(d: int) -> None:
    """The mean by one center, one place by two centers, and two places by five."""
    points = np.clip(RNG.normal(0.4, 0.1, (20_000, d)), 0, 1)
    model = _model(n_clusters=1, bounds=[(0, 1)] * d, epsilon=7).fit(points[:2000], points[2000:])
    np.testing.assert_allclose(model.cluster_centers_[0], points.mean(axis=0), atol=0.02)
    np.testing.assert_array_equal(model.predict(points), 0)
    for places, k, off in ((np.array([[0.3] * d]), 2, 0.03), (np.array([[0.2] * d, [0.7] * d]), 5, 0.04)):
        points = np.repeat(places, 20_000 // len(places), axis=0)
        RNG.shuffle(points)
        model = _model(n_clusters=k, bounds=[(0, 1)] * d, epsilon=7).fit(points[:2000], points[2000:])
        assert wcss(places, model.cluster_centers_) < len(places) * off**2 * d


@pytest.mark.repeated
@pytest.mark.parametrize("d", [1, 2, 3, 4, 8, 16])
def test_a_handful_of_users_is_enough_to_run(d: int) -> None:
    """One or two are enough for one center; an empty group counts as none."""
    for n in (2, 3, 7, 50):
        points = np.random.default_rng(n).random((n, d))
        for trusted in {0, 1, n // 2, n}:
            _check(_model(n_clusters=2, bounds=[(0, 1)] * d).fit(points[:trusted], points[trusted:]), 2, [(0, 1)] * d)
    for n_trusted, n_local in ((0, 1), (1, 0), (1, 1), (0, 2)):
        model = _model(n_clusters=1, bounds=[(0, 1)] * d)
        _check(model.fit(np.full((n_trusted, d), 0.5), np.full((n_local, d), 0.5)), 1, [(0, 1)] * d)


def test_a_fitted_model_keeps_what_was_found_and_shows_nothing_raw() -> None:
    points = 2 * np.random.default_rng(0).random((500, 2))
    model = HybridKMeans(2, epsilon=1, bounds=[(0, 1)] * 2, random_state=1).fit(points)
    story, labels = model.explain(), model.predict(points)
    model.set_params(bounds=[(0, 5)] * 3, name="other", scale="none", epsilon=9)
    assert model.explain() == story
    np.testing.assert_array_equal(model.predict(points), labels)
    assert model.clamped_.trusted > 0
    again = copy.copy(model)  # as pickling does
    assert not hasattr(again, "clamped_")
    assert again.explain() == story
    for name in ("labels_", "inertia_", "fit_predict", "score"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="Why there are no labels and no inertia"):
            getattr(model, name)
    with pytest.raises(AttributeError, match=r"'HybridKMeans' object has no attribute 'center_'\.$"):
        getattr(model, "center_")  # noqa: B009  (no such attribute, to mypy too)


# In the hands of scikit-learn


def test_scikit_learn_takes_it_for_a_clusterer_that_can_be_cloned_and_set() -> None:
    copied = clone(MODEL)
    assert copied.get_params() == MODEL.get_params()
    assert not hasattr(copied, "cluster_centers_")
    np.testing.assert_array_equal(copied.fit(TRUSTED, LOCAL).cluster_centers_, MODEL.cluster_centers_)
    assert is_clusterer(MODEL)
    check_is_fitted(MODEL)
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(_model())
    model = HybridKMeans()
    assert set(model.get_params()) == {"n_clusters", "epsilon", "bounds", "random_state", "name", "scale"}
    assert model.set_params(n_clusters=5, epsilon=1) is model
    assert model.get_params(deep=False)["n_clusters"] == 5
    with pytest.raises(ParameterError, match="clusters"):
        model.set_params(clusters=5)
    shown = repr(_model())
    assert shown.startswith("HybridKMeans(n_clusters=3, epsilon=3, bounds=[(0, 10), (0, 10)], random_state=1, ")
    assert eval(shown).get_params() == _model().get_params()  # noqa: S307


def test_it_runs_in_a_pipeline() -> None:
    pipeline = make_pipeline(_model())
    np.testing.assert_array_equal(pipeline.fit(TRUSTED, LOCAL).predict(POINTS), MODEL.predict(POINTS))
    assert pipeline.get_params()["hybridkmeans__epsilon"] == 3
    pipeline.set_params(hybridkmeans__n_clusters=2)
    assert len(np.unique(pipeline.fit(TRUSTED, LOCAL).predict(POINTS))) == 2
    assert "HybridKMeans(n_clusters=2" in repr(pipeline)
