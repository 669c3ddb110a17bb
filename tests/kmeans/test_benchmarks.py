"""The programs of benchmarks that compare K-means: data, trials, summaries."""

import argparse
import math
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

from benchmarks import kmeans_forged
from benchmarks.kmeans_accuracy import (
    MORE_DIMENSIONS,
    PAPER,
    PLANS,
    S1,
    Plan,
    Ratios,
    chosen,
    main,
    plane_table,
    space_tables,
)
from benchmarks.kmeans_data import (
    APART,
    DIGITS_LOWER,
    DIGITS_UPPER,
    LAYOUTS,
    PAPER_SD,
    PLANE,
    SETS,
    SPACE,
    DataSet,
    doubling_ends,
    paper,
    stretch,
)
from benchmarks.kmeans_forged import Setting, forged, lowest_bits, moved, run
from benchmarks.kmeans_peers import diffprivlib_spends
from benchmarks.kmeans_shape_sets import FINAL_PLANE, FINAL_SPACE, SIZE, TUNE_PLANE, TUNE_SPACE, ball, mixture
from benchmarks.kmeans_shapes import FLAT, Measured, doubt_table, reference, targets
from benchmarks.kmeans_shapes import SETS as SHAPE_SETS
from benchmarks.kmeans_summary import (
    Estimate,
    Target,
    excess_over_better,
    geometric_mean,
    log_excess,
    mean,
    mean_of_sets,
    worst,
)
from benchmarks.kmeans_trials import FULL_LOCAL, HYBRID, TRUSTED_ONLY, Cell, _own_non_private, trial
from hybriddp.kmeans.clustering import nearest
from hybriddp.kmeans.protocol.round import RoundReports

# name: points, dimensions, clusters; digits are left out, as they come with a package that tests do without
SHAPES = {
    "paper": (160_000, 2, 4),
    "paper-pair": (160_000, 2, 4),
    "paper-crowd": (160_000, 2, 4),
    "s1": (105_000, 2, 15),
    "blobs4": (100_000, 4, 6),
    "blobs8": (100_000, 8, 8),
    "blobs16": (100_000, 16, 10),
    "aniso8": (100_000, 8, 6),
}


@cache
def _drawn(name: str, seed: int) -> DataSet:
    return SETS[name](seed)


def test_every_set_is_tested_here_but_digits() -> None:
    assert set(SETS) == {*SHAPES, "digits"} == {*PLANE, *SPACE}


@pytest.mark.repeated
@pytest.mark.parametrize("name", SHAPES)
def test_a_set_has_its_shape_and_lies_in_its_box(name: str) -> None:
    n, d, k = SHAPES[name]
    data = _drawn(name, 0)
    assert data.name == name
    assert data.points.shape == (n, d)
    assert data.points.dtype == np.float64
    assert data.n_clusters == k
    assert data.bounds == ((0.0, 1.0),) * d
    assert 0 <= data.points.min() < data.points.max() <= 1
    again, other = SETS[name](0), SETS[name](1)
    np.testing.assert_array_equal(data.points, again.points)
    assert not np.any(np.all(data.points[:100] == other.points[:100], axis=1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_papers_clusters_are_equal_and_round(layout: str) -> None:
    data, centers = _drawn(layout, 0), np.array(LAYOUTS[layout])
    distances = np.linalg.norm(centers[:, None] - centers[None], axis=2)
    assert np.min(distances[np.triu_indices(4, 1)]) >= APART * PAPER_SD
    labels = nearest(data.points, centers)
    # At least six standard deviations apart, at most .3 % of a cluster is nearer to each of two others.
    np.testing.assert_allclose(np.bincount(labels), 40_000, rtol=0.006)
    for k, center in enumerate(LAYOUTS[layout]):
        np.testing.assert_allclose(data.points[labels == k].mean(axis=0), center, atol=0.002)
        np.testing.assert_allclose(data.points[labels == k].std(axis=0), PAPER_SD, rtol=0.03)


def test_points_come_in_random_order() -> None:
    data = _drawn("paper", 0)
    first = np.bincount(nearest(data.points[:1600], np.array(LAYOUTS["paper"])))
    # Four counts of 1,600 draws with standard deviation 17.3: beyond 6 of them about once in 10^8.
    assert np.max(np.abs(first - 400)) < 104


def test_sizes_of_the_stretched_clusters_double() -> None:
    assert np.diff([0, *doubling_ends(63, 6)]).tolist() == [1, 2, 4, 8, 16, 32]
    assert doubling_ends(100_000, 6)[-1] == 100_000


def test_a_stretch_has_its_condition_number_and_size() -> None:
    widths = np.linalg.svd(stretch(np.random.default_rng(0), 8, 0.06), compute_uv=False)
    assert widths[0] / widths[-1] == pytest.approx(5)
    assert np.sqrt(np.mean(widths**2)) == pytest.approx(0.06)


def test_bounds_of_digits_are_round_numbers() -> None:
    assert len(DIGITS_LOWER) == len(DIGITS_UPPER) == 8
    assert all(x % 4 == 0 for x in (*DIGITS_LOWER, *DIGITS_UPPER))


def test_the_lowest_code_of_a_set() -> None:
    assert lowest_bits(np.array([0b1, 0b110, 0b1000, (1 << 31) + (1 << 30)])).tolist() == [0, 1, 3, 30]


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 8])
def test_more_forged_answers_move_centers_farther(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kmeans_forged, "USERS", 20_000)
    setting = Setting(d, 500)
    honest, few, many = (run(setting, fraction, 1) for fraction in (0.0, 0.02, 0.3))
    assert moved(honest, honest).max() == 0
    assert moved(honest, few).max() < moved(honest, many).max()
    assert moved(honest, many).max() > 0.05
    assert honest.result_.n_answered == many.result_.n_answered


