"""The paper's K-means against an earlier, independent implementation, and against what its parts must be."""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybriddp._check import FloatArray
from hybriddp.errors import DataError, ParameterError
from hybriddp.kmeans.clustering import wcss
from hybriddp.paper.kmeans.algorithms import PRINTED, PaperClustering, PaperReading, hybrid, privacy_weight
from hybriddp.paper.kmeans.groups import (
    ClusterMoments,
    LaplaceScales,
    PaperLocalGroup,
    PaperTrustedGroup,
    truth_probability,
)
from hybriddp.theory import Setting
from tests.levels import z_limit

CENTERS = np.array([(0.20, 0.25), (0.35, 0.80), (0.65, 0.40), (0.85, 0.75)])
PUBLIC: dict[str, Any] = {"n_clusters": 4, "epsilon": 7.0, "bounds": [(0, 1)] * 2}
REPAIRED = PaperReading(add_remove=True)  # as the numbers below were found
TRIALS = 30
LIMIT = z_limit(1, TRIALS)  # most of the standard errors are estimated


def _points(rng: np.random.Generator, per_cluster: int = 40_000) -> FloatArray:
    return np.repeat(CENTERS, per_cluster, axis=0) + rng.normal(0.0, 0.028, (4 * per_cluster, 2))


def _quiet(trusted: FloatArray, local: FloatArray, **parameters: Any) -> PaperClustering:
    """The hybrid in a reading that it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return hybrid(trusted, local, **parameters)


@dataclass(frozen=True, slots=True)
class Known:
    """The mean cost, and its standard error, that the earlier implementation had in 60 trials."""

    reading: PaperReading
    iterations: int
    every: int
    cost: float
    error: float

    def off(self, epsilon: float = 7.0) -> float:
        """By how many combined standard errors our mean cost is off."""
        costs = []
        for seed in range(TRIALS):
            rng = np.random.default_rng([seed, self.iterations, self.every])
            points = _points(rng)
            is_trusted = np.arange(len(points)) % self.every == 0
            found = _quiet(
                points[is_trusted],
                points[~is_trusted],
                **{**PUBLIC, "epsilon": epsilon, "reading": self.reading},
                iterations=self.iterations,
                random_state=rng,
            )
            costs.append(wcss(points, found.centers))
        return (float(np.mean(costs)) - self.cost) / math.hypot(np.std(costs, ddof=1) / TRIALS**0.5, self.error)


KNOWN = [
    Known(PRINTED, 1, 1000, 495.1, 7.7),
    Known(PRINTED, 2, 100, 1967, 11),
    Known(PRINTED, 5, 100, 8044, 49),
    Known(REPAIRED, 2, 100, 254.5, 0.2),
    Known(REPAIRED, 3, 1000, 303.6, 3.3),
    Known(REPAIRED, 5, 100, 283.8, 2.4),
]


@pytest.mark.statistical
@pytest.mark.parametrize(
    "known",
    [pytest.param(known, marks=pytest.mark.long) if known.iterations == 5 else known for known in KNOWN],
    ids=lambda k: f"{'printed' if k.reading == PRINTED else 'repaired'}-{k.iterations}-{k.every}",
)
def test_costs_are_those_of_an_earlier_implementation(known: Known) -> None:
    assert abs(known.off()) < LIMIT


@pytest.mark.statistical
def test_noise_that_is_wrong_by_a_fifth_would_be_noticed() -> None:
    assert all(abs(KNOWN[0].off(epsilon=7.0 / factor)) > LIMIT for factor in (0.8, 1.2))


def test_assigning_the_noisy_reports_is_useless() -> None:
    points = _points(np.random.default_rng(0))
    reading = PaperReading(biased=True, assign_reports=True)
    found = _quiet(np.empty((0, 2)), points, iterations=3, reading=reading, random_state=0, **PUBLIC)
    assert wcss(points, found.centers) > wcss(points, points.mean(axis=0, keepdims=True))


def test_scales_are_those_of_the_paper_and_double_where_a_point_is_replaced() -> None:
    printed = LaplaceScales.of(n_dimensions=2, iterations=5, epsilon=7.0, replace_one=False)
    assert printed == LaplaceScales(trusted=(2 + 1) * 5 / 7, local=2 * 6 / 7)
    assert LaplaceScales.of(n_dimensions=2, iterations=5, epsilon=7.0, replace_one=True).trusted == 2 * printed.trusted


def test_a_replaced_point_changes_counts_and_sums_by_what_the_scale_covers() -> None:
    rng = np.random.default_rng(0)
    d, centers = 3, np.array([[0.9] * 3, [0.95] * 3])

    def moments(points: FloatArray) -> FloatArray:
        found = PaperTrustedGroup(points.astype(np.float32), scale=0.0, generator=rng).moments(centers)
        return np.concatenate([found.counts, found.sums.ravel()])

    others = rng.random((50, d))
    base = moments(others)
    pairs = rng.random((500, 2, d))
    pairs[0] = [[0.92] * d, [1.0] * d]
    changes = [float(np.abs(moments(np.vstack([others, a])) - moments(np.vstack([others, b]))).sum()) for a, b in pairs]
    adding = [float(np.abs(moments(np.vstack([others, b])) - base).sum()) for _, b in pairs]
    assert max(adding) == pytest.approx(d + 1, abs=1e-5)
    assert 0.95 * 2 * (d + 1) < max(changes) <= 2 * (d + 1) + 1e-5


def test_randomized_response_tells_the_truth_as_often_as_its_budget_allows() -> None:
    for iterations, expected in ((5, 0.356), (10, 0.18)):
        p = truth_probability(n_clusters=4, iterations=iterations, epsilon=7.0)
        assert p == pytest.approx(expected, abs=2e-3)
        assert (p + (1 - p) / 4) / ((1 - p) / 4) == pytest.approx(math.exp(7.0 / (iterations + 1)))


def _laplace_off(noise: FloatArray, scale: float) -> float:
    """By how many standard errors the mean absolute value, which is the scale, is off."""
    return abs(float(np.mean(np.abs(noise))) / scale - 1) * math.sqrt(noise.size)


@pytest.mark.statistical
def test_both_groups_add_laplace_noise_of_their_scale() -> None:
    """Two scales and two variances, of a law with a kurtosis of 6."""
    nowhere = np.zeros((1, 100_000))
    trusted = PaperTrustedGroup(nowhere.astype(np.float32), scale=3.0, generator=np.random.default_rng(1))
    local = PaperLocalGroup(
        nowhere.astype(np.float32),
        scale=3.0,
        truth=0.5,
        debias=True,
        assign_on_report=False,
        generator=np.random.default_rng(2),
    )
    for noise in (trusted.moments(nowhere).sums, local.moments(nowhere).sums):
        assert _laplace_off(noise, 3.0) < z_limit(4)
        assert _laplace_off(noise, 3.0 * 1.2) > z_limit(4)
        assert _laplace_off(noise, 3.0 * 0.8) > z_limit(4)
        assert noise.var() == pytest.approx(2 * 3.0**2, rel=z_limit(4) * math.sqrt(5 / noise.size))


def _local_moments(*, truth: float, debias: bool) -> ClusterMoments:
    """200,000 users without noise on their points: 50, 30 and 20 % of them at three places."""
    points = np.repeat(PLACES, [100_000, 60_000, 40_000], axis=0).astype(np.float32)
    rng = np.random.default_rng(3)
    group = PaperLocalGroup(points, scale=0.0, truth=truth, debias=debias, assign_on_report=False, generator=rng)
    return group.moments(PLACES)


PLACES = np.array([[0.1], [0.5], [0.9]])


@pytest.mark.statistical
def test_debiased_counts_and_sums_are_those_of_the_clusters() -> None:
    """Nine numbers, with the standard error of a fair coin, since no count varies more."""
    true = np.array([0.5, 0.3, 0.2])
    limit = z_limit(9) * 0.5 / math.sqrt(200_000)
    debiased = _local_moments(truth=0.4, debias=True)
    assert np.abs(debiased.counts / 200_000 - true).max() < limit / 0.4
    assert np.abs(debiased.sums[:, 0] / 200_000 - true * PLACES[:, 0]).max() < limit / 0.4
    for truth, fits in ((0.4, True), (0.4 * 0.8, False), (0.4 * 1.2, False)):
        raw = _local_moments(truth=truth, debias=False)
        assert (np.abs(raw.counts / 200_000 - (0.4 * true + 0.6 / 3)).max() < limit) == fits


def test_the_weight_is_the_privacy_weight_of_the_theory() -> None:
    scales = LaplaceScales.of(n_dimensions=2, iterations=5, epsilon=7.0, replace_one=False)
    trusted = ClusterMoments(np.array([400.0, 37.5, -3.0]), np.zeros((3, 2)))
    local = ClusterMoments(np.array([39_600.0, 1e4, 200.0]), np.zeros((3, 2)))
    n_t, n_l = np.array([400.0, 37.5, 1.0]), local.counts
    for printed, first in ((True, 1.6e-5), (False, 0.721)):
        setting = Setting(
            n_users=n_t + n_l,
            trusted_fraction=n_t / (n_t + n_l),
            trusted_variance=0,
            local_variance=0,
            trusted_noise=2 * scales.trusted**2 / (1.0 if printed else n_t**2),
            local_noise=2 * scales.local**2,
        )
        weights = privacy_weight(trusted, local, scales, printed=printed)
        np.testing.assert_allclose(weights, setting.weight_privacy(), rtol=1e-12)
        assert weights[0] == pytest.approx(first, rel=0.02)


def test_replacing_a_point_takes_twice_the_budget_of_adding_it() -> None:
    points = _points(np.random.default_rng(0), 500)
    parameters = {"n_clusters": 4, "iterations": 3, "bounds": [(0, 1)] * 2, "random_state": 5}
    with pytest.warns(UserWarning, match="erratum 2"):
        adding = hybrid(points, [], epsilon=3.0, reading=REPAIRED, **parameters)
    assert np.array_equal(hybrid(points, [], epsilon=6.0, **parameters).centers, adding.centers)


def test_with_all_the_budget_in_the_world_both_groups_find_the_means() -> None:
    points = _points(np.random.default_rng(0), 500)
    parameters = {"n_clusters": 4, "epsilon": 1e6, "iterations": 3, "bounds": [(0, 1)] * 2, "initial": CENTERS}
    means = points.reshape(4, 500, 2).mean(axis=1)
    for trusted, local in ((points, []), ([], points), (points, points)):
        found = hybrid(trusted, local, random_state=5, **parameters)
        assert found.centers == pytest.approx(means, abs=1e-5)


def test_the_same_seed_gives_the_same_and_both_groups_a_weight_in_each_round() -> None:
    points = _points(np.random.default_rng(0), 500)
    parameters = {**PUBLIC, "iterations": 3}
    first, again, other = (hybrid(points[::9], points, random_state=s, **parameters) for s in (5, 5, 6))
    assert np.array_equal(first.centers, again.centers)
    assert not np.array_equal(first.centers, other.centers)
    assert first.weight is not None
    assert len(first.weight) == 3
    assert all(0 < w < 1 for w in first.weight)
    generators = [np.random.default_rng(5), np.random.default_rng(5)]
    centers = [hybrid(points[::9], points, random_state=rng, **parameters).centers for rng in generators]
    assert np.array_equal(*centers)
    empty = np.empty((0, 2))
    assert hybrid(empty, points, random_state=5, **parameters).weight is None
    assert hybrid(points, empty, random_state=5, **parameters).weight is None


def test_units_do_not_matter_and_what_is_out_of_bounds_is_moved_to_the_wall() -> None:
    points = _points(np.random.default_rng(0), 500)
    points[:50] = [3.0, -1.0]
    parameters = {"n_clusters": 4, "epsilon": 50.0, "iterations": 3, "random_state": 5}
    unit = hybrid(points[::3], points, bounds=[(0, 1)] * 2, **parameters)
    moved = hybrid(100 + 20 * points[::3], 100 + 20 * points, bounds=[(100, 120)] * 2, **parameters)
    clipped = hybrid(np.clip(points, 0, 1)[::3], np.clip(points, 0, 1), bounds=[(0, 1)] * 2, **parameters)
    assert moved.centers == pytest.approx(100 + 20 * unit.centers, abs=1e-4)
    assert np.array_equal(unit.centers, clipped.centers)


def test_centers_stay_within_bounds_of_any_shape() -> None:
    rng, bounds = np.random.default_rng(0), [(-1.0, 0.0), (5.0, 15.0), (0.0, 0.1)]
    points, (low, high) = np.column_stack([rng.uniform(*pair, 60) for pair in bounds]), np.array(bounds).T
    parameters: dict[str, Any] = {"n_clusters": 5, "epsilon": 0.1, "iterations": 4, "bounds": bounds}
    for seed in range(20):
        centers = hybrid(points[:20], points[20:], random_state=seed, **parameters).centers
        assert np.all((centers >= low) & (centers <= high))


def test_the_widest_range_is_that_of_all_dimensions() -> None:
    points = np.random.default_rng(0).normal([25.0, 50.0], 2.0, (2000, 2))
    parameters: dict[str, Any] = {"n_clusters": 1, "epsilon": 7.0, "iterations": 2, "random_state": 0}
    narrow, wide = (
        hybrid(points[:500], points[500:], bounds=[(0, width), (0, 100)], initial=[[20, 40]], **parameters).centers
        for width in (50, 100)
    )
    assert narrow == pytest.approx(wide, rel=1e-12)


def test_given_centers_are_begun_with() -> None:
    points = np.array([[0.0], [0.4], [1.0]] * 20_000)
    parameters: dict[str, Any] = {"n_clusters": 2, "epsilon": 60.0, "iterations": 1, "bounds": [(0, 1)]}
    low = hybrid(points, [], initial=[[0.1], [0.6]], random_state=0, **parameters).centers
    high = hybrid(points, [], initial=[[0.4], [0.9]], random_state=0, **parameters).centers
    assert low.ravel() == pytest.approx([0.0, 0.7], abs=1e-3)
    assert high.ravel() == pytest.approx([0.2, 1.0], abs=1e-3)


def test_what_is_printed_comes_with_a_warning() -> None:
    points = _points(np.random.default_rng(0), 25)
    for name, erratum in (("noise_of_sum", 4), ("biased", 5), ("assign_reports", 6), ("add_remove", 2)):
        with pytest.warns(UserWarning, match=rf"^{name}=True .* \(erratum {erratum}\)") as caught:
            hybrid(points, points, iterations=1, random_state=0, **PUBLIC, reading=PaperReading(**{name: True}))
        assert [warning.filename for warning in caught] == [__file__]  # it points at the caller


def test_parameters_are_checked() -> None:
    parameters: dict[str, Any] = {
        "trusted": [[0.5, 0.5]] * 3,
        "local": [[0.5, 0.5]] * 3,
        "n_clusters": 2,
        "epsilon": 1.0,
        "iterations": 2,
        "bounds": [(0, 1)] * 2,
        "random_state": 0,
    }
    wrong: list[tuple[str, Any, str]] = [
        ("n_clusters", 0, "n_clusters must be an integer of at least 1"),
        ("epsilon", 0.0, "epsilon must be a finite number above 0"),
        ("iterations", 0, "iterations must be an integer of at least 1"),
        ("bounds", (0, 1), "bounds must be"),
        ("bounds", [(0, 1), (1, 1)], "bounds must be"),
        ("bounds", [], "bounds must be"),
        ("bounds", [(0, 1)], "trusted must be a table of numbers with 1 columns"),
        ("local", [0.5, 0.5], "local must be a table of numbers with 2 columns"),
        ("local", [[0.5, math.nan]], "local must be finite"),
        ("initial", [[0.5, 0.5]], "initial must be 2 centers, got their number=1"),
        ("random_state", None, "random_state must be an integer or a numpy.random.Generator: this is a simulation"),
    ]
    for name, value, message in wrong:
        with pytest.raises((DataError, ParameterError)) as caught:
            hybrid(**{**parameters, name: value})
        assert message in str(caught.value)
    with pytest.raises(DataError, match="no points"):
        hybrid([], [], iterations=1, random_state=0, **PUBLIC)


def test_columns_with_names_are_put_in_the_order_of_the_trusted_group() -> None:
    points = np.random.default_rng(0).random((600, 2)) * [1, 10]
    frame = pd.DataFrame(points, columns=["a", "b"])
    public: dict[str, Any] = {
        "n_clusters": 2, "epsilon": 4, "iterations": 2, "bounds": [(0, 1), (0, 10)], "random_state": 0,
    }  # fmt: skip
    plain = hybrid(points[:100], points[100:], **public)
    named = hybrid(frame[:100], frame[["b", "a"]][100:], **public)
    np.testing.assert_array_equal(named.centers, plain.centers)
    with pytest.raises(DataError, match="local has column names and trusted has none"):
        hybrid(points[:100], frame[100:], **public)
    for named_alone, plain_alone in (((frame, []), (points, [])), (([], frame), ([], points))):
        alone = hybrid(*named_alone, **public), hybrid(*plain_alone, **public)
        np.testing.assert_array_equal(alone[0].centers, alone[1].centers)
