from pathlib import Path

import numpy as np
import pytest

from benchmarks.kmeans_data import DataSet
from benchmarks.kmeans_shape_sets import FINAL_PLANE, FINAL_SPACE, SIZE, TUNE_PLANE, TUNE_SPACE, ball, mixture
from benchmarks.kmeans_shapes import FLAT, SETS, Measured, doubt_table, reference, targets
from benchmarks.kmeans_trials import HYBRID, Cell

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
    data, again, other = SETS[name](0), SETS[name](0), SETS[name](1)
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
