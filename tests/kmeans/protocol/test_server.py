"""The protocol between parties that share nothing but texts."""

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray

from hybriddp._check import FloatArray
from hybriddp.channels.unary import symbol_channel
from hybriddp.errors import BudgetError, DataError, ParameterError, ProtocolError
from hybriddp.kmeans.algorithm import low_dim
from hybriddp.kmeans.box import Box
from hybriddp.kmeans.clustering import wcss
from hybriddp.kmeans.estimator import HybridKMeans
from hybriddp.kmeans.protocol import budget as budget_module
from hybriddp.kmeans.protocol.devices import RoundReports
from hybriddp.kmeans.protocol.round import Round, RoundTally
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.reports.base import ReportTally
from hybriddp.kmeans.statistics import PointArray, Statistic
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.release.mechanisms import PrivateVector, release_vector
from tests.kmeans.servers import as_text, asked_now, started

CENTERS = np.array([[2.0, 3.0], [7.0, 8.0], [3.0, 8.0]])
STUDY = KMeansStudy("visits", n_clusters=3, bounds=[(0, 10), (0, 10)], epsilon=2)


def _points(n: int, d: int = 2, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng([n, d, seed])
    centers = CENTERS if d == 2 else np.random.default_rng(d).uniform(2, 8, (3, d))
    return np.clip(rng.choice(centers, n) + 0.4 * rng.standard_normal((n, d)), 0, 10)


def _study(d: int = 2, **change: Any) -> KMeansStudy:  # noqa: ANN401
    return KMeansStudy("visits", **{"n_clusters": 3, "bounds": [(0, 10)] * d, "epsilon": 2, **change})


@dataclass
class Crowd:
    """Devices that are asked at random, at most once, and get the round as text."""

    points: FloatArray
    seed: int | None
    at_a_time: int = 1 << 30
    asked: int = 0

    def answer(self, current: Round) -> RoundTally:
        """The sum of many collectors' counts."""
        n = round(float(current.user_fraction) * len(self.points))
        some = self.points[self.asked : self.asked + n]
        self.asked += n
        rng = None if self.seed is None else np.random.default_rng([self.seed, current.number])
        found = Round.from_json(current.to_json(), study=current.study)
        total: tuple[ReportTally, ...] | None = None
        rejected = 0
        for first in range(0, len(some), self.at_a_time):
            reports = found.answer(some[first : first + self.at_a_time], random_state=rng)
            counted = current.count([RoundReports(r.users.copy(), r.variants.copy(), r.codes.copy()) for r in reports])
            rejected += counted.rejected
            total = (
                counted.answers if total is None else tuple(a + b for a, b in zip(total, counted.answers, strict=True))
            )
        return RoundTally(current.count(found.answer(some[:0])).answers if total is None else total, rejected)


def _run(
    study: KMeansStudy, trusted: FloatArray, devices: Crowd, seed: int | None, ledger: Ledger | None = None
) -> HybridKMeansServer:
    """A study in which the server is put to rest as text after every round."""
    server = started(study, n_local=len(devices.points), trusted=trusted, ledger=ledger, random_state=seed)
    for _ in range(20):
        if server.round is None:
            return server
        server = HybridKMeansServer.from_json(server.to_json(), trusted=trusted, ledger=ledger, random_state=seed)
        assert server.round is not None
        server.absorb(devices.answer(server.round))
    raise AssertionError


# Whole studies


@pytest.mark.parametrize(("n", "at_a_time", "seed"), [(1000, 1, 3), (40_000, 1 << 30, None)])
def test_a_study_by_texts_finds_the_centers(n: int, at_a_time: int, seed: int | None) -> None:
    """One device at a time; or all at once, without seeds. 1 is a quarter of the way to another cluster."""
    points = _points(n)
    server = _run(STUDY, points[: n // 10], Crowd(points[n // 10 :], seed, at_a_time), seed)
    assert server.rejected == 0
    apart = np.linalg.norm(server.cluster_centers[:, None] - CENTERS, axis=2)
    assert apart.min(axis=0).max() < 1.0


SIZES = pytest.mark.parametrize(("d", "n_trusted"), [(2, 200), (2, 0), (5, 3000), (5, 10)])


def _costs(d: int, n_trusted: int, seed: int) -> tuple[float, float]:
    """What the centers of a study by texts and of a fit cost; who pays what must be the same."""
    n, points = 20_000, _points(20_000, d, seed)
    trusted, local = points[:n_trusted], points[n_trusted:]
    server = _run(_study(d, epsilon=4), trusted, Crowd(local, seed), seed)
    model = HybridKMeans(3, bounds=[(0, 10)] * d, epsilon=4, random_state=seed).fit(trusted, local)
    by_text, by_fit = ([(s.purpose, s.trusted_epsilon) for s in steps] for steps in (server.spending, model.spending_))
    assert by_text == by_fit
    return wcss(points, server.cluster_centers) / n, wcss(points, model.cluster_centers_) / n


@SIZES
def test_a_study_by_texts_costs_about_what_a_fit_costs(d: int, n_trusted: int) -> None:
    for cost in _costs(d, n_trusted, 1):
        assert cost < 1.1 * d * 0.4**2


@pytest.mark.long
@pytest.mark.statistical
@SIZES
def test_a_study_by_texts_costs_what_a_fit_costs(d: int, n_trusted: int) -> None:
    """Mean costs over 40 seeds: within 7.5 standard errors of each other (Student's t: 1e-10)."""
    by_text, by_fit = np.array([_costs(d, n_trusted, seed) for seed in range(1, 41)]).T
    error = np.sqrt((np.var(by_text, ddof=1) + np.var(by_fit, ddof=1)) / 40)
    assert abs(np.mean(by_text) - np.mean(by_fit)) < 7.5 * error
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
    assert awake.spending == asleep.spending


def test_a_simulation_that_is_resumed_ends_as_one_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step has noise of its own: the same after a nap, and another than the steps before."""
    states: list[int] = []

    def recorded(*values: Any, random_state: np.random.Generator, **how: Any) -> PrivateVector:  # noqa: ANN401
        states.append(random_state.bit_generator.state["state"]["state"])
        return release_vector(*values, random_state=random_state, **how)

    monkeypatch.setattr(budget_module, "release_vector", recorded)
    study, points = _study(5, epsilon=4), _points(8000, 5)
    resumed = _run(study, points[:3000], Crowd(points[3000:], 1), 1)
    server, devices = started(study, n_local=5000, trusted=points[:3000], random_state=1), Crowd(points[3000:], 1)
    while server.round is not None:
        server.absorb(devices.answer(server.round))
    assert resumed.to_json() == server.to_json()
    assert len(states) == 2 * len(set(states)) > 2


@pytest.mark.parametrize("d", [1, 3, 4, *(pytest.param(d, marks=pytest.mark.slow) for d in (2, 8))])
@pytest.mark.parametrize("n_trusted", [0, 5, 2000])
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_a_study_that_nobody_answers_ends_all_the_same(d: int, n_trusted: int, neighbors: str) -> None:
    study = _study(d, neighbors=neighbors)
    server = started(study, n_local=10_000, trusted=_points(n_trusted, d), random_state=1)
    devices = Crowd(np.empty((0, d)), 1)
    while server.round is not None:
        server.absorb(devices.answer(server.round))
    assert np.isfinite(server.cluster_centers).all()
    assert np.isfinite(server.result.variance).all()


def test_the_trusted_group_alone_needs_no_round() -> None:
    for d in (2, 5):
        server = started(_study(d), n_local=0, trusted=_points(5000, d), random_state=1)
        assert server.round is None
        assert wcss(_points(5000, d), server.cluster_centers) / 5000 < 1.1 * d * 0.4**2


def test_points_may_come_from_whatever_holds_them() -> None:
    points = _points(500)
    first, second = (
        started(STUDY, n_local=0, trusted=group, random_state=1).cluster_centers
        for group in (points, PointArray(STUDY.box, points, "points"))
    )
    np.testing.assert_array_equal(first, second)


# What cannot be


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("study", {"study": STUDY.to_json()}),
        ("n_local", {"n_local": -1}),
        ("n_local", {"n_local": 1.5}),
        ("n_local", {"n_local": None}),
        ("n_local", {"n_local": 1 << 63}),
        ("ledger", {"ledger": "people.ledger"}),
        ("ledger", {"ledger": "people.ledger", "random_state": 1}),
        ("random_state", {"random_state": -1}),
        ("random_state", {"random_state": "x"}),
    ],
)
def test_bad_parameters_are_named(name: str, change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as caught:
        HybridKMeansServer(**{"study": STUDY, "n_local": 10, "trusted": None, **change})
    assert caught.value.name == name


def test_a_ledger_is_opened_before_it_is_given() -> None:
    text = HybridKMeansServer(STUDY, n_local=10).to_json()
    with pytest.raises(ParameterError, match=r"^ledger must be .* Open a file with Ledger\.open\(path\)\.$"):
        HybridKMeansServer.from_json(text, ledger="people.ledger")


@pytest.mark.parametrize("trusted", [[[1, 2], [3]], np.ma.masked_array([[1.0, 2.0]] * 9, [[True, False]] * 9), "x"])
def test_trusted_points_that_are_no_table_are_refused(trusted: Any) -> None:  # noqa: ANN401
    with pytest.raises(DataError, match="^trusted points must"):
        HybridKMeansServer(STUDY, n_local=10, trusted=trusted)


@pytest.mark.parametrize(("n_local", "n_trusted"), [(0, 0), (2, 0), (0, 2), (1, 1)])
def test_fewer_users_than_clusters_are_refused_before_anything_is_spent(n_local: int, n_trusted: int) -> None:
    ledger = Ledger(Privacy(epsilon=2))
    with pytest.raises(DataError, match=f"{n_local + n_trusted} users for 3 clusters. Nothing has been spent"):
        started(STUDY, n_local=n_local, trusted=_points(n_trusted), ledger=ledger)
    assert not ledger.events


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_server_is_not_copied(duplicate: Callable[[object], object]) -> None:
    """A copy would share the algorithm, and take answers to one round for answers to the next."""
    server = started(STUDY, n_local=400, trusted=_points(40), random_state=1)
    with pytest.raises(ProtocolError, match=r"^A HybridKMeansServer cannot be copied. Use to_json\(\) and from_json"):
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


def test_only_tallies_are_absorbed() -> None:
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
    answers: Any
    for answers in (None, 5, reports):
        with pytest.raises(ProtocolError, match="must be a ReportTally for each ask"):
            server.absorb(RoundTally(answers))
    assert server.to_json() == before


def test_answers_of_another_shape_change_nothing() -> None:
    server = started(STUDY, n_local=4000, trusted=_points(40), random_state=1)
    assert server.round is not None
    (good,) = Crowd(_points(4000), 1).answer(server.round).answers
    before = server.to_json()
    bad = [
        RoundTally(()),
        RoundTally((good, good)),
        RoundTally((ReportTally(good.supports[:, 1:], good.users),)),
        RoundTally((ReportTally(good.supports, np.array([1, 2])),)),
        RoundTally((ReportTally(-good.supports, good.users),)),
        RoundTally((ReportTally(good.supports, good.users - 10_000),)),
        RoundTally((ReportTally(good.supports.astype(float), good.users),)),
    ]
    for counted in bad:
        with pytest.raises(ProtocolError, match="asks, got answers to|must be counts"):
            server.absorb(counted)
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


# What is written down


def _spent(ledger: Ledger) -> Fraction:
    return sum((Fraction(event.epsilon) for event in ledger.events), Fraction(0))


def test_a_ledger_that_has_not_enough_left_stops_the_study_before_it_begins() -> None:
    ledger = Ledger(Privacy(epsilon=1))
    with pytest.raises(BudgetError):
        started(STUDY, n_local=4000, trusted=_points(40), ledger=ledger)
    assert not ledger.events


def test_a_ledger_cannot_join_a_study_that_has_spent_without_one() -> None:
    """It would lack the first releases."""
    study, ledger = _study(5, epsilon=4), Ledger(Privacy(epsilon=4))
    trusted, devices = _points(3000, 5), Crowd(_points(20_000, 5), None)
    server = started(study, n_local=20_000, trusted=trusted)
    while server.round is not None:
        text = server.to_json()
        if (
            not any(Fraction(step.trusted_epsilon) for step in server.spending)
            and not json.loads(text)["pending_release"]
        ):
            joined = HybridKMeansServer.from_json(text, trusted=trusted, ledger=ledger)  # nothing is missing yet
            assert joined.in_ledger
            assert json.loads(joined.to_json())["ledger_nonce"] == ledger.nonce
        else:
            with pytest.raises(ProtocolError, match="began without a ledger"):
                HybridKMeansServer.from_json(text, trusted=trusted, ledger=ledger)
        server.absorb(devices.answer(server.round))
    assert not server.in_ledger
    assert not json.loads(server.to_json())["in_ledger"]
    with pytest.raises(ProtocolError, match="began without a ledger"):
        HybridKMeansServer.from_json(server.to_json(), ledger=ledger)
    assert not ledger.events


def test_a_ledger_that_joins_before_anything_is_spent_holds_everything() -> None:
    study, ledger = _study(5, epsilon=4), Ledger(Privacy(epsilon=4))
    trusted, devices = _points(3000, 5), Crowd(_points(20_000, 5), None)
    unstarted = HybridKMeansServer(study, n_local=20_000, trusted=trusted).to_json()
    server = HybridKMeansServer.from_json(unstarted, trusted=trusted, ledger=ledger)
    server.start()
    with pytest.raises(ProtocolError, match="Give the same ledger"):
        HybridKMeansServer.from_json(server.to_json(), trusted=trusted)
    while server.round is not None:
        server.absorb(devices.answer(server.round))
    assert _spent(ledger) == 4
    begun = started(study, n_local=20_000, trusted=trusted).to_json()  # waits for local users, nothing is spent
    with pytest.raises(BudgetError, match="has spent ε = 4 of its trusted users already"):
        HybridKMeansServer.from_json(begun, trusted=trusted, ledger=ledger)
    with pytest.raises(BudgetError, match="needs ε = 4 of the trusted users"):
        HybridKMeansServer.from_json(begun, trusted=trusted, ledger=Ledger(Privacy(epsilon=3)))


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_an_epsilon_of_many_digits_is_shared_out_all_the_same(d: int, neighbors: str) -> None:
    """Parts of it are rounded down, to no more than it."""
    study = _study(d, epsilon="2.7182818284590452353602", neighbors=neighbors)
    ledger = Ledger(Privacy(epsilon=20))
    server = started(study, n_local=0, trusted=_points(500, d), ledger=ledger)
    assert server.round is None
    spent = _spent(ledger) / study.ledger_factor
    assert 0 <= study.privacy.exact_epsilon - spent < Fraction(1, 10**17)
    assert spent == sum(Fraction(step.trusted_epsilon) for step in server.spending)


@pytest.mark.parametrize(("epsilon", "works"), [(0.05, False), (0.099, False), (0.1, True)])
def test_a_trusted_group_alone_needs_an_epsilon_that_can_be_divided(epsilon: float, works: bool) -> None:
    study, ledger = _study(5, epsilon=epsilon), Ledger(Privacy(epsilon=epsilon))
    if works:
        assert np.isfinite(started(study, n_local=0, trusted=_points(500, 5), ledger=ledger).cluster_centers).all()
        return
    with pytest.raises(
        ParameterError, match="^epsilon must be at least 0.1 without local users.*Nothing has been spent"
    ):
        HybridKMeansServer(study, n_local=0, trusted=_points(500, 5), ledger=ledger)
    assert not ledger.events


class Untouched(PointArray):
    """Points that must not be looked at."""

    def exact(self, statistic: object) -> NoReturn:
        raise AssertionError(statistic)

    def points_of(self, users: object) -> NoReturn:
        raise AssertionError(users)


@pytest.mark.parametrize(("epsilon", "n_trusted", "n_local"), [(2, 10, 2000), (0.05, 5000, 100)])
def test_a_trusted_group_that_cannot_help_is_asked_nothing_and_pays_nothing(
    epsilon: float, n_trusted: int, n_local: int
) -> None:
    """The study is that of the local users alone, with a ledger in which there is nothing left too."""
    study, points = _study(5, epsilon=epsilon), _points(n_trusted + n_local, 5)
    ledger = Ledger(Privacy(epsilon="0.01"))
    group = Untouched(study.box, points[:n_trusted], "points")
    server = started(study, n_local=n_local, trusted=group, ledger=ledger)
    alone = started(study, n_local=n_local)
    assert not server.trusted_used
    assert server.n_trusted == n_trusted
    while server.round is not None and alone.round is not None:
        assert server.round.to_json() == alone.round.to_json()
        answers = server.round.count(server.round.answer(asked_now(server, points[n_trusted:])))
        server.absorb(answers)
        alone.absorb(answers)
        server = HybridKMeansServer.from_json(server.to_json())  # neither points nor ledger are needed
    np.testing.assert_array_equal(server.cluster_centers, alone.cluster_centers)
    assert not server.result.trusted_weight.any()
    assert {step.trusted_epsilon for step in server.spending} == {"0"}
    assert not ledger.events


# Starting


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_nothing_is_spent_or_looked_at_before_the_start(d: int, neighbors: str) -> None:
    study, ledger = _study(d, neighbors=neighbors), Ledger(Privacy(epsilon=4))
    group = Untouched(study.box, _points(3000, d), "points")
    server = HybridKMeansServer(study, n_local=500, trusted=group, ledger=ledger)
    for taken_up in (server, HybridKMeansServer.from_json(server.to_json(), trusted=group, ledger=ledger)):
        assert taken_up.round is None
        assert taken_up.spending == ()
        for call in (lambda: taken_up.absorb(RoundTally(())), taken_up.release_pending, lambda: taken_up.result):  # noqa: B023
            with pytest.raises(ProtocolError, match="has not been started. Call start\\(\\) first"):
                call()
    assert not ledger.events
    begun = HybridKMeansServer.from_json(server.to_json(), trusted=_points(3000, d), ledger=ledger)
    begun.start()
    assert begun.round is not None
    state, events = begun.to_json(), ledger.events
    begun.start()  # goes on where it is
    HybridKMeansServer.from_json(state, trusted=group, ledger=ledger)  # and neither does this spend anything
    assert (begun.to_json(), ledger.events) == (state, events)


def test_a_start_that_fails_can_be_tried_again() -> None:
    ledger = Ledger(Privacy(epsilon=2))
    group = Flaky(STUDY.box, _points(300), "points")
    server = HybridKMeansServer(STUDY, n_local=500, trusted=group, ledger=ledger)
    with pytest.raises(OSError, match="not now"):
        server.start()
    assert not ledger.events
    server.start()
    assert server.round is not None
    assert len(ledger.events) == 1


class Flaky(PointArray):
    """Points that cannot be read the first time."""

    failed = False

    def exact(self, statistic: Statistic) -> NDArray[np.int64]:
        if not self.failed:
            self.failed = True
            raise OSError("not now")
        return super().exact(statistic)


# What is paid for


def test_a_study_that_has_begun_is_not_begun_again() -> None:
    study, points = _study(2, epsilon=1), _points(400)
    ledger = Ledger(Privacy(epsilon=5))
    started(study, n_local=100, trusted=points, ledger=ledger)
    events = ledger.events
    with pytest.raises(BudgetError, match="Take it up from its state"):
        started(study, n_local=100, trusted=points, ledger=ledger)
    assert ledger.events == events


def _many(n_trusted: int = 3000, n_local: int = 2000) -> tuple[KMeansStudy, np.ndarray, Crowd]:
    points = _points(n_trusted + n_local, 5)
    return _study(5, epsilon=2), points[:n_trusted], Crowd(points[n_trusted:], 1)


def test_a_release_that_fails_after_answers_were_taken_is_tried_again() -> None:
    """Because the points were not given; the answers are kept, in the server and in its text."""
    study, trusted, devices = _many()
    server = started(study, n_local=2000, trusted=trusted, random_state=1)
    server = HybridKMeansServer.from_json(server.to_json(), random_state=1)  # without the points
    assert server.round is not None
    answers = devices.answer(server.round)
    with pytest.raises(ProtocolError, match="points are needed"):
        server.absorb(answers)
    with pytest.raises(ProtocolError, match="A release is due first"):
        server.absorb(answers)
    with pytest.raises(ProtocolError, match="points are needed"):
        server.release_pending()
    again = HybridKMeansServer.from_json(server.to_json(), trusted=trusted, random_state=1)
    with pytest.raises(ProtocolError, match="A release is due first"):
        again.absorb(answers)
    again.release_pending()
    numbers = []
    while again.round is not None:
        numbers.append(again.round.number)
        again.absorb(devices.answer(again.round))
    assert numbers == list(range(2, 9))
    again.release_pending()  # nothing is left to do
    assert np.isfinite(again.cluster_centers).all()


def test_a_round_that_does_not_keep_the_promise_is_noticed_before_anything_is_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study, points = _study(2, epsilon=1), _points(400)
    ledger = Ledger(Privacy(epsilon=1))
    server = HybridKMeansServer(study, n_local=4000, trusted=points[:5], ledger=ledger)
    assert server._step is not None
    (ask,) = server._step.asks
    channel = symbol_channel("2", ask.channel.n_symbols)
    monkeypatch.setattr(server, "_step", replace(server._step, asks=(replace(ask, channel=channel),)))
    with pytest.raises(ProtocolError, match="the study's epsilon"):
        server.start()
    assert not ledger.events


def _begin(server: HybridKMeansServer, devices: Crowd) -> None:
    server.start()
    assert server.round is not None
    server.absorb(devices.answer(server.round))


@pytest.mark.parametrize("n_local", [0, 2000])
def test_a_study_that_is_interrupted_releases_nothing_twice(n_local: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was released stays in the text of the server, from which it can be taken up."""
    drawn: list[PrivateVector] = []

    def record(*args: Any, **options: Any) -> PrivateVector:  # noqa: ANN401
        drawn.append(release_vector(*args, **options))
        return drawn[-1]

    def interrupted(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    points = _points(5 + n_local)
    devices = Crowd(points[5:], None)
    monkeypatch.setattr(budget_module, "release_vector", record)
    server = HybridKMeansServer(STUDY, n_local=n_local, trusted=points[:5])
    with monkeypatch.context() as patch:
        patch.setattr(low_dim, "box_start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _begin(server, devices)
    for go_on in (server.start, server.release_pending, lambda: server.absorb(RoundTally(())), lambda: server.result):
        with pytest.raises(ProtocolError, match="stopped in an error. Resume it from to_json"):
            go_on()
    again = HybridKMeansServer.from_json(server.to_json(), trusted=points[:5])
    again.release_pending()
    while again.round is not None:
        again.absorb(devices.answer(again.round))
    assert len(drawn) == 1
    assert again.cluster_centers.shape == (3, 2)


class Unreadable(PointArray):
    """Points on a disk that is out of order."""

    def exact(self, statistic: object) -> NoReturn:
        raise OSError(f"no {statistic}")


def test_what_cannot_be_read_has_not_been_paid_for() -> None:
    study, trusted, devices = _many()
    ledger = Ledger(Privacy(epsilon=2))
    broken = Unreadable(study.box, trusted, "points")
    server = started(study, n_local=2000, trusted=broken, ledger=ledger)
    assert server.round is not None
    with pytest.raises(OSError, match="no "):
        server.absorb(devices.answer(server.round))
    assert ledger.events == ()


def test_points_are_those_that_were_given_whatever_becomes_of_the_array() -> None:
    study, trusted, devices = _many()
    centers = []
    for spoil in (False, True):
        given = trusted.copy()
        server = started(study, n_local=2000, trusted=given, random_state=1)
        found = Crowd(devices.points, 1)
        while server.round is not None:
            server.absorb(found.answer(server.round))
            if spoil:
                given[:] = 0
        centers.append(server.cluster_centers)
    np.testing.assert_array_equal(*centers)


def test_points_of_another_box_are_refused() -> None:
    other = PointArray(Box.of([(0, 1)] * 2), np.full((10, 2), 0.5), "points")
    with pytest.raises(
        ParameterError, match="^trusted must be points that were read with the bounds and the scale of this study"
    ):
        started(_study(2), n_local=100, trusted=other)


def test_answers_to_another_round_are_refused() -> None:
    study, points = _study(2, epsilon=4), _points(3000)
    server = started(study, n_local=2000, trusted=points[:1000], random_state=1)
    devices = Crowd(points[1000:], 1)
    assert server.round is not None
    first = devices.answer(server.round)
    server.absorb(first)
    assert server.round is not None
    with pytest.raises(ProtocolError, match="got answers to another round"):
        server.absorb(replace(first, round_digest="0" * 64))
    unsigned = tuple(
        ReportTally(a.supports.astype(np.uint64), a.users.astype(np.uint64))
        for a in devices.answer(server.round).answers
    )
    server.absorb(RoundTally(unsigned))  # who counted does not matter
    assert HybridKMeansServer.from_json(server.to_json(), random_state=1).spending == server.spending


def test_a_state_may_come_from_a_machine_that_computes_other_last_digits() -> None:
    """Devices have been told numbers; those stand, if ours are the same but for rounding."""
    study, trusted, devices = _many()
    server = started(study, n_local=2000, trusted=trusted, random_state=1)
    while server.round is not None and server.round.number < 4:
        server.absorb(devices.answer(server.round))
    state = json.loads(server.to_json())
    question = state["open_round"]["asks"][0]["question"]
    number = question["centers"][0][0]
    question["centers"][0][0] = number * (1 + 1e-12)
    taken = HybridKMeansServer.from_json(as_text(state), trusted=trusted, random_state=1)
    assert taken.round is not None
    assert json.loads(taken.round.to_json())["asks"][0]["question"]["centers"][0][0] == number * (1 + 1e-12)
    taken.absorb(devices.answer(taken.round))
    question["centers"][0][0] = number + 0.01
    with pytest.raises(ProtocolError, match="waits for another round"):
        HybridKMeansServer.from_json(as_text(state), trusted=trusted, random_state=1)
