"""The protocol between parties that share nothing but texts."""

import copy
import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hybriddp.errors import DataError, ParameterError, ProtocolError
from hybriddp.kmeans.clustering import wcss
from hybriddp.kmeans.estimator import HybridKMeans
from hybriddp.kmeans.points import PointArray
from hybriddp.kmeans.protocol import budget as budget_module
from hybriddp.kmeans.protocol.round import RoundTally
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.reports.base import ReportTally
from hybriddp.privacy import Privacy
from hybriddp.release.release import ReleasedNumbers, release
from tests.kmeans.protocol.crowds import CENTERS, STUDY, Crowd, _points, _run, _study
from tests.kmeans.servers import as_text, started, trusted_ledger
from tests.levels import z_limit

# Whole studies


@pytest.mark.parametrize(("n", "at_a_time", "seed"), [(1000, 1, 3), (40_000, 1 << 30, None)])
def test_a_study_by_texts_finds_the_centers(n: int, at_a_time: int, seed: int | None) -> None:
    """One device at a time; or all at once, without seeds. 1 is a quarter of the way to another cluster."""
    points = _points(n)
    server = _run(STUDY, points[: n // 10], Crowd(points[n // 10 :], seed, at_a_time), seed)
    assert server.rejected == 0
    apart = np.linalg.norm(server.cluster_centers[:, None] - CENTERS, axis=2)
    assert apart.min(axis=0).max() < 1.0


SIZES = pytest.mark.parametrize(
    ("d", "n_trusted"),
    [(2, 200), (2, 0), *(pytest.param(5, n_trusted, marks=pytest.mark.slow) for n_trusted in (3000, 10))],
)


def _costs(d: int, n_trusted: int, seed: int) -> tuple[float, float]:
    """What the centers of a study by texts and of a fit cost; who pays what must be the same."""
    n, points = 20_000, _points(20_000, d, seed)
    trusted, local = points[:n_trusted], points[n_trusted:]
    server = _run(_study(d, epsilon=4), trusted, Crowd(local, seed), seed)
    model = HybridKMeans(3, bounds=[(0, 10)] * d, epsilon=4, random_state=seed).fit(trusted, local)
    by_text, by_fit = ([(s.purpose, s.trusted_epsilon) for s in steps] for steps in (server.spending, model.spending_))
    assert by_text == by_fit
    return wcss(points, server.cluster_centers) / n, wcss(points, model.cluster_centers_) / n


@pytest.mark.repeated
@SIZES
def test_a_study_by_texts_costs_about_what_a_fit_costs(d: int, n_trusted: int) -> None:
    for cost in _costs(d, n_trusted, 1):
        assert cost < 1.1 * d * 0.4**2


@pytest.mark.long
@pytest.mark.statistical
@SIZES
def test_a_study_by_texts_costs_what_a_fit_costs(d: int, n_trusted: int) -> None:
    """Mean costs over 40 seeds: within `z_limit(1, 40)` standard errors of each other."""
    by_text, by_fit = np.array([_costs(d, n_trusted, seed) for seed in range(1, 41)]).T
    error = np.sqrt((np.var(by_text, ddof=1) + np.var(by_fit, ddof=1)) / 40)
    assert abs(np.mean(by_text) - np.mean(by_fit)) < z_limit(1, 40) * error
    assert np.median(by_text) < 1.05 * d * 0.4**2


def test_a_server_that_never_sleeps_gets_the_same_centers() -> None:
    """What is computed is a function of what was published. With a ledger and without seeds, all is drawn once."""
    points = _points(6000)
    awake = started(STUDY, n_local=5900, trusted=points[:100])
    asleep = HybridKMeansServer.from_json(awake.to_json(), trusted=points[:100])
    for turn in range(9):
        assert asleep.to_json() == awake.to_json()
        if awake.round is None:
            break
        counted = awake.round.count(awake.round.answer(points[100 + turn :: 4]))
        awake.absorb(counted)
        assert asleep.round is not None
        asleep.absorb(counted)
        asleep = HybridKMeansServer.from_json(asleep.to_json(), trusted=points[:100])
    np.testing.assert_array_equal(awake.cluster_centers, asleep.cluster_centers)
    assert (awake.result.doubt, awake.result.start) == (asleep.result.doubt, asleep.result.start)
    assert awake.spending == asleep.spending


@pytest.mark.slow
def test_a_simulation_that_is_resumed_ends_as_one_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step has noise of its own: the same after a nap, and another than the steps before."""
    states: list[int] = []

    def recorded(*values: Any, random_state: np.random.Generator, **how: Any) -> ReleasedNumbers:
        states.append(random_state.bit_generator.state["state"]["state"])
        return release(*values, random_state=random_state, **how)

    monkeypatch.setattr(budget_module, "release", recorded)
    study, points = _study(5, epsilon=4), _points(8000, 5)
    resumed = _run(study, points[:3000], Crowd(points[3000:], 1), 1)
    server, devices = started(study, n_local=5000, trusted=points[:3000], random_state=1), Crowd(points[3000:], 1)
    while server.round is not None:
        server.absorb(devices.answer(server.round))
    assert resumed.to_json() == server.to_json()
    assert len(states) == 2 * len(set(states)) > 2


@pytest.mark.repeated
@pytest.mark.parametrize("d", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("n_trusted", [0, 5, 2000])
def test_a_study_that_nobody_answers_ends_all_the_same(d: int, n_trusted: int) -> None:
    study = _study(d)
    server = started(study, n_local=10_000, trusted=_points(n_trusted, d), random_state=1)
    devices = Crowd(np.empty((0, d)), 1)
    while server.round is not None:
        server.absorb(devices.answer(server.round))
    assert np.isfinite(server.cluster_centers).all()
    assert np.isfinite(server.estimate.variance).all()


def test_the_trusted_group_alone_needs_no_round() -> None:
    """Points may come from whatever holds them."""
    for d in (2, 5):
        points = _points(5000, d)
        server = started(_study(d), n_local=0, trusted=points, random_state=1)
        assert server.round is None
        assert wcss(points, server.cluster_centers) / 5000 < 1.1 * d * 0.4**2
        group = PointArray(_study(d).box, points, "points")
        same = started(_study(d), n_local=0, trusted=group, random_state=1)
        np.testing.assert_array_equal(same.cluster_centers, server.cluster_centers)


# What cannot be


def test_bad_parameters_are_named() -> None:
    wrong: dict[str, list[Any]] = {"study": [STUDY.to_json()], "n_local": [-1, 1.5, None, 1 << 63]}
    wrong |= {"ledger": ["people.ledger"], "random_state": [-1, "x"]}
    changes: list[tuple[str, dict[str, Any]]] = [(name, {name: value}) for name in wrong for value in wrong[name]]
    for name, change in [*changes, ("ledger", {"ledger": "people.ledger", "random_state": 1})]:
        with pytest.raises(ParameterError) as caught:
            HybridKMeansServer(**{"study": STUDY, "n_local": 10, "trusted": None, **change})
        assert caught.value.name == name
    text: Any = HybridKMeansServer(STUDY, n_local=10).to_json()
    with pytest.raises(ParameterError, match=r"^ledger must be .* Open a file with Ledger\.open\(path\)\.$"):
        HybridKMeansServer.from_json(text, ledger="people.ledger")
    tables: list[Any] = [[[1, 2], [3]], np.ma.masked_array([[1.0, 2.0]] * 9, [[True, False]] * 9), "x"]
    for trusted in tables:
        with pytest.raises(DataError, match="^trusted points must"):
            HybridKMeansServer(STUDY, n_local=10, trusted=trusted)


def test_fewer_users_than_clusters_are_refused_before_anything_is_spent() -> None:
    ledger = trusted_ledger(Privacy(epsilon=2))
    for n_local, n_trusted in ((0, 0), (2, 0), (0, 2), (1, 1)):
        with pytest.raises(DataError, match=f"{n_local + n_trusted} users for 3 clusters. Nothing has been spent"):
            started(STUDY, n_local=n_local, trusted=_points(n_trusted), ledger=ledger)
    assert not ledger.events


def test_a_server_is_not_copied() -> None:
    """A copy would share the algorithm, and take answers to one round for answers to the next."""
    server = started(STUDY, n_local=400, trusted=_points(40), random_state=1)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ProtocolError, match=r"^A HybridKMeansServer cannot be copied. Use to_json\(\)"):
            duplicate(server)


def test_there_is_no_result_before_the_end_and_no_round_after_it() -> None:
    server = started(STUDY, n_local=4000, trusted=_points(40), random_state=1)
    devices = Crowd(_points(4000), 1)
    counted = []
    while server.round is not None:
        with pytest.raises(ProtocolError, match=f"Round {server.round.number} has not been answered"):
            _ = server.cluster_centers
        counted.append(devices.answer(server.round))
        server.absorb(counted[-1])
    assert server.result.centers.shape == (3, 2)
    with pytest.raises(ProtocolError, match="The study has ended"):
        server.absorb(counted[-1])


def test_only_tallies_of_the_right_shape_are_absorbed() -> None:
    server = started(STUDY, n_local=4000, trusted=_points(40), random_state=1)
    assert server.round is not None
    before, reports = server.to_json(), server.round.answer(_points(100), random_state=1)
    wrong: Any
    for wrong in (None, reports, reports[0]):
        with pytest.raises(ParameterError, match="^tally must be a RoundTally"):
            server.absorb(wrong)
    for wrong in (None, reports[0], [None]):
        with pytest.raises(ParameterError, match="^reports must be RoundReports to each ask"):
            server.round.count(wrong)
    for wrong in (None, 5, reports):
        with pytest.raises(ProtocolError, match="must be a ReportTally for each ask"):
            server.absorb(RoundTally(wrong))
    (good,) = Crowd(_points(4000), 1).answer(server.round).answers
    tallies = [
        ReportTally(good.supports[:, 1:], good.users),
        ReportTally(good.supports, np.array([1, 2])),
        ReportTally(-good.supports, good.users),
        ReportTally(good.supports, good.users - 10_000),
        ReportTally(good.supports.astype(float), good.users),
    ]
    for answers in ((), (good, good), *((tally,) for tally in tallies)):
        with pytest.raises(ProtocolError, match="asks, got answers to|must be counts"):
            server.absorb(RoundTally(answers))
    assert server.to_json() == before
    server.absorb(RoundTally((good,)))


def test_more_answers_than_local_users_are_refused() -> None:
    """Somebody answered twice, or forged reports; over all rounds together."""
    server = started(STUDY, n_local=100, trusted=_points(40), random_state=1)
    points = _points(101)
    for too_many, taken in ((101, 60), (41, 40)):
        assert server.round is not None
        before, asked = server.to_json(), server.round
        with pytest.raises(ProtocolError, match="has 100 local users, but 101 would have answered"):
            server.absorb(asked.count(asked.answer(points[:too_many], random_state=1)))
        assert server.to_json() == before
        server.absorb(asked.count(asked.answer(points[:taken], random_state=1)))
    fields = json.loads(server.to_json())
    assert HybridKMeansServer.from_json(server.to_json(), random_state=1).spending == server.spending
    with pytest.raises(ProtocolError, match="has 99 local users, but 100"):
        HybridKMeansServer.from_json(as_text({**fields, "n_local": 99}), random_state=1)


def test_reports_that_can_be_repeated_are_refused_by_a_private_study() -> None:
    server = started(STUDY, n_local=100, trusted=_points(40))
    assert server.round is not None
    before = server.to_json()
    with pytest.raises(ProtocolError, match="made with a random_state, so they are not private"):
        server.absorb(server.round.count(server.round.answer(_points(40), random_state=1)))
    assert server.to_json() == before
    server.absorb(server.round.count(server.round.answer(_points(40))))
    assert not server.seeded


def test_rejected_reports_are_added_up_over_rounds_and_naps() -> None:
    server = started(STUDY, n_local=4000, trusted=_points(40), random_state=1)
    devices = Crowd(_points(4000), 1)
    for rejected in (3, 4):
        assert server.round is not None
        server.absorb(RoundTally(devices.answer(server.round).answers, rejected))
        server = HybridKMeansServer.from_json(server.to_json(), trusted=_points(40), random_state=1)
    assert server.rejected == 7


def test_what_a_server_takes_it_can_write_down_and_read_again() -> None:
    server = started(STUDY, n_local=(1 << 63) - 1, trusted=_points(40), random_state=1)
    assert server.round is not None
    answers = Crowd(_points(400), 1).answer(server.round).answers
    before = server.to_json()
    for rejected in (-5, float("nan"), 1.0, True, "1", None, 1 << 63):
        with pytest.raises(ParameterError, match="^rejected must be an integer from 0 to 9223372036854775807"):
            server.absorb(RoundTally(answers, rejected))
    assert server.to_json() == before
    server.absorb(RoundTally(answers, np.int64(3)))
    again = HybridKMeansServer.from_json(server.to_json(), random_state=1)
    assert again.rejected == 3
    assert again.round is not None
    with pytest.raises(ParameterError, match="^rejected must be"):
        again.absorb(replace(again.round.count(again.round.answer(_points(9), random_state=1)), rejected=(1 << 63) - 3))


def test_a_study_that_needs_the_trusted_group_again_asks_for_it() -> None:
    study = _study(5, epsilon=4)
    server = started(study, n_local=20_000, trusted=_points(3000, 5), random_state=1)
    devices = Crowd(_points(20_000, 5), 1)
    assert server.round is not None
    server.absorb(devices.answer(server.round))
    server = HybridKMeansServer.from_json(server.to_json(), random_state=1)
    assert server.round is not None
    with pytest.raises(ProtocolError, match="trusted group's points are needed"):
        server.absorb(devices.answer(server.round))
