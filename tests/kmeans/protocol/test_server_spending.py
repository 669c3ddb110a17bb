"""What a server pays for, writes down and begins, whatever fails."""

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray

from hybriddp.channels.unary import symbol_channel
from hybriddp.errors import BudgetError, ParameterError, ProtocolError
from hybriddp.kmeans.algorithm import low_dim
from hybriddp.kmeans.points import PointArray
from hybriddp.kmeans.protocol import budget as budget_module
from hybriddp.kmeans.protocol.round import RoundTally
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.reports.base import ReportTally
from hybriddp.kmeans.statistics import PointStatistic
from hybriddp.kmeans.study import Box, KMeansStudy
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.release.release import ReleasedNumbers, release
from tests.kmeans.protocol.crowds import STUDY, Crowd, _points, _study
from tests.kmeans.servers import as_text, asked_now, started, trusted_ledger

# What is written down


def _spent(ledger: Ledger) -> Fraction:
    return sum((Fraction(event.epsilon) for event in ledger.events), Fraction(0))


def test_a_ledger_that_has_not_enough_left_stops_the_study_before_it_begins() -> None:
    ledger = trusted_ledger(Privacy(epsilon=1))
    with pytest.raises(BudgetError):
        started(STUDY, n_local=4000, trusted=_points(40), ledger=ledger)
    assert not ledger.events


def test_a_ledger_cannot_join_a_study_that_has_spent_without_one() -> None:
    """It would lack the first releases."""
    study, ledger = _study(5, epsilon=4), trusted_ledger(Privacy(epsilon=4))
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
    study, ledger = _study(5, epsilon=4), trusted_ledger(Privacy(epsilon=4))
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
        HybridKMeansServer.from_json(begun, trusted=trusted, ledger=trusted_ledger(Privacy(epsilon=3)))


def test_an_epsilon_of_many_digits_is_shared_out_all_the_same() -> None:
    """Parts of it are rounded down, to no more than it."""
    for d in (2, 5):
        study = _study(d, epsilon="2.7182818284590452353602")
        ledger = trusted_ledger(Privacy(epsilon=20))
        server = started(study, n_local=0, trusted=_points(500, d), ledger=ledger)
        assert server.round is None
        assert 0 <= study.privacy.exact_epsilon - _spent(ledger) < Fraction(1, 10**17)
        assert _spent(ledger) == sum(Fraction(step.trusted_epsilon) for step in server.spending)


def test_a_trusted_group_alone_needs_an_epsilon_that_can_be_divided() -> None:
    for epsilon in (0.05, 0.099):
        ledger = trusted_ledger(Privacy(epsilon=epsilon))
        with pytest.raises(ParameterError, match="^epsilon must be at least 0.1 without local.*Nothing has been spent"):
            HybridKMeansServer(_study(5, epsilon=epsilon), n_local=0, trusted=_points(500, 5), ledger=ledger)
        assert not ledger.events
    ledger = trusted_ledger(Privacy(epsilon=0.1))
    enough = started(_study(5, epsilon=0.1), n_local=0, trusted=_points(500, 5), ledger=ledger)
    assert np.isfinite(enough.cluster_centers).all()


class Untouched(PointArray):
    """Points that must not be looked at."""

    def exact(self, statistic: object) -> NoReturn:
        raise AssertionError(statistic)

    def points_of(self, users: object) -> NoReturn:
        raise AssertionError(users)


@pytest.mark.slow
@pytest.mark.representative
@pytest.mark.parametrize(("epsilon", "n_trusted", "n_local"), [(2, 10, 2000), (0.05, 5000, 100)])
def test_a_trusted_group_that_cannot_help_is_asked_nothing_and_pays_nothing(
    epsilon: float, n_trusted: int, n_local: int
) -> None:
    """The study is that of the local users alone, with a ledger in which there is nothing left too."""
    study, points = _study(5, epsilon=epsilon), _points(n_trusted + n_local, 5)
    ledger = trusted_ledger(Privacy(epsilon="0.01"))
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
    assert not server.estimate.trusted_weight.any()
    assert {step.trusted_epsilon for step in server.spending} == {"0"}
    assert not ledger.events


# Starting


@pytest.mark.parametrize("d", [2, 5])
def test_nothing_is_spent_or_looked_at_before_the_start(d: int) -> None:
    study, ledger = _study(d), trusted_ledger(Privacy(epsilon=4))
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
    ledger = trusted_ledger(Privacy(epsilon=2))
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

    def exact(self, statistic: PointStatistic) -> NDArray[np.int64]:
        if not self.failed:
            self.failed = True
            raise OSError("not now")
        return super().exact(statistic)


# What is paid for


def test_a_study_that_has_begun_is_not_begun_again() -> None:
    study, points = _study(2, epsilon=1), _points(400)
    ledger = trusted_ledger(Privacy(epsilon=5))
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
    ledger = trusted_ledger(Privacy(epsilon=1))
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
    drawn: list[ReleasedNumbers] = []

    def record(*args: Any, **options: Any) -> ReleasedNumbers:
        drawn.append(release(*args, **options))
        return drawn[-1]

    def interrupted(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    points = _points(5 + n_local)
    devices = Crowd(points[5:], None)
    monkeypatch.setattr(budget_module, "release", record)
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
    ledger = trusted_ledger(Privacy(epsilon=2))
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
