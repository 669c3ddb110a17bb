"""Forged answers to rounds: every question of K-means has a test, and no bound exceeds what was planted."""

from fractions import Fraction

import numpy as np
import pytest

from hybriddp.channels.unary import symbol_channel
from hybriddp.kmeans import HybridKMeansServer, KMeansStudy
from hybriddp.kmeans.protocol.answers import received_reports
from hybriddp.kmeans.protocol.round import RoundReports, RoundTally, answer_asks, count_answers, implausible_answers
from hybriddp.kmeans.reports.base import Ask, GridQuestion, Labels
from hybriddp.kmeans.reports.means import LabelSignsQuestion, direction_ask, mean_asks
from hybriddp.kmeans.reports.moments import length_ask, pair_ask
from hybriddp.randomness import byte_source
from tests.kmeans.protocol.crowds import _points

EPSILON, ALL = "1", Fraction(1)
LABELS, RADII = Labels(np.random.default_rng(2).random((3, 4))), np.full(3, 0.5)
MIDDLE = np.full(4, 0.5)


def _grid(vertices: int) -> Ask:
    question = GridQuestion(None, np.zeros(4), np.ones(4), (vertices, 2, 2, 2))
    return Ask(question, symbol_channel(EPSILON, question.n_symbols), ALL)


def _labels(n_signs: int) -> Ask:
    question = LabelSignsQuestion(LABELS, RADII, np.arange(2 * n_signs).reshape(2, n_signs))
    return Ask(question, symbol_channel(EPSILON, question.n_symbols), ALL)


ROUNDS = {
    "grid, bits": (_grid(3),),
    "label, response": (_labels(0),),
    "label and signs, bits": (_labels(2),),
    "direction, choice": (direction_ask(LABELS, RADII, epsilon=EPSILON, user_fraction=ALL),),
    "second moment, choice": (pair_ask(MIDDLE, 1.0, epsilon=EPSILON, user_fraction=ALL),),
    "length, response": (length_ask(MIDDLE, 1.0, epsilon=EPSILON, user_fraction=ALL),),
    "label and direction": mean_asks(
        Labels(np.eye(16)[:3]), np.full(3, 0.5), epsilon="0.5", user_fraction=Fraction(1, 2)
    ),
}


def _answers(asks: tuple[Ask, ...], n: int, seed: int, value: float = 0.3) -> list[RoundReports]:
    d = asks[0].question_as(LabelSignsQuestion).centers.shape[1] if len(asks) > 1 else 4
    points = np.random.default_rng(seed).normal(value, 0.2, (n, d))
    return list(answer_asks(asks, points, byte_source(seed)))


def _with(ask: Ask, reports: RoundReports, forged: int, kind: str) -> RoundReports:
    """The answers with the first ones forged in one of three ways."""
    variants, codes = reports.variants.copy(), reports.codes.copy()
    if kind == "variant":
        variants[:forged] = 0
    elif ask.channel.sends_bits:
        n = ask.channel.n_symbols
        codes[:forged] = np.packbits(np.full(n, kind == "high", np.uint8), bitorder="little")
    else:
        codes[:forged] = ask.channel.n_symbols - 1 if kind == "high" else 0
    return RoundReports(reports.users, variants, codes)