def test_a_forged_row_of_bits_has_one_more_bit() -> None:
    from tests.kmeans.protocol.test_plausible import ROUNDS, _answers

    (ask,) = ROUNDS["grid, bits"]
    (real,) = _answers((ask,), 50, 1)
    sent: RoundReports = forged(ask, real, 20, np.random.default_rng(0))
    more = np.bitwise_count(sent.codes).sum(axis=1).astype(int) - np.bitwise_count(real.codes).sum(axis=1)
    assert set(more[:20].tolist()) <= {0, 1}
    assert not more[20:].any()
    assert (sent.codes[:20] | real.codes[:20] == sent.codes[:20]).all()


TUNE, FINAL = {**TUNE_PLANE, **TUNE_SPACE}, {**FINAL_PLANE, **FINAL_SPACE}
SLOW = ("letters", "segments")


def test_sets_for_tuning_and_for_the_final_table_are_different_ones_and_say_so() -> None:
    assert all(name.startswith("tune-") for name in TUNE)
    assert all(name.startswith("final-") for name in FINAL)
    assert {name.removeprefix("tune-").rstrip("0123456789") for name in TUNE} == {
        name.removeprefix("final-").rstrip("0123456789") for name in FINAL
    }


@pytest.mark.repeated
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name.endswith(SLOW) else name for name in (*TUNE, *FINAL)],
)
def test_a_set_is_drawn_from_its_seed_and_lies_in_its_box(name: str) -> None:
    data, again, other = SHAPE_SETS[name](0), SHAPE_SETS[name](0), SHAPE_SETS[name](1)
    assert data.name == name
    assert len(data.points) == SIZE
    assert (data.points.shape[1] <= 3) == (name in FLAT)
    assert data.bounds == ((0.0, 1.0),) * data.points.shape[1]
    assert 0 <= data.points.min() < data.points.max() <= 1
    np.testing.assert_array_equal(data.points, again.points)
    assert not np.array_equal(data.points, other.points)


def test_parts_of_a_mixture_have_their_sizes() -> None:
    points = mixture(np.random.default_rng(0), 1000, (80, 10, 5, 5), [ball((k, 0.0), 0.0) for k in range(4)])
    assert np.bincount(points[:, 0].astype(int)).tolist() == [800, 100, 50, 50]


def test_a_reference_is_the_least_cost_and_is_looked_up_the_second_time(tmp_path: Path) -> None:
    points = np.repeat([[0.1], [0.2], [0.8]], 20, axis=0)
    data = DataSet("three", points, 2, ((0.0, 1.0),))
    assert reference(data, tmp_path) == pytest.approx(40 * 0.05**2)
    (kept,) = tmp_path.iterdir()
    kept.write_text("7.0")
    assert reference(data, tmp_path) == 7.0


