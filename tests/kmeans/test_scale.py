"""What distances are measured by: the same on devices, in tables, in a fit, and in what is said of it."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.kmeans.estimator import HybridKMeans
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.study import Box, KMeansStudy
from tests.kmeans.servers import started

# Ages, incomes, visits: units that have nothing to do with each other.
PEOPLE = np.array([[25.0, 25_000, 3], [45, 70_000, 10], [70, 40_000, 30]])
SPREADS = np.array([4.0, 6_000, 2])
BOUNDS = [(18, 90), (0, 250_000), (0, 60)]
WIDTHS = np.array([72, 250_000, 60])


@cache
def _points(n: int = 40_000) -> FloatArray:
    rng = np.random.default_rng(0)
    points: FloatArray = PEOPLE[rng.choice(3, n, p=[0.4, 0.35, 0.25])] + SPREADS * rng.standard_normal((n, 3))
    return points


@cache
def _model(scale: Any = "bounds", seed: int = 1) -> HybridKMeans:
    model = HybridKMeans(3, epsilon=2, bounds=BOUNDS, scale=scale, random_state=seed)
    return model.fit(_points()[:1000], _points()[1000:])


def _sorted(centers: FloatArray) -> FloatArray:
    return centers[np.argsort(centers[:, 0])]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_mixed_units_give_the_centers_of_all_dimensions(seed: int) -> None:
    """In one scale for all, ages and visits are noise: they ended up at their bounds, and no center was uncertain."""
    model = _model(seed=seed)
    assert (np.abs(_sorted(model.cluster_centers_) - PEOPLE) < 0.04 * WIDTHS).all()
    assert "No center is uncertain through noise" in model.explain()
    assert "Distances measure every dimension by its bounds." in model.explain()


def test_in_the_units_of_the_data_a_center_at_a_bound_is_named() -> None:
    model = _model("none")
    lower, upper = np.array(BOUNDS).T
    found = model.cluster_centers_
    assert ((found[:, 0] == lower[0]) | (found[:, 0] == upper[0])).any()  # what happened in silence
    story = model.explain()
    assert "No center is uncertain" not in story
    assert "At a bound: " in story
    assert "dimension 1, the widest dimension, can count most" in story


@pytest.mark.slow
def test_standard_errors_are_in_the_units_of_each_dimension() -> None:
    off, said = [], []
    for seed in range(12):
        model = HybridKMeans(3, epsilon=4, bounds=BOUNDS, random_state=seed).fit(
            _points()[:1000], _points()[1000:20_000]
        )
        order = np.argsort(model.cluster_centers_[:, 0])
        off.append(model.cluster_centers_[order] - PEOPLE)
        said.append(model.standard_errors_[order])
    ratio = np.sqrt(np.mean(np.square(off), axis=(0, 1)) / np.mean(np.square(said), axis=(0, 1)))
    assert ((ratio > 0.4) & (ratio < 2.5)).all()  # in each of the three dimensions


def test_units_do_not_matter() -> None:
    """The same points in dollars and in thousands of them: the same centers, to rounding."""
    factor = np.array([1, 1e-3, 7.0])
    bounds = [(lower * f, upper * f) for (lower, upper), f in zip(BOUNDS, factor, strict=True)]
    other = HybridKMeans(3, epsilon=2, bounds=bounds, random_state=1)
    other.fit(factor * _points()[:1000], factor * _points()[1000:])
    np.testing.assert_allclose(other.cluster_centers_, factor * _model().cluster_centers_, rtol=1e-3)


def test_equal_sides_give_the_same_result_whatever_the_scale() -> None:
    points = np.random.default_rng(3).choice([[2.0, 3.0], [7.0, 8.0]], 6000)
    first, *others = (
        HybridKMeans(2, epsilon=2, bounds=[(0, 10)] * 2, scale=scale, random_state=1).fit(points[:300], points[300:])
        for scale in ("none", "bounds", [2, 2])
    )
    for other in others:
        np.testing.assert_array_equal(other.cluster_centers_, first.cluster_centers_)
        np.testing.assert_array_equal(other.standard_errors_, first.standard_errors_)
        np.testing.assert_array_equal(other.predict(points), first.predict(points))


def test_a_weight_decides_what_clusters_are_about() -> None:
    rng = np.random.default_rng(4)
    points = rng.choice([0.2, 0.8], (20_000, 2))  # four corners, for two centers
    points = np.clip(points + 0.03 * rng.standard_normal(points.shape), 0, 1) * [1, 1000]
    for weights, dimension in (((5, 1), 0), ((1, 5), 1)):
        model = HybridKMeans(2, epsilon=4, bounds=[(0, 1), (0, 1000)], scale=weights, random_state=1)
        centers = model.fit(points[:500], points[500:]).cluster_centers_ / [1, 1000]
        np.testing.assert_allclose(np.sort(centers[:, dimension]), [0.2, 0.8], atol=0.05)
        np.testing.assert_allclose(centers[:, 1 - dimension], 0.5, atol=0.1)
        assert f"with the weights {weights[0]}, {weights[1]}." in model.explain()


# The same on devices


@pytest.mark.parametrize("scale", ["bounds", "none", [3, 1, 2]])
def test_devices_measure_as_the_study_says(scale: Any) -> None:
    study = KMeansStudy("people", n_clusters=3, bounds=BOUNDS, epsilon=2, scale=scale)
    assert KMeansStudy.from_json(study.to_json()) == study
    server = started(study, n_local=20_000, trusted=_points()[:1000], random_state=1)
    asked = server.round
    assert asked is not None
    on_device = Round.from_json(asked.to_json(), study=study)
    assert on_device.study.box == Box.of(BOUNDS, scale)
    np.testing.assert_array_equal(
        on_device.study.box.place(_points()[:50]).points, study.box.place(_points()[:50]).points
    )
    first = 1000
    while server.round is not None:
        last = first + int(server.round.user_fraction * server.n_local)
        sent = Round.from_json(server.round.to_json(), study=study)
        server.absorb(server.round.count(sent.answer(_points()[first:last], random_state=server.round.number)))
        first = last
        server = HybridKMeansServer.from_json(server.to_json(), trusted=_points()[:1000], random_state=first)
    if scale != "none":
        assert (np.abs(_sorted(server.cluster_centers) - PEOPLE) < 0.03 * WIDTHS).all()


def test_a_round_with_another_scale_is_of_another_study() -> None:
    study, other = (KMeansStudy("people", n_clusters=3, bounds=BOUNDS, epsilon=2, scale=s) for s in ("bounds", "none"))
    assert study.digest != other.digest
    server = started(other, n_local=20_000, random_state=1)
    assert server.round is not None
    with pytest.raises(Exception, match="another study than the one agreed to"):
        Round.from_json(server.round.to_json(), study=study)


# Looking up


@pytest.mark.parametrize("scale", ["bounds", "none", (1, 5, 1)])
def test_labels_and_distances_are_those_of_the_scale(scale: Any) -> None:
    model = _model(scale)
    weights = {"bounds": 1 / WIDTHS, "none": np.ones(3), (1, 5, 1): np.array([0.2, 1, 0.2]) / WIDTHS}[scale]
    points = np.concatenate([_points()[:500], [[-50.0, 1e6, 200]]])  # not moved into the box
    apart = np.linalg.norm(weights * (points[:, None] - model.cluster_centers_), axis=2)
    np.testing.assert_allclose(model.transform(points), apart, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(points), np.argmin(apart, axis=1))
    assert model.get_feature_names_out().tolist() == ["hybridkmeans0", "hybridkmeans1", "hybridkmeans2"]
