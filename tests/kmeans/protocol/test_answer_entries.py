"""Answers as entries of a tally."""

from collections import Counter

import numpy as np
import pytest

from hybriddp.kmeans import HybridKMeansServer, KMeansStudy
from hybriddp.kmeans.protocol.answers import AnswerEntries, messages_of, received_reports
from hybriddp.kmeans.protocol.round import Round


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


def test_different_answers_are_different_integers() -> None:
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


def test_no_answers() -> None:
    asked = rounds(2, 1)[0]
    entries = AnswerEntries(asked)
    assert entries.integer({"round": "0" * 64, "ask": 0, "variant": 0, "code": 0}) is None
    assert entries.integer({"round": asked.digest, "ask": 7, "variant": 0, "code": 0}) is None
    assert all(answers.n_users == 0 for answers in entries.tally({0: 5}).answers)
    assert entries.n_users({0: 5}) == 0