def test_a_goal_for_every_set_shows_the_worst_one() -> None:
    ratios = {
        Cell("tune-city", 7.0, 0.01, HYBRID): (1.0, 1.01, 1.02),
        Cell("tune-coast", 7.0, 0.01, HYBRID): (1.1, 1.2, 1.3),
    }
    mean, every = targets(["tune-city", "tune-coast"], [7.0], 0.01, ratios)
    assert 1.0 < mean.reached.value < 1.2
    assert every.reached.value == pytest.approx(1.2)
    assert "tune-coast" in str(every)
    assert not every.met


def test_the_table_of_doubt_counts_answers_far_from_the_best_and_near_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    city, letters = Cell("tune-city", 2.0, 0.01, HYBRID), Cell("tune-letters", 1.0, 0.01, HYBRID)
    ratios = {city: (1.3, 1.5, 1.1, 1.01), letters: (1.0, 2.0)}
    doubtful = {city: (True, False, True, False), letters: (True, True)}
    doubt_table(Measured(ratios, doubtful))
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:] == [
        "| up to three dimensions | 2 | 1 of 2 | 0 of 1 |",
        "| more than three dimensions | 1 | 1 of 1 | 1 of 1 |",
    ]


def test_means_count_sets_alike_and_differences_between_sets_are_no_error() -> None:
    assert mean([1.0, 2.0, 3.0, 6.0]) == Estimate(3.0, pytest.approx(math.sqrt(14 / 3 / 4)))
    assert math.isnan(mean([1.0]).se)
    assert mean_of_sets({"a": [1.0, 3.0], "b": [10.0, 10.0, 10.0]}) == Estimate(6.0, pytest.approx(0.5))
    estimate = geometric_mean({"a": [1.1, 1.3], "b": [2.0, 5.0]})
    assert estimate.value == pytest.approx((1.1 * 1.3 * 2 * 5) ** 0.25)
    within = [abs(math.log(1.3 / 1.1)) / 2, abs(math.log(5 / 2)) / 2]
    assert estimate.se == pytest.approx(math.hypot(*within) / 2)
    assert geometric_mean({"a": [1.0, 1.0], "b": [4.0, 4.0]}) == Estimate(pytest.approx(2.0), 0.0)


def test_excess_is_over_the_better_and_paired() -> None:
    better, excess = excess_over_better([1.2, 2.2, 3.2], {"good": [1.0, 2.0, 3.0], "bad": [9.0, 9.0, 9.0]})
    assert better == "good"
    assert excess.value == pytest.approx(0.2)
    assert excess.se < 1e-12
    assert excess.is_measurably_positive
    local = {"a": [1.0, 1.5], "b": [3.0, 2.0]}
    ours = {name: [1.1 * x for x in ratios] for name, ratios in local.items()}
    assert log_excess(ours, local).value == pytest.approx(math.log(1.1))
    # Two standard errors are measurable.
    assert [Estimate(value, 0.1).is_measurably_positive for value in (0.21, 0.19, -1.0)] == [True, False, False]


def test_targets_are_met_within_their_standard_errors_and_show_the_worst_cell() -> None:
    for bound, allowed_se, met in ((1.02, 0.0, True), (1.019, 0.0, False), (1.001, 2.0, True), (0.99, 2.0, False)):
        target = Target("here", bound, Estimate(1.02, 0.01), allowed_se=allowed_se)
        assert target.met is met
        assert str(target).endswith("| met |" if met else "| missed |")
    cells = {"a": Estimate(1.0, 0.0), "b": Estimate(1.3, 0.01), "c": Estimate(1.1, 0.5)}
    assert str(worst("here", 1.2, cells)) == "| here | 1.2 | 1.3000 ± 0.0100 (b) | missed |"


@pytest.mark.parametrize(("dimensions", "spent"), [(2, 0.905), (4, 0.959), (5, 1.003), (8, 1.133), (16, 1.412)])
def test_what_diffprivlib_spends(dimensions: int, spent: float) -> None:
    """Measured in its 0.6.6: the epsilons its mechanisms were made with, added up."""
    assert diffprivlib_spends(dimensions) == pytest.approx(spent, abs=5e-4)


def test_every_bound_is_measured() -> None:
    for plan in PLANS:
        cells = {(e, c) for e in plan.epsilons for c in plan.fractions}
        assert {(bound.epsilon, bound.trusted_fraction) for bound in plan.bounds} <= cells


