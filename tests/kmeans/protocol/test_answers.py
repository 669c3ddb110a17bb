"""Answers as messages, and as entries of a tally."""

import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from hybriddp.channels import RandomizedResponse, UnaryEncoding
from hybriddp.channels.response import ChoiceResponse
from hybriddp.kmeans import HybridKMeansServer
from hybriddp.kmeans.protocol.answers import AnswerEntries, messages_of, received_reports
from hybriddp.kmeans.protocol.round import Round
from hybriddp.kmeans.reports.base import Ask, GridQuestion, Labels
from hybriddp.kmeans.reports.codebook import Directions
from hybriddp.kmeans.reports.means import DirectionQuestion
from hybriddp.kmeans.reports.moments import LengthQuestion
from hybriddp.kmeans.study import KMeansStudy

STUDY = KMeansStudy("visits", n_clusters=2, bounds=[(0, 1), (0, 1)], epsilon=2)
THIRD = Fraction(1, 3)
LABELS = Labels(np.array([[0.2, 0.2], [0.7, 0.9]]))
ASKED = Round(
    STUDY,
    1,
    "all kinds of codes",
    (
        Ask(LengthQuestion(np.array([0.5, 0.5]), 0.5), RandomizedResponse(epsilon=2, n_categories=2), THIRD),
        Ask(GridQuestion(None, np.zeros(2), np.full(2, 0.5), (3, 3)), UnaryEncoding(epsilon=2, n_categories=9), THIRD),
        Ask(
            DirectionQuestion(LABELS, np.array([0.5, 0.5]), Directions.of(2), 1),
            ChoiceResponse(epsilon=2, n_codes=4, n_chosen=1),
            THIRD,
        ),
    ),
)
POINTS = np.random.default_rng(0).random((300, 2))


def test_messages_are_in_the_order_of_points_and_a_server_counts_them() -> None:
    reports = ASKED.answer(POINTS, random_state=1)
    sent = messages_of(ASKED, reports)
    assert len(sent) == len(POINTS)
    for number, some in enumerate(reports):
        for user, variant, code in zip(some.users, some.variants, some.codes, strict=True):
            expected = bytes(code).hex() if number == 1 else int(code)
            assert sent[user] == {"round": ASKED.digest, "ask": number, "variant": int(variant), "code": expected}
    received = received_reports(ASKED, json.loads(json.dumps(sent)))
    assert received.rejected == 0
    for one, other in zip(ASKED.count(received.reports).answers, ASKED.count(reports).answers, strict=True):
        np.testing.assert_array_equal(one.supports, other.supports)
        np.testing.assert_array_equal(one.users, other.users)
    for read, original in zip(received.reports, reports, strict=True):
        np.testing.assert_array_equal(read.users, original.users)
        assert read.codes.dtype == original.codes.dtype
    nothing = received_reports(ASKED, [])
    assert [some.codes.shape for some in nothing.reports] == [(0,), (0, 2), (0,)]
    assert sum(tally.n_users for tally in ASKED.count(nothing.reports).answers) == 0


WORD = {"round": ASKED.digest, "ask": 0, "variant": 0, "code": 1}
BITS = {"round": ASKED.digest, "ask": 1, "variant": 0, "code": "ff01"}


def test_what_is_no_answer_is_counted_and_left_out() -> None:
    cases: list[object] = [
        None,
        [],
        "17",
        {},
        {**WORD, "round": "0" * 64},
        {**WORD, "round": None},
        *({**WORD, "ask": ask} for ask in (-1, 3, True, 0.0, "0", None)),
        *({**WORD, "variant": variant} for variant in (-1, 1, False, 0.0, "0", None, 10**30)),
        *({**WORD, "code": code} for code in (-1, 2, True, 1.0, "1", "ff01", None, [1])),
        *(
            {**BITS, "code": code}
            for code in ("FF01", "ff", "ff0100", "ff 01", "ff02", "", 511, None, "zz01", [255, 1])
        ),
        {**WORD, "note": 1},
        {name: value for name, value in WORD.items() if name != "variant"},
    ]
    for good in (WORD, BITS):
        assert received_reports(ASKED, [good]).rejected == 0
    wrong = []
    for bad in cases:
        received = received_reports(ASKED, [WORD, bad, BITS])
        users = [some.users.tolist() for some in received.reports]
        if (received.rejected, users, ASKED.count(received.reports).rejected) != (1, [[0], [2], []], 0):
            wrong.append(bad)
    assert wrong == []


def rounds(d: int, epsilon: float) -> list[Round]:
    """All rounds of a study."""
    study = KMeansStudy("points", n_clusters=3, bounds=[(0, 1)] * d, epsilon=epsilon)
    server = HybridKMeansServer(study, n_local=300, random_state=1)
    server.start()
    found = []
    while server.round is not None:
        found.append(server.round)
        points = np.random.default_rng(len(found)).random((30, d))
        server.absorb(server.round.count(server.round.answer(points, random_state=len(found))))
    return found


@pytest.mark.parametrize(("d", "epsilon"), [(1, 1), (2, 1), (2, 6), (8, 1)])
def test_counts_of_entries_are_the_tally_of_the_reports(d: int, epsilon: float) -> None:
    for asked in rounds(d, epsilon):
        messages = messages_of(asked, asked.answer(np.random.default_rng(0).random((40, d)), random_state=3))
        entries = AnswerEntries(asked)
        counts: Counter[int] = Counter()
        for message in messages:
            integer = entries.integer(message)
            assert integer is not None
            found = entries.entries(integer)
            assert len(set(found)) == len(found)
            assert max(found) < 0
            counts.update(found)
        expected = asked.count(received_reports(asked, messages).reports)
        tally = entries.tally(dict(counts))
        assert entries.n_users({**counts, 0: 7}) == len(messages)
        assert tally.round_digest == expected.round_digest == asked.digest
        for got, wanted in zip(tally.answers, expected.answers, strict=True):
            assert np.array_equal(got.supports, wanted.supports)
            assert np.array_equal(got.users, wanted.users)


def test_different_answers_are_different_integers_and_others_none() -> None:
    asked = rounds(2, 1)[-1]
    entries, digest = AnswerEntries(asked), asked.digest
    ask = asked.asks[0]
    integers = {
        entries.integer({"round": digest, "ask": 0, "variant": variant, "code": code})
        for variant in range(ask.question.n_variants)
        for code in range(ask.channel.n_codes)
    }
    assert len(integers) == ask.question.n_variants * ask.channel.n_codes
    assert None not in integers
    assert entries.integer({"round": "0" * 64, "ask": 0, "variant": 0, "code": 0}) is None
    assert entries.integer({"round": digest, "ask": 7, "variant": 0, "code": 0}) is None
    assert all(answers.n_users == 0 for answers in entries.tally({0: 5}).answers)
    assert entries.n_users({0: 5}) == 0