@pytest.mark.parametrize("name", ROUNDS)
def test_every_question_notices_forged_answers_and_never_more_than_there_are(name: str) -> None:
    asks, n, told = ROUNDS[name], 6000, 0
    for seed in range(2):
        real = _answers(asks, n, seed)
        honest = [count_answers(ask, some) for ask, some in zip(asks, real, strict=True)]
        assert implausible_answers(asks, honest, 1) == 0
        for at, ask in enumerate(asks):
            for kind in ("high", "low", "variant"):
                for forged in (1, n // 50, n // 10, n):
                    answers = list(honest)
                    answers[at] = count_answers(ask, _with(ask, real[at], forged, kind))
                    found = implausible_answers(asks, answers, 2)
                    assert found <= min(forged, len(real[at].codes))
                    told = max(told, found)
    assert told > n / 12


def test_points_that_are_all_alike_are_no_forgery_and_nor_is_nobody() -> None:
    for asks in ROUNDS.values():
        for n, value in ((3000, -3.0), (3000, 0.0), (3000, 3.0), (0, 0.3)):
            answers = [count_answers(ask, some) for ask, some in zip(asks, _answers(asks, n, 1, value), strict=True)]
            assert implausible_answers(asks, answers, 1) == 0


def test_agreeing_on_an_ask_is_seen() -> None:
    asks = ROUNDS["label and direction"]
    label, direction = _answers(asks, 4000, 3)
    none = RoundReports(label.users[:0], label.variants[:0], label.codes[:0])
    answers = [count_answers(asks[0], none), count_answers(asks[1], direction)]
    assert len(label.codes) - 150 > implausible_answers(asks, answers, 1) > 100


def test_later_rounds_need_more_to_raise_an_alarm() -> None:
    ask = ROUNDS["label, response"][0]
    real = _answers((ask,), 4000, 0)[0]
    forged = count_answers(ask, _with(ask, real, 2500, "high"))
    found = [implausible_answers([ask], [forged], number) for number in (1, 3, 12, 64)]
    assert found == sorted(set(found), reverse=True)
    assert found[-1] > 0


# A whole study


def _forged_study(forged: float, seed: int | None = 4) -> HybridKMeansServer:
    """A study whose server is resumed after every round, where part of the answers are rows of ones, or one code."""
    study = KMeansStudy("visits", n_clusters=3, bounds=[(0, 10), (0, 10)], epsilon=1)
    points = _points(20_000)
    server = HybridKMeansServer(study, n_local=len(points), random_state=seed)
    server.start()
    first = 0
    while server.round is not None:
        n = int(server.round.user_fraction * len(points))
        reports = server.round.answer(points[first : first + n], random_state=seed)
        first += n
        sent = [
            _with(ask, some, int(forged * len(some.codes)), "high")
            for ask, some in zip(server.round.asks, reports, strict=True)
        ]
        server.absorb(server.round.count(sent))
        before = server.implausible_reports
        server = HybridKMeansServer.from_json(server.to_json(), random_state=seed)
        assert server.implausible_reports == before
    return server


@pytest.mark.slow
def test_a_study_warns_wherever_its_centers_are_shown() -> None:
    result = _forged_study(0.2).result
    answered, forged = result.n_answered, result.implausible_reports
    assert answered / 50 < forged <= answered / 5
    words = f"WARNING: at least {forged:,} of the {answered:,} local reports cannot come"
    assert result.to_dict()["implausible_reports"] == forged
    assert result.to_dict()["warnings"][0].startswith(words)
    assert result.explain().startswith(words)
    for page in (result.to_html(), result._repr_html_()):
        assert words in page
    assert f"at least {forged:,} implausible reports" in result.plot().axes[0].get_title("left")


def test_a_study_of_real_answers_does_not() -> None:
    result = _forged_study(0.0).result
    assert result.implausible_reports == 0
    assert "forged" not in result.explain() + result.to_html()
    assert not [words for words in result.warnings if words.startswith("WARNING")]


def test_forged_messages_are_counted_like_others() -> None:
    """Answers as messages: what a server of the protocol receives."""
    study = KMeansStudy("visits", n_clusters=2, bounds=[(0, 1)], epsilon=1)
    server = HybridKMeansServer(study, n_local=4000, random_state=1)
    server.start()
    asked = server.round
    assert asked is not None
    ask = asked.asks[0]
    code = "ff" * ask.channel.report_bytes if ask.channel.sends_bits else 0
    messages = [{"round": asked.digest, "ask": 0, "variant": 0, "code": code}] * 1500
    received = received_reports(asked, messages)
    server.absorb(RoundTally(asked.count(received.reports).answers, round_digest=asked.digest))
    assert 300 < server.implausible_reports <= 1500