def test_a_part_of_a_plan() -> None:
    words = argparse.Namespace(trials=2, sets=["paper"], epsilons=[7.0], fractions=None)
    part = chosen(PAPER, words)
    assert (part.trials, part.sets, part.epsilons, part.fractions) == (2, ("paper",), (7.0,), (0.001, 0.01))
    assert chosen(S1, words).sets == ()
    everything = argparse.Namespace(trials=None, sets=None, epsilons=None, fractions=None)
    assert chosen(PAPER, everything) == PAPER
    assert np.all([bound.at_most > 1 for bound in PAPER.bounds])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--trials", "1"], "at least 2"),
        (["--epsilons", "5"], "invalid choice"),
        (["--sets", "paper", "--epsilons", "2"], "not measured"),
    ],
)
def test_a_part_that_does_not_exist(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(words)
    assert message in capsys.readouterr().err


ALGORITHMS = (HYBRID, TRUSTED_ONLY, FULL_LOCAL)


class Recorder:
    """In place of the real algorithm: remembers its groups, and knows the true centers."""

    seen: list[tuple[int | None, int | None]]
    doubtful_ = False

    def __init__(self, *, n_clusters: int, epsilon: float, bounds: Any, random_state: Any) -> None:
        assert (n_clusters, epsilon, bounds) == (4, 2.0, [(0.0, 1.0), (0.0, 1.0)])
        assert isinstance(random_state, np.random.Generator)
        self.cluster_centers_ = np.array(LAYOUTS["paper"])

    def fit(self, *groups: Any) -> Self:
        trusted, local = (None if group is None else len(group) for group in groups)
        self.seen.append((trusted, local))
        return self


def test_a_trial_hands_over_the_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recorder, "seen", [], raising=False)
    monkeypatch.setattr("benchmarks.kmeans_trials.HybridKMeans", Recorder)
    data = paper("paper", 0, size=2000)
    ratios = trial(data, 0, epsilons=(2.0,), fractions=(0.01, 0.1), algorithms=ALGORITHMS)
    assert Recorder.seen == [(20, 1980), (200, 1800), (20, None), (200, None), (None, 2000)]
    assert list(ratios) == [
        Cell("paper", 2.0, 0.01, HYBRID),
        Cell("paper", 2.0, 0.1, HYBRID),
        Cell("paper", 2.0, 0.01, TRUSTED_ONLY),
        Cell("paper", 2.0, 0.1, TRUSTED_ONLY),
        Cell("paper", 2.0, 0.0, FULL_LOCAL),
    ]
    # True centers instead of means cost K / n = .2 % more on average, times a mean of eight squared normals.
    assert all(1 < ratio < 1.02 for ratio in ratios.values())


def test_without_scikit_learn_our_own_kmeans_is_the_reference() -> None:
    data = paper("paper", 0, size=2000)
    centers = _own_non_private(data, 3, np.random.default_rng(0)).centers
    order = np.argsort(centers[:, 0])
    np.testing.assert_allclose(centers[order], LAYOUTS["paper"], atol=0.01)


def _invented(plan: Plan) -> Ratios:
    generator = np.random.default_rng(0)
    return {
        Cell(name, e, c, algorithm): (1 + (0.5 if algorithm != HYBRID else 0.2) * generator.random(4)).tolist()
        for name in plan.sets
        for e in plan.epsilons
        for c in (0.0, *plan.fractions)
        for algorithm in ALGORITHMS
    }


@pytest.mark.parametrize("plan", [PAPER, S1])
def test_a_table_has_a_line_per_cell_and_a_target_per_bound(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    targets = plane_table(plan, _invented(plan))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(lines) == 2 + len(plan.sets) * len(plan.epsilons) * len(plan.fractions)
    assert len({line.count("|") for line in lines}) == 1
    assert [target.bound for target in targets] == [*(bound.at_most for bound in plan.bounds), 0.0]


def test_tables_of_more_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    targets = space_tables(MORE_DIMENSIONS, _invented(MORE_DIMENSIONS))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(lines) == 2 + 5 * 9 + 2 + 9
    assert [target.bound for target in targets] == [*(bound.at_most for bound in MORE_DIMENSIONS.bounds), 0.0]
    assert not targets[0].met
    assert targets[-1].met
