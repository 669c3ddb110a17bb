"""Nobody pays more than ε: fractions that add up, users who are asked once, and a ledger that is paid first."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.errors import BudgetError, ProtocolError
from hybriddp.kmeans.estimator import HybridKMeans
from hybriddp.kmeans.points import PointArray
from hybriddp.kmeans.protocol.round import Round, RoundTally
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.statistics import PointStatistic
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.privacy import Privacy
from hybriddp.randomness import SystemBytes
from hybriddp.release import Event, Ledger, Statistic
from hybriddp.release import release as door
from hybriddp.release.ledger.store import MemoryLedgerStore
from hybriddp.release.mechanisms import Mechanism
from tests.kmeans.exact import Setting, steps_by_setting
from tests.kmeans.servers import as_text, started, trusted_ledger

# Fractions, as the algorithm asks for them


@pytest.mark.slow
@pytest.mark.representative
def test_fractions_add_up_to_no_more_than_one_in_every_study() -> None:
    used = set()
    for setting, steps in steps_by_setting().items():
        asked = sum((ask.user_fraction for step in steps for ask in step.asks), Fraction(0))
        paid = sum((step.release.epsilon_fraction for step in steps if step.release is not None), Fraction(0))
        assert asked <= 1
        assert all(ask.user_fraction > 0 for step in steps for ask in step.asks)
        assert all(step.release.epsilon_fraction > 0 for step in steps if step.release is not None)
        if setting.n_local:
            assert asked == 1  # nobody is left out
        assert paid == (1 if setting.trusted_used else 0)
        used.add((asked, paid))
    none, all_of_it = Fraction(0), Fraction(1)
    assert used == {(all_of_it, none), (none, all_of_it), (all_of_it, all_of_it)}


# Fits, with a spy among the users

SETTINGS = [
    Setting(1, 2, "0.1", 50, 300),
    Setting(2, 5, "2", 60, 0),
    Setting(2, 3, "1", 90, 101),
    Setting(3, 2, "0.7", 0, 77),
    Setting(4, 2, "1", 700, 333),
    Setting(4, 2, "1", 23, 4001),  # is not used
    Setting(5, 2, "1.3", 2000, 1003),
    Setting(8, 3, "0.3", 500, 0),
]


class Spy(PointArray):
    """A group that writes down who is asked, and how often something is computed of all."""

    def __init__(self, study: KMeansStudy, points: FloatArray, ledger: Ledger | None = None) -> None:
        super().__init__(study.box, points, "points")
        self.ledger, self.asked, self.statistics = ledger, list[int](), list[PointStatistic]()
        self.paid: list[int] = []

    def exact(self, statistic: PointStatistic) -> np.ndarray:
        self.statistics.append(statistic)
        self.paid.append(len(self.ledger.events) if self.ledger is not None else 0)
        return super().exact(statistic)

    def points_of(self, users: np.ndarray) -> Iterator[FloatArray]:
        self.asked += users.tolist()
        self.paid.append(len(self.ledger.events) if self.ledger is not None else 0)
        return super().points_of(users)


def _devices(asked: Round, points: FloatArray) -> RoundTally:
    return asked.count(Round.from_json(asked.to_json(), study=asked.study).answer(points))


def _finish(server: HybridKMeansServer, local: FloatArray) -> None:
    while server.round is not None:
        server.absorb(_devices(server.round, local[: max(len(local) // 10, 1)]))


@pytest.mark.repeated
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s.d}-{s.n_trusted}-{s.n_local}")
def test_a_fit_asks_everybody_once_and_pays_what_it_says(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[int, list[int]] = {}
    some = PointArray.points_of

    def spy(self: PointArray, users: np.ndarray) -> Iterator[FloatArray]:
        asked.setdefault(id(self), []).extend(users.tolist())
        return some(self, users)

    monkeypatch.setattr(PointArray, "points_of", spy)
    trusted, local = setting.points()
    study, ledger = setting.study, trusted_ledger(Privacy(epsilon=20))
    model = HybridKMeans(setting.k, epsilon=setting.epsilon, bounds=[(0, 1)] * setting.d)
    model.fit(trusted if len(trusted) else None, local, ledger=ledger)
    assert model.private_release_
    expected = [list(range(setting.n_local))] if setting.n_local else []
    assert [sorted(users) for users in asked.values()] == expected  # each local user exactly once, and nobody else
    assert sum(step.local_users for step in model.spending_) == setting.n_local
    assert model.trusted_used_ == setting.trusted_used

    exact, spent = study.privacy.exact_epsilon, ledger.spent("trusted").epsilon
    assert spent == ledger.spent("trusted", study=study.digest).epsilon == (exact if setting.trusted_used else 0)
    assert ledger.spent("local").epsilon == 0
    table = [(step.purpose, Fraction(step.trusted_epsilon)) for step in model.spending_ if step.trusted_epsilon != "0"]
    events = [(e.what.removeprefix("K-means: "), e.privacy.exact_epsilon) for e in ledger.events]
    assert events == table
    assert all(event.part is None for event in ledger.events)  # everybody in the group pays


@pytest.mark.repeated
@pytest.mark.parametrize("setting", [s for s in SETTINGS if s.n_trusted], ids=lambda s: f"{s.d}-{s.n_trusted}")
def test_points_are_read_before_the_ledger_is_paid_and_noise_is_drawn_after(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted, local = setting.points()
    ledger = trusted_ledger(Privacy(epsilon=20))
    group = Spy(setting.study, trusted, ledger)
    drawn: list[int] = []

    def add_noise(statistic: Statistic, noise: Mechanism, seed: object) -> object:
        drawn.append(len(ledger.events))
        return real(statistic, noise, seed)

    real = door._add_noise
    monkeypatch.setattr(door, "_add_noise", add_noise)
    server = started(setting.study, n_local=setting.n_local, trusted=group, ledger=ledger)
    _finish(server, local)
    assert drawn == list(range(1, len(group.statistics) + 1))
    assert [paid + 1 for paid in group.paid] == drawn
    assert bool(drawn) == setting.trusted_used
    assert group.asked == []


@pytest.mark.parametrize("setting", [s for s in SETTINGS if s.trusted_used], ids=lambda s: f"{s.d}-{s.n_trusted}")
def test_with_too_small_a_ledger_nothing_is_released_and_no_noise_drawn(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("noise was drawn")

    trusted, _ = setting.points()
    ledger = trusted_ledger(Privacy(epsilon="0.0142"))
    group = Spy(setting.study, trusted, ledger)
    before = ledger.to_dict()
    monkeypatch.setattr(door, "_add_noise", fail)
    monkeypatch.setattr(SystemBytes, "fill", fail)
    with pytest.raises(BudgetError, match="Nothing has been spent"):
        started(setting.study, n_local=setting.n_local, trusted=group, ledger=ledger)
    assert ledger.to_dict() == before
    assert not group.statistics
    assert not group.asked


# States that are taken up again


def _rounds(setting: Setting, ledger: Ledger) -> tuple[list[str], list[RoundTally]]:
    """The states before each round of a whole study, and what was answered."""
    trusted, local = setting.points()
    server = started(setting.study, n_local=setting.n_local, trusted=trusted, ledger=ledger)
    states, answers = [], []
    while server.round is not None:
        states.append(server.to_json())
        answers.append(_devices(server.round, local[: min(50, len(local) // 8)]))
        server.absorb(answers[-1])
    return states, answers


@pytest.mark.repeated
@pytest.mark.parametrize("setting", [SETTINGS[4], SETTINGS[6]], ids=lambda s: str(s.d))
def test_a_state_taken_up_after_the_end_releases_nothing_more(setting: Setting) -> None:
    ledger = trusted_ledger(Privacy(epsilon=20))
    states, answers = _rounds(setting, ledger)
    events = ledger.events
    trusted, _ = setting.points()
    refused = 0
    for state, answer in zip(states, answers, strict=True):
        again = HybridKMeansServer.from_json(state, trusted=trusted, ledger=ledger)
        assert again.round is not None
        try:
            again.absorb(answer)
        except BudgetError:
            refused += 1
        assert ledger.events == events
    assert refused >= 3


@pytest.mark.repeated
@pytest.mark.parametrize("accountant", ["zcdp", "pld"])
def test_a_state_goes_on_whoever_prices_its_ledger(accountant: str) -> None:
    """Prices are below sums; what has been recorded shows in the sums."""
    setting = SETTINGS[4]
    ledger = trusted_ledger(Privacy(epsilon=1, delta="0.001"), accountant=accountant)
    states, _ = _rounds(setting, ledger)
    if accountant == "pld":
        assert ledger.spent("trusted").epsilon < ledger.sums("trusted").epsilon
    trusted, _ = setting.points()
    for state in states:
        assert HybridKMeansServer.from_json(state, trusted=trusted, ledger=ledger).in_ledger


def test_a_study_begins_where_its_price_fits_though_its_epsilon_does_not() -> None:
    setting = SETTINGS[0]
    trusted, local = setting.points()
    ledger = trusted_ledger(Privacy(epsilon="5.5", delta="1e-6"), accountant="zcdp")
    earlier = Event.now("a release", who="trusted", study="m", privacy=Privacy(epsilon="0.1"))
    ledger.spend_all([earlier] * 108)
    assert 0.035 < ledger.remaining("trusted").epsilon < setting.study.privacy.exact_epsilon == Fraction("0.1")
    server = started(setting.study, n_local=setting.n_local, trusted=trusted, ledger=ledger)
    _finish(server, local)
    assert ledger.sums("trusted", study=setting.study.digest).epsilon == Fraction("0.1")


def test_two_servers_from_one_state_spend_no_more_than_one() -> None:
    """Before the end there is budget left, and one of the two may use it up: the other one cannot go on."""
    setting = SETTINGS[4]
    trusted, local = setting.points()
    ledger = trusted_ledger(Privacy(epsilon=20))
    first = started(setting.study, n_local=setting.n_local, trusted=trusted, ledger=ledger)
    second = HybridKMeansServer.from_json(first.to_json(), trusted=trusted, ledger=ledger)
    ended = 0
    for server in (first, second):
        try:
            _finish(server, local)
            ended += 1
        except BudgetError:
            pass
        assert ledger.spent("trusted").epsilon <= setting.study.privacy.exact_epsilon
    assert ended == 1


def test_in_few_dimensions_a_state_holds_the_one_release_and_never_releases_again() -> None:
    setting = Setting(2, 3, "1", 60, 400)
    ledger = trusted_ledger(setting.study.privacy)
    states, answers = _rounds(setting, ledger)
    assert len(ledger.events) == 1
    again = HybridKMeansServer.from_json(states[0], ledger=ledger)  # without the points: they are not needed any more
    for answer in answers:
        again.absorb(answer)
    assert again.round is None
    assert len(ledger.events) == 1
    with pytest.raises(BudgetError):
        started(setting.study, n_local=400, trusted=setting.points()[0], ledger=ledger)


@pytest.mark.slow
@pytest.mark.representative
@pytest.mark.parametrize("setting", [SETTINGS[4], SETTINGS[6]], ids=lambda s: str(s.d))
def test_a_state_that_was_counted_goes_on_with_its_ledger_only(setting: Setting) -> None:
    """Else whoever has a copy of the text could spend the whole of it again."""
    ledger = trusted_ledger(Privacy(epsilon=20))
    states, _ = _rounds(setting, ledger)
    trusted, _ = setting.points()
    events = ledger.events
    others = [trusted_ledger(Privacy(epsilon=20)) for _ in range(2)]
    others[1].spend(  # of another study
        Event.now("something", who="trusted", study="0" * 64, privacy=Privacy(epsilon=10))
    )
    refused = 0
    for state in states:
        for given in (trusted, None):  # with the points it could go on at once, without them later
            with pytest.raises(ProtocolError, match="Give the same ledger to from_json"):
                HybridKMeansServer.from_json(state, trusted=given)
        fields = json.loads(state)
        released = [fields["pending_release"], *(result["release"] for result in fields["results"])]
        if any(released):  # before that, nothing can be missing
            refused += 1
            for other in others:
                with pytest.raises(ProtocolError, match="not the one that the study"):
                    HybridKMeansServer.from_json(state, trusted=trusted, ledger=other)
        assert HybridKMeansServer.from_json(state, trusted=trusted, ledger=ledger).in_ledger
    assert refused >= len(states) - 2
    assert ledger.events == events
    assert [len(other.events) for other in others] == [0, 1]


def test_a_state_that_has_spent_nothing_yet_goes_on_with_its_ledger_only(tmp_path: Path) -> None:
    """Else every copy of its text could spend from a ledger of its own."""
    trusted, local = SETTINGS[4].points()
    budget = Privacy(epsilon=1)
    for begun in (trusted_ledger(budget), Ledger.create(tmp_path / "made", budget, count="trusted")):
        server = started(SETTINGS[4].study, n_local=SETTINGS[4].n_local, trusted=trusted, ledger=begun)
        state = server.to_json()
        assert begun.events == ()
        Ledger.create(tmp_path / "other", budget, count="trusted")
        for other in (trusted_ledger(budget), Ledger.open(tmp_path / "other", count="trusted")):
            with pytest.raises(ProtocolError, match="not the one that the study"):
                HybridKMeansServer.from_json(state, trusted=trusted, ledger=other)
        (tmp_path / "other").unlink()
        again = begun.copy()
        assert HybridKMeansServer.from_json(state, trusted=trusted, ledger=again).to_json() == state
    assert Ledger.open(tmp_path / "made", count="trusted").events == ()
    ended = HybridKMeansServer.from_json(state, trusted=trusted, ledger=Ledger.open(tmp_path / "made", count="trusted"))
    _finish(ended, local)
    assert json.loads(HybridKMeansServer.from_json(ended.to_json()).to_json())["ledger_nonce"] == begun.nonce


def test_a_state_whose_nonce_is_none_or_whose_ledger_lacks_a_part_is_refused() -> None:
    setting, ledger = SETTINGS[4], trusted_ledger(Privacy(epsilon=20))
    trusted, _ = setting.points()
    states, _ = _rounds(setting, ledger)
    for nonce in (5, [5], {"nonce": "0"}):
        text = as_text({**json.loads(states[0]), "ledger_nonce": nonce})
        with pytest.raises(ProtocolError, match="refused"):
            HybridKMeansServer.from_json(text, trusted=trusted, ledger=ledger)
    shorter = Ledger.open(MemoryLedgerStore(ledger._header, ledger.events[:1]))
    assert shorter.nonce == ledger.nonce
    with pytest.raises(ProtocolError, match="not the one that the study"):
        HybridKMeansServer.from_json(states[-1], trusted=trusted, ledger=shorter)


def test_a_ledger_that_another_process_has_written_to_is_read_again(tmp_path: Path) -> None:
    setting = SETTINGS[4]
    trusted, _ = setting.points()
    mine = Ledger.create(tmp_path / "ledger.json", Privacy(epsilon=20), count="trusted")
    theirs = Ledger.open(tmp_path / "ledger.json", count="trusted")
    states, _ = _rounds(setting, theirs)
    assert not mine.events
    assert HybridKMeansServer.from_json(states[-1], trusted=trusted, ledger=mine).in_ledger


def test_a_study_that_has_ended_can_be_read_without_its_ledger() -> None:
    setting = SETTINGS[4]
    trusted, local = setting.points()
    server = started(
        setting.study, n_local=setting.n_local, trusted=trusted, ledger=trusted_ledger(Privacy(epsilon=20))
    )
    _finish(server, local)
    again = HybridKMeansServer.from_json(server.to_json())
    np.testing.assert_array_equal(again.cluster_centers, server.cluster_centers)
    assert again.in_ledger


def test_without_trusted_users_no_ledger_is_missed() -> None:
    setting = Setting(2, 3, "1", 0, 400)
    server = started(setting.study, n_local=400, ledger=trusted_ledger(Privacy(epsilon=1)))
    again = HybridKMeansServer.from_json(server.to_json())
    assert again.round is not None
    assert server.round is not None
    assert again.round.to_json() == server.round.to_json()
    assert again.to_json() == server.to_json()
