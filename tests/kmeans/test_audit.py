"""An audit: what all that is published says of one user, computed from the integers, for whole adaptive studies.

Given the transcript so far, the questions and statistics that follow are fixed. So the likelihood of a transcript is a
product: for a trusted user over the releases, for a local user it is that of their one code.
"""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from hybriddp._check import FloatArray
from hybriddp.kmeans.algorithm.tuning import COUNT_WEIGHT
from hybriddp.kmeans.points import PointArray
from hybriddp.kmeans.protocol import budget as budget_module
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.reports.base import GridQuestion, Labels
from hybriddp.kmeans.statistics import ClusterSizes, ClusterSums, Histogram, PointStatistic, SecondMoments
from hybriddp.privacy import SHIFT, Privacy, odds
from hybriddp.release import ReleasedNumbers
from hybriddp.release.mechanisms import laplace_scale
from hybriddp.release.release import release
from tests.kmeans.exact import Setting, likelihood, symbol_law
from tests.kmeans.servers import asked_now, started


def _log_ratio(output: np.ndarray, one: np.ndarray, other: np.ndarray, scale: float) -> Fraction:
    """log P[output | one] - log P[output | other] for discrete Laplace noise: exactly, as a fraction."""
    return Fraction(int((np.abs(output - other) - np.abs(output - one)).sum())) / Fraction(scale)


# One release, all outputs

MIDDLES = np.array([[0.25], [0.75]])
STATISTICS: list[PointStatistic] = [
    Histogram(GridQuestion(None, np.zeros(1), np.array([0.5]), (3,))),
    ClusterSizes(Labels(MIDDLES)),
    ClusterSums(Labels(MIDDLES), np.array([0.2, 0.3]), COUNT_WEIGHT),
    SecondMoments(np.array([0.5]), 0.2),
]


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("epsilon", ["0.1", "1", "7"])
@pytest.mark.parametrize("replaced", [1, 2])
def test_no_output_of_a_release_says_more_than_epsilon(statistic: PointStatistic, epsilon: str, replaced: int) -> None:
    """A user moves between clusters, joins or leaves. The ratio is monotone between the two exact values of a number
    and constant outside, so the values themselves and those next to them are all the outputs there are to try."""
    scale = laplace_scale(replaced * statistic.max_contribution, Privacy(epsilon=epsilon))
    others = np.array([[0.1], [0.5], [0.9]])
    places = np.array([0.0, 0.2, 0.25, 0.5, 0.5000001, 0.74, 1.0])
    worst = Fraction(0)
    crowds = [np.vstack([others, [[x]]]) for x in places]
    pairs = list(product(crowds, crowds if replaced == 2 else [others]))
    for here, there in pairs:
        one, other = statistic.compute(here), statistic.compute(there)
        # Numbers are noised independently, so the largest ratio is the sum of the largest of each.
        total = Fraction(0)
        for a, b in zip(one.tolist(), other.tolist(), strict=True):
            tried = np.array([[v] for v in (a - 1, a, a + 1, b - 1, b, b + 1)])
            total += max(_log_ratio(y, np.array([a]), np.array([b]), scale) for y in tried)
        assert total == Fraction(int(np.abs(one - other).sum())) / Fraction(scale)
        worst = max(worst, total, -total)
    assert worst <= Fraction(epsilon)
    if not isinstance(statistic, SecondMoments):  # in one dimension squares only grow: half of it
        assert worst >= Fraction(9, 10) * Fraction(epsilon)


# Whole transcripts

STUDIES = [
    Setting(2, 2, "1", 30, 200),
    Setting(5, 2, "2", 400, 150),  # releases in five steps, local users in all eight
    Setting(4, 3, "0.5", 60, 0),
]


class Wiretap:
    """Everything that is computed and published of the trusted group, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.published: list[ReleasedNumbers] = []
        self.statistics: list[PointStatistic] = []
        exact = PointArray.exact

        def record(*given: Any, **options: Any) -> ReleasedNumbers:
            self.published.append(release(*given, **options))
            return self.published[-1]

        def compute(group: PointArray, statistic: PointStatistic) -> np.ndarray:
            self.statistics.append(statistic)
            return exact(group, statistic)

        monkeypatch.setattr(budget_module, "release", record)
        monkeypatch.setattr(PointArray, "exact", compute)

    def log_ratio(self, one: FloatArray, other: FloatArray) -> Fraction:
        """How much likelier all of it is if the trusted points are ``one`` than if they are ``other``."""
        parts = zip(self.statistics, self.published, strict=True)
        return sum(
            (_log_ratio(p.values, s.compute(one), s.compute(other), p.mechanism.scale) for s, p in parts), Fraction(0)
        )


@pytest.mark.repeated
@pytest.mark.parametrize("setting", STUDIES, ids=lambda s: f"{s.d}-{s.n_local}")
def test_no_transcript_says_more_than_epsilon_of_anybody(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    epsilon = Fraction(setting.epsilon)
    allowed = Fraction(odds(setting.epsilon), 1 << SHIFT)
    places = np.vstack([np.zeros(setting.d), np.ones(setting.d), np.eye(setting.d)[0], rng.random((2, setting.d))])
    largest, codes = Fraction(0), 0
    for seed in range(4):
        trusted, local = setting.points(seed)
        trusted[0], trusted[1] = 0.0, 1.0
        with monkeypatch.context() as patch:
            tap = Wiretap(patch)
            server = started(setting.study, n_local=setting.n_local, trusted=trusted)
            while server.round is not None:
                asked = Round.from_json(server.round.to_json(), study=setting.study)
                points = asked_now(server, local)
                reports = asked.answer(points)
                for ask, some in zip(asked.asks, reports, strict=True):
                    for i in range(min(len(some.users), 3)):  # what each of these devices told the server
                        variant = int(some.variants[i])
                        chances = [
                            likelihood(ask.channel, symbol_law(ask.question, x, variant), some.codes[i])
                            for x in (*places, points[some.users[i]])
                        ]
                        assert max(chances) <= allowed * min(chances)
                        codes += 1
                server.absorb(asked.count(reports))
        assert len(tap.published) == len(tap.statistics) > 0
        for who, place in product(range(3), places):
            moved = trusted.copy()
            moved[who] = place
            ratio = abs(tap.log_ratio(trusted, moved))
            assert ratio <= epsilon
            largest = max(largest, ratio)
    assert largest > epsilon / 50  # the audit does see them
    assert codes > 0 or not setting.n_local


def test_the_audit_would_notice_noise_that_is_made_for_half_of_what_a_user_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same audit, of a server whose noise is for a user who joins or leaves."""
    setting = Setting(1, 2, "1", 30, 0)
    worst = Fraction(0)
    for seed in range(20):
        with monkeypatch.context() as patch:
            patch.setattr(budget_module, "CHANGED_USERS", 1)
            tap = Wiretap(patch)
            trusted, _ = setting.points(seed)
            started(setting.study, n_local=0, trusted=trusted)
        for place in (0.0, 0.5, 1.0):
            moved = trusted.copy()
            moved[0] = place
            worst = max(worst, abs(tap.log_ratio(trusted, moved)))
    assert worst > Fraction(setting.epsilon)
