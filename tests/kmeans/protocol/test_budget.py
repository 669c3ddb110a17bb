"""The account of releases: their sensitivity, what they cost, and what a ledger is charged."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from hybriddp.errors import BudgetError
from hybriddp.kmeans import HybridKMeans, HybridKMeansServer, KMeansStudy
from hybriddp.kmeans.algorithm.problem import Effort, Problem, Release
from hybriddp.kmeans.points import PointArray
from hybriddp.kmeans.protocol import budget as budget_module
from hybriddp.kmeans.protocol.budget import TrustedBudget, sensitivity
from hybriddp.kmeans.reports.base import GridQuestion, Labels
from hybriddp.kmeans.statistics import ClusterSizes, ClusterSums, Histogram, PointStatistic, SecondMoments
from hybriddp.privacy import Privacy
from hybriddp.release import Event, Ledger
from hybriddp.release import release as door
from hybriddp.release.release import ReleaseCost, ReleasedNumbers, release
from hybriddp.release.statistic import Statistic
from tests.kmeans.servers import trusted_ledger

POINTS = np.random.default_rng(0).random((200, 2))
MIDDLES = np.array([[0.25, 0.5], [0.75, 0.5]])
GRID = Histogram(GridQuestion(None, np.zeros(2), np.full(2, 0.5), (3, 3)))
CONTRIBUTIONS: list[tuple[PointStatistic, int]] = [  # what one user adds at most, all absolute values added up
    (GRID, 1),
    (ClusterSizes(Labels(MIDDLES)), 1),
    (ClusterSums(Labels(MIDDLES), np.full(2, 0.2), 1 << 18), (1 << 20) + (1 << 18)),
    (SecondMoments(np.full(2, 0.5), 0.3), 1 << 20),
]


@pytest.mark.parametrize(("statistic", "contribution"), CONTRIBUTIONS, ids=lambda s: type(s).__name__)
def test_the_sensitivity_is_what_one_user_takes_away_and_another_adds(
    statistic: PointStatistic, contribution: int
) -> None:
    assert sensitivity(statistic) == 2 * contribution


@pytest.mark.parametrize("d", [2, 5])
def test_every_release_of_a_fit_has_noise_for_its_sensitivity_and_its_part_of_epsilon(
    d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[PointStatistic] = []
    noised: list[tuple[int, str]] = []
    exact = PointArray.exact

    def compute(group: PointArray, statistic: PointStatistic) -> np.ndarray:
        computed.append(statistic)
        return exact(group, statistic)

    def record(statistic: Statistic, cost: ReleaseCost, **options: Any) -> ReleasedNumbers:
        noised.append((statistic.sensitivity, cost.privacy.epsilon))
        return release(statistic, cost, **options)

    monkeypatch.setattr(PointArray, "exact", compute)
    monkeypatch.setattr(budget_module, "release", record)
    points = np.random.default_rng(1).random((3000, d))
    model = HybridKMeans(2, epsilon=2, bounds=[(0, 1)] * d).fit(points[:2000], points[2000:])
    costs = [step.trusted_epsilon for step in model.spending_ if step.trusted_epsilon != "0"]
    assert noised == [(2 * s.max_contribution, cost) for s, cost in zip(computed, costs, strict=True)]
    assert sum(map(Fraction, costs)) == 2


def _release(budget: TrustedBudget, fraction: str, spent: str) -> None:
    points = PointArray(budget.study.box, POINTS, "points")
    wanted = Release(GRID, Fraction(fraction))
    budget.release("a count", wanted, points, Fraction(spent), None)


@pytest.mark.parametrize(("fraction", "spent", "works"), [("1", "0", True), ("1/2", "1", True), ("1/2", "1.01", False)])
@pytest.mark.parametrize("with_ledger", [False, True])
def test_a_study_cannot_spend_more_than_it_promised(fraction: str, spent: str, works: bool, with_ledger: bool) -> None:
    """Nor without a ledger, whatever the algorithm asks for."""
    study, ledger = (
        KMeansStudy("points", n_clusters=2, bounds=[(0, 1)] * 2, epsilon=2),
        trusted_ledger(Privacy(epsilon=20)),
    )
    budget = TrustedBudget(study, ledger if with_ledger else None)
    if works:
        _release(budget, fraction, spent)
        assert len(ledger.events) == with_ledger
        return
    with pytest.raises(BudgetError, match="would cost the trusted users ε = 1, but of the ε = 2 .* has spent 1.01"):
        _release(budget, fraction, spent)
    assert ledger.events == ()


def test_an_algorithm_that_asks_for_too_much_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Problem.release

    def more(problem: Problem, statistic: PointStatistic, effort: Effort) -> Release | None:
        release = asked(problem, statistic, effort)
        return release and replace(release, epsilon_fraction=Fraction(51, 20) * release.epsilon_fraction)

    monkeypatch.setattr(Problem, "release", more)
    study = KMeansStudy("points", n_clusters=2, bounds=[(0, 1)] * 5, epsilon=1)
    server = HybridKMeansServer(study, n_local=0, trusted=np.random.default_rng(1).random((3000, 5)))
    with pytest.raises(BudgetError, match="would cost the trusted users"):
        server.start()
    assert 0 < sum(Fraction(step.trusted_epsilon) for step in server.spending) <= 1


def test_what_fails_before_the_noise_is_drawn_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise ImportError("no OpenDP")

    ledger = trusted_ledger(Privacy(epsilon=2))
    budget = TrustedBudget(KMeansStudy("points", n_clusters=2, bounds=[(0, 1)] * 2, epsilon=2), ledger)
    for module, name in ((budget_module, "sensitivity"), (door, "mechanism_for")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, fail)
            with pytest.raises(ImportError, match="no OpenDP"):
                _release(budget, "1", "0")
    assert ledger.events == ()


def test_what_another_process_has_spent_is_known_before_a_study_begins(tmp_path: Path) -> None:
    """Else it would be refused half-way, after some of ε has been spent."""
    mine = Ledger.create(tmp_path / "ledger.json", Privacy(epsilon=2), count="trusted")
    theirs = Ledger.open(tmp_path / "ledger.json", count="trusted")
    theirs.spend(Event.now("a release", who="trusted", study="0" * 64, privacy=Privacy(epsilon="1.5")))
    study = KMeansStudy("points", n_clusters=2, bounds=[(0, 1)] * 5, epsilon=1)
    server = HybridKMeansServer(study, n_local=0, trusted=np.full((3000, 5), 0.5), ledger=mine)
    with pytest.raises(BudgetError, match="Nothing has been spent"):
        server.start()
    assert len(Ledger.open(tmp_path / "ledger.json", count="trusted").events) == 1


def test_the_whole_study_is_charged_to_local_users_and_each_release_to_trusted_ones() -> None:
    study = KMeansStudy("visits", n_clusters=2, bounds=[(0, 1)] * 2, epsilon=1)
    alone = Ledger(Privacy(epsilon=2), count="trusted")
    HybridKMeansServer(study, n_local=0, trusted=POINTS, ledger=alone).start()
    assert [(e.what, e.who, e.name) for e in alone.events] == [
        ("K-means: a grid for the first centers", "trusted", "visits")
    ]
    ledger = Ledger(Privacy(epsilon=2))
    server = HybridKMeansServer(study, n_local=100, trusted=POINTS, ledger=ledger)
    assert not ledger.events
    server.start()
    state = server.to_json()
    assert next((e.what, e.who, e.epsilon) for e in ledger.events) == ("K-means: the whole study", "local", "1")
    assert {e.who for e in ledger.events[1:]} == {"trusted"}
    assert ledger.spent("everybody").epsilon == ledger.spent("local").epsilon == 1
    before = ledger.events
    HybridKMeansServer.from_json(state, trusted=POINTS, ledger=ledger)
    assert ledger.events == before
    poor = Ledger(Privacy(epsilon="0.5"))
    only_local = HybridKMeansServer(study, n_local=10_000, ledger=poor)
    with pytest.raises(BudgetError, match="would cost local users ε = 1"):
        only_local.start()
    assert not poor.events
