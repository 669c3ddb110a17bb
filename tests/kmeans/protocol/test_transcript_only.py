"""What is asked next is a function of what was published: raw points change nothing but through it."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.problem import Step, StepResult
from hybriddp.kmeans.protocol import budget as budget_module
from hybriddp.kmeans.protocol.budget import choose_algorithm
from hybriddp.kmeans.protocol.round import RoundTally
from hybriddp.kmeans.protocol.server import HybridKMeansServer
from hybriddp.kmeans.protocol.transcript import ServerState
from hybriddp.privacy import Privacy
from hybriddp.release import Ledger
from hybriddp.release.release import ReleaseCost, ReleasedNumbers, release
from hybriddp.release.statistic import Statistic
from tests.kmeans.exact import Setting
from tests.kmeans.servers import asked_now, started, trusted_ledger

SETTINGS = [
    Setting(1, 3, "1", 40, 300),
    Setting(2, 2, "1", 40, 300),
    Setting(2, 2, "0.1", 5, 3000),
    Setting(4, 2, "7", 60, 0),
]
SLOW = [
    Setting(5, 2, "2", 400, 200),
    Setting(4, 3, "20", 30, 500),
]
every_setting = pytest.mark.parametrize(
    "setting",
    [*SETTINGS, *(pytest.param(setting, marks=pytest.mark.slow) for setting in SLOW)],
    ids=lambda s: f"{s.d}-{s.epsilon}",
)


class Tape:
    """The published numbers of one study, played back to another one, whose points are others."""

    def __init__(self) -> None:
        self.vectors: list[ReleasedNumbers] = []
        self.asked: list[tuple[int, int, str]] = []

    def record(self, statistic: Statistic, cost: ReleaseCost, **options: Any) -> ReleasedNumbers:
        self.asked.append((len(statistic.values), statistic.sensitivity, cost.privacy.epsilon))
        self.vectors.append(release(statistic, cost, **options))
        return self.vectors[-1]

    def play(
        self, statistic: Statistic, cost: ReleaseCost, *, ledger: Ledger | None, random_state: object
    ) -> ReleasedNumbers:
        assert random_state is None
        self.asked.append((len(statistic.values), statistic.sensitivity, cost.privacy.epsilon))
        if ledger is not None:
            ledger.spend(cost.event(statistic.label, "trusted"), promised=cost.promised)
        return self.vectors[len(self.asked) - 1]


def _run(
    setting: Setting, trusted: FloatArray, answers: list[RoundTally] | None, local: FloatArray
) -> tuple[list[str], list[str], list[RoundTally], FloatArray]:
    """Rounds and states as texts, what was answered, and the centers."""
    ledger = trusted_ledger(Privacy(epsilon=20))
    server = started(setting.study, n_local=setting.n_local, trusted=trusted, ledger=ledger)

    def state() -> str:
        return server.to_json().replace(f'"ledger_nonce":"{ledger.nonce}"', '"ledger_nonce":"…"')  # which is random

    rounds, states, given = list[str](), [state()], list[RoundTally]()
    while server.round is not None:
        rounds.append(server.round.to_json())
        some = asked_now(server, local)
        given.append(answers[len(given)] if answers is not None else server.round.count(server.round.answer(some)))
        server.absorb(given[-1])
        states.append(state())
    return rounds, states, given, server.cluster_centers


@pytest.mark.repeated
@every_setting
def test_other_points_with_the_same_published_numbers_give_the_same_study(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grids, radii, fractions, costs, sensitivities, states and centers: all the same, to the last bit."""
    trusted, local = setting.points()
    tape = Tape()
    monkeypatch.setattr(budget_module, "release", tape.record)
    rounds, states, answers, centers = _run(setting, trusted, None, local)
    wanted, tape.asked = tape.asked, []
    assert bool(tape.vectors) == setting.trusted_used
    monkeypatch.setattr(budget_module, "release", tape.play)
    for other in (np.zeros_like(trusted), np.ones_like(trusted), np.random.default_rng(9).random(trusted.shape)):
        tape.asked = []
        again = _run(setting, other, answers, local)
        assert again[:2] == (rounds, states)
        assert np.array_equal(again[3], centers)
        assert tape.asked == wanted


@pytest.mark.repeated
@every_setting
def test_a_state_taken_up_with_other_points_asks_the_same_and_says_the_same(setting: Setting) -> None:
    trusted, local = setting.points()
    server = started(setting.study, n_local=setting.n_local, trusted=trusted)
    while server.round is not None:
        text = server.to_json()
        for other in (np.zeros_like(trusted), np.full_like(trusted, 0.3)):
            again = HybridKMeansServer.from_json(text, trusted=other)
            assert again.round is not None
            assert again.round.to_json() == server.round.to_json()
            assert again.to_json() == text
            assert again.spending == server.spending
        server.absorb(server.round.count(server.round.answer(asked_now(server, local))))
    assert np.array_equal(HybridKMeansServer.from_json(server.to_json()).cluster_centers, server.cluster_centers)


def _public(step: Step) -> tuple[str, list[tuple[str, str, Fraction]], object]:
    asks = [(repr(ask.question), ask.channel.to_json(), ask.user_fraction) for ask in step.asks]
    release = None if step.release is None else (repr(step.release.statistic), step.release.epsilon_fraction)
    return step.purpose, asks, release


@pytest.mark.repeated
@every_setting
def test_the_algorithm_is_a_function_of_what_it_hears(setting: Setting) -> None:
    """Replayed from a state's text alone, without any server or points, it wants the same things in the same order."""
    trusted, local = setting.points()
    server = started(setting.study, n_local=setting.n_local, trusted=trusted, random_state=1)
    while server.round is not None:
        reports = server.round.answer(asked_now(server, local), random_state=2)
        server.absorb(server.round.count(reports))
    results = ServerState.from_json(server.to_json()).results

    def replay() -> list[object]:
        algorithm = choose_algorithm(setting.study, n_trusted=setting.n_trusted, n_local=setting.n_local)
        wanted: list[object] = []
        try:
            step = next(algorithm)
            for result in results:
                wanted.append(_public(step))
                step = algorithm.send(StepResult(result.answers, result.release))
        except StopIteration as end:
            wanted.append(end.value.centers.tolist())
        return wanted

    assert replay() == replay()
    assert len(replay()) == len(results) + 1
    assert replay()[-1] == server.estimate.centers.tolist()
