from typing import Any, Self

import numpy as np
import pytest

from benchmarks.kmeans_accuracy import MORE_DIMENSIONS, PAPER, S1, Plan, Ratios, plane_table, space_tables
from benchmarks.kmeans_data import LAYOUTS, paper
from benchmarks.kmeans_trials import FULL_LOCAL, HYBRID, TRUSTED_ONLY, Cell, _own_non_private, trial

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
