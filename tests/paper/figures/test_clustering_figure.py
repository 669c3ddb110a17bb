"""Figure 6: who is simulated where, what it finds, and what is drawn."""

import csv
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.kmeans.clustering import wcss
from hybriddp.paper.figures import clustering, make
from hybriddp.paper.figures.clustering import (
    FRACTIONS,
    PLACES,
    PRINTED,
    REPAIRED,
    ROUNDS,
    Clusterer,
    ClusteringDot,
    best_cost,
    clustering_dots,
    points,
)
from hybriddp.paper.figures.figure import run_all
from hybriddp.paper.figures.rows import SIMULATION

DOTS = clustering_dots(first_seed=60_000)


class Asked:
    """Stands for our K-means: says what it was asked and finds the places."""

    seen: list[dict[str, Any]] = []  # noqa: RUF012

    def __init__(self, **parameters: Any) -> None:
        self.parameters = parameters

    def fit(self, trusted: FloatArray, local: FloatArray) -> SimpleNamespace:
        self.seen.append({**self.parameters, "trusted": len(trusted), "local": len(local)})
        return SimpleNamespace(cluster_centers_=np.array(PLACES))


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    monkeypatch.setattr(Asked, "seen", [])
    monkeypatch.setattr("hybriddp.paper.figures.clustering.HybridKMeans", Asked)
    return Asked.seen


def _dot(panel: str, algorithm: Clusterer, reading: str, iterations: int | None) -> ClusteringDot:
    wanted = (panel, algorithm, reading, iterations)
    (found,) = [dot for dot in DOTS if (dot.panel, dot.algorithm, dot.reading, dot.iterations) == wanted]
    return found


def test_every_algorithm_is_simulated_in_every_setting_once() -> None:
    settings = {replace(dot, seed=0) for dot in DOTS}
    assert len(settings) == len({dot.seed for dot in DOTS}) == len(DOTS) == (2 * 2 * 2 + 2) * len(ROUNDS) + 2
    assert clustering.FIGURE_6.dots == DOTS


def test_k_means_runs_a_fiftieth_of_the_trials() -> None:
    assert [DOTS[0].trials(asked) for asked in (2, 149, 150, 1000)] == [2, 2, 3, 20]


def test_the_best_centers_are_a_fixed_point_near_the_places() -> None:
    data = points()
    assert data.shape == (160_000, 2)
    assert best_cost() < wcss(data, np.array(PLACES))
    assert best_cost() == pytest.approx(2 * 160_000 * 0.028**2, rel=0.02)
    distances = np.linalg.norm(np.array(PLACES)[:, None] - np.array(PLACES), axis=2)[~np.eye(4, dtype=bool)]
    assert distances.min() / 2 > 7 * 0.028  # so nobody is nearer to another cluster's mean than to their own


@pytest.mark.slow
def test_as_printed_the_hybrid_is_full_local_and_repaired_it_is_not() -> None:
    """The seeds are fixed, so this either always passes or never."""
    full, printed, repaired, trusted = run_all(
        [
            _dot("bc", Clusterer.FULL_LOCAL, PRINTED, 3),
            _dot("c", Clusterer.HYBRID, PRINTED, 3),
            _dot("c", Clusterer.HYBRID, REPAIRED, 3),
            _dot("c", Clusterer.TRUSTED_ONLY, PRINTED, 3),
        ],
        trials=200,
        processes=1,
    )
    assert printed.cost == pytest.approx(full.cost, rel=0.06)
    assert full.cost == pytest.approx(4171, rel=0.06)
    assert trusted.cost == pytest.approx(261, rel=0.06)
    assert repaired.cost < 0.1 * printed.cost
    for row in (full, printed, repaired, trusted):
        assert best_cost() < row.cost_low <= row.cost <= row.cost_high
        assert (row.trials, row.source) == (4, SIMULATION)


def test_ours_is_asked_with_both_groups(ours: list[dict[str, Any]]) -> None:
    rows = run_all([_dot(panel, Clusterer.OURS, "", None) for panel in FRACTIONS], trials=100, processes=1)
    assert [row.cost for row in rows] == [wcss(points(), np.array(PLACES))] * 2
    assert [(asked["trusted"], asked["local"]) for asked in ours] == [(160, 159_840)] * 2 + [(1600, 158_400)] * 2
    assert {(asked["n_clusters"], asked["epsilon"], tuple(asked["bounds"])) for asked in ours} == {
        (4, 7.0, ((0.0, 1.0), (0.0, 1.0)))
    }
    assert len({asked["random_state"] for asked in ours}) == 4


@pytest.mark.slow
def test_the_picture_and_the_table_have_what_was_simulated(tmp_path: Path, ours: list[dict[str, Any]]) -> None:
    some = tuple(dot for dot in DOTS if dot.iterations in {None, 1, 2} and dot.reading != PRINTED)
    told: list[int] = []
    figure = replace(clustering.FIGURE_6, dots=some)
    (made,) = make([figure], output=tmp_path, trials=2, processes=1, progress=told.append)
    assert [path.name for path in made.files] == ["figure6.png", "figure6.svg", "figure6.csv"]
    assert told[-1] == 2 * len(some)
    assert len(ours) == 4
    svg = (tmp_path / "figure6.svg").read_text(encoding="utf-8")
    for words in (
        "c = 0.1 % trust",
        "c = 1 % trust",
        "hybrid, repaired",
        "ours",
        "without privacy",
        "mean of 2 trials",
    ):
        assert f"<!-- {words}" in svg or words in svg
    with (tmp_path / "figure6.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 1 + len(some)
    assert {row["iterations"] for row in table} == {"", "1", "2"}
